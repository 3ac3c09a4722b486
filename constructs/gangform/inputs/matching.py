"""Which hardware shape a pool of nodes has: one that is there already, or a new one from what the nodes say.

A shape that asks for more than the nodes offer would leave groups pending; one without their fabric would send the
traffic of a group over the pod network. So a shape is taken only where all of it fits, and the largest that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gangform.apis.nodes import CAPABILITY, GPU_MEMORY, UNSEEN_MEMORY
from gangform.inputs.cluster import Library
from gangform.inputs.hardware import Gpu, HardwareShape, Taint
from gangform.inputs.observed import Observed
from gangform.inputs.spans import LoadError
from gangform.units import Bytes, Millicores

_STEP = 10 * 2**30
"""Amounts are rounded down to it, so that a node with a little less does not change the requests of every pod."""
_NEAR = 20
"""Visible memory may differ by one part of so many from what the driver reports."""
_SAID = "status.allocatable of the nodes: the least, rounded down"
_LABELS = "labels of the nodes"


class Match(NamedTuple):
    """What a pool may write as its hardware."""

    name: str = ""
    """A shape of the library; empty where none fits."""
    shape: Mapping[str, Any] = {}
    """A whole shape, as YAML has it; empty where one of the library fits, or something is missing."""
    missing: str = ""
    """What no label says and a shape needs."""


def match(pool: Observed, library: Library, name: str) -> Match:
    """The shape of a pool; `name` is what a new one is called."""
    kin = [one for one in _shapes(library) if _same_gpus(pool, one)]
    fits = [one for one in kin if not differences(pool, one)]
    if fits:
        best = max(fits, key=lambda one: (one.memory, one.cpu, one.name))
        return Match(name=best.name)
    # What labels do not say is taken from a shape of the same GPUs; one with the same fabric knows most.
    base = max(kin, key=lambda one: (_fabric_of(one) in pool.fabric, one.name), default=None)
    memory = _memory(pool, base)
    if memory is None:
        return Match(missing="visibleMemory")
    return Match(shape=dict(_written(pool, base, name, memory)))


def differences(pool: Observed, shape: HardwareShape) -> list[str]:
    """What of a shape the nodes do not bear out, both values; empty where it fits."""
    found = []
    reported = pool.label(GPU_MEMORY)
    if reported.isdecimal() and abs(int(reported) * 2**20 - shape.gpu.visible_memory) * _NEAR > int(
        reported
    ) * (2**20):
        found.append(
            f"gpu.visibleMemory {shape.gpu.visible_memory.human()}, {GPU_MEMORY} {reported} MiB"
        )
    offered = {
        "cpu": Millicores(pool.least("cpu")),
        "memory": Bytes(pool.least("memory")),
        "ephemeralStorage": Bytes(pool.least("ephemeral-storage")),
    }
    asked = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "ephemeralStorage": shape.ephemeral_storage,
    }
    found += [
        f"{key} {asked[key]}, allocatable {offered[key]}"
        for key in offered
        if asked[key] > offered[key]
    ]
    fabric = _fabric_of(shape)
    if fabric is None and pool.fabric:
        found.append(f"no rdma.resource, allocatable {pool.fabric[0][0]}")
    elif fabric is not None and dict(pool.fabric).get(fabric[0], 0) < fabric[1]:
        found.append(
            f"rdma.resource {fabric[0]}: {fabric[1]}, allocatable {dict(pool.fabric).get(fabric[0], 0)}"
        )
    tolerated = {(one.key, one.effect) for one in shape.taints}
    found += [
        f"no taint {one.key}, nodes carry it"
        for one in pool.taints
        if (one.key, one.effect) not in tolerated
    ]
    return found


def _shapes(library: Library) -> Iterator[HardwareShape]:
    for name in library.hardware:
        try:
            yield library.hardware[name]
        except LoadError:
            continue


def _same_gpus(pool: Observed, shape: HardwareShape) -> bool:
    gpu = shape.gpu
    return (gpu.product_label, gpu.product) in pool.products and (
        gpu.resource,
        gpu.count,
    ) == (pool.resource, pool.gpus)


def _fabric_of(shape: HardwareShape) -> tuple[str, int] | None:
    if shape.rdma is None or shape.rdma.resource is None:
        return None
    return shape.rdma.resource, shape.rdma.count


def _memory(pool: Observed, base: HardwareShape | None) -> tuple[Bytes, str] | None:
    if base is not None:
        source = base.sources.get("gpu.visibleMemory", f"of the shape {base.name}")
        return Bytes(base.gpu.visible_memory // 2**20 * 2**20), source
    reported = pool.label(GPU_MEMORY)
    if not reported.isdecimal():
        return None
    left = int(reported) * 2**20 - UNSEEN_MEMORY
    why = f"calculated: {GPU_MEMORY}, {reported} MiB, less 0.7 GiB, the most that CUDA was seen to lack"
    return Bytes(left // 2**20 * 2**20), why


def _written(
    pool: Observed, base: HardwareShape | None, name: str, memory: tuple[Bytes, str]
) -> Iterator[tuple[str, Any]]:
    """The fields of a shape, as they are written."""
    label, product = pool.products[0]
    if base is not None:
        label, product = base.gpu.product_label, base.gpu.product
    gpu: dict[str, Any] = {"product": product}
    sources = {"gpu.product": _LABELS, "gpu.count": "status.capacity of the nodes"}
    if label != Gpu.model_fields["product_label"].default:
        gpu["productLabel"] = label
    if pool.resource != Gpu.model_fields["resource"].default:
        gpu["resource"] = pool.resource
    gpu |= {"count": pool.gpus, "visibleMemory": str(memory[0])}
    sources["gpu.visibleMemory"] = memory[1]
    version = ".".join(filter(None, map(pool.label, CAPABILITY))) or (
        base.gpu.capability if base is not None else None
    )
    if version:
        gpu["capability"] = version
    yield "name", name
    yield "gpu", gpu
    yield "cpu", str(Millicores(pool.least("cpu") // 1000 * 1000))
    yield "memory", str(Bytes(_down(pool.least("memory"))))
    yield "ephemeralStorage", str(Bytes(_down(pool.least("ephemeral-storage"))))
    sources |= dict.fromkeys(("cpu", "memory", "ephemeralStorage"), _SAID)
    if pool.fabric:
        resource, count = pool.fabric[0]
        rdma: dict[str, Any] = {"resource": resource, "count": count}
        if base is not None and base.rdma is not None and base.rdma.resource == resource:
            more = base.rdma.model_dump(by_alias=True, exclude_unset=True, mode="json")
            rdma |= {key: more[key] for key in ("hca", "annotations") if key in more}
        yield "rdma", rdma
        sources["rdma"] = "status.allocatable of the nodes"
    elif base is not None and base.rdma is not None and base.rdma.resource is None:
        yield "rdma", base.rdma.model_dump(by_alias=True, exclude_unset=True, mode="json")
    if base is not None and base.socket_interface is not None:
        yield "socketInterface", base.socket_interface
    if pool.taints:
        taints = [
            Taint.model_validate(
                {"key": one.key, "value": one.value or None, "effect": one.effect},
                by_alias=True,
                by_name=False,
            ).model_dump(exclude_none=True)
            for one in pool.taints
        ]
        yield "taints", taints
        sources["taints"] = "spec.taints of most nodes"
    if base is not None and base.nvlink_gpus is not None:
        yield "nvlinkGpus", base.nvlink_gpus
    yield "verified", ["gpu.product", "gpu.count", "cpu", "memory", "ephemeralStorage"]
    yield "sources", sources


def _down(amount: int) -> int:
    """Rounded down, small amounts less roughly."""
    step = _STEP if amount > 10 * _STEP else _STEP // 10
    return amount // step * step
