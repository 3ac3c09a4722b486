"""What a cluster is and runs, and the fleet: which servings run on which clusters.

`unknown` is a value: a check that needs what nobody declared says so instead of guessing.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from gangform.apis.keys import HOSTNAME
from gangform.apis.kueue import LEVEL_LIMIT
from gangform.apis.sidecar import DASHBOARD_LABEL, DASHBOARD_LABEL_VALUE
from gangform.apis.versions import Release, Versions
from gangform.inputs.base import (
    Count,
    DomainValue,
    Duration,
    Integer,
    LabelKey,
    LabelValue,
    Model,
    Name,
    Natural,
    ObjectName,
)
from gangform.inputs.defaults import edition_fault, editions
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.inputs.texts import Line, Url, Version

Switch = Literal["enabled", "disabled", "unknown"]
"""A setting of the cluster that our output relies on."""


class Installed(Model):
    """Releases that the cluster runs."""

    kubernetes: Version
    lws: Version | None = None
    kueue: Version | None = None
    volcano: Version | None = None
    keda: Version | None = None
    """Needed where `metricsAdapter` is `keda`."""

    @property
    def releases(self) -> Versions:
        """The same as numbers."""

        def read(text: str | None) -> Release | None:
            return None if text is None else Release.parse(text)

        return Versions(
            kubernetes=Release.parse(self.kubernetes),
            lws=read(self.lws),
            kueue=read(self.kueue),
            volcano=read(self.volcano),
            keda=read(self.keda),
        )


class Domain(Model):
    """Nodes that share their place at every level above the host."""

    at: tuple[DomainValue, ...] = Field(strict=False)
    """Label values, one a level, coarse to fine, the host level left out."""
    nodes: Count


class Pool(Model):
    """Nodes of one shape."""

    hardware: str | HardwareShape
    """A shape's name, or a whole shape inline."""
    nodes: Natural | None = None
    """How many; `None`: no inventory, and what needs one is not checked."""
    levels: tuple[LabelKey, ...] = Field(default=(), strict=False)
    """Node-label keys of the topology, coarse to fine; the host comes last."""
    domains: tuple[Domain, ...] | None = Field(default=None, strict=False)
    """Which nodes lie where; `None`: no inventory."""
    driver: Version | None = None
    """Release of the GPU driver on its nodes; a measurement (`qualified`) is compared with it."""
    node_labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels beside the GPU product that tell this pool from others."""

    @property
    def above_host(self) -> tuple[str, ...]:
        """The levels that have domains: all but the host."""
        return tuple(level for level in self.levels if level != HOSTNAME)

    @property
    def inventory(self) -> int | None:
        """How many nodes: as many as are said, or as its domains have; `None` where neither is known."""
        domains = None if self.domains is None else sum(domain.nodes for domain in self.domains)
        known = [nodes for nodes in (self.nodes, domains) if nodes is not None]
        return max(known, default=None)

    def sizes(self, depth: int) -> dict[tuple[str, ...], int]:
        """Nodes by domain of so many levels; empty without an inventory of them."""
        found: dict[tuple[str, ...], int] = {}
        for domain in self.domains or ():
            found[domain.at[:depth]] = found.get(domain.at[:depth], 0) + domain.nodes
        return found

    @field_validator("levels")
    @classmethod
    def _host_last(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > LEVEL_LIMIT:
            raise PydanticCustomError(
                "levels-too-many",
                "{count} levels are more than the {limit} that a topology may have",
                {"count": len(value), "limit": LEVEL_LIMIT},
            )
        if len(set(value)) != len(value) or HOSTNAME in value[:-1]:
            raise PydanticCustomError(
                "levels-order",
                "levels are {levels}; each stands once, and {host} last",
                {"levels": ", ".join(value), "host": HOSTNAME},
            )
        return value


class KueueSettings(Model):
    """Kueue's configuration, as far as our output relies on it."""

    lws_framework: Switch = "unknown"
    """Whether the LeaderWorkerSet integration is on; disabled means groups run outside quota, silently."""
    wait_for_pods_ready: Duration | Literal["disabled", "unknown"] | None = None
    """Timeout from admission to ready; `None` means the release's default (disabled up to 0.18, 30m from 0.19)."""
    quota: dict[str, dict[str, str]] | None = None
    """Nominal quota of existing ClusterQueues' flavors: flavor → resource → amount, where `foundation: existing`."""


class VolcanoSettings(Model):
    """Volcano's configuration, as far as our output relies on it."""

    plugins: tuple[str, ...] | None = Field(default=None, strict=False)
    """Scheduler plugins that are on; `None`: unknown. Hard topology needs `network-topology-aware`."""


class DashboardInput(Model):
    """A Grafana dashboard of the cluster, in a ConfigMap of the foundation chart.

    It is made whatever `foundation` says, since it is nobody's queue.
    """

    namespace: Name
    """Where the ConfigMap goes: where Grafana's sidecar looks (`sidecar.dashboards.searchNamespace`)."""
    labels: Annotated[dict[LabelKey, LabelValue], Field(min_length=1)] = Field(
        default_factory=lambda: {DASHBOARD_LABEL: DASHBOARD_LABEL_VALUE}
    )
    """Labels that the sidecar selects by (`sidecar.dashboards.label`, `labelValue`); without one it takes nothing."""
    folder: Line | None = None
    """Grafana's folder, as the annotation `grafana_folder`. The sidecar reads it only where its
    `folderAnnotation` says so; `None`: where the sidecar puts everything."""


class Monitoring(Model):
    """How the cluster selects rules and names its exporters."""

    enabled: bool = True
    """Whether PrometheusRules and PodMonitors are made at all."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels that the Prometheus selects rules and monitors by (`release: …` for kube-prometheus-stack)."""
    kube_state_metrics_job: Line = "kube-state-metrics"
    node_labels: tuple[LabelKey, ...] = Field(default=(), strict=False)
    """Node labels that kube-state-metrics exports (`--metric-labels-allowlist=nodes=[…]`): those of the levels let an
    alert count free domains, those of a pool tell its nodes from others."""
    state_metrics: Literal["stock", "configured"] = "stock"
    """Whether kube-state-metrics has the configuration that comes with the cluster (`kube-state-metrics.yaml`), and so
    shows LeaderWorkerSets, Kueue's Workloads and Volcano's PodGroups; `stock`: no alert reads such a series."""
    prometheus: Url | None = None
    """Address at which KEDA asks Prometheus, such as `http://prometheus-operated.monitoring:9090`."""
    runbook_base: Url | None = None
    """Where the folder `out/<cluster>/runbooks` is published: an alert links to `<base>/<serving>/<alert>.md`. `None`:
    no links, and no pages are written."""
    dashboard: DashboardInput | None = None
    """A Grafana dashboard of the cluster; `None`: none is made."""


class Cluster(Model):
    """One cluster."""

    name: Name
    versions: Installed
    foundation: Literal["all", "queues", "existing"]
    """Who owns queues, flavors and topology. `all`: we make all of them; `queues`: flavors and topology are
    others'; `existing`: we make none. No default: emitting a queue that another team owns takes over their quota."""
    pools: dict[Name, Pool] = Field(min_length=1)
    gitops: Literal["none", "argocd"] = "none"
    lws_scheduler_provider: Literal["none", "volcano", "unknown"] = "unknown"
    """LWS's `gangSchedulingManagement.schedulerProvider`: a switch of the whole cluster."""
    node_autoscaler: Literal["none", "cluster-autoscaler", "karpenter", "unknown"] = "unknown"
    """Who adds and removes nodes. Where one is declared, every pod carries the annotation that keeps it from taking a
    node in use; the same key in a serving's `pods.annotations` wins."""
    kueue: KueueSettings = Field(default_factory=cache(KueueSettings.model_construct))
    volcano: VolcanoSettings = Field(default_factory=cache(VolcanoSettings.model_construct))
    priorities: dict[ObjectName, Integer] = Field(default_factory=dict)
    """Kueue WorkloadPriorityClasses that the foundation makes: name → value."""
    metrics_adapter: Literal["external", "prometheus-adapter", "keda", "none", "unknown"] = (
        "unknown"
    )
    """Who brings metrics to autoscalers; autoscaling is refused without. `external`: somebody serves
    external.metrics.k8s.io. `prometheus-adapter`: its rules are written beside the manifests. `keda`: a ScaledObject is
    written, which asks Prometheus by itself, in the place of a HorizontalPodAutoscaler."""
    monitoring: Monitoring = Field(default_factory=Monitoring.model_construct)

    @classmethod
    def load(cls, path: str | Path) -> "Cluster":
        """Read a cluster from a file.

        Raises:
            InputError: With everything that is wrong in it.
        """
        from gangform.inputs.load import load_cluster

        return load_cluster(Path(path))


class Library:
    """The models and hardware shapes that references may name: shipped ones, and the user's, which win."""

    def __init__(
        self, models: Mapping[str, ModelProfile], hardware: Mapping[str, HardwareShape]
    ) -> None:
        """Keep both maps, by name."""
        self.models = models
        self.hardware = hardware

    @classmethod
    def shipped(cls) -> "Library":
        """What comes with the package, read on demand."""
        from gangform.inputs.load import shipped_library

        return shipped_library()


def _edition(value: int) -> int:
    if value not in editions():
        what, fix = edition_fault(value)
        raise PydanticCustomError("edition-unknown", "{what}", {"what": what, "fix": fix})
    return value


class Fleet(Model):
    """Clusters and the servings that run on them; one of each is a fleet."""

    version: Literal[1]
    """Version of the file format."""
    defaults: Annotated[int, AfterValidator(_edition)] = Field(
        default=1, json_schema_extra={"enum": [*editions()]}
    )
    """Edition of our defaults. A fleet keeps what it names: a better default comes with a new edition."""
    clusters: tuple[Cluster, ...] = Field(min_length=1, strict=False)
    servings: tuple[Serving, ...] = Field(default=(), strict=False)

    def servings_of(self, cluster: Cluster) -> tuple[Serving, ...]:
        """The servings of a cluster, in the order of the file."""
        return tuple(
            serving
            for serving in self.servings
            if serving.clusters is None or cluster.name in serving.clusters
        )
