"""What rules find in a bundle is said at the place where the user wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.bundles import ENGINE, cluster, made, plan, with_keda
from tests.test_bundle import FIELDS

from gangform import bundle as module
from gangform.admission.admission import backend
from gangform.apis.views import Documents
from gangform.bundle import bundle, foundation, judge_bundles
from gangform.findings import (
    CODES,
    Code,
    DocumentPath,
    Finding,
    InputPath,
    Path,
    Severity,
)
from gangform.inputs.serving import Autoscaling, Network, Patch, Pods, Rollout
from gangform.origin import REPEATS
from gangform.plan.cluster import plan_cluster
from gangform.rules.rule import Context, judge, load

BAD = Code("test-rule", "A test", Severity.BREAKS, "here")
POOR = Code("test-remark", "A test", Severity.DEGRADES, "here")


def judged(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    *,
    kind: str = "LeaderWorkerSet",
    code: Code = BAD,
    patches: Sequence[Patch] = (),
    fields: Pods = FIELDS,
) -> Finding:
    built = made(pods=fields, patches=tuple(patches))
    name = "llm-leader" if kind == "Service" else "llm"
    said = Finding(code=code, at=DocumentPath(kind, "m", name, path), what="w", fix="f")
    monkeypatch.setattr(module, "judge", lambda documents, context, **_: [said])
    (found,) = judge_bundles([built], cluster())
    return found


@pytest.mark.parametrize("template", ["leaderTemplate", "workerTemplate"])
@pytest.mark.parametrize(
    ("inner", "place"),
    [
        (("containers", 1, "image"), ("sidecars", 0)),
        (("containers", 1), ("sidecars", 0)),
        (("initContainers", 0, "image"), ("initContainers", 0)),
        (("imagePullSecrets", 0, "name"), ("imagePullSecrets", 0)),
        (("volumes", 2, "name"), ("volumes", 0)),
        (("tolerations", 1), ("tolerations", 0)),
        (("affinity", "nodeAffinity"), ("affinity",)),
        (("securityContext", "fsGroup"), ("securityContext",)),
        (("containers", 0, "securityContext", "runAsUser"), ("containerSecurityContext",)),
        (("containers", 0, "volumeMounts", 2), ("volumeMounts", 0)),
    ],
)
def test_a_fault_in_a_field_of_the_user_is_reported_there(
    monkeypatch: pytest.MonkeyPatch, template: str, inner: Path, place: Path
) -> None:
    found = judged(monkeypatch, ("spec", "leaderWorkerTemplate", template, "spec", *inner))
    assert found.at == InputPath(("servings", "llm", "pods", *place))
    assert found.fix == "f"


def test_a_fault_in_a_variable_of_the_user_is_reported_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = len(plan().lead.launch.leader.env)
    found = judged(monkeypatch, (*ENGINE, "containers", 0, "env", own, "name"))
    assert found.at == InputPath(("servings", "llm", "pods", "env", 0))


@pytest.mark.parametrize(
    "path",
    [
        (*ENGINE, "containers", 0, "image"),
        (*ENGINE, "containers", 0, "env", 0),
        (*ENGINE, "volumes", 0),
        (*ENGINE, "tolerations", 0),
        (*ENGINE, "nodeSelector"),
        ("spec", "replicas"),
        (*ENGINE[:-1], "metadata"),
    ],
)
def test_a_fault_in_what_is_ours_is_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    found = judged(monkeypatch, path)
    assert found.at == DocumentPath("LeaderWorkerSet", "m", "llm", path)
    assert found.fix == "f; nothing in the inputs says so: a fault in gangform"
    assert judged(monkeypatch, path, code=POOR).fix == "f"


@pytest.mark.parametrize(
    ("bounds", "field"),
    [
        ({"min": 1, "metric": "vllm_num_requests_waiting"}, "metric"),
        ({"min": 1, "buffer_query": "sum(leaderworkerset_leader_ready)"}, "bufferQuery"),
        ({"min": 0, "buffer_query": "sum(leaderworkerset_leader_ready)"}, "bufferQuery"),
    ],
)
def test_a_series_that_nobody_exports_is_reported_where_the_user_asks_for_it(
    bounds: dict[str, Any], field: str
) -> None:
    """In the autoscaler and in the alert that it has no answer, and said once."""
    scaled, on = Autoscaling(max=3, **bounds), with_keda()
    told = judge_bundles([made(on=on, autoscaling=scaled)], on)
    (found,) = (one for one in told if one.code.id.startswith("metric"))
    assert found.code.id == "metric-not-exported"
    assert found.at == InputPath(("servings", "llm", "autoscaling", field))
    assert "gangform" not in found.fix


def test_what_the_plan_says_is_not_said_again_by_a_rule() -> None:
    """One group that may surge and be missing at once: the plan says what the rule would."""
    lone = plan(groups=1, rollout=Rollout(max_surge=1, max_unavailable=1))
    said = {one.code.id for one in lone.findings}
    assert "surge-does-not-happen" in said
    built = bundle(lone)
    alone = Documents(built.documents)
    assert "rollout-stops-all-groups" in {one.code.id for one in judge(alone, Context())}
    assert "rollout-stops-all-groups" not in {
        one.code.id for one in judge_bundles([built], cluster())
    }
    silent = built._replace(plan=lone._replace(findings=()))
    assert "rollout-stops-all-groups" in {one.code.id for one in judge_bundles([silent], cluster())}


def test_every_repetition_is_of_codes_that_exist() -> None:
    rules = load()
    backend("volcano")
    for code, plans in REPEATS.items():
        assert code in rules
        assert all(one in CODES and one not in rules for one in plans)


def test_a_peer_that_the_server_refuses_is_reported_where_it_was_written() -> None:
    network = Network(
        clients=({"podSelector": {}}, {"labels": {}}), scrapers=({"podSelector": {}},)
    )
    (found,) = judge_bundles([made(network=network)], cluster())
    assert found.code.id == "network-peer-refused"
    assert found.at == InputPath(("servings", "llm", "network", "clients", 1))


def test_a_security_context_that_nobody_wrote_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    path = (*ENGINE, "containers", 0, "securityContext")
    assert isinstance(judged(monkeypatch, path, fields=Pods()).at, DocumentPath)


@pytest.mark.parametrize(
    "path", [("spec", "sessionAffinity"), ("spec",), ("spec", "sessionAffinity", "deeper")]
)
def test_a_fault_where_a_patch_changed_something_is_reported_at_the_patch(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    patches = (
        Patch(kind="Service", merge={"metadata": {"labels": {"a": "b"}}}),
        Patch(kind="Service", merge={"spec": {"sessionAffinity": "ClientIP"}}),
    )
    found = judged(monkeypatch, path, kind="Service", patches=patches)
    assert found.at == InputPath(("servings", "llm", "patches", 1))


def test_a_fault_elsewhere_in_a_patched_object_is_not_the_patchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patches = (Patch(kind="Service", merge={"spec": {"sessionAffinity": "ClientIP"}}),)
    found = judged(monkeypatch, ("spec", "ports"), kind="Service", patches=patches)
    assert isinstance(found.at, DocumentPath)


def test_rules_see_what_the_plan_promises_and_what_others_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def judge(documents: Any, context: Any, **_: Any) -> list[Finding]:
        seen.append(context)
        return []

    monkeypatch.setattr(module, "judge", judge)
    on = cluster(foundation="existing")
    whole = plan_cluster(on, [plan("kueue", on=on, pods=Pods(image_pull_secrets=("pull",)))])
    built = [bundle(whole.servings[0]), foundation(whole)]
    assert judge_bundles(built, on, complete=False) == ()
    (context,) = seen
    assert {str(key) for key in context.exists} == {
        "Secret/m/pull",
        "ResourceFlavor/gpu",
        "ClusterQueue/serving",
        "LocalQueue/m/serving",
    }
    assert (context.complete, context.provider) == (False, None)
    assert context.versions == on.versions.releases
