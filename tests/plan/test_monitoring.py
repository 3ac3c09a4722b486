from __future__ import annotations

from collections.abc import Callable

from gangform.inputs.cluster import Cluster, Monitoring
from gangform.plan import monitoring
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]


def test_a_group_that_only_starts_does_not_alarm(make_plan: MakePlan) -> None:
    plan = make_plan(cold_start=Seconds(600))
    assert plan.monitoring.not_ready_after == 900 + 300
    assert monitoring.not_ready_after(Seconds(7), Seconds(3)) == 10


def test_waiting_for_capacity_alarms_after_half_an_hour_or_as_asked(make_plan: MakePlan) -> None:
    assert make_plan().monitoring.pending_after == 1800
    assert make_plan(pending_alert_after=Seconds(60)).monitoring.pending_after == 60


def test_the_clusters_labels_job_and_runbooks_are_taken_over(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    watched = Monitoring(
        labels={"release": "stack"}, kube_state_metrics_job="ksm", runbook_base="https://r/"
    )
    found = make_plan(on=make_cluster(monitoring=watched)).monitoring
    assert (found.enabled, found.labels) == (True, {"release": "stack"})
    assert (found.job, found.runbook_base) == ("ksm", "https://r/")
    off = make_plan(on=make_cluster(monitoring=Monitoring(enabled=False))).monitoring
    assert not off.enabled
