"""Faults inside of pods: images, command lines, variables, volumes and probes."""

from __future__ import annotations

import re

from tests.cases.fault_kinds import Kind, noting
from tests.cases.reading import (
    PLACEHOLDER,
    PLAIN,
    World,
    engine,
    engines,
    flag,
    gpus,
    groups,
    mounts,
    release,
    requested,
    said,
    tag,
    templates,
    variables,
)

KINDS: dict[str, Kind] = {}
kind = noting(KINDS)


@kind(
    "unsubstituted-placeholder",
    "values are computed; variables are written as $(NAME) or not at all",
)
def _placeholder(world: World) -> bool:
    return any(
        PLACEHOLDER.match(container["image"])
        or any(re.match(r"\$[A-Za-z_{]", value or "") for value in variables(container).values())
        for container in engines(world)
    )


@kind("readiness-tcp-only", "probes ask the engine's health endpoint")
def _tcp(world: World) -> bool:
    return any("tcpSocket" in one.get("readinessProbe", {}) for one in engines(world))


@kind(
    "liveness-before-loaded",
    "the startup probe covers the worst cold start, and liveness waits for it",
)
def _killed(world: World) -> bool:
    return any("livenessProbe" in one and "startupProbe" not in one for one in engines(world))


@kind("nixl-host-unset", "prefill and decode are not parted")
def _nixl_unset(world: World) -> bool:
    name = "VLLM_NIXL_SIDE_CHANNEL_HOST"
    return any("NixlConnector" in said(c) and name not in variables(c) for c in engines(world))


@kind("nixl-host-wildcard", "addresses are the pod's own, read from its status")
def _nixl_wildcard(world: World) -> bool:
    return any("0.0.0.0" in variables(container).values() for container in engines(world))


@kind("service-links-shadow-env", "service links are off in every template")
def _links(world: World) -> bool:
    names = {each["metadata"]["name"] for each in world.of("Service")}
    return any(
        "vllm" in names and template["spec"].get("enableServiceLinks", True)
        for template in templates(world)
    )


@kind("bootstrap-needs-unready-addresses", "groups meet at the address that the controller injects")
def _rendezvous(world: World) -> bool:
    named = {
        each["metadata"]["name"]
        for each in world.of("Service")
        if not each["spec"].get("publishNotReadyAddresses")
    }
    return any(flag(container, "master-addr") in named for container in engines(world))


@kind(
    "image-untagged", "the image is that of the declared release, or one with a tag of the user's"
)
def _untagged(world: World) -> bool:
    return any(
        not tag(container) and not PLACEHOLDER.match(container["image"])
        for container in engines(world)
    )


@kind("image-latest", "the tag is the declared release")
def _latest(world: World) -> bool:
    return any(tag(container) == "latest" for container in engines(world))


@kind("ray-not-in-image", "ranks join through torch, without Ray")
def _ray(world: World) -> bool:
    return any(
        re.search(r"\bray start\b", said(container)) and release(container) >= (0, 19)
        for container in engines(world)
    )


@kind("runtime-package-install", "the command is the engine, with no shell around it")
def _install(world: World) -> bool:
    return any(re.search(r"\b(pip|apt|apt-get) install\b", said(one)) for one in engines(world))


@kind("engine-version-floor", "a release that cannot span nodes is refused in the plan")
def _floor(world: World) -> bool:
    return any(
        "vllm" in said(one) and flag(one, "nnodes") and release(one) < (0, 13)
        for one in engines(world)
    )


@kind("node-rank-missing", "every pod of a group gets the rank that the controller injects")
def _rank(world: World) -> bool:
    return any(flag(one, "nnodes") and not flag(one, "node-rank") for one in engines(world))


@kind("hard-coded-group-size", "the number of nodes is the variable that the controller injects")
def _hard(world: World) -> bool:
    return any((flag(one, "nnodes") or "").isdecimal() for one in engines(world))


@kind("tensor-across-nodes", "tensor stays inside the NVLink domain")
def _tensor(world: World) -> bool:
    return any(
        int(flag(engine(one), "tensor-parallel-size") or 0) > gpus(engine(one))
        and "resourceClaims" not in one["spec"]
        for one in templates(world)
    )


@kind("undefined-variable", "$(NAME) is only written for variables of the controller")
def _undefined(world: World) -> bool:
    own = {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}
    return any(
        not set(re.findall(r"\$\((\w+)\)", said(one))) <= own | set(variables(one))
        for one in engines(world)
    )


@kind("lws-env-overridden", "variables of the controller are refused in inputs and never written")
def _overridden(world: World) -> bool:
    return any(name.startswith("LWS_") for one in engines(world) for name in variables(one))


@kind("gloo-ifname-invalid", "both interfaces are the one name that the hardware shape gives")
def _gloo(world: World) -> bool:
    return any(
        set("^,") & set(variables(one).get("GLOO_SOCKET_IFNAME") or "") for one in engines(world)
    )


@kind("rdma-hca-without-resource", "adapters and their resource come from one hardware shape")
def _adapter(world: World) -> bool:
    return any(
        "NCCL_IB_HCA" in variables(one) and not set(requested(one)) - PLAIN
        for one in engines(world)
    )


@kind("shm-missing", "every pod mounts a memory volume at /dev/shm")
def _shm(world: World) -> bool:
    return any(gpus(one) > 1 and "/dev/shm" not in mounts(one) for one in engines(world))


@kind("cache-path-not-on-volume", "the cache is the mount of the weights' own volume")
def _cache(world: World) -> bool:
    return any(
        home and not any(home == at or home.startswith(f"{at}/") for at in mounts(one))
        for one in engines(world)
        for home in [variables(one).get("HF_HOME")]
    )


@kind("host-network-port-undeclared", "every port that the engine opens is declared")
def _host(world: World) -> bool:
    return any(
        group.leader["spec"].get("hostNetwork") and not engine(group.leader).get("ports")
        for group in groups(world)
    )
