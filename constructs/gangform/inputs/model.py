"""What a model needs: its architecture, its size, and where each figure was read.

A profile is data with sources. Either the architecture is known and every derived figure follows from it, or it is
unknown and four measured numbers stand in (`measured`).
"""

from functools import cache
from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gangform.inputs.base import Big, Count, Few, Model, Natural, ObjectName
from gangform.inputs.texts import ModelId
from gangform.units import Bytes

WeightType = Literal["fp32", "bf16", "fp8", "int4", "mxfp4", "nvfp4"]
"""The number format of a checkpoint's weights."""


class Attention(Model):
    """How a layer attends, as far as it decides what shards and what a token costs in cache."""

    kind: Literal["gqa", "mla"]
    """`gqa`: keys and values per head (multi-head and multi-query included). `mla`: one latent per token, which
    every tensor rank keeps whole."""
    heads: Count
    """Query heads. Tensor parallelism must divide them (`engines §1.2`)."""
    kv_heads: Count | None = None
    """Key/value heads of `gqa`; replicated where tensor is larger (`engines §6.1`)."""
    head_dim: Count | None = None
    """Elements per head of `gqa`; keys and values alike, unless `value_dim` says more."""
    value_dim: Count | None = None
    """Elements per value head of `gqa`; `None`: those of `head_dim`."""
    latent: Count | None = None
    """Elements cached per token and layer of `mla`: compressed latent plus rotary part (512 + 64 for DeepSeek)."""

    @model_validator(mode="after")
    def _complete(self) -> "Attention":
        wanted = ("kv_heads", "head_dim") if self.kind == "gqa" else ("latent",)
        missing = [name for name in wanted if getattr(self, name) is None]
        if missing:
            raise PydanticCustomError(
                "attention-incomplete",
                "attention of kind {kind} needs {missing}",
                {"kind": self.kind, "missing": " and ".join(missing)},
            )
        return self


class Experts(Model):
    """The experts of a mixture-of-experts model."""

    routed: Count
    """Routed experts a layer; expert parallelism must divide them (redundant ones included)."""
    active: Count
    """Routed experts a token uses."""
    width: Count
    """Inner width of one expert."""
    shared: Natural = 0
    """Experts that every token uses."""
    layers: Few | None = None
    """Layers with experts where others lie between them (Llama 4, Nemotron); `None`: all but the first
    `dense_layers`."""


class Window(Model):
    """Layers that keep the last tokens of a request only: sliding windows and chunks."""

    layers: Few
    tokens: Count
    """Length of the window or chunk."""
    kv_heads: Count | None = None
    """`None`: as `attention` says, and so for the others."""
    head_dim: Count | None = None
    value_dim: Count | None = None
    size: Count | None = None
    """Bytes a token, whole on every tensor rank, where it is no matter of heads and number format: what a compressor
    keeps of tokens that it has not compressed yet (DeepSeek-V4)."""


class State(Model):
    """Layers that keep a fixed amount for a request, however long it is: Mamba, linear attention."""

    layers: Few
    size: Bytes
    """What one layer keeps for one request at tensor 1, convolution included; tensor ranks share it."""


class Compressed(Model):
    """Layers that keep one entry of the size of `attention` for several tokens (DeepSeek-V4)."""

    layers: Few
    ratio: Count
    """Tokens an entry."""


class Indexer(Model):
    """Layers that keep an index of their tokens beside the cache (DeepSeek sparse attention)."""

    layers: Few
    """Layers with an index of their own; those that share another's keep none."""
    size: Count = 132
    """Bytes an entry: 128 of FP8 and a scale (`engines §6.1`). Whole on every tensor rank."""
    ratio: Count = 1
    """Tokens an entry."""


class Architecture(Model):
    """The shape of a decoder, from its published `config.json`."""

    layers: Few
    hidden: Count
    vocabulary: Count
    """Rows of the embedding. Tensor parallelism must divide it (`engines §1.2`)."""
    attention: Attention
    dense_width: Count | None = None
    """Inner width of dense layers; `None` where every layer has experts."""
    dense_layers: Natural | None = None
    """Layers without experts; `None` means all of them where there are no experts, else none."""
    experts: Experts | None = None
    full_layers: Natural | None = None
    """Layers that keep every token as `attention` says; `None`: all that nothing below counts. Written where layers
    keep nothing at all, or several kinds of cache."""
    windows: tuple[Window, ...] = Field(default=(), strict=False)
    states: tuple[State, ...] = Field(default=(), strict=False)
    compressed: tuple[Compressed, ...] = Field(default=(), strict=False)
    indexer: Indexer | None = None
    streams: Few = 1
    """Hidden states that layers carry side by side: `hc_mult` of DeepSeek-V4."""
    tied: bool = False
    """Whether embedding and output head are one table in the checkpoint."""

    @property
    def without_experts(self) -> int:
        """Layers without experts."""
        if self.dense_layers is not None:
            return self.dense_layers
        return 0 if self.experts else self.layers

    @property
    def attending(self) -> int:
        """Layers that keep every token."""
        if self.full_layers is not None:
            return self.full_layers
        return max(0, self.layers - sum(one.layers for one in self._others))

    @property
    def uniform(self) -> bool:
        """Whether a token costs the same at any length: no window, state or compression."""
        return not self._others

    @property
    def _others(self) -> tuple[Window | State | Compressed, ...]:
        return (*self.windows, *self.states, *self.compressed)

    @model_validator(mode="after")
    def _layers_counted(self) -> "Architecture":
        counts = [one.layers for one in self._others]
        counts += [self.indexer.layers] if self.indexer else []
        counts += [self.full_layers] if self.full_layers is not None else []
        counts += [self.experts.layers] if self.experts and self.experts.layers else []
        most = max(counts, default=0)
        if self.full_layers is None:
            most = max(most, sum(one.layers for one in self._others))
        if most > self.layers:
            raise PydanticCustomError(
                "layers-exceeded",
                "{counted} layers are counted, and the model has {layers}",
                {"counted": most, "layers": self.layers},
            )
        return self


class TensorClass(Model):
    """Tensors that are shared out alike."""

    size: Bytes
    """As stored in the checkpoint, scales included."""
    held: Bytes | None = None
    """As an engine lays it out, where it pads; `None`: as stored."""
    format: WeightType | None = None
    """`None`: that of most weights."""


class Tensors(Model):
    """A checkpoint by classes of tensors, where one mean of all weights does not do. What is not said is derived."""

    experts: TensorClass | None = None
    """Routed experts."""
    embeddings: TensorClass | None = None
    """Embedding and output head; one table where they are tied."""
    replicated: TensorClass | None = None
    """Whole on every tensor rank: projections onto a latent, indexers, routers, norms."""
    attention: TensorClass | None = None
    """Other projections of attention, which tensor ranks share as they do the rest."""


class Overhead(Model):
    """What a GPU holds beside weights and cache, as an engine's log prints it.

    A figure of a serving wins over one of its model, and that over the engine's table.
    """

    activation: Bytes | None = None
    """The peak of a step, sampling included."""
    communication: Bytes | None = None
    """What lies outside of torch: buffers of NCCL, contexts."""
    graphs: Bytes | None = None
    """CUDA graphs, as far as the engine takes them from its share."""
    draft: Bytes | None = None
    """The weights of a draft model on one GPU of the last stage (speculative decoding)."""


class Measured(Model):
    """Four numbers that stand in for an architecture nobody described."""

    weights_per_gpu: Bytes
    """Weights on the fullest GPU, at the parallelism they were measured with."""
    kv_bytes_per_token: Count
    """Cache bytes per token on the GPU that holds most, at the same parallelism."""


class ModelProfile(Model):
    """One model, as published. Shipped, imported or written inline; extended by naming it in a serving."""

    name: ObjectName
    """What servings call it; the file's name where it has a file of its own."""
    repository: ModelId
    """The id on the hub, or any id that the engine accepts: `deepseek-ai/DeepSeek-R1`."""
    weights: WeightType
    """The number format of most weights."""
    quantization_block: Count | None = None
    """Side of a block of block-wise FP8 (128 for DeepSeek): sharded outputs must be multiples of it."""
    checkpoint: Bytes
    """Size of what has to be read from disk or network, all files."""
    draft: Bytes = Bytes(0)
    """Part of the checkpoint that is read but loaded only as a draft model (multi-token prediction of DeepSeek)."""
    parameters: Big | None = Field(default=None, ge=1)
    """All parameters, a whole number."""
    expert_parameters: Big = 0
    """Parameters of routed experts, which expert parallelism shards over data-parallel ranks too."""
    context_limit: Count
    """The longest context that the model was made for, in tokens."""
    architecture: Architecture | None = None
    """`None` for an unknown architecture; `measured` is then required."""
    tensors: Tensors = Field(default_factory=cache(Tensors.model_construct))
    """Sizes by class of tensors."""
    overhead: Overhead = Field(default_factory=cache(Overhead.model_construct))
    """Measured with this model; `engine.overhead` of a serving wins."""
    measured: Measured | None = None
    """Measured stand-ins; win over what would be derived."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Where each figure was read: field → source. `calculated` and `not verified` are said as such."""

    @property
    def mixture(self) -> bool:
        """Whether it has experts, as far as somebody says so."""
        described = self.architecture is not None and self.architecture.experts is not None
        return described or self.expert_parameters > 0

    @model_validator(mode="after")
    def _known(self) -> "ModelProfile":
        if self.architecture is None and self.measured is None:
            raise PydanticCustomError(
                "model-undescribed",
                "{name} has neither `architecture` nor `measured`; one of them is needed",
                {"name": self.name},
            )
        return self
