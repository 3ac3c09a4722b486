"""What a run of `synth` costs: the price of every change against the output folder, before it is written."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from gangform.apis.views import Documents
from gangform.cli.terminal import paint, tell
from gangform.diff.folders import Known, Priced, cluster_of, documents_of
from gangform.diff.gate import not_allowed
from gangform.diff.price import prices
from gangform.diff.words import line, worth_saying
from gangform.documents.document import Document, Key, group_of
from gangform.findings import Finding, InputError, some
from gangform.units import Seconds

if TYPE_CHECKING:
    from gangform.plan.cluster import ClusterPlan
    from gangform.publish.folders import Difference, Differences
    from gangform.synth import Synthesis

_NEAR = 3
"""Names that are offered in the place of a wrong one."""
UNREAD = "it cannot be read, so what changes in it has no price"


def approve(made: Synthesis, found: Differences, allowed: Collection[str]) -> None:
    """Say what the changes cost.

    Raises:
        InputError: Groups would be made anew that nobody allowed.
    """
    refused: list[Finding] = []
    priced = list(against_folder(made, found))
    say_prices(priced, several=len(made.plans) > 1)
    _misnamed(allowed, _names(made, priced))
    for one in priced:
        refused += not_allowed(one.prices, allowed)
    if refused:
        raise InputError(refused)


def _names(made: Synthesis, priced: Iterable[Priced]) -> Iterator[str]:
    """What workloads are called, and those that are gone were."""
    for plan in made.plans:
        for serving in plan.servings:
            yield serving.name
            yield from (workload.name for workload in serving.workloads)
    for one in priced:
        for price in one.prices:
            if price.role == "workload":
                yield from (key.name for key in (price.key, price.former) if key is not None)


def _misnamed(allowed: Collection[str], names: Iterable[str]) -> None:
    """Say which names were allowed that nothing has: somebody meant another one."""
    known_names = list(dict.fromkeys(names)) if allowed else []
    for name in dict.fromkeys(allowed):
        if name not in known_names:
            from gangform.inputs.nearest import nearest

            near = nearest(name, known_names) or known_names
            meant = f"; there is {some(near, _NEAR)}" if near else ""
            word = paint("warning", "yellow", sys.stderr)
            tell(f"{word}: no workload is called as `--allow-recreate {name}` says{meant}")


def say_prices(priced: Iterable[Priced], *, several: bool) -> None:
    """One line an object, to stderr; with the cluster where there are several, in the fleet or in the folder."""
    found = list(priced)
    several = several or len(found) > 1
    for one in found:
        for price in worth_saying(one.prices):
            tell(f"{f'{one.cluster}: ' if several else ''}{line(price)}")


def against_folder(made: Synthesis, found: Differences) -> Iterator[Priced]:
    """The price of every cluster that differs from the folder; none for one that was never there."""
    stale = [one for one in found.stale if not one.pending]
    plans = {plan.cluster.name: plan for plan in made.plans}
    for cluster in dict.fromkeys(cluster_of(one.path) for one in stale):
        here = [one for one in stale if cluster_of(one.path) == cluster]
        kept = any(cluster_of(path) == cluster for path in found.unchanged)
        if kept or any(one.kind != "missing" for one in here):
            yield _cluster_prices(made, cluster, here, plans.get(cluster))


def _cluster_prices(
    made: Synthesis, cluster: str, stale: list[Difference], plan: ClusterPlan | None
) -> Priced:
    before: list[Document] = []
    after: list[Document] = []
    old = {one.path for one in stale}
    unread: set[str] = set()
    for one in stale:
        read = [] if one.kind == "missing" else documents_of(one.before, one.path)
        if read is None:
            unread.add(one.path)
            tell(f"{one.path}: {UNREAD}")
        else:
            before += read
    for file in made.files:
        if cluster_of(file.path) == cluster and file.path not in unread:
            after += file.bundle.documents
            if file.path not in old:
                before += file.bundle.documents
    facts = known(plan)
    found = prices(
        Documents(before), Documents(after), versions=facts.versions, durations=facts.durations
    )
    return Priced(cluster, tuple(found))


def known(plan: ClusterPlan | None) -> Known:
    """The releases of a cluster, and how long the rollout of every workload of it takes."""
    if plan is None:
        return Known()
    return Known(plan.cluster.versions.releases, dict(_durations(plan)))


def _durations(plan: ClusterPlan) -> Iterator[tuple[Key, Seconds]]:
    for serving in plan.servings:
        for workload in serving.workloads:
            group = group_of(workload.form.api_version)
            key = Key(group, workload.form.kind, serving.namespace, workload.name)
            # Of groups that are workloads of their own, each takes its part.
            yield key, Seconds(workload.role.rollout.duration // len(serving.workloads))
