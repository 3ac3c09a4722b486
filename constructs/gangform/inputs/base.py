"""The base of every input model: frozen, nothing extra, camelCase in YAML and snake_case in Python.

A value that two places could spell differently is refused in one of them: YAML is read by alias only and keyword
arguments by name only (the loader passes `by_alias=True, by_name=False`).
"""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from gangform.apis.keys import ZONE
from gangform.apis.metadata import is_dns_label, is_dns_subdomain, is_key, is_label_value
from gangform.units import BytesPerSecond, Seconds


def in_camel_case(name: str) -> str:
    """The key in YAML: `max_surge` is `maxSurge`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class Model(BaseModel):
    """An input. Frozen; unknown keys are errors; validators are built on first use, since start-up counts.

    A default that is an input too is made once for all (`cache`), unless it holds a map, which somebody may write to.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=in_camel_case,
        validate_by_name=True,
        validate_by_alias=False,
        serialize_by_alias=True,
        defer_build=True,
        strict=True,
        ser_json_inf_nan="strings",
    )


def _label(value: str) -> str:
    if not is_dns_label(value, letter_first=True):
        raise PydanticCustomError(
            "name-invalid",
            "`{value}` is not a DNS label: lower-case letters, digits and dashes, "
            "a letter first, at most 63 characters",
            {"value": value},
        )
    return value


def _object_name(value: str) -> str:
    if not is_dns_subdomain(value):
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

INT32 = 2**31 - 1
"""The largest number that most fields of Kubernetes hold (OpenAPI `format: int32`)."""

Count = Annotated[int, Field(ge=1, le=INT32)]
"""A whole number of at least one that an int32 holds."""

Natural = Annotated[int, Field(ge=0, le=INT32)]
"""A whole number of at least zero that an int32 holds."""

Integer = Annotated[int, Field(ge=-INT32 - 1, le=INT32)]
"""A whole number that an int32 holds: priorities."""

MOST_GROUPS = 1_000_000
"""Replicas of a LeaderWorkerSet at the most (`lws §2a`, `kueue §2.4`)."""

GroupCount = Annotated[int, Field(ge=1, le=MOST_GROUPS)]
"""Groups of a set."""

Few = Annotated[int, Field(ge=1, le=10_000)]
"""Ranks of one kind, or layers: far beyond any engine or model, and few enough to list what each of them holds."""

Big = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A whole number that no field of an object holds: parameters of a model."""


def countable(value: Seconds) -> Seconds:
    """Refuse a duration that no field of an object holds."""
    if value > INT32:
        raise PydanticCustomError(
            "duration-too-long", "{value} is longer than 68 years", {"value": str(value)}
        )
    return value


Duration = Annotated[Seconds, AfterValidator(countable)]
"""A duration whose seconds an int32 holds, since probes, autoscalers and alerts count them."""


def _domain_value(value: str) -> str:
    if not value:
        raise PydanticCustomError("name-invalid", "a domain without a name selects no node", {})
    return _label_value(value)


DomainValue = Annotated[str, AfterValidator(_domain_value)]
"""A label value that is not empty: where a node lies."""
