"""What a decoder is made of: the shape of its parts, and the number of their weights by class.

Each part says its shape in the words of the profile, and what it weighs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gangform.inputs.configuration import Configuration


class Weights(NamedTuple):
    """Numbers of weights, by who keeps them and how they are stored."""

    experts: int = 0
    """Routed experts."""
    attention: int = 0
    """Projections of attention, and of layers in its place, that tensor ranks share."""
    replicated: int = 0
    """What every tensor rank keeps whole: projections onto a latent, indexers, routers, norms."""
    dense: int = 0
    """Feed-forward layers without experts, and experts that every token uses."""
    embeddings: int = 0
    """Embedding and output head."""
    draft: int = 0
    """Layers for multi-token prediction, of whatever class; the next two among them."""
    draft_experts: int = 0
    draft_tables: int = 0

    @property
    def loaded(self) -> int:
        """All but the draft."""
        return self.experts + self.attention + self.replicated + self.dense + self.embeddings


class Decoder(NamedTuple):
    """What a configuration says."""

    architecture: Mapping[str, Any]
    """As the profile has it, in the words of Python."""
    weights: Weights
    exact: bool = True
    """Whether every matrix is known; else small ones are left out."""
    notes: Mapping[str, str] = {}
    """What should be known of a part of the architecture: its name → what is not verified."""


def grouped(
    config: Configuration, *, bias: bool = False, norms: int | None = None, gate: bool = False
) -> tuple[dict[str, Any], int, int]:
    """Attention with keys and values per head: its shape, its shared and its small weights a layer.

    norms: weights of query and key norms; `None`: two of the size of a head where the model norms them at all.
    """
    hidden, heads = config.positive("hidden_size"), config.positive("num_attention_heads")
    kv_heads = config.positive("num_key_value_heads", default=heads)
    dim = config.positive("head_dim", default=max(1, hidden // heads))
    value_dim = config.positive("v_head_dim", default=dim)
    queries, outputs = heads * dim * (2 if gate else 1), heads * value_dim
    shared = hidden * (queries + kv_heads * (dim + value_dim) + outputs)
    if bias:
        shared += queries + kv_heads * (dim + value_dim)
    shape = {"kind": "gqa", "heads": heads, "kv_heads": kv_heads, "head_dim": dim}
    if value_dim != dim:
        shape["value_dim"] = value_dim
    return shape, shared, 2 * hidden + (2 * dim if norms is None else norms)


def latent(config: Configuration) -> tuple[dict[str, Any], int, int]:
    """Attention over a latent (MLA)."""
    hidden, heads = config.positive("hidden_size"), config.positive("num_attention_heads")
    rank, rope = config.positive("kv_lora_rank"), config.positive("qk_rope_head_dim")
    plain, value = config.positive("qk_nope_head_dim"), config.positive("v_head_dim")
    asked = config.number("q_lora_rank", default=0)
    queries = heads * (plain + rope)
    shared = (asked or hidden) * queries + rank * heads * (plain + value) + heads * value * hidden
    whole = hidden * (rank + rope) + rank + 2 * hidden
    if asked:
        whole += hidden * asked + asked
    return {"kind": "mla", "heads": heads, "latent": rank + rope}, shared, whole


def indexed(config: Configuration, layers: int) -> tuple[dict[str, Any], int]:
    """The index of sparse attention: its shape, and its weights in all, which no rank shares (`engines §5.1`)."""
    dim, heads = config.positive("index_head_dim"), config.positive("index_n_heads")
    hidden, asked = config.positive("hidden_size"), config.positive("q_lora_rank")
    types = config.items("indexer_types")
    own = types.count("full") if types else layers
    each = asked * heads * dim + hidden * dim + 2 * dim + hidden * heads
    return {"layers": own, "size": dim + SCALE}, own * each


SCALE = 4
"""Bytes of the scale beside an entry of the index (`engines §6.1`)."""


def mixed(
    config: Configuration, layers: int, *, width: int, matrices: int = 3, inner: int | None = None
) -> tuple[dict[str, Any], int, int]:
    """Routed experts of a model: their shape, their weights, and those of their routers.

    inner: what an expert takes and gives where it is not the hidden size.
    """
    routed = config.positive("n_routed_experts", "num_local_experts", "num_experts")
    hidden = config.positive("hidden_size")
    active = config.positive("num_experts_per_tok", "num_experts_per_token", "top_k_experts")
    shape = {"routed": routed, "active": active, "width": width}
    weights = layers * routed * matrices * (inner or hidden) * width
    return shape, weights, layers * (routed * hidden + routed)


def dense_first(config: Configuration, layers: int, *, default: int | None = None) -> int:
    """How many layers have no experts, all of them before those that have; by whichever spelling says it."""
    kinds = config.items("mlp_layer_types")[:layers]
    listed = config.items("moe_layer_freq")[:layers]
    every = config.number("moe_layer_freq", default=1)
    if every > 1:
        config.odd.append(f"moe_layer_freq: {every}")
    if kinds or listed:
        plain = [one in ("dense", 0) for one in kinds or listed]
        if plain != sorted(plain, reverse=True):
            config.odd.append("layers without experts between those with")
        return sum(plain)
    return min(layers, config.number("first_k_dense_replace", default=default))


def tables_of(config: Configuration, *, tied: bool = False) -> tuple[int, bool]:
    """The weights of embedding and output head, and whether both are one table.

    tied: what holds where nothing says it.
    """
    tied = config.flag("tie_word_embeddings", default=tied)
    table = config.positive("vocab_size") * config.positive("hidden_size")
    return table if tied else 2 * table, tied


def made(
    config: Configuration,
    attention: Mapping[str, Any],
    weights: Weights,
    *,
    layers: int | None = None,
    tied: bool = False,
    exact: bool = True,
    notes: Mapping[str, str] | None = None,
    **more: Any,
) -> Decoder:
    """A decoder out of its parts, with tables and the last norm.

    Args:
        config: What is asked.
        attention: Its shape.
        weights: All but tables and the last norm.
        layers: How many there are where no number in the configuration says it.
        tied: Whether embedding and head are one table where nothing says it.
        exact: As the decoder has it.
        notes: As the decoder has them.
        more: Further fields of the architecture, `None` where it has none.
    """
    tables, tied = tables_of(config, tied=tied)
    hidden = config.positive("hidden_size")
    shape = {
        "layers": config.positive("num_hidden_layers", default=layers),
        "hidden": hidden,
        "vocabulary": config.positive("vocab_size"),
        "attention": dict(attention),
        **{key: value for key, value in more.items() if value is not None},
        **({"tied": True} if tied else {}),
    }
    # The norm after the last layer.
    whole = weights.replicated + hidden
    return Decoder(shape, weights._replace(embeddings=tables, replicated=whole), exact, notes or {})


def with_draft(
    config: Configuration,
    weights: Weights,
    layer: tuple[int, int, int],
    common: int,
    *,
    own_tables: bool = True,
) -> Weights:
    """With the layers for multi-token prediction, each a layer with experts, a projection and copies of both tables.

    Only where the checkpoint is known to hold them (`engines §5.1`): MiniMax M2 names them and ships none.

    Args:
        config: What is asked.
        weights: All but the draft.
        layer: Weights of one layer: of attention, of routed experts, of the router.
        common: Experts of it that every token uses.
        own_tables: Whether the checkpoint has those copies; DeepSeek V4 has none.
    """
    more = config.number("num_nextn_predict_layers", default=0)
    if not more:
        return weights
    hidden = config.positive("hidden_size")
    attention, experts, router = layer
    width = config.positive("moe_intermediate_size", "intermediate_size")
    each = attention + router + common * 3 * hidden * width + 2 * hidden * hidden + 3 * hidden
    tables = 2 * config.positive("vocab_size") * hidden if own_tables else 0
    return weights._replace(
        draft=more * (each + experts + tables),
        draft_experts=more * experts,
        draft_tables=more * tables,
    )
