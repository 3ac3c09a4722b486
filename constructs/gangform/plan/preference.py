"""What decides between shapes: the respects in which they are compared, in the order of a declared preference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from gangform.engines.engine import Shape
from gangform.inputs.parallelism import Parallelism, Preference
from gangform.plan.memory import MemoryPlan

TIGHT = "fits tightly"


class Candidate(NamedTuple):
    """One shape that was looked at."""

    parallelism: Parallelism
    shape: Shape
    memory: MemoryPlan | None
    """`None` where it lost before."""
    lost: str
    """In which respect it lost, in words that are the same for all of a kind; empty for the chosen one."""
    why: str
    """The same with its figures."""


class _Criterion(NamedTuple):
    """One respect in which shapes that hold the load are compared; less is better."""

    lost: str
    """What the loser is."""
    words: str
    """How its value is said."""
    measure: Callable[[Shape, MemoryPlan], Fraction | int]
    value: Callable[[Shape, MemoryPlan], object] | None = None
    """What is shown, where it is not what is compared."""

    def said(self, split: Shape, memory: MemoryPlan) -> str:
        """The value as people read it."""
        return str((self.value or self.measure)(split, memory))


_GPUS = _Criterion("takes more GPUs", "{}", lambda s, _: s.gpus)
_NODES = _Criterion("takes more nodes", "{}", lambda s, _: s.size)
STAGES = _Criterion("has more stages", "pipeline {}", lambda s, _: s.pipeline)
_SEQUENCES = _Criterion(
    "cuts sequences without need", "decodeContext {}", lambda s, _: s.decode_context
)
_DATA = _Criterion("has more data ranks", "data {}", lambda s, _: s.data)
_REQUESTS = _Criterion(
    "holds fewer requests",
    "{}",
    lambda _, memory: -Fraction(memory.requests),
    lambda _, memory: memory.requests,
)
_EXPERTS = _Criterion(
    "spreads experts without need",
    "{}",
    lambda s, _: int(s.expert_parallel),
    lambda s, _: "whole experts" if s.expert_parallel else "a part of each",
)
_TENSOR = _Criterion(
    "has fewer tensor ranks", "tensor {}", lambda s, _: -s.tensor, lambda s, _: s.tensor
)

ORDERS: dict[Preference, tuple[_Criterion, ...]] = {
    "fewestGpus": (_GPUS, _NODES, STAGES, _SEQUENCES, _REQUESTS, _DATA, _EXPERTS, _TENSOR),
    "fewestNodes": (_NODES, STAGES, _SEQUENCES, _REQUESTS, _GPUS, _DATA, _EXPERTS, _TENSOR),
    "tensorFirst": (_GPUS, _NODES, STAGES, _DATA, _SEQUENCES, _REQUESTS, _EXPERTS, _TENSOR),
}


def decided(
    order: Sequence[_Criterion], held: Sequence[Candidate], looked: Sequence[Candidate]
) -> tuple[Candidate | None, tuple[Candidate, ...]]:
    """The best of those that hold the load; and all, with what each lacks beside it."""

    def rank(one: Candidate) -> tuple[Fraction | int, ...]:
        return tuple(each.measure(one.shape, one.memory) for each in order if one.memory)

    if not held:
        return None, tuple(sorted(looked, key=_distance))
    kept = {id(one) for one in held}
    best, *others = sorted(held, key=rank)
    behind = [beaten(one, best, order) for one in others]
    rest = sorted((one for one in looked if id(one) not in kept), key=_distance)
    chosen = best._replace(lost="", why="")
    return chosen, (chosen, *behind, *rest)


def beaten(one: Candidate, best: Candidate, order: Iterable[_Criterion]) -> Candidate:
    """The first respect in which it is behind."""
    if one.memory is None or best.memory is None:
        return one
    pair = (one.shape, one.memory), (best.shape, best.memory)
    for each in order:
        mine, other = (each.measure(*side) for side in pair)
        if mine != other:
            said, instead = (each.said(*side) for side in pair)
            return one._replace(
                lost=each.lost, why=f"{each.words.format(said)} instead of {instead}"
            )
    return one


_NEAR = (
    TIGHT,
    "holds too little",
    "does not fit",
    STAGES.lost,
    "leaves the fabric",
    "is refused",
)


def _distance(one: Candidate) -> tuple[int, tuple[int, int], Fraction, int, bool, str]:
    """How far a shape is from holding the load, the nearest first."""
    lacks, requests = (one.memory.short, one.memory.requests) if one.memory else (0, 0)
    stages = (-one.shape.gpus, one.shape.pipeline) if one.lost == STAGES.lost else (0, 0)
    near, split = _NEAR.index(one.lost), one.parallelism
    return (near, stages, -Fraction(requests), int(lacks), split.expert_parallel, split.written)
