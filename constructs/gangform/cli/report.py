"""`gangform report`: one page about the fleet, for people, that needs no network and no program beside a browser."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gangform.cli.files import write_text
from gangform.cli.findings import placed, refused, summary, where
from gangform.cli.selection import Selection, select
from gangform.cli.show import chosen_servings, cluster_rows, prerequisites, serving_rows
from gangform.cli.terminal import UsageError, say, say_bytes, tell
from gangform.cli.verdicts import POOL, SERVING
from gangform.findings import Finding, InputError, ordered

if TYPE_CHECKING:
    from gangform.bundle import Bundle
    from gangform.plan.cluster import ClusterPlan
    from gangform.report.page import ClusterPart


def report(arguments: Namespace) -> int:
    """Write the page. Errors do not hide the plan: they stand in the page, and are the exit code."""
    target = None if arguments.to == "-" else _target(arguments.to)
    spans = None
    try:
        from gangform.synth import plan_fleet

        chosen = select(arguments)
        spans = chosen.loaded.spans
        plans = plan_fleet(
            chosen.loaded.fleet, chosen.loaded.library, clusters=chosen.clusters, search=True
        )
    except InputError as error:
        return refused(error, spans)
    from gangform.report.page import Said, Subject, page

    found: list[Finding] = [*chosen.loaded.remarks]
    parts = []
    for plan in plans:
        bundles, said = _bundles(plan)
        found += said
        parts += list(_part(plan, bundles, chosen))
    found = placed(ordered(found), spans)
    text = page(
        Subject(
            clusters=tuple(parts),
            findings=tuple(Said(one, where(one, spans)) for one in found),
            serving_columns=SERVING,
            pool_columns=POOL,
        )
    )
    if target is None:
        say_bytes(text.encode())
    else:
        write_text(target, text, force=True)
        say(f"wrote {arguments.to}")
    if found:
        tell(summary(found))
    return 1 if any(one.breaks for one in found) else 0


def _target(name: str) -> Path:
    """Where the page goes: a new file, or an older page.

    Raises:
        UsageError: Something else lies there.
    """
    from gangform.report.page import OURS

    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder; name a file in it: `--to {path / 'report.html'}`")
    if path.exists() and OURS.encode() not in path.read_bytes()[: 4 * len(OURS)]:
        raise UsageError(f"{name} is there and no report of gangform; name another file")
    return path


def _bundles(plan: ClusterPlan) -> tuple[Sequence[Bundle], Sequence[Finding]]:
    """What would be written, and all that is said of it; nothing where something breaks."""
    from gangform.bundle import judge_bundles
    from gangform.synth import bundles_of

    made, faults = bundles_of(plan)
    found = [*plan.every_finding, *faults]
    if not faults:
        found += judge_bundles(made, plan.cluster)
    return () if any(one.breaks for one in found) else made, found


def _part(plan: ClusterPlan, bundles: Sequence[Bundle], chosen: Selection) -> Iterator[ClusterPart]:
    from gangform.report.page import ClusterPart, ServingPart

    wanted = frozenset(chosen.servings)
    servings = chosen_servings(plan, wanted)
    if wanted and not servings:
        return
    yield ClusterPart(
        plan=plan,
        servings=tuple(
            # The search has a part of the page for itself.
            ServingPart(one, tuple(serving_rows(one._replace(search=None), plan, wide=False)))
            for one in servings
        ),
        facts=tuple(cluster_rows(plan, wide=False)),
        prerequisites=prerequisites(plan, wanted),
        bundles=tuple(one for one in bundles if not wanted or one.name in wanted),
    )
