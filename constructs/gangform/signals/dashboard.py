"""The dashboard of a cluster: which panels it has, of what everything on it is called.

A serving has one name in a cluster, and is chosen by it. Groups are counted by what the rules of the servings record;
the rest comes from stock kube-state-metrics by names that are written out, which keeps the sets of groups apart from
the sets of workers that LeaderWorkerSet makes of each group. Engine and backend add what is theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from hashlib import sha256

from gangform.admission.admission import backend
from gangform.apis import alerting
from gangform.apis.alerting import Alert, series_label
from gangform.apis.core import APP_NAME
from gangform.apis.panels import (
    UID_LIMIT,
    Dashboard,
    EngineChoice,
    Panel,
    Query,
    Row,
    Step,
    joined,
)
from gangform.apis.promql import equal, like, one_of, selector
from gangform.apis.versions import Release
from gangform.engines.engine import engine
from gangform.plan.cluster import ClusterPlan
from gangform.plan.identity import OWNER
from gangform.plan.serving import ServingPlan
from gangform.signals import records
from gangform.signals.alerts import linked
from gangform.signals.chosen import CHOSEN, HERE, Chosen, by_workload_of, workload_of

_MINE = f"{HERE}, {like('serving', CHOSEN)}"
_WHO = "{{serving}}"
_GOOD_FROM_ONE = (Step(None, "red"), Step(Decimal(1), "green"))
_BAD_FROM_ONE = (Step(None, "green"), Step(Decimal(1), "red"))
_BUSY_FROM_ONE = (Step(None, "green"), Step(Decimal(1), "orange"))


def dashboard(plan: ClusterPlan) -> Dashboard:
    """The dashboard of everything that runs on a cluster."""
    name = plan.cluster.name
    names = Chosen.of(plan)
    rows = (
        Row("Now", tuple(_now(plan.cluster.monitoring.runbook_base)), open=True),
        Row("Groups", tuple(_groups(names)), open=True),
        Row("GPUs", (*_gpus(plan), *_quota(plan))),
        Row("Admission", _admission(plan)),
        Row("Engine", _engine(plan)),
        Row("Disruption", tuple(_disruption(names))),
    )
    return Dashboard(
        uid=uid(name),
        title=f"Serving on {name}",
        description=f"Groups, GPUs, queues, engines and budgets of cluster {name}. Made by {OWNER}: change the inputs, "
        "not this dashboard.",
        namespaces=tuple(sorted({serving.namespace for serving in plan.servings})),
        servings=tuple(sorted(serving.name for serving in plan.servings)),
        rows=tuple(row for row in rows if row.panels),
    )


def uid(cluster: str) -> str:
    """What the dashboard and its ConfigMap are called: after the cluster, and short enough for Grafana."""
    whole = f"{OWNER}-{cluster}"
    if len(whole) <= UID_LIMIT:
        return whole
    digest = sha256(cluster.encode()).hexdigest()[:8]
    return f"{whole[: UID_LIMIT - 9].rstrip('-')}-{digest}"


# ── what is recorded ─────────────────────────────────────────────────────────────────────────────


def _recorded(series: str) -> str:
    return f"{series}{{{_MINE}}}"


def _number(title: str, description: str, expr: str, steps: tuple[Step, ...] = ()) -> Panel:
    return Panel(title, description, (Query(expr),), look="number", steps=steps, width=4)


def _now(runbooks: str | None) -> Iterator[Panel]:
    ready, wanted = _recorded(records.READY), _recorded(records.DESIRED)
    firing = f'{alerting.ALERTS}{{alertstate="firing", {_MINE}}}'
    yield _number("Groups ready", "Whole groups that serve.", f"sum({ready})")
    yield _number("Groups wanted", "Groups that there should be, surge included.", f"sum({wanted})")
    yield _number(
        "Servings without a group",
        "Servings that want groups and have no ready one: every request to them fails.",
        f"count(({ready} == 0) and on (namespace, serving) ({wanted} > 0)) or vector(0)",
        _BAD_FROM_ONE,
    )
    yield _number(
        "Servings with too few groups",
        "Servings with fewer ready groups than they want. A start and a rollout are among them.",
        f"count({ready} < on (namespace, serving) {wanted}) or vector(0)",
        _BUSY_FROM_ONE,
    )
    yield _number(
        "GPUs that serve",
        "GPUs of whole, ready groups. A group that lacks one pod serves with none of its GPUs.",
        f"sum({_recorded(records.GPUS)})",
    )
    yield _number(
        "Alerts firing",
        "Alerts of the servings chosen. The table below names them.",
        f"count({firing}) or vector(0)",
        _BAD_FROM_ONE,
    )
    yield Panel(
        "Ready over wanted",
        "The share of the wanted groups that is whole and ready. A serving that is scaled to zero has none.",
        (Query(_recorded(records.SHARE), _WHO),),
        unit="percentunit",
        steps=_GOOD_FROM_ONE,
        most=1,
    )
    yield Panel(
        "Alerts by serving",
        "What fires now. Each alert has a runbook of its name.",
        (Query(f"count by (serving, alertname, severity) ({firing})", "firing"),),
        look="table",
        shown=("serving", "alertname", "severity"),
        link=_runbook(runbooks),
    )


def _runbook(base: str | None) -> tuple[str, str, str] | None:
    """From an alert's name to the page about it and its serving, which the row names."""
    if base is None:
        return None
    page = linked(Alert("${__value.text}", "", "info", "", ""), base, "${__data.fields.serving}")
    return "alertname", "Runbook", f"{page.runbook_url}"


def _groups(names: Chosen) -> Iterator[Panel]:
    ready, wanted = _recorded(records.READY), _recorded(records.DESIRED)
    yield Panel(
        "Groups",
        "Whole, ready groups, and those that there should be. A group that lacks one pod is not ready.",
        (Query(ready, f"{_WHO} ready"), Query(wanted, f"{_WHO} wanted")),
    )
    yield from _rollouts(names)
    if not names.sets:
        return
    pending = names.of_pods(alerting.POD_PHASE, equal("phase", "Pending"))
    pods = f"max by (namespace, pod) ({pending})"
    group = f"{names.groups}(-[0-9]+)?"
    groups = f'max by (namespace, serving, group) (label_replace({_of_serving(pods)}, "group", "$1", "pod", "{group}"))'
    yield Panel(
        "Pending",
        "Groups of which a pod has no node or no running container, and how many pods those are: they wait for quota, "
        "for nodes, for a place where the whole group fits, or for an image. Deployments are not among them.",
        (
            Query(f"sum by (namespace, serving) ({groups})", f"{_WHO} groups"),
            Query(f"sum by (namespace, serving) ({_of_serving(pods)})", f"{_WHO} pods"),
        ),
        steps=_BUSY_FROM_ONE,
    )
    created = f"last_over_time({names.of_leaders(alerting.POD_CREATED)}[1h])"
    lives = f"count by (namespace, pod) (max by (namespace, pod, uid) ({created})) - 1"
    yield Panel(
        "Groups built anew within an hour",
        "Leaders that were made again, each with its whole group. Restart counters of containers do not show it. A "
        "rollout makes each group anew once.",
        (Query(f"sum by (namespace, serving) ({_of_serving(lives)})", _WHO),),
        steps=_BUSY_FROM_ONE,
    )


def _of_serving(expr: str) -> str:
    """Pods under the name of the serving that they are of."""
    return f'label_replace({expr}, "serving", "$1", "pod", "({CHOSEN})(-[0-9]+)+")'


def _rollouts(names: Chosen) -> Iterator[Panel]:
    revisions: list[str] = []
    if names.sets:
        each = [
            f"max by (namespace, workload, revision) ({workload_of(names.of_sets(series), 'statefulset')})"
            for series in (alerting.SET_CURRENT_REVISION, alerting.SET_UPDATE_REVISION)
        ]
        revisions.append(f"count by (namespace, workload) ({' or '.join(each)})")
    if names.deployments:
        pods, updated = (
            by_workload_of(names.of_deployments(series), "deployment")
            for series in (alerting.DEPLOYMENT_PODS, alerting.DEPLOYMENT_UPDATED)
        )
        revisions.append(f"1 + ({pods} > bool on (namespace, workload) {updated})")
    yield Panel(
        "Rollouts",
        "Revisions that run, groups of the newest one, and groups wanted. Two revisions are an update under way, a "
        "canary, or one that stands still.",
        (
            Query("\nor\n".join(revisions), "Revisions"),
            Query(names.by_workload(alerting.SET_UPDATED, alerting.DEPLOYMENT_UPDATED), "Updated"),
            Query(names.by_workload(alerting.SET_WANTED, alerting.DEPLOYMENT_WANTED), "Wanted"),
        ),
        look="table",
        shown=("namespace", "workload"),
    )


def _gpus(plan: ClusterPlan) -> Iterator[Panel]:
    """What models have of the cluster, and what they should have."""
    models: dict[str, list[ServingPlan]] = {}
    for serving in plan.servings:
        models.setdefault(serving.model.name, []).append(serving)
    yield Panel(
        "GPUs that serve, by model",
        "GPUs of whole, ready groups: what a model has of the cluster.",
        tuple(
            Query(f"sum({_of_all(records.GPUS, servings)})", name)
            for name, servings in sorted(models.items())
        ),
        look="stack",
    )
    yield Panel(
        "GPUs wanted, by model",
        "GPUs of all groups that there should be, surge included. What serves less of them is lost or starting.",
        tuple(
            Query(f"sum({_wanted(servings)})", name) for name, servings in sorted(models.items())
        ),
        look="stack",
    )


def _of_all(series: str, servings: Sequence[ServingPlan], *, chosen: bool = True) -> str:
    """A record of certain servings, as far as they are chosen."""
    names = one_of("serving", sorted(serving.name for serving in servings))
    return f"{series}{{{f'{_MINE}, {names}' if chosen else names}}}"


def _wanted(servings: Sequence[ServingPlan], *, chosen: bool = True) -> str:
    """GPUs of the groups that servings want: their groups are of several sizes."""
    sizes: dict[int, list[ServingPlan]] = {}
    for serving in servings:
        sizes.setdefault(serving.lead.shape.gpus, []).append(serving)
    return "\nor\n".join(
        f"{gpus} * {_of_all(records.DESIRED, alike, chosen=chosen)}"
        for gpus, alike in sorted(sizes.items())
    )


def _quota(plan: ClusterPlan) -> Iterator[Panel]:
    """What queues of ours hold of each pool, beside what serves of it."""
    if plan.cluster.foundation == "existing":
        return
    for pool, held in sorted(plan.quota.items()):
        servings = [
            serving
            for serving in plan.servings
            if serving.serving.pool == pool
            and backend(serving.serving.admission.backend).policy(plan.cluster).needs_queue
        ]
        if not servings:
            continue
        gpu = servings[0].lead.hardware.gpu.resource
        yield Panel(
            f"GPUs of pool {pool}, and their quota",
            f"The queues hold quota for {held[gpu]} GPUs: all groups at their peak, with surge or spare. All servings "
            "of the pool are counted, whichever are chosen.",
            (
                Query(f"sum({_of_all(records.GPUS, servings, chosen=False)})", "serve"),
                Query(f"sum({_wanted(servings, chosen=False)})", "wanted"),
                Query(f"vector({held[gpu]})", "quota"),
            ),
        )


def _admission(plan: ClusterPlan) -> tuple[Panel, ...]:
    made = [
        panel
        for name, demands in plan.backends
        for panel in backend(name).panels(demands, plan.cluster)
    ]
    if names := sorted({alert.name for queue in plan.queues for alert in queue.alerts}):
        firing = selector(
            alerting.ALERTS, equal("alertstate", "firing"), one_of("alertname", names)
        )
        keys = "alertname", "cluster_queue", "queue_name", "severity"
        made.append(
            Panel(
                "Alerts by queue",
                "What fires now on the queues that are ours. A queue does not tell whose groups wait in it.",
                (Query(f"count by ({', '.join(keys)}) ({firing})", "firing"),),
                look="table",
                shown=keys,
            )
        )
    return joined(made)


def _engine(plan: ClusterPlan) -> tuple[Panel, ...]:
    """Of every engine and release that runs; a series that one of them does not have returns nothing."""
    running = {
        (serving.serving.engine.name, Release.parse(serving.serving.engine.version))
        for serving in plan.servings
    }
    label = series_label(APP_NAME)
    choice = EngineChoice(matchers=(HERE, like(label, CHOSEN)), serving=label)
    return joined(
        panel for name, release in sorted(running) for panel in engine(name).panels(release, choice)
    )


def _disruption(names: Chosen) -> Iterator[Panel]:
    budget = "{{poddisruptionbudget}}"
    yield Panel(
        "Evictions allowed",
        "Pods that may be evicted now. 0 while something is not ready: then a drain waits.",
        (Query(names.of_budgets(alerting.BUDGET_ALLOWED), budget),),
    )
    yield Panel(
        "Budgets",
        "Pods that are healthy, that have to be, and that the budget counts. A budget with fewer healthy pods than it "
        "wants lets nothing healthy go.",
        (
            Query(names.of_budgets(alerting.BUDGET_HEALTHY), "Healthy"),
            Query(names.of_budgets(alerting.BUDGET_DESIRED), "Have to be"),
            Query(names.of_budgets(alerting.BUDGET_EXPECTED), "Counted"),
            Query(names.of_budgets(alerting.BUDGET_ALLOWED), "May go"),
        ),
        look="table",
        shown=("namespace", "poddisruptionbudget"),
    )
