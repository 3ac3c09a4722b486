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
    run,
    touches,
)
from tests.signals.scenario import Scenario, Series

_FILE = re.compile(r"^Unit Testing: +(\S+)$", re.MULTILINE)
_UNLIKE = re.compile(r"alertname: (\S+), time:")
_BROKEN = re.compile(r"rule: (\S+), time: [^,]+, err:")


class Mutant(NamedTuple):
    """A rule with a fault, under a name of its own."""

    name: str
    what: str
    rule: Mapping[str, Any]
    original: str


class Checked(NamedTuple):
    """What the check found."""

    tried: int
    unnoticed: list[str]
    """Alert and fault of each."""

    @property
    def not_argued(self) -> list[str]:
        """Those that nobody says to change nothing."""
        return [each for each in self.unnoticed if not is_equivalent(each)]


def mutants(spec: Spec, *, small: bool) -> list[Mutant]:
    found = []
    for alert, rule in alerting(spec).items():
        for number, mutation in enumerate(mutations(rule["expr"], small=small)):
            changed = {**rule, "alert": f"{alert}~{number}", "expr": mutation.expr}
            found.append(Mutant(f"{alert}~{number}", mutation.what, changed, alert))
    return found


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
    everything = alive = mutants(spec, small=small)
    order = {alert: _most_telling_first(rule, cases) for alert, rule in alerting(spec).items()}
    for turn in range(max(map(len, order.values()), default=0)):
        waiting: dict[str, list[Mutant]] = {}
        for mutant in alive:
            for case in order[mutant.original][turn : turn + 1]:
                waiting.setdefault(case, []).append(mutant)
        noticed = _noticed(promtool, spec, normal, cases, waiting, folder / str(turn))
        alive = [mutant for mutant in alive if mutant.name not in noticed]
    return Checked(len(everything), [f"{each.original}: {each.what}" for each in alive])


def _most_telling_first(rule: Mapping[str, Any], cases: Mapping[str, Scenario]) -> list[str]:
    """The cases that are about the rule: first those in which it fires, and of these the shortest."""

    def key(name: str) -> tuple[bool, int]:
        at = cases[name].at
        fires = any(one.name == rule["alert"] for firing in at.values() for one in firing)
        return not fires, max(at)

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
    written = alerting(spec)
    left = {case: list(these) for case, these in waiting.items()}
    while left:
        files = []
        for number, (case, these) in enumerate(left.items()):
            rules = {"groups": [{"name": "mutants", "rules": [each.rule for each in these]}]}
            put(folder, f"rules{number}.yaml", rules)
            read = {name for each in these for name in reads(written[each.original]["expr"])}
            test = {
                "interval": "1m",
                "input_series": input_series(normal, cases[case], read),
                "alert_rule_test": [
                    check
                    for each in these
                    for check in checks_of(each.name, written[each.original], cases[case])
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
            noticed |= broken | {*_UNLIKE.findall(text)}
            if broken:
                again[case] = [each for each in these if each.name not in noticed]
        left = {case: these for case, these in again.items() if these}
    return noticed


EQUIVALENT: Mapping[str, str] = {
    "ServingNoGroupReady: every `max by [^`]*` becomes sum": "twice 0 is 0, and twice what is more than 0 is more",
    "ServingRolloutStalled: every `max by [^`]*` becomes sum": "both sides of each comparison double",
    r'every statefulset=~"llm-\[0-9\]\+" widened': "only those that are called like a leader are joined to one",
    'ServingGroupPodsPending: every phase="Pending" widened': "a pod without a node is Pending",
}
"""Faults that change nothing, as a pattern of alert and fault, with the reason."""


def is_equivalent(unnoticed: str) -> bool:
    return any(re.search(pattern, unnoticed) for pattern in EQUIVALENT)
