"""`gangform diff --live`: what runs is taken over without a restart, or the way to that is shown and holds."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.living import SET, Object, of, running, save, templates

Run = Callable[..., Any]


@pytest.fixture
def living(run: Run, folder: Path) -> list[Object]:
    run("synth")
    return running(folder)


def test_what_synth_wrote_is_adopted(run: Run, folder: Path, living: list[Object]) -> None:
    ran = run("diff", "--live", save(folder, living))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "live.yaml against what synth writes for prod",
        "  object                  when it is applied",
        "  LeaderWorkerSet/llm/r1  adopted without a restart",
        "  Deployment/llm/small    adopted without a restart",
    ]


def test_json_from_stdin_is_read_too(
    run: Run, living: list[Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"kind": "List", "items": living})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    data = json.loads(run("diff", "--live", "-", "-o", "json").out)
    assert data["adopted"] == ["LeaderWorkerSet/llm/r1", "Deployment/llm/small"]
    assert data["changes"] == [] and data["keep"] == []


def test_another_number_of_groups_is_adopted_and_said(
    run: Run, folder: Path, living: list[Object]
) -> None:
    of(living, SET)["spec"]["replicas"] = 5
    out = run("diff", "--live", save(folder, living)).out
    assert "adopted without a restart; no restart: spec.replicas; 3 groups less (-48 GPUs)" in out


def altered(objects: list[Object]) -> None:
    """A set as somebody wrote it by hand."""
    for template in templates(objects, SET):
        spec, engine = template["spec"], template["spec"]["containers"][0]
        template["metadata"]["labels"]["team"] = "a"
        spec["terminationGracePeriodSeconds"] = 600
        spec["tolerations"].append({"key": "x", "operator": "Exists"})
        sidecar = {"name": "logs", "image": "fluent-bit:1"}
        spec["containers"].append({**sidecar, "resources": {"requests": {"cpu": 0.5}}})
        spec["volumes"].append({"name": "lib", "hostPath": {"path": "/lib"}})
        del spec["enableServiceLinks"]
        engine["env"].append({"name": "NCCL_DEBUG", "value": "INFO"})
        engine["volumeMounts"].append({"name": "lib", "mountPath": "/lib"})
        engine["image"] = "registry.example.com/vllm:mine"


def test_every_field_comes_with_the_way_to_keep_it(
    run: Run, folder: Path, living: list[Object]
) -> None:
    altered(living)
    file = save(folder, living)
    out = run("diff", "--live", file).out
    assert "LeaderWorkerSet/llm/r1  refused while Kueue manages it: " in out
    assert "input: engine.image" in out
    assert "to keep the rest, in serving r1:\n\npatches:\n" in out

    data = json.loads(run("diff", "--live", file, "-o", "json").out)
    (kept,) = data["keep"]
    assert {one["input"] for one in kept["inputs"]} == {"engine.image"}
    assert "lost" not in kept

    # What it says is done: then nothing is left.
    fleet = folder / "gangform.yaml"
    text = fleet.read_text()
    pasted = out[out.index("patches:\n") :]
    own = "".join(f"    {line}\n" for line in pasted.splitlines())
    at = text.index("  - name: small")
    engine = 'engine: {name: vllm, version: "0.32.0"'
    head = text[:at].replace(engine, f"{engine}, image: registry.example.com/vllm:mine")
    fleet.write_text(head + own + text[at:])
    after = run("diff", "--live", file)
    assert after.status == 0, after.err
    assert "LeaderWorkerSet/llm/r1  adopted without a restart" in after.out


def test_a_placement_that_nobody_asked_for_comes_from_the_levels_of_the_pool(
    run: Run, folder: Path, living: list[Object]
) -> None:
    file = folder / "gangform.yaml"
    fleet = yaml.safe_load(file.read_text())
    pool = fleet["cluster"]["pools"]["h100"]
    pool["levels"] = ["example.net/rack", "kubernetes.io/hostname"]
    file.write_text(yaml.safe_dump(fleet))
    for template in templates(living, SET):
        del template["metadata"]["annotations"]
    out = run("diff", "--live", save(folder, living)).out
    assert out.count("input: pools.h100.levels: [] of the cluster") == 2 and "nothing\n" not in out
    pool["levels"] = []
    file.write_text(yaml.safe_dump(fleet))
    assert "adopted without a restart" in run("diff", "--live", save(folder, living)).out
    pool["levels"] = ["example.net/rack", "kubernetes.io/hostname"]
    fleet["servings"][0]["topology"] = {"level": "example.net/rack", "mode": "required"}
    file.write_text(yaml.safe_dump(fleet))
    assert run("diff", "--live", save(folder, living)).out.count("input: topology") == 2


def test_a_container_of_another_name_cannot_be_kept(
    run: Run, folder: Path, living: list[Object]
) -> None:
    for template in templates(living):
        template["spec"]["containers"][0]["name"] = "vllm"
    out = run("diff", "--live", save(folder, living)).out
    assert "LeaderWorkerSet/llm/r1  rolls 2 groups" in out
    assert "input: none: the name of the container is ours" in out


def test_a_volume_of_another_name_under_such_a_container_is_not_patched(
    run: Run, folder: Path, living: list[Object]
) -> None:
    for template in templates(living, SET):
        engine = template["spec"]["containers"][0]
        engine["name"] = "vllm"
        engine["env"].append({"name": "TEAM", "value": "a"})
        for one in [*engine["volumeMounts"], *template["spec"]["volumes"]]:
            one["name"] = one["name"].replace("shm", "dshm")
        template["spec"]["terminationGracePeriodSeconds"] = 600
    file = save(folder, living)
    data = json.loads(run("diff", "--live", file, "-o", "json").out)
    (kept,) = data["keep"]
    patch = kept["patch"]["merge"]["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert patch == {"spec": {"terminationGracePeriodSeconds": 600}}
    inputs = {one["field"]: one["input"] for one in kept["inputs"]}
    at = "spec.leaderWorkerTemplate.leaderTemplate.spec"
    for field in ("volumes[shm]", "volumes[dshm]", "containers[vllm].volumeMounts[dshm]"):
        assert inputs[f"{at}.{field}"] == "none: the name of the volume is ours"
    assert f"{at}.containers[vllm].env[TEAM]" in kept["lost"]
    rows = [one["path"] for price in data["changes"] for one in price["fields"]]
    assert not [row for row in rows if row.endswith((".command", ".args"))]
    assert "refused" not in data or not data["refused"]


def test_how_often_a_probe_asks_is_kept_by_a_patch(
    run: Run, folder: Path, living: list[Object]
) -> None:
    engine = of(living, SET)["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"][
        "containers"
    ][0]
    engine["readinessProbe"] |= {"periodSeconds": 9, "timeoutSeconds": 8, "failureThreshold": 7}
    engine["readinessProbe"]["httpGet"]["path"] = "/ready"
    data = json.loads(run("diff", "--live", save(folder, living), "-o", "json").out)
    (kept,) = data["keep"]
    assert "lost" not in kept
    assert [one["input"] for one in kept["inputs"]] == ["none: the engine decides where probes ask"]
    patch = kept["patch"]["merge"]["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    probe = {"periodSeconds": 9, "timeoutSeconds": 8, "failureThreshold": 7}
    assert patch["containers"] == [{"name": "engine", "readinessProbe": probe}]


def test_a_patch_that_synth_refuses_is_said_to_be(
    run: Run, folder: Path, living: list[Object]
) -> None:
    exclusive = "leaderworkerset.sigs.k8s.io/exclusive-topology"
    of(living, SET)["metadata"]["annotations"][exclusive] = "example.net/rack"
    place = save(folder, living)
    assert (
        "but synth refuses it: exclusive-topology-under-queue: " in run("diff", "--live", place).out
    )
    (refused,) = json.loads(run("diff", "--live", place, "-o", "json").out)["refused"]
    assert refused["serving"] == "r1" and refused["code"] == "exclusive-topology-under-queue"


def test_a_secret_that_runs_is_neither_shown_nor_put_into_a_patch(
    run: Run, folder: Path, living: list[Object]
) -> None:
    for template in templates(living, SET):
        container = template["spec"]["containers"][0]
        container["env"] += [{"name": "A_TOKEN", "value": "sesame"}, {"name": "B", "value": "1"}]
        container["args"] = [*container["args"], "--api-key", "sesame"]
    place = save(folder, living)
    for form in ("table", "markdown", "json"):
        out = run("diff", "--live", place, "-o", form).out
        assert "sesame" not in out
        assert "A_TOKEN" in out
    (kept,) = json.loads(out)["keep"]
    assert "a secret in plain text belongs into a Secret" in str(kept["inputs"])
    env = kept["patch"]["merge"]["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    assert env["containers"][0]["env"] == [{"name": "B", "value": "1"}]


def test_what_was_not_given_is_not_compared(run: Run, folder: Path, living: list[Object]) -> None:
    out = run("diff", "--live", save(folder, [of(living, "Service")])).out
    assert (
        "LeaderWorkerSet/llm/r1 is not compared: what was given holds no LeaderWorkerSet of namespace llm"
        in out
    )


def test_a_set_of_another_name_says_what_to_set(
    run: Run, folder: Path, living: list[Object]
) -> None:
    of(living, SET)["metadata"] |= {"name": "deepseek", "namespace": "serve"}
    out = run("diff", "--live", save(folder, [of(living, SET), of(living, "Deployment")])).out
    assert (
        "LeaderWorkerSet/llm/r1 does not run; LeaderWorkerSet/serve/deepseek does: set `name: deepseek` and "
        "`namespace: serve` in serving r1 to adopt it"
    ) in out


def test_a_second_budget_over_the_same_pods_is_noticed(
    run: Run, folder: Path, living: list[Object]
) -> None:
    own = of(living, "PodDisruptionBudget")
    other = {**own, "metadata": {"name": "old", "namespace": "llm"}}
    ran = run("diff", "--live", save(folder, [*living, other]))
    assert ran.status == 0
    assert "error[budgets-overlap]" in ran.err


def test_what_a_controller_made_is_left_out(run: Run, folder: Path, living: list[Object]) -> None:
    child = {**of(living, "Deployment"), "metadata": {"name": "a", "namespace": "llm"}}
    child["metadata"] = {**child["metadata"], "ownerReferences": [{"kind": "X"}]}
    assert "names" not in run("diff", "--live", save(folder, [*living, child])).out


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        ("", 2, "holds nothing"),
        ("a: [", 1, "error["),
        ("just words", 1, "error["),
        ("kind: List\nitems: []\n", 2, "holds no object"),
        ("kind: Service\nmetadata: {name: a, namespace: [x]}\nspec: 3\n", 0, ""),
    ],
)
def test_odd_input_is_answered(
    run: Run, folder: Path, content: str, status: int, said: str
) -> None:
    (folder / "live.yaml").write_text(content)
    ran = run("diff", "--live", "live.yaml")
    assert ran.status == status, ran.err
    assert said in ran.err


SHAPELESS: tuple[Any, ...] = (None, [], "x", 3, {"spec": []}, {"template": {"spec": 1}})


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.thorough) for first in range(1, 6))]
)
def test_objects_of_no_shape_are_answered(
    run: Run, folder: Path, living: list[Object], first: int
) -> None:
    """Each object with each value; by default with one of them, in turn."""
    for number, one in enumerate(living, first):
        broken = {**one, "spec": SHAPELESS[number % len(SHAPELESS)]}
        assert run("diff", "--live", save(folder, [broken])).status == 0


def test_an_object_with_labels_of_no_shape_is_answered(
    run: Run, folder: Path, living: list[Object]
) -> None:
    one = living[0]
    odd = {**one, "metadata": {**one["metadata"], "labels": [], "annotations": 3}}
    assert run("diff", "--live", save(folder, [odd])).status == 0


def test_a_file_that_is_not_there_is_a_wrong_call(run: Run) -> None:
    status, _, err = run("diff", "--live", "nothing.yaml")
    assert status == 2
    assert "kubectl get lws,deploy,svc,pdb" in err


def test_several_clusters_are_told_apart_by_what_runs(
    run: Run, folder: Path, living: list[Object]
) -> None:
    file = folder / "gangform.yaml"
    text = file.read_text()
    at, end = text.index("cluster:"), text.index("servings:")
    block = text[at:end].removeprefix("cluster:\n")
    entry = "  - " + block.strip().replace("\n  ", "\n    ")
    clusters = f"clusters:\n{entry}\n{entry.replace('name: prod', 'name: other')}\n"
    file.write_text(text[:at] + clusters + text[end:])
    saved = save(folder, living)
    status, _, err = run("diff", "--live", saved)
    assert status == 2 and "--cluster prod or other" in err
    ran = run("diff", "--live", saved, "--cluster", "prod")
    assert "LeaderWorkerSet/llm/r1  adopted without a restart" in ran.out


def test_a_stream_that_never_ends_is_no_answer_of_a_cluster(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangform.cli.files._MOST", 9)
    (folder / "live.yaml").write_text("a: 1\n# bcd")
    status, _, err = run("diff", "--live", "live.yaml")
    assert status == 2 and "live.yaml holds more than 0 MiB" in err
