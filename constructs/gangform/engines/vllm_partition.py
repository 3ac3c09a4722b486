"""How many layers each pipeline stage of vLLM has where a variable says it.

`VLLM_PP_LAYER_PARTITION=42,36`: as many numbers as stages, which add up to the model's layers, else the engine ends at
its start (vLLM: get_pp_indices). Stages that also hold embedding, head, or a draft model get fewer that way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gangform.engines.engine import LaunchRequest
from gangform.engines.vllm_args import found
from gangform.findings import Finding, Severity, declare

if TYPE_CHECKING:
    from gangform.inputs.model import Architecture

VARIABLE = "VLLM_PP_LAYER_PARTITION"
WRONG = declare(
    "pipeline-partition-does-not-add-up",
    "Layers that a variable gives to pipeline stages must be one number a stage, and all of the model's together.",
    Severity.BREAKS,
    "vLLM: get_pp_indices",
)


def partition(ask: LaunchRequest) -> tuple[int, ...]:
    """Layers of each stage as the variable cuts them; empty where it does not, or is no list of numbers."""
    parts = ask.variables.get(VARIABLE, "").split(",")
    if not all(re.fullmatch(r"\s*[0-9]{1,6}\s*", part) for part in parts):
        return ()
    return tuple(map(int, parts))


def check(ask: LaunchRequest, model: Architecture) -> Iterator[Finding]:
    """Whether the engine takes the variable."""
    text = ask.variables.get(VARIABLE)
    if text is None:
        return
    layers, stages = partition(ask), ask.shape.pipeline
    if len(layers) == stages and sum(layers) == model.layers:
        return
    what = f"{VARIABLE}={text} is no list of numbers"
    if layers:
        what = f"{VARIABLE}={text} is {len(layers)} stages of {sum(layers)} layers"
    what += f", and the model has {model.layers} layers on {stages} stages"
    even = ",".join(map(str, _even(model.layers, stages)))
    fix = f"leave it out, or write one number a stage that add up to {model.layers}, such as {even}"
    yield found(ask, WRONG, "pods.env", what, fix, layers=model.layers, stages=stages)


def _even(layers: int, stages: int) -> list[int]:
    each, rest = divmod(layers, stages)
    return [each + (index < rest) for index in range(min(stages, layers))]
