"""Which versions of an API some release serves, and the structure of the kinds that we know field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from gangform.apis import (
    disaggregatedset,
    gang_fields,
    keys,
    kueue,
    queue_fields,
    set_fields,
    volcano,
)
from gangform.apis import leaderworkerset as lws
from gangform.apis.versions import Release, Versions
from gangform.documents.document import group_of

Software = Literal["kubernetes", "lws", "kueue", "volcano", "other"]


class Served(NamedTuple):
    """One version of one kind."""

    software: Software
    structure: str | None
    """Its fields; `None` where they are not listed here."""
    since: Release | None = None
    until: Release | None = None
    """The first release that no longer serves it."""
    read: Release | None = None
    """The release whose fields these are; `None` where later ones are known too."""


_V14, _V15, _V20 = Release(0, 14), Release(0, 15), Release(0, 20)
_READ = Release(0, 19, 99)
_READ_VOLCANO = Release(1, 16, 99)
_NEVER = Release(0, 0)
"""Fields of a release that nobody declares: others may have more."""
_KUEUE: Final[Mapping[str, tuple[str, str]]] = {
    "ClusterQueue": (queue_fields.CLUSTER_QUEUE_BETA_1, queue_fields.CLUSTER_QUEUE),
    "Cohort": (queue_fields.COHORT, queue_fields.COHORT),
    "LocalQueue": (queue_fields.LOCAL_QUEUE, queue_fields.LOCAL_QUEUE),
    "ResourceFlavor": (queue_fields.FLAVOR, queue_fields.FLAVOR),
    "Topology": (queue_fields.TOPOLOGY, queue_fields.TOPOLOGY),
    "WorkloadPriorityClass": (queue_fields.PRIORITY_CLASS, queue_fields.PRIORITY_CLASS),
    "AdmissionCheck": (queue_fields.CHECK, queue_fields.CHECK),
}
_COHORT_AND_TOPOLOGY: Final = ("Cohort", "Topology")
"""Alpha versions of their own before they joined the others (`kueue §1.1`)."""


def _kueue() -> dict[tuple[str, str], dict[str, Served]]:
    found: dict[tuple[str, str], dict[str, Served]] = {}
    for kind, (first, second) in _KUEUE.items():
        found[kueue.GROUP, kind] = {
            "v1beta1": Served("kueue", first, until=_V20, read=_READ),
            "v1beta2": Served("kueue", second, since=_V15, read=_READ),
        }
        if kind in _COHORT_AND_TOPOLOGY:
            found[kueue.GROUP, kind]["v1alpha1"] = Served("kueue", None, until=_V14)
    return found


KINDS: Final[Mapping[tuple[str, str], Mapping[str, Served]]] = {
    (lws.GROUP, lws.KIND): {"v1": Served("lws", set_fields.SET)},
    (disaggregatedset.GROUP, disaggregatedset.KIND): {"v1": Served("lws", set_fields.ROLES)},
    **_kueue(),
    (volcano.GROUP, "PodGroup"): {
        "v1beta1": Served("volcano", gang_fields.POD_GROUP, read=_READ_VOLCANO)
    },
    (volcano.GROUP, "Queue"): {"v1beta1": Served("volcano", gang_fields.QUEUE, read=_READ_VOLCANO)},
    (volcano.TOPOLOGY_GROUP, "HyperNode"): {
        "v1alpha1": Served("volcano", gang_fields.HYPER_NODE, read=_READ_VOLCANO)
    },
    (keys.COMPUTE_DOMAIN_GROUP, "ComputeDomain"): {
        "v1beta1": Served("other", gang_fields.DOMAIN, read=_NEVER)
    },
    (group_of(keys.INFERENCE), "InferencePool"): {
        "v1": Served("other", gang_fields.POOL, read=_NEVER)
    },
    (group_of(keys.POLICY), "PodDisruptionBudget"): {
        "v1": Served("kubernetes", None),
        "v1beta1": Served("kubernetes", None, until=Release(1, 25)),
    },
    (group_of(keys.AUTOSCALING), "HorizontalPodAutoscaler"): {
        "v1": Served("kubernetes", None),
        "v2": Served("kubernetes", None, since=Release(1, 23)),
        "v2beta1": Served("kubernetes", None, until=Release(1, 25)),
        "v2beta2": Served("kubernetes", None, until=Release(1, 26)),
    },
    (group_of(keys.APPS), "Deployment"): {"v1": Served("kubernetes", None)},
    (group_of(keys.APPS), "StatefulSet"): {"v1": Served("kubernetes", None)},
    (group_of(keys.NETWORKING), "Ingress"): {
        "v1": Served("kubernetes", None),
        "v1beta1": Served("kubernetes", None, until=Release(1, 22)),
    },
    (group_of(keys.NETWORKING), "NetworkPolicy"): {"v1": Served("kubernetes", None)},
    (group_of(keys.SCHEDULING), "PriorityClass"): {
        "v1": Served("kubernetes", None),
        "v1beta1": Served("kubernetes", None, until=Release(1, 22)),
        "v1alpha1": Served("kubernetes", None, until=Release(1, 22)),
    },
}
"""By group and kind, then by version. A kind that is not here is not judged."""


def release_of(software: Software, versions: Versions | None) -> Release | None:
    """What the cluster runs of it; `None` where nobody said."""
    found: Release | None = getattr(versions, software, None)
    return found
