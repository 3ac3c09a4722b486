"""Every mutation of every rule against the scenarios, many at once: which of them does no test notice.

Mutations of one rule are rules of their own in one file, and promtool says which of them it found otherwise than
expected. The scenarios in which the alert fires come first; a mutation that is noticed is not tried again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.signals.mutations import mutations
from tests.signals.rule_tests import (
    Spec,
    alerting,
    checks_of,
    input_series,
    put,
    reads,
    recording,
    records_of,
    run,
    touches,
)
from tests.signals.scenario import Scenario, Series

_FILE = re.compile(r"^Unit Testing: +(\S+)$", re.MULTILINE)
_UNLIKE = re.compile(r"alertname: (\S+), time:")
_VALUE_UNLIKE = re.compile(r'expr: "([^"]+)", time:')
_BROKEN = re.compile(r"rule: (\S+), time: [^,]+, err:")


class Mutant(NamedTuple):
    """A rule with a fault, under a name of its own."""

    name: str
    what: str
    rule: Mapping[str, Any]
    original: str


class Checked(NamedTuple):
    """What the check found."""

    made: int
    argued: int
    """Those that are not tried, since they are said to change nothing."""
    unnoticed: list[str]
    """Alert and fault of each."""


def mutants(spec: Spec, *, small: bool) -> list[Mutant]:
    """Of alerts and of records; a colon may stand in the name of a record, and in that of an alert."""
    found = []
    for name, rule in written(spec).items():
        kind = "alert" if "alert" in rule else "record"
        for number, mutation in enumerate(mutations(rule["expr"], small=small)):
            changed = {**rule, kind: f"{name}:{number}", "expr": mutation.expr}
            found.append(Mutant(f"{name}:{number}", mutation.what, changed, name))
    return found


def written(spec: Spec) -> dict[str, Mapping[str, Any]]:
    """Every rule by name."""
    return {**alerting(spec), **recording(spec)}


def check(
    promtool: str,
    spec: Spec,
    normal: Series,
    cases: Mapping[str, Scenario],
    folder: Path,
    *,
    small: bool,
) -> Checked:
    """Try every mutation in one scenario after another until it is noticed."""
    everything = mutants(spec, small=small)
    alive = [each for each in everything if not is_equivalent(f"{each.original}: {each.what}")]
    argued = len(everything) - len(alive)
    order = {alert: _most_telling_first(rule, cases) for alert, rule in written(spec).items()}
    for turn in range(max(map(len, order.values()), default=0)):
        waiting: dict[str, list[Mutant]] = {}
        for mutant in alive:
            for case in order[mutant.original][turn : turn + 1]:
                waiting.setdefault(case, []).append(mutant)
        noticed = _noticed(promtool, spec, normal, cases, waiting, folder / str(turn))
        alive = [mutant for mutant in alive if mutant.name not in noticed]
    return Checked(len(everything), argued, [f"{each.original}: {each.what}" for each in alive])


def _most_telling_first(rule: Mapping[str, Any], cases: Mapping[str, Scenario]) -> list[str]:
    """The cases that are about the rule: first those in which it fires, and of these the shortest."""

    def key(name: str) -> tuple[bool, int]:
        at = cases[name].at
        fires = any(one.name == rule.get("alert") for firing in at.values() for one in firing)
        return not fires, max(at)

    if "record" in rule:
        return sorted((name for name in cases if cases[name].records), key=key)
    normal = next(name for name, scenario in cases.items() if not scenario.differs)
    about = (name for name in cases if name == normal or touches(rule, cases[name]))
    return sorted(about, key=key)


def _noticed(
    promtool: str,
    spec: Spec,
    normal: Series,
    cases: Mapping[str, Scenario],
    waiting: Mapping[str, Sequence[Mutant]],
    folder: Path,
) -> set[str]:
    noticed: set[str] = set()
    originals = written(spec)
    left = {case: list(these) for case, these in waiting.items()}
    while left:
        files = []
        for number, (case, these) in enumerate(left.items()):
            rules = {"groups": [{"name": "mutants", "rules": [each.rule for each in these]}]}
            put(folder, f"rules{number}.yaml", rules)
            read = {name for each in these for name in reads(originals[each.original]["expr"])}
            test = {
                "interval": "1m",
                "input_series": input_series(normal, cases[case], read),
                "alert_rule_test": [
                    check
                    for each in these
                    if "alert" in each.rule
                    for check in checks_of(each.name, originals[each.original], cases[case])
                ],
                "promql_expr_test": [
                    check
                    for each in these
                    if "record" in each.rule
                    for check in records_of(each.name, originals[each.original], cases[case])
                ],
            }
            file = {
                "rule_files": [f"rules{number}.yaml"],
                "evaluation_interval": "1m",
                "tests": [test],
            }
            files.append(put(folder, f"test{number}.yaml", file))
        done = run(promtool, "test", *files)
        said = _FILE.split(done.said)
        # A rule that fails stops its file: it is noticed, and the others are tried again without it.
        again: dict[str, list[Mutant]] = {}
        texts = dict(zip(said[1::2], said[2::2], strict=True))
        for file_path, (case, these) in zip(files, left.items(), strict=True):
            text = texts[str(file_path)]
            broken = {*_BROKEN.findall(text)}
            noticed |= broken | {*_UNLIKE.findall(text), *_VALUE_UNLIKE.findall(text)}
            if broken:
                again[case] = [each for each in these if each.name not in noticed]
        left = {case: these for case, these in again.items() if these}
    return noticed


EQUIVALENT: Mapping[str, str] = {
    "QueueGroupsEvicted: every `max by .cluster_queue.` becomes sum": "only its labels count",
    "ServingGroupsNotReady: .*`max by .namespace, statefulset, revision.` becomes sum": "only its labels count",
    "Serving(GroupsNotReady|LeaderEndpointsMismatch): every pod=.* widened": "only what is called "
    "like a worker set is joined",
    "Serving(LeaderEndpointsMismatch|LeaderReadyGroupIncomplete): .*`max by .namespace, statefulset.` becomes": "both "
    "sides of the comparison double, or it is 0 times the sum",
    "Serving(GroupRebuiltRepeatedly|GroupOnCordonedNode): every `max by [^`]*` becomes sum": "series are counted, not "
    "their values",
    'ServingGroupOnCordonedNode: every node!="" widened': "no node is called so",
    "ServingNoRoomToRebuild: every `max by .namespace, statefulset.` becomes sum": "it is 0 times the sum",
    "groups_ready:sum: every (`max by .namespace, statefulset.` becomes|pod=.* widened)": "as in alerts on the "
    "same count: both sides double, and only what is called like a worker set is joined",
    "ServingQueueDeep: every `max by .namespace, pod.` becomes sum": "series are counted, not their values",
    "ServingNoGroupReady: every `max by [^`]*` becomes sum": "twice 0 is 0, and twice what is more than 0 is more",
    "ServingRolloutStalled: every `max by [^`]*` becomes sum": "both sides of each comparison double",
    r'every statefulset=~"llm-\[0-9\]\+" widened': "only those that are called like a leader are joined to one",
    'Serving(GroupPodsPending|NoRoomToRebuild): every phase="Pending" widened': "a pod without a node is Pending",
}
"""Faults that change nothing, as a pattern of alert and fault, with the reason."""


def is_equivalent(unnoticed: str) -> bool:
    return any(re.search(pattern, unnoticed) for pattern in EQUIVALENT)
