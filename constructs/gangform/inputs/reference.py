"""What every input field means, read from the docstrings under the fields, and the JSON Schemas for editors.

Docstrings are read from the source with `ast`: pydantic's own attribute docstrings would be parsed in every run.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gangform.inputs.cluster import Cluster, Fleet
from gangform.inputs.defaults import AlertDefaults, Defaults, editions
from gangform.inputs.defaults import defaults as table_of
from gangform.inputs.fields import (
    ROOTS,
    Spot,
    alias_of,
    annotation_of,
    branches,
    fields_of,
    is_model,
    words,
)
from gangform.inputs.given import Given
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.nearest import nearest
from gangform.inputs.serving import Serving

SchemaKind = Literal["fleet", "serving", "cluster", "model", "hardware", "given"]
"""What a file of inputs may hold."""

_KINDS: Mapping[str, type[BaseModel]] = {
    "fleet": Fleet,
    "serving": Serving,
    "cluster": Cluster,
    "model": ModelProfile,
    "hardware": HardwareShape,
    "given": Given,
}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class FieldDoc(NamedTuple):
    """One field of the inputs, for `gangform explain`."""

    path: str
    """As it is written in YAML: `servings.parallelism.tensor`."""
    type: str
    """In words: `whole number, at least 1`."""
    default: str
    """As YAML; `required`, or `absent` where the docstring says what absence means."""
    doc: str
    """The docstring under the field, or that of its model; empty where there is neither."""
    example: str
    """A good value, as YAML; empty where the type has none."""
    fields: tuple[str, ...]
    """Keys of the fields inside; empty for a plain value."""


class RowDoc(NamedTuple):
    """One row of the defaults, for `gangform explain defaults`."""

    row: str
    """`drain`, `alerts.pending`."""
    value: str
    """In an edition, with its unit."""
    edition: int
    """The edition that the value came with."""
    reason: str
    """Why it is so: of its change, or the docstring in the first edition."""


def rows_of(edition: int) -> tuple[RowDoc, ...]:
    """Every row of an edition of the defaults.

    Raises:
        InputError: There is no such edition.
    """
    table = table_of(edition)
    came = {
        change.row: (number, change.reason)
        for number in editions()
        if number <= edition
        for change in table_of(number).changes
    }

    def rows(kind: type, values: Any, prefix: str = "") -> Iterator[RowDoc]:
        docs = field_docs(kind)
        for name in values._fields:
            row, value = f"{prefix}{name}", getattr(values, name)
            if isinstance(value, AlertDefaults):
                yield from rows(AlertDefaults, value, f"{row}.")
            elif row not in ("edition", "changes"):
                since, reason = came.get(row, (1, docs.get(name, "")))
                shown = str(value).lower() if isinstance(value, bool) else str(value)
                yield RowDoc(row, shown, since, " ".join(reason.split()))

    return tuple(rows(Defaults, table))


def describe(path: str) -> FieldDoc:
    """The field at a path such as `servings.parallelism.tensor`, or the only one whose path ends so.

    Indexes, and names in maps, may be left out or given.

    Raises:
        LookupError: There is no such field, or several; the message names them or the nearest ones.
    """
    parts = [part for part in path.replace("[", ".").replace("]", "").split(".") if part]
    parts[:1] = ["clusters"] if parts[:1] == ["cluster"] else parts[:1]
    known = _catalogue()
    wanted = ".".join(part for part in parts if not part.isdecimal())
    if wanted in known:
        return _doc(wanted, known[wanted])
    ends = [name for name in known if name.endswith(f".{wanted}")] if wanted else []
    if not ends and wanted:
        ends = [name for name in known if _fits(name.split("."), wanted.split("."))]
    shortest = [name for name in ends if name.count(".") == min(end.count(".") for end in ends)]
    if len(shortest) == 1:
        return _doc(shortest[0], known[shortest[0]])
    if shortest:
        raise LookupError(f"`{path}` may be {', '.join(shortest)}")
    near = nearest(wanted, known) or nearest(parts[-1] if parts else "", _last(known))
    hint = (
        f"did you mean {', '.join(near)}?"
        if near
        else f"paths begin with {', '.join(_heads(known))}"
    )
    raise LookupError(f"there is no field `{path}`; {hint}")


def _heads(known: Mapping[str, Spot]) -> list[str]:
    return [name for name in known if "." not in name]


def _last(known: Mapping[str, Spot]) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[2] for name in known))


def _fits(name: list[str], wanted: list[str]) -> bool:
    """Whether a path is the wanted one with the names of maps left out: `clusters.pools.h100.hardware`."""
    rest = iter(wanted)
    return (
        name[-1:] == wanted[-1:] and name[:1] == wanted[:1] and all(part in rest for part in name)
    )


def _doc(path: str, here: Spot) -> FieldDoc:
    models = [model for one in _entries(here.annotation) for model in Spot(one).models]
    doc = ""
    if here.owner is not None:
        doc = field_docs(here.owner).get(here.name, "")
    for model in models:
        doc = doc or cleandoc(model.__doc__ or "")
    return FieldDoc(
        path=path,
        type=words(here.annotation),
        default=_default(here.field),
        doc=_in_yaml(doc),
        example=here.example,
        fields=tuple(alias for model in models for alias, _, _ in fields_of(model)),
    )


def _default(field: FieldInfo | None) -> str:
    if field is None:
        return "none"
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "absent"
    if isinstance(value, BaseModel):
        return "the defaults of its fields"
    if isinstance(value, dict) and value:
        return "{" + ", ".join(f'{key}: "{text}"' for key, text in value.items()) + "}"
    if isinstance(value, (tuple, dict)):
        return "empty" if not value else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@cache
def _catalogue() -> Mapping[str, Spot]:
    """Every path of the inputs, without indexes and without the names in maps."""
    known: dict[str, Spot] = {}

    def walk(path: str, here: Spot) -> None:
        known[path] = here
        for one in _entries(here.annotation):
            for model in Spot(one).models:
                for alias, name, field in fields_of(model):
                    walk(f"{path}.{alias}", Spot(annotation_of(field), model, field, name))

    for alias, name, field in fields_of(Fleet):
        walk(alias, Spot(annotation_of(field), Fleet, field, name))
    for root, annotation in ROOTS.items():
        if root not in known and root != "cluster":
            walk(root, Spot(annotation))
    return known


def _entries(annotation: Any) -> Iterator[Any]:
    """What an object at this place would be: the type itself, or that of the entries of a list or map."""
    for branch in branches(annotation):
        if get_origin(branch) is tuple:
            yield from _entries(get_args(branch)[0])
        elif get_origin(branch) is dict:
            yield from _entries(get_args(branch)[1])
        elif is_model(branch):
            yield branch


@cache
def field_docs(model: type) -> Mapping[str, str]:
    """The docstrings under the fields of a class, by name in Python."""
    for node in _module(model.__module__).body:
        if isinstance(node, ast.ClassDef) and node.name == model.__name__:
            return dict(_docs(node))
    return {}


@cache
def _module(name: str) -> ast.Module:
    file = sys.modules[name].__file__
    return ast.parse(Path(file or "").read_text(encoding="utf-8"))


def _docs(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for line, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield line.target.id, cleandoc(after.value.value)


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file of that kind, with the fields' docstrings as descriptions.

    In a file of its own an object may leave out its name, which is then that of the file.
    """
    model = _KINDS[kind]
    schema = model.model_json_schema(by_alias=True)
    models = {one.__name__: one for one in _models(model)}
    for name, part in schema.get("$defs", {}).items():
        if name in models:  # not so the values of free objects
            _describe(part, models[name])
    _describe(schema, model)
    if kind == "fleet":
        _either_form(schema)
    elif "name" in schema.get("required", ()):
        schema["required"].remove("name")
    schema["$schema"] = _DRAFT
    schema["title"] = f"gangform {kind}"
    sorted_schema: dict[str, Any] = _sorted(schema)
    return sorted_schema


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for _, _, field in fields_of(model):
        for one in _entries(field.annotation):
            yield from _models(one)


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Put our words in, and take out what pydantic repeats: titles of fields, defaults that are whole objects."""
    docs = field_docs(model)
    schema["description"] = " ".join(cleandoc(model.__doc__ or "").split())
    for name, field in model.model_fields.items():
        part = schema["properties"][alias_of(name, field)]
        part.pop("title", None)
        if not isinstance(part.get("default"), (str, int)):
            part.pop("default", None)
        if docs.get(name):
            part["description"] = _in_yaml(docs[name])
        schema["properties"][alias_of(name, field)] = _without_null(part)


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    """In files absence is written by leaving the key out; `null` is refused."""
    some = [one for one in part.get("anyOf", ()) if one != {"type": "null"}]
    if len(some) == 1 and len(part["anyOf"]) == 2:
        return {**some[0], **{key: value for key, value in part.items() if key != "anyOf"}}
    return {**part, "anyOf": some} if some else part


def _in_yaml(doc: str) -> str:
    """A docstring on one line, in words of the file: what is `None` in Python is absent there."""
    text = " ".join(doc.split()).replace("`None` (absent)", "absent").replace("`None`", "absent")
    return re.sub(r"(^|\. )absent", r"\1Absent", text)


def _either_form(schema: dict[str, Any]) -> None:
    """One cluster or several, as objects or as names of files; or none, where the folder holds them."""
    entry = {"anyOf": [{"$ref": "#/$defs/Cluster"}, {"type": "string"}]}
    properties = schema["properties"]
    properties["cluster"] = {
        **entry,
        "description": "The only cluster: an object, or NAME of profiles/clusters/NAME.yaml.",
    }
    properties["clusters"] = {
        "type": "array",
        "items": entry,
        "minItems": 1,
        "description": "The clusters: objects, or NAMEs of files. Without it and `cluster`: all of profiles/clusters.",
    }
    properties["servings"]["description"] = (
        "What runs on them, beside the files of profiles/servings."
    )
    schema["required"].remove("clusters")
    schema["not"] = {"required": ["cluster", "clusters"]}


def _sorted(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _sorted(node[key]) for key in sorted(node)}
    return [_sorted(item) for item in node] if isinstance(node, list) else node
