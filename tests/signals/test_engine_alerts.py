"""What alerts on engines read, by release, and what the plan says of what they cannot see."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError
from tests.signals.scenario import MakePlan

from gangform.apis.versions import Release
from gangform.engines import vllm_series, watched
from gangform.engines.exports import standing
from gangform.inputs.cluster import Monitoring
from gangform.inputs.objectives import Objectives
from gangform.inputs.serving import Autoscaling, Engine, Object, Parallelism, Pods
from gangform.manifests.monitoring import monitors
from gangform.plan.scaling import own_selector
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

SELECTOR = re.compile(r"\b((?:vllm:|http_)\w+)\{((?:[^\"}]|\"[^\"]*\")*)\}")
RELEASES = ["0.8.0", "0.9.0", "0.9.1", "0.10.1", "0.10.2", "0.11.0", "0.12.0", "0.13.0", "0.33.0"]
SUFFIXES = re.compile("_(total|bucket|count)$")


def engine(version: str, *args: str) -> Engine:
    return Engine(version=version, args=args)


def asked(plan: ServingPlan) -> dict[str, str]:
    return {alert.name: alert.expr for alert in plan.monitoring.engine_alerts}


def codes(plan: ServingPlan) -> list[str]:
    return [one.code.id for one in plan.findings if one.code.id.startswith("objective")]


@pytest.mark.parametrize("version", RELEASES)
def test_only_series_of_the_release_are_read(version: str, make_plan: MakePlan) -> None:
    objective = Objectives(time_to_first_token="2.5s", share=Decimal("0.95"))
    variable: Object = {"name": vllm_series.CHECKS_NUMBERS, "value": "1"}
    plan = make_plan(
        "deployment",
        engine=engine(version),
        objectives=objective,
        pods=Pods(env=(variable,)),
    )
    release = Release.parse(version)
    for name, expr in asked(plan).items():
        selectors = SELECTOR.findall(expr)
        assert len(selectors) == len(re.findall(r"vllm:|http_", expr)), name
        for series, inside in selectors:
            assert 'namespace="m", app_kubernetes_io_name="llm"' in inside
            if series == vllm_series.HTTP_ANSWERS:
                continue
            stem = series.removeprefix(vllm_series.PREFIX)
            known = stem if stem in vllm_series.SERIES.rows else SUFFIXES.sub("", stem)
            assert vllm_series.SERIES.has(known, release), (name, series)
            assert standing(series) == "exported"
            if 'finished_reason="error"' in inside:
                assert vllm_series.TRAITS.has(vllm_series.ERROR, release)
    assert ("corrupted" in asked(plan)[watched.ERRORS]) == (release >= Release(0, 11, 1))


def test_a_cache_has_another_name_before(make_plan: MakePlan) -> None:
    old, new = (
        asked(make_plan("deployment", engine=engine(version)))[watched.CACHE]
        for version in ("0.10.2", "0.11.0")
    )
    assert "vllm:gpu_cache_usage_perc{" in old
    assert "vllm:kv_cache_usage_perc{" in new


def test_a_release_that_keeps_counting_cancelled_requests_has_no_alert_on_a_hang(
    make_plan: MakePlan,
) -> None:
    plan = make_plan("deployment", engine=engine("0.10.1"))
    assert watched.STALLED not in asked(plan)
    assert any("goes on counting" in remark for remark in plan.remarks)
    newer = make_plan("deployment", engine=engine("0.10.2"))
    assert watched.STALLED in asked(newer)
    assert not any("goes on counting" in remark for remark in newer.remarks)


def test_a_release_without_errors_says_so(make_plan: MakePlan) -> None:
    plan = make_plan(engine=engine("0.12.0"))
    assert "finished_reason" not in asked(plan)[watched.ERRORS]
    assert any("no reason of its own" in remark for remark in plan.remarks)


def test_a_newer_release_counts_as_the_newest_known(make_plan: MakePlan) -> None:
    one, other = make_plan(engine=engine("0.33.0")), make_plan(engine=engine("0.99.0"))
    assert asked(one) == asked(other)


@pytest.mark.parametrize(
    "args", [("--disable-log-stats",), ("--seed=1", "--disable_log_stats")], ids=" ".join
)
def test_an_engine_without_metrics_has_no_alerts_and_says_so(
    args: tuple[str, ...], make_plan: MakePlan
) -> None:
    plan = make_plan(engine=engine("0.32.0", *args))
    assert not asked(plan)
    assert any("--disable-log-stats" in remark for remark in plan.remarks)


def test_series_that_nobody_read_are_not_watched(make_plan: MakePlan) -> None:
    plan = make_plan("deployment", engine=engine("0.7.3"))
    assert not asked(plan)
    assert any("are not known" in remark for remark in plan.remarks)


@pytest.mark.parametrize("form", ["groups", "sets of one group", "deployment"])
def test_labels_are_those_that_the_monitor_gives(form: str, make_plan: MakePlan) -> None:
    plan = make_plan(form)
    (monitor,) = monitors(plan)
    spec = monitor["spec"]
    assert isinstance(spec, dict)
    copied = {*own_selector(dict.fromkeys(spec["podTargetLabels"], ""))}
    for expr in asked(plan).values():
        for _, inside in SELECTOR.findall(expr):
            labels = {*re.findall(r"(\w+)=", inside)}
            assert labels - {"status", "finished_reason", "le"} <= {"namespace", *copied}


def test_nothing_is_watched_where_monitoring_is_off(make_plan: MakePlan) -> None:
    plan = make_plan(monitoring=Monitoring(enabled=False))
    assert not asked(plan)
    assert not plan.monitoring.blind_spots


# ── limits ───────────────────────────────────────────────────────────────────────────────────────


def test_a_long_context_may_be_quiet_for_longer(make_plan: MakePlan) -> None:
    assert "[5m]" in asked(make_plan(context=8192))[watched.STALLED]
    assert "[35m]" in asked(make_plan(context=1_050_000))[watched.STALLED]
    assert "offset 35m" in asked(make_plan(context=1_050_000))[watched.STALLED]


def test_a_queue_is_deep_beyond_what_the_autoscaler_accepts(make_plan: MakePlan) -> None:
    def limit(plan: ServingPlan) -> tuple[str, Seconds | None]:
        (alert,) = (one for one in plan.monitoring.engine_alerts if one.name == watched.QUEUE)
        return alert.expr.rpartition("> ")[2], alert.for_

    def scaled(**fields: Any) -> ServingPlan:
        return make_plan("autoscaled", autoscaling=Autoscaling(min=2, max=4, **fields))

    assert limit(make_plan()) == ("20", 600)
    assert limit(scaled()) == ("16", 120 + 900 + 300)
    assert limit(scaled(target=30)) == ("60", 120 + 900 + 300)
    # KEDA asks for the series as it is called.
    assert limit(make_plan("by keda")) == ("16", 120 + 900 + 300)
    # A target of another metric says nothing of waiting requests.
    assert limit(scaled(target=30, metric="gpu_share")) == ("20", 120 + 900 + 300)


# ── objectives ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "exported"), [("2.5s", "2.5"), ("5s", "5.0"), ("5.0s", "5.0"), ("10s", "10.0")]
)
def test_a_bound_is_written_as_exported(written: str, exported: str, make_plan: MakePlan) -> None:
    plan = make_plan(objectives=Objectives(time_to_first_token=written, share=Decimal("0.99")))
    expr = asked(plan)[watched.SLOW]
    assert f'le="{exported}"' in expr
    assert "> 0.144\n" in expr
    assert "> 0.06\n" in asked(plan)[watched.STEADILY_SLOW]
    assert not codes(plan)


def test_a_time_between_two_bounds_is_refused_with_the_bounds(make_plan: MakePlan) -> None:
    plan = make_plan(objectives=Objectives(time_to_first_token="3s", share=Decimal("0.99")))
    (finding,) = (one for one in plan.findings if one.code.id == "objective-not-a-bound")
    assert "2.5s, 5.0s" in finding.fix
    assert watched.SLOW not in asked(plan)


def test_a_long_time_is_no_bound_of_an_old_release(make_plan: MakePlan) -> None:
    long = Objectives(time_to_first_token="20s", share=Decimal("0.95"))
    old = make_plan("deployment", objectives=long, engine=engine("0.8.0"))
    assert codes(old) == ["objective-not-a-bound"]
    assert not codes(make_plan("deployment", objectives=long, engine=engine("0.8.5")))


@pytest.mark.parametrize(
    "args",
    [
        ("--disable-log-stats",),
        ('--custom-histogram-buckets={"time_to_first_token": [1, 3]}',),
        ("--custom-histogram-buckets.time_to_first_token+=1,3",),
    ],
    ids=lambda args: args[0][:40],
)
def test_an_objective_that_nobody_counts_by_is_said(
    args: tuple[str, ...], make_plan: MakePlan
) -> None:
    objective = Objectives(time_to_first_token="2.5s", share=Decimal("0.95"))
    plan = make_plan(objectives=objective, engine=engine("0.32.0", *args))
    assert codes(plan) == ["objective-not-watched"]
    assert watched.SLOW not in asked(plan)


def test_an_objective_without_monitoring_is_said(make_plan: MakePlan) -> None:
    objective = Objectives(time_to_first_token="2.5s", share=Decimal("0.95"))
    plan = make_plan(objectives=objective, monitoring=Monitoring(enabled=False))
    assert codes(plan) == ["objective-not-watched"]


@pytest.mark.parametrize(
    ("time", "share"), [("2.5", "0.95"), ("2,5s", "0.95"), ("2.5s", "0.9"), ("2.5s", "1")]
)
def test_what_no_alert_can_hold_to_is_no_objective(time: str, share: str) -> None:
    with pytest.raises(ValidationError):
        Objectives(time_to_first_token=time, share=Decimal(share))


def test_data_ranks_are_told_apart(make_plan: MakePlan) -> None:
    plan = make_plan("deployment", parallelism=Parallelism(tensor=4, data=2))
    assert "by (namespace, pod, engine)" in asked(plan)[watched.STALLED]
