"""Texts and amounts that end in somebody else's language: PromQL, templates of alerts, command lines, requests.

What such a language would read as its own syntax is refused here, where the user wrote it, and not escaped later.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from gangform.apis.metadata import is_extended_resource
from gangform.apis.versions import Release
from gangform.inputs.base import countable
from gangform.units import Bytes, Millicores, Seconds

_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MODEL = re.compile(r"[A-Za-z0-9._/~][A-Za-z0-9._/~:@+=-]*")
_SYSTEM = (["proc"], ["sys"], ["dev"], ["etc"], ["var", "lib", "kubelet"])
"""Folders of a node that are the system's: nothing in, around or above them is mounted."""
_URL = re.compile(r"https?://[^\s{}]+")


def _metric(value: str) -> str:
    if not _METRIC.fullmatch(value):
        raise PydanticCustomError(
            "metric-name-invalid",
            "`{value}` is no name of a metric: letters, digits, underscores and colons, no digit first",
            {"value": value},
        )
    return value


def _label(value: str) -> str:
    if not _LABEL.fullmatch(value) or value.startswith("__"):
        raise PydanticCustomError(
            "series-label-invalid",
            "`{value}` is no label of a series: letters, digits and underscores, no digit first and not two "
            "underscores, which are Prometheus' own",
            {"value": value},
        )
    return value


def _line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise PydanticCustomError(
            "text-not-one-line", "a text of one printable line is wanted, and this is none", {}
        )
    return value


def _model(value: str) -> str:
    if not _MODEL.fullmatch(value):
        raise PydanticCustomError(
            "model-id-invalid",
            "`{value}` is neither an id on the hub nor a path: letters, digits and . _ / ~ : @ + = -, no dash first",
            {"value": value},
        )
    return value


def _extended(value: str) -> str:
    if not is_extended_resource(value):
        raise PydanticCustomError(
            "resource-not-extended",
            "`{value}` is no extended resource: a device plugin's has a prefix with a slash, not Kubernetes' own",
            {"value": value},
        )
    return value


def folder_fault(path: str | None, *, on_node: bool) -> str | None:
    """Why a folder cannot hold weights; `None` where it can. `on_node`: on the node, not inside a volume."""
    if path is None:
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or (on_node and not path.startswith("/")):
        return "no part is `..`, and a folder on the node begins with `/`"
    if not path.strip() or not path.isprintable() or path.startswith("-") or "$(" in path:
        return "it is one printable line that does not begin with `-` and is no variable `$(NAME)`"
    if on_node and any(parts[: len(own)] == own or own[: len(parts)] == parts for own in _SYSTEM):
        return "the node's own folders are no place for a model"
    return None


def _url(value: str) -> str:
    if not _URL.fullmatch(value) or not value.isprintable():
        raise PydanticCustomError(
            "url-invalid",
            "`{value}` is no address: it begins with http:// or https:// and has no blanks and no braces",
            {"value": value},
        )
    return value


def _literal(value: str) -> str:
    if "$(" in value:
        raise PydanticCustomError(
            "text-expands",
            "`{value}`: the kubelet reads `$(NAME)` in an argument as a variable",
            {"value": value},
        )
    return _line(value)


def _some(value: int) -> int:
    if value <= 0:
        raise PydanticCustomError(
            "quantity-zero", "an amount of {value} is not the same as none given", {"value": value}
        )
    return value


def _version(value: object) -> object:
    written = getattr(value, "written", None)
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        raise PydanticCustomError(
            "version-unquoted",
            'a version without quotes is a number: YAML reads {written} as {value}; write "{written}"',
            {"written": written or str(value), "value": f"{float(value):g}"},
        )
    if isinstance(value, str):
        try:
            Release.parse(value)
        except ValueError as error:
            raise PydanticCustomError("version-invalid", "{text}", {"text": str(error)}) from None
    return value


MetricName = Annotated[str, AfterValidator(_metric)]
"""A metric's name as Prometheus takes it without quotes."""
SeriesLabel = Annotated[str, AfterValidator(_label)]
"""The name of a label of a series."""
Line = Annotated[str, AfterValidator(_line)]
"""One printable line, not empty."""
ModelId = Annotated[str, AfterValidator(_model)]
"""What an engine loads: an id on the hub or a path."""
ExtendedResource = Annotated[str, AfterValidator(_extended)]
"""The name of a resource of a device plugin."""
Url = Annotated[str, AfterValidator(_url)]
"""An address that may stand in a template of an alert."""
Argument = Annotated[str, AfterValidator(_literal)]
"""One line that stands in an argument of a container as it is."""

Version = Annotated[str, BeforeValidator(_version)]
"""A version as text: `"0.10"`. Unquoted it would be the number 0.1."""

SomeBytes = Annotated[Bytes, AfterValidator(_some)]
"""An amount of memory above 0."""
SomeCpu = Annotated[Millicores, AfterValidator(_some)]
"""An amount of CPU above 0."""
SomeSeconds = Annotated[Seconds, AfterValidator(_some), AfterValidator(countable)]
"""A duration above 0 whose seconds an int32 holds."""
