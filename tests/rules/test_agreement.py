"""Leader and workers talk and load the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
AT = "workerTemplate.spec.containers[0].env"


def variable(name: str, value: str = "1") -> list[dict[str, Any]]:
    return [{"name": name, "value": value}]


def test_ranks_talk_with_the_same_settings(make: Make, refused: Check, accepted: Check) -> None:
    code = "ranks-configured-apart"
    only = make("set", {"W>C>env": variable("NVSHMEM_IB_TRAFFIC_CLASS", "96")})
    refused("ranks-configured-apart", f"{AT}[0] ~ absent on the leader", only)
    refused(
        "ranks-configured-apart",
        f"{AT} ~ absent on the workers",
        make("set", {"L>C>env": variable("NCCL_IB_GID_INDEX")}),
    )
    differs = {"L>C>env": variable("NCCL_IB_TC", "1"), "W>C>env": variable("NCCL_IB_TC", "2")}
    refused(code, f"{AT}[0] ~ `1` on the leader and `2`", make("set", differs))
    accepted(
        "ranks-configured-apart",
        make("set"),
        make("deployment"),
        make("set", {"B>C>env": variable("NCCL_IB_TC")}),
        make("set", {"L>C>env": variable("NCCL_DEBUG", "INFO")}),
        make("set", {"L>C>env": variable("VLLM_LOGGING_LEVEL", "INFO")}),
        make("set", {"L>C>env": variable("UCX_TE_METRIC", "true")}),
        make("set", {"L>C>env": variable("NCCL_IB_TC"), "W>C>image": "other:1"}),
        make(
            "set",
            {
                "L>C>env": variable("NCCL_IB_TC"),
                "W>C>envFrom": [{"configMapRef": {"name": "nccl"}}],
            },
        ),
        make(
            "set",
            {
                "L>C>env": variable("NCCL_IB_TC"),
                "W>C>command": ["bash", "-c"],
                "W>C>args": ["export NCCL_IB_TC=1; exec vllm serve /models/m --headless"],
            },
        ),
    )


def mounted(source: dict[str, Any], path: str = "/models") -> tuple[list[Any], list[Any]]:
    shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}
    places = [
        {"name": "shm", "mountPath": "/dev/shm"},
        {"name": "models", "mountPath": path},
    ]
    return [shm, {"name": "models", **source}], places


def changes(template: str, source: dict[str, Any], path: str = "/models") -> dict[str, Any]:
    volumes, mounts = mounted(source, path)
    return {f"{template}>spec>volumes": volumes, f"{template}>C>volumeMounts": mounts}


def test_a_volume_is_the_same_for_all_ranks(make: Make, refused: Check, accepted: Check) -> None:
    folder = {"hostPath": {"path": "/srv/models", "type": "Directory"}}
    created = {"hostPath": {"path": "/srv/models", "type": "DirectoryOrCreate"}}
    at = "workerTemplate.spec.volumes[1].hostPath.type ~ DirectoryOrCreate on the leader"
    both = {**changes("L", created), **changes("W", folder)}
    refused("volumes-differ", at, make("set", both))
    claims = [{"persistentVolumeClaim": {"claimName": name}} for name in ("a", "b")]
    apart = {**changes("L", claims[0]), **changes("W", claims[1])}
    refused("volumes-differ", "volumes[1].persistentVolumeClaim.claimName", make("set", apart))
    host = "kubernetes.io/hostname"
    pinned = {"L>spec>nodeSelector": {host: "a"}, "W>spec>nodeSelector": {host: "b"}}
    accepted("volumes-differ", make("set", {**both, **pinned}))
    read_only = {"persistentVolumeClaim": {"claimName": "a", "readOnly": True}}
    maps = [{"configMap": {"name": name}} for name in ("leader", "worker")]
    accepted(
        "volumes-differ",
        make("set"),
        make("set", changes("B", folder)),
        make("set", {**changes("L", claims[0]), **changes("W", read_only)}),
        make("set", {**changes("L", maps[0]), **changes("W", maps[1])}),
        make("set", {**changes("L", claims[0]), **changes("W", claims[1], "/other")}),
    )


def test_every_rank_has_the_model(make: Make, refused: Check, accepted: Check) -> None:
    claim = {"persistentVolumeClaim": {"claimName": "weights"}}
    one = make("set", changes("L", claim))
    refused("model-not-mounted", "workerTemplate.spec.containers[0].volumeMounts", one)
    refused(
        "model-not-mounted",
        "leaderTemplate.spec.containers[0].volumeMounts ~ loads /models/m",
        make("set", changes("W", claim)),
    )
    hub = {**changes("L", claim), "B>C>command": ["vllm", "serve", "org/m"]}
    accepted(
        "model-not-mounted",
        make("set"),
        make("set", changes("B", claim)),
        make("set", {**changes("L", claim), **changes("W", claim, "/models/m")}),
        make("set", {**changes("L", claim), "W>C>image": "with-model:1"}),
        make("set", hub),
    )


def test_ranks_run_one_release(make: Make, refused: Check, accepted: Check) -> None:
    other = make("set", {"W>C>image": "vllm/vllm-openai:v0.32.0"})
    refused("ranks-of-other-releases", "containers[0].image ~ v0.33.0", other)
    accepted("ranks-of-other-releases", make("set"))
    accepted("ranks-of-other-releases", make("set", {"W>C>image": "vllm/worker:v0.32.0"}))
    accepted("ranks-of-other-releases", make("set", {"W>C>image": "vllm/vllm-openai:${TAG}"}))
