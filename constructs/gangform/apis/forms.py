"""What a kind that runs groups does, seen from both sides: what we write, and what a foreign manifest will become.

Everybody asks a form for its abilities, selectors and bounds; nobody compares kind names. `read` gives the groups
and pods that the controller will make from a manifest, so that a rule can ask "which pods does this selector match"
without a cluster.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Literal, NamedTuple, Protocol

from gangform.documents.document import Document, Key, Manifest, Node, dig, text
from gangform.findings import Path

PodRole = Literal["leader", "worker", "pod"]
"""`pod` where a kind knows no leader: every pod is one replica."""


class Abilities(NamedTuple):
    """What the controller of a kind can do with groups."""

    runs_groups: bool
    """One replica is several pods that live and die together."""
    scales: bool
    """The kind has a scale subresource, which an autoscaler may target."""
    rolls_in_place: bool
    """A rollout replaces the pods of the same object; else a new object is raised beside the old one."""
    whole_pods: bool
    """One pod is surely a replica by itself where `runs_groups` is not said; else several may belong together."""
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
    own: Path
    """Where the metadata stands whose labels and annotations the controller reads for this set."""
    at: Path
    """Where the spec of the set stands: `("spec",)`, or inside a role."""
    role: str
    """The role of a set of roles; empty where the object is one set."""
    copies: int
    """How many such sets the object makes: the slices of a set of roles, else 1."""
    added: int
    """Characters that the controller puts around the name before it bounds it."""
    target: Key
    """What an autoscaler of the set names: the object, or the scaler that the controller makes for a role."""
    selectors: Selectors
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

    @property
    def title(self) -> str:
        """How people call it: the name, with the role where there are several."""
        return f"{self.name}/{self.role}" if self.role else self.name

    def part(self, *path: str) -> Node | None:
        """The value at a path of the set's spec; `None` where there is none."""
        return dig(self.document.manifest, *self.at, *path)

    def word(self, *path: str) -> str:
        """The text at a path of the set's spec; empty where there is none."""
        return text(self.document.manifest, *self.at, *path)


class Reader(Protocol):
    """A kind that runs groups, as one reads it: what its controller will make of a manifest."""

    kind: ClassVar[str]
    api_version: ClassVar[str]
    can: ClassVar[Abilities]

    def longest_name(self, *, size: int, highest_index: int) -> int:
        """The longest name that still works when the group of that index exists."""
        ...

    def peak(self, replicas: int, *, surge: int, unavailable: int) -> int:
        """Groups that exist at the height of a rollout."""
        ...

    def rendezvous(self) -> Rendezvous | None:
        """How containers find their leader; `None` where a replica is one pod."""
        ...

    def read(self, document: Document) -> Iterator[GroupView]:
        """The group sets of a document of this kind. Never raises on bad content."""
        ...


class Form(Reader, Protocol):
    """A kind that we write too."""

    def selectors(self, *, name: str, app: str) -> Selectors:
        """Selectors for a set of this kind called `name` whose templates carry the app label `app`."""
        ...
