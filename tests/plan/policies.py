"""What backends do to a rollout, by kind."""

from __future__ import annotations

from typing import Any

from gangform.admission.admission import Policy
from gangform.apis.core import DeploymentForm
from gangform.apis.leaderworkerset import LeaderWorkerSetForm

SET, DEPLOYMENT = LeaderWorkerSetForm(), DeploymentForm()


def policy(**changes: Any) -> Policy:
    given: dict[str, Any] = {
        "queued": False,
        "needs_queue": False,
        "surge_finishes": True,
        "surges": True,
        "gangs": False,
        "scales": True,
        "one_workload_per_group": False,
        "longest_name": None,
    }
    return Policy(**{**given, **changes})


FREE = policy()
KUEUE = policy(surge_finishes=False)
LONE = policy(surge_finishes=False, surges=False, one_workload_per_group=True)
