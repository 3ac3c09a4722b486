"""Kinds of fault that manifests have in practice, and why the shipped fleet has none of them.

Each file of `lint/` begins with what a linter has to expect of it. A kind is a question asked of plain documents, apart
from our rules: it must find the fault in every file that expects it, and none in any cluster of the fleet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gangform.apis.versions import Release, Versions
from gangform.apis.views import Documents
from gangform.bundle import bundle, foundation
from gangform.documents.document import Document, Key
from gangform.documents.read import read_manifests
from gangform.findings import Severity
from gangform.inputs.load import load_fleet
from gangform.plan.cluster import ClusterPlan
from gangform.rules.rule import Context, judge
from gangform.synth import plan_fleet

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("lint")
FILES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
EXPECTED = {name: re.findall(r"^# expect: (\S+) at", text, re.M) for name, text in FILES.items()}
CLEAN = [name for name, text in FILES.items() if text.startswith("# expect: clean\n")]

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


# ── kinds ────────────────────────────────────────────────────────────────────────────────────────

Ask = Callable[[World], bool]


class Kind(NamedTuple):
    """A kind of fault: how it is seen, and why our output cannot have it."""

    ask: Ask
    why: str


KINDS: dict[str, Kind] = {}


def kind(name: str, why: str) -> Callable[[Ask], Ask]:
    def note(ask: Ask) -> Ask:
        KINDS[name] = Kind(ask, why)
        return ask

    return note


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


@kind("readiness-missing", "every engine that serves has all three probes")
def _unready(world: World) -> bool:
    leaders = [engine(group.leader) for group in groups(world)]
    return any(gpus(one) and "readinessProbe" not in one for one in leaders)


@kind(
    "liveness-before-loaded",
    "the startup probe covers the worst cold start, and liveness waits for it",
)
def _killed(world: World) -> bool:
    return any("livenessProbe" in one and "startupProbe" not in one for one in engines(world))


@kind("startup-budget-too-short", "the budget is the cold start times a margin")
def _budget(world: World) -> bool:
    def allowed(group: Group) -> int:
        probe = engine(group.leader).get("startupProbe", {})
        return int(probe.get("periodSeconds", 0)) * int(probe.get("failureThreshold", 0))

    return any(allowed(group) < world.cold_start.get(group.name, 0) for group in groups(world))


@kind("topology-level-unknown", "levels come from the pool that the Topology is made of")
def _level(world: World) -> bool:
    known = {level["nodeLabel"] for one in world.of("Topology") for level in one["spec"]["levels"]}
    asked = {
        value
        for template in templates(world)
        for key, value in template.get("metadata", {}).get("annotations", {}).items()
        if key.startswith("kueue.x-k8s.io/podset-") and key.endswith("-topology")
    }
    return not asked <= known


@kind("slice-size-remainder", "no slices are written")
def _slices(world: World) -> bool:
    for group in groups(world):
        apart = group.leader is not group.worker
        for template in group.templates:
            notes = template.get("metadata", {}).get("annotations", {})
            size = notes.get("kueue.x-k8s.io/podset-slice-size")
            if size and (group.size - apart) % int(size):
                return True
    return False


@kind("queue-label-wrong-object", "the queue stands on the set that Kueue knows, and on it alone")
def _queue(world: World) -> bool:
    key = "kueue.x-k8s.io/queue-name"
    served = {"LeaderWorkerSet", "Deployment"}
    return any(
        key in each["metadata"].get("labels", {}) and each["kind"] not in served
        for each in world.objects
    ) or any(key in labels(template) for template in templates(world))


@kind(
    "gang-not-formed",
    "a backend with a scheduler of its own has PodGroups, or the provider that makes them",
)
def _gang(world: World) -> bool:
    def held(template: Object) -> bool:
        notes = template.get("metadata", {}).get("annotations", {})
        return world.provider or world.has(
            "PodGroup", notes.get("scheduling.k8s.io/group-name", "")
        )

    usual = ("default-scheduler", None)
    return any(
        one["spec"].get("schedulerName") not in usual and not held(one) for one in templates(world)
    )


@kind(
    "exclusive-topology-domains", "a surge needs room in the plan's inventory before it is proposed"
)
def _domains(world: World) -> bool:
    for group in groups(world):
        level = group.owner["metadata"].get("annotations", {}).get(LWS + "exclusive-topology")
        peak = int(group.spec.get("replicas", 1)) + int(group.rolling.get("maxSurge", 0))
        if level and peak > world.domains[level]:
            return True
    return False


@kind("compute-domain-size", "no compute domains are written")
def _compute(world: World) -> bool:
    sizes = {group.size for group in groups(world)}
    return any(one["spec"]["numNodes"] not in sizes for one in world.of("ComputeDomain"))


@kind("nixl-host-unset", "prefill and decode are not parted")
def _nixl_unset(world: World) -> bool:
    name = "VLLM_NIXL_SIDE_CHANNEL_HOST"
    return any("NixlConnector" in said(c) and name not in variables(c) for c in engines(world))


@kind("nixl-host-wildcard", "addresses are the pod's own, read from its status")
def _nixl_wildcard(world: World) -> bool:
    return any("0.0.0.0" in variables(container).values() for container in engines(world))


@kind("hpa-cpu-on-gpu-engine", "the signal is the engine's queue")
def _cpu(world: World) -> bool:
    return any(
        metric["type"] == "Resource"
        for each, group in scalers(world)
        for metric in each["spec"].get("metrics", [])
        if gpus(engine(group.leader))
    )


@kind("replicas-owned-by-autoscaler", "replicas are left out where an autoscaler writes them")
def _owned(world: World) -> bool:
    return any("replicas" in group.spec for _, group in scalers(world))


METRICS = {"num_requests_waiting", "num_requests_running", "kv_cache_usage_perc", "num_queue_reqs"}


def _metrics(each: Object) -> list[tuple[str, str]]:
    return re.findall(r"(vllm|sglang)[:_]([a-z_]+)", yaml.safe_dump(each["spec"]))


@kind("metric-unknown", "the metric is the engine's own word for requests that wait")
def _unknown(world: World) -> bool:
    return any(name not in METRICS for each, _ in scalers(world) for _, name in _metrics(each))


@kind("metric-not-exported", "vLLM exports its series unless told not to, and nothing tells it")
def _unexported(world: World) -> bool:
    return any(
        ("sglang" in words and "--enable-metrics" not in words) or "--disable-log-stats" in words
        for each, group in scalers(world)
        if _metrics(each)
        for words in [said(engine(group.leader))]
    )


@kind("monitor-selects-workers", "the monitor selects leaders, as the Service does")
def _monitor(world: World) -> bool:
    return any(
        selects(selector(each), group, worker=True)
        for each in world.of("PodMonitor", "ServiceMonitor")
        for group in aimed(world, each)
    )


@kind("service-port-unserved", "port and targetPort come from the launch that the container has")
def _port(world: World) -> bool:
    for each in traffic(world):
        opened = {
            value
            for group in aimed(world, each)
            for one in group.leader["spec"]["containers"]
            for port in one.get("ports", [])
            for value in port.values()
        }
        opened |= {int(flag(engine(group.leader), "port") or 0) for group in aimed(world, each)}
        if any(port["targetPort"] not in opened for port in each["spec"]["ports"]):
            return True
    return False


@kind("service-name-collides", "the Service of the leaders is called after the set with a suffix")
def _collides(world: World) -> bool:
    return any(
        group.size > 1
        and group.spec.get("networkConfig", {}).get("subdomainPolicy", "Shared") == "Shared"
        and world.has("Service", group.name)
        for group in groups(world)
    )


@kind("service-selects-subset", "selectors have no label that differs from group to group")
def _subset(world: World) -> bool:
    return any(BY_GROUP & set(selector(each)) for each in traffic(world))


@kind("service-selects-workers", "selectors name the worker index of leaders")
def _workers(world: World) -> bool:
    return any(
        selects(selector(each), group, worker=True)
        for each in traffic(world)
        for group in aimed(world, each)
    )


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


@kind("selector-matches-nothing", "selectors and labels come from one place in the plan")
def _nothing(world: World) -> bool:
    kinds = ("Service", "PodDisruptionBudget", "PodMonitor", "InferencePool")
    return any(not aimed(world, each) for each in world.of(*kinds))


@kind(
    "pdb-allows-many-groups",
    "one budget of one pod for the set, or one of the whole size for each group",
)
def _many(world: World) -> bool:
    for each in world.of("PodDisruptionBudget"):
        for group in aimed(world, each):
            one_group = BY_GROUP & set(selector(each))
            pods = group.size * (1 if one_group else int(group.spec.get("replicas", 1)))
            least = each["spec"].get("minAvailable")
            away = each["spec"].get("maxUnavailable") if least is None else pods - least
            if away > 1:
                return True
    return False


@kind("reference-unresolved", "what is named is made beside it, or promised as a prerequisite")
def _unresolved(world: World) -> bool:
    named = [
        (ref["kind"], ref["name"])
        for each in world.of("HTTPRoute")
        for one in each["spec"]["rules"]
        for ref in one["backendRefs"]
    ]
    named += [("ClusterQueue", one["spec"]["clusterQueue"]) for one in world.of("LocalQueue")]
    named += [
        ("ResourceFlavor", flavor["name"])
        for each in world.of("ClusterQueue")
        for one in each["spec"]["resourceGroups"]
        for flavor in one["flavors"]
    ]
    named += [
        ("Topology", one["spec"]["topologyName"])
        for one in world.of("ResourceFlavor")
        if "topologyName" in one["spec"]
    ]
    for each in world.of("HorizontalPodAutoscaler", "ScaledObject"):
        target = each["spec"]["scaleTargetRef"]
        named.append((target["kind"], target["name"]))
    return not all(world.has(*pair) for pair in named)


@kind("name-too-long", "the bound at the highest index is checked in the plan")
def _long(world: World) -> bool:
    return any(
        len(group.name) > (50 if group.size > 1 else 52)
        for group in groups(world)
        if group.owner["kind"] == "LeaderWorkerSet"
    )


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


@kind("template-asymmetry", "both templates are built from one section of the plan")
def _asymmetry(world: World) -> bool:
    def alike(template: Object) -> list[Any]:
        spec = template["spec"]
        scheduled = ("nodeSelector", "affinity", "tolerations", "schedulerName", "volumes")
        return [*(spec.get(name) for name in scheduled), variables(engine(template))]

    return any(
        alike(group.leader) != alike(group.worker)
        for group in groups(world)
        if group.worker is not None
    )


@kind("ignored-field", "templates have labels and annotations, and no name")
def _ignored(world: World) -> bool:
    return any("name" in template.get("metadata", {}) for template in templates(world))


@kind(
    "restart-policy-default",
    "the policy is one that the server stores as written, and rebuilds groups",
)
def _restart(world: World) -> bool:
    return any(
        group.size > 1
        and group.spec["leaderWorkerTemplate"].get("restartPolicy") in ("Default", "None")
        for group in groups(world)
    )


@kind("rollout-outage", "a surge is only proposed with no group unavailable")
def _outage(world: World) -> bool:
    return any(
        group.rolling.get("maxSurge")
        and group.rolling.get("maxUnavailable", 1) >= group.spec.get("replicas", 1)
        for group in groups(world)
    )


# ── the files and the fleet ──────────────────────────────────────────────────────────────────────

GIVEN: dict[str, dict[str, Any]] = {
    "h13-exclusive-topology-without-spare-domain": {"domains": {"example.net/node-pool": 2}},
    "r18-startup-budget-too-short": {"cold_start": {"atlas": round(756 / 0.6)}},
}
"""What `# given:` says of a file, as far as a kind asks for it."""


def lint(name: str) -> World:
    objects = list(yaml.safe_load_all(FILES[name]))
    return World(objects=objects, **GIVEN.get(name, {}))


@cache
def fleet() -> dict[str, World]:
    loaded = load_fleet(ROOT / "gangform.yaml")
    return {plan.cluster.name: rendered(plan) for plan in plan_fleet(loaded.fleet, loaded.library)}


def rendered(plan: ClusterPlan) -> World:
    made = [*map(bundle, plan.servings), foundation(plan)]
    return World(
        objects=[document.manifest for each in made for document in each.documents],
        cold_start={
            workload.name: int(workload.role.startup.cold_start)
            for serving in plan.servings
            for workload in serving.workloads
        },
        domains={
            level: len({domain.at[: depth + 1] for domain in pool.domains or ()})
            for pool in plan.cluster.pools.values()
            for depth, level in enumerate(pool.levels)
        },
        provider=plan.cluster.lws_scheduler_provider == "volcano",
    )


def test_every_file_expects_something_known_or_is_clean() -> None:
    assert {name for names in EXPECTED.values() for name in names} == set(KINDS)
    assert [name for name, expected in EXPECTED.items() if not expected] == CLEAN


def test_every_kind_says_why_we_cannot_have_it() -> None:
    assert all(each.why for each in KINDS.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, each) for name, expected in EXPECTED.items() for each in dict.fromkeys(expected)],
)
def test_a_kind_is_seen_in_every_file_that_expects_it(name: str, expected: str) -> None:
    assert KINDS[expected].ask(lint(name))


@pytest.mark.parametrize("name", FILES)
def test_no_other_kind_is_seen_in_a_file(name: str) -> None:
    world = lint(name)
    assert [each for each in KINDS if each not in EXPECTED[name] and KINDS[each].ask(world)] == []


@pytest.mark.parametrize("name", KINDS)
def test_no_kind_is_seen_in_the_fleet(name: str) -> None:
    assert [cluster for cluster, world in fleet().items() if KINDS[name].ask(world)] == []


def test_the_fleet_has_something_to_ask_about() -> None:
    kinds = {each["kind"] for world in fleet().values() for each in world.objects}
    assert kinds >= {"LeaderWorkerSet", "Deployment", "Service", "PodDisruptionBudget", "PodGroup"}
    assert kinds >= {"HorizontalPodAutoscaler", "PodMonitor", "Topology", "ClusterQueue"}


# ── rules are silent on what only looks wrong ────────────────────────────────────────────────────


def versions(name: str) -> Versions | None:
    """The releases that a file gives; Kubernetes has no default."""
    line = next(iter(re.findall(r"^# given: (.*)$", FILES[name], re.M)), "")
    given = dict(re.findall(r"\b(kubernetes|lws|kueue|volcano) ([0-9.]+)", line))
    found = {each: Release.parse(text.strip(".")) for each, text in given.items()}
    return Versions(**found) if "kubernetes" in found else None


@pytest.mark.parametrize("name", CLEAN)
def test_rules_are_silent_on_a_clean_file(name: str) -> None:
    documents = Documents(
        Document(manifest=source.manifest, builder="")
        for source in read_manifests(FILES[name], f"{name}.yaml")
    )
    exists = frozenset({Key("kueue.x-k8s.io", "LocalQueue", "sandbox", "cpu-shared")})
    findings = judge(documents, Context(versions=versions(name), exists=exists))
    assert [one for one in findings if one.code.severity is not Severity.STYLE] == []
