"""Deployment as a form: every replica is one pod, a group of size 1. Its way of reading serves StatefulSets too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from gangform.apis.forms import Abilities, GroupView, PodView, Rendezvous, Selectors
from gangform.apis.keys import APP_NAME, APPS, POD_TEMPLATE_HASH
from gangform.documents.document import Document, Node, dig, mapping, text, texts, whole

KIND = "Deployment"


GENERATED_BASE = 58
"""Where the API server cuts a base before it appends 5 random characters (`<replica set>-` of a pod)."""
HASH_LIMIT = 10
"""Longest hash in the name of a ReplicaSet: a 32-bit number, one character a decimal digit."""


def longest_name() -> int:
    """The longest name that pods keep in full: 46.

    A pod is `<name>-<hash>-` cut at 58, then 5 random characters: name + 1 + 10 + 1 ≤ 58. A longer name still runs
    (a Deployment's own bound is 253, and no label carries it), but its pods lose the hash or a part of the name, so
    that neither says which pod belongs to whom. Source: name generation of the API server, hash of the Deployment
    controller; not tried in the lab.
    """
    return GENERATED_BASE - HASH_LIMIT - 2


def peak_replicas(replicas: int, *, surge: int) -> int:
    """Pods that exist at the height of a rollout: R + min(s, R).

    The new ReplicaSet is raised as far as R + s allows and never beyond R, whatever may be unavailable (Kubernetes'
    `NewRSNewReplicas`; seen at 1.36 for R 1 and 3).
    """
    return replicas + min(surge, replicas)


class DeploymentForm:
    """The form of `apps/v1` Deployment."""

    kind: ClassVar[str] = KIND
    api_version: ClassVar[str] = APPS
    can: ClassVar[Abilities] = Abilities(
        runs_groups=False,
        scales=True,
        rolls_in_place=True,
        whole_pods=True,
        surges=True,
        recreates_groups=False,
        has_group_label=False,
        has_leader_label=False,
        makes_stateful_sets=False,
    )

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """See `longest_name` of this module; the same for every index, since pods have none."""
        return longest_name()

    def peak(self, replicas: int, *, surge: int, unavailable: int) -> int:
        """See `peak_replicas` of this module."""
        return peak_replicas(replicas, surge=surge)

    def selectors(self, *, name: str, app: str) -> Selectors:
        """Every pod serves, so leaders and pods are the same: the app label of the template."""
        pods = {APP_NAME: app}
        return Selectors(leaders=pods, pods=pods, group=None)

    def rendezvous(self) -> Rendezvous | None:
        """None: a replica is one pod."""
        return None

    def read(self, document: Document) -> Iterator[GroupView]:
        """One set of groups of one pod each."""
        rolling = mapping(document.manifest, "spec", "strategy", "rollingUpdate")
        yield pods_of_one_template(
            document,
            varying=frozenset({POD_TEMPLATE_HASH}),
            surge=dig(rolling, "maxSurge"),
            unavailable=dig(rolling, "maxUnavailable"),
        )


def pods_of_one_template(
    document: Document, *, varying: frozenset[str], surge: Node | None, unavailable: Node | None
) -> GroupView:
    """The pods of a kind of this API group, each a group of its own.

    Args:
        document: The object.
        varying: Label keys that the controller adds, whose values differ from pod to pod.
        surge: Pods that a rollout may make beyond those wanted, as written; `None` where absent.
        unavailable: Pods that a rollout may take away, as written; `None` where absent.
    """
    manifest = document.manifest
    template = mapping(manifest, "spec", "template")
    pod = PodView(
        document=document,
        path=("spec", "template"),
        role="pod",
        per_group=1,
        labels=texts(mapping(template, "metadata", "labels")),
        varying=varying,
        never={},
        annotations=texts(mapping(template, "metadata", "annotations")),
        spec=mapping(template, "spec"),
    )
    return GroupView(
        document=document,
        kind=document.kind,
        namespace=text(manifest, "metadata", "namespace"),
        name=text(manifest, "metadata", "name"),
        own=("metadata",),
        at=("spec",),
        role="",
        copies=1,
        added=0,
        target=document.key,
        selectors=Selectors(leaders=pod.labels, pods=pod.labels, group=None),
        replicas=whole(manifest, "spec", "replicas"),
        size=1,
        leader=pod,
        workers=None,
        surge=surge,
        unavailable=unavailable,
    )
