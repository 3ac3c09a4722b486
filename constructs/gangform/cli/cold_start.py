"""What `gangform plan` says about a cold start: the sum, and who waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gangform.cli.table import Cells
    from gangform.plan.serving import ServingPlan
    from gangform.plan.startup import StartupPlan


def rows(plan: ServingPlan, *, wide: bool) -> Iterator[Cells]:
    """For people: the result, then its parts; where it is wide, also every limit that follows from it."""
    start = plan.lead.startup
    if start.basis == "measured":
        yield (
            "cold start",
            f"{start.cold_start} measured, {start.worst} at worst (margin included)",
        )
    else:
        yield (
            "cold start",
            f"about {start.cold_start}, {start.worst} at worst: x {float(start.margin):g}",
        )
        yield "", " + ".join(_parts(start))
    if start.restart != start.cold_start:
        yield "", f"about {start.restart} where the pod's own claim holds the weights already"
    yield "startup budget", f"{start.budget} before a pod that is still loading is restarted"
    if wide:
        yield "waits for it", "; ".join(_limits(plan))


def _parts(start: StartupPlan) -> Iterator[str]:
    if start.download_bandwidth is not None:
        yield f"{start.read.human()} downloaded at {start.download_bandwidth} take {start.download}"
    both = start.downloads and start.download_bandwidth is None
    got = "downloaded to and read from" if both else "read from"
    yield f"{start.read.human()} {got} {start.place} at {start.bandwidth} ({start.basis}) take {start.load}"
    yield f"warm-up {start.warm_up} ({'measured' if start.warm_up_measured else 'default'})"


def _limits(plan: ServingPlan) -> Iterator[str]:
    role = plan.lead
    yield f"a limit on readiness, such as Kueue's: at least {role.startup.worst}"
    if role.scaling is not None:
        yield f"one more group in {role.scaling.up_period}"
    if plan.monitoring.enabled:
        yield f"an alert on a missing group: {plan.monitoring.not_ready_after}"
        yield f"on a rollout that stands: {plan.monitoring.quiet_window}"
    if not plan.choice.form.can.runs_groups:
        yield f"the Deployment's progress deadline: {role.startup.progress_deadline}"


def record(start: StartupPlan) -> dict[str, Any]:
    """For machines."""
    return {
        "basis": start.basis,
        "readBytes": int(start.read),
        "readFrom": start.place,
        "downloadSeconds": int(start.download),
        "bandwidthBytesPerSecond": int(start.bandwidth),
        "loadSeconds": int(start.load),
        "warmUpSeconds": int(start.warm_up),
        "warmUpMeasured": start.warm_up_measured,
        "coldStartSeconds": int(start.cold_start),
        "restartSeconds": int(start.restart),
        "worstSeconds": int(start.worst),
        "budgetSeconds": int(start.budget),
    }
