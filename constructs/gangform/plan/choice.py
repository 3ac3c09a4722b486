"""Which shape a group should have where `parallelism: auto` leaves it open, and why every other one lost.

Looked at are all shapes of one node, then of two, and so on, until some number of nodes holds the declared load. What
the engine would refuse to start, what leaves an NVLink domain and what does not fit beyond the error of the arithmetic
is out; the declared preference orders the rest. Ranks that meet in every layer (tensor ranks, and data ranks that share
experts) stay inside a node, unless NVLink joins the nodes; experts may also meet over RDMA. Pipeline stages may meet
over anything, and are for nodes: inside of one only where nothing else cuts the model. What is not looked at is said
(`LEFT_OUT`). Nothing here is chosen again by `synth`: the numbers go into the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gangform.apis.core import HOSTNAME
from gangform.engines.engine import LaunchRequest, Shape
from gangform.findings import Finding, InputPath, Path, Severity, counted, declare
from gangform.inputs.cluster import Pool
from gangform.inputs.defaults import SEARCHED_NODES
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Attention, ModelProfile
from gangform.inputs.parallelism import Parallelism, Preference
from gangform.inputs.serving import Serving
from gangform.plan import shape, ways
from gangform.plan.figures import formula
from gangform.plan.memory import MemoryPlan
from gangform.plan.preference import ORDERS, STAGES, TIGHT, Candidate, beaten, decided
from gangform.plan.resolve import Resolved

NO_SHAPE = declare(
    "no-shape-holds-the-load",
    "No way to split the model over the hardware holds one request, or as many as were asked for",
    Severity.BREAKS,
    "design §4 Shape; engines §6.2",
)
NOT_SEARCHABLE = declare(
    "shape-not-searchable",
    "Figures that were measured under one parallelism say nothing about another",
    Severity.BREAKS,
    "inputs/model.py, Measured; engines §6.1",
)


class Omission(NamedTuple):
    """A way to split that is never chosen."""

    what: str
    why: str
    experts: bool
    """Whether it is one of models with experts only."""


LEFT_OUT = (
    Omission(
        "prefillContext",
        "it takes GPUs to shorten the wait for the first token, and holds no request more",
        experts=False,
    ),
    Omission(
        "data without expertParallel",
        "it cuts every expert where whole ones on each rank take the same memory",
        experts=True,
    ),
)
"""What an engine may be told and the search leaves alone: declare it where you want it."""


class Search(NamedTuple):
    """How `parallelism: auto` is resolved, or would be."""

    declared: Parallelism | None
    """What the inputs say; `None` for `auto`."""
    preference: Preference
    chosen: Candidate | None
    """`None` where nothing holds the load."""
    considered: tuple[Candidate, ...]
    """Every shape, the chosen one first, then those that came nearest."""
    own: Candidate | None = None
    """The declared shape, with the respect in which it is behind the chosen one; `None` for `auto`."""
    left_out: tuple[Omission, ...] = ()
    unsearchable: str = ""
    """Why nothing could be looked at."""

    @property
    def found(self) -> bool:
        """Whether there is a shape to go on with."""
        return self.declared is not None or self.chosen is not None

    @property
    def stand_in(self) -> Parallelism:
        """What the plan goes on with: the declared shape, else the chosen one, else the one that came nearest."""
        if self.declared is not None:
            return self.declared
        return self.considered[0].parallelism if self.considered else Parallelism()

    def check(self, serving: Serving, hardware: HardwareShape, at: Path) -> Iterator[Finding]:
        """That it has to be written down; or why nothing can be. Nothing about what is declared."""
        if self.declared is not None:
            return
        where = InputPath((*at, "parallelism"))
        if self.unsearchable:
            yield Finding(
                code=NOT_SEARCHABLE,
                at=where,
                what=f"`auto` cannot be resolved: {self.unsearchable}",
                fix="write that parallelism, or describe the model by `architecture` and `parameters`",
            )
        elif self.chosen is not None:
            written = self.chosen.parallelism.written
            yield Finding(
                code=shape.AUTO,
                at=where,
                what=f"`auto` is not resolved; it would be {written}",
                fix="`gangform plan --pin` writes the numbers into the file",
                seen={"chosen": written},
            )
        else:
            yield _nothing_holds(self, serving, hardware, where)


@formula(
    "mla: tensor; gqa: tensor / kvHeads, at least 1",
    source="engines §6.1: latents and surplus heads are held whole by every rank",
)
def copies(attention: Attention, tensor: int) -> int:
    """How many tensor ranks hold the same part of the cache."""
    if attention.kind == "mla":
        return tensor
    return max(1, tensor // (attention.kv_heads or tensor))


@formula(
    "least of the search's limit, the pool's nodes, and the nodes of the largest domain that a group has to lie in",
    source="design §4 Topology",
)
def most_nodes(serving: Serving, pool: Pool, limit: int) -> int:
    """Nodes that one group may take."""
    has = pool.inventory if pool.nodes is None else pool.nodes
    bounds = [limit] if has is None else [limit, has]
    wanted = serving.topology
    if wanted is None or wanted.mode != "required":
        return max(1, min(bounds))
    if wanted.level == HOSTNAME:
        bounds.append(1)
    elif wanted.level in pool.levels:
        domains = pool.sizes(pool.levels.index(wanted.level) + 1)
        bounds += [max(domains.values())] if domains else []
    return max(1, min(bounds))


def search(serving: Serving, ask: LaunchRequest, found: Resolved) -> Search:
    """Look at every shape that holds the load on as few nodes as possible.

    Args:
        serving: What is asked for.
        ask: The same as the engine sees it, of any shape.
        found: What its names refer to.
    """
    declared = None if serving.parallelism == "auto" else serving.parallelism
    model, hardware = found.model, found.hardware
    unsearchable = _unsearchable(serving, model)
    if unsearchable or model.architecture is None:
        return Search(declared, serving.prefer, None, (), unsearchable=unsearchable)
    attention, layers = model.architecture.attention, model.architecture.layers
    experts = model.architecture.experts is not None
    looked: list[Candidate] = []
    fewest: dict[int, int] = {}
    """By number of GPUs, the fewest stages that anything which starts needs."""

    def refusals(split: Parallelism, placed: Shape) -> Iterator[Finding]:
        tried = serving.model_copy(update={"parallelism": split})
        yield from shape.check(tried, placed, hardware, ask.at)
        yield from found.engine.check(ask._replace(shape=placed))

    # What is wrong with one GPU too, such as a context beyond the model, is no matter of shapes.
    single = Parallelism()
    always = {(one.code, one.at) for one in refusals(single, shape.lay(single, hardware))}

    def look(split: Parallelism) -> Candidate:
        placed = shape.lay(split, hardware)
        for one in refusals(split, placed):
            if one.breaks and (one.code, one.at) not in always:
                return Candidate(split, placed, None, "is refused", one.what)
        if apart := _apart(placed, serving, hardware):
            return Candidate(split, placed, None, "leaves the fabric", apart)
        # Stages are for nodes. Inside of one they idle most of the time, and are for what nothing else can cut.
        enough = max(placed.size, fewest.setdefault(placed.gpus, placed.pipeline))
        if placed.pipeline > enough:
            why = f"pipeline {placed.pipeline} instead of {enough} on the same {placed.gpus} GPUs"
            return Candidate(split, placed, None, STAGES.lost, why)
        memory = ways.holds(serving, ask._replace(shape=placed), found.engine, serving.fit)
        return Candidate(split, placed, memory, *_verdict(memory, serving))

    for count in range(1, most_nodes(serving, found.pool, SEARCHED_NODES) + 1):
        here: list[Candidate] = []
        for split in _splits(hardware, count, layers, experts=experts):
            plain = look(split)
            here.append(plain)
            if plain.lost and plain.memory is not None and plain.memory.tokens:
                for part in _divisors(copies(attention, split.tensor))[1:]:
                    cut = look(split.model_copy(update={"decode_context": part}))
                    here.append(cut)
                    if not cut.lost:
                        break
        looked += here
        if any(not one.lost for one in here):
            break
    held = [one for one in looked if not one.lost] or [one for one in looked if one.lost == TIGHT]
    chosen, considered = decided(ORDERS[serving.prefer], held, looked)
    own = None if declared is None else look(declared)
    if own is not None and chosen is not None and not own.lost:
        own = beaten(own, chosen, ORDERS[serving.prefer])
    left_out = tuple(one for one in LEFT_OUT if experts or not one.experts)
    return Search(declared, serving.prefer, chosen, considered, own, left_out)


def _unsearchable(serving: Serving, model: ModelProfile) -> str:
    if serving.fit.available_kv is not None:
        return "`fit.availableKv` was printed under one parallelism"
    if model.measured is not None:
        return f"the figures of {model.name} were measured under one parallelism"
    if model.architecture is None or model.parameters is None:
        return f"the profile of {model.name} says neither architecture nor parameters"
    return ""


def _divisors(number: int) -> list[int]:
    return [part for part in range(1, number + 1) if not number % part]


def _splits(
    hardware: HardwareShape, nodes: int, layers: int, *, experts: bool
) -> Iterator[Parallelism]:
    """Every way to fill so many nodes, or a part of one; those with few stages first."""
    node, domain = hardware.gpu.count, hardware.nvlink_domain
    for gpus in _divisors(node) if nodes == 1 else [nodes * node]:
        for pipeline in _divisors(gpus):
            if pipeline > layers:
                continue
            for tensor in reversed(_divisors(gpus // pipeline)):
                data = gpus // pipeline // tensor
                # A node is cut into equal parts, and an NVLink domain of several nodes taken by whole ones.
                uneven = node % tensor if tensor <= node else tensor % node
                if tensor > domain or uneven or (data > 1 and not experts):
                    continue
                for spread in (True,) if data > 1 else (False, True) if experts else (False,):
                    yield Parallelism(
                        tensor=tensor, pipeline=pipeline, data=data, expert_parallel=spread
                    )


def _apart(split: Shape, serving: Serving, hardware: HardwareShape) -> str:
    """Why ranks that share experts may not lie where they would; empty where they may.

    vLLM counts data ranks outermost, so those of a group of several nodes lie on all of them, whatever the stages.
    """
    if split.data == 1 or split.size == 1 or hardware.rdma is not None:
        return ""
    held = serving.topology is not None and serving.topology.mode == "required"
    if split.gpus <= hardware.nvlink_domain and held:
        return ""
    return f"{split.expert_ranks} ranks share experts over {split.size} nodes, and {hardware.name} declares no `rdma`"


def _verdict(memory: MemoryPlan, serving: Serving) -> tuple[str, str]:
    if memory.verdict == "does not fit":
        return "does not fit", f"short by {memory.short.human()}"
    wanted = serving.concurrency or 1
    if memory.requests < wanted and (memory.verdict == "fits" or serving.concurrency is not None):
        return "holds too little", f"{memory.requests} of {counted(wanted, 'request')}"
    if memory.verdict != "fits":
        return TIGHT, f"within the error of {memory.band.human()}"
    return "", ""


def _nothing_holds(
    found: Search, serving: Serving, hardware: HardwareShape, where: InputPath
) -> Finding:
    largest = max(one.shape.size for one in found.considered)
    near = found.considered[0]
    wanted = counted(serving.concurrency or 1, "request")
    lost = Counter(one.lost for one in found.considered)
    refused = next((one for one in found.considered if one.lost == "is refused"), None)
    fixes = []
    if near.memory is not None and near.memory.longest:
        if near.lost == "holds too little" and near.memory.requests >= 1:
            fixes.append(f"ask for a `concurrency` of {int(near.memory.requests)}")
        else:
            fixes.append(f"ask for a context of at most {near.memory.longest}")
    fixes.append("use hardware with more memory, or smaller weights")
    what = (
        f"none of {counted(len(found.considered), 'shape')} of up to {counted(largest, 'node')} of "
        f"{hardware.name} holds {wanted} of {serving.context} tokens; nearest comes "
        f"{near.parallelism.written}, which {near.lost}: {near.why}"
    )
    if refused is not None and refused is not near:
        what += f"; {lost[refused.lost]} are refused, such as {refused.parallelism.written}: {refused.why}"
    return Finding(
        code=NO_SHAPE,
        at=where,
        what=what,
        fix=f"{', or '.join(fixes)}; `gangform plan {serving.name} -o wide` says it of every shape",
        seen={
            "shapes": str(len(found.considered)),
            "nodes": str(largest),
            **{f"shapes: {reason}": str(count) for reason, count in lost.items()},
        },
    )
