"""KEDA: the kind that it scales by, the autoscaler that it makes of one, and the releases that bundles run on.

Sources: code of KEDA 2.18 (controllers/keda/hpa.go, pkg/fallback, pkg/scalers/prometheus_scaler.go,
pkg/scaling/executor), its CRD and its changelog.
"""

from __future__ import annotations

from typing import Final

from gangform.apis.keys import KEDA
from gangform.apis.versions import Release

API_VERSION: Final = KEDA
KIND: Final = "ScaledObject"
PLURAL: Final = "scaledobjects"
DEFINITION: Final = f"{PLURAL}.keda.sh"
"""Name of the CustomResourceDefinition."""

OPERATOR: Final = "app.kubernetes.io/part-of=keda-operator"
"""Selects the Deployments of KEDA (config/manager)."""

OLDEST: Final = Release(2, 18)
"""The first release in which a fallback by the groups that are there works for a LeaderWorkerSet: 2.17 has the field,
and its operator ends in a nil pointer on every target that is neither a Deployment nor a StatefulSet; older ones drop
it, and the fallback takes groups away (changelog of 2.17.0 and 2.18.0)."""
NEWEST: Final = Release(2, 21)
"""The newest release that is known here."""

KEEP: Final = "currentReplicasIfHigher"
"""Behaviour of a fallback: the groups that are there stay, and at least as many as it says are wanted."""
PROMETHEUS: Final = "prometheus"
"""Type of a trigger that asks Prometheus. Its query gives one number: several are an error, and none is 0 unless
`ignoreNullValues` is false, so that groups would be taken away when the scrape fails."""


def autoscaler(name: str) -> str:
    """The HorizontalPodAutoscaler that KEDA makes of a ScaledObject; a second one on the target is refused."""
    return f"keda-hpa-{name}"
