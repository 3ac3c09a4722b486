"""Room for a group: free nodes, and what is no free node."""

from __future__ import annotations

from tests.signals.group_scenarios import FEWER, NOTHING, lost, not_endpoints
from tests.signals.scenario import (
    Fires,
    Scenario,
    Series,
    asks,
    by_two_exporters,
    cordoned,
    in_namespace,
    node_ready,
    of_node,
    phase,
    ready,
    revision,
    steady,
    then,
    up,
    updated,
    wanted,
)
from tests.signals.world import World, elsewhere, node

from gangform.plan.serving import ServingPlan

NO_ROOM = "ServingNoRoomToRebuild"


def free(world: World) -> list[str]:
    """Nodes on which nothing runs: room for one group."""
    return [f"free-{index}" for index in range(world.size)]


def _nodes(world: World) -> Series:
    found: Series = {}
    for name in free(world):
        found |= node(name, "empty", world.level)
    found |= node("half", "empty", world.level)
    found |= node("broken", "empty", world.level, ready=0)
    found |= node("small", "empty", world.level, gpus=4)
    found |= {**node("old", "empty", world.level), cordoned("old"): steady(1)}
    found |= {asks("half", "half"): steady(8 - world.gpus // 2)}
    found |= {phase("half", "Running"): steady(1)}
    found |= {asks("ended", "free-0"): steady(8), phase("ended", "Succeeded"): steady(1)}
    return found


def normal(plan: ServingPlan) -> Series:
    """Room for one group. Half a node, a node of another shape, one that is down and one that is cordoned are none."""
    world = World.of(plan)
    found = _nodes(world)
    mislead = elsewhere(found)
    other = 'job="kube-state-metrics"', 'job="other"'
    mislead |= {asks("half", "free-0").replace(*other): steady(8)}
    mislead |= {phase("ended", "Running").replace(*other): steady(1)}
    cpu = of_node("kube_node_status_allocatable", "small", resource="cpu", unit="core")
    mislead |= {cpu: steady(8)}
    if world.level is not None:
        # Free nodes, and enough of them, that do not lie together; and those of another pool, that do.
        for name in free(world):
            found |= node(f"{name}-far", f"far-{name}", world.level)
            found |= node(f"{name}-foreign", "foreign", world.level)
        return {**mislead, **_products(found, world.level)}
    return {**mislead, **found}


def _products(found: Series, level: str) -> Series:
    """Every node's labels with that of its GPUs, which tells the two pools apart."""
    product = "label_nvidia_com_gpu_product"
    made: Series = {}
    for name, values in found.items():
        value = "OTHER-80GB" if "foreign" in name else "NVIDIA-H100-80GB-HBM3"
        labelled = name.replace("}", f',{product}="{value}"}}')
        made[labelled if name.startswith("kube_node_labels") else name] = values
    return made


def _fires(world: World, places: int) -> Fires:
    return in_namespace(NO_ROOM, places)


def _short(world: World) -> dict[str, str | None]:
    """One node less than a group needs: somebody else's pod is on it."""
    return {asks("thief", "free-0"): steady(8), phase("thief", "Running"): steady(1)}


def another_pod_takes_the_spare(world: World) -> Scenario:
    places = _capacity(world) - 8 // world.gpus
    return Scenario(
        {**_short(world), phase("thief", "Running"): then((1, 30), (0, 1))},
        {14: [], 15: [_fires(world, places)], 30: []} if world.spare else {40: []},
    )


def _capacity(world: World) -> int:
    return world.size * 8 // world.gpus


def a_node_of_the_spare_is_lost(world: World) -> Scenario:
    return Scenario(
        {node_ready("free-0"): steady(0)},
        {14: [], 15: [_fires(world, _capacity(world) - 8 // world.gpus)]}
        if world.spare
        else {40: []},
    )


def no_node_is_ready(world: World) -> Scenario:
    differs: dict[str, str | None] = {
        node_ready(name): steady(0) for name in (*free(world), "half", "small", "old")
    }
    differs |= {node_ready(f"node-of-{pod}"): steady(0) for pod in world.pods}
    if world.level is not None:
        for name in free(world):
            differs |= {node_ready(f"{name}-{end}"): steady(0) for end in ("far", "foreign")}
    return Scenario(differs, {14: [], 15: [_fires(world, 0)]} if world.spare else {40: []})


def a_rollout_uses_the_spare(world: World) -> Scenario:
    """That is what it is kept for; it is told when the rollout no longer moves."""
    if not (world.spare and world.grouped):
        return Scenario({}, {40: []})
    name = world.sets[0]
    stalled = in_namespace("ServingRolloutStalled", statefulset=name, revision="b")
    places = _capacity(world) - 8 // world.gpus
    return Scenario(
        {
            **_short(world),
            revision("update", name, "a"): None,
            revision("update", name, "b"): steady(1),
            updated(name): then((0, 5), (1, 1)),
        },
        {
            16: [],
            34: [],
            52: [_fires(world, places), stalled],
        },
    )


def pods_wait_and_there_is_no_room(world: World) -> Scenario:
    """Somebody else is where the group was, and a node of those that are free is down."""
    if not world.grouped:
        return Scenario({}, {40: []})
    differs = lost(world, world.leaders[1])
    for pod in world.group(world.leaders[1]):
        differs |= {asks(f"thief-of-{pod}", f"node-of-{pod}"): steady(8)}
        differs |= {phase(f"thief-of-{pod}", "Running"): steady(1)}
    short = {**differs, cordoned("free-0"): steady(1)}
    told_ = [in_namespace(FEWER, 1), in_namespace("ServingGroupPodsPending", world.size)]
    none = _fires(world, world.size - 1)
    first = [in_namespace(FEWER, 1), none] if world.spare else [in_namespace(FEWER, 1)]
    return Scenario(short, {29: first, 30: [*told_, none]}, {29: world.serves(1, 2)})


def pods_wait_and_there_is_just_room(world: World) -> Scenario:
    if not world.grouped:
        return Scenario({}, {40: []})
    differs = lost(world, world.leaders[1])
    for pod in world.group(world.leaders[1]):
        differs |= {asks(f"thief-of-{pod}", f"node-of-{pod}"): steady(8)}
        differs |= {phase(f"thief-of-{pod}", "Running"): steady(1)}
    told_ = [in_namespace(FEWER, 1), in_namespace("ServingGroupPodsPending", world.size)]
    return Scenario(differs, {40: told_})


def no_labels_are_exported(world: World, normal: Series) -> Scenario:
    """`monitoring.nodeLabels` names them, and the exporter has no such allowlist: nobody knows a free node."""
    if world.level is None:
        return Scenario({}, {40: []})
    gone = [name for name in normal if name.startswith("kube_node_labels")]
    assert gone
    return Scenario({**dict.fromkeys(gone), node_ready("free-0"): steady(0)}, {40: []})


def two_exporters_show_no_room(world: World) -> Scenario:
    """No node, no pod and no request is counted twice."""
    one = pods_wait_and_there_is_no_room(world)
    if not one.differs or world.level is not None:
        return Scenario({}, {40: []})
    wrong = {**world.healthy(), **_nodes(world), **one.differs}
    return one._replace(differs={**one.differs, **by_two_exporters(wrong)})


def pods_wait_and_no_node_is_ready(world: World) -> Scenario:
    """The control plane has lost them all."""
    if not world.grouped or world.spare:
        return Scenario({}, {40: []})
    differs = {**no_node_is_ready(world).differs, **lost(world, world.leaders[1])}
    told_ = [in_namespace(FEWER, 1), in_namespace("ServingGroupPodsPending", world.size)]
    return Scenario(differs, {29: told_[:1], 30: [*told_, _fires(world, 0)]})


def a_group_pulls_and_there_is_no_more_room(world: World) -> Scenario:
    """It has its nodes, and waits for none."""
    if not world.grouped or world.spare:
        return Scenario({}, {40: []})
    leader = world.leaders[1]
    differs: dict[str, str | None] = {phase(pod): steady(1) for pod in world.group(leader)}
    differs |= {ready(leader): steady(0), up(leader): steady(0), **not_endpoints(world, leader)}
    return Scenario({**differs, **_short(world)}, {40: [in_namespace(FEWER, 1)]})


def the_only_group_has_no_room_and_then_is_not_wanted(world: World) -> Scenario:
    """Pods that are left of it wait, and nobody misses them."""
    if not world.grouped or world.spare or len(world.sets) > 1:
        return Scenario({}, {40: []})
    other = world.leaders[0]
    differs = {**pods_wait_and_there_is_no_room(world).differs, **not_endpoints(world, other)}
    differs |= {ready(other): None, up(other): None, wanted(world.sets[0]): then((1, 50), (0, 1))}
    pending = in_namespace("ServingGroupPodsPending", world.size)
    none = _fires(world, world.size - 1)
    nothing = [in_namespace(FEWER, 0), in_namespace(NOTHING, 0)]
    return Scenario(differs, {29: nothing, 30: [*nothing, pending, none], 52: [pending]})


SCENARIOS = [
    two_exporters_show_no_room,
    pods_wait_and_no_node_is_ready,
    a_group_pulls_and_there_is_no_more_room,
    the_only_group_has_no_room_and_then_is_not_wanted,
    another_pod_takes_the_spare,
    a_node_of_the_spare_is_lost,
    no_node_is_ready,
    a_rollout_uses_the_spare,
    pods_wait_and_there_is_no_room,
    pods_wait_and_there_is_just_room,
]


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    world = World.of(plan)
    found = {make.__name__: make(world) for make in SCENARIOS}
    return {**found, no_labels_are_exported.__name__: no_labels_are_exported(world, normal)}
