"""Ray around an engine: who starts a cluster of pods in a script, and for how many of them it waits.

Two scripts wrap it, vLLM's own and the one that guides copied before: `multi-node-serving.sh leader
--ray_cluster_size=N` starts the head and waits for N pods, `… worker --ray_address=ADDRESS` joins it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gangform.documents.document import Manifest
from gangform.engines.shell import Command, Start, environment, name_of

RAY: Final = "ray"
_SCRIPTS: Final = frozenset({"multi-node-serving.sh", "ray_init.sh"})
_SIZE: Final = "--ray-cluster-size"
_BACKENDS: Final = ("--distributed-executor-backend", "--data-parallel-backend")
_ADDRESS: Final = "RAY_ADDRESS"


def starts_ray(command: Command) -> bool:
    """Whether a command starts a node of a Ray cluster, or joins one."""
    scripts = map(name_of, command.words[:2])
    return not _SCRIPTS.isdisjoint(scripts) or (
        command.program == RAY and command.words[1:2] == ("start",)
    )


def chooses_ray(words: Sequence[str]) -> bool:
    """Whether an engine's arguments make it run its ranks with Ray."""
    spelled = [word.replace("_", "-") for word in words]
    return any(
        word == f"{backend}={RAY}" or (word == backend and spelled[at + 1 : at + 2] == [RAY])
        for backend in _BACKENDS
        for at, word in enumerate(spelled)
    )


def spans_pods(container: Manifest, begun: Start) -> bool:
    """Whether an engine may use GPUs of other pods, because its container is a node of a Ray cluster."""
    commands = (*begun.commands, *begun.doubtful)
    return any(map(starts_ray, commands)) or _ADDRESS in environment(container)


def awaited(begun: Start) -> str | None:
    """The number of pods that a script waits for, as written; `None` where it says none."""
    for command in begun.commands:
        for at, word in enumerate(command.words if starts_ray(command) else ()):
            name, joined, size = word.partition("=")
            if name.replace("_", "-") == _SIZE:
                return size if joined else next(iter(command.words[at + 1 : at + 2]), None)
    return None
