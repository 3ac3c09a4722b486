"""The structures that lint goes by, against the CRDs of pinned releases: they know every field, and its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gangform.apis.served import KINDS
from gangform.apis.structure import Field, structure

pytestmark = pytest.mark.go

Object = dict[str, Any]
Schemas = Mapping[tuple[str, str], Object]

STRUCTURES = {
    (f"{group}/{version}", kind): row.structure
    for (group, kind), rows in KINDS.items()
    for version, row in rows.items()
    if row.structure
}
TYPES = {
    "open": ("object",),
    "map": ("object",),
    "list": ("array",),
    "maps": ("array",),
    "str": ("string",),
    "words": ("string",),
    "int": ("integer",),
    "bool": ("boolean",),
    "amount": ("integer", "string", None),
}


def differences(schema: Object, field: Field, at: str = "") -> Iterator[str]:
    """Where a structure lacks a field of a schema, or takes it for something else."""
    for name, below in schema.get("properties", {}).items():
        path = f"{at}.{name}"
        known = field.fields.get(name)
        if known is None:
            yield f"{path} is not listed"
        elif below.get("type") not in TYPES[known.shape]:
            yield f"{path} is {below.get('type')} and not {known.shape}"
        elif known.shape == "words" and set(map(str, below.get("enum", ()))) - set(known.words):
            yield f"{path} has more words: {below['enum']}"
        elif known.shape == "maps":
            yield from differences(below.get("items", {}), known, path + "[]")
        elif known.shape == "map":
            yield from differences(below, known, path)


def test_structures_know_every_field_of_the_definitions(schemas: Schemas) -> None:
    found = {key: schemas[key] for key in STRUCTURES if key in schemas}
    assert len(found) > 8
    faults = []
    for key, schema in found.items():
        above = {
            name: below
            for name, below in schema["properties"].items()
            if name not in ("metadata", "status")
        }
        root = structure(str(STRUCTURES[key]))
        faults += [f"{key}{each}" for each in differences({"properties": above}, root)]
    assert faults == []


def test_a_field_that_is_not_listed_is_seen() -> None:
    schema = {"properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    assert list(differences(schema, structure("spec\n  b str"))) == [".spec.a is not listed"]
    assert list(differences(schema, structure("spec\n  a int"))) == [
        ".spec.a is string and not int"
    ]
    assert list(differences(schema, structure("spec\n  a str"))) == []
