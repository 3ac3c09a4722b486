"""What we write as the server's defaults, against the `default:` of the CRDs of pinned releases.

A default that is left out makes every sync of a GitOps tool report a difference; one that is wrong hides behind the
right one of another release. Both ways are checked: over the fleet, and over every default that a CRD of ours has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from gangform.apis.core import complete

pytestmark = pytest.mark.go

Object = dict[str, Any]
Shipped = tuple[str, Object]
Schemas = Mapping[tuple[str, str], Object]

OWNED = {
    ("LeaderWorkerSet", "spec.replicas"): "its absence leaves it to the autoscaler",
}
"""Defaults that the server adds to documents of the fleet and that are not ours to write; each with the reason."""


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
                yield from apply_defaults(known, inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from apply_defaults(schema.get("items", {}), inner, f"{path}[]")


def test_the_server_adds_nothing_to_the_fleet_but_what_it_owns(
    shipped: Sequence[Shipped], schemas: Schemas
) -> None:
    added = {
        (manifest["kind"], path)
        for _, manifest in shipped
        if (schema := schemas.get((manifest["apiVersion"], manifest["kind"]))) is not None
        for path in apply_defaults(schema, deepcopy(manifest))
    }
    assert added == set(OWNED)
