"""What a change does to groups that Kueue manages: what the tables of effects say is what it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from tests.apis.changed import Case
from tests.apis.living import base
from tests.cluster.api import Object
from tests.cluster.changes import (
    Tried,
    all_made,
    changed,
    place,
    pods_of,
    refusal,
    settled,
    trials,
)
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import gated
from tests.cluster.servings import is_ready

from gangform.apis.effects import Effect, Outcome
from gangform.apis.keys import HOSTNAME
from gangform.apis.kueue_effects import BY_WEBHOOK, WHILE_MANAGED

KINDS = ("LeaderWorkerSet", "Deployment")


def here(case: Case, rows: Sequence[Effect]) -> bool:
    managed = case.queued or any(row.by in (BY_WEBHOOK, WHILE_MANAGED) for row in rows)
    return case.kind in KINDS and managed and rows[0].outcome is not Outcome.RECREATES


SPACE = "kueue-effects"
TOGETHER = trials(SPACE, here)
(RESIZED,) = trials(
    SPACE, lambda case, _: case.name == "size under an older Kueue", groups=lambda _: 2
)
TRIALS = [*TOGETHER, RESIZED]


def named(space: str, kind: str, name: str, values: Mapping[str, object] | None = None) -> Object:
    """A living object of a kind under another name, with other values at some paths."""
    made = changed(base(kind), values or {})
    place(made, name, space)
    return made


def foundation(space: str) -> list[Object]:
    """The queue of living objects, with room for all of them."""
    levels = [{"nodeLabel": label} for label in ("block", "rack", HOSTNAME)]
    quota = "spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    return [
        named(space, "Topology", "h100", {"spec/levels": levels}),
        named(space, "ResourceFlavor", "h100"),
        named(space, "ClusterQueue", "serving", {quota: "9000"}),
        named(space, "LocalQueue", "serving"),
        named(space, "WorkloadPriorityClass", "high"),
        named(space, "WorkloadPriorityClass", "low", {"value": 1}),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 9,
        },
    ]


@pytest.fixture(scope="module")
def tried(kueue_plane: ControlPlane) -> Iterator[Tried]:
    beside = [*foundation(SPACE), RESIZED.before]
    with all_made(kueue_plane, SPACE, TOGETHER, beside=beside) as tried:
        yield tried


@pytest.mark.claim(
    "A change of the template of groups that Kueue manages replaces them, of its topology and priority too",
    "apis.leaderworkerset_effects, kueue_effects; kueue §2.2, §2.4",
)
def test_groups_roll(tried: Tried, saw: Saw) -> None:
    tried.borne_out()
    saw(f"pods are replaced: {tried.borne_out(Outcome.ROLLS)}")


@pytest.mark.claim(
    "Kueue refuses what changes the shape of groups that it manages, and a queue that comes, goes or changes",
    "apis.leaderworkerset_effects, kueue_effects; kueue §2.4",
)
def test_shape_and_queue_are_refused(tried: Tried, saw: Saw) -> None:
    saw(f"refused: {tried.borne_out(Outcome.REFUSED)}")


@pytest.mark.claim(
    "Where Kueue takes another size, one group stays gated, and a set made anew has its groups",
    "apis.kueue size_is_frozen; lab E4",
)
def test_a_set_of_another_size_is_made_anew(tried: Tried, saw: Saw) -> None:
    assert RESIZED.told is Outcome.RECREATES
    api, larger = tried.plane.api, RESIZED.after
    assert refusal(tried.plane, larger) == ""
    tried.watch.until(lambda _: gated(tried.pods(RESIZED)), within=60, what="pods are gated")
    settled(tried.watch)
    assert not all(map(is_ready, tried.pods(RESIZED)))
    stuck = gated(tried.pods(RESIZED))
    api.delete(api.path_of(larger), foreground=True)
    tried.watch.until(lambda _: not tried.pods(RESIZED), within=60, what="the set is gone")
    # The set itself goes last.
    tried.plane.site.wait("the set", lambda: api.find(api.path_of(larger)) is None)
    api.apply(larger, manager="kubectl")

    def whole(_: object) -> bool:
        return [is_ready(pod) for pod in tried.pods(RESIZED)] == [True] * pods_of(larger)

    tried.watch.until(whole, within=90, what="all groups run")
    saw(
        f"{len(stuck)} pods of one group gated; deleted and made anew, all {pods_of(larger)} pods ready"
    )
