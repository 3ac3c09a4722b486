"""What vLLM says of the memory of a request, for models that differ by what a test says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests import gpus
from tests.gpus import node

from gangform.apis.versions import Release
from gangform.engines.engine import LaunchRequest, MemoryTerms
from gangform.engines.vllm import Vllm
from gangform.inputs.defaults import EDITIONS
from gangform.inputs.model import (
    Architecture,
    Attention,
    Experts,
    ModelProfile,
)
from gangform.inputs.serving import Engine
from gangform.units import Bytes, Seconds

GIB = 2**30
GQA = Attention(kind="gqa", heads=32, kv_heads=8, head_dim=128)
LATENT = Attention(kind="mla", heads=128, latent=576)


def model(**changes: Any) -> ModelProfile:
    """Llama-3.1-8B but for what is changed."""
    shape: dict[str, Any] = {
        "layers": 32,
        "hidden": 4096,
        "vocabulary": 128_256,
        "attention": GQA,
        "dense_width": 14_336,
        **changes.pop("architecture", {}),
    }
    given: dict[str, Any] = {
        "name": "m",
        "repository": "org/m",
        "weights": "bf16",
        "checkpoint": Bytes(16_060_522_496),
        "parameters": 8_030_261_248,
        "context_limit": 131_072,
        "architecture": Architecture(**shape),
    }
    return ModelProfile(**{**given, **changes})


def mixture(**experts: Any) -> ModelProfile:
    """Qwen3-30B-A3B but for what is changed."""
    counts = {"routed": 128, "active": 8, "width": 768, **experts}
    return model(
        architecture={
            "hidden": 2048,
            "vocabulary": 151_936,
            "dense_width": None,
            "experts": Experts(**counts),
        }
    )


def terms(
    profile: ModelProfile | None = None,
    *,
    version: str = "0.19.0",
    visible: str = "79.18",
    product: str = "NVIDIA-H100-80GB-HBM3",
    unified: bool = False,
    context: int = 8192,
    args: tuple[str, ...] = (),
    options: Any = None,
    variables: Mapping[str, str] | None = None,
    **split: Any,
) -> MemoryTerms:
    return Vllm().memory(
        LaunchRequest(
            at=("servings", "m"),
            options=Engine(version=version, args=args, **(options or {})),
            release=Release.parse(version),
            model=profile or model(),
            hardware=node(visible, product=product, unified=unified),
            shape=gpus.split(**split),
            context=context,
            served_name="m",
            model_reference="org/m",
            cache_home=None,
            token=None,
            rendezvous=None,
            startup_budget=Seconds(600),
            defaults=EDITIONS[1],
            variables=variables or {},
        )
    )


def gib(size: int) -> Decimal:
    return (Decimal(size) / GIB).quantize(Decimal("0.01"))


def part(found: MemoryTerms, name: str) -> Decimal:
    return gib(next(one.size for one in found.parts if one.name == name))
