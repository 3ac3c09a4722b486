"""The planning cases of `plan.md`, one test a row: inputs, the verdict that is right, and the figures it rests on.

To refuse is a finding that breaks; to warn, one that degrades; to accept, none that breaks. Where a row asks for what
no input can say, since it follows from others, the test shows what follows and that a patch over it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from pydantic import JsonValue, ValidationError

from gangform.apis.views import Documents
from gangform.bundle import bundle, judge_bundles
from gangform.documents.document import Document
from gangform.findings import Finding, InputError, Severity
from gangform.inputs.cluster import Cluster, Domain, Installed, KueueSettings, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Architecture, Attention, Experts, Measured, ModelProfile
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Engine,
    Fit,
    Parallelism,
    Patch,
    Pods,
    Resources,
    Rollout,
    Serving,
    TopologyRequest,
    Weights,
)
from gangform.plan import cache, rollout, startup
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.rules.rule import Context, judge
from gangform.units import Bytes, BytesPerSecond, Millicores, Seconds

TABLE = Path(__file__).with_name("plan.md")
RACK = "example.com/rack"

NOT_YET = (
    ("r20-a", "no input for slices of a Kueue topology"),
    ("r20-b", "no input for slices of a Kueue topology"),
    ("r20-c", "no input for slices of a Kueue topology"),
    ("r39-a", "prefill and decode are not parted yet"),
    ("r39-b", "prefill and decode are not parted yet"),
    ("r39-c", "prefill and decode are not parted yet"),
    ("r42", "no input for compute domains"),
)
"""Rows whose feature no input asks for yet, with the reason."""

TESTED: list[str] = []
"""Rows that a test below stands for."""

Test = TypeVar("Test", bound=Callable[..., None])


def row(*ids: str) -> Callable[[Test], Test]:
    """Say which rows a test stands for."""

    def note(test: Test) -> Test:
        TESTED.extend(ids)
        return test

    return note


# ── a small world ────────────────────────────────────────────────────────────────────────────────


def node(count: int = 8, *, visible: str = "79.19", **gpu: Any) -> HardwareShape:
    given: dict[str, Any] = {
        "product": "NVIDIA-H100-80GB-HBM3",
        "count": count,
        "visible_memory": Bytes.gib(visible),
        "capability": "9.0",
    }
    return HardwareShape(
        name="node",
        gpu=Gpu(**{**given, **gpu}),
        cpu=Millicores(190_000),
        memory=Bytes.gib(1900),
        ephemeral_storage=Bytes.gib(6000),
        nvlink_gpus=72,
    )


def layers(**changes: Any) -> Architecture:
    given: dict[str, Any] = {
        "layers": 80,
        "hidden": 8192,
        "vocabulary": 131_072,
        "attention": Attention(kind="gqa", heads=64, kv_heads=8, head_dim=128),
    }
    return Architecture(**{**given, **changes})


def model(**changes: Any) -> ModelProfile:
    """A model that fits anywhere: what does not come from its architecture is measured and small."""
    given: dict[str, Any] = {
        "name": "m",
        "repository": "org/m",
        "weights": "bf16",
        "checkpoint": Bytes.gib(10),
        "context_limit": 262_144,
        "measured": Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=1024),
    }
    return ModelProfile(**{**given, **changes})


def fp8(**architecture: Any) -> ModelProfile:
    return model(weights="fp8", quantization_block=128, architecture=layers(**architecture))


def cluster(hardware: HardwareShape, **changes: Any) -> Cluster:
    pool = changes.pop("pool", {})
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19"),
        "foundation": "existing",
        "pools": {"gpu": Pool(hardware=hardware, **pool)},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def planned(
    profile: ModelProfile, *, on: HardwareShape | Cluster | None = None, **changes: Any
) -> ServingPlan:
    home = on if isinstance(on, Cluster) else cluster(on or node())
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": profile,
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8),
        "groups": 2,
        "context": 32_768,
        "admission": Admission(backend="none"),
    }
    return plan_serving(
        Serving(**{**given, **changes}),
        cluster=home,
        library=Library(models={}, hardware={}),
    )


def summed(home: Cluster, **changes: Any) -> ClusterPlan:
    return plan_cluster(home, [planned(model(), on=home, **changes)])


def said(findings: Iterable[Finding], severity: Severity) -> dict[str, Finding]:
    return {one.code.id: one for one in findings if one.code.severity is severity}


def refused(plan: ServingPlan | ClusterPlan) -> dict[str, Finding]:
    findings = plan.findings if isinstance(plan, ServingPlan) else plan.every_finding
    return said(findings, Severity.BREAKS)


def warned(plan: ServingPlan | ClusterPlan) -> dict[str, Finding]:
    findings = plan.findings if isinstance(plan, ServingPlan) else plan.every_finding
    return said(findings, Severity.DEGRADES)


def refusal(plan: ServingPlan) -> dict[str, Finding]:
    """What stops the bundle of a plan that is accepted itself."""
    assert not refused(plan)
    with pytest.raises(InputError) as caught:
        bundle(plan)
    return said(caught.value.findings, Severity.BREAKS)


def objections(plan: ServingPlan) -> Iterator[Finding]:
    """What the rules say of the documents of a plan."""
    assert not refused(plan)
    yield from judge_bundles([bundle(plan)], cluster(node()), complete=False)


# ── every row has its test ───────────────────────────────────────────────────────────────────────


def rows() -> list[str]:
    text = TABLE.read_text(encoding="utf-8")
    return re.findall(r"^\| ([rh][0-9]{2}(?:-[a-z])?) \|", text, re.M)


def test_every_row_is_tested_or_says_why_not() -> None:
    assert sorted([*TESTED, *(name for name, _ in NOT_YET)]) == sorted(rows())
    assert all(reason for _, reason in NOT_YET)


# ── shape and engine ─────────────────────────────────────────────────────────────────────────────


@row("r02-a")
@pytest.mark.parametrize("tensor", [8, 16])
def test_a_dense_layer_in_whole_blocks_is_accepted(tensor: int) -> None:
    assert 18_432 // tensor in (18 * 128, 9 * 128)
    plan = planned(
        fp8(attention=Attention(kind="mla", heads=128, latent=576), dense_width=18_432),
        parallelism=Parallelism(tensor=tensor),
    )
    # Over several nodes it also wants a level, which is another matter.
    assert set(refused(plan)) <= {"tensor-spans-nodes-unplaced"}


def test_a_dense_layer_cut_inside_a_block_is_refused() -> None:
    plan = planned(
        fp8(attention=Attention(kind="mla", heads=128, latent=576), dense_width=18_432),
        parallelism=Parallelism(tensor=32),
    )
    assert set(refused(plan)) == {"fp8-block-is-cut", "tensor-spans-nodes-unplaced"}
    what = refused(plan)["fp8-block-is-cut"].what
    assert what == "dense layers: 18432 over 32 ranks is 576 = 4.5 blocks of 128"


NARROW = fp8(
    attention=Attention(kind="gqa", heads=64, kv_heads=4, head_dim=128),
    experts=Experts(routed=128, active=8, width=1536),
)


@row("r02-b")
def test_experts_cut_inside_a_block_are_refused_with_both_ways_out() -> None:
    plan = planned(NARROW)
    assert list(refused(plan)) == ["fp8-block-is-cut"]
    finding = refused(plan)["fp8-block-is-cut"]
    assert "1536 over 8 ranks is 192 = 1.5 blocks of 128" in finding.what
    assert "tensor 4" in finding.fix
    assert "parallelism.expertParallel: true" in finding.fix


def test_experts_in_whole_blocks_are_accepted() -> None:
    assert 1536 // 4 == 3 * 128
    assert refused(planned(NARROW, parallelism=Parallelism(tensor=4))) == {}


@row("r02-c")
def test_expert_parallelism_keeps_experts_whole() -> None:
    plan = planned(NARROW, parallelism=Parallelism(tensor=8, expert_parallel=True))
    assert refused(plan) == {}
    assert 128 / plan.lead.shape.expert_ranks == 16


def spread(routed: int, ranks: int, pod: int, *args: str) -> ServingPlan:
    profile = fp8(experts=Experts(routed=routed, active=8, width=2048))
    return planned(
        profile,
        on=node(pod),
        parallelism=Parallelism(data=ranks, expert_parallel=True),
        engine=Engine(version="0.33.0", args=args),
    )


@row("r02-d")
def test_experts_that_do_not_divide_over_their_ranks_are_refused() -> None:
    findings = refused(spread(160, 12, 4))
    assert list(findings) == ["experts-do-not-divide"]
    assert findings["experts-do-not-divide"].what == "160 experts over 12 ranks is 13.33 a rank"


def test_redundant_experts_make_them_divide() -> None:
    assert list(refused(spread(256, 24, 8))) == ["experts-do-not-divide"]
    redundant = '--eplb-config={"num_redundant_experts": 8}'
    plan = spread(256, 24, 8, "--enable-eplb", redundant)
    assert refused(plan) == {}
    assert (256 + 8) / plan.lead.shape.expert_ranks == 11


@row("r02-e")
def test_tensor_that_does_not_divide_the_heads_is_refused() -> None:
    plan = planned(model(architecture=layers()), parallelism=Parallelism(tensor=3))
    finding = refused(plan)["tensor-does-not-divide-heads"]
    assert finding.what == "tensor 3 does not divide 64 attention heads"


@row("h37-p")
def test_the_size_follows_from_parallelism_and_node() -> None:
    parallelism = Parallelism(tensor=4, pipeline=2)
    plan = planned(model(), on=node(4), parallelism=parallelism)
    assert refused(plan) == {}
    assert (plan.lead.shape.size, plan.lead.shape.gpus_per_pod) == (2, 4)


def test_another_size_is_refused() -> None:
    parallelism = Parallelism(tensor=4, pipeline=2)
    with pytest.raises(ValidationError, match="size"):
        planned(model(), on=node(4), parallelism=parallelism, size=3)
    three = Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": {"size": 3}}})
    plan = planned(model(), on=node(4), parallelism=parallelism, patches=(three,))
    finding = refusal(plan)["patch-over-plan"]
    assert finding.fix == "change `parallelism` of the serving instead"


@row("h26-p")
@pytest.mark.parametrize(("data", "size"), [(16, 4), (12, 3)])
def test_pods_of_a_group_hold_whole_data_ranks(data: int, size: int) -> None:
    profile = fp8(experts=Experts(routed=240, active=8, width=2048))
    parallelism = Parallelism(data=data, expert_parallel=True)
    plan = planned(profile, on=node(4), parallelism=parallelism)
    assert refused(plan) == {}
    assert (plan.lead.shape.size, plan.lead.shape.gpus_per_pod) == (size, 4)
    four = Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": {"size": 4}}})
    patched = planned(profile, on=node(4), parallelism=parallelism, patches=(four,))
    if size == 4:
        bundle(patched)
    else:
        assert "patch-over-plan" in refusal(patched)


# ── memory ───────────────────────────────────────────────────────────────────────────────────────

EIGHTY = model(measured=None, architecture=layers())


@row("r03-a")
def test_the_cache_is_counted_by_stage_not_by_model() -> None:
    plan = planned(
        EIGHTY,
        parallelism=Parallelism(tensor=8, pipeline=2),
        context=200_000,
        fit=Fit(available_kv=Bytes.gib("6.0")),
    )
    assert refused(plan) == {}
    found = plan.lead.memory
    assert [stage.layers for stage in found.stages] == [40, 40]
    assert [stage.cache_per_token for stage in found.stages] == [20_480, 20_480]
    assert two(200_000 * 20_480) == Decimal("3.81")
    assert two(found.short + Bytes.gib("6.0")) == Decimal("3.81")
    assert found.tokens == 314_560
    assert found.requests == Decimal("1.57")


def two(size: int) -> Decimal:
    """GiB to two places."""
    return (Decimal(size) / 2**30).quantize(Decimal("0.01"))


@row("r03-b")
def test_the_stage_that_holds_least_decides() -> None:
    """The log prints 6.0 and 5.0 GiB; one figure is an input, so the smaller decides either way."""
    cut: dict[str, JsonValue] = {"name": "VLLM_PP_LAYER_PARTITION", "value": "30,50"}
    plan = planned(
        EIGHTY,
        parallelism=Parallelism(tensor=8, pipeline=2),
        context=200_000,
        fit=Fit(available_kv=Bytes.gib("5.0")),
        pods=Pods(env=(cut,)),
    )
    assert refused(plan) == {}
    found = plan.lead.memory
    assert [stage.layers for stage in found.stages] == [30, 50]
    assert [stage.cache_per_token for stage in found.stages] == [15_360, 25_600]
    assert cache.tokens(Bytes.gib("6.0"), 15_360, 16) == 419_424
    assert found.tokens == 209_712


@row("r06")
def test_a_context_that_does_not_fit_is_refused_with_the_longest_that_does() -> None:
    profile = model(measured=Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=32_768))
    plan = planned(profile, context=98_304, fit=Fit(available_kv=Bytes.gib("2.10")))
    finding = refused(plan)["model-does-not-fit"]
    assert "2.1 GiB measured for the cache" in finding.what
    assert "one request of 98304 tokens needs 3.0 GiB" in finding.what
    assert finding.seen["longest"] == "68800"
    assert "a context of at most 68800" in finding.fix
    assert Bytes.gib("2.10") // 32_768 == 68_812
    shorter = planned(profile, context=68_800, fit=Fit(available_kv=Bytes.gib("2.10")))
    assert refused(shorter) == {}


def with_heap(utilization: str, heap: str, visible: str = "139.7") -> ServingPlan:
    return planned(
        model(),
        on=node(visible=visible),
        engine=Engine(version="0.33.0", utilization=Decimal(utilization), heap=Bytes.gib(heap)),
    )


@row("r01-a")
def test_a_heap_that_the_rest_of_the_gpu_does_not_hold_is_refused() -> None:
    plan = with_heap("0.90", "16")
    assert list(refused(plan)) == ["heap-outside-share"]
    finding = refused(plan)["heap-outside-share"]
    found = plan.lead.memory
    assert two(found.outside) == Decimal("13.97")
    assert two(found.heap - found.outside) == Decimal("2.03")
    assert finding.at.path[-2:] == ("engine", "heap")
    assert "the heap of 16.00 GiB a GPU lies outside the engine's share" in finding.what
    assert "leaves 13.97 GiB: short by 2.03 GiB" in finding.what
    assert "engine.utilization: 0.878" in finding.fix


@row("r01-b")
def test_a_heap_that_the_rest_of_the_gpu_holds_is_accepted() -> None:
    plan = with_heap("0.87", "16")
    assert refused(plan) == {}
    found = plan.lead.memory
    assert two(found.outside) == Decimal("18.16")
    assert two(found.outside - found.heap) == Decimal("2.16")


@row("r01-c")
def test_a_heap_larger_than_what_is_free_is_named() -> None:
    plan = with_heap("0.9", "12.5", visible="110")
    assert two(plan.lead.memory.outside) == Decimal("11.00")
    finding = refused(plan)["heap-outside-share"]
    assert "the heap of 12.50 GiB" in finding.what
    assert "leaves 11.00 GiB" in finding.what
    assert "memory" not in finding.what


def on_a100(tensor: int, pipeline: int) -> ServingPlan:
    profile = ModelProfile(
        name="m",
        repository="org/m",
        weights="fp8",
        checkpoint=Bytes(480_200_000_000),
        parameters=480_200_000_000,
        expert_parameters=468_100_000_000,
        context_limit=262_144,
        architecture=Architecture(
            layers=62,
            hidden=6144,
            vocabulary=151_936,
            attention=Attention(kind="gqa", heads=96, kv_heads=8, head_dim=128),
            experts=Experts(routed=160, active=8, width=2560),
        ),
    )
    return planned(
        profile,
        on=node(product="NVIDIA-A100-SXM4-80GB", capability="8.0", visible="79.2"),
        parallelism=Parallelism(tensor=tensor, pipeline=pipeline),
        engine=Engine(version="0.33.0", utilization=Decimal("0.9")),
    )


@row("h36-p")
@pytest.mark.parametrize(("pipeline", "offered"), [(1, "570.2 GiB"), (2, "1,140.5 GiB")])
def test_fp8_without_native_units_is_said_with_both_sizes(pipeline: int, offered: str) -> None:
    plan = on_a100(8, pipeline)
    assert refused(plan) == {}
    what = warned(plan)["fp8-without-native-units"].what
    assert "kept at one byte a weight they take 447.2 GiB and run slower" in what
    assert "widened to bf16 894.4 GiB" in what
    assert what.endswith(f"offered are {offered}")


# ── weights and start ────────────────────────────────────────────────────────────────────────────


def downloaded(storage: str) -> ServingPlan:
    return planned(
        model(checkpoint=Bytes(480_200_000_000)),
        parallelism=Parallelism(tensor=8, pipeline=2),
        pods=Pods(resources=Resources(ephemeral_storage=Bytes.parse(storage))),
    )


@row("r34-p")
def test_a_download_larger_than_the_pods_storage_is_refused() -> None:
    finding = refused(downloaded("400Gi"))["checkpoint-exceeds-storage"]
    assert "downloads 447.2 GiB" in finding.what
    assert finding.what.endswith("short by 47.2 GiB")


def test_a_download_that_the_pods_storage_holds_is_accepted() -> None:
    plan = downloaded("500Gi")
    assert refused(plan) == {}
    left = plan.lead.pods.storage - plan.weights.on_pod_storage
    assert Bytes(left).human() == "52.8 GiB"


@row("h01-p")
def test_every_pod_of_a_group_fetches_the_whole_checkpoint() -> None:
    plan = planned(
        model(checkpoint=Bytes(2 * 405_800_000_000)),
        parallelism=Parallelism(tensor=8, pipeline=2),
        pods=Pods(resources=Resources(ephemeral_storage=Bytes.gib(800))),
    )
    assert refused(plan) == {}
    read = plan.lead.startup.read
    assert read.human() == "755.9 GiB"
    assert Bytes(read * plan.lead.shape.size).human() == "1,511.7 GiB"


SLOW = BytesPerSecond(round(Decimal("0.40") * 2**30))
"""0.40 GiB/s, to the nearest byte."""


def started(**changes: Any) -> ServingPlan:
    return planned(
        model(checkpoint=Bytes.gib("447.2")),
        parallelism=Parallelism(tensor=8, pipeline=2),
        weights=Weights(read_bandwidth=SLOW),
        **changes,
    )


@row("r18-a")
def test_the_startup_probe_allows_the_worst_cold_start() -> None:
    plan = started()
    found = plan.lead.startup
    assert found.load == 1118
    assert found.cold_start == 1358
    assert found.worst == found.budget == 2037
    probe = plan.lead.launch.leader.startup
    assert probe is not None
    assert (probe.failures, probe.period) == (204, 10)
    assert startup.budget(found.worst, Seconds(60 * 10)) > 600


def on_leader(**changes: Any) -> Patch:
    """A change to the container of the leader."""
    spec: dict[str, Any] = {"containers": [{"name": "engine", **changes}]}
    template: dict[str, Any] = {"leaderTemplate": {"spec": spec}}
    return Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": template}})


def test_a_startup_probe_shorter_than_the_cold_start_is_refused() -> None:
    """600 s allowed, 2037 s needed: the plan owns the probe, and names the input that a measured start goes into."""
    plan = started(patches=(on_leader(startupProbe={"failureThreshold": 60}),))
    with pytest.raises(InputError, match="change `coldStart`"):
        bundle(plan)


@row("r18-b")
def test_the_engines_own_time_limit_follows_the_startup_budget() -> None:
    """The row warns of 600 s. Here nobody can write it: the variable is the plan's, and no cure is claimed."""
    name = "VLLM_ENGINE_READY_TIMEOUT_S"
    plan = started()
    assert refused(plan) == {}
    for process in (plan.lead.launch.leader, plan.lead.launch.worker):
        assert process is not None
        assert {one.value for one in process.env if one.name == name} == {
            "2040"
        }  # 204 probes of 10 s
    short = started(pods=Pods(env=({"name": name, "value": "600"},)))
    assert list(refused(short)) == ["env-owned-by-plan"]
    finding = refused(short)["env-owned-by-plan"]
    assert "raise" not in finding.fix


def test_a_time_limit_of_the_engine_is_no_matter_of_patches() -> None:
    """In a foreign manifest a rule says it (`start-limit-below-probe`); in ours nobody can write it."""
    short = {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "600"}
    plan = started(patches=(on_leader(env=[short]),))
    with pytest.raises(InputError, match="coldStart"):
        bundle(plan)


PROBED = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: llm, namespace: m}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.33.0
            command: [vllm, serve, /models/m]
            args: [--port=8000, --tensor-parallel-size=8]
            env: [{env}]
            resources: {{limits: {{nvidia.com/gpu: "8"}}}}
            startupProbe: {{httpGet: {{path: /health, port: 8000}}, periodSeconds: 10, failureThreshold: {failures}}}
            readinessProbe: {{httpGet: {{path: /health, port: 8000}}}}
"""


def probed(failures: int, *, limit: str = "", takes: Seconds | None = None) -> dict[str, Finding]:
    """What the rules say of somebody's own probe, where the plan worked out how long a start takes at worst."""
    worst = started().lead.startup.worst if takes is None else takes
    env = f'{{name: VLLM_ENGINE_READY_TIMEOUT_S, value: "{limit}"}}' if limit else ""
    findings = judged(PROBED.format(failures=failures, env=env), takes=worst)
    return {one.code.id: one for one in findings}


def test_somebodys_own_probe_that_is_shorter_is_refused() -> None:
    finding = probed(60)["startup-probe-too-short"]
    assert finding.breaks
    assert finding.seen == {"allowed": "600 s", "least": "2037 s"}
    assert finding.fix == "write failureThreshold: 204"


def test_somebodys_own_probe_that_is_long_enough_is_accepted() -> None:
    assert "startup-probe-too-short" not in probed(204)
    assert "start-limit-below-probe" not in probed(204, limit="2040")


def test_a_limit_of_the_engine_below_the_probe_is_a_warning_without_a_promise() -> None:
    findings = probed(204, limit="600")
    assert "startup-probe-too-short" not in findings
    finding = findings["start-limit-below-probe"]
    assert finding.code.severity is Severity.DEGRADES
    assert finding.seen["limit"] == "600 s"
    assert "where the limit does not bound a normal start this changes nothing" in finding.fix


KILLED = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: m}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.33.0
            command: [vllm, serve, /models/m]
            args: [--port=8000, --tensor-parallel-size=8]
            resources: {limits: {nvidia.com/gpu: "8"}}
            livenessProbe:
              httpGet: {path: /health, port: 8000}
              initialDelaySeconds: 900
              periodSeconds: 10
              failureThreshold: 3
"""


@row("h33-p")
def test_a_liveness_probe_that_kills_a_loading_engine_is_refused() -> None:
    findings = {one.code.id: one for one in judged(KILLED)}
    finding = findings["liveness-before-loaded"]
    assert finding.breaks
    assert finding.seen["allowed"] == "930 s"


@pytest.mark.parametrize(("takes", "refuses"), [(960, True), (1500, True), (930, False)])
def test_it_is_refused_for_what_the_load_is_known_to_take(takes: int, refuses: bool) -> None:
    found = {one.code.id for one in judged(KILLED, takes=Seconds(takes)) if one.breaks}
    assert ("liveness-before-loaded" in found) is refuses


def test_our_own_liveness_starts_after_the_startup_probe() -> None:
    leader = planned(model(), cold_start=Seconds(1500)).lead.launch.leader
    assert leader.startup is not None
    assert leader.liveness is not None
    assert leader.startup.failures * leader.startup.period >= 1500


# ── rollouts ─────────────────────────────────────────────────────────────────────────────────────


def racks(count: int, surge: int, unavailable: int) -> ClusterPlan:
    """Groups of two nodes, each alone in a rack of three."""
    home = cluster(
        node(),
        pool={
            "levels": (RACK, "kubernetes.io/hostname"),
            "domains": tuple(Domain(at=(f"r{index}",), nodes=3) for index in range(count)),
        },
    )
    return summed(
        home,
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=3,
        rollout=Rollout(max_surge=surge, max_unavailable=unavailable),
        topology=TopologyRequest(level=RACK),
    )


@row("h13-p")
def test_a_surge_without_a_domain_of_its_own_is_refused() -> None:
    plan = racks(3, 1, 0)
    (packing,) = plan.pools[0].packings
    assert packing.wanted + packing.extra == 4
    assert packing.placed == 3
    assert refused(plan) != {}


def test_a_surge_with_a_domain_of_its_own_is_accepted() -> None:
    plan = racks(4, 1, 0)
    (packing,) = plan.pools[0].packings
    assert packing.placed == 4
    assert refused(plan) == warned(plan) == {}


@row("h13-q")
def test_a_rollout_in_place_needs_no_further_domain() -> None:
    plan = racks(3, 0, 1)
    assert refused(plan) == warned(plan) == {}
    assert plan.servings[0].lead.rollout.floor == 2


@row("h23-p")
@pytest.mark.parametrize("unavailable", [2, 1])
def test_a_single_group_with_an_unavailable_one_does_not_surge(unavailable: int) -> None:
    plan = planned(
        model(),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=1,
        rollout=Rollout(max_surge=1, max_unavailable=unavailable),
    )
    assert refused(plan) == {}
    assert (plan.lead.rollout.peak, plan.lead.rollout.floor) == (1, 0)
    assert "surge-does-not-happen" in warned(plan)
    assert warned(plan)["surge-does-not-happen"].fix == "set maxUnavailable 0"


def test_a_single_group_without_an_unavailable_one_surges() -> None:
    assert rollout.peak(1, 1, 0) == 2


@row("h10-p")
@pytest.mark.parametrize(("gpus", "code"), [(144, None), (128, "surge-has-no-room")])
def test_the_peak_of_a_rollout_is_held_against_the_pool(gpus: int, code: str | None) -> None:
    plan = summed(
        cluster(node(), pool={"nodes": gpus // 8}),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=6,
        rollout=Rollout(max_surge=3, max_unavailable=2),
    )
    assert refused(plan) == {}
    assert plan.servings[0].lead.rollout.peak == 9
    assert plan.pools[0].peak * 8 == 144
    assert list(warned(plan)) == ([code] if code else [])


@row("r19")
@pytest.mark.parametrize(("lws", "warns"), [("0.6", True), ("0.7", False)])
def test_a_rollout_that_cannot_repair_is_said(lws: str, warns: bool) -> None:
    home = cluster(node(), versions=Installed(kubernetes="1.36", lws=lws))
    plan = planned(
        model(),
        on=home,
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=4,
        rollout=Rollout(max_surge=1, max_unavailable=0),
    )
    assert refused(plan) == {}
    assert ("rollout-never-repairs" in warned(plan)) is warns
    if warns:
        finding = warned(plan)["rollout-never-repairs"]
        assert finding.what.endswith("with no group ready, 1 step waits for ever")
        assert finding.fix == "delete the leaders of the broken groups, or upgrade to 0.7"


# ── disruption, names, quota ─────────────────────────────────────────────────────────────────────

BUDGET = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: llm, namespace: m}}
spec:
  replicas: 4
  leaderWorkerTemplate: {{size: 8, workerTemplate: {{spec: {{containers: []}}}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: llm, namespace: m}}
spec:
  {field}: {value}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {{matchLabels: {{leaderworkerset.sigs.k8s.io/name: llm}}}}
"""


def judged(text: str, *, takes: Seconds | None = None) -> list[Finding]:
    """What the rules say; `takes`: how long a start of every workload is known to take."""
    documents = [Document(manifest=one, builder="") for one in yaml.safe_load_all(text)]
    known = None if takes is None else {one.key: takes for one in documents}
    return judge(Documents(documents), Context(cold_starts=known))


def budgeted(field: str, value: int) -> dict[str, Finding]:
    return {
        one.code.id: one
        for one in judged(BUDGET.format(field=field, value=value))
        if one.code.id.startswith("budget-")
    }


@row("r28-a")
def test_a_budget_in_pods_lets_many_groups_go() -> None:
    findings = budgeted("minAvailable", 24)
    assert list(findings) == ["budget-allows-many-groups"]
    finding = findings["budget-allows-many-groups"]
    assert finding.code.severity is Severity.DEGRADES
    assert finding.seen == {"evictions": "8", "groups": "4"}


@row("r28-b")
def test_a_budget_one_pod_below_the_set_blocks_once_a_pod_is_broken() -> None:
    findings = budgeted("minAvailable", 31)
    assert list(findings) == ["budget-blocks-when-broken"]
    assert findings["budget-blocks-when-broken"].seen == {"pods": "32", "evictions": "1"}


def test_such_a_budget_is_refused_in_our_own_output() -> None:
    operations: tuple[dict[str, Any], ...] = (
        {"op": "remove", "path": "/spec/maxUnavailable"},
        {"op": "add", "path": "/spec/minAvailable", "value": 31},
    )
    plan = planned(
        model(),
        parallelism=Parallelism(tensor=8, pipeline=8),
        groups=4,
        patches=(Patch(kind="PodDisruptionBudget", operations=operations),),
    )
    with pytest.raises(InputError, match="change `disruption`"):
        bundle(plan)


def test_a_budget_of_one_unavailable_pod_is_accepted_and_ours() -> None:
    assert budgeted("maxUnavailable", 1) == {}
    (budget,) = planned(
        model(), parallelism=Parallelism(tensor=8, pipeline=8), groups=4
    ).disruption.budgets
    assert (budget.max_unavailable, budget.min_available) == (1, None)


def named(length: int, groups: int) -> ServingPlan:
    return planned(
        model(), name="a" * length, groups=groups, parallelism=Parallelism(tensor=8, pipeline=2)
    )


@row("r30")
@pytest.mark.parametrize(("length", "groups", "bound"), [(54, 10, 50), (51, 10, 50), (50, 11, 49)])
def test_a_name_over_the_bound_of_the_highest_index_is_refused(
    length: int, groups: int, bound: int
) -> None:
    finding = refused(named(length, groups))["name-too-long"]
    assert finding.seen == {"length": str(length), "longest": str(bound)}


@pytest.mark.parametrize(("length", "groups"), [(50, 10), (49, 11)])
def test_a_name_at_the_bound_is_accepted(length: int, groups: int) -> None:
    assert refused(named(length, groups)) == {}


def scaled(quota: str) -> ClusterPlan:
    amounts = {
        "cpu": "100k",
        "memory": "100Ti",
        "ephemeral-storage": "1Pi",
        "nvidia.com/gpu": quota,
    }
    return summed(
        cluster(node(), kueue=KueueSettings(lws_framework="enabled", quota={"gpu": amounts})),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=None,
        autoscaling=Autoscaling(min=2, max=5),
        rollout=Rollout(max_surge=0),
        admission=Admission(backend="kueue", queue="serving"),
        weights=Weights(read_bandwidth=BytesPerSecond.parse("2GiB/s")),
    )


@row("h09-p")
def test_a_quota_below_the_autoscalers_maximum_is_refused() -> None:
    findings = refused(scaled("64"))
    assert list(findings) == ["quota-too-small"]
    assert findings["quota-too-small"].seen == {"needed": "80", "quota": "64"}


def test_a_quota_for_the_autoscalers_maximum_is_accepted() -> None:
    plan = scaled("80")
    assert refused(plan) == {}
    assert plan.quota["gpu"]["nvidia.com/gpu"] == 80
