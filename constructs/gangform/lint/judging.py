"""What the rules say of sets of objects, part by part.

A part is some documents of one set: its findings stand by themselves, so that another process may judge it. A rule that
fails on an object it was not made for takes no other rule with it: what failed is kept apart, for whoever prints the
findings to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, key_of
from gangform.documents.places import Span
from gangform.findings import Finding
from gangform.lint.given import Beside, context_of, near
from gangform.lint.known import Known, Use
from gangform.lint.objects import Object, named_path
from gangform.lint.sets import documents
from gangform.rules.rule import Context, asked


class Located(NamedTuple):
    """A finding at its place."""

    finding: Finding
    span: Span
    kind: str = ""
    """The object's, as written; empty for what is about no object."""
    namespace: str = ""
    name: str = ""
    path: str = ""
    """In the object, entries of containers, variables and volumes by name."""

    def sort_key(self) -> tuple[str, int, int, str, str, str]:
        """By file and place, then code."""
        span, finding = self.span, self.finding
        return (span.file, span.line, span.column, finding.code.id, finding.what, self.path)


class Failed(NamedTuple):
    """A rule that did not survive an object."""

    code: str
    document: Document
    error: Exception


class Part(NamedTuple):
    """Some documents of a set."""

    number: int
    """Which set."""
    begin: int
    end: int
    """From where to where, among those of the set and what was given beside it."""


class Judged(NamedTuple):
    """What there is to say of a part."""

    findings: tuple[Located, ...]
    used: frozenset[Use]
    """Comments that hid something."""
    failed: tuple[Failed, ...]

    def __reduce__(self) -> tuple[type[Judged], tuple[object, ...]]:
        """How it goes to another process. An error does not: it would lose where it was raised.

        Raises:
            TypeError: A rule failed.
        """
        if self.failed:
            raise TypeError("a rule failed, which is said where it can be looked at")
        return Judged, tuple(self)


class _Set(NamedTuple):
    """A set with what is known beside it, indexed."""

    written: Mapping[int, Object]
    """By the identity of the document."""
    context: Context
    all: Documents
    alone: Collection[tuple[int, tuple[str, tuple[str, ...], str, str]]]
    """What is wrong with the objects beside it without it: by document and finding."""
    failed: tuple[Failed, ...]
    """What failed on those."""


class Judging:
    """Sets of objects that are to be judged."""

    def __init__(self, apart: Sequence[Sequence[Object]], given: Beside, known: Known) -> None:
        """Take what each set holds, and cut the large ones into parts."""
        self._given, self._known = given, known
        self._sets: list[tuple[list[tuple[Document, Object]], list[Key], list[Document]]] = []
        self._index: tuple[int, _Set] | None = None
        self.parts: list[Part] = []
        self.keys: set[Key] = set()
        """Those of everything that is judged."""
        for number, objects in enumerate(apart):
            own, made = documents(objects)
            others = near(given, [document for document, _ in own])
            self._sets.append((own, made, others))
            self.keys |= {document.key for document, _ in own}
            count = len(own) + len(others)
            self.parts += [
                Part(number, begin, min(begin + _PART, count)) for begin in range(0, count, _PART)
            ]

    def judge(self, part: Part) -> Judged:
        """The findings of a part, those that a comment hides left out."""
        if self._index is None or self._index[0] != part.number:
            self._index = part.number, self._indexed(part.number)
        found = self._index[1]
        failed = list(found.failed)
        before, self._known.used = self._known.used, set()
        findings = tuple(self._located(found, part, failed))
        used, self._known.used = self._known.used, before
        return Judged(findings, frozenset(used), tuple(failed))

    def _indexed(self, number: int) -> _Set:
        own, made, others = self._sets[number]
        judged = [document for document, _ in own]
        context = context_of(self._given, judged, made)
        written = {id(document): each for document, each in own}
        written |= {id(each.document): each for each in self._given.objects}
        failed: list[Failed] = []
        beside = _found(Documents(others), context, None, failed) if others else ()
        alone = frozenset((id(document), finding.sort_key()) for document, finding in beside)
        return _Set(written, context, Documents([*judged, *others]), alone, tuple(failed))

    def _located(self, found: _Set, part: Part, failed: list[Failed]) -> Iterator[Located]:
        only = None
        if part.end - part.begin < len(found.all.all):
            only = frozenset(id(each) for each in found.all.all[part.begin : part.end])
        for document, finding in _found(found.all, found.context, only, failed):
            if found.alone and (id(document), finding.sort_key()) in found.alone:
                continue
            each, path = found.written[id(document)], finding.at.path
            span = each.span(path)
            if self._known.hides(finding.code.id, span, each, path):
                continue
            key = key_of(each.manifest)
            shown = named_path(each.manifest, path)
            yield Located(finding, span, key.kind, key.namespace, key.name, shown)


_PART = 16
"""Documents. Of a set that is cut, each process makes an index of its own."""


def _found(
    documents: Documents, context: Context, only: Collection[int] | None, failed: list[Failed]
) -> Iterator[tuple[Document, Finding]]:
    """What the rules say, each with the document that it is about."""
    for rule, subjects in asked(documents, context, only):
        for subject in subjects:
            try:
                for fault in rule.check(subject, documents, context):
                    if rule.keeps(subject, fault):
                        yield fault.on or subject, rule.finding(subject, fault)
            except Exception as error:
                failed.append(Failed(rule.code.id, subject, error))
