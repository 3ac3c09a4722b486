"""What stands in a manifest and nobody reads, or what takes the scheduler's work away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_of, is_set, over_templates, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

IGNORED = declare(
    "field-ignored",
    "A field that the controller writes itself or leaves out: what stands there has no effect",
    Severity.STYLE,
    "lws §1, §6; observability §4.4; Kubernetes: pods of a template get names of their own",
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
            for key in _OF_STATEFUL_SET if is_set(group) else ():
                if text(pod.spec, key):
                    why = "the controller writes it, for the addresses of the group"
                    found.append(((*pod.path, "spec", key), why))
    if mapping(subject.manifest, "status") and not text(subject.manifest, "metadata", "uid"):
        found.append((("status",), "it belongs to the controller"))
    for path, why in found:
        yield Fault(path=path, what=f"{path[-1]} has no effect here: {why}", fix="remove it")


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
