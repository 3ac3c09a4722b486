"""What rules ask of documents more than once: selectors, autoscalers of a set, what its containers run, its peak."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import update_wrapper
from itertools import chain
from math import ceil, floor
from typing import Final, NamedTuple

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import APPS, GPU, HOSTNAME
from gangform.apis.pods import requests
from gangform.apis.views import Documents, form_of
from gangform.documents.document import (
    Document,
    Key,
    Manifest,
    Node,
    dig,
    group_of,
    mapping,
    sequence,
    text,
    texts,
    whole,
)
from gangform.engines.conditions import asks_for, ranked
from gangform.engines.engine import EngineReading, Reader, readers
from gangform.engines.shell import Command, Start, start
from gangform.findings import Path
from gangform.rules.rule import WORKLOADS, Check, Context, Fault, joined

DEFAULT_SHARE: Final = "25%"
"""Surge and unavailability of a Deployment that writes neither (`lab E2` has none: documented default)."""
SETS: Final = tuple(kind for kind in WORKLOADS if (f := form_of(kind)) and f.can.runs_groups)
"""Kinds whose replicas are groups."""
_LIMIT: Final = 100_000
"""Above this a number of groups is taken for a slip of the pen."""


class Scaler(NamedTuple):
    """An autoscaler, whichever kind it is."""

    document: Document
    target: Key
    """Group, kind, namespace and name that it scales."""
    least: int
    most: int
    at_most: Path
    """Where the maximum stands."""


class Run(NamedTuple):
    """A container of a template, what it starts, and what an engine says that it would do."""

    path: Path
    container: Manifest
    reading: EngineReading | None
    init: bool = False
    begun: Start | None = None
    """What it starts; `None` where its words are no texts, and where nobody asked yet."""


def labels_of(node: Node | None) -> dict[str, str]:
    """The labels of a map, as far as they are texts."""
    return texts(node)


def match_labels(selector: Node | None) -> dict[str, str] | None:
    """The labels of a selector; `None` where expressions decide, or where it is no selector."""
    if not isinstance(selector, Mapping) or sequence(selector, "matchExpressions"):
        return None
    return labels_of(dig(selector, "matchLabels"))


def surely(pod: PodView, selector: Mapping[str, str]) -> bool:
    """Whether a selector matches all of these pods, whichever group and rank they are."""
    return all(
        key not in pod.varying and pod.labels.get(key) == value for key, value in selector.items()
    )


def templates(group: GroupView) -> tuple[PodView, ...]:
    """The pod templates of a set; one that serves leader and workers stands once, as the leader's."""
    if group.workers is None or group.workers.path == group.leader.path:
        return (group.leader,)
    return (group.leader, group.workers)


@joined
def _templates(documents: Documents) -> dict[int, list[PodView]]:
    groups = _groups(documents).items()
    return {each: [pod for group in of for pod in templates(group)] for each, of in groups}


def own_workers(group: GroupView) -> PodView | None:
    """The workers where they have a template of their own."""
    return group.workers if len(templates(group)) > 1 else None


def pinned_apart(group: GroupView) -> bool:
    """Whether leader and workers are each meant for a node of their own, by name."""
    nodes = [text(pod.spec, "nodeSelector", HOSTNAME) for pod in templates(group)]
    return all(nodes) and len(set(nodes)) > 1


def is_set(group: GroupView) -> bool:
    """Whether one replica may be several pods that live and die together."""
    form = form_of(group.kind)
    return form is not None and form.can.runs_groups


def rolls_in_place(group: GroupView) -> bool:
    """Whether a rollout replaces groups of the same set, index by index, as LeaderWorkerSet does it."""
    form = form_of(group.kind)
    return form is not None and form.can.rolls_in_place


@joined
def _asked(documents: Documents) -> dict[tuple[int, Path], dict[str, Fraction]]:
    """Filled as templates are asked for."""
    return {}


def asked(documents: Documents, pod: PodView) -> Mapping[str, Fraction]:
    """What one pod counts for, by resource; reckoned once a template."""
    known, key = _asked(documents), (id(pod.document), pod.path)
    if key not in known:
        known[key] = requests(pod.spec)
    return known[key]


def resources_of(container: Manifest) -> Manifest:
    """The names of the resources that a container names."""
    resources = mapping(container, "resources")
    return {**mapping(resources, "limits"), **mapping(resources, "requests")}


def gpus(documents: Documents, pod: PodView) -> int:
    """GPUs that one pod asks for."""
    return int(asked(documents, pod).get(GPU, 0))


@joined
def _by_space(documents: Documents) -> dict[tuple[str, str], list[Document]]:
    found: defaultdict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in documents.all:
        found[document.kind, document.key.namespace].append(document)
    return dict(found)


def within(documents: Documents, kind: str, namespace: str) -> Sequence[Document]:
    """The documents of a kind in one namespace; an empty one for what lies in none."""
    return _by_space(documents).get((kind, namespace), ())


@joined
def _groups(documents: Documents) -> dict[int, list[GroupView]]:
    found: defaultdict[int, list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        found[id(group.document)].append(group)
    return dict(found)


def groups_of(documents: Documents, document: Document) -> Sequence[GroupView]:
    """The sets of groups of one document."""
    return _groups(documents).get(id(document), ())


def runs(pod: PodView) -> Iterator[Run]:
    """The containers of a template in the order of the API: init containers last."""
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(sequence(pod.spec, kind)):
            if isinstance(container, Mapping):
                path = (*pod.path, "spec", kind, index)
                yield Run(path, container, None, kind == "initContainers")


@joined
def _read(documents: Documents) -> dict[tuple[int, Path, str], tuple[Run, ...]]:
    found: dict[tuple[int, Path, str], tuple[Run, ...]] = {}
    known = readers()
    for group in documents.groups():
        form = form_of(group.kind)
        index = lws.RANK_VARIABLE if form is not None and form.rendezvous() is not None else ""
        shared = group.workers is not None and group.workers.path == group.leader.path
        for pod in group.pods:
            at = (id(pod.document), pod.path, pod.role)
            if at in found:
                continue
            each = tuple(runs(pod))
            first = found.get((id(pod.document), pod.path, group.leader.role))
            ranks = shared and index and any(asks_for(one.container, index) for one in each)
            if first is not None and not ranks:
                found[at] = first
            else:
                leads = pod.role == group.leader.role
                found[at] = tuple(_run(one, known, index, leads=leads) for one in each)
    return found


def _run(run: Run, known: Sequence[Reader], index: str, *, leads: bool) -> Run:
    """A container with what it starts and what an engine says of it."""
    if "image" not in run.container:
        # Without an image it is a part of a container, to be merged into another: its words may be too.
        return run
    container = run.container
    if index and asks_for(container, index):
        container = ranked(container, index, leads=leads)
    readings = (reader.read(container) for reader in known)
    reading = next((reading for reading in readings if reading is not None), None)
    return run._replace(begun=start(container), reading=reading)


def read_runs(documents: Documents, pod: PodView) -> tuple[Run, ...]:
    """The containers of a template with what an engine says of each; read once for each role."""
    return _read(documents).get((id(pod.document), pod.path, pod.role), ())


def engine_of(documents: Documents, pod: PodView) -> Run | None:
    """The container of a template that runs an engine we read."""
    for run in read_runs(documents, pod):
        if run.reading is not None and not run.init:
            return run
    return None


def workers_apart(documents: Documents, group: GroupView) -> PodView | None:
    """The workers where they run something of their own: by a template, or by the script of a shared one."""
    workers = own_workers(group)
    if workers is not None or group.workers is None or group.size < 2:
        return workers
    return (
        group.workers
        if _words(documents, group.workers) != _words(documents, group.leader)
        else None
    )


def _words(documents: Documents, pod: PodView) -> list[tuple[Command, ...]]:
    return [run.begun.commands for run in read_runs(documents, pod) if run.begun is not None]


def answers(documents: Documents, pod: PodView) -> bool:
    """Whether the engine of a template surely answers requests, rather than health checks alone."""
    run = engine_of(documents, pod)
    if run is None or run.reading is None or not run.reading.serves_http:
        return False
    return pod.role != "worker" or not run.reading.rank_zero_answers


def words_of(run: Run) -> Path:
    """Where the command line stands: the script of a shell, or the list of words."""
    begun = run.begun or start(run.container)
    if begun is not None and begun.script is not None:
        return (*run.path, *begun.script)
    return (*run.path, "args" if "args" in run.container else "command")


@joined
def scalers(documents: Documents) -> dict[Key, list[Scaler]]:
    """The autoscalers by what they scale."""
    found: defaultdict[Key, list[Scaler]] = defaultdict(list)
    for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        for document in documents.of(kind):
            scaler = scaler_of(document)
            found[scaler.target].append(scaler)
    return dict(found)


def scaler_of(document: Document) -> Scaler:
    """An autoscaler as one reads it: the HorizontalPodAutoscaler, or KEDA's ScaledObject with its own words."""
    spec = mapping(document.manifest, "spec")
    keda = "minReplicaCount" in spec or "maxReplicaCount" in spec or "triggers" in spec
    words = ("minReplicaCount", "maxReplicaCount") if keda else ("minReplicas", "maxReplicas")
    target = mapping(spec, "scaleTargetRef")
    version = text(target, "apiVersion") or (APPS if keda else "")
    least, most = whole(spec, words[0]), whole(spec, words[1])
    # Defaults: 1 and no maximum under a HorizontalPodAutoscaler, 0 and 100 under KEDA.
    least = (0 if keda else 1) if least is None else least
    return Scaler(
        document=document,
        target=Key(
            group_of(version),
            text(target, "kind") or ("Deployment" if keda else ""),
            document.key.namespace,
            text(target, "name"),
        ),
        least=least,
        most=max(least, (100 if keda else 0) if most is None else most),
        at_most=("spec", words[1]),
    )


def scaler_for(documents: Documents, group: GroupView) -> Scaler | None:
    """The autoscaler of a set; the first where there are several."""
    found = scalers(documents).get(group.target)
    return found[0] if found else None


def most_groups(documents: Documents, group: GroupView) -> int:
    """Groups that may be wanted: the replicas written (1 where not), or the autoscaler's maximum."""
    scaler = scaler_for(documents, group)
    if scaler is not None:
        return min(_LIMIT, scaler.most)
    return 1 if group.replicas is None else min(_LIMIT, max(0, group.replicas))


def base_groups(documents: Documents, group: GroupView) -> int:
    """Groups that are wanted in any case: the replicas written (1 where not), or the autoscaler's minimum."""
    scaler = scaler_for(documents, group)
    if scaler is not None:
        return min(_LIMIT, scaler.least)
    return 1 if group.replicas is None else min(_LIMIT, max(0, group.replicas))


def amount(value: Node | None, of: int, *, up: bool) -> int | None:
    """A number of pods or groups, written as a number or as a share of `of`; `None` for what is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if is_percent(value) and isinstance(value, str) and re.fullmatch("[0-9]{1,9}%", value):
        share = Fraction(int(value[:-1]) * of, 100)
        return ceil(share) if up else floor(share)
    return None


def rollout(group: GroupView, replicas: int) -> tuple[int, int]:
    """Surge and unavailable groups of a rollout, defaults filled in (`lws §2a`, `§3`)."""
    default = (0, 1) if is_set(group) else (DEFAULT_SHARE, DEFAULT_SHARE)
    surge = amount(default[0] if group.surge is None else group.surge, replicas, up=True)
    gone = amount(
        default[1] if group.unavailable is None else group.unavailable, replicas, up=False
    )
    return min(_LIMIT, max(0, surge or 0)), min(_LIMIT, max(0, gone or 0))


def peak(group: GroupView, replicas: int) -> int:
    """Groups that exist at the height of a rollout (`lws §3`)."""
    surge, gone = rollout(group, replicas)
    form = form_of(group.kind)
    return form.peak(replicas, surge=surge, unavailable=gone) if form is not None else replicas


def is_percent(value: Node | None) -> bool:
    """Whether a number is written as a share."""
    return isinstance(value, str) and value.endswith("%")


def annotation(group: GroupView, key: str) -> str:
    """An annotation of the set's own metadata."""
    return text(group.document.manifest, *group.own, "annotations", key)


def owned(document: Document) -> bool:
    """Whether a controller made the object: what a dump of a cluster holds beside what people wrote."""
    return bool(sequence(document.manifest, "metadata", "ownerReferences"))


def places(pods: Sequence[PodView]) -> list[Document]:
    """The documents that pods come from, once each."""
    return list({id(pod.document): pod.document for pod in pods}.values())


def groups_behind(documents: Documents, pods: Sequence[PodView]) -> list[GroupView]:
    """The sets of groups that pods belong to, in the order of the pods."""
    chosen = {(id(pod.document), pod.path, pod.role) for pod in pods}
    keys = {pod.document.key: None for pod in pods}
    return [
        group
        for key in keys
        for group in documents.groups_of(key)
        if any((id(pod.document), pod.path, pod.role) in chosen for pod in group.pods)
    ]


def over_groups(check: Callable[[GroupView, Documents, Context], Iterator[Fault]]) -> Check:
    """A check of a document out of one of a set of groups: run for each set of the document."""

    def each(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
        every = groups_of(documents, subject)
        return chain.from_iterable([check(group, documents, context) for group in every])

    update_wrapper(each, check)
    return each


def over_templates(check: Callable[[PodView, Documents, Context], Iterator[Fault]]) -> Check:
    """A check of a document out of one of a pod template: run for each template, shared ones once."""

    def each(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
        every = _templates(documents).get(id(subject), ())
        return chain.from_iterable([check(pod, documents, context) for pod in every])

    update_wrapper(each, check)
    return each
