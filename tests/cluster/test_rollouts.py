"""A rollout takes what the plan says, and leaves what it promises."""

from __future__ import annotations

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.servings import REVISION, apply, counts, plan, ready_groups
from tests.cluster.watch import watching


@pytest.mark.claim(
    "A rollout with one surge group serves from all declared groups throughout", "lab E2"
)
def test_surge_keeps_all_groups(plain: ControlPlane, saw: Saw) -> None:
    made = plan(plain, groups=3, size=2, rollout={"spare_groups": 1})
    rollout = made.plan.lead.rollout
    assert (rollout.max_surge, rollout.max_unavailable) == (1, 0)
    with watching(plain.api, made.pods) as seen:
        apply(plain, made)
        seen.until(ready_groups(3, size=2), within=60, what="all groups are ready")
    old = plain.api.list(made.pods)[0]["metadata"]["labels"][REVISION]
    with watching(plain.api, made.pods) as seen:
        changed = plan(
            plain,
            groups=3,
            size=2,
            rollout={"spare_groups": 1},
            pods={"annotations": {"example.com/turn": "2"}},
        )
        apply(plain, changed)
        seen.until(
            ready_groups(3, size=2, revision=lambda one: one != old), within=120, what="rolled"
        )
    counted = list(counts(seen, size=2))
    most, least = max(one.bound for one in counted), min(one.ready for one in counted)
    assert most == rollout.peak * 16
    assert least == rollout.floor
    saw(f"{least} of 3 groups serving at least, {most} GPUs bound at most")
