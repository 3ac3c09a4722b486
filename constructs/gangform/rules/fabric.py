"""Groups that share memory over NVLink across nodes: each has a ComputeDomain of its size, and all its pods join it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import COMPUTE_DOMAIN_GROUP
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, sequence, text, whole
from gangform.findings import Path, Severity, counted, declare
from gangform.rules.joins import (
    base_groups,
    most_groups,
    over_groups,
    over_templates,
    own_workers,
    runs,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

SIZE = declare(
    "compute-domain-size",
    "A ComputeDomain waits for another number of nodes than the pods that join it have",
    Severity.BREAKS,
    "volcano §9",
)
SHARED = declare(
    "compute-domain-shared",
    "Several groups of a set share one ComputeDomain: a failing one takes the memory of healthy ones along",
    Severity.DEGRADES,
    "volcano §9",
)
ACROSS = declare(
    "compute-domain-across-sets",
    "Several sets share one ComputeDomain: memory reaches between them, and so do failures",
    Severity.STYLE,
    "volcano §9",
)
HALF = declare(
    "compute-domain-half-joined",
    "Only leaders or only workers join the ComputeDomain of their group",
    Severity.DEGRADES,
    "volcano §9",
)
UNUSED = declare(
    "claim-unused",
    "A pod claims a device and none of its containers uses the claim: no container sees it",
    Severity.DEGRADES,
    "volcano §9; core/v1 ResourceClaim",
)
UNRESOLVED = declare(
    "claim-template-unresolved",
    "Pods name a claim template that no ComputeDomain of their namespace makes: they stay pending",
    Severity.BREAKS,
    "volcano §9",
)
TWICE = declare(
    "compute-domain-template-twice",
    "A ResourceClaimTemplate that the controller of a ComputeDomain makes stands in the manifests too",
    Severity.DEGRADES,
    "volcano §9",
)

_NAME: Final[Path] = ("spec", "channel", "resourceClaimTemplate", "name")
_UNCOUNTED: Final = 1
"""Up to here nobody counted: the driver's daemons find each other by name, and the number is for the status alone."""
_TEMPLATES: Final = "ResourceClaimTemplate"


class Claim(NamedTuple):
    """A claim of a pod template by the template that it is made from."""

    group: GroupView
    pod: PodView
    path: Path


@joined
def _claims(documents: Documents) -> dict[tuple[str, str], list[Claim]]:
    """By namespace and name of the claim template."""
    found: defaultdict[tuple[str, str], list[Claim]] = defaultdict(list)
    for group in documents.groups():
        for pod in templates(group):
            for index, claim in enumerate(sequence(pod.spec, "resourceClaims")):
                path: Path = (*pod.path, "spec", "resourceClaims", index)
                if name := text(claim, "resourceClaimTemplateName"):
                    found[group.namespace, name].append(Claim(group, pod, path))
    return dict(found)


@joined
def _domains(documents: Documents) -> dict[tuple[str, str], Document]:
    """ComputeDomains by namespace and the claim template that they make."""
    return {
        (document.key.namespace, text(document.manifest, *_NAME)): document
        for document in documents.of("ComputeDomain")
        if document.key.group == COMPUTE_DOMAIN_GROUP
    }


def _joining(domain: Document, documents: Documents) -> list[GroupView]:
    """The sets whose pods join a ComputeDomain, each once."""
    if domain.key.group != COMPUTE_DOMAIN_GROUP:
        return []
    claims = _claims(documents).get((domain.key.namespace, text(domain.manifest, *_NAME)), [])
    sets: dict[tuple[int, Path], GroupView] = {}
    for claim in claims:
        sets.setdefault((id(claim.group.document), claim.group.at), claim.group)
    return list(sets.values())


@rule(SIZE, kinds=("ComputeDomain",))
def compute_domain_size(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A ComputeDomain waits for the nodes of its group."""
    nodes = whole(subject.manifest, "spec", "numNodes")
    sets = _joining(subject, documents)
    if nodes is None or nodes <= _UNCOUNTED or not sets:
        return
    each = sum(group.size for group in sets)
    every = sum(group.size * most_groups(documents, group) * group.copies for group in sets)
    if nodes not in (each, every):
        whose = ", ".join(
            f"{group.title} has {counted(group.size, 'pod')} a group" for group in sets
        )
        yield Fault(
            path=("spec", "numNodes"),
            what=f"numNodes is {nodes}; {whose}",
            fix=f"write numNodes: {each}, or 0 where the driver counts the nodes itself",
            seen={"numNodes": str(nodes), "pods": str(each)},
        )


@rule(SHARED, kinds=("ComputeDomain",))
def compute_domain_shared(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A ComputeDomain is that of one group; pods that are a group each join one to reach each other."""
    sets = _joining(subject, documents)
    if len(sets) != 1 or sets[0].size == 1:
        return
    groups = base_groups(documents, sets[0]) * sets[0].copies
    if groups > 1:
        yield Fault(
            path=_NAME,
            what=f"{groups} groups of {sets[0].title} join it",
            fix="make one set of one group for each ComputeDomain",
            seen={"groups": str(groups)},
        )


@rule(ACROSS, kinds=("ComputeDomain",))
def compute_domain_across_sets(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A ComputeDomain is that of one set, unless caches are handed over by it."""
    sets = _joining(subject, documents)
    if len(sets) > 1:
        yield Fault(
            path=_NAME,
            what=f"{', '.join(group.title for group in sets)} join it",
            fix="make a ComputeDomain for each set, unless they read each other's memory",
        )


@rule(HALF, kinds=WORKLOADS)
@over_groups
def compute_domain_half_joined(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Leader and workers join the same ComputeDomain."""
    workers = own_workers(group)
    if workers is None:
        return
    sides = [(group.leader, "leader"), (workers, "workers")]
    names = [
        {
            name
            for claim in sequence(pod.spec, "resourceClaims")
            if (group.namespace, name := text(claim, "resourceClaimTemplateName"))
            in _domains(documents)
        }
        for pod, _ in sides
    ]
    for here, (pod, word) in enumerate(sides):
        for name in sorted(names[1 - here] - names[here]):
            yield Fault(
                path=(*pod.path, "spec", "resourceClaims"),
                what=f"the {sides[1 - here][1]} claim `{name}` and the {word} not",
                fix=f"write the claim of {name} into both templates, and use it in the engine's container",
            )


@rule(UNUSED, kinds=WORKLOADS)
@over_templates
def claim_unused(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A claim of the pod is used by a container."""
    used = {
        text(claim, "name")
        for run in runs(pod)
        for claim in sequence(run.container, "resources", "claims")
    }
    for index, claim in enumerate(sequence(pod.spec, "resourceClaims")):
        name = text(claim, "name")
        if name and name not in used:
            yield Fault(
                path=(*pod.path, "spec", "resourceClaims", index),
                what=f"no container uses the claim `{name}`",
                fix=f"write resources.claims: [{{name: {name}}}] into the container with the GPUs",
            )


@rule(UNRESOLVED, kinds=WORKLOADS)
@over_templates
def claim_template_unresolved(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The template of a claim is made by somebody, where the manifests make such templates at all."""
    space = pod.document.key.namespace
    made = {name for namespace, name in _domains(documents) if namespace == space}
    written = {each.key.name for each in documents.of(_TEMPLATES) if each.key.namespace == space}
    given = {key.name for key in context.exists if key.kind == _TEMPLATES}
    for index, claim in enumerate(sequence(pod.spec, "resourceClaims")):
        name = text(claim, "resourceClaimTemplateName")
        known = made | written | given
        if name and name not in known and (made or context.complete):
            yield Fault(
                path=(*pod.path, "spec", "resourceClaims", index, "resourceClaimTemplateName"),
                what=f"nothing makes a {_TEMPLATES} called `{name}`",
                fix=f"name {sorted(made)[0]}" if made else f"add a ComputeDomain that makes {name}",
            )


@rule(TWICE, kinds=(_TEMPLATES,))
def compute_domain_template_twice(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The claim template of a ComputeDomain is left to its controller."""
    domain = _domains(documents).get((subject.key.namespace, subject.key.name))
    owned = dig(subject.manifest, "metadata", "ownerReferences")
    if domain is not None and not owned:
        yield Fault(
            path=("metadata", "name"),
            what=f"ComputeDomain {domain.key.name} makes `{subject.key.name}` itself",
            fix="remove this object",
        )
