"""What stands in a manifest and nobody reads, or what takes the scheduler's work away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import disaggregatedset as roles
from gangform.apis import kueue, volcano
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_of, is_set, over_groups, over_templates, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

IGNORED = declare(
    "field-ignored",
    "A field that the controller writes itself or leaves out: what stands there has no effect",
    Severity.STYLE,
    "lws §1, §6; observability §4.4; Kubernetes: pods of a template get names of their own",
)
AS_LABEL = declare(
    "annotation-as-label",
    "A label by a key that is read among annotations alone: nothing comes of it",
    Severity.DEGRADES,
    "lws §1, §2d; kueue §3; volcano §1.3, §5",
)
NODE_NAME = declare(
    "pod-bound-to-node",
    "A template with a nodeName puts every pod on one node, past the scheduler and its gates",
    Severity.DEGRADES,
    "Kubernetes: nodeName; refused beside scheduling gates",
)

_OWN_IN_TEMPLATE: Final = {
    "name": "pods are called after their set",
    "generateName": "pods are called after their set",
    "namespace": "pods live in the namespace of their set",
    "ownerReferences": "the controller owns the pods",
    "uid": "the server gives it",
    "resourceVersion": "the server gives it",
    "creationTimestamp": "the server gives it",
}
_OWN_IN_ROLE: Final = ("name", "generateName", "namespace")
_OF_ROLE: Final = (roles.APP, roles.NAME, roles.ROLE, roles.SLICE, roles.REVISION)
_ANNOTATIONS_OF_SETS: Final = (
    lws.EXCLUSIVE_TOPOLOGY,
    lws.SUBGROUP_EXCLUSIVE_TOPOLOGY,
    volcano.QUEUE_NAME,
)
_ANNOTATIONS_OF_PODS: Final = (
    kueue.REQUIRED_TOPOLOGY,
    kueue.PREFERRED_TOPOLOGY,
    kueue.UNCONSTRAINED_TOPOLOGY,
    kueue.SLICE_REQUIRED_TOPOLOGY,
    kueue.SLICE_SIZE,
    kueue.PODSET_GROUP,
    volcano.GROUP_NAME,
    volcano.QUEUE_NAME,
)
_OF_STATEFUL_SET: Final = ("hostname", "subdomain")


@rule(IGNORED, kinds=WORKLOADS)
def field_ignored(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Templates and roles say only what their controller reads."""
    found: list[tuple[Path, str]] = []
    for group in groups_of(documents, subject):
        if group.role:
            own = mapping(subject.manifest, *group.own)
            why = "the sets of a role are called after its slice and revision"
            found += [((*group.own, key), why) for key in _OWN_IN_ROLE if own.get(key)]
        for pod in templates(group):
            metadata = mapping(subject.manifest, *pod.path, "metadata")
            for key, why in _OWN_IN_TEMPLATE.items():
                if metadata.get(key):
                    found.append(((*pod.path, "metadata", key), why))
            for key in _OF_ROLE if group.role else ():
                if key in mapping(metadata, "labels"):
                    why = "the controller writes its own over it"
                    found.append(((*pod.path, "metadata", "labels", key), why))
            for key in _OF_STATEFUL_SET if is_set(group) else ():
                if text(pod.spec, key):
                    why = "the controller writes it, for the addresses of the group"
                    found.append(((*pod.path, "spec", key), why))
    if mapping(subject.manifest, "status") and not text(subject.manifest, "metadata", "uid"):
        found.append((("status",), "it belongs to the controller"))
    for path, why in found:
        yield Fault(path=path, what=f"{path[-1]} has no effect here: {why}", fix="remove it")


@rule(AS_LABEL, kinds=WORKLOADS)
@over_groups
def annotation_as_label(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Wishes for placement and gangs are annotations."""
    places: list[tuple[Path, tuple[str, ...]]] = [
        ((*pod.path, "metadata"), _ANNOTATIONS_OF_PODS) for pod in templates(group)
    ]
    if is_set(group):
        places.insert(0, (group.own, _ANNOTATIONS_OF_SETS))
    for place, keys in places:
        metadata = mapping(group.document.manifest, *place)
        for key in keys:
            if key in mapping(metadata, "labels") and key not in mapping(metadata, "annotations"):
                yield Fault(
                    path=(*place, "labels", key),
                    what=f"{key} is read among annotations, and stands among labels",
                    fix="move it to annotations",
                )


@rule(NODE_NAME, kinds=WORKLOADS)
@over_templates
def pod_bound_to_node(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The scheduler chooses the nodes."""
    if name := text(pod.spec, "nodeName"):
        selected = dig(pod.spec, "nodeSelector") is not None
        yield Fault(
            path=(*pod.path, "spec", "nodeName"),
            what=f"nodeName {name} puts every pod of this template on one node",
            fix="remove it" + ("" if selected else ", and select nodes by label with nodeSelector"),
        )
