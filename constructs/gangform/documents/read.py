"""YAML to plain data, with the line of every value.

Inputs are read strictly: what two readers of YAML take for two different things, or what hides a mistake (a key given
twice, a version that YAML makes a number of), is refused, and all of it at once. Foreign manifests are read
tolerantly, much as `kubectl` reads them.
"""

import marshal
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gangform.documents.builder import Builder, nowhere
from gangform.documents.document import Manifest
from gangform.documents.places import Places, Span
from gangform.documents.words import WrittenFloat
from gangform.findings import Finding, Path

__all__ = [
    "Places",
    "Source",
    "SourceDocument",
    "Span",
    "WrittenFloat",
    "read_manifests",
    "read_strict",
]

_DOCUMENTS = re.compile(r"(?m)^(?=---(?:\s|\Z))")
_NOTHING = re.compile(r"(?:[ \t]*(?:[%#].*)?(?:\r?\n|\Z))*")
_HALVES = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LARGEST_INPUT, _LARGEST_MANIFESTS = 8 * 2**20, 256 * 2**20


class Source(NamedTuple):
    """What a file of inputs holds. Of use only where `findings` is empty."""

    file: str
    value: dict[str, Any]
    """Maps, lists, texts, whole numbers, booleans, `WrittenFloat`; `None` only where nulls were allowed."""
    places: Places
    findings: tuple[Finding, ...]
    """Everything that is wrong, in the order of the file. `at` is an `InputPath` in this file; the places of
    things without a path of their own are in `seen` as `line` and `column`."""


class SourceDocument(NamedTuple):
    """One object of a stream of manifests. A broken one has findings and an empty manifest."""

    file: str
    manifest: Manifest
    """As Kubernetes takes it: a key whose value is null is left out. Numbers with a fraction are `WrittenFloat`."""
    places: Places
    findings: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()
    """What is wrong with the text of one that can be read. In a List they stand with its first item."""

    def __reduce__(self) -> tuple[Callable[..., "SourceDocument"], tuple[object, ...]]:
        """How it goes to another process of this gangform.

        Plain data goes as `marshal` writes it, in a third of the time of `pickle`. It does not know fractions.
        """
        manifest: Any = self.manifest
        with suppress(ValueError):
            manifest = marshal.dumps(manifest)
        return _received, (self.file, manifest, *self.places.sent(), self.findings, self.remarks)


def _received(
    file: str,
    manifest: Manifest | bytes,
    where: str,
    tree: bytes,
    findings: tuple[Finding, ...],
    remarks: tuple[Finding, ...],
) -> SourceDocument:
    plain = marshal.loads(manifest) if isinstance(manifest, bytes) else manifest
    return SourceDocument(file, plain, Places.received(where, tree), findings, remarks)


def read_strict(text: str, file: str, *, nulls: Callable[[Path], bool] = nowhere) -> Source:
    """Read one file of inputs. Never raises for any text: what is wrong is in `findings`.

    Args:
        text: The content, decoded.
        file: What places call it.
        nulls: The paths where a written `null` is meant (in a merge patch it deletes). A key with nothing after it
            is an error everywhere.
    """
    builder = Builder(strict=True, nulls=nulls)
    if len(text) > _LARGEST_INPUT:
        builder.find("yaml-limit", (), _long(text), f"keep it below {_LARGEST_INPUT} characters")
    else:
        for count, _ in enumerate(builder.run(text.removeprefix("\ufeff"))):
            if count:
                what = "a second document begins with `---`"
                builder.find("yaml-one-object", (), what, "move it to a file of its own")
                break
    if not builder.found and builder.root is None:
        builder.find(
            "yaml-empty", (), "the file holds nothing", "write the object, or remove the file"
        )
    elif not builder.found and not isinstance(builder.root, dict):
        builder.find("yaml-one-object", (), "the file holds no map", "begin with `key: value`")
    value = builder.root if isinstance(builder.root, dict) else {}
    places = Places(file, builder.place)
    return Source(file=file, value=value, places=places, findings=tuple(builder.found))


def cut(text: str, least: int) -> Iterator[tuple[str, int]]:
    """A stream of manifests in pieces of at least so many characters, each with the lines before it.

    What `read_manifests` makes of them one after the other is what it makes of the text.
    """
    if not least < len(text) <= _LARGEST_MANIFESTS or _is_json(text):
        yield text, 0
        return
    begin = lines = 0
    for found in _DOCUMENTS.finditer(text):
        if found.start() - begin >= least:
            piece = text[begin : found.start()]
            yield piece, lines
            begin = found.start()
            lines += len(_LINE_END.findall(piece))
    yield text[begin:], lines


def read_manifests(text: str, file: str, first_line: int = 0) -> list[SourceDocument]:
    """Read a stream of manifests: empty documents skipped, Lists expanded, a broken document by itself.

    Never raises for any text. Values are typed by YAML 1.1; dates stay texts and other keys become texts, as in the
    JSON that the API server gets; of a key given twice the last one counts.

    Args:
        text: The content, decoded, or a piece of it.
        file: What places call it.
        first_line: How many lines stand before it.
    """
    if len(text) > _LARGEST_MANIFESTS:
        builder = Builder()
        builder.find(
            "yaml-limit", (), _long(text), f"keep it below {_LARGEST_MANIFESTS} characters"
        )
        return [_broken(builder, file)]
    documents: list[SourceDocument] = []
    if _is_json(text):
        # JSON spells characters beyond the first 65,536 as two halves, which YAML does not put together.
        text = _HALVES.sub(_joined, text)
    # A line that begins with `---` parts documents wherever it stands, so a broken one cannot spoil the next.
    for part in _DOCUMENTS.split(text.removeprefix("\ufeff")):
        if not _NOTHING.fullmatch(part):
            documents += _part(part, first_line, file)
        first_line += len(_LINE_END.findall(part))
    return documents


def _is_json(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def _joined(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    code = 0x10000 + ((int(found[1], 16) - 0xD800) << 10) + int(found[2], 16) - 0xDC00
    return f"\\U{code:08X}"


def _long(text: str) -> str:
    return f"the file has {len(text)} characters"


def _part(text: str, first_line: int, file: str) -> Iterator[SourceDocument]:
    """The objects of a text; what is broken comes last."""
    builder = Builder(first_line=first_line)
    for _ in builder.run(text):
        if isinstance(builder.root, dict):
            remarks = tuple(builder.repeated)
            for each in _expand(builder.root, Places(file, builder.place), file):
                yield each._replace(remarks=remarks) if remarks else each
                remarks = ()
        elif builder.root is not None:
            builder.find(
                "yaml-one-object", (), "the document is no map", "write an object, or remove it"
            )
            break
        builder.begin()
    if builder.found:
        yield _broken(builder, file)


def _broken(builder: Builder, file: str) -> SourceDocument:
    places = Places(file, builder.place)
    return SourceDocument(file=file, manifest={}, places=places, findings=tuple(builder.found))


def _expand(manifest: dict[str, Any], places: Places, file: str) -> Iterator[SourceDocument]:
    kind, items = manifest.get("kind"), manifest.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield SourceDocument(file=file, manifest=manifest, places=places)
        return
    # The items of a typed list come from the API server without a kind of their own.
    inherited = {"apiVersion": manifest.get("apiVersion", ""), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        if isinstance(item, dict):
            whole = item if kind == "List" else inherited | item
            yield from _expand(whole, places.below("items", index), file)
