"""What a kind that runs groups does, seen from both sides: what we write, and what a foreign manifest will become.

Everybody asks a form for its abilities, selectors and bounds; nobody compares kind names. `read` gives the groups
and pods that the controller will make from a manifest, so that a rule can ask "which pods does this selector match"
without a cluster.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Literal, NamedTuple, Protocol

from gangform.documents.document import Document, Manifest, Node
from gangform.findings import Path

PodRole = Literal["leader", "worker", "pod"]
"""`pod` where a kind knows no leader: every pod is one replica."""


class Abilities(NamedTuple):
    """What the controller of a kind can do with groups."""

    runs_groups: bool
    """One replica is several pods that live and die together."""
    surges: bool
    """A rollout may create groups beyond the wanted number first."""
    recreates_groups: bool
    """A lost pod makes it rebuild the whole group."""
    has_group_label: bool
    """Pods carry the index of their group, so that one group can be selected."""
    has_leader_label: bool
    """Pods carry their index inside the group, so that leaders can be selected."""
    makes_stateful_sets: bool
    """Groups stand behind StatefulSets of known names (metrics; dry runs of templates)."""


class Selectors(NamedTuple):
    """Labels that match exactly the pods meant, on the pods as the controller makes them."""

    leaders: Mapping[str, str]
    """The pods that may receive traffic."""
    pods: Mapping[str, str]
    """Every pod."""
    group: Callable[[int], Mapping[str, str]] | None
    """The pods of one group; `None` where groups have no index (Hash identity, Deployment)."""


class Rendezvous(NamedTuple):
    """How a container learns its place, as text for arguments: `$(LWS_LEADER_ADDRESS)` and the like."""

    address: str
    rank: str
    size: str


class PodView(NamedTuple):
    """The pods of one role in a group set, as they will be."""

    document: Document
    path: Path
    """Where the pod template stands in the document."""
    role: PodRole
    per_group: int
    """How many of them one group has."""
    labels: Mapping[str, str]
    """Labels with one value for all of them: the template's and the controller's."""
    varying: frozenset[str]
    """Label keys whose value differs from group to group or pod to pod."""
    never: Mapping[str, str]
    """Values that a varying label never takes here: no worker has the index of a leader."""
    annotations: Mapping[str, str]
    spec: Manifest
    """The pod spec, as written."""

    def matches(self, selector: Mapping[str, str]) -> bool:
        """Whether a selector matches at least some of these pods: a varying label may have any other value."""
        return all(
            self.never.get(key) != value if key in self.varying else self.labels.get(key) == value
            for key, value in selector.items()
        )


class GroupView(NamedTuple):
    """A homogeneous set of groups in a manifest, with defaults filled in."""

    document: Document
    kind: str
    namespace: str
    name: str
    replicas: int | None
    """Groups wanted; `None` where the manifest leaves it to an autoscaler."""
    size: int
    """Pods a group."""
    leader: PodView
    workers: PodView | None
    """`None` for groups of one pod, and where one template serves both (`leader` is then that template)."""
    surge: Node | None
    """As written; `None` where absent."""
    unavailable: Node | None

    @property
    def pods(self) -> tuple[PodView, ...]:
        """Leader and workers."""
        return (self.leader,) if self.workers is None else (self.leader, self.workers)


class Form(Protocol):
    """A kind that runs groups: write side and read side of one controller's habits."""

    kind: ClassVar[str]
    api_version: ClassVar[str]
    can: ClassVar[Abilities]

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """The longest name that still works when the group of that index exists."""
        ...

    def selectors(self, *, name: str, app: str) -> Selectors:
        """Selectors for a set of this kind called `name` whose templates carry the app label `app`."""
        ...

    def rendezvous(self) -> Rendezvous | None:
        """How containers find their leader; `None` where a replica is one pod."""
        ...

    def read(self, document: Document) -> Iterator[GroupView]:
        """The group sets of a document of this kind. Never raises on bad content."""
        ...
