"""Which alerts a serving gets: those of every source, each with its runbook and the serving it is about.

An alert has one name for every kind that runs a serving, so that there is one route and one runbook for each. Values,
names and durations are written out, so that a rule can be read alone.
"""

from collections.abc import Callable, Iterable

from gangform.apis.alerting import Alert
from gangform.plan.serving import ServingPlan
from gangform.signals import groups, queues, room, states

SERVING = "serving"
"""Label of every alert: the serving's name."""

SOURCES: tuple[Callable[[ServingPlan], Iterable[Alert]], ...] = (
    groups.alerts,
    room.alerts,
    states.alerts,
    lambda plan: plan.monitoring.admission_alerts,
)
"""What gives alerts, in the order in which they are written."""

NAMES = (*groups.NAMES, *room.NAMES, *states.NAMES, *queues.NAMES)
"""Every alert there can be; each has a runbook of its name."""


def alerts(plan: ServingPlan) -> tuple[Alert, ...]:
    """The alerts of one serving; none where monitoring is off."""
    if not plan.monitoring.enabled:
        return ()
    base = plan.monitoring.runbook_base
    return tuple(
        linked(alert, base)._replace(labels={**alert.labels, SERVING: plan.name})
        for source in SOURCES
        for alert in source(plan)
    )


def linked(alert: Alert, base: str | None) -> Alert:
    """The alert with the page that says what to do; `base` is where such pages lie, `None`: nowhere."""
    return alert if base is None else alert._replace(runbook_url=f"{base.rstrip('/')}/{alert.name}")
