"""StatefulSet, read only: pods with an index, which somebody may have made into groups by hand.

A StatefulSet that LeaderWorkerSet makes is the controller's business and is not read (`lws §1`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from gangform.apis import leaderworkerset as lws
from gangform.apis.apps import pods_of_one_template
from gangform.apis.forms import Abilities, GroupView, Rendezvous
from gangform.apis.keys import APPS, LABEL_VALUE_LIMIT, POD_INDEX, POD_NAME, REVISION_HASH
from gangform.documents.document import Document, dig

KIND = "StatefulSet"
PARALLEL = "Parallel"
"""The podManagementPolicy that makes all pods at once; the other waits for each to be Ready before the next."""
_HASH = 11
"""`-` and up to 10 characters that a revision hash adds to the name, in a label."""


class StatefulSetForm:
    """The reader of `apps/v1` StatefulSet: each replica is one pod, which may not be a whole replica of a model."""

    kind: ClassVar[str] = KIND
    api_version: ClassVar[str] = APPS
    can: ClassVar[Abilities] = Abilities(
        runs_groups=False,
        scales=True,
        rolls_in_place=True,
        whole_pods=False,
        surges=False,
        recreates_groups=False,
        has_group_label=False,
        has_leader_label=False,
        makes_stateful_sets=False,
    )

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """52: the label `controller-revision-hash` is `<name>-<up to 10 characters>` and at most 63 (`lws §2e`)."""
        return LABEL_VALUE_LIMIT - _HASH

    def peak(self, replicas: int, *, surge: int, unavailable: int) -> int:
        """As many as are wanted: a StatefulSet does not surge."""
        return replicas

    def rendezvous(self) -> Rendezvous | None:
        """None: no variable says who leads."""
        return None

    def read(self, document: Document) -> Iterator[GroupView]:
        """One set of pods; nothing where a LeaderWorkerSet made it."""
        if dig(document.manifest, "metadata", "labels", lws.NAME) is None:
            yield pods_of_one_template(
                document,
                varying=frozenset({POD_INDEX, POD_NAME, REVISION_HASH}),
                surge=0,
                unavailable=1,
            )
