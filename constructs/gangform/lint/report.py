"""Manifests → findings, each where its field stands.

Reading and judging are shared out over processes where there is much of it. The order in which findings are joined is
that of the texts and sets, so the report does not depend on who found what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gangform.lint.given import Beside, unused
from gangform.lint.judging import Failed, Judging, Located
from gangform.lint.known import Known
from gangform.lint.kustomizations import MAY_BE_CHANGED, Kustomization, unbuilt, unfinished
from gangform.lint.objects import Content, Fault, chart, content, pieces, read_piece
from gangform.lint.sets import sets
from gangform.lint.sources import Found, Text
from gangform.processes import share
from gangform.rules.rule import load


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


def lint(found: Found, given: Beside, processes: int = 1) -> Report:
    """Judge everything that was found.

    Args:
        found: What was found.
        given: What is known beside it.
        processes: How many may work on it. The report is the same.
    """
    if sum(len(text.content) for text in found.texts) < _WORTH_SHARING:
        processes = 1
    contents = _read(found.texts, processes)
    rules = load()
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
    judging = Judging(apart, given, known)
    for findings, used, broken in share(judging.judge, judging.parts, processes):
        located += _finished(findings, changed)
        known.used |= used
        for each in broken:
            failed.setdefault(each.code, each)
    offered = given.context.offers()
    located += map(
        _whole, known.faults(lambda code: code not in rules or rules[code].applies(offered))
    )
    unique = {each.sort_key(): each for each in located}
    return Report(
        findings=tuple(unique[key] for key in sorted(unique)),
        failed=tuple(failed.values()),
        objects=sum(len(content.objects) for content in contents),
        files=sum(bool(content.objects) for content in contents),
        others=found.passed_over + sum(content.others for content in contents),
        unused=tuple(unused(given, judging.keys)),
    )


_WORTH_SHARING = 100_000
"""Bytes. Those of fewer are judged before another process has begun."""


def _read(texts: Sequence[Text], processes: int) -> list[Content]:
    """What the texts hold. The rules are imported while others have begun."""
    parts = [pieces(text) for text in texts]
    flat = [piece for each in parts for piece in each]
    readings = iter(share(read_piece, flat, processes, first=load))
    return [
        content(text, each, islice(readings, len(each)))
        for text, each in zip(texts, parts, strict=True)
    ]


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
