"""What a user wants served: one model on one pool, how it is split, how many groups, and everything around them.

Absent means derived or defaulted, and the plan says by what. A value that the plan owns (ranks, GPUs, selectors,
queue labels) has no field here.
"""

from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gangform.inputs.autoscaling import Autoscaling as Autoscaling
from gangform.inputs.base import (
    MOST_GROUPS,
    Bandwidth,
    Count,
    GroupCount,
    LabelKey,
    LabelValue,
    Model,
    Name,
    Natural,
    ObjectName,
)
from gangform.inputs.model import ModelProfile, Overhead
from gangform.inputs.objectives import Objectives
from gangform.inputs.parallelism import Parallelism as Parallelism
from gangform.inputs.parallelism import Preference
from gangform.inputs.qualified import Qualified
from gangform.inputs.texts import (
    Argument,
    SomeBytes,
    SomeCpu,
    SomeSeconds,
    Version,
    folder_fault,
)
from gangform.units import Bytes

FOUNDATION = "foundation"
"""Name of the chart with a cluster's queues, flavors and topology; no serving may be called so."""

Object = dict[str, JsonValue]
"""A piece of a Kubernetes object, passed through as written."""


def _groups(value: object) -> object:
    if isinstance(value, str) and value.endswith("%"):
        raise PydanticCustomError(
            "percent-of-groups",
            "`{value}` is a percentage; write a whole number of groups: under Kueue a percentage surge is never "
            "admitted, and after a scale-down it can resolve to 0",
            {"value": value},
        )
    return value


Groups = Annotated[int, Field(ge=0, le=MOST_GROUPS), BeforeValidator(_groups)]
"""A whole number of groups; percentages are refused (`lws §3`, `lab` summary 4)."""
RestartPolicy = Literal["RecreateGroupAfterStart", "RecreateGroupOnPodRestart", "None"]


class Engine(Model):
    """The inference engine and its release."""

    name: Name = "vllm"
    version: Version
    """Decides flags, probes and memory. Required also with an image of your own."""
    image: str | None = Field(default=None, min_length=1)
    """Image with tag or digest; `None` means the engine's published image of that version."""
    args: tuple[str, ...] = Field(default=(), strict=False)
    """Passed through verbatim after ours; not read by the plan."""
    utilization: Decimal | None = Field(default=None, gt=0, le=1, strict=False)
    """Share of visible GPU memory the engine may use; `None` means the engine's default of that version."""
    kv_cache_type: Literal["auto", "fp8"] = "auto"
    """Number format of the cache; `auto` is 16 bits."""
    overhead: Overhead = Field(default_factory=cache(Overhead.model_construct))
    heap: SomeBytes | None = None
    """What NVSHMEM (DeepEP) takes of each GPU outside the engine's share."""
    warm_up: SomeSeconds | None = None
    """Measured: weights loaded to ready (profiling, compilation, graphs); `None` means the default."""
    nccl: Version | None = None
    """Release of NCCL in the image; a measurement (`qualified`) is compared with it."""


class Admission(Model):
    """Who decides whether a group may start."""

    backend: Name
    """`kueue`, `volcano` (LWS's provider), `volcano-podgroup` (PodGroups of our own) or `none`."""
    queue: Name | None = None
    """LocalQueue or Volcano Queue; required where the backend has queues."""
    priority_class: ObjectName | None = None
    """Kueue WorkloadPriorityClass: order and preemption inside Kueue only."""


class Rollout(Model):
    """How an update proceeds, in whole groups."""

    max_surge: Groups | None = None
    """Groups made beyond the wanted number first; `None` is derived (`design §4` Workload)."""
    max_unavailable: Groups | None = None
    """Groups that may be missing; `None` is derived."""
    spare_groups: Groups = 0
    """Whole groups of capacity that the pool keeps free for this serving."""
    canary_groups: Groups | None = None
    """Groups that take a new revision while the rest stays, as a surge group does; `None` rolls all (LWS partition)."""


class Disruption(Model):
    """What an eviction is answered."""

    mode: Literal["serial", "perGroup"] = "serial"
    """`serial`: drains take one group after another. `perGroup`: no drain takes a healthy group."""
    released: tuple[Natural, ...] = Field(default=(), strict=False)
    """Groups without a budget under `perGroup`, so that an operator may move them."""


class TopologyRequest(Model):
    """Where the pods of one group have to be together."""

    level: LabelKey
    """A level of the pool."""
    mode: Literal["required", "preferred"] = "required"


class Secret(Model):
    """One key of a Secret in the serving's namespace."""

    name: ObjectName
    key: str = "token"


class Weights(Model):
    """Where the engine reads the model from."""

    source: Literal["hub", "claim", "nodePath", "perPod"] = "hub"
    """`hub`: each pod downloads. `claim`: a PersistentVolumeClaim that all pods mount. `nodePath`: a folder on the
    node. `perPod`: a claim per pod, made from a template, into which the pod downloads once."""
    token: Secret | None = None
    """Hub token, by reference only."""
    claim: ObjectName | None = None
    """The PersistentVolumeClaim of `claim`."""
    path: str | None = None
    """Folder on the node (`nodePath`), or inside the volume (`claim`)."""
    storage_class: ObjectName | None = None
    """StorageClass of `perPod`; `None` means the cluster's default."""
    size: SomeBytes | None = None
    """Size of the claim of `perPod`; `None` is derived from the checkpoint."""
    read_bandwidth: Bandwidth | None = None
    """How fast one pod reads; wins over the hardware's figure."""
    download_bandwidth: Bandwidth | None = None
    """How fast one pod downloads, before it reads what it downloaded (`hub`, `perPod`); `None`: the download is
    reckoned with `readBandwidth`."""

    @model_validator(mode="after")
    def _fields_of_the_source(self) -> "Weights":
        wants = {"claim": ("claim",), "nodePath": ("path",)}.get(self.source, ())
        allowed = {
            "hub": ("token", "download_bandwidth"),
            "claim": ("claim", "path"),
            "nodePath": ("path",),
            "perPod": ("token", "storage_class", "size", "download_bandwidth"),
        }[self.source]
        named = {"token", "claim", "path", "storage_class", "size", "download_bandwidth"}
        for name in wants:
            if getattr(self, name) is None:
                seen = {"source": self.source, "name": name}
                raise PydanticCustomError(
                    "weights-incomplete", "source {source} needs `{name}`", seen
                )
        if rule := folder_fault(self.path, on_node=self.source == "nodePath"):
            raise PydanticCustomError(
                "path-refused", "`{path}` is refused: {rule}", {"path": self.path, "rule": rule}
            )
        for name in sorted(named - set(allowed)):
            if getattr(self, name) is not None:
                raise PydanticCustomError(
                    "weights-contradict",
                    "source {source} has no use for `{name}`",
                    {"source": self.source, "name": name},
                )
        return self


class Fit(Model):
    """What overrides the memory arithmetic, with the reason kept beside it."""

    accepted: str | None = Field(default=None, min_length=1)
    """Why it is emitted although the arithmetic says no."""
    available_kv: Bytes | None = None
    """`Available KV cache memory` from the engine's own log, per GPU."""


class Network(Model):
    """A NetworkPolicy: who may reach the leaders and who may scrape them. Groups always reach themselves."""

    clients: tuple[Object, ...] = Field(min_length=1, strict=False)
    """NetworkPolicy peers (`namespaceSelector`, `podSelector`, `ipBlock`) that may send requests."""
    scrapers: tuple[Object, ...] = Field(min_length=1, strict=False)
    """Peers that may read metrics."""


class Resources(Model):
    """Requests of one pod, where the derived ones do not suit. Limits of memory and storage follow."""

    cpu: SomeCpu | None = None
    memory: SomeBytes | None = None
    """Includes `/dev/shm`."""
    ephemeral_storage: SomeBytes | None = None
    shared_memory: SomeBytes | None = None


class Pods(Model):
    """Fields of the pods that we have no opinion on, alike on leader and workers, since they are scheduled as one."""

    resources: Resources = Field(default_factory=cache(Resources.model_construct))
    image_pull_secrets: tuple[ObjectName, ...] = Field(default=(), strict=False)
    service_account_name: ObjectName | None = None
    """An account that exists; `None` makes one of our own without a mounted token."""
    security_context: Object | None = None
    """Pod-level security context."""
    container_security_context: Object | None = None
    """Security context of the engine's container; wins over ours field by field."""
    host_network: bool = False
    init_containers: tuple[Object, ...] = Field(default=(), strict=False)
    sidecars: tuple[Object, ...] = Field(default=(), strict=False)
    """Further containers beside the engine."""
    tolerations: tuple[Object, ...] = Field(default=(), strict=False)
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    affinity: Object | None = None
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: dict[LabelKey, str] = Field(default_factory=dict)
    env: tuple[Object, ...] = Field(default=(), strict=False)
    """Further variables of the engine's container."""
    volumes: tuple[Object, ...] = Field(default=(), strict=False)
    volume_mounts: tuple[Object, ...] = Field(default=(), strict=False)
    priority_class_name: ObjectName | None = None
    """Pod priority, which kube-scheduler and Volcano know; Kueue has its own."""

    @property
    def variables(self) -> dict[str, str]:
        """Those of `env` whose values are written out."""
        pairs = [(entry.get("name"), entry.get("value")) for entry in self.env]
        return {
            name: value
            for name, value in pairs
            if isinstance(name, str) and isinstance(value, str) and "$(" not in value
        }


class Patch(Model):
    """A change to one of the bundle's objects, applied before server defaults and rules."""

    kind: str = Field(min_length=1)
    name: str | None = None
    """`None` means every object of the kind in this bundle."""
    merge: Object | None = None
    """Merged in: maps by key, lists by `name`; null deletes."""
    operations: tuple[Object, ...] | None = Field(default=None, alias="json", strict=False)
    """RFC 6902 operations."""

    @model_validator(mode="after")
    def _one_form(self) -> "Patch":
        if (self.merge is None) == (self.operations is None):
            raise PydanticCustomError("patch-form", "a patch has either `merge` or `json`", {})
        return self


class Serving(Model):
    """One model served on one pool of every cluster it names."""

    name: Name
    namespace: Name
    model: str | ModelProfile
    """A profile's name, or a whole profile inline."""
    pool: Name
    """A pool of the cluster."""
    engine: Engine
    groups: GroupCount | None = None
    """Fixed number of groups; or `autoscaling`."""
    autoscaling: Autoscaling | None = None
    context: Count
    """Longest context to serve, in tokens."""
    admission: Admission
    parallelism: Parallelism | Literal["auto"] = Field(default_factory=Parallelism.model_construct)
    """`auto` is resolved by `gangform plan --pin`, which writes the numbers into the file."""
    prefer: Preference = "fewestGpus"
    """What decides between shapes that hold the load, where parallelism is `auto`."""
    concurrency: Count | None = None
    """Requests at full context that one group should hold; `None`: reported, not demanded."""
    clusters: tuple[Name, ...] | None = Field(default=None, strict=False)
    """The clusters it runs on; `None` means every cluster of the fleet."""
    workload: Literal["LeaderWorkerSet"] | None = None
    """Asks for a set where one pod would do."""
    served_model_name: Argument | None = None
    """What clients call it; `None` means the profile's name."""
    rollout: Rollout = Field(default_factory=cache(Rollout.model_construct))
    restart_policy: RestartPolicy | None = None
    """`None` (absent) is derived: a lost pod rebuilds its group."""
    startup_policy: Literal["LeaderCreated", "LeaderReady"] = "LeaderCreated"
    disruption: Disruption = Field(default_factory=cache(Disruption.model_construct))
    topology: TopologyRequest | None = None
    spread: LabelKey | None = None
    """A level over whose domains groups should be spread."""
    weights: Weights = Field(default_factory=cache(Weights.model_construct))
    cold_start: SomeSeconds | None = None
    """Measured: pod created to leader ready. Wins over the derived one."""
    pending_alert_after: SomeSeconds | None = None
    """How long a group may wait for capacity before an alert; `None` means the default."""
    objectives: Objectives | None = None
    """`None`: no alert on slow answers."""
    fit: Fit = Field(default_factory=cache(Fit.model_construct))
    qualified: Qualified | None = None
    """What was measured, and with what; no byte of a manifest follows from it."""
    network: Network | None = None
    """`None`: no NetworkPolicy."""
    pods: Pods = Field(default_factory=Pods.model_construct)
    patches: tuple[Patch, ...] = Field(default=(), strict=False)

    @field_validator("name")
    @classmethod
    def _not_the_foundation(cls, value: str) -> str:
        if value == FOUNDATION:
            raise PydanticCustomError(
                "name-reserved",
                "`{value}` is the name of the chart with the cluster's queues, flavors and topology",
                {"value": value},
            )
        return value

    @field_validator("restart_policy", mode="before")
    @classmethod
    def _restart_word(cls, value: Any) -> Any:
        word = {
            "Default": "the server stores it as `None`, so every diff tool would report drift; write None",
            "RecreateGroupOnHostFailure": "no release of LeaderWorkerSet has it; write RecreateGroupAfterStart, "
            "which rebuilds the group after a lost node too",
        }.get(value if isinstance(value, str) else "")
        if word is not None:
            raise PydanticCustomError(
                "restart-policy-word", "`{value}`: {word}", {"value": value, "word": word}
            )
        return value

    @model_validator(mode="after")
    def _counted_once(self) -> "Serving":
        if (self.groups is None) == (self.autoscaling is None):
            raise PydanticCustomError(
                "groups-or-autoscaling",
                "{which}; a serving has either `groups` or `autoscaling`",
                {"which": "neither is given" if self.groups is None else "both are given"},
            )
        return self

    @property
    def highest_groups(self) -> int:
        """Groups wanted at the most, rollouts aside."""
        return self.autoscaling.max if self.autoscaling else self.groups or 0

    @property
    def idle_groups(self) -> int:
        """Groups that stay while nobody asks for anything."""
        return self.autoscaling.min if self.autoscaling else self.groups or 0

    @property
    def lowest_groups(self) -> int:
        """Groups wanted at the least while it serves: one where an autoscaler may take all away."""
        return max(1, self.idle_groups) if self.autoscaling else self.idle_groups
