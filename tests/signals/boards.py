"""Clusters whose dashboards are tried, the series that their exporters write, and queries as Grafana sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.signals.forms import FORMS, HARDWARE, MODEL
from tests.signals.scenario import END, Series, series, steady
from tests.signals.world import World

from gangform.bundle import foundation
from gangform.documents.document import mapping, text
from gangform.inputs.cluster import (
    Cluster,
    DashboardInput,
    Installed,
    Library,
    Monitoring,
    Pool,
)
from gangform.inputs.serving import Admission, Engine, Serving
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import plan_serving
from gangform.units import Seconds

BACKENDS = {
    "none": Admission(backend="none"),
    "kueue": Admission(backend="kueue", queue="serving"),
    "volcano": Admission(backend="volcano", queue="serving"),
    "volcano-podgroup": Admission(backend="volcano-podgroup", queue="serving"),
}
SERVINGS = {"llm": "groups", "solo": "deployment"}
"""A set of groups and a Deployment: name → form."""


def cluster_plan(
    backend: str = "kueue",
    servings: dict[str, str] = SERVINGS,
    *,
    name: str = "prod",
    engine: str = "0.32.0",
    monitoring: Monitoring | None = None,
    **changes: Any,
) -> ClusterPlan:
    """The plan of a cluster with a dashboard; named arguments are the cluster's."""
    cluster = Cluster(
        **{
            "name": name,
            "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
            "foundation": "all",
            "pools": {"gpu": Pool(hardware="eight")},
            "monitoring": monitoring
            or Monitoring(dashboard=DashboardInput(namespace="monitoring")),
            **changes,
        }
    )
    library = Library(models={"small": MODEL}, hardware={"eight": HARDWARE})
    plans = [
        plan_serving(
            Serving(
                **{
                    "name": called,
                    "namespace": "m",
                    "model": "small",
                    "pool": "gpu",
                    "engine": Engine(version=engine),
                    "context": 8192,
                    "cold_start": Seconds(600),
                    **FORMS[form],
                    "admission": BACKENDS[backend],
                }
            ),
            cluster=cluster,
            library=library,
        )
        for called, form in servings.items()
    ]
    return plan_cluster(cluster, plans)


def written(plan: ClusterPlan) -> str:
    """The dashboard as it stands in the ConfigMap of the foundation."""
    (found,) = [one for one in foundation(plan).documents if one.kind == "ConfigMap"]
    (name,) = mapping(found.manifest, "data")
    return text(found.manifest, "data", name)


class Asked(NamedTuple):
    """One query of a panel."""

    panel: str
    legend: str
    expr: str


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every panel, those in closed rows among them."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", ())


def queries(board: str, **chosen: Sequence[str]) -> list[Asked]:
    """Every query as Grafana sends it with these values chosen, or all where none is named.

    Several values are put in as `(a|b)`, one as it is: what the Prometheus data source does for a variable of which
    several may be chosen.
    """
    loaded = json.loads(board)
    values = {"__rate_interval": "4m"}
    for variable in loaded["templating"]["list"]:
        if variable["type"] == "custom":
            picked = chosen.get(variable["name"]) or variable["query"].split(",")
            values[variable["name"]] = picked[0] if len(picked) == 1 else f"({'|'.join(picked)})"
    asked = []
    for panel in panels(loaded):
        for target in panel["targets"]:
            expr = target["expr"]
            for name, value in values.items():
                expr = expr.replace(f"${name}", value)
            asked.append(Asked(panel["title"], target["legendFormat"], expr))
    return asked


# ── series ───────────────────────────────────────────────────────────────────────────────────────


def exported(plan: ClusterPlan) -> Series:
    """What exporters write while nothing is wrong: of the servings, of budgets, engines and queues."""
    found: Series = {}
    for serving in plan.servings:
        if serving.choice.form.can.makes_stateful_sets:
            world = World.of(serving)
            found |= world.healthy()
            leaders = world.leaders
        else:
            leaders = [f"{serving.name}-5f-a", f"{serving.name}-5f-b"]
            for name in ("spec_replicas", "status_replicas"):
                found[series(f"kube_deployment_{name}", deployment=serving.name)] = steady(2)
            for name in ("ready", "updated"):
                row = series(f"kube_deployment_status_replicas_{name}", deployment=serving.name)
                found[row] = steady(2)
        pods = len(leaders) * serving.lead.shape.size
        for name, value in (
            ("pod_disruptions_allowed", 1),
            ("current_healthy", pods),
            ("desired_healthy", pods - 1),
            ("expected_pods", pods),
        ):
            row = f"kube_poddisruptionbudget_status_{name}"
            found[series(row, poddisruptionbudget=serving.name)] = steady(value)
        for leader in leaders:
            found |= engine(serving.name, leader)
    return found | QUEUES


def engine(serving: str, pod: str) -> Series:
    """A leader that answers a request a second, with two in its batch and one waiting."""

    def row(name: str, **labels: str) -> str:
        inside = {"namespace": "m", "pod": pod, "app_kubernetes_io_name": serving, **labels}
        matchers = ",".join(f'{key}="{value}"' for key, value in inside.items())
        return f"vllm:{name}{{{matchers}}}"

    found: Series = {
        row("num_requests_waiting", engine="0"): steady(1),
        row("num_requests_running", engine="0"): steady(2),
        # The leader before this one, which had the same name.
        row("num_requests_waiting", engine="0", instance="old"): steady(1),
        row("num_requests_running", engine="0", instance="old"): steady(2),
        row("kv_cache_usage_perc", engine="0"): f"0.25+0x{END}",
        row("num_preemptions_total"): f"0+30x{END}",
        row("prompt_tokens_total"): f"0+6000x{END}",
        row("generation_tokens_total"): f"0+600x{END}",
        row("request_success_total", finished_reason="stop"): f"0+60x{END}",
    }
    for histogram in ("time_to_first_token_seconds", "inter_token_latency_seconds"):
        for bound, rate in (("1", 0), ("2", 60), ("+Inf", 60)):
            found[row(f"{histogram}_bucket", le=bound)] = f"0+{rate}x{END}"
    return found


QUEUES: Series = {
    'kueue_pending_workloads{cluster_queue="serving",status="active"}': steady(3),
    'kueue_pending_workloads{cluster_queue="serving",status="inadmissible"}': steady(1),
    'kueue_pending_workloads{cluster_queue="other",status="active"}': steady(5),
    'kueue_admitted_active_workloads{cluster_queue="serving"}': steady(4),
    'kueue_admission_wait_time_seconds_bucket{cluster_queue="serving",le="10"}': f"0+1x{END}",
    'kueue_admission_wait_time_seconds_bucket{cluster_queue="serving",le="+Inf"}': f"0+1x{END}",
    'kueue_evicted_workloads_total{cluster_queue="serving",reason="Preempted"}': f"0+60x{END}",
    'volcano_queue_pod_group_pending_count{queue_name="serving"}': steady(4),
    'volcano_queue_pod_group_inqueue_count{queue_name="serving"}': steady(1),
    'volcano_queue_pod_group_running_count{queue_name="serving"}': steady(2),
    'volcano_queue_pod_group_unknown_count{queue_name="serving"}': steady(3),
}
