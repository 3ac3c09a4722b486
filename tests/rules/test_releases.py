"""Images against what they are told to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.apis.versions import Release

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
IMAGE = "vllm/vllm-openai"


def test_a_release_bears_the_command_line(make: Make, refused: Check, accepted: Check) -> None:
    for tag in ("v0.11.1", "v0.12.0", "v0.9.2"):
        old = make("set", {"B>C>image": f"{IMAGE}:{tag}"})
        for template in ("leaderTemplate", "workerTemplate"):
            refused("engine-older-than-flags", f"{template}.spec.containers[0].image", old)
    for image in (f"{IMAGE}:v0.13.0", f"{IMAGE}:latest", "example.net/vllm:0.11.1-r2"):
        accepted("engine-older-than-flags", make("set", {"B>C>image": image}))
    other = make("set", {"B>C>image": "example.net/vllm:r2"})
    told = {"engines": {"vllm": Release(0, 11, 2)}}
    refused("engine-older-than-flags", "containers[0].image ~ 0.11.2", other, **told)
    accepted("engine-older-than-flags", other, engines={"vllm": Release(0, 22)})
    accepted("engine-older-than-flags", make("deployment"))


def test_a_program_is_in_its_image(make: Make, refused: Check, accepted: Check) -> None:
    def ray(tag: str, leader: str, worker: str) -> dict[str, Any]:
        shell = {"B>C>command": ["bash", "-c"], "L>C>args": [leader], "W>C>args": [worker]}
        return make("set", {**shell, "B>C>image": f"{IMAGE}:{tag}"})

    lead = "ray start --head && exec vllm serve /models/m --tensor-parallel-size=8"
    join = "exec ray start --address=$LWS_LEADER_ADDRESS:6379 --block"
    for tag in ("latest", "v0.19.0"):
        for template in ("leaderTemplate", "workerTemplate"):
            refused(
                "program-not-in-image",
                f"{template}.spec.containers[0].image ~ no ray",
                ray(tag, lead, join),
            )
    accepted("program-not-in-image", ray("v0.18.1", lead, join), make("set"))
    backend = "vllm serve /models/m --distributed-executor-backend ray"
    refused("program-not-in-image", "containers[0].image", ray("v0.33.0", backend, join))
    own = make("set", {"B>C>command": ["bash", "-c"], "B>C>args": [join], "B>C>image": "a/b:1"})
    accepted("program-not-in-image", own)
