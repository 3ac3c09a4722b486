"""What a namespace allows: quotas that hold its sets, limits that its containers keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from gangform.apis.forms import GroupView
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import group_requests, shown
from gangform.rules.joins import base_groups, runs, templates
from gangform.rules.rule import Context, Fault, joined, rule

QUOTA = declare(
    "namespace-quota-below-demand",
    "A ResourceQuota does not hold the sets of its namespace: pods of the last groups are not made",
    Severity.DEGRADES,
    "Kubernetes: ResourceQuota",
)
LIMIT = declare(
    "limit-range-refuses",
    "A LimitRange refuses a container of its namespace: no pod of the set is made",
    Severity.BREAKS,
    "Kubernetes: LimitRange",
)

_PODS: Final = ("pods", "count/pods")
_REQUESTS: Final = "requests."
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")


@joined
def _by_space(documents: Documents) -> dict[str, list[GroupView]]:
    found: defaultdict[str, list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        found[group.namespace].append(group)
    return dict(found)


def _sets(documents: Documents, namespace: str) -> list[GroupView]:
    return _by_space(documents).get(namespace, [])


def _counted(name: str) -> str | None:
    """The resource that a line of a quota counts by its requests; `None` for another kind of line."""
    if name.startswith(_REQUESTS):
        return name.removeprefix(_REQUESTS)
    return name if name in _PLAIN else None


@rule(QUOTA, kinds=("ResourceQuota",))
def namespace_quota_below_demand(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The quota of a namespace holds the sets that are in it."""
    spec = mapping(subject.manifest, "spec")
    if sequence(spec, "scopes") or mapping(spec, "scopeSelector"):
        return
    sets = _sets(documents, subject.key.namespace)
    for name, written in mapping(spec, "hard").items():
        most, resource = amount_of(written), _counted(name)
        if most is None or (resource is None and name not in _PODS):
            continue
        need, whose = Fraction(0), []
        for group in sets:
            one = (
                Fraction(group.size)
                if resource is None
                else group_requests(documents, group).get(resource, Fraction(0))
            )
            groups = base_groups(documents, group) * group.copies
            need += one * groups
            if one and groups:
                whose.append(f"{group.title} {groups} × {shown(one)}")
        if need > most:
            yield Fault(
                path=("spec", "hard", name),
                what=f"{', '.join(whose)} are {shown(need)} of {name}; the quota is {written}",
                fix=f"raise it to {shown(need)}, with room for the surge of a rollout",
                seen={"needed": shown(need), "quota": str(written)},
            )


def _bounds(limits: Document, kind: str) -> Iterator[tuple[str, str, Fraction]]:
    """Side (`max` or `min`), resource and amount of a LimitRange for one type."""
    for each in sequence(limits.manifest, "spec", "limits"):
        if text(each, "type") == kind:
            for side in ("max", "min"):
                for name, written in mapping(each, side).items():
                    amount = amount_of(written)
                    if amount is not None:
                        yield side, name, amount


@rule(LIMIT, kinds=("LimitRange",))
def limit_range_refuses(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Containers keep the limits of their namespace."""
    bounds = list(_bounds(subject, "Container"))
    for group in _sets(documents, subject.key.namespace) if bounds else ():
        for pod in templates(group):
            for run in runs(pod):
                for side, name, bound in bounds:
                    words = ("limits", "requests") if side == "max" else ("requests", "limits")
                    for word in words:
                        written = dig(run.container, "resources", word, name)
                        amount = amount_of(written) if written is not None else None
                        beyond = amount is not None and (
                            amount > bound if side == "max" else amount < bound
                        )
                        if beyond:
                            at: Path = (*run.path, "resources", word, name)
                            yield Fault(
                                path=at,
                                what=f"{name} {written} of `{text(run.container, 'name')}` is "
                                f"{'above the maximum' if side == 'max' else 'below the minimum'} "
                                f"{shown(bound)} of LimitRange {subject.key.name}",
                                fix=f"write {shown(bound)}, or change the LimitRange",
                                on=pod.document,
                            )
                            break
