"""What every input field means, read from the docstrings under the fields, and the JSON Schemas for editors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SchemaKind = Literal["fleet", "serving", "cluster", "model", "hardware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDoc:
    """One field of the inputs, for `gangform explain`."""

    path: str
    """As it is written in YAML: `servings.parallelism.tensor`."""
    type: str
    """In words: `whole number, at least 1`."""
    default: str
    """As YAML, `required`, or what absence means."""
    doc: str
    """The docstring under the field, or an empty text."""
    fields: tuple[str, ...]
    """Names of the fields inside; empty for a plain value."""


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file of that kind, with the fields' docstrings as descriptions."""
    raise NotImplementedError


def describe(path: str) -> FieldDoc:
    """The field at a path such as `servings.parallelism.tensor`; indexes and a leading `fleet` may be left out.

    Raises:
        LookupError: There is no such field; the message names the nearest ones.
    """
    raise NotImplementedError
