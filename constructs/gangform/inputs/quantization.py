"""How the weights of a published checkpoint are stored: which classes of them are quantized, and what one takes.

Bytes a weight with its scales (`engines §5.2`): fp8 1 and four for each block of a side, int4 0.5 and two for each
group, mxfp4 0.53125, nvfp4 0.5625.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from gangform.inputs.model import WeightType


class Format(NamedTuple):
    """A number format as stored."""

    name: WeightType
    each: Fraction
    """Bytes a weight."""
    block: int | None = None
    """Side of a block of block-wise FP8."""


BF16 = Format("bf16", Fraction(2))
FP32 = Format("fp32", Fraction(4))
MXFP4 = Format("mxfp4", Fraction(17, 32))
NVFP4 = Format("nvfp4", Fraction(9, 16))
FP8 = Format("fp8", Fraction(1))
MXFP8 = Format("fp8", 1 + Fraction(1, 32))

MODULES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "experts": ((".mlp.experts.0.gate_proj", ".block_sparse_moe.experts.0.w1", ".ffn.experts.0.w1",
                 ".mixer.experts.0.up_proj", ".feed_forward.experts.0.gate_proj"),),
    "attention": (
        (".self_attn.q_b_proj", ".self_attn.q_proj", ".attn.wq_b", ".linear_attn.in_proj_qkv", ".mixer.in_proj"),
        (".self_attn.o_proj", ".attn.wo_b", ".linear_attn.out_proj", ".mixer.out_proj"),
    ),
    "replicated": ((".self_attn.q_a_proj", ".attn.wq_a"), (".self_attn.kv_a_proj_with_mqa", ".attn.wkv")),
    "dense": ((".mlp.shared_experts.up_proj", ".ffn.shared_experts.w1", ".mixer.shared_experts.up_proj",
               ".mlp.shared_expert.up_proj", ".block_sparse_moe.shared_experts.up_proj"),),
    "plain": ((".mlp.up_proj", ".feed_forward.up_proj"),),
}  # fmt: skip
"""Projections that speak for a class, each under its names in one engine's code or another."""


@dataclass(frozen=True)
class Storage:
    """How each class of weights is stored."""

    plain: Format
    """What is never quantized: tables, routers, norms."""
    quantized: Format | None
    excluded: tuple[str, ...] = ()
    """Names and patterns of what is not, as written."""
    experts: Format | None = None
    """Where experts have a format of their own."""
    layers: Mapping[str, Format] = field(default_factory=dict)
    """Where the format is said layer by layer; what is not named is plain."""

    def mean(self, kind: str, layers: range, having: int) -> tuple[Fraction, Format]:
        """Bytes a weight of a class, over all layers that have it; and the format of most.

        Args:
            kind: The class, as in `MODULES`.
            layers: Those that may have weights of the class.
            having: How many of them do.
        """
        if self.experts is not None and kind == "experts":
            return self.experts.each, self.experts
        usual = self.plain if self.layers or self.quantized is None else self.quantized
        found: Counter[Format] = Counter()
        for names in MODULES[kind]:
            said = [one for at in layers if (one := self._said(names, at)) is not None][:having]
            found.update(said)
            found[usual] += having - len(said)
        used = {one: count for one, count in found.items() if count}
        total = sum(used.values())
        each = sum((one.each * count for one, count in used.items()), Fraction(0)) / max(1, total)
        return each, max(used, key=lambda one: (used[one], -one.each), default=usual)

    def _said(self, names: Sequence[str], layer: int) -> Format | None:
        """What is said of projections of a layer, beside what holds where nothing is said."""
        modules = [f"{head}layers.{layer}{name}" for name in names for head in _HEADS]
        if self.layers:
            known = (self.layers.get(part) for module in modules for part in _prefixes(module))
            return next((one for one in known if one is not None), None)
        if self.quantized is None:
            return None
        return self.plain if any(map(self._excluded, modules)) else None

    @cached_property
    def _excluded(self) -> Callable[[str], bool]:
        """Whether a module is not quantized; names are looked up, patterns tried."""
        names = {one for one in self.excluded if "." in one and "*" not in one}
        words = {one for one in self.excluded if "." not in one and "*" not in one}
        patterns = [*_patterns(self.excluded)]

        def excluded(module: str) -> bool:
            return (
                any(part in names for part in _prefixes(module))
                or not words.isdisjoint(module.split("."))
                or any(pattern.match(module) for pattern in patterns)
            )

        return excluded


_HEADS = ("model.", "", "language_model.model.", "model.language_model.", "backbone.")


def _prefixes(module: str) -> Iterator[str]:
    """A module, and what it is part of."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def _patterns(written: Sequence[str]) -> Iterator[re.Pattern[str]]:
    globs = [one for one in written if "*" in one and not one.startswith("re:")]
    if globs:
        # A pattern excludes what lies below what it matches, too.
        each = (f"(?:{translate(one)}|{translate(one + '.*')})" for one in globs)
        yield re.compile("|".join(each))
    for one in written:
        if one.startswith("re:"):
            try:
                yield re.compile(one.removeprefix("re:"))
            except (re.error, OverflowError, RecursionError):
                continue


def storage(config: Mapping[str, Any], beside: Mapping[str, Any]) -> Storage | str:
    """How a checkpoint is stored; or, in words, what is not known of it.

    Args:
        config: `config.json`.
        beside: `hf_quant_config.json`, which NVIDIA's tool writes; empty where there is none.
    """
    text = config.get("text_config")
    inner: Mapping[str, Any] = text if isinstance(text, Mapping) else {}
    kind = next(
        (
            one
            for part in (inner, config)
            for key in ("dtype", "torch_dtype")
            if (one := part.get(key))
        ),
        "bfloat16",
    )
    plain = FP32 if kind == "float32" else BF16
    said = beside.get("quantization") or config.get("quantization_config")
    said = said or inner.get("quantization_config")
    if not isinstance(said, Mapping):
        return Storage(plain, None)
    excluded = tuple(_excluded(said))
    algorithm = str(said.get("quant_algo") or "").upper()
    if algorithm == "MIXED_PRECISION":
        listed = said.get("quantized_layers")
        layers = _by_layer(listed if isinstance(listed, Mapping) else {})
        if layers:
            return Storage(plain, None, excluded, layers=layers)
    for recognised in (_by_method, _by_algorithm):
        quantized = recognised(said)
        if quantized is not None:
            return Storage(plain, quantized, excluded, _expert_format(config, inner, said))
    method = said.get("quant_method") or algorithm or "one without a name"
    return f"the quantization {method} of its weights"


def _excluded(said: Mapping[str, Any]) -> Iterator[str]:
    for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules"):
        listed = said.get(key)
        if isinstance(listed, list):
            yield from (one for one in listed if isinstance(one, str))


def _by_layer(listed: Mapping[str, Any]) -> dict[str, Format]:
    found = {}
    for name, said in listed.items():
        made = _by_algorithm(said) if isinstance(said, Mapping) else None
        if made is not None:
            found[str(name)] = made
    return found


_ALGORITHMS: Mapping[str, Format] = {
    "NVFP4": NVFP4,
    "W4A16_NVFP4": NVFP4,
    "FP8": FP8,
    "FP8_PER_CHANNEL_PER_TOKEN": FP8,
    "MXFP8": MXFP8,
    "MXFP4": MXFP4,
}


def _by_algorithm(said: Mapping[str, Any]) -> Format | None:
    algorithm = str(said.get("quant_algo") or "").upper()
    return _int4(said) if algorithm in ("W4A16_AWQ", "W4A8_AWQ") else _ALGORITHMS.get(algorithm)


def _by_method(said: Mapping[str, Any]) -> Format | None:
    readers: Mapping[str, Callable[[Mapping[str, Any]], Format | None]] = {
        "fp8": _fp8,
        "fbgemm_fp8": _fp8,
        "mxfp4": lambda _: MXFP4,
        "awq": lambda one: _int4(one) if _bits(one) == _FOUR else None,
        "gptq": lambda one: _int4(one) if _bits(one) == _FOUR else None,
        "compressed-tensors": _compressed,
    }
    reader = readers.get(str(said.get("quant_method") or ""))
    return None if reader is None else reader(said)


_FOUR, _EIGHT = 4, 8
_GROUP = 128
"""Weights a scale of int4 where nothing says another number: what AWQ and GPTQ take by default."""


def _bits(said: Mapping[str, Any]) -> Any:
    return said.get("bits") or said.get("w_bit")


def _int4(said: Mapping[str, Any]) -> Format:
    group = said.get("group_size") or said.get("q_group_size")
    size = group if isinstance(group, int) and group > 0 else _GROUP
    return Format("int4", Fraction(1, 2) + Fraction(2, size))


def _fp8(said: Mapping[str, Any]) -> Format:
    sides = said.get("weight_block_size")
    side = sides[0] if isinstance(sides, list) and sides and isinstance(sides[0], int) else 0
    if side > 0:
        return Format("fp8", 1 + Fraction(4, side * side), side)
    return FP8


def _compressed(said: Mapping[str, Any]) -> Format | None:
    groups = said.get("config_groups")
    parts = (
        [one for one in groups.values() if isinstance(one, Mapping)]
        if isinstance(groups, Mapping)
        else []
    )
    for part in parts:
        weights = part.get("weights")
        if not isinstance(weights, Mapping):
            continue
        packing = str(part.get("format") or said.get("format") or "")
        if packing.startswith(("mxfp4", "nvfp4")):
            return MXFP4 if packing.startswith("mxfp4") else NVFP4
        bits, kind = weights.get("num_bits"), weights.get("type")
        if kind == "float" and bits == _EIGHT:
            sides = weights.get("block_structure")
            return _fp8({"weight_block_size": sides})
        if kind == "int" and bits == _FOUR:
            return _int4(weights)
    return None


def _expert_format(*parts: Mapping[str, Any]) -> Format | None:
    """DeepSeek V4 keeps its experts in four bits and says so beside the rest."""
    for part in parts:
        if str(part.get("moe_quant_algo") or "").upper() == "NVFP4":
            return NVFP4
    return MXFP4 if any(part.get("expert_dtype") == "fp4" for part in parts) else None
