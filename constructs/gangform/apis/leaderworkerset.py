"""LeaderWorkerSet: keys, name bounds, rollout arithmetic, which fields exist when, and the form.

Sources: `lws §1–§4, §8` (code at v0.10.0) and `lab E1–E3, E7, E9` (seen at v0.9.0 and v0.10.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from gangform.apis.forms import Abilities, GroupView, PodRole, PodView, Rendezvous, Selectors
from gangform.apis.keys import POD_INDEX, POD_NAME, REVISION_HASH
from gangform.apis.versions import Evidence, Release, Row, Table
from gangform.documents.document import Document, dig, mapping, text, texts, whole
from gangform.findings import Path

API_VERSION = "leaderworkerset.x-k8s.io/v1"
GROUP = "leaderworkerset.x-k8s.io"
KIND = "LeaderWorkerSet"
DEFINITION = f"leaderworkersets.{GROUP}"
"""Name of the CustomResourceDefinition."""
CONFIGURATION = "config.lws.x-k8s.io/"
"""Group of the controller's own configuration, as it stands in its ConfigMap (`volcano §7`)."""

PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME = PREFIX + "name"
WORKER_INDEX = PREFIX + "worker-index"
GROUP_INDEX = PREFIX + "group-index"
EXCLUSIVE_TOPOLOGY = PREFIX + "exclusive-topology"
SUBGROUP_EXCLUSIVE_TOPOLOGY = PREFIX + "subgroup-exclusive-topology"
LEADER_INDEX = "0"
"""Value of the worker index on leaders. There is no role label on pods (`lws §1`, `lab` summary 1)."""

ADDRESS_VARIABLE = "LWS_LEADER_ADDRESS"
SIZE_VARIABLE = "LWS_GROUP_SIZE"
RANK_VARIABLE = "LWS_WORKER_INDEX"

LEADER_TEMPLATE = ("spec", "leaderWorkerTemplate", "leaderTemplate")
WORKER_TEMPLATE = ("spec", "leaderWorkerTemplate", "workerTemplate")

AFTER_START = "RecreateGroupAfterStart"
ON_POD_RESTART = "RecreateGroupOnPodRestart"
NEVER = "None"
LEADER_CREATED = "LeaderCreated"
LEADER_READY = "LeaderReady"

FIELDS = Table(
    KIND,
    Release(0, 10),
    [
        Row(AFTER_START, Release(0, 9), Evidence.LAB, "lab E7; in the enum of v0.9.0 and v0.10.0"),
        Row("volumeClaimTemplates", Release(0, 8), Evidence.CODE, "lws §2c"),
        Row("observedGeneration", Release(0, 9), Evidence.DOCS, "observability §1 (lws#807)"),
        Row("partition", Release(0, 6), Evidence.CODE, "lws §2a"),
    ],
)
"""Fields and values that not every release has."""

NEWEST = FIELDS.newest
OLDEST = Release(0, 6)
"""The first release with `partition` in its strategy, which every set of ours states (`lws §2a`)."""
REPAIRS = Release(0, 7)
"""From it a rollout replaces groups that are broken anyway while no group is ready (`cases r19`: lws#488, #567)."""
OLDEST_KUBERNETES = Release(1, 27)
"""Before it the controller recreates its StatefulSets for ever (`lws §10` row 3: lws#391, #385, #390)."""

_VARYING = frozenset(
    {
        GROUP_INDEX,
        PREFIX + "group-key",
        PREFIX + "template-revision-hash",
        POD_INDEX,
        POD_NAME,
        REVISION_HASH,
    }
)


MOST_PODS = 2**31 - 1
"""Groups times size that the webhook lets a set have (`lws §2b`)."""


def longest_name(*, size: int, highest_index: int) -> int:
    """The longest safe name of a set: 52 for size 1, else 50 less the digits of the highest index beyond one.

    The binding bound is the label `controller-revision-hash` = `<statefulset>-<up to 10 characters>` ≤ 63 on the
    worker StatefulSet `<name>-<index>`; beyond it success depends on the length of the hash (`lws §2e`, `lab E9`).
    """
    return 52 if size == 1 else 51 - len(str(highest_index))


def peak_groups(replicas: int, *, surge: int, unavailable: int) -> int:
    """Groups that exist at the height of a rollout: R + s if R > s, else R + max(0, R − u) (`lws §3`, `lab E2`)."""
    return replicas + surge if replicas > surge else replicas + max(0, replicas - unavailable)


def serving_groups(replicas: int, *, unavailable: int) -> int:
    """Groups that keep serving at least while a rollout lasts: R − u (`lws §3`, `lab E2`)."""
    return max(0, replicas - unavailable)


def budget_expects(replicas: int, size: int) -> int:
    """Pods that a per-group budget in `maxUnavailable` or percent expects: R + S − 1, not S (`lab E3`)."""
    return replicas + size - 1


class LeaderWorkerSetForm:
    """The form of `leaderworkerset.x-k8s.io/v1` LeaderWorkerSet."""

    kind: ClassVar[str] = KIND
    api_version: ClassVar[str] = API_VERSION
    can: ClassVar[Abilities] = Abilities(
        runs_groups=True,
        scales=True,
        rolls_in_place=True,
        whole_pods=False,
        surges=True,
        recreates_groups=True,
        has_group_label=True,
        has_leader_label=True,
        makes_stateful_sets=True,
    )

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """See `longest_name` of this module."""
        return longest_name(size=size, highest_index=highest_index)

    def peak(self, replicas: int, *, surge: int, unavailable: int) -> int:
        """See `peak_groups` of this module."""
        return peak_groups(replicas, surge=surge, unavailable=unavailable)

    def selectors(self, *, name: str, app: str) -> Selectors:
        """Leaders are the pods with the set's name and worker index 0."""
        pods = {NAME: name}
        return Selectors(
            leaders={**pods, WORKER_INDEX: LEADER_INDEX},
            pods=pods,
            group=lambda index: {**pods, GROUP_INDEX: str(index)},
        )

    def rendezvous(self) -> Rendezvous | None:
        """The variables that the controller puts first into every container, so `$(…)` expands in arguments."""
        return Rendezvous(
            address=f"$({ADDRESS_VARIABLE})", rank=f"$({RANK_VARIABLE})", size=f"$({SIZE_VARIABLE})"
        )

    def read(self, document: Document) -> Iterator[GroupView]:
        """One homogeneous set of groups."""
        name = text(document.manifest, "metadata", "name")
        yield group_view(
            document,
            kind=KIND,
            at=("spec",),
            own=("metadata",),
            fixed={NAME: name},
            varying=frozenset(),
            selectors=self.selectors(name=name, app=name),
        )


def group_view(
    document: Document,
    *,
    kind: str,
    at: Path,
    own: Path,
    fixed: Mapping[str, str],
    varying: frozenset[str],
    selectors: Selectors,
) -> GroupView:
    """The set of groups that a spec of this kind makes; a missing leaderTemplate means the worker's serves both.

    Args:
        document: The object that holds the spec.
        kind: Its kind, which may hold several such specs.
        at: Where the spec stands.
        own: Where the metadata stands that the controller reads for it.
        fixed: Labels that the controller puts on every pod.
        varying: Further label keys whose values differ from pod to pod.
        selectors: Labels that select its pods.
    """
    manifest = document.manifest
    spec = mapping(manifest, *at)
    size = whole(spec, "leaderWorkerTemplate", "size") or 1
    base: Path = (*at, "leaderWorkerTemplate")
    shared: Path = (*base, "workerTemplate")
    first: Path = (*base, "leaderTemplate")
    if not isinstance(dig(manifest, *first), Mapping):
        first = shared
    rolling = mapping(spec, "rolloutStrategy", "rollingUpdateConfiguration")

    def pods(path: Path, role: PodRole, count: int) -> PodView:
        template = mapping(manifest, *path)
        labels = texts(mapping(template, "metadata", "labels"))
        differ = _VARYING | varying
        never: dict[str, str] = {}
        if role == "leader":
            labels[WORKER_INDEX] = LEADER_INDEX
        else:
            never = {POD_INDEX: LEADER_INDEX}
        if role == "worker" and WORKER_INDEX not in labels:
            # A label of the template wins over the controller's own (lab E9): such workers look like leaders.
            differ = differ | {WORKER_INDEX}
            never[WORKER_INDEX] = LEADER_INDEX
        return PodView(
            document=document,
            path=path,
            role=role,
            per_group=count,
            labels={**labels, **fixed},
            varying=differ,
            never=never,
            annotations=texts(mapping(template, "metadata", "annotations")),
            spec=mapping(template, "spec"),
        )

    return GroupView(
        document=document,
        kind=kind,
        namespace=text(manifest, "metadata", "namespace"),
        name=text(manifest, "metadata", "name"),
        own=own,
        at=at,
        role="",
        copies=1,
        added=0,
        target=document.key,
        selectors=selectors,
        replicas=whole(spec, "replicas"),
        size=size,
        leader=pods(first, "leader", 1),
        workers=pods(shared, "worker", size - 1) if size > 1 else None,
        surge=dig(rolling, "maxSurge"),
        unavailable=dig(rolling, "maxUnavailable"),
    )
