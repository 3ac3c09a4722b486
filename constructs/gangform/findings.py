"""What can be wrong, as data: a code, a place, what was seen, and what to write instead.

    GangformError
    ├── InputError        one or more findings of severity `breaks`; nothing was made
    └── EnvironmentFault  the machine is not able: no Node, a folder that cannot be written

A finding names a *logical* place (an input's path, or an object and a path in it). File, line and column are joined
at the end, from the spans that the reader kept, by whoever prints it. A code is declared beside the check that
raises it, and `CODES` makes the documented table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and list indexes from the root of an input or an object."""


class Severity(StrEnum):
    """How bad a finding is. One scale everywhere: error, warning, note."""

    BREAKS = "breaks"
    """Does not start, never serves, or does not do what it is there for: refused, nothing is written."""
    DEGRADES = "degrades"
    """Works, but loses capacity, safety or time: emitted, and said."""
    STYLE = "style"
    """Worth a remark."""

    @property
    def word(self) -> str:
        """What a report calls it: `error`, `warning` or `note`."""
        return {"breaks": "error", "degrades": "warning", "style": "note"}[self.value]


class Code(NamedTuple):
    """A kind of fault. Declared beside the check that raises it; its id never changes."""

    id: str
    """Kebab-case: `tensor-does-not-divide-heads`."""
    title: str
    """One sentence, shown by `gangform explain CODE`."""
    severity: Severity
    source: str
    """Where the rule comes from: `engines §1.2`, `lab E4`, or a field of the design."""


CODES: dict[str, Code] = {}
"""Every code declared so far, by id. Complete once every module that declares one is imported."""


def declare(id: str, title: str, severity: Severity, source: str) -> Code:
    """Declare a kind of fault, once.

    Raises:
        ValueError: The id is already taken.
    """
    if id in CODES:
        raise ValueError(f"code `{id}` is declared twice")
    CODES[id] = Code(id, title, severity, source)
    return CODES[id]


class InputPath(NamedTuple):
    """A place in the inputs: `("servings", "r1", "parallelism", "tensor")`. Entries go by name where they have one."""

    path: Path


class DocumentPath(NamedTuple):
    """A place in an object: its kind, namespace and name, and the path of the field."""

    kind: str
    namespace: str
    name: str
    path: Path


class Finding(NamedTuple):
    """One fault at one place."""

    code: Code
    at: InputPath | DocumentPath
    what: str
    """The rule with both values and units. No full stop on one sentence."""
    fix: str
    """An imperative with a concrete value."""
    seen: Mapping[str, str] = MappingProxyType({})
    """The values, for `-o json`."""

    @property
    def breaks(self) -> bool:
        """Whether nothing may be written while it stands."""
        return self.code.severity is Severity.BREAKS

    def __reduce__(self) -> tuple[Callable[..., "Finding"], tuple[object, ...]]:
        """How it goes to another process of this gangform: with the id of its code, and a map that can go."""
        return _received, (self.code.id, self.at, self.what, self.fix, dict(self.seen))

    def sort_key(self) -> tuple[str, tuple[str, ...], str, str]:
        """By place, then code, so that reports are stable."""
        at = self.at
        if isinstance(at, InputPath):
            return ("", tuple(map(_sortable, at.path)), self.code.id, self.what)
        place = (at.kind, at.namespace, at.name, *map(_sortable, at.path))
        return ("document", place, self.code.id, self.what)


def _received(
    code: str, at: InputPath | DocumentPath, what: str, fix: str, seen: Mapping[str, str]
) -> Finding:
    return Finding(CODES[code], at, what, fix, seen)


def _sortable(part: str | int) -> str:
    return f"{part:08d}" if isinstance(part, int) else part


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sorted by place, then code; what was said twice is said once."""
    unique = {finding.sort_key(): finding for finding in findings}
    return tuple(unique[key] for key in sorted(unique))


def show_path(path: Path) -> str:
    """`spec.template.containers[0].image`; a key with dots is put in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("-", "").replace("_", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def counted(number: int, noun: str) -> str:
    """A number with what it counts, in messages and reports: `1 worker`, `2 workers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(names: Sequence[object], most: int) -> str:
    """Names in a line, of many only the first: `a, b, c and 4 more`."""
    rest = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {rest} more" if rest > 0 else "")


def either(words: Sequence[str], last: str = "or") -> str:
    """Words as a sentence lists them: `a`, `a or b`, `a, b or c`."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


class GangformError(Exception):
    """The root of all errors that gangform raises on purpose."""


class InputError(GangformError):
    """Inputs that no bundle can be made from. Carries every finding of the stage, not only the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Keep the findings, sorted."""
        self.findings = ordered(findings)
        super().__init__("\n".join(brief(finding) for finding in self.findings))


class EnvironmentFault(GangformError):
    """The machine cannot do it: no Node, a folder that cannot be written. The message says what to do."""


def brief(finding: Finding) -> str:
    """A finding without its file: for exceptions and for construct validation."""
    at = finding.at
    place = (
        show_path(at.path)
        if isinstance(at, InputPath)
        else f"{at.kind}/{at.name} {show_path(at.path)}".rstrip()
    )
    word = finding.code.severity.word
    return f"{word}[{finding.code.id}]: {finding.what}\n  --> {place}\n  fix: {finding.fix}"


class Prerequisite(NamedTuple):
    """Something that must be there before a bundle works, and that no manifest of ours can make."""

    what: str
    """`Secret llm/hub-token with the key token`."""
    check: str
    """A command that shows whether it is there."""
    without: str
    """What happens, silently, where it is missing."""
