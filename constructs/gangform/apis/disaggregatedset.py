"""DisaggregatedSet, read only: roles that are whole LeaderWorkerSets, in slices that roll together.

Sources: `lws §2f, §2g, §6` (code at v0.10.0) and `lab E6, E10` (seen at v0.9.0 and v0.10.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import Abilities, GroupView, Rendezvous, Selectors
from gangform.documents.document import Document, Key, dig, sequence, text, whole

GROUP = "disaggregatedset.x-k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "DisaggregatedSet"
SCALER = "DisaggregatedSetRoleScaler"
"""What the controller makes for a role whose scaling is External: `<set>-<role>`, the target of an autoscaler."""

PREFIX = f"{GROUP}/"
NAME = PREFIX + "name"
ROLE = PREFIX + "role"
SLICE = PREFIX + "slice"
REVISION = PREFIX + "revision"
APP = "app"
"""A label of the templates that the controller writes over: `<set>-<slice>-<role>` (`lab E6`)."""

STATIC, EXTERNAL = "Static", "External"
LEAST_ROLES, MOST_ROLES = 2, 10
MOST_SLICES = 100
_REVISION = 8
"""Characters of the revision in the names of children."""
_DEFAULT = (1, 0)
"""Surge and unavailable groups without a rollingUpdateConfiguration; one that is there is filled as for LWS."""


def peak_groups(replicas: int, *, surge: int) -> int:
    """Groups of a role that surely exist at the height of a rollout: one more where it may surge.

    The new revision is raised in steps that all roles share, so that a small role may never use its whole surge
    (`lws §6`, `lab E6`).
    """
    return replicas + min(surge, 1) if replicas else 0


def is_child(name: str, *, owner: str, role: str) -> bool:
    """Whether a LeaderWorkerSet is called like those made for a role: `<set>-<slice>-<revision>-<role>`."""
    revision = f"[0-9a-f]{{{_REVISION}}}"
    return bool(re.fullmatch(rf"{re.escape(owner)}-\d+-{revision}-{re.escape(role)}", name))


class DisaggregatedSetForm:
    """The reader of `disaggregatedset.x-k8s.io/v1` DisaggregatedSet: each role is a set of groups of its own."""

    kind: ClassVar[str] = KIND
    api_version: ClassVar[str] = API_VERSION
    can: ClassVar[Abilities] = Abilities(
        runs_groups=True,
        scales=False,
        rolls_in_place=False,
        whole_pods=False,
        surges=True,
        recreates_groups=True,
        has_group_label=True,
        has_leader_label=True,
        makes_stateful_sets=False,
    )

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """The bound of the LeaderWorkerSet that a role becomes; `GroupView.added` says what is put around the name."""
        return lws.longest_name(size=size, highest_index=highest_index)

    def peak(self, replicas: int, *, surge: int, unavailable: int) -> int:
        """See `peak_groups` of this module."""
        return peak_groups(replicas, surge=surge)

    def rendezvous(self) -> Rendezvous | None:
        """That of the LeaderWorkerSets that it makes."""
        return lws.LeaderWorkerSetForm().rendezvous()

    def read(self, document: Document) -> Iterator[GroupView]:
        """A set of groups for each role, with the surge that the controller takes where none is written."""
        name = text(document.manifest, "metadata", "name")
        slices = min(MOST_SLICES, max(1, whole(document.manifest, "spec", "slices") or 1))
        for index, role in enumerate(sequence(document.manifest, "spec", "roles")):
            title = text(role, "name")
            pods = {NAME: name, ROLE: title}
            fixed = dict(pods)
            varying = {REVISION}
            if slices == 1:
                fixed |= {SLICE: "0", APP: f"{name}-0-{title}"}
            else:
                varying |= {SLICE, APP}
            view = lws.group_view(
                document,
                kind=KIND,
                at=("spec", "roles", index, "spec"),
                own=("spec", "roles", index, "metadata"),
                fixed=fixed,
                varying=frozenset(varying),
                selectors=Selectors(
                    leaders={**pods, lws.WORKER_INDEX: lws.LEADER_INDEX}, pods=pods, group=None
                ),
            )
            outside = text(role, "scaling", "mode") == EXTERNAL
            if dig(role, "spec", "rolloutStrategy", "rollingUpdateConfiguration") is None:
                view = view._replace(surge=_DEFAULT[0], unavailable=_DEFAULT[1])
            yield view._replace(
                role=title or str(index),
                copies=slices,
                added=len(f"-{slices - 1}-") + _REVISION + len(f"-{title}"),
                target=Key(GROUP, SCALER, view.namespace, f"{name}-{title}")
                if outside
                else document.key,
                replicas=None if outside else view.replicas,
            )
