"""Manifests → findings, each where its field stands.

Sets are judged one by one. A rule that fails on an object it was not made for takes no other rule with it: what
failed is kept apart, for whoever prints the findings to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, key_of
from gangform.documents.places import Span
from gangform.findings import Finding
from gangform.lint.given import Beside, context_of, near, unused
from gangform.lint.known import Known
from gangform.lint.kustomizations import MAY_BE_CHANGED, Kustomization, unbuilt, unfinished
from gangform.lint.objects import Content, Fault, Object, chart, named_path, read
from gangform.lint.sets import documents, sets
from gangform.lint.sources import Found
from gangform.rules.rule import Context, asked, load


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


class Report(NamedTuple):
    """Everything that was found."""

    findings: tuple[Located, ...]
    failed: tuple[Failed, ...]
    objects: int
    files: int
    """Files with objects."""
    others: int
    """Files and documents that are no manifests."""
    unused: tuple[str, ...] = ()
    """Workloads whose cold start was given and that were not judged."""


def lint(found: Found, given: Beside) -> Report:
    """Judge everything that was found."""
    contents = [read(each) for each in found.texts]
    known = Known(contents)
    failed: dict[str, Failed] = {}
    located = [_whole(fault) for content in contents for fault in content.faults]
    located += map(_whole, _of_kustomizations(found, contents))
    located = [each for each in located if not known.hides(each.finding.code.id, each.span)]
    located += [_whole(chart(file)) for file in found.charts]
    apart = sets(contents)
    if len(apart) > 1:
        # What one set lacks may stand in another, and belong to it after all.
        given = given._replace(context=given.context._replace(complete=False))
    changed = unfinished(found.kustomizations)
    judged: set[Key] = set()
    for objects in apart:
        own, made = documents(objects)
        judged |= {document.key for document, _ in own}
        located += _finished(_judged(own, made, given, known, failed), changed)
    rules = load()
    located += map(
        _whole,
        known.faults(lambda code: code not in rules or rules[code].applies(given.context)),
    )
    unique = {each.sort_key(): each for each in located}
    return Report(
        findings=tuple(unique[key] for key in sorted(unique)),
        failed=tuple(failed.values()),
        objects=sum(len(content.objects) for content in contents),
        files=sum(bool(content.objects) for content in contents),
        others=found.passed_over + sum(content.others for content in contents),
        unused=tuple(unused(given, judged)),
    )


def _of_kustomizations(found: Found, contents: Sequence[Content]) -> Iterator[Fault]:
    files = {Path(content.text.file).resolve() for content in contents if content.objects}
    judged = files | {file.parent for file in files}
    unsaid: list[Kustomization] = []
    below = {path for each in found.kustomizations for path in each.resources}
    for each in found.kustomizations:
        yield from (Fault(*fault) for fault in each.faults)
        # Of those that somebody builds: what they take in is built with them.
        built = Path(each.file).resolve().parent not in below
        if built and each.changes and not judged.isdisjoint(unfinished([each])):
            unsaid.append(each)
    if unsaid:
        yield Fault(*unbuilt(unsaid[0], len(unsaid) - 1))


def _finished(located: Iterable[Located], changed: frozenset[Path]) -> Iterator[Located]:
    """The findings without those that a change of the objects on the way to the cluster may cure."""
    for each in located:
        if each.finding.code.id in MAY_BE_CHANGED and changed:
            file = Path(each.span.file).resolve()
            if file in changed or file.parent in changed:
                continue
        yield each


def _whole(fault: Fault) -> Located:
    return Located(fault.finding, fault.span)


def _judged(
    judged: Sequence[tuple[Document, Object]],
    made: Iterable[Key],
    given: Beside,
    known: Known,
    failed: dict[str, Failed],
) -> Iterator[Located]:
    """The findings of one set, those that a comment hides left out."""
    own = [document for document, _ in judged]
    others = near(given, own)
    context = context_of(given, own, made)
    written = {id(document): each for document, each in judged}
    written |= {id(each.document): each for each in given.objects}
    alone = {
        (id(document), finding.sort_key()) for document, finding in _found(others, context, failed)
    }
    for document, finding in _found([*own, *others], context, failed):
        if (id(document), finding.sort_key()) in alone:
            continue
        each, path = written[id(document)], finding.at.path
        span = each.span(path)
        if known.hides(finding.code.id, span, each, path):
            continue
        key = key_of(each.manifest)
        shown = named_path(each.manifest, path)
        yield Located(finding, span, key.kind, key.namespace, key.name, shown)


def _found(
    documents: Sequence[Document], context: Context, failed: dict[str, Failed]
) -> Iterator[tuple[Document, Finding]]:
    """What the rules say, each with the document that it is about."""
    if not documents:
        return
    index = Documents(documents)
    for rule, subject in asked(index, context):
        try:
            yield from rule.found(subject, index, context)
        except Exception as error:
            failed.setdefault(rule.code.id, Failed(rule.code.id, subject, error))
