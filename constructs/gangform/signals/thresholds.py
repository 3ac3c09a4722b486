"""How long each fault may last before somebody hears of it, as far as the plan does not say so already.

What depends on how long a group takes to start is derived from it: a limit shorter than a load is an alarm at every
start. What says that nothing serves does not wait for that (`observability §2`).
"""

from __future__ import annotations

from dataclasses import dataclass

from gangform.plan.figures import formula
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Waiting times of one serving's alerts."""

    fewer: Seconds
    """Some groups are not ready: the worst cold start and a margin, so that a start is no alarm."""
    pending: Seconds
    """Pods wait for capacity: what the user accepts as a queue."""
    quiet_window: Seconds
    """A rollout counts as stalled when nothing has moved for so long."""
    rebuild_window: Seconds
    """In how long the rebuilds of a group are counted."""
    nothing: Seconds = Seconds(300)
    """Nothing serves: a restart of the exporter passes, an outage does not."""
    incomplete: Seconds = Seconds(120)
    """A leader serves for a broken group: requests fail, so only what a rebuild takes to begin."""
    stalled: Seconds = Seconds(300)
    """After the quiet window: a scrape that is missing is no stall."""
    rebuilds: int = 2
    """Lives of one leader in the window that are no news: a rollout and one lost node."""
    mismatch: Seconds = Seconds(300)
    """Service and groups disagree: leaving endpoints takes preStop and drain."""
    cordoned: Seconds = Seconds(1800)
    """A node is being drained and a group is still there."""
    missing: Seconds = Seconds(900)
    """The workload does not exist, or nobody exports it: time to replace an exporter or to sync a folder."""
    at_maximum: Seconds = Seconds(1800)
    """An autoscaler wants all it may: a peak passes, a lack of capacity does not."""
    blind: Seconds = Seconds(900)
    """An autoscaler has no metric: time to replace the adapter."""


@formula("max(30m, worst cold start + margin)", source="observability §1.7")
def quiet_window(not_ready_after: Seconds) -> Seconds:
    """Between a group's new pods and its readiness no counter moves, however well the rollout goes."""
    return max(Seconds(1800), not_ready_after)


@formula("max(1h, 3 x startup budget)", source="observability §1.7")
def rebuild_window(budget: Seconds) -> Seconds:
    """Long enough to see three lives of a leader that dies at the end of each start."""
    return max(Seconds(3600), Seconds(3 * budget))


def derive(plan: ServingPlan) -> Thresholds:
    """The waiting times of a serving."""
    watch = plan.monitoring
    return Thresholds(
        fewer=watch.not_ready_after,
        pending=watch.pending_after,
        quiet_window=quiet_window(watch.not_ready_after),
        rebuild_window=rebuild_window(plan.lead.startup.budget),
    )
