"""How a watch becomes series: what stood at each scrape, and what promtool makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.api import Object
from tests.cluster.timeline import (
    Court,
    at,
    finds,
    firing,
    judged,
    notation,
    timeline,
    until,
    waits,
)
from tests.cluster.watch import Event, Place, Watch

UNSCHEDULABLE = 'kube_node_spec_unschedulable{job="kube-state-metrics",node="n1"}'
RULES = {
    "groups": [
        {
            "name": "g",
            "rules": [
                {
                    "record": "node:cordoned:max",
                    "expr": "max by (node) (kube_node_spec_unschedulable{})",
                },
                {"alert": "Cordoned", "expr": 'node:cordoned:max{node="n1"} == 1', "for": "1m"},
                {"alert": "Down", "expr": "up{} == 0"},
            ],
        }
    ]
}


def node(*, cordoned: bool) -> Object:
    spec = {"unschedulable": True} if cordoned else {}
    return {"kind": "Node", "metadata": {"name": "n1"}, "spec": spec}


@pytest.fixture
def seen() -> Watch:
    """A node that is there, cordoned after four seconds, and gone after ten."""
    watch = Watch()
    place = Place("Node", "", "n1")
    watch.listed = {place: node(cordoned=False)}
    for moment, type in ((4.0, "MODIFIED"), (10.0, "DELETED")):
        watch.events.append(Event(at=moment, type=type, place=place, object=node(cordoned=True)))
    return watch


def test_a_scrape_sees_what_stood_by_then(seen: Watch) -> None:
    made = timeline(seen, lasts=1)
    # Every second and a half: a half minute of twenty times as long.
    assert made.values[UNSCHEDULABLE] == [0, 0, 0, 1, 1, 1, 1, None, None]
    assert made.first(lambda there: there.get(UNSCHEDULABLE) == 1) == 1.5
    assert made.end == 4


def test_what_is_gone_is_stale_once() -> None:
    assert notation([None, 1, 1, 2.5, None, None, None, 3]) == "_ 1+0x1 2.5 stale _x2 3"


def test_rules_on_what_nobody_exports_here_are_left_out() -> None:
    (group,) = judged(RULES)["groups"]
    assert [rule.get("alert", rule.get("record")) for rule in group["rules"]] == [
        "node:cordoned:max",
        "Cordoned",
    ]
    assert waits(RULES, "Cordoned") == 1


@pytest.mark.go
def test_promtool_judges(seen: Watch, promtool: str, tmp_path: Path) -> None:
    court = Court(promtool, tmp_path, timeline(seen, lasts=1))
    rules, cordoned = judged(RULES), firing("Cordoned", node="n1")
    court.judge(rules, until(2), at(2.5, cordoned), at(4), until(4, "Cordoned"))
    with pytest.raises(AssertionError, match="Cordoned"):
        court.judge(rules, at(2.5))
    court.judge(rules, finds("max by (node) (kube_node_spec_unschedulable{})", 3, {"node": "n1"}))
