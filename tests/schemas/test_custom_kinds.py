"""Documents of custom kinds against the CRDs of pinned releases, as `kubectl apply --validate=strict` would judge them.

Where the package `cel-python` is installed, the rules that CRDs state in CEL are run too. Those that compare with the
stored object (`oldSelf`) are left to the tests on a control plane, and so is what webhooks refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

pytestmark = pytest.mark.go

Object = dict[str, Any]
Shipped = tuple[str, Object]
Schemas = Mapping[tuple[str, str], Object]
CustomFaults = Callable[[Object], list[str]]

CUSTOM = (
    "LeaderWorkerSet",
    "ClusterQueue",
    "LocalQueue",
    "ResourceFlavor",
    "Topology",
    "WorkloadPriorityClass",
    "PodGroup",
    "Queue",
    "HyperNode",
    "PodMonitor",
    "PrometheusRule",
    "ScaledObject",
)
"""Every custom kind of the fleet."""


def of_kind(shipped: Sequence[Shipped], kind: str) -> list[Object]:
    return [manifest for _, manifest in shipped if manifest["kind"] == kind]


@pytest.mark.parametrize("kind", CUSTOM)
def test_documents_of_the_fleet_fit_their_definition(
    kind: str, documents: Sequence[Shipped], custom_faults: CustomFaults
) -> None:
    found = of_kind(documents, kind)
    assert found
    assert [fault for manifest in found for fault in custom_faults(manifest)] == []


def test_every_custom_kind_of_the_fleet_is_asked_for(
    documents: Sequence[Shipped], schemas: Schemas
) -> None:
    found = {one["kind"] for _, one in documents if (one["apiVersion"], one["kind"]) in schemas}
    assert found == set(CUSTOM)


# ── damage ───────────────────────────────────────────────────────────────────────────────────────

Damage = tuple[str, tuple[str | int, ...], Any, str]
DAMAGES: list[Damage] = [
    # A field that nobody knows: pruned in silence by a server that is not asked to be strict.
    ("LeaderWorkerSet", ("spec", "leaderWorkerTemplate", "sizes"), 4, "unexpected"),
    ("LeaderWorkerSet", ("spec", "rolloutStrategy", "maxSurge"), 1, "unexpected"),
    ("ClusterQueue", ("spec", "cohortname"), "all", "unexpected"),
    ("LocalQueue", ("spec", "clusterqueue"), "all", "unexpected"),
    ("ResourceFlavor", ("spec", "nodeLabel"), {}, "unexpected"),
    ("PodGroup", ("spec", "minMembers"), 4, "unexpected"),
    ("HyperNode", ("spec", "tiers"), 1, "unexpected"),
    ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "ports"), "http", "unexpected"),
    ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "severity"), "page", "unexpected"),
    ("ScaledObject", ("spec", "minReplicas"), 2, "unexpected"),
    ("ScaledObject", ("spec", "triggers", 0, "query"), "sum(x)", "unexpected"),
    # A wrong type.
    ("ScaledObject", ("spec", "triggers", 0, "metadata", "threshold"), 8, "not of type 'string'"),
    ("LeaderWorkerSet", ("spec", "leaderWorkerTemplate", "size"), "4", "not of type 'integer'"),
    (
        "LeaderWorkerSet",
        ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"),
        0.5,
        "0.5",
    ),
    ("WorkloadPriorityClass", ("value",), "1000", "not of type 'integer'"),
    ("PodGroup", ("spec", "minMember"), 1 << 31, "is not a 'int32'"),
    ("HyperNode", ("spec", "members"), {}, "not of type 'array'"),
    ("Topology", ("spec", "levels", 0), "rack", "not of type 'object'"),
    # A value that is none of the enum's.
    (
        "LeaderWorkerSet",
        ("spec", "leaderWorkerTemplate", "restartPolicy"),
        "Always",
        "is not one of",
    ),
    ("LeaderWorkerSet", ("spec", "startupPolicy"), "LeaderFirst", "is not one of"),
    ("ClusterQueue", ("spec", "queueingStrategy"), "Fifo", "is not one of"),
    ("PodGroup", ("spec", "networkTopology"), {"mode": "strict"}, "is not one of"),
    ("ScaledObject", ("spec", "fallback", "behavior"), "keep", "is not one of"),
    # Bounds, patterns and what every object has.
    ("ClusterQueue", ("spec", "resourceGroups", 0, "coveredResources"), [], "should be non-empty"),
    ("Topology", ("spec", "levels", 0, "nodeLabel"), "no label", "does not match"),
    ("Queue", ("metadata", "label"), {}, "unexpected"),
]


def damaged(manifest: Object, path: tuple[str | int, ...], value: Any) -> Object:
    made = deepcopy(manifest)
    parent: Any = made
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = value
    return made


@pytest.mark.parametrize(
    "damage", DAMAGES, ids=[f"{kind}-{path[-1]}" for kind, path, _, _ in DAMAGES]
)
def test_damage_is_noticed(
    damage: Damage, shipped: Sequence[Shipped], custom_faults: CustomFaults
) -> None:
    kind, path, value, said = damage
    faults = custom_faults(damaged(of_kind(shipped, kind)[0], path, value))
    assert [fault for fault in faults if said in fault], faults


def test_a_container_that_stands_twice_is_noticed(
    shipped: Sequence[Shipped], custom_faults: CustomFaults
) -> None:
    manifest = deepcopy(of_kind(shipped, "LeaderWorkerSet")[0])
    containers = manifest["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    containers.append(containers[0])
    assert any("stands twice" in fault for fault in custom_faults(manifest))


def test_a_version_that_no_definition_serves_is_noticed(
    shipped: Sequence[Shipped], custom_faults: CustomFaults
) -> None:
    manifest = {**of_kind(shipped, "ClusterQueue")[0], "apiVersion": "kueue.x-k8s.io/v2"}
    assert custom_faults(manifest) == ["no CRD has kueue.x-k8s.io/v2 ClusterQueue"]


# ── CEL ──────────────────────────────────────────────────────────────────────────────────────────


def rules(schema: Object, value: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """Place, expression and value of every CEL rule that holds for a value of a schema."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" not in rule["rule"]:
            yield path, rule["rule"], value
    if isinstance(value, dict):
        for key, inner in value.items():
            known = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(known, dict):
                yield from rules(known, inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from rules(schema.get("items", {}), inner, f"{path}[{index}]")


def broken_rules(schema: Object, manifest: Object) -> list[str]:
    celpy = pytest.importorskip("celpy", reason="cel-python is not installed")
    found = []
    environment = celpy.Environment()
    for path, expression, value in rules(schema, manifest):
        program = environment.program(environment.compile(expression))
        if not program.evaluate({"self": celpy.json_to_cel(value)}):
            found.append(f"{manifest['kind']}/{manifest['metadata']['name']} {path}: {expression}")
    return found


def test_documents_of_the_fleet_keep_the_rules_in_cel(
    shipped: Sequence[Shipped], schemas: Schemas
) -> None:
    judged = 0
    broken: list[str] = []
    for _, manifest in shipped:
        schema = schemas.get((manifest["apiVersion"], manifest["kind"]))
        if schema is not None:
            judged += sum(1 for _ in rules(schema, manifest))
            broken += broken_rules(schema, manifest)
    assert judged, "the definitions state rules for what the fleet has"
    assert broken == []


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ClusterQueue", ("spec", "resourceGroups", 0, "coveredResources"), ["cpu"]),
        ("ClusterQueue", ("spec", "preemption", "borrowWithinCohort", "policy"), "LowerPriority"),
        ("ResourceFlavor", ("spec",), {"nodeLabels": {}, "topologyName": "racks"}),
        (
            "Topology",
            ("spec", "levels"),
            [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}],
        ),
        ("HyperNode", ("spec", "members", 0, "selector"), {}),
    ],
)
def test_a_broken_rule_in_cel_is_noticed(
    kind: str,
    path: tuple[str | int, ...],
    value: Any,
    shipped: Sequence[Shipped],
    schemas: Schemas,
) -> None:
    manifest = damaged(of_kind(shipped, kind)[0], path, value)
    assert len(broken_rules(schemas[manifest["apiVersion"], kind], manifest)) == 1
