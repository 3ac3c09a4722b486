"""What pydantic found, said as findings: a code, a clean path, both values, and what to write instead.

Pydantic names the branch of a union in its places (`model.str`, `parallelism.literal['auto']`) and reports every
branch that did not fit. Here a place holds only keys that were written, and a union speaks once: with the branch
that got furthest into the value, or with all that would have been right.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gangform.apis.keys import HOSTNAME, ZONE
from gangform.findings import Finding, InputPath, Path, Severity, declare, either
from gangform.inputs.amounts import binary, whole
from gangform.inputs.custom import CUSTOM, fix_of, words_of
from gangform.inputs.fields import Spot, branches, fields_of, spelled, spot, words
from gangform.inputs.nearest import nearest, plain, same

KEY_UNKNOWN = declare(
    "key-unknown", "A key that no field has", Severity.BREAKS, "design §3: extra keys are forbidden"
)
VALUE_UNKNOWN = declare(
    "value-unknown", "A word that is none of the field's", Severity.BREAKS, "design §3"
)
TYPE_WRONG = declare(
    "type-wrong", "A value of another type than the field's", Severity.BREAKS, "design §3"
)
FIELD_MISSING = declare(
    "field-missing", "A required field that is not written", Severity.BREAKS, "design §3"
)
OUT_OF_RANGE = declare(
    "value-out-of-range", "A number below or above what makes sense", Severity.BREAKS, "design §3"
)
VALUE_EMPTY = declare(
    "value-empty",
    "An empty text, list or map where one entry is needed",
    Severity.BREAKS,
    "design §3",
)
INPUT_INVALID = declare(
    "input-invalid", "A value that is refused for a reason of its own", Severity.BREAKS, "design §3"
)

_OBJECT = {"model_type", "model_attributes_type", "dict_type", "dataclass_type", "mapping_type"}
_LIST = {"tuple_type", "list_type"}
_RANGE = {"greater_than_equal", "less_than_equal", "greater_than", "less_than"}
_NUMBER = {"int_type", "decimal_type", "decimal_parsing", "finite_number", "int_parsing_size"}
_EMPTY = {"too_short", "string_too_short"}
_UNITS = {"unit-missing", "not-a-quantity"}
_MEANT: Mapping[tuple[str, str], str] = {
    ("Weights", "secret"): "token: {name: hub-token}",
    ("Weights", "secretName"): "token: {name: hub-token}",
    ("Pool", "topology"): f"levels: [{ZONE}, {HOSTNAME}]",
    ("Pool", "racks"): "domains: [{at: [rack-1], nodes: 4}]",
}
"""What a key that no letter gives away is called here; by model and key."""
_TYPES = _OBJECT | _LIST | _NUMBER | {"string_type", "bool_type", "literal_error"} | _UNITS


class _Fault(NamedTuple):
    """One error of pydantic at the place where it was written."""

    type: str
    path: Path
    value: Any
    text: str
    context: Mapping[str, Any] = MappingProxyType({})
    union: Path | None = None
    """The place of the union whose branch it comes from."""
    key: bool = False
    """Whether it is about the key at the end of the path and not about the value."""


def translate(
    error: ValidationError, root: Any, value: Any, place: Callable[[Path], Path]
) -> list[Finding]:
    """Findings for everything that pydantic found in `value`, which should have been a `root`.

    place: makes the path that later stages use of a path in the value.
    """
    faults = [_fault(detail, value) for detail in error.errors(include_url=False)]
    return [
        _finding(fault, root, place) for fault in _fold(faults) if not _misspelled(fault, faults)
    ]


def _misspelled(fault: _Fault, faults: Iterable[_Fault]) -> bool:
    """Whether a missing field is there under a wrong name, which is reported by itself."""
    return fault.type == "missing" and any(
        other.type == "extra_forbidden"
        and other.path[:-1] == fault.path[:-1]
        and nearest(str(other.path[-1]), [str(fault.path[-1])])
        for other in faults
    )


def _fault(detail: Any, value: Any) -> _Fault:
    """Drop the parts of pydantic's place that nobody wrote."""
    kind, loc = detail["type"], detail["loc"]
    path: Path = ()
    union: Path | None = None
    key = False
    for index, part in enumerate(loc):
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, (list, tuple)) and isinstance(part, int) and 0 <= part < len(value)
        ):
            value = value[part]
            path = (*path, part)
        elif kind == "missing" and index == len(loc) - 1:
            path = (*path, part)
        elif part == "[key]":
            key = True
        elif union is None:
            union = path
    return _Fault(
        type=kind,
        path=path,
        value=detail["input"],
        text=detail["msg"],
        context=detail.get("ctx", {}),
        union=union,
        key=key or kind == "invalid_key",
    )


def _fold(faults: Iterable[_Fault]) -> Iterator[_Fault]:
    """Let each union speak once."""
    unions: dict[Path, list[_Fault]] = {}
    for fault in faults:
        if fault.union is None:
            yield fault
        else:
            unions.setdefault(fault.union, []).append(fault)
    for path, inside in unions.items():
        further = [one for one in inside if len(one.path) > len(path) or one.type not in _TYPES]
        if further:
            yield from further
            continue
        first = next((one for one in inside if one.type in _UNITS), inside[0])
        if first.type not in _UNITS and isinstance(first.value, str):
            first = next((one for one in inside if one.type == "literal_error"), first)
        yield first


def _finding(fault: _Fault, root: Any, place: Callable[[Path], Path]) -> Finding:
    path, name = fault.path, label(fault.path)
    here = spot(root, path)
    code, at = INPUT_INVALID, path
    what, fix = fault.text, "change the value; `gangform explain` says what the field is for"
    if fault.type in CUSTOM:
        code = CUSTOM[fault.type]
        what, fix, at = words_of(fault.type, fault.text, path, fault.context, fault.value)
        fix = fix or fix_of(fault.type, name, fault.value, fault.context, here)
        if fault.union is not None and fault.type in _UNITS and here is not None:
            what += f"; wanted: {words(here.annotation)}"
    elif fault.type == "extra_forbidden":
        code = KEY_UNKNOWN
        what, fix = _unknown_key(path, root)
    elif fault.key:
        code = TYPE_WRONG
        what, fix = (
            f"the key {shown(fault.value)} is no text",
            f'write "{plain(fault.value)}" in quotes',
        )
    elif fault.type == "missing":
        code = FIELD_MISSING
        what = f"`{name}` is missing"
        fix = f"write `{_line(name, here)}`" + _choices(here)
    elif fault.type == "literal_error" and here is not None and isinstance(fault.value, (str, int)):
        code = VALUE_UNKNOWN
        what, fix = _unknown_word(name, fault.value, here)
    elif fault.type in _RANGE:
        code = OUT_OF_RANGE
        what = f"`{name}` is {plain(fault.value)}; it has to be {_bound(fault)}"
        fix = f"write `{_line(name, here)}`"
    elif fault.type in _EMPTY:
        code = VALUE_EMPTY
        what, fix = (
            f"`{name}` is empty; it needs at least one entry",
            f"write `{_line(name, here)}`",
        )
        if fault.type == "string_too_short":
            what = f"`{name}` is an empty text"
    elif fault.type in _TYPES:
        code = TYPE_WRONG
        what, fix = _wrong_type(name, fault.value, here, fault.type)
    elif fault.type == "invalid-json-value":
        code = TYPE_WRONG
        what = (
            f"`{name}` is {shown(fault.value)}, which the objects that gangform writes cannot hold"
        )
        fix = f'write "{plain(fault.value)}" in quotes, or a whole number'
    seen = (
        {"value": plain(fault.value)} if not isinstance(fault.value, (Mapping, list, tuple)) else {}
    )
    return Finding(code=code, at=InputPath(place(at)), what=what, fix=fix, seen=seen)


def _unknown_key(path: Path, root: Any) -> tuple[str, str]:
    key, parent = str(path[-1]), spot(root, path[:-1])
    models = parent.models if parent else ()
    known = known_keys(models)
    owner = f"`{label(path[:-1])}`"
    if models and (len(path) == 1 or isinstance(path[-2], int)):
        owner = f"a {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', models[-1].__name__).lower()}"
    what = f"`{plain(key)}` is no field of {owner}"
    if len(path) == 1 and key in ("models", "hardware"):
        return what, f"move each to a file profiles/{key}/NAME.yaml beside the fleet file"
    meant = next((_MEANT[one.__name__, key] for one in models if (one.__name__, key) in _MEANT), "")
    if meant:
        return what, f"did you mean `{meant}`?"
    near = nearest(key, known)
    if near:
        return what, f"did you mean `{near[0]}`? Otherwise remove it"
    for model in models:
        for alias, name, declared in fields_of(model):
            inner = Spot(declared.annotation, model, declared, name)
            for further in known_keys(inner.models):
                if same(further, key):
                    fix = f"did you mean `{alias}: {{{further}: …}}`? The field stands one level further in"
                    return what, fix
    return (
        what,
        f"remove it; the fields are {', '.join(known)}" if known else "remove it",
    )


def known_keys(models: Iterable[type[BaseModel]]) -> list[str]:
    """The keys that an object may have; a fleet file may have `cluster` too."""
    known = [alias for model in models for alias, _, _ in fields_of(model)]
    return [*known, "cluster"] if "clusters" in known and "defaults" in known else known


def _unknown_word(name: str, value: str | int, here: Spot) -> tuple[str, str]:
    known = _literals(here)
    near = nearest(str(value), known)
    what = f"`{name}` is `{plain(value)}`; wanted: {words(here.annotation)}"
    if near:
        return what, f"did you mean `{name}: {near[0]}`?"
    return what, f"write one of {', '.join(known)}" if len(
        known
    ) > 1 else f"write `{name}: {known[0]}`"


def _literals(here: Spot) -> list[str]:
    literals = (branch for branch in branches(here.annotation) if get_origin(branch) is Literal)
    return [spelled(word) for branch in literals for word in get_args(branch)]


def _choices(here: Spot | None) -> str:
    known = _literals(here) if here else []
    return either(["", *known[1:]]) if len(known) > 1 else ""


def _wrong_type(name: str, value: Any, here: Spot | None, kind: str) -> tuple[str, str]:
    wanted = words(here.annotation) if here else "of another type"
    what = f"`{name}` is {shown(value)}; wanted: {wanted}"
    if not name:
        return (
            f"the file holds {shown(value)}; it has to be an object (`key: value` lines)",
            "write the fields",
        )
    if value is None:
        return (
            f"`{name}` is empty; wanted: {wanted}",
            f"write `{_line(name, here)}`, or remove it",
        )
    scalar = isinstance(value, (str, int, float, Decimal))
    if kind == "string_type" and scalar:
        return what, f'write `{name}: "{plain(value)}"` with quotes'
    if kind in _NUMBER and isinstance(value, str) and re.fullmatch(r"[0-9]+", value):
        return what, f"write `{name}: {value}` without quotes"
    if kind == "bool_type" and str(value).lower() in (
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "0",
        "1",
    ):
        word = "true" if str(value).lower() in ("true", "yes", "on", "1") else "false"
        return what, f"write `{name}: {word}`"
    if kind in _NUMBER and isinstance(value, str) and whole(value):
        other = binary(value)
        return what, f"write `{name}: {whole(value)}`" + (f", or {other}" if other else "")
    if kind == "string_type" and isinstance(value, Mapping) and list(value) == ["name"]:
        return what, f"write the name alone: `{plain(value['name'])}`"
    if kind in _LIST and scalar:
        return what, f"write a list: `{name}: [{plain(value)}]`"
    if here is None or (not here.example and kind in _OBJECT):
        return what, f"write `{name}: {{key: value}}`"
    return what, f"write `{_line(name, here)}`"


def _line(name: str, here: Spot | None) -> str:
    example = here.example if here else ""
    return f"{name}: {example or '…'}" if "[" not in name else example or "…"


def _bound(fault: _Fault) -> str:
    for key, word in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
        if key in fault.context:
            return f"{word} {fault.context[key]}"
    return "another number"


def label(path: Path) -> str:
    """The last key of a path with the indexes after it: `clusters[0]`."""
    text = ""
    for part in path:
        text = f"{text}[{part}]" if isinstance(part, int) else part
    return text


def shown(value: Any) -> str:
    """A value in a sentence: `the text "2"`, `the number 0.1`, `a list`."""
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, bool):
        return plain(value)
    if isinstance(value, str):
        return f'the text "{plain(value)}"'
    return f"the number {plain(value)}"
