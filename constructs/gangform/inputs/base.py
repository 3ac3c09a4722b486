"""The base of every input model: frozen, nothing extra, camelCase in YAML and snake_case in Python.

A value that two places could spell differently is refused in one of them: YAML is read by alias only and keyword
arguments by name only (the loader passes `by_alias=True, by_name=False`).
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from gangform.apis.keys import ZONE
from gangform.apis.metadata import is_key, is_label_value
from gangform.units import BytesPerSecond

_LABEL = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")


class Model(BaseModel):
    """An input. Frozen; unknown keys are errors; validators are built on first use, since start-up counts."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=False,
        serialize_by_alias=True,
        defer_build=True,
        strict=True,
        ser_json_inf_nan="strings",
    )


def _label(value: str) -> str:
    if not _LABEL.match(value) or len(value) > 63:
        raise PydanticCustomError(
            "name-invalid",
            "`{value}` is not a DNS label: lower-case letters, digits and dashes, "
            "a letter first, at most 63 characters",
            {"value": value},
        )
    return value


def _object_name(value: str) -> str:
    if not _SUBDOMAIN.match(value) or len(value) > 253:
        raise PydanticCustomError(
            "name-invalid",
            "`{value}` is not an object name: lower-case letters, digits, dashes and dots",
            {"value": value},
        )
    return value


def _label_key(value: str) -> str:
    if not is_key(value):
        raise PydanticCustomError(
            "name-invalid",
            "`{value}` is not a label key such as {example}",
            {"value": value, "example": ZONE},
        )
    return value


def _label_value(value: str) -> str:
    if not is_label_value(value):
        raise PydanticCustomError(
            "name-invalid",
            "`{value}` is not a label value: at most 63 letters, digits, dashes, dots and underscores",
            {"value": value},
        )
    return value


Name = Annotated[str, AfterValidator(_label)]
"""A DNS-1035 label: what LeaderWorkerSets, Services and namespaces may be called."""

ObjectName = Annotated[str, AfterValidator(_object_name)]
"""A DNS-1123 subdomain: Secrets, claims, priority classes."""

LabelKey = Annotated[str, AfterValidator(_label_key)]
"""A node-label key, prefix included."""

LabelValue = Annotated[str, AfterValidator(_label_value)]
"""The value of a label: at most 63 characters of a name, or empty."""


def _positive(value: BytesPerSecond) -> BytesPerSecond:
    if not value:
        raise PydanticCustomError("bandwidth-zero", "at 0 B/s nothing is ever read", {})
    return value


Bandwidth = Annotated[BytesPerSecond, AfterValidator(_positive)]
"""How fast a pod reads; never 0."""

Count = Annotated[int, Field(ge=1)]
"""A whole number of at least one."""

Natural = Annotated[int, Field(ge=0)]
"""A whole number of at least zero."""
