"""What kube-state-metrics can be told to make of LeaderWorkerSets, Workloads and PodGroups: kinds, paths and series.

Stock kube-state-metrics knows none of these kinds. A `CustomResourceStateMetrics` configuration names a kind and, for
each series, a path in its objects; the series is called `<prefix>_<name>` (`observability §1.3`, §1.6; read again in
`pkg/customresourcestate` of v2.20.0). It is a file and no object of Kubernetes. Two habits of the exporter decide how a
row looks: a counter that the API leaves out at zero needs `nilIsZero`, or its series vanishes exactly then; and a path
goes to the value itself, since a map is taken apart key by key.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from gangform.apis import kueue, leaderworkerset, volcano
from gangform.apis.versions import Release, Versions

CONFIGURATION: Final = "CustomResourceStateMetrics"
"""The `kind` of the configuration. It has neither apiVersion nor metadata."""
KIND_LABEL: Final = "customresource_kind"
"""Label of every such series, beside `customresource_group` and `customresource_version`: nothing overrides them."""
DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
"""Group and resource that the exporter has to list and watch in any case: it waits for kinds that come later."""
QUIET: Final = 5
"""`errorLogV` of every kind: a list that an object does not have yet is logged as an error for each object."""

ObjectPath = tuple[str, ...]

NAMESPACE: Final[ObjectPath] = ("metadata", "namespace")
NAME: Final[ObjectPath] = ("metadata", "name")
CREATED: Final[ObjectPath] = ("metadata", "creationTimestamp")
CONDITIONS: Final[ObjectPath] = ("status", "conditions")


class StateMetric(NamedTuple):
    """One series of a kind."""

    name: str
    """Without the prefix."""
    help: str
    path: ObjectPath
    value_from: ObjectPath = ()
    """In each element of the list at `path`."""
    labels: Mapping[str, ObjectPath] = MappingProxyType({})
    """Labels from the element, beside those of the object."""
    nil_is_zero: bool = False
    states: tuple[str, ...] = ()
    """Values of a state set, one series each that is 1 or 0; empty for a gauge."""
    label: str = ""
    """The state set's label."""
    since: Release | None = None
    """The first release of the kind's software that fills the field; `None`: all that we know."""


class StateKind(NamedTuple):
    """A kind that the exporter watches."""

    software: Literal["lws", "kueue", "volcano"]
    """Whose it is, by its name in the declared versions."""
    api_version: str
    kind: str
    plural: str
    prefix: str
    labels: Mapping[str, ObjectPath]
    """Labels of every series, from the object."""
    metrics: tuple[StateMetric, ...]

    def series(self, metric: StateMetric) -> str:
        """What a metric is called in Prometheus."""
        return f"{self.prefix}_{metric.name}"

    def label_names(self, metric: StateMetric) -> frozenset[str]:
        """The labels that a series carries beside those of the scrape."""
        own = {*self.labels, *metric.labels, *filter(None, [metric.label])}
        return frozenset({*own, KIND_LABEL, "customresource_group", "customresource_version"})


def _condition() -> StateMetric:
    return StateMetric(
        "status_condition",
        "1 while the condition is True",
        CONDITIONS,
        value_from=("status",),
        labels={"condition": ("type",), "reason": ("reason",)},
    )


SETS: Final = StateKind(
    "lws",
    leaderworkerset.API_VERSION,
    "LeaderWorkerSet",
    "leaderworkersets",
    "leaderworkerset",
    {"namespace": NAMESPACE, "leaderworkerset": NAME},
    (
        StateMetric("created", "Creation time", CREATED),
        StateMetric("metadata_generation", "Generation of the spec", ("metadata", "generation")),
        StateMetric("spec_replicas", "Groups wanted", ("spec", "replicas")),
        StateMetric("spec_group_size", "Pods of a group", ("spec", "leaderWorkerTemplate", "size")),
        StateMetric(
            "status_observed_generation",
            "Generation that the controller has seen",
            ("status", "observedGeneration"),
            nil_is_zero=True,
            since=leaderworkerset.FIELDS.rows["observedGeneration"].since,
        ),
        StateMetric(
            "status_replicas", "Groups that exist", ("status", "replicas"), nil_is_zero=True
        ),
        StateMetric(
            "status_ready_replicas",
            "Groups wholly ready, those of a surge included",
            ("status", "readyReplicas"),
            nil_is_zero=True,
        ),
        StateMetric(
            "status_updated_replicas",
            "Groups of the new revision, ready or not",
            ("status", "updatedReplicas"),
            nil_is_zero=True,
        ),
        _condition(),
        StateMetric(
            "status_condition_last_transition_time_seconds",
            "When the condition changed last",
            CONDITIONS,
            value_from=("lastTransitionTime",),
            labels={"condition": ("type",)},
        ),
    ),
)
"""LeaderWorkerSets. Conditions up to 0.10: Available, Progressing, UpdateInProgress (`observability §1.5`). A restart
budget and its condition Degraded are known from texts alone, and no row stands on that."""

WORKLOADS: Final = StateKind(
    "kueue",
    kueue.api_version(kueue.NEWEST),
    "Workload",
    "workloads",
    "kueue_workload",
    {
        "namespace": NAMESPACE,
        "workload": NAME,
        "owner_kind": ("metadata", "ownerReferences", "0", "kind"),
        "owner_name": ("metadata", "ownerReferences", "0", "name"),
        "local_queue": ("spec", "queueName"),
        "group": ("metadata", "annotations", kueue.COMPONENT_INDEX),
    },
    (StateMetric("created", "Creation time", CREATED), _condition()),
)
"""Kueue's Workloads, one for each group of a set. The annotation with the group's index comes with 0.17, and a label
whose path is not there is left out."""

POD_GROUPS: Final = StateKind(
    "volcano",
    volcano.API_VERSION,
    "PodGroup",
    "podgroups",
    "volcano_podgroup",
    {
        "namespace": NAMESPACE,
        "podgroup": NAME,
        "queue": ("spec", "queue"),
        "leaderworkerset": ("metadata", "labels", leaderworkerset.NAME),
        "group": ("metadata", "labels", leaderworkerset.GROUP_INDEX),
    },
    (
        StateMetric("created", "Creation time", CREATED),
        StateMetric("spec_min_member", "Pods of the gang", ("spec", "minMember"), nil_is_zero=True),
        StateMetric(
            "status_phase",
            "Phase of the gang",
            ("status", "phase"),
            states=("Pending", "Inqueue", "Running", "Unknown", "Completed"),
            label="phase",
        ),
    ),
)
"""Volcano's PodGroups. Those that LWS's provider makes carry the set's labels (`volcano §5`; read in 0.8 to 0.10)."""

KINDS: Final = (SETS, WORKLOADS, POD_GROUPS)
"""Every kind, in the order of the configuration."""


def declared(versions: Versions) -> Iterator[StateKind]:
    """The kinds of a cluster: those whose software it declares, in the version and with the fields of that release."""
    for kind in KINDS:
        release: Release | None = getattr(versions, kind.software)
        if release is None:
            continue
        if kind is WORKLOADS:
            kind = kind._replace(api_version=kueue.api_version(release))
        metrics = (one for one in kind.metrics if one.since is None or release >= one.since)
        yield kind._replace(metrics=tuple(metrics))


def _series() -> Iterator[tuple[str, frozenset[str]]]:
    for kind in KINDS:
        for metric in kind.metrics:
            yield kind.series(metric), kind.label_names(metric)


SERIES: Final[Mapping[str, frozenset[str]]] = dict(_series())
"""Every series that such a configuration makes, with its labels."""

SETS_CREATED: Final = "leaderworkerset_created"
SETS_EXIST: Final = "leaderworkerset_status_replicas"
SETS_READY: Final = "leaderworkerset_status_ready_replicas"
SETS_GENERATION: Final = "leaderworkerset_metadata_generation"
SETS_OBSERVED: Final = "leaderworkerset_status_observed_generation"
SETS_CONDITION: Final = "leaderworkerset_status_condition"
WORKLOADS_CREATED: Final = "kueue_workload_created"
WORKLOADS_CONDITION: Final = "kueue_workload_status_condition"
GROUPS_CREATED: Final = "volcano_podgroup_created"
GROUPS_PHASE: Final = "volcano_podgroup_status_phase"
"""Those that alerts of ours read."""
