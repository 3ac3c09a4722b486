"""Findings that a comment hides, and comments that are wrong or hide nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from gangform.documents.places import Span
from gangform.findings import CODES, Finding, InputPath, Path, Severity, declare
from gangform.lint.comments import Comment
from gangform.lint.objects import Content, Fault, Object

NO_REASON = declare(
    "ignore-without-reason",
    "A comment hides a finding and does not say why it is meant",
    Severity.STYLE,
    "design §6: lint",
)
UNUSED = declare(
    "ignore-unused",
    "A comment hides nothing: the finding is gone, or stands elsewhere",
    Severity.STYLE,
    "design §6: lint",
)
UNKNOWN = declare(
    "ignore-unknown-code",
    "A comment names no code, or one that does not exist",
    Severity.STYLE,
    "design §6: lint",
)

Place = tuple[int, Path]
"""An object, by identity, and a path in it."""

Use = tuple[str, Comment, str]
"""File, comment, and a code that was hidden by it."""


class Known:
    """The comments of all texts. Remembers in `used` which of them were of use."""

    def __init__(self, contents: Sequence[Content]) -> None:
        """Find what each comment is about."""
        self._lines: defaultdict[tuple[str, int], list[Comment]] = defaultdict(list)
        self._inside: defaultdict[int, list[tuple[Path, Comment]]] = defaultdict(list)
        self._all: list[tuple[str, Comment]] = []
        self.used: set[Use] = set()
        for content in contents:
            file = content.text.file
            for comment in content.comments:
                self._all.append((file, comment))
                self._lines[file, comment.about].append(comment)
                if comment.inside:
                    for each in content.objects:
                        path = each.source.places.beginning(comment.about)
                        if path is not None:
                            self._inside[id(each)].append((path, comment))

    def hides(self, code: str, span: Span, of: Object | None = None, path: Path = ()) -> bool:
        """Whether a comment is about a finding at a place, and names its code."""
        about = list(self._lines.get((span.file, span.line), ()))
        if of is not None:
            about += [
                comment
                for start, comment in self._inside.get(id(of), ())
                if path[: len(start)] == start
            ]
        naming = [comment for comment in about if code in comment.codes]
        self.used.update((span.file, comment, code) for comment in naming)
        return bool(naming)

    def faults(self, could: Callable[[str], bool]) -> Iterator[Fault]:
        """What is wrong with the comments themselves.

        Args:
            could: Whether a code might have been found at all, with what is known: else its comment may be of use.
        """
        for file, comment in self._all:
            place = Span(file, comment.line, comment.column)
            if not comment.codes:
                yield _fault(
                    UNKNOWN.id,
                    "the comment names no code",
                    "name what it hides: `# gangform: ignore[CODE] reason`",
                    place,
                )
            elif not comment.reason:
                yield _fault(
                    NO_REASON.id,
                    f"no reason is given for hiding {', '.join(comment.codes)}",
                    "write after the bracket why it is meant",
                    place,
                )
            for code in comment.codes:
                if code not in CODES:
                    yield _fault(UNKNOWN.id, f"there is no code `{code}`", _meant(code), place)
                elif (file, comment, code) not in self.used and could(code):
                    what = f"{code} is not found on line {comment.about}"
                    what += " or inside of what begins there" if comment.inside else ""
                    fix = "remove the comment, or put it where the finding stands"
                    yield _fault(UNUSED.id, what, fix, place)


def _meant(code: str) -> str:
    from gangform.inputs.nearest import nearest

    near = nearest(code, CODES)
    return f"did you mean {near[0]}?" if near else "`gangform explain` lists all codes"


def _fault(code: str, what: str, fix: str, span: Span) -> Fault:
    return Fault(Finding(code=CODES[code], at=InputPath(()), what=what, fix=fix), span)
