"""What a change of Volcano's objects does to groups that run: nothing is refused on an update, and nothing evicted.

Sources: `volcano §1–§3` (code at v1.15.1); tests/cluster/test_volcano_effects.py (seen at 1.14.1). The scheduler reads
them when it places a pod; one that is bound stays.
"""

from __future__ import annotations

from gangform.apis.effects import Effect, Effects, Outcome, field
from gangform.apis.versions import Evidence

_LATER = "pods that are bound stay; the next start of the group follows it"

POD_GROUP = Effects(
    "scheduling.volcano.sh",
    "PodGroup",
    [
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "volcano §1"),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "volcano §1.2, §1.6", says=_LATER),
    ],
)

QUEUE = Effects(
    "scheduling.volcano.sh",
    "Queue",
    [
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "volcano §3"),
        Effect(
            field("spec.capability"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "volcano §3",
            says="groups that run stay, and one that is lost may wait",
            ways=("lowered",),
        ),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "volcano §3"),
    ],
)

HYPER_NODE = Effects(
    "topology.volcano.sh",
    "HyperNode",
    [
        Effect(("metadata",), Outcome.NONE, Evidence.LAB, "volcano §2"),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "volcano §2", says=_LATER),
    ],
)

TABLES = (POD_GROUP, QUEUE, HYPER_NODE)
