"""How a container starts: its words, or the commands of the shell script among them, as far as they are certain.

The kubelet fills in `$(NAME)` first, then a shell splits its script. What surely runs is given as simple commands with
their words. What stands in a condition, a loop, a function or a subshell may run or not, and is left out; what a
variable or a command decides is left as it is written. A variable that nobody here gives a value stands as `$(NAME)`,
whichever way it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from gangform.documents.document import Manifest, dig, sequence, text
from gangform.engines.conditions import Blocks, verdict
from gangform.engines.tokens import Operator, Word, tokens
from gangform.findings import Path

SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_SCRIPT_OPTION: Final = re.compile(r"^-[a-z]*c[a-z]*$")
_OPTION: Final = re.compile(r"^[-+][a-z]+$|^pipefail$")
_ASSIGNMENT: Final = re.compile(r"^([A-Za-z_]\w*)\+?=")
_POSITIONAL: Final = re.compile(r"\$(?:[@*#0-9]|\{[@*#0-9])")
_OWN: Final = frozenset({"$@", "$*", "$0"})
_SEVERAL: Final = re.compile(r"ARG|OPT|FLAG|PARAM|EXTRA", re.IGNORECASE)
"""Variables that are called so hold several words."""

_OPENS: Final = frozenset({"if", "while", "until", "for", "case", "select", "{"})
_CLOSES: Final = frozenset({"fi", "done", "esac", "}"})
_BETWEEN: Final = frozenset({"then", "do", "in", "!"})
_TESTS: Final = frozenset({"[", "[[", "test", "!"})
_LEAVES: Final = frozenset({"exec", "exit", "return"})
_PREFIXES: Final = frozenset({"exec", "nohup", "time", "command", "env", "builtin"})
_SETS: Final = frozenset({"export", "declare", "typeset", "readonly", "local"})
_READS_ELSEWHERE: Final = frozenset({"source", ".", "eval", "read", "mapfile"})


class Command(NamedTuple):
    """One command that surely runs."""

    words: tuple[str, ...]
    loose: frozenset[int] = frozenset()
    """Which words may turn out to be several words, or none."""
    variables: Mapping[str, str | None] = {}
    """What the script sets for it; `None`: a value that is not known."""

    @property
    def program(self) -> str:
        """The name of what is run, without its folder."""
        return name_of(self.words[0])

    def certain(self, first: int) -> bool:
        """Whether the words from there on are what they seem: one that may be several is the value of a flag.

        The first of them may be the value of a variable: a model.
        """
        return all(self._is_one(at, at == first) for at in self.loose if at >= first)

    def _is_one(self, at: int, first: bool) -> bool:
        before, word = self.words[at - 1], self.words[at]
        if first:
            return bool(REFERENCE.fullmatch(word)) and not _SEVERAL.search(word)
        return before.startswith("-") and "=" not in before and not _SEVERAL.search(word)


class Start(NamedTuple):
    """What a container runs first."""

    commands: tuple[Command, ...]
    """In the order in which they run; empty where the image's own entry point decides."""
    arguments: tuple[str, ...] | None = None
    """What the image's own entry point is given; `None` where the container names its command."""
    script: Path | None = None
    """Where the script of a shell stands in the container; `None` where no shell runs."""
    doubtful: tuple[Command, ...] = ()
    """What may run or not: commands in conditions, loops, functions and subshells, as far as they are read."""
    whole: bool = True
    """Whether the script was read to its end, or to the command that takes the shell's place."""
    dropped: Path | None = None
    """The first word after a script that the script does not ask for: the shell ignores it."""


def name_of(program: str) -> str:
    """The name of a program, without its folder."""
    return program.rpartition("/")[2]


def environment(container: Manifest) -> dict[str, str | None]:
    """The variables of a container; `None` for a value that comes from elsewhere."""
    known: dict[str, str | None] = {}
    for variable in sequence(container, "env"):
        name = text(variable, "name")
        written = dig(variable, "value")
        known[name] = filled(written, known) if isinstance(written, str) else None
        if dig(variable, "valueFrom") is None and written is None:
            known[name] = ""
    return known


def filled(written: str, known: Mapping[str, str | None]) -> str:
    """A text as the kubelet leaves it: `$(NAME)` is the value of a variable that is known, and stays otherwise."""
    if "$(" not in written:
        return written

    def value(found: re.Match[str]) -> str:
        known_value = known.get(found[1])
        return found[0] if known_value is None else known_value

    return REFERENCE.sub(value, written)


def settings(container: Manifest, command: Command) -> dict[str, str | None]:
    """The variables that a command sees, those of its script last; `None` for a value that is not known."""
    return {**environment(container), **command.variables}


_latest: dict[int, tuple[Manifest, Start | None]] = {}
"""The containers that were asked about last, by identity: one reader and rule after the other asks about the same."""
_LATEST = 16


def start(container: Manifest) -> Start | None:
    """What a container runs; `None` where its words are no texts."""
    known = _latest.get(id(container))
    if known is None:
        if len(_latest) >= _LATEST:
            del _latest[next(iter(_latest))]
        known = _latest[id(container)] = container, _start(container)
    return known[1]


def _start(container: Manifest) -> Start | None:
    places: list[Path] = []
    words: list[str] = []
    for key in ("command", "args"):
        for index, word in enumerate(sequence(container, key)):
            if not isinstance(word, str):
                return None
            places.append((key, index))
            words.append(word)
    known = environment(container)
    if not sequence(container, "command"):
        return Start((), arguments=tuple(filled(word, known) for word in words))
    if name_of(words[0]) not in SHELLS:
        return Start((Command(tuple(filled(word, known) for word in words)),))
    at = _script_at(words)
    if at is None:
        return Start((), whole=False)
    script = words[at]
    extra = [place for place, word in zip(places[at + 1 :], words[at + 1 :], strict=True) if word]
    flags = any(word.startswith("-") and word != "--" for word in words[at + 1 :])
    dropped = extra[0] if flags and not _POSITIONAL.search(script) else None
    followed = _follow(script, known, [filled(word, known) for word in words[at + 1 :]])
    return Start(
        tuple(followed.sure),
        script=places[at],
        doubtful=tuple(followed.unsure),
        whole=followed.whole,
        dropped=dropped,
    )


def _script_at(words: Sequence[str]) -> int | None:
    """Where the script stands behind a shell and its options; `None` where it is a file."""
    for at, word in enumerate(words[1:], 1):
        if _SCRIPT_OPTION.match(word):
            return at + 1 if at + 1 < len(words) else None
        if not _OPTION.match(word):
            return None
    return None


# ── a script ─────────────────────────────────────────────────────────────────────────────────────


def _follow(script: str, env: Mapping[str, str | None], behind: Sequence[str]) -> _State:
    """Follow a script and collect what surely runs, and what perhaps does; `behind` it stand its own arguments."""
    state = _State(env, behind)
    for words, before in _simple(script):
        if words is None:
            state.whole = False
        elif not state.replaced:
            state.step(words, before)
    return state


def _simple(script: str) -> Iterator[tuple[list[Word | str] | None, str]]:
    """Simple commands with the operator before them; a parenthesis stands alone. `None`: no end of what was begun."""
    words: list[Word | str] = []
    before = ";"
    for token in tokens(script):
        if token is None:
            yield None, before
            return
        if isinstance(token, Word):
            words.append(token)
            continue
        if token in (Operator.OPEN, Operator.CLOSE):
            # A name before `(` begins a function.
            yield ([] if token is Operator.OPEN else words), before
            yield [token.value], ";"
            words, before = [], ";"
        else:
            yield words, before
            words, before = [], token.value
    yield words, before


class _State:
    """What is known while a script is followed."""

    def __init__(self, env: Mapping[str, str | None], behind: Sequence[str] = ()) -> None:
        self.env = env
        self.behind = behind
        self.set: dict[str, str | None] = {}
        self.sure: list[Command] = []
        self.unsure: list[Command] = []
        self.whole = True
        self.replaced = False
        """Whether a command took the shell's place: nothing after it runs."""
        self._blocks = Blocks()
        self._asking = False
        """Whether a condition is not at its end yet."""
        self._doubtful = False
        """Whether the command before decides if this one runs."""
        self._tested = False
        self._left = False
        """Whether the script may have ended before."""

    def value(self, name: str) -> str | None:
        """A variable's value, where it is certain."""
        return self.set[name] if name in self.set else self.env.get(name)

    def step(self, words: list[Word | str], before: str) -> None:
        """Take one simple command."""
        if self._asking and before not in (";", "&"):
            # One of several conditions.
            self._blocks.doubt()
        if before in (";", "&"):
            self._doubtful = False
        elif before == "||" or (before == "&&" and self._tested):
            self._doubtful = True
        if words and isinstance(words[0], str):
            self._parenthesis(words[0])
            return
        rest = self._block([word for word in words if isinstance(word, Word)])
        if not rest or self._blocks.run is False:
            return
        self._tested = rest[0].plain in _TESTS
        if self._blocks.run is None or self._doubtful or self._left:
            self._perhaps(rest)
        else:
            self._surely(rest)

    def _parenthesis(self, which: str) -> None:
        if which == Operator.OPEN.value:
            self._blocks.open("(")
        elif self._blocks.inner == "(":
            self._blocks.close()

    def _block(self, words: list[Word]) -> list[Word]:
        """What is left of a simple command behind the words that begin, part and end blocks."""
        while words and (plain := words[0].plain):
            if plain == "if":
                runs = verdict(words[1:], self.value)
                self._blocks.open(plain, runs)
                self._asking = True
                if runs is not None:
                    return []
                words = words[1:]
            elif plain in ("elif", "else"):
                self._asking = plain == "elif"
                runs = verdict(words[1:], self.value) if self._asking else True
                self._blocks.otherwise(runs)
                if self._asking and runs is not None:
                    return []
                words = words[1:]
            elif plain in _OPENS:
                self._blocks.open(plain)
                words = words[1:]
                if plain in ("for", "case", "select"):
                    return []
            elif plain in _CLOSES:
                if self._blocks.inner not in ("", "("):
                    self._blocks.close()
                words = words[1:]
            elif plain in _BETWEEN:
                self._asking = self._asking and plain != "then"
                words = words[1:]
            elif plain == "function":
                if words[-1].plain == "{":
                    self._blocks.open("{")
                return []
            else:
                break
        return words

    def _perhaps(self, words: list[Word]) -> None:
        """A command that may run or not: what it sets is not known any more."""
        for word in words:
            if (found := _ASSIGNMENT.match(word.plain)) is not None:
                self.set[found[1]] = None
        first = words[0].plain
        if first in _READS_ELSEWHERE:
            self._forget()
        made, replaces = self._made(words, {})
        if made is not None:
            self.unsure.append(made)
        # `exit 1` ends what went wrong: where all is well the script goes on.
        ends = first in _LEAVES and words[-1].plain in (first, "0")
        self._left = self._left or ends or (replaces and made is not None) or _lasts(words)

    def _surely(self, words: list[Word]) -> None:
        own: dict[str, str | None] = {}
        while words and (found := _ASSIGNMENT.match(words[0].plain)) is not None:
            own[found[1]] = self._assigned(words[0], found)
            words = words[1:]
        if not words:
            self.set.update(own)
            return
        first = words[0].plain
        if first in _SETS:
            for word in words[1:]:
                if (found := _ASSIGNMENT.match(word.plain)) is not None:
                    self.set[found[1]] = self._assigned(word, found)
            return
        if first in _READS_ELSEWHERE:
            self._forget()
        if first in ("exit", "return"):
            self._left = True
            return
        made, replaces = self._made(words, own)
        if made is not None:
            self.sure.append(made)
            self.replaced = replaces

    def _made(self, words: list[Word], own: dict[str, str | None]) -> tuple[Command | None, bool]:
        """The command, and whether it takes the shell's place."""
        replaces = False
        while words and words[0].plain in _PREFIXES:
            replaces = replaces or words[0].plain == "exec"
            words = words[1:]
            while words and (found := _ASSIGNMENT.match(words[0].plain)) is not None:
                own[found[1]] = self._assigned(words[0], found)
                words = words[1:]
        texts: list[str] = []
        loose: set[int] = set()
        for word in words:
            said, several = word.text(self.value)
            if word.source in _OWN and self.behind:
                # The first word behind a script is its name.
                texts.extend(self.behind[1:] if word.source != "$0" else self.behind[:1])
            elif several and said is None:
                loose.add(len(texts))
                texts.append(word.plain or word.source)
            elif several and said is not None:
                texts.extend(said.split())
            else:
                texts.append(said if said is not None else word.source)
        made = Command(tuple(texts), frozenset(loose), {**self.set, **own}) if texts else None
        return made, replaces

    def _assigned(self, word: Word, found: re.Match[str]) -> str | None:
        said, _ = word.text(self.value)
        if said is None or found[0].endswith("+=") or not all(p.known for p in word.pieces):
            return None
        return said[found.end() :]

    def _forget(self) -> None:
        """What was run elsewhere may have set anything."""
        self.set = dict.fromkeys((*self.env, *self.set))


def _lasts(words: Sequence[Word]) -> bool:
    """Whether a command never ends."""
    return words[0].plain == "sleep" and words[-1].plain.startswith("inf")
