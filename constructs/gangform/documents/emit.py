"""Documents to bytes, equal to what cdk8s writes: a bundle is the same through the constructs and without Node.

Committed manifests are reviewed as diffs, so the bytes are an interface. cdk8s writes through the npm package `yaml`
in YAML 1.1 mode without folding; its rules (`style §1.6`) are small enough to hold here for the types that a
manifest may have, and fast enough that synthesis does not wait for them. No general emitter will do: libyaml cannot
indent lists inside maps, and floats are spelled differently everywhere, so there are none.

Some values cdk8s writes in a way that not every reader takes for the same value: `=` and `<<` stop PyYAML, `0o17` is
a number to YAML 1.2 and `-_1` to the API server's parser, a raw U+2028 is a line break. They are refused.

A text on one line costs one lookup in a cache: manifests repeat themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gangform.documents.document import Document, Manifest
from gangform.documents.words import BOOLEANS, DISPUTED_BOOLEANS, NULLS
from gangform.findings import GangformError, Path, show_path

Place = tuple[int, Path]
"""Which document of a file, counted from 0, and the path in it."""

_LEADING = ("apiVersion", "kind", "metadata")
_EXACT = 2**53 - 1
_LAST_INDEX = 2**32 - 2
_LONGEST_KEY = 1024
_BREAKABLE = 40
_CACHED = 50_000

# What a reader of YAML 1.1 takes for null, a boolean, a number, a time or a date: such a text is quoted.
_WORDS = frozenset([*NULLS, *BOOLEANS, *DISPUTED_BOOLEANS])
_BEGINS_NUMBER = frozenset("+-.0123456789eE")
_NUMBER = re.compile(
    r"""(?x)
    [-+]? (?: 0b[01_]+ | 0x[0-9a-fA-F_]+ | [0-9][0-9_]* )
    | [-+]? \.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | [-+]? (?:[0-9][0-9_]*)? (?:\.[0-9_]*)? [eE] [-+]? [0-9]+
    | [-+]? (?:[0-9][0-9_]*)? \.[0-9_]*
    | [-+]? [0-9][0-9_]* (?: :[0-5]?[0-9] )+ (?: \.[0-9_]* )?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
      (?: (?: [tT] | [ \t]+ ) [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?
          (?: [ \t]* (?: Z | [-+][012]?[0-9](?::[0-9]{2})? ) )? )?
    """
)
# What YAML's grammar forbids in a text without quotes: at its beginning, inside, at its end.
_NOT_FIRST = (*"\t ,[]{}#&*!|>'\"%@`", "? ", "?\t", "- ", "-\t")
_NOT_INSIDE = (": ", ":\t", " #", "\t#")
_NOT_LAST = ("\t", " ", ":")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f]")
_UNREADABLE = "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"  # compiled for a text beyond ASCII only
# Numbers to other readers once `_` is taken out, though cdk8s leaves them plain.
_NUMBER_ELSEWHERE = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
)
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
# In the JSON form of a text: newlines with what touches them, a control character, any other escape.
_ESCAPE = re.compile(
    r"""(?P<before>\ ?)(?P<run>(?:\\n)+)(?=(?P<after>[ "]?))|\\u00(?P<code>..)|\\."""
)
_SHORT = {"00": "\\0", "07": "\\a", "0b": "\\v", "1b": "\\e"}

_LINES: dict[str, str] = {}
"""Text on one line → how it is written as a value."""
_KEYS: dict[str, str] = {}
"""Key → how it is written. Keys that look like list indexes are never in it: they move (`_ordered`)."""


class EmitError(GangformError, TypeError):
    """A value that cannot be written so that every reader gets it back; the message names document and path."""

    def __init__(self, what: str, path: Path = (), document: int = 0) -> None:
        """Keep the parts: the caller may know the input behind the path."""
        self.what, self.path, self.document = what, path, document
        super().__init__(what, path, document)

    def __str__(self) -> str:
        """`document 3: spec.replicas: 1.5 is a float …`."""
        return f"document {self.document}: {show_path(self.path)}: {self.what}"

    def under(self, part: str | int) -> EmitError:
        """The same, seen from one level further out."""
        return EmitError(self.what, (part, *self.path), self.document)


def emit(documents: Iterable[Document | Manifest]) -> bytes:
    """The file that holds these documents, in UTF-8. No documents make an empty file.

    Raises:
        EmitError: A value of another type than map, list, text, whole number or boolean, or one that is not read
            back the same by every reader.
    """
    parts: list[str] = []
    for index, document in enumerate(documents):
        if index:
            parts.append("---\n")
        try:
            top = _top(document)
            if top:
                _map(top, "", "", parts)
            else:
                parts.append("{}\n")
        except EmitError as error:
            raise EmitError(error.what, error.path, index) from None
    return "".join(parts).encode()


def emit_with_lines(documents: Iterable[Document | Manifest]) -> tuple[bytes, dict[int, Place]]:
    """The same bytes, and which value stands on which line (counted from 1).

    A line belongs to the innermost value that begins on it: `- name: x` to the path of `name`. Every line of a block
    of text belongs to that text; a line `---` belongs to nothing.

    Raises:
        EmitError: As for `emit`.
    """
    kept = list(documents)
    content = emit(kept)
    places: dict[int, Place] = {}
    line = 1
    for index, document in enumerate(kept):
        line += bool(index)
        top = _top(document)
        for path, height in _heights(top, (), "  ") if top else [((), 1)]:
            places.update(dict.fromkeys(range(line, line + height), (index, path)))
            line += height
    return content, places


def _heights(node: Any, path: Path, pad: str) -> Iterator[tuple[Path, int]]:
    """Every value that begins lines of its own, in order, with the number of these lines."""
    pairs = _ordered(node).items() if isinstance(node, Mapping) else enumerate(node)
    for part, value in pairs:
        inside = (*path, part)
        if isinstance(value, str):
            yield inside, _text(value, pad).count("\n") + 1
        elif isinstance(value, (Mapping, Sequence)) and value:
            # An item of a list begins on the line of what it holds; only a key has a line for itself.
            if isinstance(part, str):
                yield inside, 1
            yield from _heights(value, inside, f"{pad}  ")
        else:
            yield inside, 1


def _top(document: Document | Manifest) -> dict[str, Any]:
    """A manifest as cdk8s orders it: the three leading keys first, `metadata` sorted and without what is empty."""
    manifest: Any = document.manifest if isinstance(document, Document) else document
    if not isinstance(manifest, Mapping):
        raise EmitError(f"{_shown(manifest)} is not a map")
    top: dict[str, Any] = {key: manifest[key] for key in _LEADING if key in manifest}
    for key, value in manifest.items():
        if isinstance(key, str) and key.startswith(("---", "...")):
            raise EmitError(
                f"{_shown(key)} at the beginning of a line would separate documents", (key,)
            )
        top.setdefault(key, value)
    metadata = top.get("metadata")
    if isinstance(metadata, Mapping):
        top["metadata"] = _tidy(metadata, ("metadata",))
        if not top["metadata"]:
            del top["metadata"]
    return top


def _tidy(node: Any, path: Path) -> Any:
    """Maps sorted as JavaScript sorts, by UTF-16, and empty maps and lists dropped."""
    if isinstance(node, Mapping):
        _ordered(node, path)
        pairs = ((key, _tidy(node[key], (*path, key))) for key in sorted(node, key=_utf16))
        return {key: value for key, value in pairs if value not in ({}, [])}
    if isinstance(node, (list, tuple)):
        items = [_tidy(item, (*path, index)) for index, item in enumerate(node)]
        for index, item in enumerate(items):
            if item in ({}, []):
                raise EmitError(
                    "cdk8s makes null of what is empty in a list in `metadata`", (*path, index)
                )
        return items
    return node


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _ordered(node: Mapping[str, Any], path: Path = ()) -> Mapping[str, Any]:
    """The keys checked and in JavaScript's order: those that look like list indexes first, by number."""
    if node.keys() <= _KEYS.keys():
        return node
    indexes = []
    for key in node:
        try:
            _key(key)
        except EmitError as error:
            raise EmitError(error.what, (*path, *error.path)) from None
        if _INDEX.fullmatch(key) and int(key) <= _LAST_INDEX:
            indexes.append(key)
    if not indexes:
        return node
    return {key: node[key] for key in sorted(indexes, key=int)} | dict(node)


def _map(node: Mapping[str, Any], pad: str, lead: str, out: list[str]) -> None:
    """Write a map that is not empty. `lead` stands before its first line, `pad` before the others."""
    node = _ordered(node)
    inner = f"{pad}  "
    key = ""
    try:
        for key, value in node.items():
            name = _KEYS.get(key) or _key(key)
            kind = type(value)
            if kind is str:
                out.append(f"{lead}{name}: {_LINES.get(value) or _text(value, inner)}\n")
            elif (kind is list or kind is tuple) and value:
                out.append(f"{lead}{name}:\n")
                _list(value, inner, inner, out)
            elif (kind is dict or isinstance(value, Mapping)) and value:
                out.append(f"{lead}{name}:\n")
                _map(value, inner, inner, out)
            else:
                out.append(f"{lead}{name}: {_scalar(value, inner)}\n")
            lead = pad
    except EmitError as error:
        raise error.under(key) from None


def _list(node: Sequence[Any], pad: str, lead: str, out: list[str]) -> None:
    """Write a list that is not empty; a map or list in it begins on the line of its dash."""
    inner = f"{pad}  "
    index = -1
    try:
        for value in node:
            index += 1
            kind = type(value)
            if kind is str:
                out.append(f"{lead}- {_LINES.get(value) or _text(value, inner)}\n")
            elif (kind is list or kind is tuple) and value:
                _list(value, inner, f"{lead}- ", out)
            elif (kind is dict or isinstance(value, Mapping)) and value:
                _map(value, inner, f"{lead}- ", out)
            else:
                out.append(f"{lead}- {_scalar(value, inner)}\n")
            lead = pad
    except EmitError as error:
        raise error.under(index) from None


def _scalar(value: Any, pad: str) -> str:
    """Whatever stands on the line of its key or dash."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        if not -_EXACT <= value <= _EXACT:
            raise EmitError(
                f"{int(value)} is beyond 2^53, where JavaScript rounds: write it as text"
            )
        return int.__repr__(value)
    if isinstance(value, str):
        return _text(str.__str__(value), pad)
    if isinstance(value, Mapping):
        return "{}"
    if type(value) in (list, tuple) and not value:
        return "[]"
    raise EmitError(
        f"{_shown(value)} is a {type(value).__name__}; a manifest holds maps, lists, texts, whole numbers, booleans"
    )


def _key(key: Any) -> str:
    """A key as it stands before its colon: one line, quoted by the rules for values."""
    if not isinstance(key, str):
        raise EmitError(
            f"the key {_shown(key)} is a {type(key).__name__}; keys are texts", (str(key),)
        )
    if key in _KEYS:
        return _KEYS[key]
    key = str.__str__(key)
    try:
        if key == "__proto__":
            raise EmitError("JavaScript drops a key of this name")
        if len(key.encode("utf-16-be", "replace")) > 2 * _LONGEST_KEY:
            raise EmitError(f"the key is longer than {_LONGEST_KEY} characters")
        _refuse_unreadable(key)
        written = _double(key, None) if "\n" in key else _line(key)
    except EmitError as error:
        raise error.under(key) from None
    if not _INDEX.fullmatch(key):
        _remember(_KEYS, key, written)
    return written


def _text(text: str, pad: str) -> str:
    """A text as a value: plain or quoted on one line, or a block whose lines stand under `pad`."""
    if "\n" not in text:
        written = _LINES.get(text)
        if written is None:
            written = _line(text)
            _remember(_LINES, text, written)
        return written
    _refuse_unreadable(text)
    body = text.rstrip(" \t\n")
    if _CONTROL.search(text) or (
        not text.endswith("\n") and not text.rpartition("\n")[2].strip(" \t")
    ):
        return _double(text, pad)
    if not body and text.strip("\n"):
        raise EmitError(
            f"{_shown(text)} holds only blanks and newlines, and readers do not get their number back"
        )
    tail = text[len(body) :]
    chomp = "-"
    if "\n" in tail:
        chomp = "" if body and tail.index("\n") == len(tail) - 1 else "+"
    start = text[: len(text) - len(text.lstrip(" \n"))]
    indicator = "2" if body and " " in start else ""
    if not indicator and text.lstrip("\n").startswith("\t"):
        raise EmitError(
            f"{_shown(text)} begins with a tab, which readers refuse at the beginning of a block"
        )
    lines = re.sub(r"\n+(?=[^\n])", lambda run: run[0] + pad, text.removesuffix("\n"))
    return f"|{indicator}{chomp}\n{pad}{lines}"


def _line(text: str) -> str:
    """A text without a newline."""
    _refuse_unreadable(text)
    if _CONTROL.search(text):
        return _double(text, None)
    bounds = text.startswith(_NOT_FIRST) or text.endswith(_NOT_LAST) or text in ("?", "-")
    if bounds or any(part in text for part in _NOT_INSIDE) or _typed(text):
        return f"'{text}'" if '"' in text and "'" not in text else _double(text, None)
    if text in ("=", "<<") or (
        text[0] in "+-.0123456789" and _NUMBER_ELSEWHERE.fullmatch(text.replace("_", ""))
    ):
        raise EmitError(
            f"cdk8s writes {_shown(text)} without quotes, and other readers do not get the text back"
        )
    return text


def _double(text: str, pad: str | None) -> str:
    """Double quotes with JSON's escapes and YAML's short ones; a long one breaks at its newlines, if it has a `pad`."""
    quoted = json.dumps(text, ensure_ascii=False)
    if "\\n" not in quoted and "\\u00" not in quoted:
        return quoted
    breaks = pad is not None and len(quoted.encode("utf-16-be")) >= 2 * _BREAKABLE
    if breaks and "\n \n" in text:
        raise EmitError(
            f"cdk8s escapes the line of one blank in {_shown(text)} twice, which changes the text"
        )

    def rewrite(found: re.Match[str]) -> str:
        if found["code"]:
            return _SHORT.get(found["code"], f"\\x{found['code']}")
        if not found["run"]:
            return found[0]
        before, after = "\\ " if found["before"] else "", found["after"]
        count = len(found["run"]) // 2
        kept = count if not breaks else int(after == '"')
        if count == kept:
            return before + found["run"]
        broken = "\n" * (count - kept + 1) + str(pad)
        return before + broken + ("\\n" * kept or "\\" * (after == " "))

    return _ESCAPE.sub(rewrite, quoted)


def _typed(text: str) -> bool:
    return text in _WORDS or (text[0] in _BEGINS_NUMBER and _NUMBER.fullmatch(text) is not None)


def _refuse_unreadable(text: str) -> None:
    if text.isascii() and "\x7f" not in text:
        return
    found = re.search(_UNREADABLE, text)
    if found:
        raise EmitError(
            f"the character U+{ord(found[0]):04X} is not read back by every reader of YAML"
        )


def _remember(cache: dict[str, str], text: str, written: str) -> None:
    if len(cache) >= _CACHED:
        cache.clear()
    cache[text] = written


def _shown(value: object) -> str:
    text = ascii(value)
    return f"`{text if len(text) <= _BREAKABLE else text[:_BREAKABLE] + '…'}`"
