"""The toy model of article A, which replaces groups or pods one at a time and knows no controller.

It shows why a group is the unit: pods replaced one by one inside a serving group leave two revisions in it. What
LeaderWorkerSet does is not this; that is what the simulation plays.
"""

from __future__ import annotations

from typing import NamedTuple


class Toy(NamedTuple):
    peak: int
    """GPUs at the height."""
    mixed: int
    """Looks at a serving group that found two revisions in it."""
    stalled: bool


def by_groups(groups: int, pods: int, gpus: int, *, spare: int) -> Toy:
    """A whole new group beside the old ones, then a cut over to it."""
    steady, group = groups * pods * gpus, pods * gpus
    if spare < group:
        return Toy(steady, 0, True)
    serving = [{"old"} for _ in range(groups)]
    mixed = 0
    for index in range(groups):
        serving[index] = {"new"}
        mixed += sum(len(revisions) > 1 for revisions in serving)
    return Toy(steady + group, mixed, False)


def by_pods(groups: int, pods: int, gpus: int, *, spare: int) -> Toy:
    """One pod after another inside a group that goes on serving."""
    steady = groups * pods * gpus
    if spare < gpus:
        return Toy(steady, 0, True)
    serving = [["old"] * pods for _ in range(groups)]
    mixed = 0
    for group in serving:
        for index in range(pods):
            group[index] = "new"
            mixed += sum(len(set(one)) > 1 for one in serving)
    return Toy(steady + gpus, mixed, False)
