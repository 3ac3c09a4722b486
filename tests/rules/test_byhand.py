"""StatefulSets: pods that may be groups by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

POD = "spec>template>spec>containers>0"
TOGETHER = [
    "--tensor-parallel-size=8",
    "--pipeline-parallel-size=2",
    "--nnodes=2",
    "--node-rank=$(RANK)",
    "--master-addr=hand-0.hand",
]


def test_ranks_start_together(make: Make, refused: Check, accepted: Check) -> None:
    group = make("stateful", {f"{POD}>args": TOGETHER})
    refused("ordered-start-deadlock", "spec.podManagementPolicy ~ Parallel", group)
    parallel = {f"{POD}>args": TOGETHER, "spec>podManagementPolicy": "Parallel"}
    accepted("ordered-start-deadlock", make("stateful", parallel), make("stateful"))
    accepted(
        "ordered-start-deadlock", make("stateful", {f"{POD}>args": TOGETHER, "spec>replicas": 1})
    )


def test_pods_have_addresses(make: Make, refused: Check, accepted: Check) -> None:
    service = make("service", {"metadata>name": "hand"})
    refused("stateful-service-not-headless", "spec.serviceName", make("stateful"), service)
    headless = make("service", {"metadata>name": "hand", "spec>clusterIP": "None"})
    accepted("stateful-service-not-headless", make("stateful"), headless)
    accepted("stateful-service-not-headless", make("stateful"))
    # One pod is called by nobody, and one is what a set has that says no number.
    for replicas in (1, ...):
        alone = make("stateful", {"spec>replicas": replicas})
        accepted("stateful-service-not-headless", alone, service)


def test_what_several_pods_may_be_is_not_judged_as_one(
    make: Make, refused: Check, accepted: Check
) -> None:
    group = make("stateful", {f"{POD}>args": TOGETHER})
    wide = make("stateful", {f"{POD}>args": ["--tensor-parallel-size=16"]})
    worker = make("stateful", {f"{POD}>args": [*TOGETHER, "--headless"]})
    for code in ("engine-needs-more-gpus", "leader-headless", "engine-nodes-differ"):
        accepted(code, group, wide, worker)
    single = make("stateful", {f"{POD}>args": ["--tensor-parallel-size=16"], "spec>replicas": 1})
    refused("engine-needs-more-gpus", "containers[0].args", single)
    pair = make("deployment", {"spec>template>spec>containers>0>args": TOGETHER})
    accepted("engine-needs-more-gpus", pair)


def test_rules_of_pods_look_at_stateful_sets(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("stateful", {f"{POD}>readinessProbe": ...})
    refused("readiness-probe-missing", "readinessProbe", bare)
    app = {"app.kubernetes.io/name": "hand"}
    accepted("selector-matches-nothing", make("stateful"), make("service", {"spec>selector": app}))
    lost = make("service", {"spec>selector": {"app.kubernetes.io/name": "other"}})
    refused("selector-matches-nothing", "spec.selector ~ hand", make("stateful"), lost)


def test_the_sets_of_a_controller_are_not_read(make: Make, accepted: Check) -> None:
    label = {"leaderworkerset.sigs.k8s.io/name": "r1"}
    made = make("stateful", {"metadata>labels": label, f"{POD}>readinessProbe": ...})
    accepted("readiness-probe-missing", made)
