"""What pages are made for, and which of them there are."""

from __future__ import annotations

from pathlib import Path

from gangform.apis.alerting import Alert
from gangform.inputs.cluster import Cluster, Installed, Pool
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan
from gangform.signals import runbooks
from gangform.units import Seconds

TEMPLATES = Path(runbooks.__file__).parent / "templates" / "runbooks"
WRITTEN = sorted(
    path.name.removesuffix(".md.j2") for path in TEMPLATES.glob("*.md.j2") if path.name[0].isupper()
)
"""Alerts with a page, also those that other sources give."""


def alert(name: str, after: Seconds | None = Seconds(600)) -> Alert:
    return Alert(
        name=name,
        expr="vector(1)",
        severity="warning",
        summary="Something is wrong.",
        description="",
        for_=after,
    )


def cluster(plan: ServingPlan) -> ClusterPlan:
    return plan_cluster(
        Cluster(
            name="prod",
            versions=Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
            foundation="all",
            pools={"gpu": Pool(hardware="eight")},
        ),
        [plan],
    )
