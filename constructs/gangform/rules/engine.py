"""Command lines of engines against the group around them: GPUs, nodes, ranks, and who serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents, form_of
from gangform.documents.document import sequence, text
from gangform.engines.engine import EngineReading
from gangform.findings import Path, Severity, counted, declare
from gangform.rules.joins import (
    SETS,
    Run,
    engine_of,
    gpus,
    over_groups,
    templates,
    words_of,
    workers_apart,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

TOO_FEW_GPUS = declare(
    "engine-needs-more-gpus",
    "The engine is told to use more GPUs than its group requests",
    Severity.BREAKS,
    "engines §1.2; design §4 Shape",
)
IDLE_GPUS = declare(
    "engine-leaves-gpus-idle",
    "The group requests more GPUs than the engine is told to use",
    Severity.DEGRADES,
    "engines §1.2; design §4 Shape",
)
NODES = declare(
    "engine-nodes-differ",
    "The engine waits for another number of nodes than the group has pods",
    Severity.BREAKS,
    "engines §1.2, §1.3",
)
NODES_LITERAL = declare(
    "engine-nodes-literal",
    "The number of nodes is written by hand beside the size of the group",
    Severity.STYLE,
    "engines §1.3",
)
NO_RANK = declare(
    "node-rank-missing",
    "A worker has no rank and takes rank 0, as the leader does: both wait for each other",
    Severity.BREAKS,
    "engines §1.1, §1.3",
)
RANK = declare(
    "node-rank-wrong",
    "A rank that is not the pod's own",
    Severity.BREAKS,
    "engines §1.3",
)
LEADER_HEADLESS = declare(
    "leader-headless",
    "The leader runs without its API server, so that nothing serves",
    Severity.BREAKS,
    "engines §1.3",
)
WORKER_SERVES = declare(
    "worker-not-headless",
    "A worker of several nodes is started as a server",
    Severity.BREAKS,
    "engines §0, §1.3",
)
TENSOR = declare(
    "tensor-across-nodes",
    "Tensor parallelism over several nodes runs at the speed of the network between them",
    Severity.STYLE,
    "engines §1.3",
)

_OVER_NODES: Final = frozenset({"NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE"})
"""Variables of fabrics whose NVLink spans nodes (`engines §1.5`)."""


def _reading(documents: Documents, pod: PodView | None) -> tuple[Run, EngineReading] | None:
    run = engine_of(documents, pod) if pod is not None else None
    return None if run is None or run.reading is None else (run, run.reading)


def _nodes_word(run: Run, nodes: str) -> Path:
    """The word that holds the number of nodes, where one can tell."""
    words = sequence(run.container, "args")
    for index, word in enumerate(words):
        if isinstance(word, str) and "node" in word and word.endswith(f"={nodes}"):
            return (*run.path, "args", index)
        before = words[index - 1] if index else ""
        if word == nodes and isinstance(before, str) and "node" in before:
            return (*run.path, "args", index)
    return words_of(run)


def _offered(group: GroupView, reading: EngineReading, documents: Documents) -> int | None:
    """GPUs that the engine may use; `None` where it does not say how far it reaches."""
    each = gpus(documents, group.leader)
    form = form_of(group.kind)
    joins = reading.nodes is not None or reading.ray
    if form is None or not form.can.runs_groups:
        # Several such objects, or several pods of one, may be joined by hand: then nobody knows the others.
        whole = (form is not None and form.can.whole_pods) or group.replicas == 1
        return each if whole and not joins else None
    if group.size == 1:
        return None if joins else each
    workers = group.workers
    if not joins or workers is None or not sequence(workers.spec, "containers"):
        return None
    return each + gpus(documents, workers) * (group.size - 1)


@rule(TOO_FEW_GPUS, kinds=WORKLOADS)
@over_groups
def engine_needs_more_gpus(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The product of the parallel sizes fits the group."""
    yield from _gpu_fault(group, documents, more=True)


@rule(IDLE_GPUS, kinds=WORKLOADS)
@over_groups
def engine_leaves_gpus_idle(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The product of the parallel sizes fills the group."""
    yield from _gpu_fault(group, documents, more=False)


def _gpu_fault(group: GroupView, documents: Documents, *, more: bool) -> Iterator[Fault]:
    for pod in templates(group):
        found = _reading(documents, pod)
        if found is None:
            continue
        run, reading = found
        each = gpus(documents, pod)
        if reading.local is not None:
            used, offered = reading.local, each
            said = (
                f"the command line runs {used} ranks on each pod, which has {counted(each, 'GPU')}"
            )
            fix = "let tensor × pipeline × local data ranks be the pod's GPUs"
        elif _stands_alone(group, run, reading):
            used, offered = reading.gpus or 0, each
            said = (
                f"the command line uses {counted(used, 'GPU')} and joins no other pod; a pod has {each}, and a group "
                f"{counted(group.size, 'pod')}"
            )
            fix = "join the pods: --nnodes, --node-rank and the leader's address"
        elif pod is group.leader:
            used, offered = reading.gpus or 0, _offered(group, reading, documents) or 0
            pods = counted(group.size, "pod")
            said = f"the command line uses {counted(used, 'GPU')}; {pods} of {each}: {offered}"
            fix = f"let tensor × pipeline × data be {offered}, or change size or GPUs"
        else:
            continue
        if used and offered and used != offered and (used > offered) == more:
            yield Fault(
                path=words_of(run),
                what=said,
                fix=fix,
                seen={"used": str(used), "requested": str(offered)},
            )


def _stands_alone(group: GroupView, run: Run, reading: EngineReading) -> bool:
    """Whether each pod of a group of several is surely an engine of its own: no shell can have joined them."""
    form = form_of(group.kind)
    grouped = form is not None and form.can.runs_groups and group.size > 1
    return grouped and reading.alone and run.begun is not None and run.begun.script is None


@rule(NODES, kinds=SETS)
@over_groups
def engine_nodes_differ(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine waits for as many nodes as the group has pods."""
    led = _reading(documents, group.leader)
    # A leader without ranks of its own answers for those of the other pods.
    ranked = group.size - 1 if led is not None and led[1].local == 0 else group.size
    for run, reading in _all(group, documents):
        nodes = reading.nodes or ""
        if nodes.isdecimal() and nodes != str(group.size):
            yield Fault(
                path=_nodes_word(run, nodes),
                what=f"the engine waits for {nodes} nodes; a group has "
                f"{counted(group.size, 'pod')}",
                fix=f"write $({lws.SIZE_VARIABLE})",
                seen={"nodes": nodes, "size": str(group.size)},
            )
        elif reading.pods is not None and _met(reading) and reading.pods != ranked:
            yield Fault(
                path=words_of(run),
                what=f"the data ranks fill {reading.pods} pods; a group has {ranked} for them",
                fix=f"write size: {reading.pods + group.size - ranked}, or data ranks for {ranked} pods",
                seen={"pods": str(reading.pods), "size": str(group.size)},
            )


def _met(reading: EngineReading) -> bool:
    """Whether ranks meet at the leader of the group, and so are those of the group."""
    return lws.ADDRESS_VARIABLE in reading.address


@rule(NODES_LITERAL, kinds=SETS)
@over_groups
def engine_nodes_literal(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The number of nodes comes from the controller."""
    for run, reading in _all(group, documents):
        if reading.nodes == str(group.size):
            yield Fault(
                path=_nodes_word(run, reading.nodes),
                what=f"the number of nodes is the literal {reading.nodes}",
                fix=f"write $({lws.SIZE_VARIABLE}), which follows the size",
            )


def _all(group: GroupView, documents: Documents) -> Iterator[tuple[Run, EngineReading]]:
    for pod in (group.leader, workers_apart(documents, group)):
        if (found := _reading(documents, pod)) is not None:
            yield found


@rule(NO_RANK, kinds=SETS)
@over_groups
def node_rank_missing(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Workers say their rank."""
    found = _reading(documents, workers_apart(documents, group) or group.leader)
    if found is None or group.size < 2 or found[1].rank is not None:
        return
    run, reading = found
    if reading.nodes is not None and not reading.ray:
        yield Fault(
            path=words_of(run),
            what="several nodes and no rank: every worker takes rank 0, the leader's",
            fix=f"add the rank $({lws.RANK_VARIABLE})",
        )
    elif reading.pods is not None and reading.pods > 1 and _met(reading):
        yield Fault(
            path=words_of(run),
            what=f"data ranks over {reading.pods} pods and no first one: every worker starts at rank 0, "
            "the leader's",
            fix=f"add the first rank of the pod: $({lws.RANK_VARIABLE}) times the ranks of a pod",
        )


@rule(RANK, kinds=SETS)
@over_groups
def node_rank_wrong(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The leader has rank 0, and each worker its own."""
    workers = workers_apart(documents, group)
    led, worked = _reading(documents, group.leader), _reading(documents, workers)
    if workers is not None and led is not None:
        rank = led[1].rank or ""
        if led[1].nodes is not None and rank.isdecimal() and rank.strip("0"):
            yield Fault(
                path=words_of(led[0]),
                what=f"the leader has rank {rank}; it is rank 0",
                fix=f"write the rank $({lws.RANK_VARIABLE})",
            )
    rank = (worked[1].rank or "") if worked is not None else ""
    own = group.size == 2 and worked is not None and (rank == "1" or worked[1].pods is not None)
    if worked is not None and rank.isdecimal() and not own:
        yield Fault(
            path=words_of(worked[0]),
            what=f"all {group.size - 1} workers have rank {rank}"
            if group.size > 2
            else f"the worker has rank {rank}; it is rank 1",
            fix=f"write the rank $({lws.RANK_VARIABLE})",
        )


@rule(LEADER_HEADLESS, kinds=SETS)
@over_groups
def leader_headless(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The leader serves."""
    found = _reading(documents, group.leader)
    if found is not None and not found[1].serves_http:
        yield Fault(
            path=words_of(found[0]),
            what="the leader is headless: it opens no HTTP port",
            fix="remove the flag from the leader",
        )


@rule(WORKER_SERVES, kinds=SETS)
@over_groups
def worker_not_headless(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A worker of several nodes runs its ranks and no server, unless it is meant to serve."""
    found = _reading(documents, workers_apart(documents, group))
    if found is None:
        return
    run, reading = found
    meant = "ports" in run.container or any(
        key in run.container for key in ("startupProbe", "readinessProbe", "livenessProbe")
    )
    serves = reading.serves_http and not reading.rank_zero_answers
    if reading.nodes is not None and not reading.ray and serves and not meant:
        yield Fault(
            path=words_of(run),
            what="the worker starts an API server for ranks that the leader serves",
            fix="start it headless",
        )


@rule(TENSOR, kinds=SETS)
@over_groups
def tensor_across_nodes(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Tensor ranks lie on one node, unless NVLink spans several."""
    found = _reading(documents, group.leader)
    if found is None or group.size < 2 or found[1].nodes is None:
        return
    run, reading = found
    each = gpus(documents, group.leader)
    names = {text(variable, "name") for variable in sequence(run.container, "env")}
    spans = bool(names & _OVER_NODES) or bool(sequence(group.leader.spec, "resourceClaims"))
    if reading.tensor is not None and each and reading.tensor > each and not spans:
        yield Fault(
            path=words_of(run),
            what=f"tensor {reading.tensor} spans pods of {counted(each, 'GPU')}",
            fix=f"use tensor {each} and pipeline {-(-reading.tensor // each)}, unless NVLink joins the nodes",
            seen={"tensor": str(reading.tensor), "gpus": str(each)},
        )
