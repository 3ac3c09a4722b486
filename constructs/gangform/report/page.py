"""The page: everything that people ask of a plan and its bundle, in one file that needs nothing else.

Sections are made here as plain records and laid out by `templates/report.html.j2`. Every text of a user is escaped.
There is no script, no date and no name of a machine in it: the same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from gangform.bundle import Bundle
from gangform.findings import Finding, InputPath, Prerequisite, counted
from gangform.plan.capacity import Capacity
from gangform.plan.cluster import ClusterPlan
from gangform.plan.loss import table
from gangform.plan.placement import PoolPlan
from gangform.plan.serving import ServingPlan
from gangform.report import losses, shapes, timeline
from gangform.report.anchors import Anchors
from gangform.report.drawing import Numbers, patterns, swatch
from gangform.report.memory import Bar, bars
from gangform.report.objects import File, files
from gangform.report.pool_map import Map, pool_map
from gangform.report.tables import Cell, Grid

Facts = Sequence[tuple[str, ...]]
"""Lines of a label and a text; a line without a label goes on with the one before."""

OURS = "<!-- gangform report -->"
"""What stands near the beginning of every page, so that no other file is replaced by one."""
MOST_PLACES = 2000
"""Nodes of a cluster up to which every loss is looked at; of more the page names the command that does."""

_NAMED = 3
"""Clusters that the title names."""
_MARKS: Mapping[str, str] = {"fits": "✓", "tight": "≈", "does not fit": "✕", "unknown": "?"}
"""A sign beside the colour of a verdict."""


class ServingPart(NamedTuple):
    """A serving that was asked for."""

    plan: ServingPlan
    facts: Facts
    """What `gangform plan` says of it."""


class ClusterPart(NamedTuple):
    """A cluster with the servings that were asked for."""

    plan: ClusterPlan
    servings: tuple[ServingPart, ...]
    facts: Facts
    prerequisites: tuple[Prerequisite, ...]
    bundles: tuple[Bundle, ...]
    """None where something breaks: then nothing would be written."""


class Said(NamedTuple):
    """A finding, and where it stands: file, line and path."""

    finding: Finding
    where: str


class Subject(NamedTuple):
    """What the page is about."""

    clusters: tuple[ClusterPart, ...]
    findings: tuple[Said, ...]
    serving_columns: Mapping[str, Callable[[ServingPlan], str]]
    """What a row says of a serving, and of a pool, in order."""
    pool_columns: Mapping[str, Callable[[PoolPlan, Capacity], str]]


# ── what the template reads ──────────────────────────────────────────────────────────────────────


class ServingView(NamedTuple):
    """A serving, drawn."""

    anchor: str
    name: str
    facts: Facts
    verdict: Cell
    bars: tuple[Bar, ...]
    rollout: timeline.Drawn
    shapes: shapes.View | None
    """`None` where nobody asked for a search."""


class PoolView(NamedTuple):
    """A pool, drawn."""

    anchor: str
    name: str
    map: Map
    unplaced: tuple[str, ...]
    """Groups that find no whole place, in words."""


class ClusterView(NamedTuple):
    """A cluster, drawn."""

    anchor: str
    name: str
    facts: Facts
    pools: tuple[PoolView, ...]
    losses: Grid
    servings: tuple[ServingView, ...]
    prerequisites: Grid
    files: tuple[File, ...]
    objects: str
    """The anchor of the files."""
    without: str
    """What stands there instead of files."""


def page(subject: Subject) -> str:
    """The whole file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gangform.report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["swatch"] = swatch
    maker = _Maker(subject)
    return environment.get_template("report.html.j2").render(
        title=_title(subject),
        ours=Markup(OURS),
        patterns=patterns(),
        verdicts=maker.verdicts(),
        pools=maker.pools(),
        counted_from=losses.COUNTED_FROM,
        findings=maker.findings(),
        clusters=[maker.cluster(part) for part in subject.clusters],
    )


def _title(subject: Subject) -> str:
    names = [part.plan.cluster.name for part in subject.clusters]
    return ", ".join(names) if len(names) <= _NAMED else counted(len(names), "cluster")


class _Maker:
    """Makes the records of one page."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.anchors, self.numbers = subject, Anchors(), Numbers()

    # ── of all clusters ──────────────────────────────────────────────────────────────────────────

    def verdicts(self) -> Grid:
        columns = self.subject.serving_columns
        return Grid(
            title="Verdicts",
            anchor=self.anchors.of("verdicts"),
            columns=("serving", "cluster", *columns),
            rows=tuple(
                (
                    Cell("serving", one.plan.name, self._serving(one.plan)),
                    self._cluster(part.plan),
                    *(self._of_serving(name, one.plan) for name in columns),
                )
                for part in self.subject.clusters
                for one in part.servings
            ),
        )

    def _of_serving(self, column: str, plan: ServingPlan) -> Cell:
        text = self.subject.serving_columns[column](plan)
        if text == plan.lead.memory.verdict:
            return _verdict(plan, column)
        return Cell(column, text)

    def pools(self) -> Grid:
        columns = self.subject.pool_columns
        return Grid(
            title="Pools",
            anchor=self.anchors.of("pools"),
            columns=("pool", "cluster", *columns),
            rows=tuple(
                (
                    Cell("pool", pool.pool, self._pool(part.plan, pool)),
                    self._cluster(part.plan),
                    *(Cell(name, say(pool, room)) for name, say in columns.items()),
                )
                for part in self.subject.clusters
                for pool, room in zip(part.plan.pools, part.plan.capacity, strict=True)
            ),
        )

    def findings(self) -> Grid:
        return Grid(
            title="Findings",
            anchor=self.anchors.of("findings"),
            columns=("finding", "where", "what", "fix"),
            rows=tuple(self._finding(one) for one in self.subject.findings),
        )

    def _finding(self, said: Said) -> tuple[Cell, ...]:
        code = said.finding.code
        return (
            Cell("finding", f"{code.severity.word}: {code.id}", kind=code.severity.word),
            Cell("where", said.where, self._place(said.finding)),
            Cell("what", said.finding.what),
            Cell("fix", said.finding.fix),
        )

    def _place(self, finding: Finding) -> str:
        """The serving that a finding is about."""
        at = finding.at
        if isinstance(at, InputPath) and at.path[:1] == ("servings",):
            for part in self.subject.clusters:
                for one in part.servings:
                    if at.path[1:2] == (one.plan.name,):
                        return self._serving(one.plan)
        return ""

    def _serving(self, plan: ServingPlan) -> str:
        return self.anchors.of("serving", plan.cluster, plan.name)

    def _pool(self, plan: ClusterPlan, pool: PoolPlan) -> str:
        return self.anchors.of("pool", plan.cluster.name, pool.pool)

    def _cluster(self, plan: ClusterPlan) -> Cell:
        name = plan.cluster.name
        return Cell("cluster", name, self.anchors.of("cluster", name))

    # ── of one ───────────────────────────────────────────────────────────────────────────────────

    def cluster(self, part: ClusterPart) -> ClusterView:
        plan = part.plan
        name = plan.cluster.name
        return ClusterView(
            anchor=self.anchors.of("cluster", name),
            name=name,
            facts=part.facts,
            pools=tuple(self._pool_view(plan, pool) for pool in plan.pools),
            losses=self._losses(part),
            servings=tuple(self._serving_view(one, plan) for one in part.servings),
            prerequisites=Grid(
                title="Prerequisites",
                kind="needs",
                anchor=self.anchors.of("prerequisites", name),
                columns=("what", "check", "without"),
                rows=tuple(
                    (
                        Cell("what", one.what),
                        Cell("check", one.check, kind="code"),
                        Cell("without", one.without),
                    )
                    for one in part.prerequisites
                ),
            ),
            files=files(name, part.bundles, self.anchors),
            objects=self.anchors.of("objects", name),
            without="Nothing would be written: see the findings."
            if any(one.finding.breaks for one in self.subject.findings)
            else "none",
        )

    def _serving_view(self, part: ServingPart, cluster: ClusterPlan) -> ServingView:
        plan = part.plan
        return ServingView(
            anchor=self._serving(plan),
            name=plan.name,
            facts=part.facts,
            verdict=_verdict(plan, "memory"),
            bars=bars(plan.lead.memory, self.numbers),
            rollout=timeline.drawn(plan, cluster, self.numbers),
            shapes=shapes.view(plan, plan.search) if plan.search else None,
        )

    def _pool_view(self, plan: ClusterPlan, pool: PoolPlan) -> PoolView:
        return PoolView(
            anchor=self._pool(plan, pool),
            name=pool.pool,
            map=pool_map(pool, plan.servings, self.numbers),
            unplaced=tuple(_unplaced(pool)),
        )

    def _losses(self, part: ClusterPart) -> Grid:
        plan = part.plan
        nodes = sum(domain.nodes for pool in plan.pools for domain in pool.domains)
        empty = "no group is on the map"
        if nodes > MOST_PLACES:
            empty = f"{nodes} nodes are too many for one table: `gangform plan drain NODE` says it"
        return Grid(
            title="What is lost with it",
            anchor=self.anchors.of("losses", plan.cluster.name),
            columns=losses.COLUMNS,
            rows=tuple(self._loss_rows(part)) if nodes <= MOST_PLACES else (),
            empty=empty,
        )

    def _loss_rows(self, part: ClusterPart) -> Iterator[tuple[Cell, ...]]:
        wanted = {one.plan.name: one.plan for one in part.servings}
        for row in table(part.plan):
            where = losses.places(row.names)
            for loss in row.losses:
                if loss.serving in wanted:
                    texts = (where, *losses.cells(loss))
                    cells = [Cell(*pair) for pair in zip(losses.COLUMNS, texts, strict=True)]
                    cells[1] = cells[1]._replace(anchor=self._serving(wanted[loss.serving]))
                    yield tuple(cells)


def _unplaced(pool: PoolPlan) -> Iterator[str]:
    for packing in pool.packings:
        total = packing.wanted + packing.extra
        if packing.placed < total:
            extra = ", surge and spare included," if packing.extra else ""
            yield (
                f"{total - packing.placed} of {counted(total, 'group')} of {packing.workload}{extra} find no whole "
                f"domain of {packing.level}"
            )


def _verdict(plan: ServingPlan, column: str) -> Cell:
    verdict = plan.lead.memory.verdict
    return Cell(column, verdict, kind=verdict.replace(" ", "-"), mark=_MARKS[verdict])
