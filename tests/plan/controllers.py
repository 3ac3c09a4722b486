"""A brute-force model of LeaderWorkerSet's controller and of what stands around it, second by second and pod by pod.

Written after the Go source function by function, with its names, and with nothing of the simulation that it is there to
test: pods are objects, time goes by one, and every figure is counted anew. Controllers answer in a fixed order until
none has anything to do: ended pods, Kueue, LeaderWorkerSet, StatefulSet, the workers of a leader, the scheduler.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple


class Case(NamedTuple):
    replicas: int
    surge: int
    unavailable: int
    partition: int
    size: int
    room: int | None
    gang: bool
    reserved: bool
    drops: bool
    whole: bool
    gate: bool
    grace: int
    worker_grace: int
    back_off: int
    start: int


@dataclass(eq=False)
class Pod:
    group: int
    worker: int
    revision: int
    made: int
    bound: int | None = None
    ends: int | None = None
    owner: Pod | None = None


class Cluster:
    """A set whose groups all serve revision 0, and an update to revision 1."""

    def __init__(self, case: Case, uneven: random.Random | None = None) -> None:
        """With `uneven` no two pods take the same time to start."""
        self.case, self.now = case, 0
        self.uneven = uneven
        self.times: dict[Pod, int] = {}
        self.pods: list[Pod] = []
        self.worker_sets: dict[int, int] = {}
        self.retry: dict[int, int] = {}
        self.lost: set[int] = set()
        self.order: list[int] = []
        for group in range(case.replicas):
            leader = Pod(group, 0, 0, -case.start, -case.start)
            self.pods.append(leader)
            self.worker_sets[group] = 0
            for worker in range(1, case.size):
                self.pods.append(Pod(group, worker, 0, -case.start, -case.start, owner=leader))
        self.max_surge = min(case.surge, case.replicas)
        unready = case.replicas
        self.sts_replicas = self.calculate_rolling_update_replicas(unready)
        self.sts_partition = max(case.replicas, case.partition)

    # ── the set's controller ─────────────────────────────────────────────────────────────────────

    def calculate_rolling_update_replicas(self, unready: int) -> int:
        case = self.case
        burst_replicas = case.replicas + self.max_surge
        if unready <= self.max_surge:
            required_surge = unready - case.unavailable
            if required_surge < 0:
                required_surge = 0
            return case.replicas + required_surge
        return burst_replicas

    def get_replica_states(self) -> list[tuple[bool, bool]]:
        states = []
        for index in range(self.sts_replicas):
            leader = self.leader(index)
            if leader is None or index not in self.worker_sets:
                states.append((False, False))
                continue
            workers = [p for p in self.pods if p.owner is leader]
            workers_ready = len(workers) == self.case.size - 1 and all(map(self.is_ready, workers))
            states.append(
                (
                    self.is_ready(leader) and workers_ready,
                    leader.revision == 1 and self.worker_sets[index] == 1,
                )
            )
        return states

    def rolling_update_partition(self, states: list[tuple[bool, bool]], step: int) -> int:
        continuous_ready = 0
        for ready, updated in states[::-1]:
            if not ready or not updated:
                break
            continuous_ready += 1
        rolling_step_partition = self.sts_replicas - continuous_ready - step
        if rolling_step_partition < 0:
            rolling_step_partition = 0
        unavailable = 0
        for index in range(rolling_step_partition):
            if not states[index][0]:
                unavailable += 1
        partition = rolling_step_partition + unavailable
        index = min(partition, self.sts_replicas - 1)
        while index >= rolling_step_partition:
            if not states[index][0] or states[index][1]:
                partition = index
            else:
                break
            index -= 1
        return min(partition, self.sts_partition)

    def reconcile(self) -> bool:
        case = self.case
        if self.sts_partition == 0 and self.sts_replicas == case.replicas:
            return False
        states = self.get_replica_states()
        unready = 0
        for index in range(case.replicas):
            if index >= len(states) or not states[index][0] or not states[index][1]:
                unready += 1
        burst_replicas = case.replicas + self.max_surge
        step = case.unavailable
        step += self.max_surge - (burst_replicas - self.sts_replicas)
        partition = max(self.rolling_update_partition(states, step), case.partition)
        replicas = self.calculate_rolling_update_replicas(unready)
        changed = (partition, replicas) != (self.sts_partition, self.sts_replicas)
        self.sts_partition, self.sts_replicas = partition, replicas
        return changed

    def reconcile_leader_pods(self) -> bool:
        """LeaderCreated: the worker StatefulSet follows its leader, once that of the old leader is out of the way."""
        changed = False
        for leader in [p for p in self.pods if p.worker == 0 and p.ends is None]:
            group = leader.group
            lingering = any(
                p.group == group and p.worker and p.owner is not leader for p in self.pods
            )
            if group in self.worker_sets or lingering or self.now < self.retry.get(group, 0):
                continue
            self.worker_sets[group] = leader.revision
            for worker in range(1, self.case.size):
                self.pods.append(Pod(group, worker, leader.revision, self.now, owner=leader))
            changed = True
        return changed

    # ── the StatefulSet of the leaders ───────────────────────────────────────────────────────────

    def update_stateful_set(self) -> bool:
        changed = False
        for ordinal in range(self.sts_replicas):
            if self.leader(ordinal) is None:
                revision = 0 if ordinal < self.sts_partition else 1
                self.pods.append(Pod(ordinal, 0, revision, self.now))
                if revision == 1 and ordinal not in self.order:
                    self.order.append(ordinal)
                changed = True
        for pod in self.pods:
            if pod.worker == 0 and pod.group >= self.sts_replicas:
                changed |= self.delete(pod)
        replicas = [self.leader(ordinal) for ordinal in range(self.sts_replicas)]
        if self.case.gate:
            return self.update_after_invariant_established(replicas) or changed
        for target in range(len(replicas) - 1, self.sts_partition - 1, -1):
            one = replicas[target]
            assert one is not None
            if one.revision != 1 and one.ends is None:
                self.delete(one)
                return True
            if self.is_unavailable(one):
                return changed
        return changed

    def update_after_invariant_established(self, replicas: list[Pod | None]) -> bool:
        max_unavailable = max(1, self.case.surge + self.case.unavailable)
        unavailable_pods = sum(1 for pod in replicas if pod is None or self.is_unavailable(pod))
        if unavailable_pods >= max_unavailable:
            return False
        deleted_pods = 0
        for target in range(len(replicas) - 1, self.sts_partition - 1, -1):
            if deleted_pods >= max_unavailable - unavailable_pods:
                break
            pod = replicas[target]
            assert pod is not None
            if pod.revision != 1 and pod.ends is None:
                self.delete(pod)
                deleted_pods += 1
        return deleted_pods > 0

    # ── the rest of the world ────────────────────────────────────────────────────────────────────

    def leader(self, group: int) -> Pod | None:
        return next((p for p in self.pods if p.group == group and p.worker == 0), None)

    def own_workers(self, leader: Pod) -> list[Pod]:
        return [p for p in self.pods if p.owner is leader]

    def is_ready(self, pod: Pod) -> bool:
        """A worker has no probe of its own; a leader that answers for all waits for all."""
        needed = [pod]
        if self.case.whole and pod.worker == 0:
            needed += self.own_workers(pod)
            if len(needed) < self.case.size or pod.group not in self.worker_sets:
                return False
        return all(p.bound is not None and p.bound + self.start(p) <= self.now for p in needed)

    def start(self, pod: Pod) -> int:
        if self.uneven is None or pod.revision == 0:
            return self.case.start
        return self.times.setdefault(pod, self.uneven.choice([1, 2, 4, 8]))

    def is_unavailable(self, pod: Pod) -> bool:
        return pod.ends is not None or not self.is_ready(pod)

    def delete(self, pod: Pod) -> bool:
        if pod.ends is not None:
            return False
        pod.ends = self.now + self.case.grace
        return True

    def collect(self) -> bool:
        ended = [p for p in self.pods if p.ends is not None and p.ends <= self.now]
        for pod in ended:
            self.pods.remove(pod)
            if pod.worker == 0:
                self.worker_sets.pop(pod.group, None)
                for worker in self.own_workers(pod):
                    worker.ends = self.now + self.case.worker_grace
                    self.retry[pod.group] = worker.ends + self.case.back_off
        self.lost &= {p.group for p in self.pods} | set(range(self.sts_replicas))
        return bool(ended)

    def kueue(self) -> bool:
        """A Workload for each surge group, while the set has too many replicas and too few updated ones."""
        if not self.case.drops:
            return False
        updated = len(self.lost)
        for pod in self.pods:
            if pod.worker == 0 and pod.group not in self.lost:
                updated += pod.revision == 1 and self.worker_sets.get(pod.group) == 1
        surges = self.sts_replicas > self.case.replicas and updated < self.case.replicas
        changed = False
        for group in sorted({p.group for p in self.pods if p.group >= self.case.replicas}):
            if group >= self.sts_replicas:
                continue
            if surges and group in self.lost:
                self.lost.remove(group)
                changed = True
            elif not surges and group not in self.lost:
                self.lost.add(group)
                leader = self.leader(group)
                if leader is not None:
                    self.delete(leader)
                changed = True
        return changed

    def places(self, group: int) -> int:
        case = self.case
        base = group < case.replicas
        if case.room is None or (case.reserved and base):
            return 10**6
        if case.reserved:
            used = sum(p.bound is not None for p in self.pods if p.group >= case.replicas)
            return case.room - used
        return case.replicas * case.size + case.room - sum(p.bound is not None for p in self.pods)

    def schedule(self) -> bool:
        waiting = [
            p
            for p in self.pods
            if p.bound is None
            and p.ends is None
            and p.group not in self.lost
            and (p.worker == 0 or (p.owner is not None and p.owner in self.pods))
        ]
        changed = False
        if not self.case.gang:
            for pod in sorted(waiting, key=lambda p: (p.made, p.group, p.worker)):
                if self.places(pod.group) > 0:
                    pod.bound, changed = self.now, True
            return changed
        groups = sorted(
            {(max(q.made for q in waiting if q.group == p.group), p.group) for p in waiting}
        )
        for _, group in groups:
            members = [p for p in waiting if p.group == group]
            complete = group in self.worker_sets and len(members) <= self.places(group)
            if (self.case.reserved and group < self.case.replicas) or complete:
                for pod in members:
                    pod.bound = self.now
                changed = True
        return changed

    # ── what is counted ──────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        while True:
            busy = self.collect()
            busy |= self.kueue()
            busy |= self.reconcile()
            busy |= self.update_stateful_set()
            busy |= self.reconcile_leader_pods()
            busy |= self.schedule()
            if not busy:
                return

    def seen(self) -> tuple[int, ...]:
        """Bound, requested, groups, serving, of two revisions, answering mixed, answering hollow."""
        serving = overlapping = mixed = hollow = 0
        for group in sorted({p.group for p in self.pods}):
            leader = self.leader(group)
            torn = len({p.revision for p in self.pods if p.group == group}) == 2
            overlapping += torn
            if leader is None or leader.ends is not None:
                continue
            workers = self.own_workers(leader)
            whole = group in self.worker_sets and all(map(self.is_ready, workers))
            if self.is_ready(leader) and whole:
                serving += 1
            elif self.is_ready(leader):
                mixed, hollow = mixed + torn, hollow + (not torn)
        bound = sum(p.bound is not None for p in self.pods)
        return bound, len(self.pods), self.sts_replicas, serving, overlapping, mixed, hollow

    def done(self) -> bool:
        states = self.get_replica_states()
        for index in range(self.case.partition, self.case.replicas):
            leader = self.leader(index)
            if leader is None or leader.ends is not None or states[index] != (True, True):
                return False
        return True


def play(case: Case) -> tuple[list[tuple[int, ...]], list[int], int | None]:
    """What is seen at each second, the order of new leaders, and the second in which all is done."""
    cluster = Cluster(case)
    longest = case.grace + case.worker_grace + case.back_off + case.start
    seen: list[tuple[int, ...]] = []
    end = None
    quiet, before = 0, None
    while quiet <= longest:
        cluster.settle()
        state = [(p.group, p.worker, p.revision, p.made, p.bound, p.ends) for p in cluster.pods]
        quiet, before = (quiet + 1 if state == before else 0), state
        seen.append(cluster.seen())
        if end is None and cluster.done():
            end = cluster.now
        cluster.now += 1
    return seen, cluster.order, end


def least_serving(case: Case, seed: int) -> int:
    """Groups that serve at the least while every pod takes a time of its own to start."""
    cluster = Cluster(case, random.Random(seed))
    least = case.replicas
    while not cluster.done():
        cluster.settle()
        least = min(least, cluster.seen()[3])
        cluster.now += 1
        assert cluster.now < 1000
    return least
