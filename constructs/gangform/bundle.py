"""A plan as ordered, complete documents: built, patched by the user, completed as the server would, and judged.

The order is fixed: builders, the backend's objects, the user's patches, server defaults and canonical quantities,
waves, rules. So rules judge what will be applied, patches included.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from gangform.admission.admission import backend
from gangform.apis import argocd, core
from gangform.apis.pods import needs
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Document, Key, Manifest, key_of, mapping, text
from gangform.documents.emit import EmitError, emit
from gangform.findings import (
    DocumentPath,
    Finding,
    InputError,
    InputPath,
    Path,
    Severity,
    declare,
    ordered,
    show_path,
)
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import FOUNDATION, Patch
from gangform.manifests import (
    access,
    apps,
    autoscaling,
    disruption,
    leaderworkerset,
    monitoring,
    traffic,
)
from gangform.origin import extension_of, said_by_plan
from gangform.plan.cluster import ClusterPlan
from gangform.plan.identity import OWNER
from gangform.plan.serving import ServingPlan, WorkloadPlan
from gangform.rules.rule import Context, judge

PATCH_MISSES = declare(
    "patch-hits-nothing",
    "A patch names an object that the bundle does not have",
    Severity.BREAKS,
    "design §3 patches",
)
PATCH_FAILS = declare(
    "patch-does-not-fit",
    "A patch does not fit the object it is for",
    Severity.BREAKS,
    "design §3 patches; RFC 6902",
)
PATCH_OWNED = declare(
    "patch-over-plan",
    "A patch changes a value that other objects or the engine's flags depend on",
    Severity.BREAKS,
    "design §3 patches",
)
UNWRITABLE = declare(
    "value-not-writable",
    "A value that no manifest can hold so that every reader gets it back",
    Severity.BREAKS,
    "design §3: numbers beyond 2^53 are rounded by what reads JSON",
)

Builder = Callable[[ServingPlan], Iterable[Manifest]]
WorkloadBuilder = Callable[[ServingPlan, WorkloadPlan], Iterable[Manifest]]

AROUND: tuple[Builder, ...] = (
    access.accounts,
    traffic.services,
    disruption.budgets,
    access.policies,
    monitoring.monitors,
    monitoring.rules,
)
"""Builders of what surrounds the workloads."""

WORKLOADS: Mapping[str, WorkloadBuilder] = {
    "LeaderWorkerSet": leaderworkerset.sets,
    "Deployment": apps.deployments,
}
"""The builder of each form, by kind."""


class Bundle(NamedTuple):
    """The documents of one chart, in order."""

    name: str
    """The file is `<name>.k8s.yaml`."""
    plan: ServingPlan | ClusterPlan
    documents: tuple[Document, ...]
    patched: Mapping[Key, Mapping[Path, int]] = MappingProxyType({})
    """Paths that the user's patches changed: object → path → which patch."""

    def to_yaml(self) -> bytes:
        """The bytes of the file, equal to those of cdk8s.

        Raises:
            InputError: A value that no reader gets back as it was meant: a number beyond JavaScript's.
        """
        try:
            return emit(self.documents)
        except EmitError as error:
            raise InputError([self._unwritable(error)]) from None

    def _unwritable(self, error: EmitError) -> Finding:
        key = self.documents[error.document].key
        place = DocumentPath(key.kind, key.namespace, key.name, error.path)
        here = f"serving {self.name}" if isinstance(self.plan, ServingPlan) else "the cluster"
        fix = f"correct the value in the inputs of {here} that it comes from"
        found = Finding(code=UNWRITABLE, at=place, what=f"{key}: {error.what}", fix=fix)
        return _at_input(found, {key[1:]: (key, self)}) or found


def bundle(plan: ServingPlan) -> Bundle:
    """The documents of one serving.

    Raises:
        InputError: With what breaks in the plan, before anything is built; else with the patches that do not fit.
    """
    broken = [finding for finding in plan.findings if finding.breaks]
    if broken:
        raise InputError(broken)
    documents, patched = with_patches(plan, list(built(plan)))
    done = sorted((finish(each, plan.gitops) for each in documents), key=lambda each: each.wave)
    return Bundle(name=plan.name, plan=plan, documents=tuple(done), patched=patched)


def foundation(plan: ClusterPlan) -> Bundle:
    """The cluster's own objects for the sum of its servings; empty where others own all of them."""
    made = [
        (f"admission.{name}.foundation", one)
        for name, demands in plan.backends
        for one in backend(name).foundation(demands, plan.cluster, defaults=plan.defaults)
    ]
    made += [(_dotted(monitoring.cluster_rules), one) for one in monitoring.cluster_rules(plan)]
    at, gitops = ("clusters", plan.cluster.name), plan.cluster.gitops
    owned = (_document(_owned(one, {}), builder=builder, origin=at) for builder, one in made)
    marked = (finish(each, gitops) for each in owned)
    done = sorted(marked, key=lambda each: each.wave)
    return Bundle(name=FOUNDATION, plan=plan, documents=tuple(done))


def built(plan: ServingPlan) -> Iterator[Document]:
    """The documents as the builders make them: not patched, not completed, not in order."""
    for builder in AROUND:
        for manifest in builder(plan):
            yield _document(manifest, builder=_dotted(builder), origin=plan.at)
    for workload in plan.workloads:
        role = workload.role
        for manifest in role.stamp.objects:
            yield _document(
                _owned(manifest, role.identity.object_labels),
                builder=f"admission.{plan.serving.admission.backend}.stamp",
                origin=plan.at,
            )
        build = WORKLOADS[workload.form.kind]
        for manifest in build(plan, workload):
            yield _document(manifest, builder=_dotted(build), origin=plan.at, stage=workload.stage)
    for manifest in autoscaling.autoscalers(plan):
        yield _document(manifest, builder=_dotted(autoscaling.autoscalers), origin=plan.at)


def _dotted(builder: Callable[..., object]) -> str:
    return f"{builder.__module__.removeprefix('gangform.')}.{builder.__name__}"


def _document(manifest: Manifest, *, builder: str, origin: Path, stage: int = 0) -> Document:
    kind = str(manifest["kind"])
    return Document(
        manifest=manifest, builder=builder, origin=origin, wave=argocd.wave(kind) + stage
    )


def _owned(manifest: Manifest, labels: Mapping[str, str]) -> Manifest:
    """An object that a backend made, with the label that makes it ours."""
    metadata = mapping(manifest, "metadata")
    own = {**mapping(metadata, "labels"), **labels, core.MANAGED_BY: OWNER}
    return {**manifest, "metadata": {**metadata, "labels": dict(sorted(own.items()))}}


def finish(document: Document, gitops: str) -> Document:
    """A document with the marks of GitOps, as the API server will store it."""
    manifest = document.manifest
    if gitops == "argocd":
        metadata = mapping(manifest, "metadata")
        own = {
            **argocd.marks(document.kind, document.wave),
            **mapping(metadata, "annotations"),
        }
        manifest = {**manifest, "metadata": {**metadata, "annotations": own}}
    return replace(document, manifest=core.complete(manifest))


def with_patches(
    plan: ServingPlan, documents: Sequence[Document]
) -> tuple[list[Document], dict[Key, dict[Path, int]]]:
    """The user's patches in order.

    Raises:
        InputError: With every patch that hits nothing, does not fit or changes what the plan owns.
    """
    result = list(documents)
    changed: dict[Key, dict[Path, int]] = {}
    if not plan.serving.patches:
        return result, changed
    from gangform.documents.patch import PatchError, touched
    from gangform.manifests.ownership import owned_changes

    found: list[Finding] = []
    for index, patch in enumerate(plan.serving.patches):
        at = InputPath((*plan.at, "patches", index))
        hits = [position for position, document in enumerate(result) if _meant(patch, document)]
        if not hits:
            found.append(_missed(patch, documents, at))
        for position in hits:
            document = result[position]
            try:
                after = _apply(patch, document.manifest)
            except PatchError as error:
                found.append(
                    Finding(
                        code=PATCH_FAILS,
                        at=at,
                        what=f"{document.key}: {error}",
                        fix="look at the object in the output of `gangform synth --stdout` and correct the path",
                    )
                )
                continue
            for path, name in owned_changes(plan, document.manifest, after):
                found.append(_over_plan(document, path, name, at))
            for path in touched(document.manifest, after):
                changed.setdefault(document.key, {})[path] = index
            result[position] = replace(document, manifest=after)
    if found:
        raise InputError(found)
    return result, changed


def _meant(patch: Patch, document: Document) -> bool:
    return document.kind == patch.kind and patch.name in (None, document.key.name)


def _apply(patch: Patch, manifest: Manifest) -> Manifest:
    from gangform.documents.patch import apply_json, merge

    if patch.merge is None:
        return apply_json(manifest, patch.operations or ())
    return merge(manifest, patch.merge)


def _missed(patch: Patch, documents: Sequence[Document], at: InputPath) -> Finding:
    kinds = sorted({document.kind for document in documents})
    names = [document.key.name for document in documents if document.kind == patch.kind]
    wanted = patch.kind if patch.name is None else f"{patch.kind}/{patch.name}"
    choices = [f"{patch.kind}/{name}" for name in names] or kinds
    from difflib import get_close_matches

    near = get_close_matches(wanted, choices, 1)
    return Finding(
        code=PATCH_MISSES,
        at=at,
        what=f"the bundle has no {wanted}",
        fix=f"did you mean {near[0]}?" if near else f"use one of {', '.join(choices)}",
    )


def _over_plan(document: Document, path: Path, name: str, at: InputPath) -> Finding:
    return Finding(
        code=PATCH_OWNED,
        at=at,
        what=f"{document.key} {show_path(path)} follows from the inputs",
        fix=f"change `{name}` of the serving instead",
        seen={"input": name},
    )


_Owners = Mapping[tuple[str, str, str] | None, tuple[Key, Bundle]]
"""By kind, namespace and name, which is what a finding knows of an object: its key, and whose it is."""


def judge_bundles(
    bundles: Sequence[Bundle],
    cluster: Cluster,
    *,
    complete: bool = True,
    beside: Sequence[Document] = (),
    forks: bool = False,
) -> tuple[Finding, ...]:
    """What the rules say about the documents of one cluster, translated to inputs where the user wrote them.

    Args:
        bundles: What is judged.
        cluster: Where it runs.
        complete: Whether nothing else runs there, and nobody changed the documents since they were made.
        beside: Documents of others. What is wrong with these alone is not said.
        forks: Whether other processes may judge a part of many documents.
    """
    documents = Documents([*(one for each in bundles for one in each.documents), *beside])
    provider = cluster.lws_scheduler_provider
    context = Context(
        versions=cluster.versions.releases,
        exists=frozenset(_beside(bundles, cluster)),
        complete=complete,
        provider=None if provider == "unknown" else provider,
        state_metrics=cluster.monitoring.state_metrics == "configured",
    )
    owners: _Owners = {one.key[1:]: (one.key, each) for each in bundles for one in each.documents}
    alone = {one.sort_key() for one in judge(Documents(beside), context)} if beside else set()
    strange = {each.key[1:] for each in beside if not _touches(each, documents, owners)}
    found = [
        one
        for one in judge(documents, context, forks=forks)
        if one.sort_key() not in alone and _object(one) not in strange and not _said(one, owners)
    ]
    if not complete:
        return ordered(_at_input(one, owners) or one for one in found)
    return ordered(_translate(one, owners) for one in found)


def _touches(foreign: Document, documents: Documents, own: _Owners) -> bool:
    """Whether an object of others is about pods or objects of ours."""
    spec, space = mapping(foreign.manifest, "spec"), foreign.key.namespace
    chosen = mapping(spec, "selector", "matchLabels") or mapping(spec, "selector")
    wanted = {key: value for key, value in chosen.items() if isinstance(value, str)}
    if wanted and any(pod.document.key[1:] in own for pod in documents.pods(space, wanted)):
        return True
    kind, name = text(spec, "scaleTargetRef", "kind"), text(spec, "scaleTargetRef", "name")
    return foreign.key[1:] in own or (kind, space, name) in own


def _object(finding: Finding) -> tuple[str, str, str] | None:
    """Whose field it is at; `None` for what is in the inputs."""
    at = finding.at
    return (at.kind, at.namespace, at.name) if isinstance(at, DocumentPath) else None


def _beside(bundles: Sequence[Bundle], cluster: Cluster) -> Iterator[Key]:
    """What the plan's prerequisites promise."""
    for each in bundles:
        if isinstance(each.plan, ServingPlan):
            yield from each.plan.beside
            yield from _patched_in(each)
        else:
            # What others own here is what we would make where we own all.
            for name, demands in each.plan.backends:
                classes = {one.priority_class: 0 for one in demands if one.priority_class}
                own = {"foundation": "all", "priorities": {**classes, **cluster.priorities}}
                whole = cluster.model_copy(update=own)
                made = backend(name).foundation(demands, whole, defaults=each.plan.defaults)
                yield from map(key_of, made)


def _patched_in(each: Bundle) -> Iterator[Key]:
    """What pods name since a patch: the user knows whether it is there."""
    for document in each.documents:
        form = form_of(document.kind)
        if document.key in each.patched and form is not None:
            for group in form.read(document):
                for pod in group.pods:
                    for _, kind, name in needs(pod.spec):
                        yield Key("", kind, document.key.namespace, name)


def _said(finding: Finding, owners: _Owners) -> bool:
    """Whether the plan of the serving whose object it is has said the same already."""
    known = owners.get(_object(finding))
    return known is not None and said_by_plan(finding.code, known[1].plan)


def _translate(finding: Finding, owners: _Owners) -> Finding:
    """A finding at the patch or pod field that caused it; else, where it breaks, a fault of ours."""
    if (found := _at_input(finding, owners)) is not None:
        return found
    if finding.breaks and isinstance(finding.at, DocumentPath):
        return finding._replace(
            fix=f"{finding.fix}; nothing in the inputs says so: a fault in gangform"
        )
    return finding


def _at_input(finding: Finding, owners: _Owners) -> Finding | None:
    """The finding at the patch or pod field that caused it; `None` where neither did."""
    at = finding.at
    if not isinstance(at, DocumentPath):
        return finding
    known = owners.get(_object(finding))
    if known is None or not isinstance(plan := known[1].plan, ServingPlan):
        return None
    for path, index in known[1].patched.get(known[0], {}).items():
        if path[: len(at.path)] == at.path or at.path[: len(path)] == path:
            return finding._replace(at=InputPath((*plan.at, "patches", index)))
    place = extension_of(plan, at.path)
    return finding._replace(at=InputPath(place)) if place else None
