"""Changes whose effect depends on what was there before or runs beside, and how groups follow one another.

Each is made to a set of its own, in a namespace of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.cluster.api import Object
from tests.cluster.changes import Trial, changed, pods_of, put_nodes, refusal, trials
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import lasts
from tests.cluster.servings import REVISION, counts, is_ready
from tests.cluster.watch import NotSeen, Watch, watching

from gangform.apis.effects import Outcome

KINDS = ("LeaderWorkerSet", "DisaggregatedSet", "Deployment")
ROLLOUT, EXCLUSIVE, SUBGROUPS = "leader image unmanaged", "exclusive", "subgroup exclusive"
CANARY, CLAIMS, UNSAID = "the canary ends", "claims", "no replicas"
PACED = (ROLLOUT, EXCLUSIVE, SUBGROUPS, CANARY, CLAIMS, UNSAID)
GROUPS, SIZE = 2, 2
IMAGE = "spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/image"
TRIALS = trials(
    "",
    lambda case, _: case.kind in KINDS and case.name in PACED and not case.queued,
    groups=lambda case: GROUPS if case.name not in (EXCLUSIVE, SUBGROUPS) else 1,
)
"""Of exclusive ones a single group: beside another the new leader may wait for minutes. The scheduler tried it while an
old worker still bound it to the domain of both, and does not try again because that worker is gone."""


class Scene:
    """The sets, each watched in its namespace."""

    def __init__(self, plane: ControlPlane, stack: ExitStack) -> None:
        self.plane = plane
        self.watches: dict[str, Watch] = {}
        for one in (*TRIALS, *SCALED):
            path = f"/api/v1/namespaces/{plane.namespace(one.name)}/pods"
            self.watches[one.name] = stack.enter_context(watching(plane.api, path))
            self.apply(one.before)
        for one in (*TRIALS, *SCALED):
            self.whole(one.before)

    def apply(self, manifest: Object) -> None:
        assert refusal(self.plane, manifest) == ""

    def pods(self, manifest: Object) -> dict[str, Object]:
        """Its pods that are not on their way out, by uid."""
        found = self.watches[manifest["metadata"]["name"]].of("Pod")
        return {
            pod["metadata"]["uid"]: pod
            for pod in found
            if "deletionTimestamp" not in pod["metadata"]
        }

    def rest(self, manifest: Object) -> dict[str, Object]:
        """Its pods, when none has come or gone for some seconds."""
        seen = self.watches[manifest["metadata"]["name"]]
        lasts(seen, lambda _: frozenset(self.pods(manifest)), seconds=4)
        return self.pods(manifest)

    def whole(
        self, manifest: Object, *, kept: int = 0, of: dict[str, Object] | None = None
    ) -> None:
        """Wait until it has all of its pods, ready, so many of them from before."""

        def hold(_: Watch) -> bool:
            now = self.pods(manifest)
            ready = [is_ready(pod) for pod in now.values()]
            return ready == [True] * pods_of(manifest) and len(now.keys() & (of or {})) == kept

        name = manifest["metadata"]["name"]
        try:
            self.watches[name].until(hold, within=120, what=f"the pods of {name}")
        except NotSeen as error:
            there = [
                (pod["metadata"]["name"], pod["spec"].get("nodeName"), is_ready(pod))
                for pod in self.pods(manifest).values()
            ]
            raise NotSeen(f"{error}; there are {there}") from None


def own(one: Trial, name: str) -> Trial:
    """A trial in a namespace that is called as its object is."""
    sides = [
        changed(side, {"metadata/name": name, "metadata/namespace": name})
        for side in (one.before, one.after)
    ]
    return one._replace(name=name, before=sides[0], after=sides[1])


UNSAYING = [one for one in TRIALS if one.case.name == UNSAID]
SCALED = [own(one, f"{one.name}-scaled") for one in UNSAYING]
"""Of which Git no longer says the number either, and which somebody has scaled meanwhile."""
TRIALS = [own(one, one.name) for one in TRIALS]


@pytest.fixture(scope="module")
def scene(plain_plane: ControlPlane) -> Iterator[Scene]:
    put_nodes(plain_plane)
    plain_plane.volumes("cache", GROUPS * SIZE)
    try:
        with ExitStack() as stack:
            yield Scene(plain_plane, stack)
    finally:
        plain_plane.reset()


def called(name: str) -> Trial:
    (found,) = [one for one in TRIALS if one.case.name == name and one.case.kind == KINDS[0]]
    return found


def revisions(pods: dict[str, Object]) -> set[str]:
    return {pod["metadata"]["labels"][REVISION] for pod in pods.values()}


def roll(scene: Scene, one: Trial) -> tuple[int, bool]:
    """Change it: how many groups were whole at every moment, and whether the revision is another."""
    assert one.told is Outcome.ROLLS
    seen, old = scene.watches[one.name], scene.pods(one.before)
    called = time.monotonic() - seen.began
    scene.apply(one.after)
    scene.whole(one.after, of=old)
    least = min(each.ready for each in counts(seen, size=SIZE) if each.at > called)
    return least, revisions(scene.pods(one.after)) != revisions(old)


@pytest.mark.claim(
    "A change of the template replaces every group, one after the other",
    "apis.leaderworkerset_effects; lws §3; lab E2",
)
def test_groups_follow_one_another(scene: Scene, saw: Saw) -> None:
    assert roll(scene, called(ROLLOUT)) == (GROUPS - 1, True)
    saw(f"{GROUPS - 1} of {GROUPS} groups whole at every moment")


@pytest.mark.claim(
    "An annotation on exclusive topology replaces every group without another revision",
    "apis.leaderworkerset_effects; lws §1, §2b; lab E2",
)
def test_exclusive_topology_replaces_groups(scene: Scene, saw: Saw) -> None:
    for name in (EXCLUSIVE, SUBGROUPS):
        assert not roll(scene, called(name))[1]
    saw("every group replaced, of the same revision")


@pytest.mark.claim(
    "A partition lowered lets the groups follow that a canary held back, and no other change of it touches any",
    "apis.leaderworkerset_effects; lws §3",
)
def test_the_groups_behind_a_canary_follow(scene: Scene, saw: Saw) -> None:
    one = called(CANARY)
    assert one.told is Outcome.ROLLS
    first = scene.pods(one.before)
    scene.apply(changed(one.before, {IMAGE: "engine:2"}))
    scene.whole(one.before, kept=SIZE, of=first)
    held = scene.rest(one.before)
    assert len(held.keys() & first.keys()) == SIZE
    assert len(revisions(held)) == 2
    scene.apply(changed(one.after, {IMAGE: "engine:2"}))
    scene.whole(one.after, of=first)
    assert held.keys() - first.keys() <= scene.pods(one.after).keys()
    assert len(revisions(scene.pods(one.after))) == 1
    saw("1 of 2 groups held at the old revision, replaced when the partition is 0; the other stays")


@pytest.mark.claim(
    "Claims for volumes added to a living set are taken, and no rollout starts any more; a set made anew has them",
    "apis.leaderworkerset_effects; lws §2c; lab E2",
)
def test_claims_need_a_set_made_anew(scene: Scene, saw: Saw) -> None:
    one, api = called(CLAIMS), scene.plane.api
    assert one.told is Outcome.RECREATES
    old = scene.pods(one.before)
    scene.apply(one.after)
    scene.apply(changed(one.after, {IMAGE: "engine:2"}))
    assert scene.rest(one.after).keys() == old.keys()
    events = api.list(f"/api/v1/namespaces/{one.name}/events")
    assert any(each["reason"] == "FailedUpdate" for each in events)
    api.delete(api.path_of(one.after), foreground=True)
    scene.plane.site.wait("the set", lambda: api.find(api.path_of(one.after)) is None)
    scene.apply(one.after)
    scene.whole(one.after, of=old)
    claims = api.list(f"/api/v1/namespaces/{one.name}/persistentvolumeclaims")
    assert len(claims) == GROUPS * SIZE
    saw(
        f"pods stay through a change of the image, event FailedUpdate; made anew, {len(claims)} claims"
    )


@pytest.mark.claim(
    "A number of groups that Git no longer says is 1, unless somebody else has set it meanwhile",
    "apis.core_effects replicas; lab summary 12",
)
def test_a_number_that_git_no_longer_says(scene: Scene, saw: Saw) -> None:
    api = scene.plane.api
    assert {one.told for one in UNSAYING} == {Outcome.NONE}
    for one in UNSAYING:
        scene.apply(own(one, one.name).after)
        scene.whole(changed(one.before, {"spec/replicas": 1}))
    for one in SCALED:
        api.scale(api.path_of(one.before), 3)
        scene.whole(changed(one.before, {"spec/replicas": 3}))
        scene.apply(one.after)
    for one in SCALED:
        assert len(scene.rest(one.before)) == 3 * pods_of(one.before) // 2
    saw("of 2 groups 1 is left; of 3 set by the scale subresource 3")
