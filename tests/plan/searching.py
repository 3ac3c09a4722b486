"""What tests of the search for a shape ask of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.inputs.cluster import Cluster
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Attention, ModelProfile
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.serving import Serving
from gangform.plan.choice import Search
from gangform.plan.preference import Candidate
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeServing = Callable[..., Serving]
MakeHardware = Callable[..., HardwareShape]
MakeModel = Callable[..., ModelProfile]

MLA = Attention(kind="mla", heads=128, latent=576)
CLIQUE = "nvidia.com/gpu.clique"


Auto = Callable[..., ServingPlan]


def searched(plan: ServingPlan) -> Search:
    assert plan.search is not None
    return plan.search


def written(plan: ServingPlan) -> str:
    chosen = searched(plan).chosen
    return "" if chosen is None else chosen.parallelism.written


def lost(plan: ServingPlan, **split: Any) -> Candidate:
    """The candidate that is split so."""
    (one,) = [
        each for each in searched(plan).considered if each.parallelism == Parallelism(**split)
    ]
    return one


def gib(parameters: int, size: int) -> dict[str, Any]:
    """A dense model of so many GiB."""
    return {"parameters": parameters, "checkpoint": Bytes.gib(size)}


def every_split(gpus: int, *, experts: bool) -> list[Parallelism]:
    powers = [size for size in (1, 2, 4, 8) if size <= gpus]
    return [
        Parallelism(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            decode_context=cut,
            expert_parallel=spread,
        )
        for tensor in powers
        for pipeline in powers
        for data in powers
        for cut in powers
        for spread in ((False, True) if experts else (False,))
        if tensor * pipeline * data <= gpus
        and not tensor % cut
        and (data == 1 or spread)
        and (data == 1 or experts)
    ]
