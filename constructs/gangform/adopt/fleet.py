"""From a stream of objects to the text of a fleet file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gangform.admission.admission import backend, recognised
from gangform.adopt import around, launch
from gangform.adopt.derived import Difference, Made, differences, made_of, needed
from gangform.adopt.hardware import Nodes, nodes
from gangform.adopt.pods import Mounts, apart, hidden, lost_downloads, pods, weights
from gangform.adopt.scaler import scaler
from gangform.adopt.subject import NOTHING, Subject, subjects
from gangform.adopt.text import Adopted, fleet_text
from gangform.apis import keda
from gangform.apis.keys import HOSTNAME, SYNC_WAVE
from gangform.documents.document import Manifest, mapping, sequence, text
from gangform.documents.secrets import without_secrets
from gangform.findings import DocumentPath, Finding, InputError, ordered
from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.defaults import editions
from gangform.inputs.load import load_text
from gangform.inputs.spelling import entry, label
from gangform.inputs.starter import BACKENDS, KUBERNETES, LWS
from gangform.synth import plan_fleet, synthesise

_ORDER = (
    "name", "namespace", "model", "pool", "engine", "parallelism", "groups", "autoscaling", "context", "admission",
    "servedModelName", "topology", "restartPolicy", "startupPolicy", "rollout", "disruption", "workload", "weights",
    "pods",
)  # fmt: skip
"""Fields of a serving, as they are written."""


class Wishes(NamedTuple):
    """What the user says beside the stream."""

    cluster: str = "prod"
    """Name of the cluster."""
    described: Cluster | None = None
    """The cluster, where it is described already."""
    model: str | None = None
    hardware: str | None = None
    """A shape, or a pool of the described cluster."""
    name: str | None = None
    """Only the set of this name."""


def adopt(manifests: Sequence[Manifest], wishes: Wishes, library: Library) -> str:
    """The text of a fleet file that describes the sets of groups of a stream.

    Raises:
        InputError: Nothing to adopt, or something that has to be known first.
    """
    sets = subjects([without_secrets(one) for one in manifests])
    found = [one for one in sets if wishes.name is None or one.group.name == wishes.name]
    if not found:
        raise InputError([_no_such(wishes.name or "")])
    placed = [nodes(one, library, cluster=wishes.described, asked=wishes.hardware) for one in found]
    written = {} if wishes.described else _cluster(found, placed, wishes)
    head = _head(written, wishes)
    cluster = wishes.described or Cluster.model_validate(written, by_alias=True, by_name=False)
    adopted = [
        _adopted(one, where, cluster, library, wishes)
        for one, where in _joined(found, placed, cluster)
    ]
    alone = _head(written, wishes, alone=True)
    findings = _findings(fleet_text(alone, adopted), library)
    beside = list(around.others(found, frozenset[str]().union(*(one.known for one in adopted))))
    return fleet_text(head, adopted, beside, findings)


def _joined(
    found: Sequence[Subject], placed: Sequence[Nodes], cluster: Cluster
) -> Iterator[tuple[Subject, Nodes]]:
    """Sets with their nodes; those of one group each that a backend wants apart are one serving of so many groups."""
    first: dict[tuple[str, str], tuple[Subject, Nodes]] = {}
    for subject, where in zip(found, placed, strict=True):
        base, _, index = subject.group.name.rpartition("-")
        name, _ = recognised(subject.group)
        apart = backend(name).policy(cluster).one_workload_per_group and index.isdecimal()
        key = (subject.group.namespace, base if apart and base else subject.group.name)
        if key in first:
            others = first[key][0]
            count = (others.group.replicas or 1) + (subject.group.replicas or 1)
            first[key] = (others._replace(group=others.group._replace(replicas=count)), where)
        else:
            named = subject._replace(called=key[1])
            first[key] = (named, where)
    yield from first.values()


def _adopted(
    subject: Subject, where: Nodes, cluster: Cluster, library: Library, wishes: Wishes
) -> Adopted:
    chosen = launch.model(subject, library, wishes.model)
    pool = where.pool or label(where.shape.name)
    fields, unread = launch.launch(subject, chosen, library)
    counted, more, used = around.groups(subject)
    mounts = Mounts(subject)
    source, from_volumes = weights(subject, mounts)
    lost = []
    if source.get("source", "hub") == "hub" and (lost := [*lost_downloads(subject, mounts)]):
        source = {"source": "hub", **source}
    asked = pods(subject, mounts)
    unread += [*hidden(subject), *apart(subject)]
    policies, from_set = around.policies(subject.group)
    admitted, from_admission = around.admission(subject, cluster.pools[pool].levels)
    budgets, of_budgets = around.disruption(subject)
    unread += [*more, *from_volumes, *from_set, *from_admission]
    bare: dict[str, Any] = {
        "name": launch.serving_name(subject),
        "namespace": subject.group.namespace or "default",
        "model": chosen.name,
        "pool": pool,
        **fields,
        **counted,
        **admitted,
        **budgets,
    }
    if source:
        bare["weights"] = source
    if subject.group.size == 1 and subject.group.own and "restartPolicy" in policies:
        bare["workload"] = subject.group.kind
    reference = subject.translation.model if subject.translation else ""
    serving, left, ours = _said(bare, policies, asked, subject, cluster, library, reference)
    return Adopted(
        title=str(subject.group.document.key),
        serving={key: serving[key] for key in _ORDER if key in serving},
        remarks=tuple(_remarks(chosen, subject, ours, library)),
        warned=tuple(("weights", one) for one in lost),
        unread=tuple(unread),
        differences=left,
        known=frozenset(used | of_budgets | {str(key) for key in (ours.documents if ours else ())}),
    )


def _said(
    bare: Mapping[str, Any],
    policies: Mapping[str, Any],
    asked: Mapping[str, Any],
    subject: Subject,
    cluster: Cluster,
    library: Library,
    reference: str,
) -> tuple[dict[str, Any], tuple[Difference, ...], Made | None]:
    """The serving without what gangform writes by itself, where its set still differs, and all it makes."""

    def made(serving: Mapping[str, Any]) -> Made | None:
        return made_of(serving, cluster, library, str(bare["model"]), reference)

    engine = {**bare["engine"]}
    args = engine.pop("args", [])
    ours = made({**bare, "engine": engine})
    image = text(subject.container, "image")
    if ours is None:
        engine |= {"image": image, "args": args}
        return {**bare, **policies, "engine": engine, "pods": dict(asked)}, (), None
    container = mapping(sequence(ours.group.leader.spec, "containers")[0])
    own = [*sequence(container, "args")]
    for option in [key for key in engine if key not in ("name", "version")]:
        less = made({**bare, "engine": {key: one for key, one in engine.items() if key != option}})
        if less is not None and less.workload.manifest == ours.workload.manifest:
            del engine[option]
    if image and image != text(container, "image"):
        engine["image"] = image
    if more := [word for word in args if word not in own]:
        engine["args"] = more
    derived, _ = around.policies(ours.group)
    said: dict[str, Any] = {**bare, "engine": engine}
    said |= {k: one for k, one in policies.items() if k != "rollout" and derived.get(k) != one}
    rolling = derived.get("rollout", {})
    rollout = {k: v for k, v in policies.get("rollout", {}).items() if rolling.get(k) != v}
    if {"maxSurge", "maxUnavailable"} & rollout.keys():
        # One derived from the other would change with it.
        rollout = dict(policies["rollout"])
    if rollout:
        said["rollout"] = rollout
    if extra := needed(asked, ours.workload, ours.group.leader.path):
        said["pods"] = extra
    whole = made(said) or ours
    return said, tuple(differences(subject, whole)), whole


def _cluster(found: Sequence[Subject], placed: Sequence[Nodes], wishes: Wishes) -> dict[str, Any]:
    """A cluster with what the sets need of it."""
    versions = {"kubernetes": KUBERNETES, "lws": LWS}
    provider, adapter, prometheus = "", "", ""
    pools: dict[str, dict[str, Any]] = {}
    for subject, where in zip(found, placed, strict=True):
        name, admitted = recognised(subject.group)
        known = BACKENDS.get(name)
        versions |= dict(known.versions) if known else {}
        provider = provider or (known.provider if known else "")
        if (scaled := scaler(subject)) is not None:
            # What one cluster has one of: what brings the most.
            adapter = max(adapter, scaled.adapter, key=_ADAPTERS.index)
            prometheus = prometheus or scaled.prometheus
        pool = pools.setdefault(label(where.shape.name), {"hardware": where.shape.name})
        if admitted.placement is not None:
            levels = [*pool.get("levels", [HOSTNAME])[:-1], admitted.placement.level]
            pool["levels"] = [*dict.fromkeys(levels), HOSTNAME]
    made: dict[str, Any] = {"name": wishes.cluster, "versions": versions, "foundation": "existing"}
    if provider:
        made["lwsSchedulerProvider"] = provider
    if adapter:
        made["metricsAdapter"] = adapter
    if adapter == "keda":
        versions["keda"] = str(keda.OLDEST)
    pages = next(filter(None, map(_pages, found)), "")
    watch = {"prometheus": prometheus if adapter == "keda" else "", "runbookBase": pages}
    if any(watch.values()):
        made["monitoring"] = {key: value for key, value in watch.items() if value}
    if any(text(one.own, "annotations", SYNC_WAVE) for one in found):
        made["gitops"] = "argocd"
    return {**made, "pools": pools}


def _pages(subject: Subject) -> str:
    """Where the pages of its alerts are published, where they lie as ours do; else empty."""
    for document in subject.beside:
        for group in sequence(document.manifest, "spec", "groups"):
            for rule in sequence(group, "rules"):
                url = text(rule, "annotations", "runbook_url")
                page = f"/{subject.group.name}/{text(rule, 'alert')}.md"
                if url.endswith(page):
                    return url.removesuffix(page)
    return ""


_ADAPTERS = ("", "external", "prometheus-adapter", "keda")
_WORDS = {
    "versions": "put in what the cluster runs",
    "foundation": "queues and flavors stay others'; `all` where gangform shall make them",
    "pools": "add `nodes: N`, or import them: `gangform cluster import`",
}


def _head(written: Mapping[str, Any], wishes: Wishes, *, alone: bool = False) -> list[str]:
    """The lines before the servings. `alone`: with the cluster in them, even if it is described elsewhere."""
    lines = [
        "# Adopted from what runs. Next: `gangform validate`, then `gangform diff --live`.",
        "version: 1",
        f"defaults: {editions()[-1]}",
    ]
    if wishes.described is not None and not alone:
        return [*lines, f"cluster: {wishes.cluster}"]
    value = written
    if wishes.described is not None:
        value = wishes.described.model_dump(mode="json", by_alias=True, exclude_unset=True)
    lines.append("cluster:")
    for key, one in value.items():
        inner = list(entry(key, one, "  "))
        if key in _WORDS and not alone:
            inner[0] += f" # {_WORDS[key]}"
        lines += inner
    return lines


def _findings(text: str, library: Library) -> tuple[Finding, ...]:
    """What `validate` says of a file."""
    try:
        loaded = load_text(text, shelves=library)
        try:
            return synthesise(loaded.fleet, loaded.library).findings
        except InputError as error:
            plans = plan_fleet(loaded.fleet, loaded.library)
            said = [finding for plan in plans for finding in plan.every_finding]
            return ordered([*error.findings, *said])
    except InputError as error:
        return error.findings


def _remarks(
    chosen: launch.Model, subject: Subject, ours: Made | None, library: Library
) -> Iterator[str]:
    if ours is not None and ours.group.size != subject.group.size:
        yield (
            f"size {subject.group.size} becomes {ours.group.size}, since pods take whole nodes here: a shape with as "
            "many GPUs as the set's pods have keeps it"
        )
    loaded = subject.translation.model if subject.translation else ""
    by_hub = "/" in loaded and loaded[0] not in "/." and "$" not in loaded
    if chosen.known and by_hub:
        repository = library.models[chosen.name].repository
        if repository.lower() != loaded.lower():
            yield f"model {chosen.name} loads {repository}; the set loads {loaded}"
    if not chosen.known:
        near = (
            "it may be "
            + " or ".join(
                f"{one}, which loads {library.models[one].repository}" for one in chosen.near
            )
            if chosen.near
            else "`gangform profiles` lists all"
        )
        yield f"no profile is called {chosen.name}: {near}; or write profiles/models/{chosen.name}.yaml"


def _no_such(name: str) -> Finding:
    return Finding(
        code=NOTHING,
        at=DocumentPath("", "", "", ()),
        what=f"no set is called {name}",
        fix="name one that is given, or leave `--name` out to adopt all",
    )
