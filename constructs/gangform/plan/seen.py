"""Where the groups of a fleet lie in a cluster, by its pods: what stands in the place of the plan's own map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gangform.documents.document import Manifest, mapping, sequence, text, texts
from gangform.plan.cluster import ClusterPlan
from gangform.plan.homes import Held
from gangform.plan.role import WorkloadPlan

_ENDED = ("Succeeded", "Failed")


def seen(plan: ClusterPlan, pods: Iterable[Manifest]) -> tuple[Held, ...]:
    """The groups that pods belong to, each with the nodes of its pods, the leader's first.

    Pods that ended are none, and one that stands in the list twice is one. What is being deleted, or bound to no node,
    holds nothing, and its group does not serve; nor does a group with a pod that says it is not ready. Where a kind has
    no groups of several pods, each pod is one, numbered in the order of names.
    """
    there = [*{_name(one): one for one in pods if not _ended(one)}.values()]
    found: list[Held] = []
    for serving in plan.servings:
        for workload in serving.workloads:
            own = [one for one in there if text(one, "metadata", "namespace") == serving.namespace]
            groups, apart = _groups(serving.name, workload, own), bool(serving.workloads[1:])
            # Where each group is a set of its own, a second one of a set is none of those that are wanted.
            found += [one for one in groups if not (apart and one.group)]
    return tuple(found)


def nodes_with_pods(pods: Iterable[Manifest]) -> tuple[str, ...]:
    """Names of all nodes that any pod is bound to."""
    return tuple(sorted({text(one, "spec", "nodeName") for one in pods if _bound(one)}))


def _name(pod: Manifest) -> tuple[str, str]:
    return text(pod, "metadata", "namespace"), text(pod, "metadata", "name")


def _ended(pod: Manifest) -> bool:
    return text(pod, "status", "phase") in _ENDED


def _bound(pod: Manifest) -> bool:
    here = bool(text(pod, "spec", "nodeName")) and not _ended(pod)
    return here and not text(pod, "metadata", "deletionTimestamp")


def _groups(serving: str, workload: WorkloadPlan, pods: Sequence[Manifest]) -> list[Held]:
    selectors = workload.role.identity.selectors
    members = [one for one in pods if _matches(selectors.pods, one)]
    if selectors.group is None:
        order = sorted(members, key=lambda one: text(one, "metadata", "name"))
        return [
            Held(serving, workload.name, index, _nodes({}, [one]), serves=_serves([one], 1))
            for index, one in enumerate(order)
        ]
    key = next(key for key in selectors.group(0) if key not in selectors.pods)
    groups: dict[int, list[Manifest]] = {}
    for one in members:
        index = texts(mapping(one, "metadata", "labels")).get(key, "")
        if index.isdecimal():
            groups.setdefault(int(index), []).append(one)
    size = workload.role.shape.size
    return [
        Held(
            serving,
            workload.name,
            index,
            _nodes(selectors.leaders, groups[index]),
            serves=_serves(groups[index], size),
        )
        for index in sorted(groups)
    ]


def _serves(pods: Sequence[Manifest], size: int) -> bool:
    """Whether a group is whole, and no pod of it says that it is not ready."""
    here = [one for one in pods if _bound(one)]
    return len(here) >= size and all(map(_ready, here))


def _ready(pod: Manifest) -> bool:
    """Whether a pod does not say that it is not ready."""
    return not any(
        text(one, "type") == "Ready" and text(one, "status") != "True"
        for one in sequence(pod, "status", "conditions")
        if isinstance(one, Mapping)
    )


def _nodes(leaders: Mapping[str, str], pods: Sequence[Manifest]) -> tuple[str, ...]:
    order = sorted(
        filter(_bound, pods),
        key=lambda one: (not _matches(leaders, one), text(one, "metadata", "name")),
    )
    return tuple(dict.fromkeys(text(one, "spec", "nodeName") for one in order))


def _matches(selector: Mapping[str, str], pod: Manifest) -> bool:
    labels = texts(mapping(pod, "metadata", "labels"))
    return all(labels.get(key) == value for key, value in selector.items())
