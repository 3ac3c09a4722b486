"""vLLM's start-up refusals, found before anything is emitted (`engines §1.2`).

Every check is a generator of findings over one request; a check that lacks a figure is silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gangform.apis.versions import Release
from gangform.engines import vllm_flags as vf
from gangform.engines import vllm_partition, vllm_unread
from gangform.engines.engine import LaunchRequest
from gangform.engines.vllm_args import check_arguments, found, own, redundant_experts
from gangform.findings import Code, Finding, Severity, declare, either
from gangform.units import Bytes

if TYPE_CHECKING:
    from gangform.inputs.model import Architecture, ModelProfile

BREAKS, DEGRADES, STYLE = Severity.BREAKS, Severity.DEGRADES, Severity.STYLE

HEADS = declare(
    "tensor-does-not-divide-heads",
    "Tensor parallelism cuts attention by heads; the engine refuses a rest.",
    BREAKS,
    "engines §1.2",
)
VOCABULARY = declare(
    "tensor-does-not-divide-vocabulary",
    "Tensor parallelism cuts the embedding by rows; the engine refuses a rest.",
    BREAKS,
    "engines §1.2",
)
KV_HEADS = declare(
    "tensor-does-not-divide-kv-heads",
    "Key/value heads are cut over tensor ranks or copied to them, each evenly.",
    BREAKS,
    "engines §6.1",
)
PIPELINE = declare(
    "pipeline-longer-than-model",
    "A pipeline stage holds one layer at least.",
    BREAKS,
    "engines §1.1; vLLM: get_pp_indices",
)
BLOCKS = declare(
    "fp8-block-is-cut",
    "A rank's part of a block-wise FP8 matrix must be whole blocks.",
    BREAKS,
    "engines §1.2",
)
EXPERTS = declare(
    "experts-do-not-divide",
    "Experts, redundant ones included, must be the same number on every expert-parallel rank.",
    BREAKS,
    "engines §1.1; inputs/model.py, Experts.routed",
)
NO_EXPERTS = declare(
    "no-experts",
    "Data and expert parallelism inside a group are for mixture-of-experts models only.",
    BREAKS,
    "engines §1.2",
)
DATA_CUTS = declare(
    "data-rank-cuts-pod",
    "Data-parallel ranks fill whole pods, or pods hold whole ranks.",
    BREAKS,
    "engines §1.2",
)
DECODE_CONTEXT = declare(
    "decode-context-does-not-fit",
    "decodeContext shares the cache of tensor ranks: it divides tensor, and uses only ranks with copied heads.",
    BREAKS,
    "engines §1.1; design §4 Shape",
)
PREFILL_DATA = declare(
    "prefill-context-with-data",
    "prefillContext cannot be combined with data parallelism.",
    BREAKS,
    "engines §1.1",
)
TOO_OLD = declare(
    "release-cannot-span-nodes",
    "The release has no flags to span nodes without Ray.",
    BREAKS,
    "engines §0, §1.1",
)
MISCOUNTS = declare(
    "release-miscounts-devices",
    "A start over several nodes miscounts devices in this release.",
    DEGRADES,
    "engines §0, §1.1",
)
NOT_RECOMMENDED = declare(
    "release-not-recommended",
    "Later releases fixed faults of groups over several nodes.",
    STYLE,
    "engines §1.1",
)
FLAG_TOO_NEW = declare(
    "flag-newer-than-release",
    "An input needs a flag that the declared release is not known to have.",
    BREAKS,
    "design §4 Engine; engines §1.1",
)
NO_FP8_UNITS = declare(
    "fp8-without-native-units",
    "The GPUs have no FP8 units: the weights are kept at one byte and widened as they are used, slower.",
    DEGRADES,
    "inputs/hardware.py, Gpu.capability",
)
CONTEXT = declare(
    "context-beyond-model",
    "The engine refuses a context longer than the model was made for.",
    BREAKS,
    "inputs/model.py, ModelProfile.context_limit",
)
UTILIZATION = declare(
    "utilization-unusual",
    "Nearly all of a GPU leaves nothing for contexts and graphs; less than half wastes it.",
    DEGRADES,
    "engines §6.1, §6.3",
)
WHOLE = declare(
    "utilization-beyond-free",
    "An engine that wants more of a GPU than is free at its start ends; its own context alone takes some.",
    BREAKS,
    "vLLM: request_memory; pytorch/pytorch#175666",
)


_ASKS_FIRST = Release(0, 9, 1)
"""Since then vLLM compares what it wants with what is free (vllm-project/vllm#20305 shows it)."""
_TRIES = 1024
"""Sizes that are looked at to name a better one: more ranks than any model is cut by."""


class _Cut(NamedTuple):
    """A width that ranks share."""

    what: str
    width: int
    ranks: int


def check(ask: LaunchRequest) -> Iterator[Finding]:
    """Everything that this release of the engine would refuse or do badly."""
    yield from _release(ask)
    if ask.model.architecture is not None:
        yield from _tensor(ask, ask.model.architecture)
        yield from _pipeline(ask, ask.model.architecture)
        yield from vllm_partition.check(ask, ask.model.architecture)
        yield from _blocks(ask, ask.model.architecture)
        yield from _experts(ask, ask.model.architecture)
    yield from _context_parallel(ask)
    yield from _data_over_pods(ask)
    yield from _memory(ask)
    yield from check_arguments(ask)
    yield from vllm_unread.check(ask)


def _release(ask: LaunchRequest) -> Iterator[Finding]:
    release, at = ask.release, "engine.version"
    upgrade = f"use {vf.RECOMMENDED} or newer"
    if ask.shape.size > 1:
        group = f"vLLM {release} and groups of {ask.shape.size} pods"
        if release < vf.SPANS_NODES:
            what = f"{group}: --nnodes is there from {vf.SPANS_NODES}"
            yield found(ask, TOO_OLD, at, what, upgrade)
        elif release < vf.COUNTS_DEVICES:
            what = f"{group}: devices of several nodes are miscounted before {vf.COUNTS_DEVICES}"
            yield found(ask, MISCOUNTS, at, what, upgrade)
        elif release < vf.RECOMMENDED:
            what = f"{group}: {vf.RECOMMENDED} has further fixes for several nodes"
            yield found(ask, NOT_RECOMMENDED, at, what, upgrade)
    shape = ask.shape
    wanted = [
        ("parallelism.data", "--data-parallel-size", shape.data > 1),
        ("parallelism.data", vf.DATA_OVER_NODES, shape.data > 1 and ask.shape.size > 1),
        (
            "parallelism.prefillContext",
            "--prefill-context-parallel-size",
            shape.prefill_context > 1,
        ),
        ("parallelism.decodeContext", "--decode-context-parallel-size", shape.decode_context > 1),
        ("parallelism.expertParallel", "--enable-expert-parallel", shape.expert_parallel),
        ("engine.kvCacheType", "--kv-cache-dtype", ask.options.kv_cache_type != "auto"),
    ]
    for field, flag, needed in wanted:
        if needed and not vf.FLAGS.has(flag, release):
            since = vf.FLAGS.rows[flag].since
            what = (
                f"{field} needs {flag}, which is certain from vLLM {since}; declared is {release}"
            )
            fix = f"declare {since} or newer, or leave {field} out"
            yield found(ask, FLAG_TOO_NEW, field, what, fix, flag=flag, since=since)


def _tensor(ask: LaunchRequest, model: Architecture) -> Iterator[Finding]:
    tensor = ask.shape.tensor
    for code, what in _tensor_faults(model, tensor):
        yield found(ask, code, "parallelism.tensor", what, _other_tensor(ask), tensor=tensor)


def _pipeline(ask: LaunchRequest, model: Architecture) -> Iterator[Finding]:
    stages = ask.shape.pipeline
    if stages > model.layers:
        what = f"pipeline {stages}, and {ask.model.name} has {model.layers} layers"
        fix = f"use pipeline {model.layers} or less"
        yield found(ask, PIPELINE, "parallelism.pipeline", what, fix, layers=model.layers)


def _tensor_faults(model: Architecture, tensor: int) -> Iterator[tuple[Code, str]]:
    heads, kv_heads = model.attention.heads, model.attention.kv_heads
    if heads % tensor:
        yield HEADS, f"tensor {tensor} does not divide {heads} attention heads"
    if model.vocabulary % tensor:
        yield VOCABULARY, f"tensor {tensor} does not divide the vocabulary of {model.vocabulary}"
    if model.attention.kind == "gqa" and kv_heads and kv_heads % tensor and tensor % kv_heads:
        what = f"tensor {tensor} and {kv_heads} key/value heads: neither divides the other"
        yield KV_HEADS, what


def _cuts(ask: LaunchRequest, model: Architecture, *, tensor: int, whole: bool) -> Iterator[_Cut]:
    """Widths that ranks share; `whole`: experts are not cut.

    Without expert parallelism vLLM cuts experts over data and prefill-context ranks too. Shared experts are cut over
    tensor ranks, but for expert parallelism together with data parallelism, where each rank may keep them whole.
    """
    attention, experts = model.attention, model.experts
    if model.dense_width and model.without_experts:
        yield _Cut("dense layers", model.dense_width, tensor)
    if experts is not None:
        replicas = ask.shape.data * ask.shape.prefill_context
        if not whole:
            yield _Cut("experts", experts.width, tensor * replicas)
        if experts.shared and not (whole and ask.shape.data > 1):
            yield _Cut("shared experts", experts.shared * experts.width, tensor)
    if attention.kind == "gqa" and attention.kv_heads and attention.head_dim:
        yield _Cut("query projection", attention.heads * attention.head_dim, tensor)
        ranks = min(tensor, attention.kv_heads)
        yield _Cut("key and value projection", attention.kv_heads * attention.head_dim, ranks)


def _cut_blocks(
    ask: LaunchRequest, model: Architecture, *, tensor: int, whole: bool
) -> Iterator[_Cut]:
    block = ask.model.quantization_block
    if block is None or ask.model.weights != "fp8":
        return
    for cut in _cuts(ask, model, tensor=tensor, whole=whole):
        if cut.ranks > 1 and (cut.width % cut.ranks or cut.width // cut.ranks % block):
            yield cut


def _blocks(ask: LaunchRequest, model: Architecture) -> Iterator[Finding]:
    block, shape = ask.model.quantization_block or 1, ask.shape
    whole = shape.expert_parallel
    for cut in _cut_blocks(ask, model, tensor=shape.tensor, whole=whole):
        share = Fraction(cut.width, cut.ranks)
        what = (
            f"{cut.what}: {cut.width} over {cut.ranks} ranks is {float(share):g} = "
            f"{float(share / block):g} blocks of {block}"
        )
        fix = _other_tensor(ask)
        if cut.what == "experts":
            rest = _expert_count(ask, model) % (shape.tensor * shape.data * shape.prefill_context)
            others = list(_cut_blocks(ask, model, tensor=shape.tensor, whole=True))
            if not rest and not others:
                fix += ", or set parallelism.expertParallel: true, which keeps experts whole"
        yield found(ask, BLOCKS, "parallelism.tensor", what, fix, width=cut.width, ranks=cut.ranks)


def _other_tensor(ask: LaunchRequest) -> str:
    """The nearest sizes below and above that this model can be cut by."""
    model, tensor = ask.model.architecture, ask.shape.tensor

    def works(size: int) -> bool:
        return model is None or not (
            any(_tensor_faults(model, size))
            or any(_cut_blocks(ask, model, tensor=size, whole=ask.shape.expert_parallel))
        )

    most = min(tensor - 1, _TRIES)
    below = next((size for size in range(most, 0, -1) if works(size)), None)
    above = next(
        (size for size in range(tensor + 1, min(2 * tensor, _TRIES) + 1) if works(size)), None
    )
    sizes = [str(size) for size in (below, above) if size is not None]
    return f"use tensor {either(sizes)}" if sizes else "use another model or number format"


def _expert_count(ask: LaunchRequest, model: Architecture) -> int:
    routed = model.experts.routed if model.experts else 0
    return routed + redundant_experts(own(ask))


def _experts(ask: LaunchRequest, model: Architecture) -> Iterator[Finding]:
    shape, name = ask.shape, ask.model.name
    if model.experts is None:
        if shape.data > 1:
            what = f"data {shape.data}, and {name} has no experts: the engine asks for separate servers"
            fix = f"set parallelism.data: 1 and {shape.data} times the groups"
            yield found(ask, NO_EXPERTS, "parallelism.data", what, fix, data=shape.data)
        if shape.expert_parallel:
            what, fix = f"{name} has no experts to spread", "leave expertParallel out"
            yield found(ask, NO_EXPERTS, "parallelism.expertParallel", what, fix)
        return
    ranks = shape.tensor * shape.data * shape.prefill_context
    routed, count = model.experts.routed, _expert_count(ask, model)
    if shape.expert_parallel and count % ranks:
        sum_ = f"{routed} + {count - routed} redundant" if count > routed else f"{routed}"
        what = f"{sum_} experts over {ranks} ranks is {count / ranks:.4g} a rank"
        more = -routed % ranks
        fix = (
            f"use a number of ranks that divides {routed}, or add {more} redundant experts in engine.args: "
            f'--enable-eplb, --eplb-config={{"num_redundant_experts": {more}}}'
        )
        yield found(ask, EXPERTS, "parallelism.expertParallel", what, fix, experts=count)


def _context_parallel(ask: LaunchRequest) -> Iterator[Finding]:
    shape = ask.shape
    tensor, decode, at = shape.tensor, shape.decode_context, "parallelism.decodeContext"
    if tensor % decode:
        what = f"decodeContext {decode} does not divide tensor {tensor}"
        most = min(decode, tensor, _TRIES)
        divisor = next(size for size in range(most, 0, -1) if tensor % size == 0)
        yield found(ask, DECODE_CONTEXT, at, what, f"use decodeContext {divisor}")
    elif decode > 1 and ask.model.architecture is not None:
        kv_heads = ask.model.architecture.attention.kv_heads
        # One latent counts as one head: every tensor rank has a copy.
        copies = tensor // kv_heads if kv_heads else tensor
        if ask.model.architecture.attention.kind == "gqa" and decode > copies:
            what = (
                f"decodeContext {decode}, and tensor {tensor} holds each of {kv_heads} key/value heads "
                f"{max(copies, 1)} times"
            )
            yield found(ask, DECODE_CONTEXT, at, what, f"use decodeContext {max(copies, 1)}")
    if shape.prefill_context > 1 and shape.data > 1:
        what = f"prefillContext {shape.prefill_context} together with data {shape.data}"
        yield found(ask, PREFILL_DATA, "parallelism.prefillContext", what, "set one of them to 1")


def _data_over_pods(ask: LaunchRequest) -> Iterator[Finding]:
    shape = ask.shape
    rank, pod = shape.tensor * shape.pipeline * shape.prefill_context, shape.gpus_per_pod
    if ask.shape.size > 1 and shape.data > 1 and rank % pod and pod % rank:
        what = f"one data rank takes {rank} GPUs and a pod has {pod}: neither divides the other"
        fix = f"let tensor × pipeline divide {pod} or be a multiple of it"
        yield found(ask, DATA_CUTS, "parallelism.data", what, fix, rank=rank, pod=pod)


def _memory(ask: LaunchRequest) -> Iterator[Finding]:
    limit, flags = ask.model.context_limit, own(ask)
    stretched = any(one.flag.split(".")[0] in ("--hf-overrides", "--rope-scaling") for one in flags)
    if ask.context > limit and not stretched:
        what = (
            f"context {ask.context} is beyond the {limit} tokens that {ask.model.name} was made for"
        )
        fix = f"use context {limit} or less, or stretch the model by --hf-overrides in engine.args"
        yield found(ask, CONTEXT, "context", what, fix, context=ask.context, limit=limit)
    share = ask.options.utilization
    if share == 1 and ask.release >= _ASKS_FIRST:
        what = f"utilization {share} wants all of each GPU, and the engine's own context takes some before it looks"
        fix = "use 0.85 to 0.95, or leave it out"
        yield found(ask, WHOLE, "engine.utilization", what, fix, utilization=share)
    elif share is not None and not Decimal("0.5") <= share <= Decimal("0.97"):
        left = Bytes(ask.hardware.gpu.visible_memory * (1 - Fraction(share)))
        what = f"utilization {share} leaves {left.human()} of each GPU outside the engine's share"
        fix = "use 0.85 to 0.95, or leave it out"
        yield found(ask, UTILIZATION, "engine.utilization", what, fix, utilization=share)
    gpu = ask.hardware.gpu
    if ask.model.weights == "fp8" and gpu.capability and _capability(gpu.capability) < (8, 9):
        one = _weights(ask.model)
        part = Fraction(share or vf.default_utilization(ask.release))
        offered = Bytes(ask.shape.gpus * gpu.visible_memory * part)
        what = (
            f"FP8 weights on {ask.shape.gpus} GPUs of capability {gpu.capability}, without FP8 units: kept at one byte "
            f"a weight they take {one.human()} and run slower, widened to bf16 {Bytes(2 * one).human()}; "
            f"offered are {offered.human()}"
        )
        fix = "measure before you rely on it, or use GPUs of capability 8.9 or more"
        yield found(ask, NO_FP8_UNITS, "pool", what, fix, fp8=one, bf16=Bytes(2 * one))


def _weights(model: ModelProfile) -> Bytes:
    return Bytes(model.parameters) if model.parameters else model.checkpoint


def _capability(text: str) -> tuple[int, ...]:
    """`"9.0"` as numbers; what cannot be read counts as new."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else (99,)
