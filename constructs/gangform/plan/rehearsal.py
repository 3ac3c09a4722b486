"""What an update of a serving meets in its pool: whether it can move at all, and the ways out where it cannot.

A rollout needs the places of all its surge groups before anything is replaced: without them it stands still with the
fleet intact. There are four ways out, none of them silent (article A). The plan lists them with their figures.
"""

from typing import NamedTuple

from gangform.admission.admission import backend
from gangform.apis.set_rollout import Strategy
from gangform.findings import counted
from gangform.inputs.cluster import Cluster
from gangform.plan import rollout
from gangform.plan.figures import formula
from gangform.plan.laying import Room, bound, needed, per_node
from gangform.plan.placement import PoolPlan
from gangform.plan.replicas import Replicas, in_waves, replace
from gangform.plan.serving import ServingPlan
from gangform.plan.simulation import MOST_GROUPS, World, simulate
from gangform.plan.spread import keeps_apart
from gangform.plan.timeline import Rollout
from gangform.units import Seconds


class Way(NamedTuple):
    """One way out, with what it costs."""

    name: str
    what: str
    gpus: int
    """GPUs beyond those of the pool."""
    serving: int
    """Groups that serve at the least."""
    duration: Seconds
    """About how long it lasts."""


class Rehearsal(NamedTuple):
    """The update of one serving in its pool."""

    strategy: Strategy
    """Of the groups that it is played with: under an autoscaler the fewest."""
    world: World
    sets: int
    """Sets of groups that are updated, each alike; 0 where replicas are pods of an ordinary kind."""
    staged: bool
    """Of several sets: whether one waits until the one before serves again."""
    unplayed: str
    """Why it is not played through; empty where it is."""
    room: Room | None
    """`None`: no inventory, so room enough is assumed."""
    lacking: int
    """Surge groups that find no place while no other serving rolls; the rollout stands still then."""
    finishes: bool
    """Whether the backend lets such a rollout end."""
    ways: tuple[Way, ...]
    """What can be done where it stands still; empty where it does not."""

    def play(self) -> Rollout | None:
        """The update from moment to moment; `None` where `unplayed` says why not."""
        return self._play(self.world)

    def play_alone(self) -> Rollout | None:
        """The same with a readiness that means the leader alone."""
        return self._play(self.world._replace(whole=False))

    def _play(self, world: World) -> Rollout | None:
        if self.unplayed:
            return None
        if not self.sets:
            own = self.strategy
            case = Replicas(
                own.replicas, own.surge, own.unavailable, world.room, world.grace, world.start
            )
            return replace(case)
        one = simulate(self.strategy, world)
        if one is None or self.sets == 1:
            return one
        return in_waves(one, self.sets, staged=self.staged)


@formula("surge groups - those that find a place, at least 0", source="article A, case 4; lab E2")
def lacking(surge: int, places: int) -> int:
    """Surge groups without a place."""
    return max(0, surge - places)


@formula(
    "pods of the groups without a place; where groups may lie on any nodes, pods of all surge groups - those that find "
    "a node",
    source="article A, case 4; lab E2",
)
def pods_lacking(surge: int, size: int, room: Room, *, bound: bool) -> int:
    """Pods of surge groups that more nodes are needed for."""
    if bound:
        return lacking(surge, room.groups) * size
    return max(0, surge * size - room.pods)


def rehearse(plan: ServingPlan, cluster: Cluster, pool: PoolPlan) -> Rehearsal:
    """The update of a serving on its pool."""
    role, serving, own = plan.lead, plan.serving, plan.lead.rollout
    groups, sets = serving.lowest_groups, plan.choice.form.can.runs_groups
    each = 1 if plan.workloads[1:] else groups
    strategy = Strategy(each, own.max_surge, own.max_unavailable, own.partition)
    policy = backend(serving.admission.backend).policy(cluster)
    finishes = not sets or policy.surge_finishes or not (own.max_surge and not own.max_unavailable)
    demand = role.demand
    room = pool.rooms.get((demand.serving, demand.workload))
    whole = policy.gangs or keeps_apart(demand) is not None
    pods = None
    if room is not None:
        pods = room.groups * demand.size if whole else room.pods
    made = rollout.peak(each, own.max_surge, own.max_unavailable, sets=sets)
    missing = 0
    if not sets:
        # A pod that ends holds its place beside a new one: no more places are counted on than the plan's peak has.
        pods = made - each if pods is None else min(pods, made - each)
    if room is not None:
        missing = lacking(made - each, room.groups)
    # Kueue alone keeps the places of a group that is updated in place, and takes those of surge groups back.
    keeps = policy.surges and not policy.surge_finishes
    worker = role.launch.worker
    found = Rehearsal(
        strategy=strategy,
        sets=len(plan.workloads) if sets else 0,
        staged=cluster.gitops == "argocd",
        unplayed=_unplayed(plan, made),
        world=World(
            size=role.shape.size,
            room=pods,
            gang=whole,
            reserved=keeps,
            drops_surge=keeps,
            grace=role.launch.grace,
            worker_grace=worker.pre_stop if worker is not None else Seconds(0),
            start=role.startup.cold_start,
        ),
        room=room,
        lacking=missing,
        finishes=finishes,
        ways=(),
    )
    if not missing or room is None or (not sets and _moves(found)):
        return found
    held = bound(cluster.pools[pool.pool], demand) is not None
    short = pods_lacking(made - each, demand.size, room, bound=held)
    return found._replace(ways=_ways(plan, short))


def _moves(found: Rehearsal) -> bool:
    """Whether replicas come up one by one on what old ones leave: a set waits for all its surge groups instead."""
    played = found.play()
    return played is None or played.stall is None


def _unplayed(plan: ServingPlan, most: int) -> str:
    """Why an update is not played through."""
    if plan.workloads[1:]:
        most = len(plan.workloads)
    if most > MOST_GROUPS:
        return f"{most} groups are more than the {MOST_GROUPS} that are played through"
    if plan.lead.startup_policy != "LeaderCreated" and plan.lead.shape.size > 1:
        return "with LeaderReady workers wait for a leader that is ready only with them, so no new group comes up"
    return ""


def in_place(plan: ServingPlan) -> Way:
    """One group after another without any surge: what moves everywhere, and ends under every backend."""
    groups = plan.serving.lowest_groups
    role = plan.lead
    lasts = rollout.duration(groups, 0, role.launch.teardown, role.startup.cold_start)
    left = rollout.floor(groups, 1)
    return Way(
        name="reduce redundancy for the window",
        what=f"maxSurge 0, maxUnavailable 1: {left} of {counted(groups, 'group')} serve, for about {lasts}",
        gpus=0,
        serving=left,
        duration=lasts,
    )


def _ways(plan: ServingPlan, pods: int) -> tuple[Way, ...]:
    """The four of article A, where so many pods find no node."""
    role, groups = plan.lead, plan.serving.lowest_groups
    nodes = counted(needed(pods, per_node(role.demand)), "more node")
    gpus = pods * role.shape.gpus_per_pod
    once = Seconds(role.launch.teardown + role.startup.cold_start)
    kept = role.rollout
    return (
        in_place(plan),
        Way(
            name="buy burst capacity",
            what=f"{nodes}, {gpus} GPUs, for about {kept.duration}: at least {kept.floor} serve",
            gpus=gpus,
            serving=kept.floor,
            duration=kept.duration,
        ),
        Way(
            name="take a maintenance window",
            what=f"all groups down and up again: none of {groups} serves, for about {once}",
            gpus=0,
            serving=0,
            duration=once,
        ),
        Way(
            name="buy headroom",
            what=f"{nodes}, {gpus} GPUs, for good: every later rollout has its place too",
            gpus=gpus,
            serving=kept.floor,
            duration=kept.duration,
        ),
    )
