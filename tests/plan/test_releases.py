from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from gangform.findings import Finding, Severity
from gangform.inputs.cluster import Cluster, Installed
from gangform.inputs.serving import Engine, Parallelism
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]

ONE = Parallelism(tensor=8)


@pytest.mark.parametrize(
    ("kubernetes", "lws", "sets", "pods"),
    [
        ("1.26", "0.10", ["kubernetes"], ["kubernetes"]),
        ("1.27", "0.5", ["lws"], []),
        ("1.27", "0.6", [], []),
        ("1.26.9", "0.5.1", ["kubernetes", "lws"], ["kubernetes"]),
    ],
)
def test_a_release_that_is_too_old_is_refused(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    kubernetes: str,
    lws: str,
    sets: list[str],
    pods: list[str],
) -> None:
    on = make_cluster(versions=Installed(kubernetes=kubernetes, lws=lws))
    for changes, old in (({}, sets), ({"parallelism": ONE}, pods)):
        found = [
            one for one in make_plan(on=on, **changes).findings if one.code.id == "release-too-old"
        ]
        assert [one.at.path for one in found] == [
            ("clusters", "prod", "versions", software) for software in old
        ]


def test_a_release_that_nobody_looked_at_is_said_once(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    newer = Installed(kubernetes="1.38", lws="0.11", kueue="0.21", volcano="1.16")
    on = make_cluster(versions=newer)
    plan = plan_cluster(on, [make_plan(on=on, name=name) for name in ("a", "b")])
    assert codes(plan.every_finding) == ["release-newer-than-known"] * 4
    assert plan.findings[0].code.severity is Severity.STYLE
    known = make_cluster(
        versions=Installed(kubernetes="1.37.4", lws="0.10.2", kueue="0.20.1", volcano="1.15.9")
    )
    assert plan_cluster(known, [make_plan(on=known)]).findings == ()


def test_an_engine_that_nobody_looked_at_is_said(make_plan: MakePlan, codes: Codes) -> None:
    (found,) = make_plan(engine=Engine(name="vllm", version="0.34.1")).findings
    assert (found.code.id, found.at.path[-2:]) == (
        "release-newer-than-known",
        ("engine", "version"),
    )
    assert found.what.startswith("vllm 0.34.1 is newer than 0.33")
    assert codes(make_plan(engine=Engine(name="vllm", version="0.33.9")).findings) == []
