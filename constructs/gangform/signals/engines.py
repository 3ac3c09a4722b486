"""Alerts on the engine's own series: which there are, and what they ask, an engine says by its release."""

from collections.abc import Iterable

from gangform.apis.alerting import Alert
from gangform.engines.watched import NAMES as NAMES
from gangform.plan.serving import ServingPlan


def alerts(plan: ServingPlan) -> Iterable[Alert]:
    """The alerts that the plan got from the engine."""
    return plan.monitoring.engine_alerts
