"""Services: they reach every leader and no worker, under a name of their own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import CORE
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, dig, group_of, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    SETS,
    answers,
    engine_of,
    groups_behind,
    is_set,
    most_groups,
    over_groups,
    own_workers,
    owned,
    read_runs,
    rollout,
    surely,
    templates,
)
from gangform.rules.rule import Context, Fault, joined, rule
from gangform.rules.selectors import selector_of

WORKERS = declare(
    "service-selects-workers",
    "A traffic Service or pool selects workers, which answer no requests",
    Severity.BREAKS,
    "lws §1; engines §1.3, §2.2",
)
NO_LEADER = declare(
    "service-selects-no-leader",
    "A traffic Service or pool selects pods of a set, but no leader",
    Severity.BREAKS,
    "lws §1",
)
SUBSET = declare(
    "service-selects-subset",
    "A traffic Service or pool selects by a label that differs from group to group: it reaches one",
    Severity.BREAKS,
    "lws §1; lab E1",
)
COLLIDES = declare(
    "service-name-collides",
    "A Service has the name of the headless one that the controller makes for the group's addresses",
    Severity.BREAKS,
    "lws §1; observability §6",
)
UNREADY = declare(
    "service-publishes-unready",
    "A traffic Service publishes leaders that still load: they get requests and refuse them",
    Severity.DEGRADES,
    "observability §6",
)
LOCAL = declare(
    "service-traffic-local",
    "internalTrafficPolicy Local drops what clients on nodes without a leader send",
    Severity.DEGRADES,
    "observability §6",
)
RENDEZVOUS = declare(
    "rendezvous-waits-for-readiness",
    "Workers join through a Service that shows the leader only when it is Ready, which it is after they joined",
    Severity.BREAKS,
    "observability §6; lws §1",
)
SHADOWS = declare(
    "service-links-shadow-engine",
    "A Service named like the engine puts variables of the engine's own prefix into its pods",
    Severity.BREAKS,
    "engines §1.5",
)

_SHARED: Final = "Shared"
_TRAFFIC: Final = ("Service", "InferencePool")
"""Kinds that send requests to the pods that they select."""


def _selection(service: Document) -> tuple[Path, dict[str, str]]:
    return selector_of(service) or (("spec", "selector"), {})


def _selected(service: Document, documents: Documents) -> list[PodView]:
    labels = _selection(service)[1]
    return list(documents.pods(service.key.namespace, labels)) if labels else []


def _headless(service: Document) -> bool:
    return text(service.manifest, "spec", "clusterIP") == "None"


def _sets(service: Document, documents: Documents) -> list[GroupView]:
    """The sets of groups of several pods that a traffic Service of ours, not a controller's, selects from."""
    if _headless(service) or owned(service):
        return []
    return [
        group for group in groups_behind(documents, _selected(service, documents)) if is_set(group)
    ]


@rule(WORKERS, kinds=_TRAFFIC)
def service_selects_workers(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Requests reach leaders only, unless the workers serve too."""
    path, labels = _selection(subject)
    for group in _sets(subject, documents):
        workers = own_workers(group)
        if workers is None or not surely(workers, labels) or not surely(group.leader, labels):
            continue
        if answers(documents, workers):
            continue
        only = {key: value for key, value in group.leader.labels.items() if key in workers.never}
        add = ", ".join(f'{key}: "{value}"' for key, value in only.items())
        yield Fault(
            path=path,
            what=f"the selector matches the workers of {group.title}, {workers.per_group} a group, beside "
            "its leaders",
            fix=f"add {add} to the selector" if add else "select a label that leaders alone carry",
        )


@rule(NO_LEADER, kinds=_TRAFFIC)
def service_selects_no_leader(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Service of a set reaches its leaders."""
    path, labels = _selection(subject)
    for group in _sets(subject, documents):
        workers = own_workers(group)
        if group.leader.matches(labels) or workers is None:
            continue
        if answers(documents, workers):
            continue
        yield Fault(
            path=path,
            what=f"the selector matches workers of {group.title} and not its leaders",
            fix=_select(group),
        )


def _select(group: GroupView) -> str:
    return "select " + ", ".join(
        f'{key}: "{value}"' for key, value in group.selectors.leaders.items()
    )


@rule(SUBSET, kinds=_TRAFFIC)
def service_selects_subset(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Service of a set reaches every group."""
    path, labels = _selection(subject)
    for group in _sets(subject, documents):
        groups = most_groups(documents, group)
        by = [key for key in labels if key in group.leader.varying]
        if groups > 1 and by and group.leader.matches(labels):
            yield Fault(
                path=path,
                what=f"{', '.join(by)} differs from group to group, so that at most 1 of {groups} "
                f"leaders of {group.title} is reached",
                fix=_select(group),
                seen={"groups": str(groups)},
            )


@rule(COLLIDES, kinds=SETS)
@over_groups
def service_name_collides(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The controller's own Service has its name for itself."""
    if group.size < 2 or group.added:
        return
    policy = group.word("networkConfig", "subdomainPolicy") or _SHARED
    names = [group.name]
    if policy != _SHARED:
        most = most_groups(documents, group)
        names = [f"{group.name}-{index}" for index in range(most + rollout(group, most)[0])]
    group_of_core = group_of(CORE)
    for name in names:
        service = documents.get(Key(group_of_core, "Service", group.namespace, name))
        if service is not None and not owned(service):
            yield Fault(
                path=("metadata", "name"),
                what=f"`{name}` is the headless Service that gives {group.kind} {group.name} its "
                "addresses",
                fix=f"rename this Service: {group.name}-leader",
                on=service,
            )


@rule(UNREADY, kinds=("Service",))
def service_publishes_unready(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A traffic Service knows ready leaders only."""
    if dig(subject.manifest, "spec", "publishNotReadyAddresses") is True:
        for group in _sets(subject, documents):
            yield Fault(
                path=("spec", "publishNotReadyAddresses"),
                what=f"leaders of {group.title} are published before they are Ready",
                fix="write publishNotReadyAddresses: false",
            )


@rule(LOCAL, kinds=("Service",))
def service_traffic_local(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Clients on any node reach the leaders."""
    if text(subject.manifest, "spec", "internalTrafficPolicy") == "Local":
        for group in _sets(subject, documents):
            yield Fault(
                path=("spec", "internalTrafficPolicy"),
                what=f"clients on a node without a leader of {group.title} get no answer",
                fix="write internalTrafficPolicy: Cluster",
            )


def _meets_through(service: Key, line: str) -> bool:
    """Whether a command line names a Service as the address of a leader."""
    at, end = re.escape(service.name), r"(?![\w-])"
    word = (
        rf"(?:addr|address|host|master|rendezvous|rdzv)[\w-]*[=\s]+{at}{end}"
        rf"|(?<![\w.-]){at}(?::[0-9]|\.{re.escape(service.namespace)}{end}|\.svc{end})"
    )
    return re.search(word, line) is not None


@rule(RENDEZVOUS, kinds=("Service",))
def rendezvous_waits_for_readiness(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Service that groups meet through shows pods that are not ready yet."""
    name = subject.key.name
    if not name or dig(subject.manifest, "spec", "publishNotReadyAddresses") is True:
        return
    for group in groups_behind(documents, _selected(subject, documents)):
        if not is_set(group) or group.size < 2:
            continue
        workers = templates(group)[-1]
        for run in read_runs(documents, workers):
            words = [*sequence(run.container, "command"), *sequence(run.container, "args")]
            line = " ".join(each for each in words if isinstance(each, str))
            if name in line and _meets_through(subject.key, line):
                yield Fault(
                    path=("spec", "publishNotReadyAddresses"),
                    what=f"workers of {group.title} look for their leader as `{name}`, which "
                    "resolves only after the leader is Ready",
                    fix="write publishNotReadyAddresses: true, or use the address that the "
                    "controller injects",
                )
                break


@joined
def _linked(documents: Documents) -> dict[tuple[str, str], list[str]]:
    """Sets whose engine takes variables from Services, by namespace and the prefix that it reads."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for group in documents.groups():
        for pod in templates(group):
            run = engine_of(documents, pod)
            linked = dig(pod.spec, "enableServiceLinks") is not False
            if linked and run is not None and run.reading is not None:
                names = found[group.namespace, _prefix(run.reading.engine)]
                if group.title not in names:
                    names.append(group.title)
    return dict(found)


def _prefix(name: str) -> str:
    return name.upper().replace("-", "_")


@rule(SHADOWS, kinds=("Service",))
def service_links_shadow_engine(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """No Service is called like an engine whose pods take service links."""
    key = (subject.key.namespace, _prefix(subject.key.name))
    if _headless(subject):
        return
    for name in _linked(documents).get(key, ()):
        yield Fault(
            path=("metadata", "name"),
            what=f"pods of {name} get {key[1]}_PORT=tcp://… from this Service, and their engine "
            "reads it as its own",
            fix=f"write enableServiceLinks: false in {name}, or rename the Service",
        )
