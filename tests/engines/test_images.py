"""Published images: what a tag says, and what no name says."""

from __future__ import annotations

import pytest

from gangform.apis.versions import Release
from gangform.engines.images import programs, published
from gangform.engines.shell import start


@pytest.mark.parametrize(
    ("image", "release", "moves", "lacks"),
    [
        ("vllm/vllm-openai:v0.10.2", Release(0, 10, 2), False, False),
        ("docker.io/vllm/vllm-openai:v0.19.0-x86_64", Release(0, 19), False, True),
        ("vllm/vllm-openai:latest", None, True, True),
        ("vllm/vllm-openai", None, True, True),
        ("vllm/vllm-openai:gemma4", None, False, False),
        ("vllm/vllm-openai@sha256:" + "a" * 64, None, False, False),
        ("lmsysorg/sglang:v0.5.3.post1", Release(0, 5, 3), False, False),
    ],
)
def test_what_a_name_says(image: str, release: Release | None, moves: bool, lacks: bool) -> None:
    found = published(image)
    assert found is not None
    assert (found.release, found.moves, bool(found.lacks)) == (release, moves, lacks)


@pytest.mark.parametrize("image", ["", "vllm", "example.net/vllm/vllm-openai:v0.10.2", "x:1"])
def test_other_images_are_not_known(image: str) -> None:
    assert published(image) is None


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ("ray start --head && vllm serve m", True),
        ("bash /x/multi-node-serving.sh leader --ray_cluster_size=2; vllm serve m", True),
        ("/vllm-workspace/ray_init.sh leader --ray_cluster_size=2; vllm serve m", True),
        ("vllm serve m --distributed_executor_backend ray", True),
        ("vllm serve m --data-parallel-backend=ray", True),
        ("vllm serve m --distributed-executor-backend=mp", False),
        ("ray status; vllm serve m", False),
        ("if [ $A ]; then ray start --head; fi; vllm serve m", False),
    ],
)
def test_who_needs_ray(script: str, needs: bool) -> None:
    begun = start({"command": ["sh", "-c", script]})
    assert begun is not None and bool(programs(begun)) == needs
