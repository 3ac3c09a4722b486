from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.admission.admission import Policy, backend
from gangform.apis.core import DeploymentForm
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Installed
from gangform.inputs.serving import Autoscaling, Parallelism, Rollout, Serving
from gangform.plan import identity
from gangform.plan.identity import IdentityPlan
from gangform.plan.serving import ServingPlan

MakeServing = Callable[..., Serving]
MakeCluster = Callable[..., Cluster]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]

SET, DEPLOYMENT = LeaderWorkerSetForm(), DeploymentForm()


def policy(longest: int | None = None) -> Policy:
    return Policy(
        queued=True,
        needs_queue=True,
        surge_finishes=True,
        surges=True,
        gangs=True,
        scales=True,
        one_workload_per_group=False,
        longest_name=longest,
    )


def names(serving: Serving, **changes: Any) -> IdentityPlan:
    given: dict[str, Any] = {
        "name": serving.name,
        "form": SET,
        "policy": policy(),
        "size": 2,
        "groups": 4,
        "surge": 0,
        "account": None,
    }
    return identity.derive(serving, **{**given, **changes})


def test_everything_is_called_after_the_serving(make_serving: MakeServing) -> None:
    plan = names(make_serving())
    assert (plan.name, plan.app, plan.service, plan.account) == ("llm", "llm", "llm-leader", "llm")
    assert plan.pod_labels == {"app.kubernetes.io/name": "llm"}
    assert plan.object_labels == {
        "app.kubernetes.io/name": "llm",
        "app.kubernetes.io/managed-by": "gangform",
    }
    assert names(make_serving(), account="theirs").account == "theirs"


def test_the_service_does_not_take_the_name_of_the_sets_headless_one(
    make_serving: MakeServing,
) -> None:
    plan = names(make_serving())
    assert plan.service != plan.name


def test_a_set_among_several_has_its_own_name_and_the_servings_app(
    make_serving: MakeServing,
) -> None:
    plan = names(make_serving(), name="llm-3")
    assert (plan.name, plan.app, plan.service) == ("llm-3", "llm", "llm-leader")
    assert plan.selectors.pods == {"leaderworkerset.sigs.k8s.io/name": "llm-3"}


@pytest.mark.parametrize(
    ("groups", "surge", "index"), [(1, 0, 0), (1, 1, 1), (10, 0, 9), (10, 1, 10), (4, 3, 6)]
)
def test_surge_groups_take_the_indexes_above(groups: int, surge: int, index: int) -> None:
    assert identity.highest_index(groups, surge) == index


@pytest.mark.parametrize(
    ("longest", "form", "size", "index", "bound"),
    [
        (None, SET, 1, 0, 52),
        (None, SET, 2, 0, 50),
        (None, SET, 2, 9, 50),
        (None, SET, 2, 10, 49),
        (None, SET, 2, 99, 49),
        (None, SET, 2, 100, 48),
        (39, SET, 2, 9, 39),
        (39, SET, 2, 10, 38),
        (39, SET, 1, 9, 39),
        (39, DEPLOYMENT, 1, 9, 46),
        (60, SET, 2, 10, 49),
    ],
)
def test_the_strictest_bound_at_the_highest_index_counts(
    longest: int | None, form: Any, size: int, index: int, bound: int
) -> None:
    assert identity.longest_name(form, policy(longest), size, index) == bound


@settings(deadline=None)
@given(
    length=st.integers(1, 63),
    groups=st.integers(1, 1200),
    surge=st.integers(0, 30),
    size=st.integers(1, 16),
)
def test_an_accepted_name_leaves_room_for_the_hash_on_every_stateful_set(
    make_serving: MakeServing, length: int, groups: int, surge: int, size: int
) -> None:
    plan = names(make_serving(name="a" * length), groups=groups, surge=surge, size=size)
    refused = bool(list(identity.check(plan, ())))
    sets = [plan.name]
    if size > 1:
        sets += [f"{plan.name}-{index}" for index in range(groups + surge)]
    # The value of controller-revision-hash: the set, a dash and up to ten characters.
    fits = all(len(name) + 1 + 10 <= 63 for name in sets)
    assert refused != fits


def test_a_name_at_the_bound_is_accepted_and_one_longer_is_not(
    make_serving: MakeServing, codes: Codes
) -> None:
    assert list(identity.check(names(make_serving(name="a" * 50)), ("servings", "a"))) == []
    (found,) = identity.check(names(make_serving(name="a" * 51)), ("servings", "a"))
    assert codes([found]) == ["name-too-long"]
    assert found.at.path == ("servings", "a", "name")
    assert found.what.endswith("has 51 characters; with groups up to index 3 at most 50 work")
    assert found.seen == {"length": "51", "longest": "50"}


def test_a_shorter_name_is_offered_without_a_dash_at_its_end(make_serving: MakeServing) -> None:
    (found,) = identity.check(names(make_serving(name=f"{'a' * 49}-bc")), ())
    assert found.fix == f"shorten it to `{'a' * 49}` or another name of at most 50 characters"


def test_the_offered_name_leaves_room_for_the_index_of_a_set_a_group(
    make_serving: MakeServing,
) -> None:
    serving = make_serving(name="a" * 49)
    (found,) = identity.check(names(serving, name=f"{serving.name}-0"), ())
    assert found.fix == f"shorten it to `{'a' * 48}` or another name of at most 48 characters"
    shorter = make_serving(name="a" * 48)
    assert list(identity.check(names(shorter, name=f"{shorter.name}-0"), ())) == []


@pytest.mark.parametrize(
    ("changes", "index"),
    [
        ({"groups": 10}, 9),
        ({"groups": 10, "rollout": Rollout(spare_groups=1)}, 10),
        ({"autoscaling": Autoscaling(min=2, max=11)}, 10),
        ({"groups": 11, "backend": "volcano-podgroup"}, 0),
    ],
)
def test_the_plan_counts_surge_and_the_autoscalers_maximum(
    make_plan: MakePlan, changes: dict[str, Any], index: int
) -> None:
    assert make_plan(**changes).lead.identity.highest_index == index


def test_kueues_own_bound_is_for_sets_only(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    old = make_cluster(versions=Installed(kubernetes="1.34", lws="0.8", kueue="0.17"))
    assert backend("kueue").policy(old).longest_name == 39
    long = "a" * 45
    assert "name-too-long" in codes(make_plan(on=old, backend="kueue", name=long).findings)
    assert "name-too-long" not in codes(make_plan(on=old, backend="none", name=long).findings)
    one = make_plan(on=old, backend="kueue", name=long, parallelism=Parallelism(tensor=8))
    assert "name-too-long" not in codes(one.findings)


def test_the_longest_of_all_workloads_is_the_one_that_is_checked(
    make_plan: MakePlan, codes: Codes
) -> None:
    few = make_plan(name="a" * 48, groups=10, backend="volcano-podgroup")
    many = make_plan(name="a" * 48, groups=11, backend="volcano-podgroup")
    assert "name-too-long" not in codes(few.findings)
    assert "name-too-long" in codes(many.findings)
