"""What holds a group in one rack under Kueue are four annotations. Anything less is refused, or taken in silence and
splits the group: the rules refuse both, and nothing that Kueue would have done right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import (
    IN_ONE_RACK,
    RACK,
    altered,
    answer,
    gated,
    queued,
    refusals,
    set_racks,
    template,
    unlisted,
    waiting,
    why,
    workloads,
)
from tests.cluster.servings import apply, domains, group_of, is_ready, make, serving
from tests.cluster.watch import Watch, watching

from gangform.apis.kueue import (
    PODSET_GROUP,
    PREFERRED_TOPOLOGY,
    PREFIX,
    REQUIRED_TOPOLOGY,
    SLICE_REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    UNCONSTRAINED_TOPOLOGY,
)

WRONG = "topology-annotations-wrong"
SIZE = 3
BLOCK, HOST = "topology.example.com/block", "kubernetes.io/hostname"
NAME = {PODSET_GROUP: "group"}
RACKED = {REQUIRED_TOPOLOGY: RACK}
WHOLE = {**RACKED, **NAME}
"""What gangform writes on both templates."""


class Templates(NamedTuple):
    """The annotations of Kueue on both templates."""

    leader: Mapping[str, str]
    worker: Mapping[str, str]

    def write(self, manifest: Object) -> None:
        """Put them in the place of those that are there."""
        for role, wanted in zip(("leader", "worker"), self, strict=True):
            annotations = template(manifest, role)["metadata"]["annotations"]
            for key in [key for key in annotations if key.startswith(PREFIX)]:
                del annotations[key]
            annotations.update(wanted)


def alike(annotations: Mapping[str, str]) -> Templates:
    return Templates(annotations, annotations)


SOUND = {
    "preferred": alike({PREFERRED_TOPOLOGY: RACK, **NAME}),
    "nothing asked": alike({}),
    "unconstrained": alike({UNCONSTRAINED_TOPOLOGY: "true"}),
}
REFUSED = {
    "leader only with group name": Templates(WHOLE, {}),
    "worker only with group name": Templates({}, WHOLE),
    "topology on the leader only": Templates(WHOLE, NAME),
    "group name without topology": alike(NAME),
    "group name a number": alike({**RACKED, PODSET_GROUP: "7"}),
    "other group name": Templates(WHOLE, {**RACKED, PODSET_GROUP: "other"}),
    "other level": Templates(WHOLE, {REQUIRED_TOPOLOGY: BLOCK, **NAME}),
    "required and preferred": Templates(WHOLE, {PREFERRED_TOPOLOGY: RACK, **NAME}),
    "both at once": alike({**WHOLE, PREFERRED_TOPOLOGY: RACK}),
    "level no label key": alike({REQUIRED_TOPOLOGY: "a rack", **NAME}),
    "slice size alone": alike({**RACKED, SLICE_SIZE: "1"}),
    "slices and group name": alike({**WHOLE, SLICE_REQUIRED_TOPOLOGY: HOST, SLICE_SIZE: "1"}),
}
SPLIT = {
    "leader-only": Templates(RACKED, {}),
    "worker-only": Templates({}, RACKED),
    "no-group-name": alike(RACKED),
}
"""Taken by Kueue, and placed in more than one rack."""
PENDING = {
    "unknown-level": alike({REQUIRED_TOPOLOGY: "example.com/row", **NAME}),
    "not-true": alike({UNCONSTRAINED_TOPOLOGY: "false"}),
}
"""Taken by Kueue, and never started."""


LONE = {"one template": RACKED, "one template with group name": WHOLE}
"""Without a leaderTemplate: one pod set, which a group name has nothing to join to."""


def _alone(annotations: Mapping[str, str], manifest: Object) -> None:
    alike(annotations).write(manifest)
    del manifest["spec"]["leaderWorkerTemplate"]["leaderTemplate"]


@pytest.mark.claim(
    "The rules refuse every combination of topology annotations that Kueue refuses, and none that it takes and obeys",
    "rule topology-annotations-wrong; apis.kueue.annotation_faults; kueue §3; lab E4",
)
def test_rules_refuse_what_kueue_refuses(kueue: ControlPlane, saw: Saw) -> None:
    made = queued(unlisted(kueue.cluster), groups=1, size=SIZE, topology=IN_ONE_RACK)
    kueue.namespace(made.plan.namespace)

    def both(templates: Templates) -> tuple[set[str], str]:
        changed = altered(made, "LeaderWorkerSet", templates.write)
        return refusals(changed), answer(kueue, changed.one("LeaderWorkerSet"))

    assert (refusals(made), answer(kueue, made.one("LeaderWorkerSet"))) == (set(), "")
    for name, templates in SOUND.items():
        assert both(templates) == (set(), ""), name
    for name, templates in REFUSED.items():
        codes, said = both(templates)
        assert WRONG in codes, name
        assert said.startswith("403 ") and PREFIX in said, name
    for name, joined in LONE.items():
        changed = altered(made, "LeaderWorkerSet", partial(_alone, joined))
        codes, said = refusals(changed), answer(kueue, changed.one("LeaderWorkerSet"))
        assert (WRONG in codes) == said.startswith("403 ") == (PODSET_GROUP in joined), name
    saw(
        f"{len(REFUSED)} refused by both: {', '.join(REFUSED)}; {1 + len(SOUND)} taken by both: as written, "
        f"{', '.join(SOUND)}"
    )


@pytest.mark.claim(
    "Annotations that Kueue takes in silence and then splits a group by, or never starts it, are refused by the rules",
    "rules topology-annotations-wrong, level-not-in-topology; kueue §3; lab E4",
)
def test_rules_refuse_what_kueue_takes_and_splits(kueue: ControlPlane, saw: Saw) -> None:
    """No rack holds a group of three: what starts is split, and what asks rightly waits for a rack that does."""
    racks = (2,) * 7
    cluster = unlisted(kueue.cluster)
    made = make(
        cluster,
        *(
            serving(
                name=name,
                size=SIZE,
                groups=1,
                topology=IN_ONE_RACK,
                admission={"backend": "kueue", "queue": "q"},
            )
            for name in ("as-written", *SPLIT, *PENDING)
        ),
    )
    by_hand = made
    for name, templates in (SPLIT | PENDING).items():
        by_hand = altered(by_hand, "LeaderWorkerSet", templates.write, name)
        one = altered(made, "LeaderWorkerSet", templates.write, name)
        wanted = "level-not-in-topology" if name == "unknown-level" else WRONG
        assert refusals(one) == {wanted}, name
    assert not refusals(made)
    set_racks(kueue, *racks)

    def running(*names: str) -> Callable[[Watch], bool]:
        def hold(now: Watch) -> bool:
            ready = [pod for pod in now.of("Pod") if is_ready(pod)]
            return {group_of(pod)[0] for pod in ready} == {*names} and len(ready) == SIZE * len(
                names
            )

        return hold

    with watching(kueue.api, made.pods, workloads(kueue, made)) as seen:
        apply(kueue, by_hand)
        seen.until(
            lambda now: running(*SPLIT)(now) and len(waiting(now)) == 1 + len(PENDING),
            within=90,
            what="what is split is ready, and the others wait",
        )
        place = set_racks(kueue, *racks, SIZE)
        seen.until(
            running("as-written", *SPLIT), within=90, what="what asked rightly has found a rack"
        )
        lie = {name: dict(found) for (name, _), found in domains(_placed(seen), place).items()}
        assert lie.pop("as-written") == {f"r{len(racks)}": SIZE}
        assert {name for name, found in lie.items() if len(found) > 1} == {*SPLIT}
        # The rack that was added would have held these too, had they asked for something that exists.
        stuck = {_owner(one): why(one) for one in waiting(seen)}
        assert {*stuck} == {*PENDING}
        assert all("does not contain the requested level" in said for said in stuck.values())
        assert {group_of(pod)[0] for pod in gated(seen.of("Pod"))} == {*PENDING}
    saw(
        f"accepted and split over racks, refused by the rules: {', '.join(SPLIT)}; accepted and gated for good, "
        f"refused by the rules: {', '.join(PENDING)}; as written: waited for a whole rack, and ran in it"
    )


def _placed(seen: Watch) -> list[Object]:
    return [pod for pod in seen.of("Pod") if pod["spec"].get("nodeName")]


def _owner(workload: Object) -> str:
    owners = workload["metadata"]["ownerReferences"]
    return next(str(one["name"]) for one in owners if one["kind"] == "LeaderWorkerSet")
