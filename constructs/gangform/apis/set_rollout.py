"""How LeaderWorkerSet's controller and the StatefulSet of its leaders step through an update.

The arithmetic of `rollingUpdateParameters` and of what it calls, the same from v0.9.0 to the newest source read, and of
the StatefulSet controller at Kubernetes 1.36 (`lws §3`; seen in `lab E2`). Groups are counted, never pods; group *i* is
the *i*-th leader with its workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Strategy(NamedTuple):
    """What the spec of a set says, in whole groups."""

    replicas: int
    surge: int
    unavailable: int
    partition: int = 0
    """Groups below this index keep the old revision."""

    @property
    def most(self) -> int:
        """Groups beyond the wanted ones at most: never more than are wanted."""
        return min(self.surge, self.replicas)

    @property
    def leaders_down(self) -> int:
        """Leaders that its StatefulSet may replace at once, where the cluster reads that field at all."""
        return max(1, self.surge + self.unavailable)


class GroupState(NamedTuple):
    """What the controller knows of a group."""

    ready: bool
    """Leader and every worker; one that is being deleted counts until it is gone."""
    updated: bool
    """The leader and the StatefulSet of its workers exist at the new revision, ready or not."""


class Step(NamedTuple):
    """What the controller writes into the StatefulSet of the leaders."""

    partition: int
    """Leaders from this index on get the new revision."""
    groups: int
    """How many leaders there are, surge groups included."""


def begun(strategy: Strategy) -> Step:
    """The first step: nothing is replaced yet, and surge groups are made."""
    groups = _groups(strategy, strategy.replicas)
    return Step(max(strategy.replicas, strategy.partition), groups)


def continued(strategy: Strategy, now: Step, states: Sequence[GroupState]) -> Step:
    """The next step, from the states of all groups that there should be now.

    The partition only goes down: behind a tail of ready, updated groups, by as many more as may be missing.
    """
    if now == Step(0, strategy.replicas):
        return now
    undone = sum(not (one.ready and one.updated) for one in states[: strategy.replicas])
    tail = 0
    while tail < len(states) and states[-1 - tail].ready and states[-1 - tail].updated:
        tail += 1
    step = strategy.unavailable + now.groups - strategy.replicas
    lowest = max(0, now.groups - tail - step)
    partition = lowest + sum(not one.ready for one in states[:lowest])
    for index in range(min(partition, now.groups - 1), lowest - 1, -1):
        # A group that is broken already, or done, costs nothing.
        if states[index].ready and not states[index].updated:
            break
        partition = index
    lowered = max(min(partition, now.partition), strategy.partition)
    return Step(lowered, _groups(strategy, undone))


def _groups(strategy: Strategy, undone: int) -> int:
    """Surge groups stay while more is undone than they are; then only what may not be missing."""
    if undone > strategy.most:
        return strategy.replicas + strategy.most
    return strategy.replicas + max(0, undone - strategy.unavailable)


class LeaderState(NamedTuple):
    """What the StatefulSet controller knows of a leader."""

    updated: bool
    available: bool
    """Ready, and not being deleted."""
    leaving: bool


def deleted(leaders: Sequence[LeaderState], step: Step, most: int | None) -> tuple[int, ...]:
    """Indexes of the leaders that the StatefulSet controller deletes now to replace them.

    Args:
        leaders: Those that should be there, by index.
        step: What the StatefulSet says.
        most: Its maxUnavailable where the gate MaxUnavailableStatefulSet is on; `None` where it is off, as by default
            at 1.36 (`lab E1`): then one, and none while one above it in line is not available.
    """
    chosen: list[int] = []
    if most is not None:
        most -= sum(not one.available for one in leaders)
    for index in range(len(leaders) - 1, step.partition - 1, -1):
        one = leaders[index]
        if most is not None and len(chosen) >= most:
            break
        if not one.updated and not one.leaving:
            chosen.append(index)
            if most is None:
                break
        elif most is None and not one.available:
            break
    return tuple(chosen)
