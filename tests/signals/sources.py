"""The sources of alerts as their tests see them: each adds series to the normal state, and scenarios.

A source is a module of two functions. `normal` gives the series that its alerts read while nothing is wrong, those of a
neighbour with a prefix name included. `scenarios` gives what may happen to a serving of a form; it sees the normal
state of all sources together, so that "no pod is there" can take away what another source added. The whole list of
firing alerts is compared, whichever source they are of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from tests.signals import (
    admission_scenarios,
    autoscaler_scenarios,
    deployment_scenarios,
    group_scenarios,
    rollout_scenarios,
    room_scenarios,
    state_metrics_scenarios,
)
from tests.signals.scenario import Scenario, Series

from gangform.plan.serving import ServingPlan


class Source(Protocol):
    """A module of scenarios; it gives nothing for a form that it has no alerts on."""

    def normal(self, plan: ServingPlan) -> Series: ...

    def scenarios(self, plan: ServingPlan, normal: Series) -> Mapping[str, Scenario]: ...


SOURCES: Mapping[str, Source] = {
    "groups": group_scenarios,
    "rollouts": rollout_scenarios,
    "room": room_scenarios,
    "deployment": deployment_scenarios,
    "autoscaler": autoscaler_scenarios,
    "admission": admission_scenarios,
    "state metrics": state_metrics_scenarios,
}
"""Every module of scenarios, by a name for its tests."""


class Tried(NamedTuple):
    """What is tried on a serving."""

    normal: Series
    cases: Mapping[str, Scenario]


def tried(plan: ServingPlan) -> Tried:
    """The normal state of a serving and all its scenarios."""
    normal: Series = {}
    for name, source in SOURCES.items():
        for series, values in source.normal(plan).items():
            assert normal.setdefault(series, values) == values, (name, series)
    return Tried(
        normal,
        {
            f"{name}: {case}": scenario
            for name, source in SOURCES.items()
            for case, scenario in source.scenarios(plan, normal).items()
        },
    )
