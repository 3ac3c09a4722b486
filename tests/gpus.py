"""A GPU to fill: how a replica is cut, what an engine says of its memory, and a node, each but for what a test says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gangform.engines.engine import MemoryTerms, Shape
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.units import Bytes, Millicores


def split(**changes: Any) -> Shape:
    """One GPU of eight."""
    given: dict[str, Any] = {
        "tensor": 1,
        "pipeline": 1,
        "data": 1,
        "prefill_context": 1,
        "decode_context": 1,
        "expert_parallel": False,
        "gpus_per_pod": 8,
        "size": 1,
    }
    return Shape(**{**given, **changes})


def terms(**changes: Any) -> MemoryTerms:
    """0.9 of a GPU, 6 GiB of overhead known to 1 GiB, and blocks of 16 tokens of two bytes an element."""
    given: dict[str, Any] = {
        "utilization": Decimal("0.9"),
        "overhead": Bytes.gib(6),
        "band": Bytes.gib(1),
        "block": 16,
        "cache_element": Decimal(2),
        "source": "here",
    }
    return MemoryTerms(**{**given, **changes})


def node(visible: Bytes | str | int = 80, **gpu: Any) -> HardwareShape:
    """Eight GPUs, of which CUDA reports so many GiB each."""
    size = visible if isinstance(visible, Bytes) else Bytes.gib(visible)
    return HardwareShape(
        name="node",
        gpu=Gpu(**{"product": "any", "count": 8, "visible_memory": size, **gpu}),
        cpu=Millicores(100_000),
        memory=Bytes.gib(1000),
        ephemeral_storage=Bytes.gib(1000),
    )
