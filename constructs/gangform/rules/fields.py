"""Fields as the API has them: none that it drops in silence, none that it refuses, under a version that is served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis import set_fields
from gangform.apis.forms import GroupView
from gangform.apis.served import KINDS, Served, release_of
from gangform.apis.structure import Departure, Field, departures, elsewhere, structure
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import SETS, groups_of
from gangform.rules.rule import Context, Fault, joined, rule

UNKNOWN = declare(
    "field-unknown",
    "A field that the kind does not have: the server drops it in silence, or refuses it where it is strict",
    Severity.DEGRADES,
    "lws §13.1; CustomResourceDefinitions of the releases",
)
MISPLACED = declare(
    "needed-field-misplaced",
    "A field that the object cannot do without stands where nobody reads it",
    Severity.BREAKS,
    "lws §2a, §13.1; peers §14",
)
ABSENT = declare(
    "needed-field-absent",
    "A field without which the API refuses the object",
    Severity.BREAKS,
    "CustomResourceDefinitions of the releases",
)
VALUE = declare(
    "field-value-refused",
    "A value that the API refuses: of another type, beyond its bounds or none of its words",
    Severity.BREAKS,
    "lws §2a, §2f; kueue §1; lab E9",
)
NEWER = declare(
    "field-pruned-by-release",
    "A field or value that the declared release does not have",
    Severity.BREAKS,
    "lws §12, §13.1",
)
UNSERVED = declare(
    "api-version-unserved",
    "A version of an API that the cluster does not serve: the object cannot be made",
    Severity.BREAKS,
    "kueue §1.1, §9; lws §2f; Kubernetes: deprecated API migration guide",
)

KNOWN: Final = tuple(sorted({kind for _, kind in KINDS}))
_NAMES: Final = {"kubernetes": "Kubernetes", "lws": "LWS", "kueue": "Kueue", "volcano": "Volcano"}
_RESTART: Final = ("leaderWorkerTemplate", "restartPolicy")
_CLAIMS: Final = ("leaderWorkerTemplate", "volumeClaimTemplates")
_PARTITION: Final = ("rolloutStrategy", "rollingUpdateConfiguration", "partition")
_EVERYWHERE: Final = frozenset({"metadata", "name", "status", "labels", "annotations"})
"""Fields that many levels have: one more of them says nothing about where it belongs."""
_WORDS: Final = {
    "int": "a whole number",
    "str": "a text",
    "bool": "true or false",
    "list": "a list",
    "maps": "a list of objects",
    "amount": "a quantity",
}


def _served(document: Document) -> Served | None:
    key = document.key
    version = text(document.manifest, "apiVersion").rpartition("/")[2]
    return KINDS.get((key.group, key.kind), {}).get(version)


@joined
def _found(documents: Documents) -> dict[tuple[int, Release | None], tuple[Departure, ...]]:
    """Filled as documents are asked for."""
    return {}


def departs(document: Document, documents: Documents, context: Context) -> tuple[Departure, ...]:
    """Where a document departs from the structure of its kind; reckoned once."""
    served = _served(document)
    if served is None or served.structure is None:
        return ()
    release = release_of(served.software, context.versions)
    known = _found(documents)
    key = (id(document), release)
    if key not in known:
        known[key] = tuple(departures(document.manifest, structure(served.structure), release))
    return known[key]


def _near(departure: Departure) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(departure.path[-1]), departure.known, n=1, cutoff=0.75)
    return close[0] if close else ""


def _place(departure: Departure, root: Field) -> Path | None:
    """Where a field that is unknown here belongs; `None` where that is nowhere, or in one of several items."""
    name, above = str(departure.path[-1]), departure.path[:-1]
    for known in departure.known:
        if known.lower() == name.lower():
            return (*above, known)
    for place in elsewhere(name, root) if name not in _EVERYWHERE else ():
        if (way := _way(place, departure.path)) is not None:
            return way
    near = _near(departure)
    return (*above, near) if near else None


def _way(place: str, path: Path) -> Path | None:
    """A place of a structure as a path, its items those of the path; `None` where the path goes elsewhere."""
    way: Path = ()
    for part in place.split("."):
        way = (*way, part.removesuffix("[]"))
        if part.endswith("[]"):
            if path[: len(way)] != way or len(path) <= len(way):
                return None
            way = (*way, path[len(way)])
    return way


def _needed(root: Field, way: Path) -> bool:
    field: Field | None = root
    for part in way:
        if isinstance(part, str):
            field = field.fields.get(part) if field is not None else None
    return field is not None and field.needed


def _shown(way: Path) -> str:
    said = ""
    for part in way:
        said += f"[{part}]" if isinstance(part, int) else (f".{part}" if said else part)
    return said


def _unknown(
    subject: Document, documents: Documents, context: Context, *, needed: bool
) -> Iterator[Fault]:
    served = _served(subject)
    if served is None or served.structure is None:
        return
    root = structure(served.structure)
    release = release_of(served.software, context.versions)
    sure = served.read is None or (release is not None and release <= served.read)
    for departure in departs(subject, documents, context):
        if departure.kind != "unknown":
            continue
        name = str(departure.path[-1])
        place = _place(departure, root)
        in_pod = name in set_fields.OF_PODS and place is None and "spec" in departure.known
        if place is None and not in_pod and not sure:
            continue
        missed = (
            place is not None and _needed(root, place) and dig(subject.manifest, *place) is None
        )
        if missed == needed:
            where = _shown(departure.path[:-1])
            if place is not None and dig(subject.manifest, *place) is not None:
                fix = f"remove it: {_shown(place)} is written too"
            elif place is not None:
                fix = f"write it as {_shown(place)}"
            else:
                fix = f"write it into {where}.spec" if in_pod else "remove it"
            yield Fault(
                path=departure.path,
                what=f"{subject.kind} has no field `{name}`" + (f" in {where}" if where else ""),
                fix=fix,
                seen={"field": name},
            )


@rule(UNKNOWN, kinds=KNOWN)
def field_unknown(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every field is one that the kind has."""
    yield from _unknown(subject, documents, context, needed=False)


@rule(MISPLACED, kinds=KNOWN)
def needed_field_misplaced(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What an object cannot do without stands in its place, under its name."""
    yield from _unknown(subject, documents, context, needed=True)


@rule(ABSENT, kinds=KNOWN)
def needed_field_absent(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What the API asks for is written."""
    found = departs(subject, documents, context)
    served = _served(subject)
    root = structure(served.structure) if served and served.structure else None
    meant = {_place(each, root) for each in found if root and each.kind == "unknown"}
    for departure in found:
        if departure.kind == "absent" and departure.path not in meant:
            yield Fault(
                path=departure.path,
                what=f"{subject.kind} needs {_shown(departure.path)}",
                fix=f"write {departure.path[-1]}",
            )


@rule(VALUE, kinds=KNOWN)
def field_value_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Values are of the type and within the bounds of their field."""
    for departure in departs(subject, documents, context):
        if departure.kind == "value" and departure.field is not None:
            value = dig(subject.manifest, *departure.path)
            wanted = _wanted(departure.field)
            yield Fault(
                path=departure.path,
                what=f"{departure.path[-1]} is {_said(value)}, and has to be {wanted}",
                fix=f"write {_closest(value, departure.field) or wanted}",
                seen={"value": str(value)},
            )


def _wanted(field: Field) -> str:
    if field.shape == "words":
        words = [word for word in field.words if word]
        return "one of " + ", ".join(words) if len(words) > 1 else words[0]
    said = _WORDS.get(field.shape, "an object")
    if field.shape in ("int", "list", "maps"):
        unit = "" if field.shape == "int" else " items"
        if field.most < 2**62:
            return f"{said} of {field.least} to {field.most}{unit}"
        if field.least:
            return f"{said} of at least {field.least}{unit}"
    return said


def _said(value: Node | None) -> str:
    if isinstance(value, (str, bool)):
        return str(value).lower() if isinstance(value, bool) else f"the text `{value}`"
    if isinstance(value, int):
        return str(value)
    return "a list" if isinstance(value, (list, tuple)) else "an object"


def _closest(value: Node | None, field: Field) -> str:
    if field.shape == "int" and isinstance(value, str) and value.isdecimal():
        return f"{field.name}: {value}, without quotes"
    if field.shape == "words" and isinstance(value, str):
        from difflib import get_close_matches

        close = get_close_matches(value, field.words, n=1, cutoff=0.6)
        return f"{field.name}: {close[0]}" if close else ""
    return ""


@rule(NEWER, kinds=KNOWN, needs=("versions",))
def field_pruned_by_release(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The declared release has every field that is written."""
    served = _served(subject)
    release = release_of(served.software, context.versions) if served else None
    if served is None or release is None:
        return
    newer = [
        (str(departure.path[-1]), departure.path, departure.field.since)
        for departure in departs(subject, documents, context)
        if departure.kind == "newer" and departure.field is not None
    ]
    for group in groups_of(documents, subject):
        newer += [(name, path, lws.FIELDS.rows[name].since) for name, path in _used(group)]
    for name, path, since in newer:
        if since is not None and release < since:
            software = _NAMES[served.software]
            yield Fault(
                path=path,
                what=f"{name} exists from {software} {since} on; the cluster runs {release}",
                fix=f"remove it, or run {software} {since}",
                seen={"since": str(since), "runs": str(release)},
            )


def _used(group: GroupView) -> Iterator[tuple[str, Path]]:
    """What a set uses of `leaderworkerset.FIELDS`."""
    if group.word(*_RESTART) == lws.AFTER_START:
        yield lws.AFTER_START, (*group.at, *_RESTART)
    if sequence(group.part(*_CLAIMS)):
        yield _CLAIMS[-1], (*group.at, *_CLAIMS)
    if group.part(*_PARTITION):
        yield _PARTITION[-1], (*group.at, *_PARTITION)


@rule(UNSERVED, kinds=KNOWN)
def api_version_unserved(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The apiVersion is one that the declared releases serve, or any where none is declared."""
    key = subject.key
    rows = KINDS.get((key.group, key.kind))
    if rows is None:
        return
    version = text(subject.manifest, "apiVersion").rpartition("/")[2]
    row = rows.get(version)
    software = next(iter(rows.values())).software
    release = release_of(software, context.versions)
    if release is None and software == "kubernetes" and documents.of(*SETS):
        release = lws.OLDEST_KUBERNETES
    good = [name for name, each in rows.items() if _serves(each, release)]
    if row is None:
        why = f"no release serves {key.kind} in version `{version}`"
    elif _serves(row, release):
        return
    else:
        bound = f"from {row.since} on" if row.until is None else f"before {row.until}"
        why = f"{key.kind} is served in {version} {bound}; the cluster runs {release} or later"
    yield Fault(
        path=("apiVersion",),
        what=why,
        fix=f"write apiVersion: {key.group}/{good[-1]}" if good else "remove the object",
        seen={"version": version},
    )


def _serves(row: Served, release: Release | None) -> bool:
    if release is None:
        return True
    return (row.since is None or release >= row.since) and (
        row.until is None or release < row.until
    )
