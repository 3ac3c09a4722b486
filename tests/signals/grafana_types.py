"""Grafana's own types over a dashboard: read back, nothing may be lost, and every value must be of the field's type.

`from_json` of grafana-foundation-sdk takes what it knows and drops the rest without a word, and looks at no value. So
what it read is held against what was written, and each value against the type hint of its field.
"""

from __future__ import annotations

import enum
import json
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

register_default_plugins()


def read_back(written: str) -> Dashboard:
    """The dashboard as Grafana's types hold it."""
    return Dashboard.from_json(json.loads(written))


def again(read: object) -> Any:
    """What the types write of it: everything that they know, and their own defaults."""
    return json.loads(json.dumps(read, cls=JSONEncoder))


def lost(ours: Any, theirs: Any, at: str = "") -> Iterator[str]:
    """Places whose value the types dropped or changed. Keys that they add are their defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from lost(value, theirs[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from lost(one, other, f"{at}[{index}]")
    elif ours != theirs:
        yield at


def faults(written: str) -> list[str]:
    """Everything that Grafana's types do not know or would not take."""
    read = read_back(written)
    return [*lost(json.loads(written), again(read)), *strangers(read, Dashboard)]


def strangers(value: Any, hint: Any, at: str = "") -> Iterator[str]:
    """Places whose value is not of its type."""
    if hint in (Any, object):
        if type(value).__module__.startswith("grafana_foundation_sdk"):
            yield from _fields(value, at)
        return
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        branches = [each for each in typing.get_args(hint) if each is not types.NoneType]
        if value is not None or len(branches) == len(typing.get_args(hint)):
            own = [each for each in branches if isinstance(each, type) and type(value) is each]
            tried = ([*strangers(value, branch, at)] for branch in own or branches)
            yield from min(tried, key=len)
    elif origin is typing.Literal:
        if value not in typing.get_args(hint):
            yield f"{at}: {value!r} is none of {typing.get_args(hint)}"
    elif origin is list:
        (inside,) = typing.get_args(hint)
        if not isinstance(value, list):
            yield f"{at}: no list"
            return
        for index, one in enumerate(value):
            yield from strangers(one, inside, f"{at}[{index}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{at}: no map"
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in [member.value for member in hint]:
            yield f"{at}: {value!r} is no {hint.__name__}"
    elif hint is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{at}: {value!r} is no number"
    elif hint is int:
        if isinstance(value, bool) or not isinstance(value, int):
            yield f"{at}: {value!r} is no whole number"
    elif hint.__module__.startswith("grafana_foundation_sdk") and isinstance(value, dict):
        # What `from_json` leaves as it is: transformations, links.
        read = hint.from_json(value)
        yield from lost(value, again(read), at)
        yield from _fields(read, at)
    elif not isinstance(value, hint):
        yield f"{at}: {value!r} is no {getattr(hint, '__name__', hint)}"
    elif hint.__module__.startswith("grafana_foundation_sdk"):
        yield from _fields(value, at)


def _fields(value: Any, at: str) -> Iterator[str]:
    kind = type(value)
    names = vars(sys.modules[kind.__module__])
    for name, hint in typing.get_type_hints(kind, names).items():
        if not name.startswith("_"):
            yield from strangers(getattr(value, name), hint, f"{at}.{name}")
