"""Plain documents as a reader sees them, apart from our forms and rules: sets, their pods, and what aims at them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LWS = "leaderworkerset.sigs.k8s.io/"
PLAIN = {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"}
POD_INDEX = "apps.kubernetes.io/pod-index"
"""The group on leaders, the rank on workers."""
BY_GROUP = {LWS + "group-index", LWS + "group-key", POD_INDEX}

PLACEHOLDER = re.compile(r"[A-Z_]+(/|$)")

Object = Mapping[str, Any]


# ── documents as a reader sees them ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class World:
    """The documents of one cluster or file, and what they cannot say themselves."""

    objects: Sequence[Object]
    cold_start: Mapping[str, int] = field(default_factory=dict)
    """Seconds that a set takes to start, by name."""
    domains: Mapping[str, int] = field(default_factory=dict)
    """Values of a node label."""
    provider: bool = False
    """Whether LWS makes PodGroups."""

    def of(self, *kinds: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] in kinds]

    def has(self, kind: str, name: str) -> bool:
        return any(each["metadata"]["name"] == name for each in self.of(kind))


class Group(NamedTuple):
    """A set of groups: a LeaderWorkerSet, a role of a DisaggregatedSet, or a Deployment of single pods."""

    owner: Object
    spec: Object
    size: int
    leader: Object
    worker: Object | None

    @property
    def name(self) -> str:
        return str(self.owner["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.owner["metadata"]["namespace"])

    @property
    def templates(self) -> list[Object]:
        return [self.leader] if self.worker is None else [self.leader, self.worker]

    @property
    def rolling(self) -> Object:
        strategy: Object = self.spec.get("rolloutStrategy", {})
        found: Object = strategy.get("rollingUpdateConfiguration", {})
        return found


def groups(world: World) -> Iterator[Group]:
    for each in world.of("LeaderWorkerSet", "DisaggregatedSet", "Deployment"):
        spec = each["spec"]
        if each["kind"] == "Deployment":
            yield Group(each, spec, 1, spec["template"], None)
            continue
        for one in [role["spec"] for role in spec["roles"]] if "roles" in spec else [spec]:
            template = one["leaderWorkerTemplate"]
            size, worker = template["size"], template["workerTemplate"]
            leader = template.get("leaderTemplate", worker)
            yield Group(each, one, size, leader, worker if size > 1 else None)


def templates(world: World) -> Iterator[Object]:
    for group in groups(world):
        yield from group.templates


def engines(world: World) -> Iterator[Object]:
    for template in templates(world):
        yield engine(template)


def engine(template: Object) -> Object:
    found: Object = template["spec"]["containers"][0]
    return found


def said(container: Object) -> str:
    return " ".join([*container.get("command", []), *container.get("args", [])])


def flag(container: Object, name: str) -> str | None:
    found = re.search(rf"--{name}[= ](\S+)", said(container))
    return found[1] if found else None


def variables(container: Object) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in container.get("env", [])}


def requested(container: Object) -> dict[str, str]:
    resources = container.get("resources", {})
    return {**resources.get("requests", {}), **resources.get("limits", {})}


def gpus(container: Object) -> int:
    return int(requested(container).get("nvidia.com/gpu", 0))


def mounts(container: Object) -> list[str]:
    return [one["mountPath"] for one in container.get("volumeMounts", [])]


def tag(container: Object) -> str:
    return str(container["image"].rpartition("/")[2].partition(":")[2])


def release(container: Object) -> tuple[int, ...]:
    """The release in a tag such as v0.33.0; `latest` is newer than any."""
    numbers = re.match(r"v?(\d+)\.(\d+)", tag(container))
    return (int(numbers[1]), int(numbers[2])) if numbers else (999,)


def labels(template: Object) -> dict[str, str]:
    found: dict[str, str] = template.get("metadata", {}).get("labels", {})
    return found


def selects(selector: Mapping[str, str], group: Group, *, worker: bool = False) -> bool:
    """Whether a selector matches some leader, or some worker, of a set."""
    template = group.worker if worker else group.leader
    if template is None:
        return False
    own = dict(labels(template))
    if group.owner["kind"] != "Deployment":
        own |= {LWS + "name": group.name, LWS + "worker-index": "1" if worker else "0"}
        if worker:
            own[POD_INDEX] = "1"
    return all(
        own.get(key, value if key in BY_GROUP else None) == value for key, value in selector.items()
    )


def selector(each: Object) -> dict[str, str]:
    found = each["spec"].get("selector") or {}
    matched: dict[str, str] = found.get("matchLabels", found)
    return matched


def traffic(world: World) -> list[Object]:
    return [each for each in world.of("Service") if each["spec"].get("clusterIP") != "None"]


def aimed(world: World, each: Object) -> list[Group]:
    """The sets that an object's selector reaches."""
    space = each["metadata"]["namespace"]
    return [
        group
        for group in groups(world)
        if group.namespace == space
        and (selects(selector(each), group) or selects(selector(each), group, worker=True))
    ]


def scalers(world: World) -> Iterator[tuple[Object, Group]]:
    for each in world.of("HorizontalPodAutoscaler", "ScaledObject"):
        for group in groups(world):
            if group.name == each["spec"]["scaleTargetRef"]["name"]:
                yield each, group
