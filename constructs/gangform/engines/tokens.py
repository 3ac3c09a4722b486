"""A shell script as words and operators.

Quotes, comments, continued lines, redirections and here-documents are dealt with; what is expanded is kept apart from
what is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple


class Operator(Enum):
    """What stands between commands."""

    THEN = ";"
    AND = "&&"
    OR = "||"
    PIPE = "|"
    BEHIND = "&"
    OPEN = "("
    CLOSE = ")"


class Piece(NamedTuple):
    """A part of a word."""

    text: str
    """As it is written, without quotes."""
    name: str | None = None
    """The variable that it is the value of."""
    known: bool = True
    """`False`: what a command or an expansion gives."""
    splits: bool = False
    """Whether it is outside quotes, so that its value may be several words."""


class Word(NamedTuple):
    """A word before its variables are filled in."""

    pieces: tuple[Piece, ...]

    @property
    def plain(self) -> str:
        """The text that it certainly begins with: all of it where nothing is expanded."""
        certain = []
        for piece in self.pieces:
            if piece.name is not None or not piece.known:
                break
            certain.append(piece.text)
        return "".join(certain)

    @property
    def source(self) -> str:
        """As it is written, variables as `$(NAME)`."""
        return "".join(_written(piece) for piece in self.pieces)

    def text(self, value: Callable[[str], str | None]) -> tuple[str | None, bool]:
        """The word with its variables filled in, and whether it may be several words.

        A variable without a value stays as `$(NAME)`; the text is `None` where the whole word is not known.
        """
        solid = [piece for piece in self.pieces if piece.text]
        alone = len(solid) == 1 and solid[0].splits
        parts = []
        for piece in self.pieces:
            known = value(piece.name) if piece.name is not None else None
            if alone and known is None:
                return None, True
            parts.append(_written(piece) if known is None else known)
        return "".join(parts), alone


def _written(piece: Piece) -> str:
    return piece.text if piece.name is None else f"$({piece.name})"


_SPACE: Final = " \t\r"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KUBELET: Final = re.compile(r"\(([A-Z_][A-Z0-9_]*)\)")
"""After a dollar sign: a variable in the kubelet's spelling. Commands are not called in capitals."""
_BRACED: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::?[-=?][^{}$`\"']*)?\}")
_REDIRECTS: Final = re.compile(r"&>>|&>|>>|>&|>\||<<<|<<-|<<|<>|<&|>|<")
_PLAIN: Final = re.compile(r"[^\s\\'\"$`;&|()<>#]+")
_QUOTED: Final = re.compile(r"[^\\\"$`]+")
_LONGEST: Final = 100_000
"""Characters of a script that is read; a longer one is not one that people write."""
_DEEPEST: Final = 50


def tokens(script: str) -> Iterator[Word | Operator | None]:
    """Words and operators in order; `None` last where a quote or an expansion has no end."""
    if len(script) > _LONGEST:
        yield None
        return
    try:
        yield from _Scanner(script).tokens()
    except _Unfinished:
        yield None


class _Unfinished(Exception):
    """Something is begun and not ended."""


class _Scanner:
    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0
        self.depth = 0
        self.heredocs: list[str] = []

    def tokens(self) -> Iterator[Word | Operator]:
        after_redirect = ""
        while self.at < len(self.script):
            here = self.script[self.at]
            if here in _SPACE:
                self.at += 1
            elif self.script.startswith("\\\n", self.at):
                self.at += 2
            elif here == "\n":
                self.at += 1
                self._skip_heredocs()
                yield Operator.THEN
            elif here == "#":
                end = self.script.find("\n", self.at)
                self.at = len(self.script) if end < 0 else end
            elif (found := _REDIRECTS.match(self.script, self.at)) and not self._substitutes(found):
                self.at = found.end()
                after_redirect = found[0]
            elif here in ";&|()":
                yield self._operator()
            else:
                word = self._word()
                if word.source.isdecimal() and self.script[self.at : self.at + 1] in ("<", ">"):
                    continue
                if after_redirect.startswith("<<") and after_redirect != "<<<":
                    self.heredocs.append(word.source)
                elif not after_redirect:
                    yield word
                after_redirect = ""

    def _substitutes(self, found: re.Match[str]) -> bool:
        return self.script.startswith("(", found.end()) and found[0] in ("<", ">")

    def _operator(self) -> Operator:
        two = self.script[self.at : self.at + 2]
        if two in ("&&", "||"):
            self.at += 2
            return Operator(two)
        here = self.script[self.at]
        self.at += 2 if two in (";;", "|&") else 1
        return Operator(here)

    def _skip_heredocs(self) -> None:
        for delimiter in self.heredocs:
            while self.at < len(self.script):
                end = self.script.find("\n", self.at)
                end = len(self.script) if end < 0 else end
                line = self.script[self.at : end]
                self.at = min(end + 1, len(self.script))
                if line.strip("\t ") == delimiter:
                    break
        self.heredocs.clear()

    def _word(self) -> Word:
        pieces: list[Piece] = []
        begun = self.at
        while self.at < len(self.script):
            here = self.script[self.at]
            if here == "\\":
                if not self.script.startswith("\\\n", self.at):
                    pieces.append(Piece(self.script[self.at + 1 : self.at + 2]))
                self.at += 2
            elif here == "'":
                pieces.append(Piece(self._until("'")))
            elif here == '"':
                self._double(pieces)
            elif here == "$":
                pieces.append(self._expansion(splits=True))
            elif here == "`":
                pieces.append(Piece(self._until("`"), known=False, splits=True))
            elif found := _PLAIN.match(self.script, self.at):
                pieces.append(Piece(found[0]))
                self.at = found.end()
            elif here == "#" and self.at > begun:
                pieces.append(Piece(here))
                self.at += 1
            elif here == "(" and pieces and pieces[-1].text.endswith("="):
                pieces.append(Piece(self._balanced("(", ")"), known=False, splits=True))
            elif here in "<>" and self.at == begun:
                self.at += 1
                pieces.append(Piece(self._balanced("(", ")"), known=False))
            else:
                break
        return Word(_joined(pieces))

    def _until(self, quote: str) -> str:
        end = self.script.find(quote, self.at + 1)
        if end < 0:
            raise _Unfinished
        inside = self.script[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _double(self, pieces: list[Piece]) -> None:
        self.at += 1
        pieces.append(Piece(""))
        while self.at < len(self.script):
            here = self.script[self.at]
            if here == '"':
                self.at += 1
                return
            if here == "\\":
                after = self.script[self.at + 1 : self.at + 2]
                if after != "\n":
                    pieces.append(Piece(after if after in '"\\$`' else here + after))
                self.at += 2
            elif here == "$":
                pieces.append(self._expansion(splits=False))
            elif here == "`":
                pieces.append(Piece(self._until("`"), known=False))
            elif found := _QUOTED.match(self.script, self.at):
                pieces.append(Piece(found[0]))
                self.at = found.end()
        raise _Unfinished

    def _expansion(self, *, splits: bool) -> Piece:
        """What a dollar sign begins."""
        self.at += 1
        if found := _KUBELET.match(self.script, self.at):
            self.at = found.end()
            return Piece(found[1], name=found[1])
        if found := _BRACED.match(self.script, self.at) or _NAME.match(self.script, self.at):
            self.at = found.end()
            name = found[1] if found.lastindex else found[0]
            return Piece(name, name=name, splits=splits)
        here = self.script[self.at : self.at + 1]
        if here == "(":
            arithmetic = self.script.startswith("((", self.at)
            inside = self._balanced("(", ")")
            # Spelled in the other way of shells: `$(NAME)` is a variable everywhere else.
            said = f"$({inside})" if arithmetic else f"`{inside}`"
            return Piece(said, known=False, splits=splits and not arithmetic)
        if here == "{":
            inside = self._balanced("{", "}")
            several = splits or "[@]" in inside or inside.startswith("@")
            return Piece(f"${{{inside}}}", known=False, splits=several)
        if here == "'" and splits:
            return Piece(self._until("'"))
        if here and here in "@*#?$!-0123456789":
            self.at += 1
            return Piece(f"${here}", known=False, splits=splits or here == "@")
        return Piece("$")

    def _balanced(self, opening: str, closing: str) -> str:
        """What is enclosed, from the opening at this place on; quotes inside are respected."""
        begun, outer = self.at, self.depth
        while self.at < len(self.script) and self.depth <= _DEEPEST:
            here = self.script[self.at]
            if here == "\\":
                self.at += 2
            elif here == "'":
                self._until("'")
            elif here == '"':
                self._skip_double()
            else:
                self.depth += (here == opening) - (here == closing)
                self.at += 1
                if self.depth == outer:
                    return self.script[begun + 1 : self.at - 1]
        raise _Unfinished

    def _skip_double(self) -> None:
        self.at += 1
        while self.at < len(self.script):
            here = self.script[self.at]
            if here == '"':
                self.at += 1
                return
            if here == "\\":
                self.at += 2
            elif self.script.startswith("$(", self.at):
                self.at += 1
                self._balanced("(", ")")
            else:
                self.at += 1
        raise _Unfinished


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Neighbours that are plain text as one; `""` is a word too."""
    joined: list[Piece] = []
    for piece in pieces:
        plain = piece.name is None and piece.known
        last = joined[-1] if joined else None
        if plain and last is not None and last.name is None and last.known:
            joined[-1] = Piece(last.text + piece.text)
        else:
            joined.append(piece)
    return tuple(joined)
