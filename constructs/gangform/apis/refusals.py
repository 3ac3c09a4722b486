"""What the pod API refuses, since no controller checks it in a template (`lab` summary 9, E9).

LeaderWorkerSet accepts such templates; then the leader runs alone and its workers are never made. Texts follow the
API server's where the lab saw them. Only what a template by itself shows: nothing about the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from gangform.apis.metadata import is_dns_label
from gangform.apis.pods import amount_of
from gangform.apis.security import security_refusals
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text, whole
from gangform.findings import Path

Refusal = tuple[Path, str, str]
"""Path in the pod spec, what is wrong, what to write instead."""

_PORT_NAME: Final = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_COUNTS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_EFFECTS: Final = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def overcommits(resource: str) -> bool:
    """Whether a request may be below the limit: native resources, huge pages excepted; extended ones never."""
    native = "/" not in resource or "kubernetes.io/" in resource
    return native and not resource.startswith("hugepages-")


def pod_refusals(
    spec: Manifest, *, in_stateful_set: bool, claims: Collection[str] = ()
) -> Iterator[Refusal]:
    """Where a pod spec would be refused: path in the spec, what is wrong, and what to write instead.

    Args:
        spec: The pod spec of a template.
        in_stateful_set: Whether it becomes the template of a StatefulSet or a Deployment, which restart always.
        claims: Names of the claim templates of the set: each becomes a volume.
    """
    if not sequence(spec, "containers"):
        yield ("containers",), "a pod has at least one container", "add a container"
    policy = text(spec, "restartPolicy")
    if in_stateful_set and policy not in ("", "Always"):
        yield (
            ("restartPolicy",),
            f"restartPolicy `{policy}` is not supported in a StatefulSet: supported values: Always",
            "write Always; what happens to the group is the set's own restartPolicy",
        )
    yield from security_refusals(dig(spec, "securityContext"), ("securityContext",))
    yield from _volumes(spec)
    yield from _containers(spec, claims)
    for index, toleration in enumerate(sequence(spec, "tolerations")):
        yield from _toleration(toleration, ("tolerations", index))


def _volumes(spec: Manifest) -> Iterator[Refusal]:
    seen: set[str] = set()
    for index, volume in enumerate(sequence(spec, "volumes")):
        name = text(volume, "name")
        path: Path = ("volumes", index, "name")
        yield from _label(name, path, "volume")
        if name in seen:
            yield path, f"two volumes are called `{name}`", "rename one of them"
        seen.add(name)
        sources = [key for key in mapping(volume) if key != "name"]
        if len(sources) > 1:
            yield ("volumes", index), f"volume `{name}` has {len(sources)} sources", "keep one"


def port_collisions(spec: Manifest) -> Iterator[Refusal]:
    """Containers of one pod that open the same port, or call two ports alike.

    The API accepts it: containers of a pod share one network, so the second cannot bind, and a Service or monitor
    that goes by the name takes the first (core/v1: ContainerPort).
    """
    numbers: dict[object, str] = {}
    names: dict[str, str] = {}
    for index, container in enumerate(sequence(spec, "containers")):
        own = text(container, "name")
        for position, port in enumerate(sequence(container, "ports")):
            path: Path = ("containers", index, "ports", position)
            number, name = whole(port, "containerPort"), text(port, "name")
            key = (number, text(port, "protocol") or "TCP")
            if numbers.setdefault(key, own) != own:
                yield (
                    (*path, "containerPort"),
                    f"port {number} of `{own}` is already opened by `{numbers[key]}`",
                    "choose another port",
                )
            if name and names.setdefault(name, own) != own:
                yield (
                    (*path, "name"),
                    f"`{name}` of `{own}` is already a port of `{names[name]}`",
                    "choose another name",
                )


def _containers(spec: Manifest, claims: Collection[str]) -> Iterator[Refusal]:
    volumes = {text(volume, "name") for volume in sequence(spec, "volumes")} | set(claims)
    on_host = dig(spec, "hostNetwork") is True
    seen: set[str] = set()
    taken: dict[tuple[int, str, str], str] = {}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(sequence(spec, kind)):
            path: Path = (kind, index)
            name = text(container, "name")
            yield from _label(name, (*path, "name"), "container")
            if name in seen:
                yield (*path, "name"), f"two containers are called `{name}`", "rename one of them"
            seen.add(name)
            if not text(container, "image"):
                yield (*path, "image"), f"container `{name}` has no image", "name an image"
            yield from _resources(mapping(container, "resources"), (*path, "resources"))
            yield from _environment(container, path)
            own = dig(container, "securityContext")
            yield from security_refusals(own, (*path, "securityContext"))
            yield from _mounts(container, path, volumes)
            yield from _ports(container, path, on_host, taken)
            restarts = kind == "containers" or text(container, "restartPolicy") == "Always"
            yield from _probes(container, path, allowed=restarts)


def _label(name: str, path: Path, what: str) -> Iterator[Refusal]:
    if not is_dns_label(name):
        yield (
            path,
            f"the {what} name `{name}` is not a DNS label",
            "use at most 63 of a-z, 0-9 and -, with a letter or digit at both ends",
        )


def _resources(resources: Manifest, path: Path) -> Iterator[Refusal]:
    asked, limits = mapping(resources, "requests"), mapping(resources, "limits")
    for side, amounts in (("requests", asked), ("limits", limits)):
        for name, value in amounts.items():
            amount = amount_of(value)
            if amount is None:
                yield (
                    (*path, side, name),
                    f"`{value}` is not a quantity",
                    "write one such as 8 or 512Gi",
                )
            elif amount.denominator != 1 and "/" in name and not overcommits(name):
                yield (
                    (*path, side, name),
                    f"{name} `{value}` must be an integer",
                    "write whole units",
                )
    for name, value in asked.items():
        amount, limit = amount_of(value), amount_of(limits.get(name))
        at: Path = (*path, "requests", name)
        if amount is None:
            continue
        if not overcommits(name):
            if limit is None:
                yield (
                    (*path, "limits", name),
                    f"{name} is requested without a limit, which it must have",
                    f"add the limit {value}",
                )
            elif amount != limit:
                yield (
                    at,
                    f"{value} must be equal to {name} limit of {limits[name]}",
                    f"write {limits[name]}",
                )
        elif limit is not None and amount > limit:
            yield (
                at,
                f"{value} must be less than or equal to {name} limit of {limits[name]}",
                f"write at most {limits[name]}, or raise the limit",
            )


def _environment(container: Node, path: Path) -> Iterator[Refusal]:
    for index, variable in enumerate(sequence(container, "env")):
        name, value = text(variable, "name"), dig(variable, "value")
        if value is not None and not isinstance(value, str):
            shown = str(value).lower() if isinstance(value, bool) else value
            yield (
                (*path, "env", index, "value"),
                f"the value of `{name}` must be text, and `{shown}` is none",
                f'write value: "{shown}"' if isinstance(value, (bool, int)) else "write a text",
            )
        if not _ENV_NAME.fullmatch(name):
            yield (
                (*path, "env", index, "name"),
                f"`{name}` is not a name of a variable",
                "use printable ASCII characters without =",
            )
        if text(variable, "value") and dig(variable, "valueFrom") is not None:
            yield (*path, "env", index), f"`{name}` has a value and a valueFrom", "keep one of them"


def _mounts(container: Node, path: Path, volumes: set[str]) -> Iterator[Refusal]:
    seen: set[str] = set()
    for index, mount in enumerate(sequence(container, "volumeMounts")):
        at: Path = (*path, "volumeMounts", index)
        name, place = text(mount, "name"), text(mount, "mountPath")
        if name not in volumes:
            yield (
                (*at, "name"),
                f"volumeMounts[{index}].name: Not found: `{name}`",
                "add the volume",
            )
        if not place:
            yield (*at, "mountPath"), f"the mount of `{name}` has no path", "write a mountPath"
        elif place in seen:
            yield (*at, "mountPath"), f"`{place}` is mounted twice", "remove one of the mounts"
        seen.add(place)


def _ports(
    container: Node, path: Path, on_host: bool, taken: dict[tuple[int, str, str], str]
) -> Iterator[Refusal]:
    seen: set[str] = set()
    for index, port in enumerate(sequence(container, "ports")):
        at: Path = (*path, "ports", index)
        name = text(port, "name")
        if name and not _PORT_NAME.fullmatch(name):
            yield (
                (*at, "name"),
                f"the port name `{name}` is not a service name",
                "use at most 15 of a-z, 0-9 and single -, with at least one letter",
            )
        if name and name in seen:
            yield (*at, "name"), f"two ports are called `{name}`", "rename one of them"
        seen.add(name)
        number, host = whole(port, "containerPort"), whole(port, "hostPort")
        if number is None or not 1 <= number <= 65535:
            yield (
                (*at, "containerPort"),
                f"port {number} is not between 1 and 65535",
                "write a port",
            )
        if host and not 1 <= host <= 65535:
            yield (*at, "hostPort"), f"port {host} is not between 1 and 65535", "write a port"
        if on_host and host and host != number:
            yield (
                (*at, "hostPort"),
                f"hostPort {host} must match containerPort {number} when hostNetwork is true",
                f"write {number} or remove it",
            )
        if host:
            key = (host, text(port, "protocol") or "TCP", text(port, "hostIP"))
            if key in taken:
                yield (
                    (*at, "hostPort"),
                    f"hostPort {host} is taken by {taken[key]} too",
                    "change one",
                )
            taken[key] = f"`{text(container, 'name')}`"


def _probes(container: Node, path: Path, *, allowed: bool) -> Iterator[Refusal]:
    for name in _PROBES:
        probe = dig(container, name)
        at: Path = (*path, name)
        if not isinstance(probe, Mapping):
            continue
        if not allowed:
            yield at, f"an init container that ends has no {name}", "remove the probe"
        handlers = [key for key in _HANDLERS if key in probe]
        if len(handlers) != 1:
            yield at, f"a probe has exactly one handler; this one has {len(handlers)}", "keep one"
        for key in _COUNTS:
            value = whole(probe, key)
            if value is not None and value < 0:
                yield (*at, key), f"{key} {value} is negative", "write 0 or more"
        if name != "readinessProbe" and (whole(probe, "successThreshold") or 1) > 1:
            yield (*at, "successThreshold"), f"successThreshold must be 1 in a {name}", "write 1"
        yield from _probe_port(probe, at)


def _probe_port(probe: Manifest, path: Path) -> Iterator[Refusal]:
    for handler in ("httpGet", "tcpSocket", "grpc"):
        if handler not in probe:
            continue
        number, name = whole(probe, handler, "port"), text(probe, handler, "port")
        at: Path = (*path, handler, "port")
        if number is None and not _PORT_NAME.fullmatch(name):
            yield at, f"`{name}` is neither a port nor the name of one", "write the port"
        elif number is not None and not 1 <= number <= 65535:
            yield at, f"port {number} is not between 1 and 65535", "write a port"


def _toleration(toleration: Node, path: Path) -> Iterator[Refusal]:
    operator = text(toleration, "operator") or "Equal"
    effect = text(toleration, "effect")
    if not text(toleration, "key") and operator != "Exists":
        yield (
            (*path, "operator"),
            "a toleration without a key needs the operator Exists",
            "write Exists",
        )
    # Lt and Gt stand behind a gate that is off by default: 1.36 refuses them.
    if operator not in ("Equal", "Exists"):
        yield (
            (*path, "operator"),
            f"operator `{operator}` is not supported",
            "write Equal or Exists",
        )
    if operator == "Exists" and text(toleration, "value"):
        yield (*path, "value"), "the value must be empty with the operator Exists", "remove it"
    if effect not in _EFFECTS:
        yield (
            (*path, "effect"),
            f"effect `{effect}` is not supported",
            "write NoSchedule, PreferNoSchedule or NoExecute",
        )
    if dig(toleration, "tolerationSeconds") is not None and effect != "NoExecute":
        yield (
            (*path, "effect"),
            "tolerationSeconds goes with the effect NoExecute only",
            "write NoExecute or remove tolerationSeconds",
        )
