"""Sets of roles: their own rules, and those of groups on each role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

D, L, K = "disaggregatedset.x-k8s.io/", "leaderworkerset.sigs.k8s.io/", "kueue.x-k8s.io/"
DECODE = "spec>roles>1"
TEMPLATE = f"{DECODE}>spec>leaderWorkerTemplate"
ROLLING = f"{DECODE}>spec>rolloutStrategy>rollingUpdateConfiguration"
QUEUED = {f"{DECODE}>metadata": {"labels": {K + "queue-name": "serving"}}}


def test_roles_are_taken(make: Make, refused: Check, accepted: Check) -> None:
    for change, at in (
        ({f"{DECODE}>name": "prefill"}, "roles[1].name ~ two roles"),
        ({f"{DECODE}>name": "Decode_1"}, "roles[1].name ~ decode-1"),
        ({f"{DECODE}>spec>replicas": 0}, "roles[1].spec.replicas ~ prefill has some"),
        ({f"{ROLLING}>partition": 1}, "rollingUpdateConfiguration.partition"),
        ({f"{DECODE}>scaling": {"mode": "External"}, "spec>slices": 2}, "roles[1].scaling.mode"),
        ({"spec>placementPolicy": {"type": "ExclusiveSlice"}}, "placementPolicy.topology"),
    ):
        refused("roles-refused", at, make("roles", change))
    accepted("roles-refused", make("roles"))
    accepted("roles-refused", make("roles", {f"{DECODE}>scaling": {"mode": "External"}}))
    nothing = {"spec>roles>0>spec>replicas": 0, f"{DECODE}>spec>replicas": 0}
    accepted("roles-refused", make("roles", nothing))


def test_one_role_is_enough_from_a_release_on(make: Make, refused: Check, accepted: Check) -> None:
    one = make("roles")
    one["spec"]["roles"] = one["spec"]["roles"][:1]
    refused("roles-refused", "spec.roles ~ 2 to 10", one, versions={"lws": "0.10"})
    accepted("roles-refused", one, versions={"lws": "0.11"})
    accepted("roles-refused", one)


def test_one_affinity_places_slices(make: Make, refused: Check, accepted: Check) -> None:
    policy = {"type": "ExclusiveSlice", "topology": "example.com/rack"}
    both = {
        "spec>placementPolicy": policy,
        f"{DECODE}>metadata": {"annotations": {L + "exclusive-topology": "example.com/rack"}},
    }
    refused(
        "roles-refused",
        f"roles[1].metadata.annotations[{L}exclusive-topology]",
        make("roles", both),
    )
    accepted("roles-refused", make("roles", {"spec>placementPolicy": policy}))
    level = {K + "podset-required-topology": "example.com/rack"}
    queued = {**QUEUED, f"{TEMPLATE}>workerTemplate>metadata>annotations": level}
    wrong = make("roles", {**queued, "spec>placementPolicy": policy})
    refused("placement-policy-under-queue", "spec.placementPolicy.type", wrong)
    accepted("placement-policy-under-queue", make("roles", queued))
    accepted("placement-policy-under-queue", make("roles", {"spec>placementPolicy": policy}))


def test_slices_find_domains(make: Make, refused: Check, accepted: Check) -> None:
    policy = {"type": "ExclusiveSlice", "topology": "example.com/rack"}
    three = make("roles", {"spec>placementPolicy": policy, "spec>slices": 3})
    refused("slices-exceed-domains", "spec.slices", three, domains={"example.com/rack": 2})
    accepted("slices-exceed-domains", three, domains={"example.com/rack": 3})
    accepted("slices-exceed-domains", three)


def test_a_role_says_its_rollout(make: Make, refused: Check, accepted: Check) -> None:
    at = "roles[1].spec.rolloutStrategy.rollingUpdateConfiguration"
    refused("role-rollout-unsaid", f"{at} ~ maxSurge 1", make("roles", {ROLLING: ...}))
    refused("role-rollout-unsaid", at, make("roles", {ROLLING: {"maxSurge": 1}}))
    accepted("role-rollout-unsaid", make("roles"))


def scaler(make: Make, name: str) -> dict[str, Any]:
    target = {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSetRoleScaler",
        "name": name,
    }
    return make("scaler", {"spec>scaleTargetRef": target})


def test_a_role_is_scaled_from_outside(make: Make, refused: Check, accepted: Check) -> None:
    outside = make("roles", {f"{DECODE}>scaling": {"mode": "External"}})
    static = make("roles")
    at = "spec.scaleTargetRef.name ~ External"
    refused("scale-target-role-static", at, scaler(make, "pd-decode"), static)
    accepted("scale-target-role-static", scaler(make, "pd-decode"), outside)
    accepted("scale-target-role-static", scaler(make, "other-decode"), static)
    accepted("reference-unresolved", scaler(make, "pd-decode"), outside, complete=True)
    whole = make(
        "scaler",
        {"spec>scaleTargetRef>kind": "DisaggregatedSet", "spec>scaleTargetRef>name": "pd"},
    )
    refused("scale-target-cannot-scale", "spec.scaleTargetRef.kind", whole)


def test_the_controller_makes_scalers(make: Make, refused: Check, accepted: Check) -> None:
    written: dict[str, Any] = {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSetRoleScaler",
        "metadata": {"name": "pd-decode", "namespace": "llm"},
    }
    refused("role-scaler-written", "kind", written)
    owner = {"ownerReferences": [{"kind": "DisaggregatedSet", "name": "pd"}]}
    accepted("role-scaler-written", {**written, "metadata": {**written["metadata"], **owner}})


# ── rules of groups, on each role ────────────────────────────────────────────────────────────────


def test_rules_of_groups_look_at_each_role(make: Make, refused: Check, accepted: Check) -> None:
    base = "roles[1].spec.leaderWorkerTemplate"
    for code, change, at in (
        ("restart-policy-none", {f"{TEMPLATE}>restartPolicy": "None"}, "restartPolicy"),
        (
            "subgroups-refused",
            {f"{TEMPLATE}>subGroupPolicy": {"subGroupSize": 3}},
            "subGroupPolicy.subGroupSize",
        ),
        ("leader-template-missing", {f"{TEMPLATE}>leaderTemplate": ...}, "leaderTemplate"),
    ):
        refused(code, f"{base}.{at}", make("roles", change))
        accepted(code, make("roles"))
    still = make("roles", {ROLLING: {"maxSurge": 0, "maxUnavailable": 0}})
    at = "roles[1].spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable"
    refused("rollout-of-nothing", at, still)


def test_a_role_in_a_queue_may_surge(make: Make, accepted: Check, refused: Check) -> None:
    surge = {ROLLING: {"maxSurge": 1, "maxUnavailable": 0}}
    accepted("surge-under-queue", make("roles", {**QUEUED, **surge}))
    label = f"roles[1].metadata.labels[{K}queue-name]"
    other = make("local_queue", {"metadata>name": "batch"})
    refused("queue-unresolved", label, make("roles", QUEUED), other)


def test_names_leave_room_for_slice_revision_and_role(
    make: Make, refused: Check, accepted: Check
) -> None:
    accepted("name-exceeds-bound", make("roles", {"metadata>name": "x" * 31}))
    refused(
        "name-exceeds-bound",
        "metadata.name ~ shorten it by 1",
        make("roles", {"metadata>name": "x" * 32}),
    )


def test_a_selector_of_one_role_judges_that_role(
    make: Make, refused: Check, accepted: Check
) -> None:
    decode = {D + "name": "pd", D + "role": "decode"}
    roles = make("roles")
    refused(
        "service-selects-workers",
        "spec.selector ~ pd/decode",
        make("service", {"spec>selector": decode}),
        roles,
    )
    leaders = make("service", {"spec>selector": {**decode, L + "worker-index": "0"}})
    for code in (
        "service-selects-workers",
        "service-selects-no-leader",
        "selector-matches-nothing",
    ):
        accepted(code, leaders, roles)
    budget = make("budget", {"spec>selector>matchLabels": decode})
    for code in ("budget-of-leaders-only", "budget-allows-many-groups", "budgets-overlap"):
        accepted(code, budget, roles)
    lonely = make("budget", {"spec>selector>matchLabels": {**decode, L + "worker-index": "0"}})
    refused("budget-of-leaders-only", f"spec.selector ~ {D}role: decode", lonely, roles)
    guess = make("service", {"spec>selector": {L + "name": "pd", L + "worker-index": "0"}})
    refused("selector-matches-nothing", f"spec.selector ~ {D}", guess, roles)
