"""What a change of a LeaderWorkerSet or DisaggregatedSet does to its groups.

The revision of a set covers `leaderWorkerTemplate` and `networkConfig`; a few annotations are copied into the leaders'
template beside it (`lws §2b`). Under Kueue the shape of the pods is frozen (`kueue §2.4`, `lab E4`). Nothing else
touches a pod. `lab` beside the facts: tests/cluster/test_effects.py, test_paced_effects.py, test_kueue_effects.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import disaggregatedset, kueue, leaderworkerset, volcano
from gangform.apis.core_effects import replicas
from gangform.apis.effects import Condition, Effect, Effects, Outcome, Situation, field
from gangform.apis.kueue_effects import (
    BY_WEBHOOK,
    MADE_ANEW,
    MANAGED,
    frozen,
    managed,
    queue_labels,
)
from gangform.apis.versions import Evidence
from gangform.documents.document import mapping
from gangform.findings import Path

_TEMPLATES = (leaderworkerset.LEADER_TEMPLATE, leaderworkerset.WORKER_TEMPLATE)
_GROUPS = field("spec.leaderWorkerTemplate")
_SUBGROUP_EXCLUSIVE = leaderworkerset.PREFIX + "subgroup-exclusive-topology"
_COPIED = (leaderworkerset.EXCLUSIVE_TOPOLOGY, _SUBGROUP_EXCLUSIVE)
_TOPOLOGY = (
    kueue.REQUIRED_TOPOLOGY,
    kueue.PREFERRED_TOPOLOGY,
    kueue.UNCONSTRAINED_TOPOLOGY,
    kueue.PODSET_GROUP,
)


def _frozen(name: str) -> Condition:
    """Kueue manages the set, in a release that freezes this field of a pod spec."""

    def holds(situation: Situation) -> bool:
        release = situation.versions.kueue or kueue.NEWEST
        return managed(situation) and name in kueue.frozen(release)

    return Condition(MANAGED.text, holds)


def _resized(situation: Situation) -> bool:
    release = situation.versions.kueue or kueue.NEWEST
    return managed(situation) and not kueue.size_is_frozen(release)


def _torn(situation: Situation) -> bool:
    leader, workers = (
        mapping(situation.after, *template, "metadata", "annotations") for template in _TEMPLATES
    )
    alone = not mapping(situation.after, *leaderworkerset.LEADER_TEMPLATE)
    return managed(situation) and kueue.annotations_refused(None if alone else leader, workers)


_TORN = Condition("Kueue manages it, and refuses the annotations that it would have", _torn)


def _shape() -> Iterator[Effect]:
    """What Kueue refuses in the pod specs of a set it manages."""
    for template in _TEMPLATES:
        for name in (*kueue.FROZEN, kueue.POD_RESOURCES):
            seen = name in kueue.FROZEN
            yield frozen(
                (*template, "spec", *field(name)),
                "kueue §2.4; lab E4; seen at 0.17.0" if seen else "kueue §2.4; read at 0.19.2",
                evidence=Evidence.LAB if seen else Evidence.CODE,
                condition=_frozen(name),
            )
        for containers in ("containers[]", "initContainers[]"):
            yield frozen(
                (*template, "spec", *field(containers)),
                "kueue §2.4; seen at 0.17.0",
                says="the number of containers is frozen",
                ways=("added", "removed"),
                entry=True,
            )
        for key in _TOPOLOGY:
            path = (*template, "metadata", "annotations", key)
            yield Effect(
                path,
                Outcome.REFUSED,
                Evidence.LAB,
                "kueue §3; lab E4",
                says="the topology annotations of the two templates do not go together",
                by=BY_WEBHOOK,
                instead="write the same ones into both templates",
                condition=_TORN,
            )
            yield Effect(
                path,
                Outcome.ROLLS,
                Evidence.LAB,
                "kueue §2.4; taken in both templates at 0.17.0",
                says="a group keeps the placement it was admitted with until its Workload is deleted",
                condition=MANAGED,
            )


def _kept(path: Path) -> Effect:
    """What LeaderWorkerSet itself keeps."""
    return Effect(
        path,
        Outcome.REFUSED,
        Evidence.LAB,
        "lws §2b",
        by="by the webhook of LeaderWorkerSet",
        instead=MADE_ANEW,
    )


_ROWS = [
    *queue_labels("a set"),
    *_shape(),
    frozen(
        leaderworkerset.LEADER_TEMPLATE,
        "kueue §2.4; seen at 0.17.0",
        ways=("added", "removed"),
        entry=True,
    ),
    Effect(
        (*_GROUPS, "size"),
        Outcome.RECREATES,
        Evidence.LAB,
        "lab E4, E10; apis.kueue size_is_frozen",
        says="this release of Kueue takes it, and one group then stays gated for good",
        condition=Condition("Kueue manages the set and does not freeze its size", _resized),
    ),
    frozen((*_GROUPS, "size"), "lab E10; kueue §2.4"),
    _kept((*_GROUPS, "subGroupPolicy"))._replace(ways=("added", "removed"), entry=True),
    _kept((*_GROUPS, "subGroupPolicy", "subGroupSize")),
    Effect(
        (*_GROUPS, "volumeClaimTemplates"),
        Outcome.RECREATES,
        Evidence.LAB,
        "lws §2c; lab E2: FailedUpdate",
        says="it is taken, and then no rollout of the set ever starts",
    ),
    Effect(
        _GROUPS,
        Outcome.ROLLS,
        Evidence.LAB,
        "lws §2b; lab E2",
    ),
    Effect(field("spec.networkConfig"), Outcome.ROLLS, Evidence.LAB, "lws §2b; lab E2"),
    *replicas(),
    Effect(
        field("spec.rolloutStrategy.rollingUpdateConfiguration.partition"),
        Outcome.ROLLS,
        Evidence.LAB,
        "lws §3",
        says="the groups that a canary held back at an older revision follow",
        ways=("lowered",),
    ),
    Effect(field("spec.rolloutStrategy"), Outcome.NONE, Evidence.LAB, "lab E2"),
    Effect(field("spec.startupPolicy"), Outcome.NONE, Evidence.LAB, "lab E2"),
    *(
        Effect(
            ("metadata", "annotations", key),
            Outcome.ROLLS,
            Evidence.LAB,
            source,
            says="leaders go outside the pace of the rollout",
            paced=False,
        )
        for key, source in zip(_COPIED, ("lws §2b; lab E2", "lws §1"), strict=True)
    ),
    Effect(
        ("metadata", "annotations", volcano.QUEUE_NAME),
        Outcome.NONE,
        Evidence.LAB,
        "lws §5: a PodGroup is made once, and never updated",
        says="a group goes to the new queue at its next start",
    ),
    Effect(("metadata",), Outcome.NONE, Evidence.LAB, "lab E2"),
    Effect((), Outcome.NONE, Evidence.CODE, "lws §2b: not in the revision"),
]
"""The order is that of precedence."""

SET = Effects(leaderworkerset.GROUP, leaderworkerset.KIND, _ROWS)

_ROLE: Path = field("spec.roles[]")
_LATER = "it holds from the next change of a template on"

ROLES = Effects(
    disaggregatedset.GROUP,
    disaggregatedset.KIND,
    [
        Effect((*_ROLE, "spec", "replicas"), Outcome.NONE, Evidence.LAB, "lab E6"),
        Effect(
            (*_ROLE, "spec", "leaderWorkerTemplate"),
            Outcome.ROLLS,
            Evidence.LAB,
            "lws §6; lab E6",
            says="every role gets a new set, not this one alone",
        ),
        Effect(
            _ROLE,
            Outcome.ROLLS,
            Evidence.LAB,
            "lws §6; lab E6",
            says="every role gets a new set, not this one alone",
            ways=("added", "removed", "reordered"),
            entry=True,
        ),
        Effect(_ROLE, Outcome.NONE, Evidence.LAB, "lws §6", says=_LATER),
        Effect(field("spec.placementPolicy"), Outcome.NONE, Evidence.CODE, "lws §6", says=_LATER),
        Effect((), Outcome.NONE, Evidence.CODE, "lws §6"),
    ],
)
