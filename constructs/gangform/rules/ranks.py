"""Command lines of leader and workers beside each other: what every rank of an engine has to be told alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.engines.engine import EngineReading
from gangform.findings import Severity, declare
from gangform.rules.joins import SETS, Run, engine_of, over_groups, words_of, workers_apart
from gangform.rules.rule import Context, Fault, rule

APART = declare(
    "ranks-told-apart",
    "Leader and workers are told different sizes, models or ports: the ranks never meet, or break off",
    Severity.BREAKS,
    "engines §1.3, §1.4, §2",
)
ELSEWHERE = declare(
    "ranks-meet-in-other-namespace",
    "The address where ranks meet names the set's own pod or Service in another namespace",
    Severity.BREAKS,
    "lws §6; Kubernetes: DNS for Services and Pods",
)

_PLAIN: Final = re.compile(r"[A-Za-z0-9._/-]+")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)*\.?")
_NUMBER: Final = re.compile("[0-9]{1,9}")
_HERE: Final = "localhost"


def _address(reading: EngineReading) -> tuple[str, str]:
    """Host and port of where ranks meet, each empty where it is not written as a word."""
    host, _, port = reading.address.removeprefix("tcp://").partition(":")
    known = _NAME.fullmatch(host) and host != _HERE
    return host.rstrip(".") if known else "", port if _NUMBER.fullmatch(port) else ""


def _other_model(one: str, other: str) -> bool:
    """Whether two models surely differ: a path may be another's id, or the same volume at another place."""
    if not (_PLAIN.fullmatch(one) and _PLAIN.fullmatch(other)):
        return False
    paths = [each.startswith(("/", ".")) for each in (one, other)]
    if all(paths):
        one, other = (each.rstrip("/").rpartition("/")[2] for each in (one, other))
    return paths[0] == paths[1] and one.lower() != other.lower()


def _apart(led: EngineReading, worked: EngineReading) -> Iterator[tuple[str, str, str]]:
    """What differs, with the value of the leader and that of the workers."""
    if worked.nodes is None:
        if worked.alone and worked.together.get("--nnodes") == "1":
            yield "--nnodes", led.nodes or "", "absent"
        return
    for name, has in led.together.items():
        # Another number of nodes than the group has pods is a finding by itself.
        wants = worked.together.get(name, "")
        counted = _NUMBER.fullmatch(has) and _NUMBER.fullmatch(wants)
        if name not in ("--nnodes", "--node-rank") and counted and int(has) != int(wants):
            yield name, has, wants
    if _other_model(led.model, worked.model):
        yield "the model", led.model, worked.model
    (host, port), (other, theirs) = _address(led), _address(worked)
    if port and theirs and int(port) != int(theirs):
        yield "the port where ranks meet", port, theirs
    if host and other and host.partition(".")[0] != other.partition(".")[0]:
        yield "the address where ranks meet", host, other


def _both(
    group: GroupView, documents: Documents
) -> tuple[EngineReading, Run, EngineReading] | None:
    """What the leader says, and the workers, of one engine over several nodes without Ray."""
    workers = workers_apart(documents, group)
    led = engine_of(documents, group.leader)
    worked = engine_of(documents, workers) if workers is not None else None
    if led is None or worked is None or led.reading is None or worked.reading is None:
        return None
    one, other = led.reading, worked.reading
    if one.engine != other.engine or one.nodes is None or one.ray or other.ray:
        return None
    return one, worked, other


@rule(APART, kinds=SETS)
@over_groups
def ranks_told_apart(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every rank is told the same sizes, model and meeting place."""
    both = _both(group, documents)
    if both is None or group.size < 2:
        return
    led, run, worked = both
    for name, has, wants in _apart(led, worked):
        yield Fault(
            path=words_of(run),
            what=f"{name} is {has} on the leader and {wants} on the workers",
            fix=f"write {f'{name}={has}' if name.startswith('-') else has} for the workers too",
            seen={"leader": has, "workers": wants},
        )


def _space(host: str, name: str) -> str:
    """The namespace in a host's name, where that is a pod of a set, or the Service of its name; else empty."""
    labels = host.split(".")
    pod = re.fullmatch(rf"{re.escape(name)}-[0-9]+", labels[0])
    if pod and labels[1:2] and labels[1] in (name, labels[0]):
        return next(iter(labels[2:3]), "")
    return next(iter(labels[1:2]), "") if labels[0] == name else ""


@rule(ELSEWHERE, kinds=SETS)
@over_groups
def ranks_meet_in_other_namespace(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Ranks meet in the namespace of their set."""
    own = group.document.key
    for pod in (group.leader, workers_apart(documents, group)):
        run = engine_of(documents, pod) if pod is not None else None
        if run is None or run.reading is None or not own.namespace or group.size < 2:
            continue
        host = _address(run.reading)[0]
        space = _space(host, own.name)
        if space and space != own.namespace:
            yield Fault(
                path=words_of(run),
                what=f"ranks meet at {host}, in namespace {space}; the set is in {own.namespace}",
                fix=f"write $({lws.ADDRESS_VARIABLE})",
                seen={"named": space, "namespace": own.namespace},
            )
