"""How to keep what runs: for every field that would restart groups, the input it follows, or a patch that keeps it.

A patch is offered only after it was tried: with it the field is as it is in the cluster, and nothing that the plan owns
is changed, which would be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gangform.apis.effects import Outcome
from gangform.apis.places import thaw
from gangform.bundle import Bundle
from gangform.diff.record import Field, fields
from gangform.documents.changes import Change, name_of
from gangform.documents.document import Document, Manifest, dig, sequence, text
from gangform.documents.patch import PatchError, merge
from gangform.documents.secrets import without_secrets
from gangform.findings import Path, show_path
from gangform.manifests.ownership import input_of, owned_changes
from gangform.origin import extension_of
from gangform.plan.serving import ServingPlan

_LISTS = ("containers", "initContainers")


class Way(NamedTuple):
    """How to keep a field."""

    field: Field
    input: str = ""
    """The input to change; empty where a patch keeps it, or nothing does."""
    patched: bool = False


class Kept(NamedTuple):
    """How to keep an object as it runs."""

    ways: tuple[Way, ...]
    patch: Mapping[str, Any] | None
    """An entry of `patches` of the serving; `None` where none is needed or helps."""


def disturbing(found: Iterable[Field]) -> list[Field]:
    """The fields that restart something, or that are refused."""
    return [one for one in found if one.rank >= Outcome.ROLLS.rank]


def keep(made: Bundle, ours: Document, living: Document, found: Sequence[Field]) -> Kept:
    """How to keep what disturbs in an object of a serving."""
    plan = made.plan
    if not isinstance(plan, ServingPlan):
        return Kept(tuple(Way(one) for one in found), None)
    ways = [Way(one, _input(plan, ours, living, one)) for one in found]
    body: dict[str, Any] = {}
    for number, way in enumerate(ways):
        if way.input:
            continue
        more = _patch(way.field.consequence.change.path, ours.manifest, living.manifest)
        if more is not None and without_secrets(more) != more:
            ways[number] = way._replace(input="none: a secret in plain text belongs into a Secret")
        elif more is not None and (
            both := _tried(plan, ours, living, _joined(body, more), way, found)
        ):
            body = both
            ways[number] = way._replace(patched=True)
    if not body:
        return Kept(tuple(ways), None)
    known = {way.field.path for way in ways}
    left = disturbing(_after(ours, living, body))
    ways += [Way(one) for one in left if one.path not in known]
    return Kept(tuple(ways), {"kind": ours.kind, "name": ours.key.name, "merge": body})


def _input(plan: ServingPlan, ours: Document, living: Document, field: Field) -> str:
    change = field.consequence.change
    if change.path[-1] == "name" and len(change.path) > 2 and change.path[-3] in _LISTS:
        return "none: the name of the container is ours"
    if _names_volume(change, ours.manifest, living.manifest):
        return "none: the name of the volume is ours"
    if change.way != "removed" and (extension := extension_of(plan, change.path)) is not None:
        return show_path(extension[len(plan.at) :])
    side = living if change.way == "removed" else ours
    named = input_of(plan, side.manifest, change.path) or ""
    if named == "engine" and "httpGet" in change.path:
        return "none: the engine decides where probes ask"
    if named == "topology" and plan.serving.topology is None and change.way == "added":
        # A serving that does not say how it is placed follows the levels of its pool.
        return f"pools.{plan.serving.pool}.levels: [] of the cluster"
    return named


def _names_volume(change: Change, ours: Manifest, living: Manifest) -> bool:
    """Whether what differs is how a volume is called that both mount at the same path."""
    place = next((at for at, part in enumerate(change.path) if part in _LISTS), None)
    if place is None:
        place = len(change.path) - 2
    if place < 0 or not {"volumes", "volumeMounts"} & {*change.path[-3:]}:
        return False
    sides = [
        {
            text(mount, "mountPath"): text(mount, "name")
            for container in sequence(side, *change.path[:place], "containers")
            for mount in sequence(container, "volumeMounts")
        }
        for side in (ours, living)
    ]
    one, other = sides
    renamed = {
        name
        for path in one.keys() & other.keys()
        if one[path] != other[path]
        for name in (one[path], other[path])
    }
    value = change.before if change.after is None else change.after
    return (value if isinstance(value, str) else name_of(value or {})) in renamed


def _patch(path: Path, ours: Manifest, living: Manifest) -> dict[str, Any] | None:
    """A merge that gives a field of ours the value that it has in the cluster; `None` where no merge can."""
    root: dict[str, Any] = {}
    here: Any = root
    one: Any = ours
    other: Any = living
    for depth, part in enumerate(path):
        if isinstance(part, int):
            return None
        rest = path[depth + 1 :]
        one, other = dig(one, part), dig(other, part)
        if not rest or other is None or one is None:
            here[part] = None if other is None else thaw(other)
            return root
        if isinstance(rest[0], int):
            if _nameless(one) or _nameless(other):
                here[part] = thaw(other)
                return root
            entry = _entry(one, other, rest)
            if entry is None:
                return None
            here[part] = [entry]
            return root
        here[part] = {}
        here = here[part]
    return None


def _entry(one: Any, other: Any, rest: Path) -> dict[str, Any] | None:
    """The entry of a named list that a merge changes; `None` where only one side has an entry of its name."""
    index, inside = rest[0], rest[1:]
    assert isinstance(index, int)
    ours, theirs = ({name_of(each): each for each in side} for side in (one, other))
    source = one if index < len(one) and (inside or name_of(one[index]) not in theirs) else other
    name = name_of(source[index]) if index < len(source) else None
    if name is None:
        return None
    if not inside:
        if name in theirs:
            return dict(thaw(theirs[name]))
        return {"name": name, "$patch": "delete"}
    if name not in ours or name not in theirs:
        return None
    below = _patch(inside, ours[name], theirs[name])
    return None if below is None else {"name": name, **below}


def _nameless(entries: Any) -> bool:
    """Whether a list has entries without a name of their own: a merge replaces it as a whole."""
    names = [name_of(each) for each in entries]
    return None in names or len({*names}) != len(names)


def _joined(one: Any, other: Any) -> Any:
    """Two merges as one."""
    if isinstance(one, dict) and isinstance(other, dict):
        joined = dict(one)
        for key, value in other.items():
            joined[key] = _joined(joined[key], value) if key in joined else value
        return joined
    if isinstance(one, list) and isinstance(other, list) and not _nameless(other):
        names = [name_of(entry) for entry in one]
        entries = list(one)
        for entry in other:
            if (name := name_of(entry)) is not None and name in names:
                at = names.index(name)
                entries[at] = _joined(entries[at], entry)
            else:
                entries.append(entry)
        return entries
    return other


def _tried(
    plan: ServingPlan,
    ours: Document,
    living: Document,
    body: dict[str, Any],
    way: Way,
    found: Sequence[Field],
) -> dict[str, Any] | None:
    """The merge, where it keeps the field, and changes neither what the plan owns nor another field."""
    try:
        after = merge(ours.manifest, body)
    except PatchError:
        return None
    if any(True for _ in owned_changes(plan, ours.manifest, after)):
        return None
    known = {one.path for one in found}
    for one in disturbing(_after(ours, living, body)):
        # An order of its own is said beside; anything else new would not be as it runs.
        new = one.path not in known and one.consequence.change.way != "reordered"
        if new or one.path == way.field.path:
            return None
    return body


def _after(ours: Document, living: Document, body: dict[str, Any]) -> Iterator[Field]:
    """What still differs with a merge."""
    patched = Document(manifest=merge(ours.manifest, body), builder=ours.builder)
    return fields(living, patched, None)
