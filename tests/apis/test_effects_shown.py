"""Every row of the tables of effects is tried on a control plane, or is named here with the reason why it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from tests.cluster.changes import Trial

from gangform.apis.consequences import TABLES
from gangform.apis.effects import Effect, show
from gangform.apis.versions import Evidence

MODULES = (
    "effects",
    "paced_effects",
    "beside_effects",
    "kueue_effects",
    "foundation_effects",
    "volcano_effects",
)
_LATER = "no release that Go modules give has such a field"
_KUEUE = "the lab has Kueue 0.17"
_KEDA = "the lab has KEDA's definitions and no operator of it"
NOT_SHOWN = {
    "LeaderWorkerSet spec.leaderWorkerTemplate.leaderTemplate.spec.resources refused": _KUEUE,
    "LeaderWorkerSet spec.leaderWorkerTemplate.workerTemplate.spec.resources refused": _KUEUE,
    "LeaderWorkerSet spec.leaderWorkerTemplate.size refused": _KUEUE,
    "LeaderWorkerSet everything else none": _LATER,
    "DisaggregatedSet spec.placementPolicy none": _LATER,
    "DisaggregatedSet everything else none": _LATER,
    "Topology spec.levels in-place": _KUEUE,
    "Topology everything else in-place": _LATER,
    "ResourceFlavor spec refused": _KUEUE,
    "ScaledObject metadata none": _KEDA,
    "ScaledObject spec.minReplicaCount in-place": _KEDA,
    "ScaledObject spec.maxReplicaCount in-place": _KEDA,
    "ScaledObject everything else in-place": _KEDA,
}
NOBODY_ACTS = ("NetworkPolicy", "ServiceAccount", "PodMonitor", "PrometheusRule")
"""Kinds of which it is shown that no pod is touched, and nobody here does what they say."""


class Row(NamedTuple):
    """A row of the table of a kind."""

    kind: str
    effect: Effect

    def __str__(self) -> str:
        return f"{self.kind} {show(self.effect.field)} {self.effect.outcome}"


def rows() -> Iterator[Row]:
    for table in TABLES.values():
        for effect in table.rows:
            yield Row(table.kind, effect)


def tried() -> set[Row]:
    """The rows that some trial of a control plane is expected to bear out."""
    found: list[Trial] = []
    for name in MODULES:
        module = import_module(f"tests.cluster.test_{name}")
        found += module.TRIALS
    return {Row(one.case.kind, effect) for one in found for effect in one.rows}


def test_every_row_is_shown_or_it_is_said_why_not() -> None:
    shown = tried()
    assert {str(row) for row in rows() if row not in shown} == set(NOT_SHOWN)


def test_what_is_shown_is_graded_so() -> None:
    shown = tried()
    wrong = [
        str(row)
        for row in rows()
        if row in shown and row.kind not in NOBODY_ACTS and row.effect.evidence is not Evidence.LAB
    ]
    assert wrong == []
