"""The constructs in charts of other people."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests import matrix
from tests.cdk8s.charts import KUEUE, app_in, asked, cluster_of, foreign, rendered
from tests.matrix import LIBRARY

from gangform.bundle import foundation
from gangform.findings import InputError
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving

pytestmark = pytest.mark.node


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
    local = {"LocalQueue", "PrometheusRule"} if backend == "kueue" else {"PrometheusRule"}
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
