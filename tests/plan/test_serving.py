from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangform.apis.versions import Release
from gangform.findings import Finding, InputError, InputPath
from gangform.inputs.cluster import Cluster, Domain, Installed, Library
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Disruption,
    Engine,
    Fit,
    Parallelism,
    Pods,
    Resources,
    Rollout,
    Serving,
    TopologyRequest,
    Weights,
)
from gangform.plan.cluster import plan_cluster
from gangform.plan.fields import restart_policy
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.plan.shape import placement_of
from gangform.units import Bytes, BytesPerSecond, Millicores, Seconds

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeServing = Callable[..., Serving]
MakeHardware = Callable[..., HardwareShape]
MakeModel = Callable[..., ModelProfile]
Codes = Callable[[Iterable[Finding]], list[str]]

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"


# ── what the composition decides ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("levels", "size", "found"),
    [
        ((), 2, None),
        ((HOST,), 2, None),
        ((BLOCK, RACK, HOST), 1, None),
        ((BLOCK, RACK, HOST), 2, (RACK, "preferred")),
        ((BLOCK,), 2, (BLOCK, "preferred")),
    ],
)
def test_groups_prefer_the_finest_level_above_the_host(
    make_plan: MakePlan, make_cluster: MakeCluster, levels: tuple[str, ...], size: int, found: Any
) -> None:
    on = make_cluster(pool={"levels": levels})
    plan = make_plan(on=on, parallelism=Parallelism(tensor=8, pipeline=size))
    assert plan.lead.demand.placement == found


def test_a_level_that_was_asked_for_wins_for_lone_pods_too(
    make_serving: MakeServing, make_cluster: MakeCluster
) -> None:
    pool = make_cluster(pool={"levels": (BLOCK, RACK)}).pools["gpu"]
    serving = make_serving(topology=TopologyRequest(level=BLOCK))
    assert placement_of(serving, pool, 1) == (BLOCK, "required")
    assert placement_of(serving, pool, 4) == (BLOCK, "required")


@pytest.mark.parametrize(
    ("asked", "size", "lws", "policy"),
    [
        (None, 1, Release(0, 10), "None"),
        (None, 2, Release(0, 10), "RecreateGroupAfterStart"),
        (None, 2, Release(0, 9), "RecreateGroupAfterStart"),
        (None, 2, Release(0, 8), "RecreateGroupOnPodRestart"),
        (None, 2, None, "RecreateGroupAfterStart"),
        ("None", 2, Release(0, 10), "None"),
        ("RecreateGroupOnPodRestart", 1, Release(0, 10), "RecreateGroupOnPodRestart"),
    ],
)
def test_a_lost_pod_rebuilds_its_group_once_it_is_complete(
    make_serving: MakeServing, asked: Any, size: int, lws: Release | None, policy: str
) -> None:
    assert restart_policy(make_serving(restart_policy=asked), size, lws) == policy


def test_groups_are_one_set_or_a_set_each(make_plan: MakePlan) -> None:
    plan = make_plan(groups=3, backend="kueue")
    assert [one.name for one in plan.workloads] == ["llm"]
    assert plan.lead.replicas == 3
    apart = make_plan(groups=3, backend="volcano-podgroup")
    assert [one.name for one in apart.workloads] == ["llm-0", "llm-1", "llm-2"]
    assert [one.role.replicas for one in apart.workloads] == [1, 1, 1]
    single = make_plan(groups=3, backend="volcano-podgroup", parallelism=Parallelism(tensor=8))
    assert [(one.name, one.role.replicas) for one in single.workloads] == [("llm", 3)]


def test_what_is_said_for_every_set_is_said_once(make_plan: MakePlan) -> None:
    plan = make_plan(groups=3, backend="volcano-podgroup")
    assert len(set(plan.remarks)) == len(plan.remarks) > 0
    assert len(set(plan.prerequisites)) == len(plan.prerequisites)


def test_sets_need_a_declared_release_of_their_controller(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    on = make_cluster(versions=Installed(kubernetes="1.36"))
    (found,) = make_plan(on=on).findings
    assert found.code.id == "lws-release-missing"
    assert found.at.path == ("clusters", "prod", "versions")
    assert codes(make_plan(on=on, parallelism=Parallelism(tensor=8)).findings) == []
    assert codes(make_plan().findings) == []


def test_clients_call_the_model_by_its_profile_unless_told_otherwise(make_plan: MakePlan) -> None:
    assert "--served-model-name=small" in make_plan().lead.launch.leader.args
    own = make_plan(served_model_name="chat").lead.launch.leader.args
    assert "--served-model-name=chat" in own


# ── names ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "path", "what"),
    [
        ({"model": "nobody"}, ("model",), "`nobody` is no model profile"),
        ({"pool": "nowhere"}, ("pool",), "`nowhere` is no pool of cluster prod"),
        (
            {"engine": Engine(name="other", version="1.0")},
            ("engine", "name"),
            "`other` is no engine",
        ),
        (
            {"admission": Admission(backend="other")},
            ("admission", "backend"),
            "`other` is no admission backend",
        ),
    ],
)
def test_a_name_that_refers_to_nothing_stops_the_plan(
    make_plan: MakePlan, changes: dict[str, Any], path: tuple[str, ...], what: str
) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(**changes)
    (found,) = caught.value.findings
    assert found.code.id == "name-refers-to-nothing"
    assert found.at.path == ("servings", "llm", *path)
    assert found.what == what


def test_all_names_that_refer_to_nothing_are_said_at_once(make_plan: MakePlan) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(model="a", pool="b", backend="c")
    assert len(caught.value.findings) == 3


def test_a_shape_that_nobody_knows_is_said_at_the_pool(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(on=make_cluster(pool={"hardware": "unknown"}))
    (found,) = caught.value.findings
    assert found.what == "`unknown` is no hardware shape"


def test_names_are_looked_up_in_the_library(
    make_serving: MakeServing,
    make_cluster: MakeCluster,
    make_model: MakeModel,
    make_hardware: MakeHardware,
) -> None:
    library = Library(models={"m": make_model()}, hardware={"h": make_hardware()})
    on = make_cluster(pool={"hardware": "h"})
    plan = plan_serving(make_serving(model="m"), cluster=on, library=library)
    assert plan.model == make_model()
    assert plan.lead.hardware == make_hardware()


# ── totality ─────────────────────────────────────────────────────────────────────────────────────

sizes = st.one_of(st.integers(1, 2**12), st.integers(1, 2**62)).map(Bytes)
counts = st.one_of(st.integers(1, 9), st.integers(1, 4096))
maybe = st.none()


@st.composite
def wild(draw: st.DrawFn) -> dict[str, Any]:
    """Inputs of the right types and no sense."""
    made: dict[str, Any] = {
        "parallelism": draw(
            st.one_of(
                st.just("auto"),
                st.builds(
                    Parallelism,
                    tensor=counts,
                    pipeline=st.integers(1, 80),
                    data=counts,
                    prefill_context=st.integers(1, 5),
                    decode_context=st.integers(1, 9),
                    expert_parallel=st.booleans(),
                ),
            )
        ),
        "context": draw(st.integers(1, 2**31 - 1)),
        "concurrency": draw(st.one_of(maybe, counts)),
        "backend": draw(st.sampled_from(["none", "kueue", "volcano", "volcano-podgroup"])),
        "workload": draw(st.sampled_from([None, "LeaderWorkerSet"])),
        "startup_policy": draw(st.sampled_from(["LeaderCreated", "LeaderReady"])),
        "rollout": draw(
            st.builds(
                Rollout,
                max_surge=st.one_of(maybe, st.integers(0, 50)),
                max_unavailable=st.one_of(maybe, st.integers(0, 50)),
                spare_groups=st.integers(0, 50),
                canary_groups=st.one_of(maybe, st.integers(0, 50)),
            )
        ),
        "disruption": draw(
            st.builds(
                Disruption,
                mode=st.sampled_from(["serial", "perGroup"]),
                released=st.lists(st.integers(0, 40), max_size=3).map(tuple),
            )
        ),
        "weights": draw(
            st.sampled_from(
                [
                    Weights(),
                    Weights(source="claim", claim="c"),
                    Weights(source="nodePath", path="/m"),
                    Weights(source="perPod", size=Bytes(1)),
                    Weights(read_bandwidth=BytesPerSecond(1)),
                ]
            )
        ),
        "cold_start": draw(st.one_of(maybe, st.integers(1, 10**6).map(Seconds))),
        "fit": draw(
            st.builds(
                Fit, accepted=st.sampled_from([None, "x"]), available_kv=st.one_of(maybe, sizes)
            )
        ),
        "topology": draw(
            st.sampled_from(
                [None, TopologyRequest(level=RACK), TopologyRequest(level="x", mode="preferred")]
            )
        ),
        "spread": draw(st.sampled_from([None, BLOCK, "x"])),
        "engine": draw(
            st.builds(
                Engine,
                version=st.sampled_from(["0.1", "0.10.2", "0.33.0", "9.9"]),
                utilization=st.sampled_from([None, Decimal("0.0001"), Decimal(1)]),
                args=st.sampled_from([(), ("--shutdown-timeout=x",), ("--", "-x", "")]),
            )
        ),
        "pods": draw(
            st.builds(
                Pods,
                resources=st.builds(
                    Resources,
                    cpu=st.one_of(maybe, st.integers(1, 10**9).map(Millicores)),
                    memory=st.one_of(maybe, sizes),
                    ephemeral_storage=st.one_of(maybe, sizes),
                    shared_memory=st.one_of(maybe, sizes),
                ),
                host_network=st.booleans(),
                env=st.sampled_from([(), ({},), ({"name": 5},)]),
                sidecars=st.sampled_from([(), ({},), ({"env": 1, "resources": "x"},)]),
            )
        ),
    }
    if draw(st.booleans()):
        lowest = draw(st.integers(1, 30))
        made["autoscaling"] = Autoscaling(min=lowest, max=lowest + draw(st.integers(0, 20)))
    else:
        made["groups"] = draw(st.integers(1, 40))
    return made


@pytest.mark.thorough
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    asked=wild(),
    count=counts,
    memory=sizes,
    host=sizes,
    checkpoint=sizes,
    described=st.booleans(),
    layers=st.integers(1, 200),
    nodes=st.one_of(maybe, st.integers(0, 500)),
    inventory=st.booleans(),
)
def test_any_well_typed_input_gives_a_plan(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    make_model: MakeModel,
    make_layered: MakeModel,
    asked: dict[str, Any],
    count: int,
    memory: Bytes,
    host: Bytes,
    checkpoint: Bytes,
    described: bool,
    layers: int,
    nodes: int | None,
    inventory: bool,
) -> None:
    hardware = make_hardware(
        gpu={"count": count, "visible_memory": memory}, memory=host, ephemeral_storage=host
    )
    pool: dict[str, Any] = {"hardware": hardware, "nodes": nodes, "levels": (BLOCK, RACK)}
    if inventory:
        pool["domains"] = (Domain(at=("b",), nodes=3), Domain(at=("b", "r"), nodes=4))
    on = make_cluster(pool=pool, foundation="all")
    profile = make_model(checkpoint=checkpoint)
    if described:
        profile = make_layered(checkpoint=checkpoint, architecture={"layers": layers})
    plan = make_plan(on=on, model=profile, **asked)
    whole = plan_cluster(on, [plan])
    assert all(finding.what and finding.fix for finding in whole.every_finding)
    role = plan.lead
    assert role.shape.gpus >= role.shape.world or asked["parallelism"] == "auto"
    assert len(role.memory.stages) == role.shape.pipeline
    assert role.startup.budget >= role.startup.worst >= role.startup.cold_start
    assert role.rollout.floor <= role.rollout.peak


def test_a_serving_that_names_other_clusters_is_refused(make_plan: MakePlan, codes: Codes) -> None:
    (found,) = make_plan(clusters=("lab",)).findings
    assert (found.code.id, found.breaks) == ("serving-not-on-cluster", True)
    assert found.at == InputPath(("servings", "llm", "clusters"))
    assert codes(make_plan(clusters=("lab", "prod")).findings) == []
