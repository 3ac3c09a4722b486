"""Groups that want a domain each: there are enough domains, and somebody can give them out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis import volcano
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import SETS, annotation, base_groups, over_groups, rollout
from gangform.rules.rule import Context, Fault, joined, rule

DOMAINS = declare(
    "exclusive-topology-domains",
    "More groups want a topology domain each than the cluster has: the last ones never start",
    Severity.BREAKS,
    "lws §2d; lws#539",
)
DEADLOCK = declare(
    "exclusive-topology-deadlock",
    "Workers are made once their leader has a node, and the gang lets no leader run without them",
    Severity.BREAKS,
    "volcano §5",
)

_SURGE: Final = ("rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")


@joined
def _rivals(documents: Documents) -> dict[tuple[str, str], list[GroupView]]:
    """The sets that want domains for themselves, by namespace and level: affinity looks no further."""
    found: defaultdict[tuple[str, str], list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        if level := annotation(group, lws.EXCLUSIVE_TOPOLOGY):
            found[group.namespace, level].append(group)
    return dict(found)


@rule(DOMAINS, kinds=SETS, needs=("domains",))
@over_groups
def exclusive_topology_domains(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every group with a domain for itself finds one, the surge of a rollout included."""
    level = annotation(group, lws.EXCLUSIVE_TOPOLOGY)
    domains = (context.domains or {}).get(level)
    if not level or domains is None:
        return
    rivals = _rivals(documents)[group.namespace, level]
    wanted = sum(base_groups(documents, each) * each.copies for each in rivals)
    others = "" if len(rivals) == 1 else f" of {', '.join(each.title for each in rivals)}"
    surge, gone = rollout(group, max(1, base_groups(documents, group)))
    path: Path = (*group.own, "annotations", lws.EXCLUSIVE_TOPOLOGY)
    if wanted > domains:
        yield Fault(
            path=path,
            what=f"{wanted} groups{others} want a value of {level} each, and there are {domains}",
            fix=f"want {domains} groups, or use a level with more values",
            seen={"groups": str(wanted), "domains": str(domains)},
        )
    elif surge and not gone and wanted + surge * group.copies > domains:
        yield Fault(
            path=(*group.at, *_SURGE),
            what=f"{wanted} groups{others} and {surge} in surge want a value of {level} each, and there "
            f"are {domains}: the surge group never starts, and none is unavailable for it",
            fix="write maxSurge: 0 and maxUnavailable: 1",
            seen={"groups": str(wanted + surge * group.copies), "domains": str(domains)},
        )


@rule(DEADLOCK, kinds=SETS, needs=("provider",))
@over_groups
def exclusive_topology_deadlock(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A gang that LWS's provider forms does not wait for workers that wait for its leader."""
    scheduler = text(group.leader.spec, "schedulerName")
    if (
        context.provider == volcano.SCHEDULER
        and scheduler == volcano.SCHEDULER
        and group.size > 1
        and annotation(group, lws.EXCLUSIVE_TOPOLOGY)
        and group.word("startupPolicy") != lws.LEADER_READY
    ):
        yield Fault(
            path=(*group.own, "annotations", lws.EXCLUSIVE_TOPOLOGY),
            what=f"the gang of {group.size} pods waits for workers that are made once the leader has a node",
            fix="remove the annotation; place groups by HyperNodes with a PodGroup of each",
        )
