"""The table of effects: every row is met by a change of an object, through what `diff` itself asks."""

from __future__ import annotations

import copy

import pytest
from tests.apis.changed import CASES, Case, told
from tests.apis.living import base, both, put

from gangform.apis.consequences import TABLES, consequences
from gangform.apis.effects import Effect, Outcome, show
from gangform.documents.document import Manifest


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind} {case.name}")
def test_a_change_has_its_effect(case: Case) -> None:
    found = told(case)
    assert found, "nothing changed"
    assert max(found, key=lambda one: one.effect.outcome.rank).effect.outcome == case.outcome


def test_of_several_addresses_each_is_kept() -> None:
    """Not among the cases: the control plane that tries them has no second family of addresses."""
    two = Case(
        "Service",
        "a second address",
        both(put("spec/clusterIP", "::1"), put("spec/clusterIPs", ["::1", "10.0.0.2"])),
        "refused",
        before=both(put("spec/clusterIP", "::1"), put("spec/clusterIPs", ["::1", "10.0.0.1"])),
    )
    assert {one.effect.outcome for one in told(two)} == {Outcome.REFUSED}


def test_every_row_is_met() -> None:
    met = {id(one.effect) for case in CASES for one in told(case)}
    missing = [
        f"{table.kind} {show(row.field)} {row.outcome} {row.ways}"
        for table in TABLES.values()
        for row in table.rows
        if id(row) not in met
    ]
    assert missing == []


def test_rows_say_who_refuses_and_where_it_is_known_from() -> None:
    rows = [row for table in TABLES.values() for row in table.rows]
    assert all(row.source for row in rows)
    assert {bool(row.by) for row in rows if row.outcome is Outcome.REFUSED} == {True}
    assert not any(row.by for row in rows if row.outcome is not Outcome.REFUSED)
    assert not any(row.says.endswith(".") or row.instead.endswith(".") for row in rows)


def test_rows_that_are_refused_alone_name_a_way_out() -> None:
    for table in TABLES.values():
        for row in table.rows:
            assert bool(row.instead) is (row.outcome is Outcome.REFUSED), show(row.field)


def test_defaults_and_spelling_are_no_change() -> None:
    before = base("LeaderWorkerSet")
    after = copy.deepcopy(before)
    engine = "spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0"
    after["spec"]["startupPolicy"] = "LeaderCreated"
    after["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "RecreateGroupOnPodRestart"
    put(f"{engine}/resources/requests/cpu", "8000m")(after)
    put(f"{engine}/ports/0/protocol", "TCP")(after)
    assert list(consequences(before, after)) == []


def test_an_unknown_kind_restarts_nothing() -> None:
    before: Manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"a": "1"},
    }
    after: Manifest = {**before, "data": {"a": "2"}}
    found = [one.effect for one in consequences(before, after)]
    assert [effect.outcome for effect in found] == [Outcome.IN_PLACE]
    assert isinstance(found[0], Effect)


def test_another_version_of_an_api_is_no_change() -> None:
    before = base("LocalQueue")
    assert list(consequences(before, {**before, "apiVersion": "kueue.x-k8s.io/v1beta1"})) == []
