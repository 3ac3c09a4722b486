"""Ray around an engine."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.engines.ray import awaited, spans_pods
from gangform.engines.shell import start
from gangform.engines.vllm import Vllm

WRAPPER = "bash /x/multi-node-serving.sh"


@pytest.mark.parametrize(
    ("script", "spans", "waits"),
    [
        (
            f"{WRAPPER} leader --ray_cluster_size=$(LWS_GROUP_SIZE); vllm serve m",
            True,
            "$(LWS_GROUP_SIZE)",
        ),
        (f"{WRAPPER} leader --ray_cluster_size 2; vllm serve m", True, "2"),
        (f"{WRAPPER} worker --ray_address=$A; vllm serve m", True, None),
        ("ray start --address=head:6379; vllm serve m", True, None),
        ("ray status; vllm serve m --ray_cluster_size=2", False, None),
        ("if [ $A ]; then ray start --head; fi; vllm serve m", True, None),
    ],
)
def test_a_script_that_joins_pods(script: str, spans: bool, waits: str | None) -> None:
    container: dict[str, Any] = {"image": "e", "command": ["sh", "-c", script]}
    begun = start(container)
    assert begun is not None
    assert (spans_pods(container, begun), awaited(begun)) == (spans, waits)


def test_an_engine_in_a_cluster() -> None:
    script = f"{WRAPPER} leader --ray_cluster_size=2; vllm serve m -tp 8 -pp 2"
    found = Vllm().read({"image": "e", "command": ["sh", "-c", script]})
    assert found is not None
    assert (found.ray, found.alone, found.nodes, found.gpus) == (True, False, "2", 16)
    command = ["vllm", "serve", "m", "-tp", "8"]
    plain = Vllm().read({"image": "e", "command": command})
    assert plain is not None and plain.alone and not plain.ray
    env = [{"name": "RAY_ADDRESS", "value": "head:6379"}]
    joined = Vllm().read({"image": "e", "command": command, "env": env})
    assert joined is not None and joined.ray and not joined.alone
    several = Vllm().read({"image": "e", "command": [*command, "-dp", "2"], "env": env})
    assert several is not None and several.gpus is None
