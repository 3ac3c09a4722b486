"""The objects of a text, and what in it is none.

A map with `apiVersion` and `kind` is an object. Others are passed over: values of a chart, a workflow, a compose file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.apis.kinds import in_full
from gangform.apis.views import form_of
from gangform.documents.document import Document, Manifest, dig, mapping, sequence, text
from gangform.documents.places import Span
from gangform.documents.read import SourceDocument, cut, read_manifests
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.inputs.files import FILE_NOT_TEXT
from gangform.lint.comments import Comment, comments
from gangform.lint.sources import Text

UNRENDERED = declare(
    "template-not-rendered",
    "A template holds no manifests before it is rendered: nothing in it was judged",
    Severity.STYLE,
    "design §2",
)

PART = declare(
    "object-is-part",
    "A part of an object, to be merged into a whole one: nothing in it was judged",
    Severity.STYLE,
    "design §2; kustomize: patches",
)

_TEMPLATE = re.compile(r"\{\{|\{%")
_KEYS = re.compile(r"""(?m)^[ \t]*(?:-[ \t]+)?["']?(?:apiVersion|kind)["']?[ \t]*:""")
_BUILD = ("Component", "Kustomization")
_PATCH = "patch"
_OPERATIONS = re.compile(r"(?:\s*#.*\n|\s*\n|---\n)*\s*-\s+(?:op|path|value):")
"""How a JSON patch begins."""
_BUILD_GROUP = "kustomize."
"""What kustomize reads and no server does."""
_PIECE = 2**16
"""Characters that are worth a piece of their own."""
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Object(NamedTuple):
    """One object as it was written."""

    source: SourceDocument
    document: Document
    """What rules see of it."""

    def __reduce__(self) -> tuple[Callable[[SourceDocument], Object], tuple[SourceDocument]]:
        """How it goes to another process: as it was written."""
        return _object, (self.source,)

    @property
    def manifest(self) -> Manifest:
        """As written."""
        return self.source.manifest

    def span(self, path: tuple[str | int, ...]) -> Span:
        """Where a field stands, or the nearest thing around one that is missing."""
        return self.source.places.key(path)


class Fault(NamedTuple):
    """Something wrong with a text as a whole."""

    finding: Finding
    span: Span


class Content(NamedTuple):
    """What a text holds."""

    text: Text
    objects: tuple[Object, ...]
    faults: tuple[Fault, ...]
    others: int
    """Documents that are no objects."""
    comments: tuple[Comment, ...]


class Piece(NamedTuple):
    """Some documents of a text, to be read by themselves."""

    text: Text
    whole: str
    """The text that it is of."""
    part: str
    first_line: int
    """How many lines stand before it."""


class Reading(NamedTuple):
    """What a piece holds."""

    objects: tuple[Object, ...] = ()
    faults: tuple[Fault, ...] = ()
    remarks: tuple[Fault, ...] = ()
    others: int = 0


def read(text: Text) -> Content:
    """Read a text. Never raises for any content."""
    parts = pieces(text)
    return content(text, parts, map(read_piece, parts))


def pieces(text: Text) -> list[Piece]:
    """The pieces of a text; none of what is no text."""
    try:
        whole = text.content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return []
    return [Piece(text, whole, part, first_line) for part, first_line in cut(whole, _PIECE)]


def read_piece(piece: Piece) -> Reading:
    """Read a piece."""
    text, objects, faults, remarks, others = piece.text, [], [], [], 0
    for source in read_manifests(piece.part, text.file, piece.first_line):
        if source.findings and _OPERATIONS.match(piece.whole):
            others += 1
            remarks.append(_part(source, text.file))
        elif source.findings:
            faults += [Fault(one, _span(one, text.file)) for one in source.findings]
        elif _is_object(source.manifest) and _is_part(source.manifest, text):
            others += 1
            remarks.append(_part(source, text.file))
        elif _is_object(source.manifest):
            objects.append(_object(source))
            remarks += [Fault(one, _span(one, text.file)) for one in source.remarks]
        else:
            others += 1
    return Reading(tuple(objects), tuple(faults), tuple(remarks), others)


def content(text: Text, parts: Sequence[Piece], readings: Iterable[Reading]) -> Content:
    """What a text holds, out of what its pieces do."""
    if not parts:
        return Content(text, (), (_not_text(text),), 0, ())
    decoded = parts[0].whole
    objects: list[Object] = []
    faults: list[Fault] = []
    remarks: list[Fault] = []
    others = 0
    for each in readings:
        objects += each.objects
        faults += each.faults
        remarks += each.remarks
        others += each.others
    if faults and _TEMPLATE.search(decoded):
        faults = [_unrendered(text.file)]
    elif faults and not text.named and not (_KEYS.search(decoded) and _meant(faults)):
        faults, others = [], others + 1
    return Content(text, tuple(objects), (*faults, *remarks), others, comments(decoded))


def _meant(faults: list[Fault]) -> bool:
    """Whether a file may have been meant for Kubernetes: a list at its root never is."""
    return any(each.finding.code.id != "yaml-one-object" for each in faults)


def chart(file: str) -> Fault:
    """What is said of a chart whose templates were passed over."""
    folder = file.rpartition("/")[0] or "."
    return _unrendered(file, f"helm template {folder} | gangform lint -")


def _unrendered(file: str, command: str = "") -> Fault:
    what = "the templates of a chart" if command else "a template"
    render = command or "helm template CHART | gangform lint -"
    finding = Finding(
        code=UNRENDERED,
        at=InputPath(()),
        what=f"{what} can only be judged once rendered",
        fix=f"lint what comes out of it: `{render}`",
    )
    return Fault(finding, Span(file, 1, 1))


def _not_text(text: Text) -> Fault:
    content, start = text.content, 0
    try:
        content.decode()
    except UnicodeDecodeError as error:
        start = error.start
    line = content.count(b"\n", 0, start) + 1
    column = start - content.rfind(b"\n", 0, start)
    what = _MARKS.get(content[:2])
    finding = Finding(
        code=FILE_NOT_TEXT,
        at=InputPath(()),
        what=f"the file is {what}, which kubectl does not read"
        if what
        else f"byte {start + 1} (0x{content[start]:02x}) is not UTF-8",
        fix="save the file as UTF-8",
    )
    return Fault(finding, Span(text.file, line, column))


def _span(finding: Finding, file: str) -> Span:
    seen = finding.seen
    return Span(file, int(seen.get("line", "1")), int(seen.get("column", "1")))


def _is_object(manifest: Manifest) -> bool:
    if "apiVersion" not in manifest or "kind" not in manifest:
        return False
    version = text(manifest, "apiVersion")
    return not (text(manifest, "kind") in _BUILD and version.startswith(_BUILD_GROUP))


def _is_part(manifest: Manifest, text_: Text) -> bool:
    """Whether an object is a patch: a kustomization says so, or it lacks what no whole one does without."""
    if text_.patch:
        return True
    form = form_of(in_full(manifest))
    if form is None:
        return False
    pods = [pod for group in form.read(_document(manifest)) for pod in group.pods]
    images = ["image" in mapping(one) for pod in pods for one in sequence(pod.spec, "containers")]
    bare = not images or not all(images)
    named = _PATCH in text_.file.rpartition("/")[2].lower()
    unselected = form.can.whole_pods and not mapping(manifest, "spec", "selector")
    return (bare and (named or (bool(images) and unselected))) or (named and unselected)


def _part(source: SourceDocument, file: str) -> Fault:
    kind, name = text(source.manifest, "kind"), text(source.manifest, "metadata", "name")
    finding = Finding(
        code=PART,
        at=InputPath(()),
        what=f"{f'{kind} {name}' if kind else 'the document'} is a part to be merged into an object, such as a patch",
        fix="lint what it is merged into: `kustomize build FOLDER | gangform lint -`",
    )
    span = source.places.key(("kind",))
    return Fault(finding, Span(file, span.line, span.column))


def _object(source: SourceDocument) -> Object:
    return Object(source, _document(source.manifest))


def _document(manifest: Manifest) -> Document:
    kind = in_full(manifest)
    if kind != text(manifest, "kind"):
        manifest = {**manifest, "kind": kind}
    return Document(manifest=manifest, builder="")


def placed(document: Document, namespace: str) -> Document:
    """A document that names no namespace, in the one that all others name."""
    metadata = {**mapping(document.manifest, "metadata"), "namespace": namespace}
    return Document(manifest={**document.manifest, "metadata": metadata}, builder="")


def made_by(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Kind and name of what made an object."""
    owners = dig(manifest, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, Mapping):
            yield text(owner, "kind"), text(owner, "name")


def named_path(manifest: Manifest, path: tuple[str | int, ...]) -> str:
    """A path as people say it: `spec.containers[engine].env[HF_TOKEN].value`; other lists by index."""
    here: object = manifest
    shown, around = "", ""
    for part in path:
        if isinstance(part, int):
            item = here[part] if isinstance(here, list) and part < len(here) else None
            name = text(item, "name") if around in _BY_NAME and isinstance(item, dict) else ""
            shown += f"[{name or part}]"
            here = item
            continue
        plain = part.replace("-", "").replace("_", "").isalnum()
        shown += (f".{part}" if shown else part) if plain else f"[{part}]"
        here, around = (here.get(part) if isinstance(here, dict) else None), part
    return shown


_BY_NAME = frozenset({"containers", "env", "initContainers", "roles", "volumeMounts", "volumes"})
"""Lists whose entries are called by name."""
