"""What is adopted: a set of groups, the container of its engine, and what lies beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gangform.apis.forms import GroupView, PodView
from gangform.apis.pods import requests
from gangform.apis.views import Documents
from gangform.bundle import WORKLOADS
from gangform.documents.document import Document, Manifest, Node, mapping, sequence, text
from gangform.engines.engine import ENGINES, Translation, engine, readers
from gangform.findings import DocumentPath, Finding, InputError, Severity, declare, either

NOTHING = declare(
    "adopt-nothing",
    "A stream without a set of groups that a serving could describe",
    Severity.BREAKS,
    "design §3 Serving",
)
OTHER_ENGINE = declare(
    "adopt-other-engine",
    "A set that runs an engine which no serving may name",
    Severity.BREAKS,
    "design §3 Serving: engine",
)


class Unread(NamedTuple):
    """A value that no input says, or that was not understood."""

    where: str
    """The path in the object, the object before it where it is not the set."""
    value: Node
    why: str


class Subject(NamedTuple):
    """One set of groups."""

    group: GroupView
    engine: str
    """Name of the engine; the only one there is where nothing says which."""
    container: Manifest
    """The engine's container of the leader."""
    place: int
    """Its place among the containers."""
    translation: Translation | None
    """`None` where the command line is not certain."""
    beside: tuple[Document, ...]
    """Everything else of the stream."""
    called: str = ""
    """Name of the serving."""

    @property
    def spec(self) -> Manifest:
        """The leader's pod spec."""
        return self.group.leader.spec

    @property
    def own(self) -> Manifest:
        """The metadata of the set."""
        return mapping(self.group.document.manifest, *self.group.own)

    def at(self, *path: str) -> str:
        """A path in the leader's pod spec, as people read it in the object."""
        return ".".join([*map(str, self.group.leader.path), "spec", *path])

    def requested(self) -> Mapping[str, int]:
        """What the engine's container requests, whole; extended resources by count."""
        asked = requests({"containers": [self.container]})
        return {name: int(amount) for name, amount in asked.items()}


def subjects(manifests: Sequence[Manifest]) -> list[Subject]:
    """Every set of groups of a stream that a serving can describe.

    Raises:
        InputError: There is none, or one runs an engine that no serving may name.
    """
    documents = Documents([Document(manifest=one, builder="") for one in manifests])
    found: list[Subject] = []
    wrong: list[Finding] = []
    for group in documents.groups():
        if group.kind not in WORKLOADS or group.role or not group.name:
            continue
        index, container = _engine_container(group.leader)
        name, translation = _engine(container)
        if not name:
            if _runs_gpus(container):
                wrong.append(_other(group, index, container))
            continue
        rest = tuple(one for one in documents.all if one is not group.document)
        found.append(Subject(group, name, container, index, translation, rest))
    if not found:
        raise InputError(wrong or [_nothing(documents)])
    return found


def _engine_container(pod: PodView) -> tuple[int, Manifest]:
    """The container that an engine knows, else the first that asks for a device, else the first."""
    containers = [one for one in sequence(pod.spec, "containers") if isinstance(one, Mapping)]
    for index, one in enumerate(containers):
        if any(reader.read(one) is not None for reader in readers()):
            return index, one
    for index, one in enumerate(containers):
        if _runs_gpus(one):
            return index, one
    return (0, containers[0]) if containers else (0, {})


def _engine(container: Manifest) -> tuple[str, Translation | None]:
    """The engine of a container and its command line; by the image's name where the words are not certain."""
    for name in ENGINES:
        translation = engine(name).translate(container)
        if translation is not None:
            return name, translation
    if any(reader.read(container) is not None for reader in readers()):
        return "", None
    image = text(container, "image").lower()
    return next((name for name in ENGINES if name in image), ""), None


def _runs_gpus(container: Manifest) -> bool:
    asked = requests({"containers": [container]})
    return any("/" in name and amount for name, amount in asked.items())


def _other(group: GroupView, index: int, container: Manifest) -> Finding:
    read = next((one for reader in readers() if (one := reader.read(container))), None)
    known = ", ".join(ENGINES)
    what = (
        f"{group.kind} {group.name} runs {read.engine}"
        if read
        else f"what {group.name} runs is not known"
    )
    return Finding(
        code=OTHER_ENGINE,
        at=DocumentPath(
            group.kind,
            group.namespace,
            group.name,
            (*group.leader.path, "spec", "containers", index),
        ),
        what=f"{what}, and a serving may name {known}",
        fix=f"adopt sets that run {known}; `gangform lint` judges the others",
    )


def _nothing(documents: Documents) -> Finding:
    kinds = ", ".join(sorted({one.kind for one in documents.all if one.kind})) or "no object"
    return Finding(
        code=NOTHING,
        at=DocumentPath("", "", "", ()),
        what=f"what is given holds {kinds}; wanted is a {either(tuple(WORKLOADS))} that runs an engine",
        fix="give it what `kubectl get lws NAME -o yaml` prints",
    )
