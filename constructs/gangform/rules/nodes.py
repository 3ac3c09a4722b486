"""Where pods may go: wishes of one pod, and of a set and its queue, that no node fulfils together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents
from gangform.documents.document import Node, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import cluster_queue, flavor_of
from gangform.rules.joins import (
    asked,
    labels_of,
    match_labels,
    over_groups,
    over_templates,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

AFFINITY = declare(
    "affinity-contradicts-selector",
    "A required node affinity and the nodeSelector of one pod want different values of a label",
    Severity.BREAKS,
    "Kubernetes: nodeSelector and nodeAffinity must both hold",
)
FLAVORS = declare(
    "selector-contradicts-flavors",
    "A nodeSelector contradicts the node labels of every flavor of the queue: no group is ever admitted",
    Severity.BREAKS,
    "kueue §1.3, §1.7",
)

SPREAD = declare(
    "spread-selector-misses-pods",
    "A spread constraint counts pods by labels that these pods do not carry: they are spread by nothing",
    Severity.DEGRADES,
    "peers §14; Kubernetes: topologySpreadConstraints",
)

_REQUIRED: Final[Path] = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def _excludes(expression: Node, selector: dict[str, str]) -> bool:
    """Whether an expression of a term rules out the value that the nodeSelector wants."""
    wanted = selector.get(text(expression, "key"))
    if wanted is None:
        return False
    values = sequence(expression, "values")
    match text(expression, "operator"):
        case "In":
            return bool(values) and wanted not in values
        case "NotIn":
            return wanted in values
        case "DoesNotExist":
            return True
        case _:
            return False


@rule(AFFINITY, kinds=WORKLOADS)
@over_templates
def affinity_contradicts_selector(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Some term of the affinity agrees with the nodeSelector."""
    selector = labels_of(dig(pod.spec, "nodeSelector"))
    terms = sequence(pod.spec, *_REQUIRED)
    wrong: list[tuple[int, str]] = []
    for index, term in enumerate(terms):
        for expression in sequence(term, "matchExpressions"):
            if _excludes(expression, selector):
                wrong.append((index, text(expression, "key")))
                break
    if terms and len(wrong) == len(terms):
        index, key = wrong[0]
        yield Fault(
            path=(*pod.path, "spec", *_REQUIRED, index),
            what=f"nodeSelector wants {key} {selector[key]}, and the affinity rules it out",
            fix=f"remove {key} from one of the two",
            seen={"key": key, "value": selector[key]},
        )


@rule(FLAVORS, kinds=WORKLOADS)
@over_groups
def selector_contradicts_flavors(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Some flavor of the queue has nodes that the pods may go to."""
    queue = cluster_queue(documents, group)
    for resources in sequence(queue.manifest, "spec", "resourceGroups") if queue else ():
        covered = sequence(resources, "coveredResources")
        names = [text(flavor, "name") for flavor in sequence(resources, "flavors")]
        offered = [flavor_of(documents, name) for name in names]
        for pod in templates(group):
            selector = labels_of(dig(pod.spec, "nodeSelector"))
            if not any(value and name in covered for name, value in asked(documents, pod).items()):
                continue
            clashes: list[tuple[str, str]] = []
            for flavor in offered:
                labels = mapping(flavor.manifest, "spec", "nodeLabels") if flavor else {}
                apart = [key for key in selector if labels.get(key, selector[key]) != selector[key]]
                clashes += [(apart[0], str(labels[apart[0]]))] if apart else []
            if offered and len(clashes) == len(offered):
                key, value = clashes[0]
                yield Fault(
                    path=(*pod.path, "spec", "nodeSelector", key),
                    what=f"{key} is {selector[key]} here and {value} in flavor {names[0]}"
                    + (f", and no other of {len(names)} fits" if len(names) > 1 else ""),
                    fix=f"write {key}: {value}, or name a queue for {selector[key]}",
                    seen={"selector": selector[key], "flavor": value},
                )


@rule(SPREAD, kinds=WORKLOADS)
@over_templates
def spread_selector_misses_pods(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Pods are among those that their spread is counted over."""
    for index, each in enumerate(sequence(pod.spec, "topologySpreadConstraints")):
        path: Path = (*pod.path, "spec", "topologySpreadConstraints", index)
        labels = match_labels(dig(each, "labelSelector"))
        missing = [key for key in labels or {} if pod.labels.get(key) != (labels or {})[key]]
        missing = [key for key in missing if key not in pod.varying]
        for place, key in enumerate(sequence(each, "matchLabelKeys")):
            if isinstance(key, str) and key not in pod.labels and key not in pod.varying:
                yield Fault(
                    path=(*path, "matchLabelKeys", place),
                    what=f"no pod of this template carries {key}, and a key that is absent is left out",
                    fix="name a label that the pods carry",
                )
        if missing:
            key = missing[0]
            has = f"{key}={pod.labels[key]}" if key in pod.labels else "no such label"
            yield Fault(
                path=(*path, "labelSelector"),
                what=f"it counts pods with {key}={(labels or {})[key]}; these have {has}",
                fix="select the labels of this template",
            )
