"""Requests for launches of vLLM, and what is found in them."""

from __future__ import annotations

from typing import Any

from gangform.apis.forms import Rendezvous
from gangform.apis.versions import Release
from gangform.engines.engine import (
    LaunchRequest,
    Process,
    Shape,
)
from gangform.engines.vllm import Vllm
from gangform.findings import Finding, InputPath
from gangform.inputs.defaults import EDITIONS
from gangform.inputs.hardware import Gpu, HardwareShape, Rdma
from gangform.inputs.model import Architecture, Attention, Experts, ModelProfile
from gangform.inputs.serving import Engine as EngineOptions
from gangform.units import Bytes, Millicores, Seconds

HARDWARE = HardwareShape(
    name="h100-8x",
    gpu=Gpu(
        product="NVIDIA-H100-80GB-HBM3",
        count=8,
        visible_memory=Bytes.gib("79.19"),
        capability="9.0",
    ),
    cpu=Millicores(190_000),
    memory=Bytes.gib(1900),
    ephemeral_storage=Bytes.gib(6000),
    rdma=Rdma(resource="rdma/ib", hca="ibp"),
    socket_interface="eth0",
)
A100 = HARDWARE.model_copy(
    update={
        "gpu": HARDWARE.gpu.model_copy(
            update={"capability": "8.0", "visible_memory": Bytes.gib("79.2")}
        )
    }
)
GROUP = Rendezvous(
    address="$(LWS_LEADER_ADDRESS)", rank="$(LWS_WORKER_INDEX)", size="$(LWS_GROUP_SIZE)"
)


def model(
    *,
    weights: Any = "fp8",
    block: int | None = 128,
    heads: int = 128,
    kv_heads: int | None = None,
    head_dim: int = 128,
    vocabulary: int = 129280,
    dense_width: int | None = 18432,
    dense_layers: int | None = 3,
    experts: Experts | None = None,
    parameters: int = 671_026_419_200,
    limit: int = 163840,
) -> ModelProfile:
    attention = (
        Attention(kind="mla", heads=heads, latent=576)
        if kv_heads is None
        else Attention(kind="gqa", heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    )
    return ModelProfile(
        name="m",
        repository="org/m",
        weights=weights,
        quantization_block=block,
        checkpoint=Bytes(parameters),
        parameters=parameters,
        context_limit=limit,
        architecture=Architecture(
            layers=61,
            hidden=7168,
            vocabulary=vocabulary,
            attention=attention,
            dense_width=dense_width,
            dense_layers=dense_layers,
            experts=experts,
        ),
    )


R1 = model(experts=Experts(routed=256, active=8, width=2048, shared=1))
DENSE = model(
    weights="bf16", block=None, kv_heads=8, heads=64, vocabulary=128256, dense_layers=None
)


def ask(
    profile: ModelProfile = R1,
    *,
    version: str = "0.32.0",
    tensor: int = 8,
    pipeline: int = 1,
    data: int = 1,
    prefill_context: int = 1,
    decode_context: int = 1,
    expert_parallel: bool = False,
    size: int | None = None,
    args: tuple[str, ...] = (),
    hardware: HardwareShape = HARDWARE,
    context: int = 32768,
    **options: Any,
) -> LaunchRequest:
    world = tensor * pipeline * data * prefill_context
    size = size or -(-world // 8)
    return LaunchRequest(
        at=("servings", "r1"),
        options=EngineOptions(version=version, args=args, **options),
        release=Release.parse(version),
        model=profile,
        hardware=hardware,
        shape=Shape(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            prefill_context=prefill_context,
            decode_context=decode_context,
            expert_parallel=expert_parallel,
            gpus_per_pod=min(8, world // size),
            size=size,
        ),
        context=context,
        served_name="deepseek-r1",
        model_reference="deepseek-ai/DeepSeek-R1",
        cache_home="/cache",
        token=("hub-token", "token"),
        rendezvous=GROUP if size > 1 else None,
        startup_budget=Seconds(2705),
        defaults=EDITIONS[1],
    )


def container(process: Process) -> dict[str, Any]:
    return {"name": "vllm", "command": list(process.command), "args": list(process.args)}


def ids(request: LaunchRequest) -> list[str]:
    return [found.code.id for found in Vllm().check(request)]


def only(request: LaunchRequest, code: str) -> Finding:
    (found,) = (found for found in Vllm().check(request) if found.code.id == code)
    return found


def place(found: Finding) -> str:
    assert isinstance(found.at, InputPath)
    assert found.at.path[:2] == ("servings", "r1")
    return ".".join(map(str, found.at.path[2:]))


EXPERTS_1536 = model(
    heads=64,
    kv_heads=4,
    vocabulary=151936,
    dense_width=None,
    dense_layers=0,
    experts=Experts(routed=128, active=8, width=1536),
)
