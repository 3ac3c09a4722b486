"""Recording rules of a serving: groups ready and wanted, their share, and the GPUs that serve.

They are what a dashboard and a service level ask for, in groups. All have the namespace and the label `serving`.
"""

from collections.abc import Iterator

from gangform.apis.alerting import Recording
from gangform.apis.promql import equal
from gangform.plan.serving import ServingPlan
from gangform.signals.replicas import replicas_of

READY = "namespace_serving:groups_ready:sum"
"""Whole groups that are ready: 0 in an outage, and nothing where the exporter is missing."""
DESIRED = "namespace_serving:groups_desired:sum"
"""Groups wanted, surge groups included while a rollout has them; 0 at scale to zero."""
SHARE = "namespace_serving:groups_ready:ratio"
"""Ready over wanted, at most 1, and nothing while none is wanted: that is neither 0 nor 1."""
GPUS = "namespace_serving:gpus_serving:sum"
"""GPUs of the groups that are ready: those of a group that is not whole serve nobody."""

NAMES = (READY, DESIRED, SHARE, GPUS)
"""Every record of a serving."""


def records(plan: ServingPlan) -> Iterator[Recording]:
    """The recording rules of one serving; none where monitoring is off."""
    if not plan.monitoring.enabled:
        return
    replicas = replicas_of(plan)
    mine = f"{{{equal('namespace', plan.namespace)}, {equal('serving', plan.name)}}}"
    ready, desired = f"{READY}{mine}", f"{DESIRED}{mine}"
    labels = {"serving": plan.name}
    yield Recording(READY, replicas.ready, labels)
    yield Recording(DESIRED, replicas.wanted, labels)
    yield Recording(SHARE, f"clamp_max({ready} / ({desired} > 0), 1)", labels)
    yield Recording(GPUS, f"{ready} * {plan.lead.shape.gpus}", labels)
