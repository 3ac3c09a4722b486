"""An update of a LeaderWorkerSet played through: what is bound, asked for and serving from moment to moment.

The controllers' arithmetic is that of `apis.set_rollout`; around it stand pods that take a grace to go and a cold start
to come, and nodes that may be too few. Controllers answer at once and every group takes the same time, so the figures
are those of a calm cluster (`lab E2`). Workers are made with their leader (LeaderCreated).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gangform.apis.kueue import keeps_surge
from gangform.apis.set_rollout import (
    GroupState,
    LeaderState,
    Strategy,
    begun,
    continued,
    deleted,
)
from gangform.plan.timeline import Moment, Rollout, Stall
from gangform.units import Seconds

MOST_GROUPS = 40
"""A rollout of more groups, surge included, is not played through: nobody reads so many steps."""


class World(NamedTuple):
    """What an update meets."""

    size: int
    """Pods a group."""
    room: int | None = None
    """Pods that find a place beyond those of the wanted groups; `None`: as many as are asked for."""
    gang: bool = False
    """A group takes its places whole or not at all."""
    reserved: bool = False
    """A group that is updated in place keeps its places meanwhile, as under Kueue."""
    drops_surge: bool = False
    """Surge groups lose their admission once as many groups count as updated as are wanted, as under Kueue."""
    whole: bool = True
    """Readiness means the whole group; otherwise the leader alone."""
    gate: bool = False
    """The StatefulSets of the cluster read maxUnavailable."""
    grace: Seconds = Seconds(0)
    """From a leader's deletion to its end."""
    worker_grace: Seconds = Seconds(0)
    """From the end of a leader to that of its workers, which the garbage collector deletes."""
    back_off: Seconds = Seconds(0)
    """From the end of the old workers to new ones: the controller tries again with growing pauses."""
    start: Seconds = Seconds(1)
    """From the last node bound to ready."""


@dataclass(slots=True)
class _Pods:
    """A leader, or the workers of a group: pods that were made together."""

    new: bool
    count: int
    made: int
    bound: list[int] = field(default_factory=list)
    """When each found a node, in order."""
    until: int | None = None
    """When they end; `None` while nobody deleted them."""

    def ready(self, now: int, start: int) -> bool:
        if len(self.bound) < self.count:
            return False
        return not self.count or now >= self.bound[-1] + start


@dataclass(slots=True)
class _Group:
    index: int
    leader: _Pods | None = None
    workers: _Pods | None = None
    old: _Pods | None = None
    """Workers of a leader that is gone."""
    workers_from: int = 0
    """When new workers can be made."""
    lost: bool = False
    """Its admission was taken away."""

    def parts(self) -> Iterator[_Pods]:
        for part in (self.leader, self.workers, self.old):
            if part is not None:
                yield part


def simulate(strategy: Strategy, world: World) -> Rollout | None:
    """Play an update of a set whose groups all serve; `None` where there are too many to look at."""
    if strategy.replicas + strategy.most > MOST_GROUPS or strategy.replicas < 1:
        return None
    return _Play(strategy, world).run()


class _Play:
    """One update while it runs."""

    def __init__(self, strategy: Strategy, world: World) -> None:
        self.strategy, self.world = strategy, world
        self.now = 0
        self.step = begun(strategy)
        self.order: list[int] = []
        self.groups: dict[int, _Group] = {}
        past = -int(world.start)
        for index in range(strategy.replicas):
            self.groups[index] = _Group(
                index,
                leader=_Pods(False, 1, past, [past]),
                workers=_Pods(False, world.size - 1, past, [past] * (world.size - 1)),
            )

    def run(self) -> Rollout:
        moments: list[Moment] = []
        end: Seconds | None = None
        while True:
            self._settle()
            moment = self._moment()
            if not moments or moment[1:] != moments[-1][1:]:
                moments.append(moment)
            if end is None and self._done():
                end = Seconds(self.now)
            later = self._next()
            if later is None:
                break
            self.now = later
        stall = None if end is not None else self._stall()
        return Rollout(tuple(moments), tuple(self.order), end, stall)

    # ── one instant ──────────────────────────────────────────────────────────────────────────────

    def _settle(self) -> None:
        """Let every controller answer until none has anything to do."""
        busy = True
        while busy:
            busy = self._end_pods()
            busy |= self._admit()
            after = continued(self.strategy, self.step, self._states())
            busy |= after != self.step
            self.step = after
            busy |= self._leaders()
            busy |= self._workers()
            busy |= self._bind()

    def _end_pods(self) -> bool:
        busy = False
        for group in [*self.groups.values()]:
            leader, workers, old = group.leader, group.workers, group.old
            if leader is not None and leader.until is not None and leader.until <= self.now:
                group.leader = group.workers = None
                busy = True
                if workers is not None and workers.count:
                    workers.until = self.now + self.world.worker_grace
                    group.old = workers
                    group.workers_from = workers.until + self.world.back_off
            elif old is not None and old.until is not None and old.until <= self.now:
                group.old = None
                busy = True
            if not any(group.parts()) and group.index >= self.step.groups:
                del self.groups[group.index]
        return busy

    def _admit(self) -> bool:
        """Kueue takes the surge groups' Workloads away and their pods with them, or gives them back.

        A group whose pods came back and wait counts as updated like any other, so nothing changes by itself.
        """
        if not self.world.drops_surge:
            return False
        wanted = self.strategy.replicas
        surge = [group for group in self.groups.values() if group.index >= wanted]
        counted = [g for g in self.groups.values() if g.lost or self._state(g).updated]
        keeps = keeps_surge(wanted, present=self.step.groups, updated=len(counted))
        busy = False
        for group in surge:
            if group.lost == keeps and group.index < self.step.groups:
                group.lost = not keeps
                busy = True
                if group.lost:
                    self._delete(group)
        return busy

    def _leaders(self) -> bool:
        """What the StatefulSet of the leaders makes and deletes."""
        busy = False
        for index in range(self.step.groups):
            group = self.groups.setdefault(index, _Group(index))
            if group.leader is None:
                new = index >= self.step.partition
                group.leader = _Pods(new, 1, self.now)
                busy = True
                if new and index not in self.order:
                    self.order.append(index)
        for group in self.groups.values():
            if group.index >= self.step.groups:
                busy |= self._delete(group)
        line = [self._leader(self.groups[index]) for index in range(self.step.groups)]
        most = self.strategy.leaders_down if self.world.gate else None
        for index in deleted(line, self.step, most):
            busy |= self._delete(self.groups[index])
        return busy

    def _delete(self, group: _Group) -> bool:
        if group.leader is None or group.leader.until is not None:
            return False
        group.leader.until = self.now + self.world.grace
        return True

    def _workers(self) -> bool:
        busy = False
        for group in self.groups.values():
            leader = group.leader
            if leader is None or leader.until is not None or group.workers is not None:
                continue
            if group.old is None and self.now >= group.workers_from:
                group.workers = _Pods(leader.new, self.world.size - 1, self.now)
                busy = True
        return busy

    def _bind(self) -> bool:
        """Pods take free places, the longest waiting first; a group whole where somebody sees to that."""
        busy = False
        for group, parts in self._waiting():
            missing = sum(part.count - len(part.bound) for part in parts)
            free = self._free(group)
            kept = self.world.reserved and group.index < self.strategy.replicas
            if self.world.gang and not kept and (group.workers is None or free < missing):
                continue
            for part in parts:
                taken = min(free, part.count - len(part.bound))
                part.bound += [self.now] * taken
                free -= taken
                busy |= taken > 0
        return busy

    def _waiting(self) -> list[tuple[_Group, list[_Pods]]]:
        """What waits for nodes, in the order in which it is looked at."""
        lines: list[tuple[int, int, int, _Group, list[_Pods]]] = []
        for group in self.groups.values():
            if group.lost:
                continue
            own = [part for part in (group.leader, group.workers) if part is not None]
            own = [part for part in own if part.until is None and len(part.bound) < part.count]
            if self.world.gang and own:
                lines.append((max(part.made for part in own), group.index, 0, group, own))
            elif own:
                lines += [
                    (part.made, group.index, place, group, [part]) for place, part in enumerate(own)
                ]
        return [(group, parts) for *_, group, parts in sorted(lines, key=lambda line: line[:3])]

    def _free(self, group: _Group) -> int:
        """Places that a group may take."""
        wanted, size, room = self.strategy.replicas, self.world.size, self.world.room
        if room is None or (self.world.reserved and group.index < wanted):
            return size
        counted = [
            one for one in self.groups.values() if not self.world.reserved or one.index >= wanted
        ]
        taken = sum(len(part.bound) for one in counted for part in one.parts())
        return room + (0 if self.world.reserved else wanted * size) - taken

    # ── what is seen ─────────────────────────────────────────────────────────────────────────────

    def _answers(self, group: _Group) -> bool:
        """Whether the leader is ready."""
        leader, workers = group.leader, group.workers
        if leader is None or not leader.ready(self.now, self.world.start):
            return False
        if not self.world.whole:
            return True
        return workers is not None and workers.ready(self.now, self.world.start)

    def _state(self, group: _Group) -> GroupState:
        leader, workers = group.leader, group.workers
        if leader is None or workers is None:
            return GroupState(ready=False, updated=False)
        ready = self._answers(group) and workers.ready(self.now, self.world.start)
        return GroupState(ready=ready, updated=leader.new and workers.new)

    def _states(self) -> list[GroupState]:
        missing = GroupState(ready=False, updated=False)
        there = [self.groups.get(index) for index in range(self.step.groups)]
        return [missing if group is None else self._state(group) for group in there]

    def _leader(self, group: _Group) -> LeaderState:
        leader = group.leader
        if leader is None:
            return LeaderState(updated=True, available=False, leaving=False)
        leaving = leader.until is not None
        return LeaderState(leader.new, self._answers(group) and not leaving, leaving)

    def _moment(self) -> Moment:
        bound = requested = serving = overlapping = mixed = hollow = 0
        for group in self.groups.values():
            for part in group.parts():
                bound += len(part.bound)
                requested += part.count
            torn = len({part.new for part in group.parts() if part.count}) > 1
            overlapping += torn
            if group.leader is None or group.leader.until is not None:
                continue
            if self._state(group).ready:
                serving += 1
            elif self._answers(group):
                mixed += torn
                hollow += not torn
        return Moment(
            at=Seconds(self.now),
            bound=bound,
            requested=requested,
            groups=self.step.groups,
            serving=serving,
            overlapping=overlapping,
            mixed=mixed,
            hollow=hollow,
        )

    def _done(self) -> bool:
        return all(
            (group := self.groups[index]).leader is not None
            and group.leader.until is None
            and self._state(group) == (True, True)
            for index in range(self.strategy.partition, self.strategy.replicas)
        )

    def _next(self) -> int | None:
        """When something happens by itself."""
        times: list[int] = []
        for group in self.groups.values():
            times.append(group.workers_from)
            for part in group.parts():
                if part.until is not None:
                    times.append(part.until)
                if part.count and len(part.bound) == part.count:
                    times.append(part.bound[-1] + self.world.start)
        return min((time for time in times if time > self.now), default=None)

    def _stall(self) -> Stall:
        stuck = {group.index: group for group, _ in self._waiting()}
        cause = "room" if stuck else "strategy"
        if lost := {g.index: g for g in self.groups.values() if g.lost}:
            cause, stuck = "admission", lost
        return Stall(
            cause=cause,
            groups=tuple(sorted(stuck)),
            held=sum(len(part.bound) for group in stuck.values() for part in group.parts()),
            short=sum(p.count - len(p.bound) for g in stuck.values() for p in g.parts()),
        )
