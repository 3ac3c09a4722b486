"""Whether what was measured is still what runs: the figures of a group hold until something under them moves.

Nothing is emitted by it. A difference is worth a remark and no more: a patch release rarely changes a rate, and often
enough does that nobody should quote the old figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gangform.engines.engine import Shape
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Pool
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.qualified import Qualified
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.plan.shape import lay

NOT_REMEASURED = declare(
    "not-re-measured",
    "What a group was measured with is not what is declared: its figures are of something else",
    Severity.STYLE,
    "design §3 Serving",
)


class Difference(NamedTuple):
    """One thing that is not what it was."""

    what: str
    measured: str
    declared: str

    def __str__(self) -> str:
        """As it is said: `engine 0.32.0, now 0.33.0`."""
        return f"{self.what} {self.measured}, now {self.declared}"


class QualificationPlan(NamedTuple):
    """A measurement beside what is declared."""

    date: str
    differences: tuple[Difference, ...]
    unknown: tuple[str, ...]
    """What was noted and is declared nowhere, so that nobody can compare it."""
    rate: int | None
    """Output tokens a second of one group, as measured."""
    highest_rate: int | None
    """The same of all groups."""

    @property
    def holds(self) -> bool:
        """Whether nothing that was noted has changed."""
        return not self.differences


@formula("rate of a group x groups", source="design §3 Serving: qualified")
def highest_rate(rate: int | None, groups: int) -> int | None:
    """Output tokens a second of all groups."""
    return None if rate is None else rate * groups


def derive(
    serving: Serving, shape: Shape, hardware: HardwareShape, pool: Pool
) -> QualificationPlan | None:
    """What became of a measurement; `None` where there is none."""
    asked = serving.qualified
    if asked is None:
        return None
    pairs = list(_pairs(asked, serving, shape, hardware, pool))
    return QualificationPlan(
        date=asked.date,
        differences=tuple(
            Difference(what, measured, declared)
            for what, measured, declared in pairs
            if declared is not None and not _alike(measured, declared)
        ),
        unknown=tuple(what for what, _, declared in pairs if declared is None),
        rate=asked.tokens_per_second,
        highest_rate=highest_rate(asked.tokens_per_second, serving.highest_groups),
    )


def _pairs(
    asked: Qualified, serving: Serving, shape: Shape, hardware: HardwareShape, pool: Pool
) -> Iterator[tuple[str, str, str | None]]:
    """What was noted: its name, the value then, and the value that is declared now."""
    noted: tuple[tuple[str, str | None, str | None], ...] = (
        ("engine", asked.engine, serving.engine.version),
        ("driver", asked.driver, pool.driver),
        ("NCCL", asked.nccl, serving.engine.nccl),
        ("hardware", asked.hardware, hardware.name),
        ("context", str(asked.context or "") or None, str(serving.context)),
    )
    for what, measured, declared in noted:
        if measured is not None:
            yield what, measured, declared
    if asked.parallelism is not None and lay(asked.parallelism, hardware) != shape:
        now = serving.parallelism
        yield "parallelism", asked.parallelism.written, now if now == "auto" else now.written


def _alike(measured: str, declared: str) -> bool:
    """Whether two versions are one: `0.33` is `0.33.0`, and a suffix is another build."""
    return _plain(measured) == _plain(declared)


def _plain(version: str) -> str:
    parts = version.strip().removeprefix("v").split(".")
    while parts[1:] and parts[-1] == "0":
        parts.pop()
    return ".".join(parts)


def check(plan: QualificationPlan | None, at: Path) -> Iterator[Finding]:
    """That figures are of something else."""
    if plan is not None and plan.differences:
        yield Finding(
            code=NOT_REMEASURED,
            at=InputPath((*at, "qualified")),
            what=f"measured on {plan.date}, not re-measured: {'; '.join(map(str, plan.differences))}",
            fix="measure again and write it down, or remove `qualified`",
            seen={one.what: f"{one.measured}, now {one.declared}" for one in plan.differences},
        )
