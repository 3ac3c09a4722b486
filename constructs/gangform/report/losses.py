"""What a loss or a drain takes, in words: `gangform plan drain` and the page say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gangform.findings import counted

if TYPE_CHECKING:
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.loss import Loss, Row

COUNTED_FROM = (
    "Counted from the deletion of its pods: a node that never answers again holds them until somebody "
    "forces it."
)
"""What durations begin with."""
COLUMNS = ("what", "serving", "groups", "if it is lost", "a drain")


def by_node_autoscaler(made: Iterable[tuple[ClusterPlan, Sequence[Row]]]) -> Iterator[str]:
    """What declared node autoscalers do by themselves with the nodes of these servings, each sentence once."""
    said: dict[str, list[str]] = {}
    for plan, rows in made:
        touched = {loss.serving for row in rows for loss in row.losses}
        for one in plan.servings:
            if one.name in touched and plan.cluster.node_autoscaler not in ("none", "unknown"):
                said.setdefault(one.disruption.autoscaler, []).append(one.name)
    for text, names in said.items():
        yield f"{', '.join(names)}: {text}."


def places(names: Sequence[str]) -> str:
    """Places that cost the same, in one cell."""
    if len(names) > 2:
        return f"{names[0]} … {names[-1]} ({len(names)})"
    return ", ".join(names)


def numbers(groups: Sequence[int]) -> str:
    """Groups in the order given; four and more that follow each other as `0 to 19`."""
    parts: list[str] = []
    for _, run in groupby(enumerate(groups), lambda pair: pair[1] - pair[0]):
        here = [str(group) for _, group in run]
        parts += here if len(here) < 4 else [f"{here[0]} to {here[-1]}"]
    return ", ".join(parts)


def _called(groups: Sequence[int]) -> str:
    return f"{'group' if len(groups) == 1 else 'groups'} {numbers(groups)}"


def cells(loss: Loss | None) -> tuple[str, str, str, str]:
    """Everything behind the place; `None`: nothing lies there."""
    if loss is None:
        return ("none", "", "nothing", "nothing")
    share = f"{100 * len(loss.groups) // loss.of} %"
    groups = f"{_called(loss.groups)} ({len(loss.groups)} of {loss.of}, {share})"
    back = f"all back {loss.back} later" if loss.back is not None else _homeless(loss)
    if loss.broken:
        does = "does" if len(loss.broken) == 1 else "do"
        back = f"{_called(loss.broken)} {does} not serve now; the others back {loss.back} later"
    return (loss.serving, groups, f"{loss.lost} of {loss.of} serve; {back}", _drain(loss))


def _homeless(loss: Loss) -> str:
    some = (
        f"{loss.home} of {counted(len(loss.groups), 'group')} find"
        if loss.home
        else "no group finds"
    )
    return f"{some} a whole place elsewhere"


def _drain(loss: Loss) -> str:
    refused = [one for one in loss.drain if one.answer == "refused"]
    free = [one for one in loss.drain if one.answer != "refused"]
    all_free = len(free)
    if loss.home is not None and any(one.answer == "evicted in turn" for one in free):
        # The first that finds no whole place elsewhere keeps the budget from letting the next go.
        free = free[: loss.home + 1]
    parts = []
    if free:
        turns = any(one.answer == "evicted in turn" for one in free)
        how = "one after another" if turns and len(free) > 1 else ""
        if missing := [group for group in loss.broken if turns and group not in loss.groups]:
            how += f" once {_called(missing)} {'serves' if len(missing) == 1 else 'serve'} again"
        parts.append(
            f"takes {_called([one.group for one in free])} {how.strip() or 'at once'}, "
            f"{loss.floor} of {loss.of} keep serving"
        )
    if refused:
        names = tuple(dict.fromkeys(one.budget for one in refused))
        parts.append(f"is refused by {places(names)} while the group is healthy, and never ends")
    elif loss.drained is None and loss.back is not None:
        parts.append("how long is not known")
    elif loss.drained is not None:
        parts.append(f"all back after {loss.drained}")
    else:
        stops = "stops: " if len(free) < all_free else ""
        parts.append(f"{stops}{_homeless(loss)}")
    return "; ".join(parts)
