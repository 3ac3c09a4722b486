"""How a replica lies on GPUs and pods, and which form runs it.

A replica that fits one node is a Deployment with the same surroundings: a group of one pod has nothing to gang, and
LeaderWorkerSet would only add a controller to it (A, B and C agree).
"""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.admission.admission import Placement
from gangform.apis.core import GPU_CLIQUE, DeploymentForm
from gangform.apis.forms import Form
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.engines.engine import Shape
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Pool
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.serving import Parallelism, Serving
from gangform.plan.figures import formula

NOT_WHOLE_NODES = declare(
    "shape-does-not-fill-nodes",
    "A replica that spans nodes needs a whole number of them",
    Severity.BREAKS,
    "design §4 Shape",
)
LEAVES_NVLINK = declare(
    "tensor-leaves-nvlink",
    "Tensor parallelism stays inside the NVLink domain",
    Severity.BREAKS,
    "design §4 Shape; engines §1.3",
)
UNPLACED = declare(
    "tensor-spans-nodes-unplaced",
    "Tensor parallelism over several nodes needs its whole group in one NVLink domain",
    Severity.BREAKS,
    "engines §1.3; volcano §9",
)
AUTO = declare(
    "parallelism-not-pinned",
    "Parallelism `auto` is resolved once and written into the file, never at synthesis",
    Severity.BREAKS,
    "design §4 Shape",
)


class Choice(NamedTuple):
    """The form that runs a serving, and why it is not another."""

    form: Form
    reason: str


def parallelism_of(serving: Serving) -> Parallelism:
    """What was declared; 1 × 1 stands in for `auto` until it is resolved (`choice`)."""
    return Parallelism() if serving.parallelism == "auto" else serving.parallelism


@formula("min(tensor x pipeline x data x prefillContext, GPUs of a node)", source="design §4 Shape")
def gpus_per_pod(world: int, node: int) -> int:
    """GPUs that one pod requests: those of a whole node, or all of a replica that is smaller."""
    return min(world, node)


@formula("ceil(tensor x pipeline x data x prefillContext / GPUs per pod)", source="design §4 Shape")
def size(world: int, per_pod: int) -> int:
    """Pods a group."""
    return -(-world // per_pod)


def derive(serving: Serving, hardware: HardwareShape) -> Shape:
    """The shape of one replica."""
    return lay(parallelism_of(serving), hardware)


def lay(split: Parallelism, hardware: HardwareShape) -> Shape:
    """How a parallelism lies on nodes."""
    world = split.tensor * split.pipeline * split.data * split.prefill_context
    per_pod = gpus_per_pod(world, hardware.gpu.count)
    return Shape(
        tensor=split.tensor,
        pipeline=split.pipeline,
        data=split.data,
        prefill_context=split.prefill_context,
        decode_context=split.decode_context,
        expert_parallel=split.expert_parallel,
        gpus_per_pod=per_pod,
        size=size(world, per_pod),
    )


def choose(serving: Serving, shape: Shape) -> Choice:
    """The form for a shape."""
    if shape.size == 1 and serving.workload is None:
        return Choice(
            form=DeploymentForm(),
            reason=f"a replica fits one node ({shape.gpus} GPUs), so each is one pod",
        )
    reason = (
        f"a replica spans {shape.size} nodes of {shape.gpus_per_pod} GPUs"
        if shape.size > 1
        else "`workload: LeaderWorkerSet` was asked for"
    )
    return Choice(form=LeaderWorkerSetForm(), reason=reason)


def placement_of(serving: Serving, pool: Pool, size: int) -> Placement | None:
    """Where a group has to be together: as declared; else preferred at the finest level above the host."""
    if serving.topology is not None:
        return Placement(serving.topology.level, serving.topology.mode)
    if size == 1 or not pool.above_host:
        return None
    return Placement(pool.above_host[-1], "preferred")


def check(serving: Serving, shape: Shape, hardware: HardwareShape, at: Path) -> Iterator[Finding]:
    """What no engine could run on this hardware."""
    node = hardware.gpu.count
    if shape.world % shape.gpus_per_pod:
        below = max(shape.world // node, 1) * node
        yield Finding(
            code=NOT_WHOLE_NODES,
            at=InputPath((*at, "parallelism")),
            what=f"tensor {shape.tensor} x pipeline {shape.pipeline} x data {shape.data} x prefillContext "
            f"{shape.prefill_context} = {shape.world} GPUs is not a multiple of the {node} GPUs of a node",
            fix=f"choose a product of {below} or {below + node}",
            seen={"gpus": str(shape.world), "node": str(node)},
        )
    if shape.tensor > hardware.nvlink_domain:
        stages = -(-shape.tensor // hardware.nvlink_domain) * shape.pipeline
        yield Finding(
            code=LEAVES_NVLINK,
            at=InputPath((*at, "parallelism", "tensor")),
            what=f"tensor {shape.tensor} is larger than the NVLink domain of {hardware.nvlink_domain} GPUs "
            f"of {hardware.name}",
            fix=f"use tensor {hardware.nvlink_domain} and pipeline {stages}, "
            "or set `nvlinkGpus` where NVLink spans nodes",
            seen={"tensor": str(shape.tensor), "domain": str(hardware.nvlink_domain)},
        )
    elif shape.world > hardware.nvlink_domain and hardware.nvlink_domain % shape.tensor:
        whole = next(n for n in range(shape.tensor, 0, -1) if not hardware.nvlink_domain % n)
        yield Finding(
            code=LEAVES_NVLINK,
            at=InputPath((*at, "parallelism", "tensor")),
            what=f"tensor {shape.tensor} does not divide the NVLink domain of {hardware.nvlink_domain} GPUs "
            f"of {hardware.name}: some of its groups lie across two domains",
            fix=f"use tensor {whole} and more pipeline stages",
            seen={"tensor": str(shape.tensor), "domain": str(hardware.nvlink_domain)},
        )
    elif shape.tensor > node:
        yield from _unplaced(serving, shape, hardware, at)


def spans_nodes_over_nvlink(shape: Shape, hardware: HardwareShape) -> bool:
    """Whether ranks that share each layer lie on several nodes, which NVLink then has to join."""
    return hardware.gpu.count < shape.tensor <= hardware.nvlink_domain


def _unplaced(
    serving: Serving, shape: Shape, hardware: HardwareShape, at: Path
) -> Iterator[Finding]:
    """Without a required level a scheduler may put the group on nodes that no NVLink joins."""
    wanted = serving.topology
    fits = shape.world <= hardware.nvlink_domain
    if fits and wanted is not None and wanted.mode == "required":
        return
    yield Finding(
        code=UNPLACED,
        at=InputPath((*at, "topology") if fits else (*at, "parallelism")),
        what=f"tensor {shape.tensor} spans nodes of {hardware.gpu.count} GPUs, and "
        + (
            "nothing keeps a group inside one NVLink domain"
            if fits
            else f"a group of {shape.world} GPUs is larger than the NVLink domain of {hardware.nvlink_domain}"
        ),
        fix=f"declare `topology: {{level: …, mode: required}}` with the NVLink domain's level, such as {GPU_CLIQUE}"
        if fits
        else f"use a product of at most {hardware.nvlink_domain} GPUs, or tensor {hardware.gpu.count}",
        seen={"tensor": str(shape.tensor), "domain": str(hardware.nvlink_domain)},
    )
