"""What a line follows, checked against what the plan is known to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangform.documents.emit import emit
from gangform.inputs.defaults import EDITIONS
from gangform.inputs.load import Loaded, load_fleet, load_text
from gangform.synth import synthesise
from gangform.trace.answer import Answer, answer
from gangform.trace.subject import Subject

ROOT = Path(__file__).parents[2]
FLEET = """\
version: 1
defaults: 1
cluster:
  name: prod
  versions: {kubernetes: "1.36", lws: "0.10", volcano: "1.14"}
  foundation: all
  lwsSchedulerProvider: volcano
  volcano: {plugins: [gang]}
  pools:
    h100: {hardware: h100-8x, nodes: 8}
servings:
  - name: r1
    namespace: llm
    model: deepseek-r1
    pool: h100
    engine: {name: vllm, version: "0.33.0"}
    parallelism: {tensor: 8, pipeline: 2}
    groups: 2
    context: 32768
    rollout: {spareGroups: 1}
    admission: {backend: volcano, queue: serving}
    patches:
      - kind: LeaderWorkerSet
        merge:
          spec:
            leaderWorkerTemplate:
              leaderTemplate: {spec: {hostIPC: true}}
"""
SPEC = ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec")
ENGINE = (*SPEC, "containers", 0)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_text(FLEET)


@pytest.fixture(scope="module")
def subject(loaded: Loaded) -> Subject:
    return Subject(loaded.fleet, loaded.library, loaded.fleet.clusters[0], "r1")


def ask(subject: Subject, kind: str, *path: str | int) -> Answer:
    kinds = [document.kind for document in subject.bundle.documents]
    return answer(subject, kinds.index(kind), path)


def named(found: Answer, sort: str) -> list[str]:
    return [str(one.path[-1]) for one in found.causes if one.sort == sort]


@pytest.mark.thorough
def test_a_number_follows_field_formula_inputs_and_defaults(subject: Subject) -> None:
    found = ask(subject, "LeaderWorkerSet", *ENGINE, "startupProbe", "failureThreshold")
    assert [one.path for one in found.causes if one.sort == "plan"] == [
        ("workloads", 0, "roles", 0, "launch", "leader", "startup", "failures")
    ]
    # The floor for an assumed bandwidth decides: nothing behind the worst cold start is named.
    assert named(found, "formula") == ["budget"]
    assert named(found, "default") == ["assumed_startup_floor", "startup_period"]
    assert "readBandwidth" in named(found, "input")


@pytest.mark.thorough
def test_a_decision_follows_what_decides_it(subject: Subject) -> None:
    path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")
    found = ask(subject, "LeaderWorkerSet", *path)
    assert named(found, "input") == ["backend", "maxSurge", "maxUnavailable", "spareGroups"]
    (formula,) = [one for one in found.causes if one.sort == "formula"]
    assert formula.derivation is not None
    assert dict(formula.derivation.operands) == {
        "declared": None,
        "spare": 1,
        "finishes": True,
        "unavailable": None,
    }


def test_a_boolean_is_traced_too(subject: Subject) -> None:
    found = ask(subject, "LeaderWorkerSet", *SPEC, "automountServiceAccountToken")
    assert (named(found, "plan"), named(found, "default")) == (["mount_token"], ["mount_token"])


@pytest.mark.thorough
def test_a_text_that_is_put_together_follows_its_parts(subject: Subject) -> None:
    found = ask(subject, "PrometheusRule", "spec", "groups", 1, "name")
    assert found.value == "r1.serving"
    assert named(found, "input") == ["name"]
    served = ask(subject, "LeaderWorkerSet", *ENGINE, "args", 1)
    assert served.value == "--served-model-name=deepseek-r1"
    assert [one.path for one in served.causes if one.sort == "input"] == [
        ("servings", "r1", "model"),
        ("servings", "r1", "servedModelName"),
        ("models", "deepseek-r1", "name"),
    ]


def test_a_file_of_a_profile_is_an_input(subject: Subject) -> None:
    found = ask(subject, "LeaderWorkerSet", *SPEC, "nodeSelector", "nvidia.com/gpu.product")
    assert ("hardware", "h100-8x", "gpu", "product") in [one.path for one in found.causes]


@pytest.mark.thorough
def test_what_the_server_writes_and_what_a_builder_writes_follow_nothing(subject: Subject) -> None:
    server = ask(subject, "Service", "spec", "sessionAffinity")
    assert (server.causes, server.server) == ((), True)
    builder = ask(subject, "LeaderWorkerSet", *SPEC, "enableServiceLinks")
    assert (builder.causes, builder.server) == ((), False)


def test_a_patch_is_named(subject: Subject) -> None:
    found = ask(subject, "LeaderWorkerSet", *SPEC, "hostIPC")
    assert found.patch == ("servings", "r1", "patches", 0)
    assert ask(subject, "LeaderWorkerSet", "spec", "replicas").patch is None


def test_a_map_gathers_what_is_inside(subject: Subject) -> None:
    found = ask(subject, "LeaderWorkerSet", *ENGINE, "readinessProbe")
    assert found.inside == 5
    assert named(found, "plan") == []
    assert set(named(found, "default")) == {
        "readiness_period",
        "readiness_failures",
        "readiness_timeout",
    }


def test_a_field_that_is_not_there_is_refused(subject: Subject) -> None:
    with pytest.raises(LookupError, match="no such field"):
        ask(subject, "Service", "spec", "nothing")


@pytest.mark.thorough
def test_the_foundation_follows_all_servings_of_a_queue() -> None:
    loaded = load_fleet(ROOT / "gangform.yaml")
    cluster = loaded.fleet.clusters[0]
    subject = Subject(loaded.fleet, loaded.library, cluster, "foundation")
    keys = [(one.kind, one.key.name) for one in subject.bundle.documents]
    found = answer(subject, keys.index(("ClusterQueue", "serving")), ("metadata", "name"))
    assert [one.path for one in found.causes] == [
        ("servings", name, "admission", "queue")
        for name in ("deepseek-r1", "llama-405b", "llama-70b")
    ]
    pool = answer(subject, keys.index(("Topology", "h100")), ("metadata", "name"))
    assert [one.path[2:] for one in pool.causes] == [("pool",)] * 4 + [("pools", "h100")]


@pytest.mark.thorough
def test_one_document_alone_has_the_answer_of_all(loaded: Loaded, subject: Subject) -> None:
    alone = Subject(loaded.fleet, loaded.library, loaded.fleet.clusters[0], "r1")
    every = subject.causes()
    for index, document in enumerate(subject.bundle.documents):
        if document.kind in ("LeaderWorkerSet", "Service"):
            found = alone.causes(index)
            assert {place for place in found if place[0] == index} == set(found)
            assert found == {place: one for place, one in every.items() if place[0] == index}


@pytest.mark.thorough
def test_of_many_groups_one_is_looked_at() -> None:
    text = FLEET.replace("groups: 2", "groups: 30").replace("nodes: 8", "nodes: 80")
    text = text.replace("    rollout:", "    disruption: {mode: perGroup}\n    rollout:")
    loaded = load_text(text)
    subject = Subject(loaded.fleet, loaded.library, loaded.fleet.clusters[0], "r1")
    keys = [(one.kind, one.key.name) for one in subject.bundle.documents]
    index = keys.index(("PodDisruptionBudget", "r1-group-29"))
    found = answer(subject, index, ("metadata", "name"))
    assert [one.path for one in found.causes] == [
        ("disruption", "budgets", 29, "name"),
        ("servings", "r1", "name"),
    ]


@pytest.mark.thorough
def test_tracing_looks_at_the_very_documents_and_leaves_nothing_behind(loaded: Loaded) -> None:
    before = synthesise(loaded.fleet, loaded.library)
    tables = dict(EDITIONS)
    for name in ("r1", "foundation"):
        subject = Subject(loaded.fleet, loaded.library, loaded.fleet.clusters[0], name)
        assert subject.causes()
        made = {file.path: file.content for file in before.files}
        assert emit(subject.bundle.documents) == made[f"prod/{name}.k8s.yaml"]
    after = synthesise(loaded.fleet, loaded.library)
    assert [(one.path, one.content) for one in after.files] == [
        (one.path, one.content) for one in before.files
    ]
    assert tables == EDITIONS
