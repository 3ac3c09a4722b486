"""What a watch saw, as series over time, and our rules judged over them by a real Prometheus' rule engine.

Three seconds of the lab are a minute here: groups that start in seconds stand for groups that start in minutes, and
the waiting times of alerts are crossed. Nothing else is changed: series come in the order and in the proportion in
which the objects changed, and a scrape every half minute sees what stood then. After its end the last state lasts.

    seen = timeline(watch, lasts=60)
    court = Court(promtool, folder, seen)
    court.judge(judged(rules), at(12), at(14.5, firing("ServingNoGroupReady", namespace="llm")))
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.cluster.api import Object
from tests.cluster.watch import Place, Watch
from tests.signals.exporter import IMITATED, LABELS, series

from gangform.units import Seconds

MINUTE = 60
STRETCH = 20
"""Seconds of Prometheus for a second of the lab: enough that a controller on a busy machine is not late by minutes."""
SCRAPE = 30
"""Seconds of Prometheus between two scrapes; kube-prometheus scrapes kube-state-metrics so."""
STALE, NOTHING = "stale", "_"
"""What promtool calls a series that a scrape did not find any more, and one that is not there."""

_NAME = re.compile(r"[a-zA-Z_:][\w:]*(?=\{)")
"""The series that an expression of ours reads: each has matchers."""

Moment = float
"""Minutes of Prometheus since the watch began."""


def moment(scrape: int) -> Moment:
    """When a scrape was, of those that are counted from 0."""
    return scrape * SCRAPE / MINUTE


@dataclass(frozen=True)
class Timeline:
    """Every series, with its value at each scrape; `None` where it was not there."""

    values: Mapping[str, Sequence[float | None]]
    scrapes: int

    def first(self, when: Callable[[Mapping[str, float]], object]) -> Moment:
        """The first scrape that saw what is asked for, of all series that were there."""
        for number in range(self.scrapes):
            there = {
                name: value
                for name, values in self.values.items()
                if (value := values[number]) is not None
            }
            if when(there):
                return moment(number)
        raise AssertionError("no scrape saw it")

    @property
    def end(self) -> Moment:
        return moment(self.scrapes - 1)


def timeline(seen: Watch, *, lasts: Moment, allowed: Collection[str] = ()) -> Timeline:
    """What scrapes would have found while a watch lasted, and for some minutes after its end.

    `allowed`: the node labels that the exporter has been told to export.
    """
    every = SCRAPE / STRETCH
    found: list[dict[str, float]] = []
    known: dict[int, dict[str, float]] = {}
    there: Mapping[Place, Object] = seen.listed

    def scrape() -> None:
        now: dict[str, float] = {}
        for thing in there.values():
            # An event has an object of its own, which lives as long as the watch.
            if id(thing) not in known:
                known[id(thing)] = series([thing], allowed=allowed)
            now |= known[id(thing)]
        found.append(now)

    for event, objects in seen.replay():
        while event.at > len(found) * every:
            scrape()
        there = dict(objects)
    end = (seen.events[-1].at if seen.events else 0) + lasts * MINUTE / STRETCH
    while len(found) * every <= end:
        scrape()
    names = sorted({name for now in found for name in now})
    return Timeline(
        values={name: [now.get(name) for now in found] for name in names}, scrapes=len(found)
    )


def notation(values: Iterable[float | None]) -> str:
    """Values as promtool writes them."""
    found, before = [], NOTHING
    for value in values:
        if value is None:
            found.append(STALE if before not in (STALE, NOTHING) else NOTHING)
        else:
            found.append(f"{value:.17g}")
        before = found[-1]
    runs = ((text, len(list(run))) for text, run in groupby(found))
    return " ".join(map(_run, runs))


def _run(run: tuple[str, int]) -> str:
    text, times = run
    if times == 1:
        return text
    return f"{text}x{times}" if text == NOTHING else f"{text}+0x{times - 1}"


# ── rules ────────────────────────────────────────────────────────────────────────────────────────


def judged(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of a PrometheusRule that read nothing but what the exporter gives, and what such rules record.

    Engines, queues and Prometheus itself do not run in the lab.
    """
    known = {each.metric for each in IMITATED} | {LABELS[1]}
    groups = []
    for group in _copy(spec)["groups"]:
        rules = []
        for rule in group["rules"]:
            read = set(_NAME.findall(rule["expr"]))
            if read <= known:
                rules.append(rule)
                known |= {rule.get("record")} - {None}
        groups.append({**group, "rules": rules})
    return {"groups": [group for group in groups if group["rules"]]}


def _copy(spec: Mapping[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(spec))
    return loaded


def waits(rules: Mapping[str, Any], alert: str) -> Moment:
    """How long an alert waits before it fires."""
    found = [one for each in rules["groups"] for one in each["rules"] if one.get("alert") == alert]
    return Seconds.parse(found[0].get("for", "0s")) / MINUTE


Labels = Mapping[str, str]
Check = dict[str, Any]
"""A query, a moment, and every series that it must find."""


def firing(alert: str, **labels: str) -> Labels:
    """An alert that fires, with its labels beside the serving's name and the severity."""
    return {"alertname": alert, **labels}


def at(moment: Moment, *alerts: Labels) -> Check:
    """At a moment exactly these alerts fire."""
    return finds(f"max without (severity, serving, alertstate) ({_FIRING})", moment, *alerts)


def until(moment: Moment, *alerts: str) -> Check:
    """Up to a moment exactly these alerts have fired, each at some time."""
    back = f"{_FIRING}[{round(moment * MINUTE) + MINUTE}s]"
    found = [firing(alert) for alert in alerts]
    return finds(f"group by (alertname) (last_over_time({back}))", moment, *found)


def finds(expr: str, moment: Moment, *found: Labels) -> Check:
    """A query finds exactly these series at a moment, each with the value 1."""
    return {
        "expr": expr,
        "eval_time": f"{round(moment * MINUTE)}s",
        "exp_samples": [{"labels": _inside(labels), "value": 1} for labels in found],
    }


_FIRING = 'ALERTS{alertstate="firing"}'


def _inside(labels: Labels) -> str:
    return "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


@dataclass(frozen=True)
class Court:
    """Series, and what promtool says of rules over them."""

    promtool: str
    folder: Path
    seen: Timeline

    def judge(self, rules: Mapping[str, Any], *checks: Check) -> None:
        """Every check holds while these rules are evaluated over all series, whosever they are.

        Raises:
            AssertionError: One does not; the text is promtool's.
        """
        asked = [rule for group in rules["groups"] for rule in group["rules"]] + list(checks)
        read = {name for one in asked for name in _NAME.findall(one["expr"])}
        states = [
            {"series": name, "values": notation(values)}
            for name, values in self.seen.values.items()
            if name.partition("{")[0] in read
        ]
        test = {"interval": f"{SCRAPE}s", "input_series": states, "promql_expr_test": checks}
        whole = {"rule_files": ["rules.yaml"], "evaluation_interval": f"{SCRAPE}s", "tests": [test]}
        for name, content in {"rules.yaml": rules, "test.yaml": whole}.items():
            # JSON is read as YAML, and written much faster.
            (self.folder / name).write_text(json.dumps(content), "utf-8")
        done = subprocess.run(
            [self.promtool, "test", "rules", "test.yaml"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
