"""What a change of Kueue's objects, or of the labels by which it manages a workload, does to groups that run.

Sources: `kueue §1, §2.4` (code at v0.19.2) and `lab E4` (seen at 0.17.0 and 0.19.2); `lab` is what
tests/cluster/test_kueue_effects.py and test_foundation_effects.py show.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import kueue
from gangform.apis.effects import (
    API_SERVER,
    Condition,
    Effect,
    Effects,
    Outcome,
    Situation,
    Way,
    field,
)
from gangform.apis.keys import HOSTNAME
from gangform.apis.versions import Evidence, Release
from gangform.documents.document import sequence, text
from gangform.findings import Path

_QUEUE = ("metadata", "labels", kueue.QUEUE_NAME)
_PRIORITY = ("metadata", "labels", kueue.PRIORITY_CLASS)


def managed(situation: Situation) -> bool:
    """Whether Kueue manages the living workload: its own metadata names a queue."""
    return bool(text(situation.before, *_QUEUE))


MANAGED = Condition("Kueue manages it", managed)
WHILE_MANAGED = "while Kueue manages it"
BY_WEBHOOK = "by the webhook of Kueue"
"""Without Kueue the same change would pass."""
MADE_ANEW = (
    "delete it and apply it anew, or give it another name; its groups start again either way"
)
"""What leads to a workload that no update leads to."""


def frozen(
    path: Path,
    source: str,
    *,
    says: str = "",
    instead: str = MADE_ANEW,
    ways: tuple[Way, ...] = (),
    entry: bool = False,
    evidence: Evidence = Evidence.LAB,
    condition: Condition = MANAGED,
) -> Effect:
    """What is kept of a workload as long as Kueue manages it."""
    return Effect(
        path,
        Outcome.REFUSED,
        evidence,
        source,
        says=says,
        by=WHILE_MANAGED,
        instead=instead,
        ways=ways,
        condition=condition,
        entry=entry,
    )


def queue_labels(what: str) -> Iterator[Effect]:
    """The labels on the workload itself."""
    seen = "kueue §2.4; seen at 0.17.0"
    yield frozen(_QUEUE, seen, says=f"{what} keeps its queue", ways=("removed",))
    yield frozen(
        _QUEUE,
        seen,
        says=f"the queue of {what} is frozen while a group is ready",
        instead=f"scale it to no groups first (from Kueue 0.18 on), or {MADE_ANEW}",
        ways=("changed",),
    )
    yield Effect(
        _QUEUE,
        Outcome.REFUSED,
        Evidence.LAB,
        "kueue §2.4; kubernetes-sigs/kueue#4967; seen at 0.17.0",
        says=f"{what} gets its queue when it is made",
        by=BY_WEBHOOK,
        instead=MADE_ANEW,
        ways=("added",),
    )
    yield Effect(
        _PRIORITY,
        Outcome.ROLLS,
        Evidence.LAB,
        "kueue §2.2: the webhook writes the label onto the templates; seen at 0.17.0",
        ways=("changed",),
        condition=MANAGED,
    )
    yield frozen(
        _PRIORITY,
        seen,
        says="the label is neither added to groups that are ready nor removed",
        instead=f"name another class, add one while it has no groups, or {MADE_ANEW}",
        ways=("added", "removed"),
    )


def _release(situation: Situation) -> Release:
    return situation.versions.kueue or kueue.NEWEST


def _placed(situation: Situation) -> bool:
    return bool(text(situation.before, "spec", "topologyName"))


def _flavor(fields: str) -> Condition:
    """A flavor with a Topology, in a release that freezes these fields of it."""

    def holds(situation: Situation) -> bool:
        if not _placed(situation):
            return False
        release = _release(situation)
        if fields == "all":
            return release < Release(0, 17)
        return release < Release(0, 20) or fields == "topologyName"

    until = {"all": " up to 0.16", "some": " up to 0.19"}.get(fields, "")
    return Condition(f"the flavor has a topologyName{until}", holds)


def _editable(situation: Situation) -> bool:
    ends = [
        text((sequence(side, "spec", "levels") or ({},))[-1], "nodeLabel")
        for side in (situation.before, situation.after)
    ]
    return _release(situation) >= Release(0, 20) and ends == [HOSTNAME, HOSTNAME]


TOPOLOGY = Effects(
    kueue.GROUP,
    "Topology",
    [
        Effect(
            field("spec.levels"),
            Outcome.IN_PLACE,
            Evidence.CODE,
            "kueue §1.2 (kubernetes-sigs/kueue#13910)",
            says="groups that run stay where they are",
            condition=Condition("from 0.20, where the host is the last level", _editable),
        ),
        Effect(
            field("spec.levels"),
            Outcome.REFUSED,
            Evidence.LAB,
            "kueue §1.2; the CRD at 0.17.0",
            says="levels never change",
            by=API_SERVER,
            instead="make a Topology of another name and flavors that name it",
        ),
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "kueue §1.2"),
        Effect((), Outcome.IN_PLACE, Evidence.CODE, "kueue §1.2"),
    ],
)


def _kept(dotted: str, condition: Condition, evidence: Evidence = Evidence.LAB) -> Effect:
    """What a flavor with a Topology keeps."""
    return Effect(
        field(dotted),
        Outcome.REFUSED,
        evidence,
        "kueue §1.3",
        by=API_SERVER,
        instead="make a flavor of another name and queues that name it",
        condition=condition,
    )


FLAVOR = Effects(
    kueue.GROUP,
    "ResourceFlavor",
    [
        _kept("spec", _flavor("all"), Evidence.CODE),
        _kept("spec.nodeLabels", _flavor("some")),
        _kept("spec.tolerations", _flavor("some")),
        _kept("spec.topologyName", _flavor("topologyName")),
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "kueue §1.3"),
        Effect(
            (),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "kueue §1.3",
            says="groups that run stay; what is admitted from now on follows it",
        ),
    ],
)

_GONE = "groups that run stay, and none is admitted by it any more"
"""Kueue's workload controller: an admitted Workload is kept, any other is inadmissible (code of 0.16 to 0.20)."""


def _drains(situation: Situation) -> bool:
    return text(situation.after, *_STOP) == kueue.DRAINS


def _stopped() -> Iterator[Effect]:
    """The stop of a queue of either kind."""
    yield Effect(
        _STOP,
        Outcome.EVICTS,
        Evidence.LAB,
        "kueue §1.4, §1.5; lab E4: both groups gone within 5 s, past a budget of 0",
        says="past any budget, and none is admitted until it is taken back",
        condition=Condition(f"it becomes {kueue.DRAINS}", _drains),
    )
    yield Effect(
        _STOP,
        Outcome.IN_PLACE,
        Evidence.LAB,
        "kueue §1.4, §1.5",
        says="groups that run stay; under Hold none is admitted any more",
    )


_STOP = field("spec.stopPolicy")
_QUOTA = field("spec.resourceGroups[].flavors[].resources[].nominalQuota")

QUEUE = Effects(
    kueue.GROUP,
    "ClusterQueue",
    [
        Effect(
            _QUOTA,
            Outcome.IN_PLACE,
            Evidence.LAB,
            "lab E4 Quota and space",
            says="groups that run stay, also when they lose a pod; what is to be admitted waits",
            ways=("lowered",),
        ),
        Effect(_QUOTA, Outcome.IN_PLACE, Evidence.LAB, "lab E4 Quota and space"),
        *_stopped(),
        Effect(
            field("spec.namespaceSelector"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "kueue §1.4",
            says="groups that run stay; in a namespace left out none is admitted any more",
        ),
        Effect(
            field("spec.resourceGroups"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "kueue §1.4",
            says="groups that run stay; what is admitted from now on follows it",
        ),
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "kueue §1.4"),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "kueue §1.4"),
    ],
    gone=_GONE,
)

LOCAL_QUEUE = Effects(
    kueue.GROUP,
    "LocalQueue",
    [
        Effect(
            field("spec.clusterQueue"),
            Outcome.REFUSED,
            Evidence.LAB,
            "kueue §1.5",
            says="a LocalQueue keeps its ClusterQueue",
            by=API_SERVER,
            instead="make a LocalQueue of another name",
        ),
        *_stopped(),
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "kueue §1.5"),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "kueue §1.5"),
    ],
    gone=_GONE,
)

PRIORITY = Effects(
    kueue.GROUP,
    "WorkloadPriorityClass",
    [
        Effect(
            ("value",),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "release notes of kubernetes-sigs/kueue#8442",
            says="the order in which groups wait and are preempted; none is restarted",
        ),
        Effect((), Outcome.NONE, Evidence.LAB, "kueue §1.5"),
    ],
)

COHORT = Effects(
    kueue.GROUP,
    "Cohort",
    [
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "kueue §1.5"),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "kueue §1.5"),
    ],
)

TABLES = (TOPOLOGY, FLAVOR, QUEUE, LOCAL_QUEUE, PRIORITY, COHORT)
