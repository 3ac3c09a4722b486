"""What we write as the server's defaults, against the `default:` of the CRDs of pinned releases.

A default that is left out makes every sync of a GitOps tool report a difference; one that is wrong hides behind the
right one of another release. Both ways are checked: over the fleet, and over every default that a CRD of ours has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from gangform.apis.core import complete

pytestmark = pytest.mark.go

Object = dict[str, Any]
Shipped = tuple[str, Object]
Schemas = Mapping[tuple[str, str], Object]

KINDS = (
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet"),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io/v1beta2", "Cohort"),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io/v1beta2", "Topology"),
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("scheduling.volcano.sh/v1beta1", "Queue"),
    ("topology.volcano.sh/v1alpha1", "HyperNode"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("inference.networking.k8s.io/v1", "InferencePool"),
    ("keda.sh/v1alpha1", "ScaledObject"),
)
"""Every custom kind that we emit, patch or complete."""

LEFT_OUT = {
    r"spec(\.roles\[\]\.spec)?\.replicas": "its absence leaves the number to an autoscaler",
    r"status(\..*)?": "written by controllers",
    r".*\.ephemeralContainers\[\]\..*": "no template may have ephemeral containers",
}
"""Places whose defaults are not ours to write, whatever the kind; each with the reason."""


def left_out(path: str) -> bool:
    return any(re.fullmatch(place, path) for place in LEFT_OUT)


def apply_defaults(schema: Object, value: Any, path: str = "") -> Iterator[str]:
    """Write what a structural schema has as defaults into a value, and tell where."""
    if isinstance(value, dict):
        properties: Object = schema.get("properties", {})
        for key, known in properties.items():
            if "default" in known and key not in value:
                value[key] = deepcopy(known["default"])
                yield f"{path}.{key}".removeprefix(".")
        for key, inner in value.items():
            known = properties.get(key, schema.get("additionalProperties"))
            if isinstance(known, dict):
                yield from apply_defaults(known, inner, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for inner in value:
            yield from apply_defaults(schema.get("items", {}), inner, f"{path}[]")


def test_the_server_adds_nothing_to_the_fleet_but_the_replicas_of_what_is_scaled(
    documents: Sequence[Shipped], schemas: Schemas
) -> None:
    added = {
        (manifest["kind"], manifest["metadata"]["name"], path)
        for _, manifest in documents
        if (schema := schemas.get((manifest["apiVersion"], manifest["kind"]))) is not None
        for path in apply_defaults(schema, deepcopy(manifest))
    }
    scaled = {
        (target["kind"], target["name"], "spec.replicas")
        for _, manifest in documents
        if manifest["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")
        for target in [manifest["spec"]["scaleTargetRef"]]
    }
    assert added == scaled


# ── every default ────────────────────────────────────────────────────────────────────────────────

Way = tuple[str, ...]


def ways(schema: Object, way: Way = ()) -> Iterator[Way]:
    """Every place that a schema has a default for; `[]` is an item of a list, `{}` a value of a map."""
    for key, known in schema.get("properties", {}).items():
        if "default" in known:
            yield (*way, key)
        yield from ways(known, (*way, key))
    for name, part in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(name), dict):
            yield from ways(schema[name], (*way, part))


def spelled(way: Way) -> str:
    return ".".join(way).replace(".[]", "[]").replace(".{}", "{}")


def smallest(way: Way) -> Any:
    """A value that has this place and nothing else."""
    if not way:
        return {}
    inner = smallest(way[1:])
    return [inner] if way[0] == "[]" else {"some" if way[0] == "{}" else way[0]: inner}


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_every_default_of_a_definition_is_ours_too(
    api_version: str, kind: str, schemas: Schemas
) -> None:
    schema = schemas[api_version, kind]
    wrong = []
    for way in ways(schema):
        if left_out(spelled(way)):
            continue
        bare = {"apiVersion": api_version, "kind": kind, **smallest(way[:-1])}
        stored = deepcopy(bare)
        for path in list(apply_defaults(schema, stored)):
            if left_out(path):
                remove(stored, path)
        # The server stores a default as the definition spells it; what we write is stored as we spell it.
        if complete(stored) != complete(bare):
            wrong.append(f"{spelled(way)}: {stored} is stored, {complete(bare)} is ours")
    assert wrong == []


def remove(value: Any, path: str) -> None:
    """Take away what stands at a path; all items of the lists on the way."""
    first, _, rest = path.partition(".")
    name = first.removesuffix("[]")
    if not rest:
        value.pop(name, None)
        return
    inner = value[name]
    for item in inner if first.endswith("[]") else [inner]:
        remove(item, rest)


@pytest.mark.parametrize("place", LEFT_OUT)
def test_what_is_left_out_is_somewhere_a_default(place: str, schemas: Schemas) -> None:
    found = [
        way for key in KINDS for way in ways(schemas[key]) if re.fullmatch(place, spelled(way))
    ]
    assert found


# ── the check itself ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("LeaderWorkerSet", ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition")),
        ("LeaderWorkerSet", ("spec", "startupPolicy")),
        ("ClusterQueue", ("spec", "flavorFungibility")),
        ("ClusterQueue", ("spec", "queueingStrategy")),
        ("Queue", ("spec", "dequeueStrategy")),
        ("ScaledObject", ("spec", "fallback", "behavior")),
    ],
)
def test_a_default_that_we_forget_is_noticed(
    kind: str, path: Way, shipped: Sequence[Shipped], schemas: Schemas
) -> None:
    manifest = deepcopy(next(one for _, one in shipped if one["kind"] == kind))
    parent: Any = manifest
    for part in path[:-1]:
        parent = parent[part]
    del parent[path[-1]]
    added = set(apply_defaults(schemas[manifest["apiVersion"], kind], manifest))
    assert ".".join(path) in added
