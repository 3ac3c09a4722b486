"""vLLM: what its pods run, read as an operator reads them; every refusal with a neighbour that is accepted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from time import monotonic
from typing import Any

import pytest

from gangform.apis.forms import Rendezvous
from gangform.apis.versions import Release
from gangform.engines.engine import (
    EnvVar,
    LaunchRequest,
    Port,
    Probe,
    Process,
    Shape,
    engine,
)
from gangform.engines.vllm import Vllm
from gangform.findings import Finding, InputPath, Severity
from gangform.inputs.defaults import EDITIONS
from gangform.inputs.hardware import Gpu, HardwareShape, Rdma
from gangform.inputs.model import Architecture, Attention, Experts, Measured, ModelProfile
from gangform.inputs.serving import Engine as EngineOptions
from gangform.units import Bytes, Millicores, Seconds

HARDWARE = HardwareShape(
    name="h100-8x",
    gpu=Gpu(
        product="NVIDIA-H100-80GB-HBM3",
        count=8,
        visible_memory=Bytes.gib("79.19"),
        capability="9.0",
    ),
    cpu=Millicores(190_000),
    memory=Bytes.gib(1900),
    ephemeral_storage=Bytes.gib(6000),
    rdma=Rdma(resource="rdma/ib", hca="ibp"),
    socket_interface="eth0",
)
A100 = HARDWARE.model_copy(
    update={
        "gpu": HARDWARE.gpu.model_copy(
            update={"capability": "8.0", "visible_memory": Bytes.gib("79.2")}
        )
    }
)
GROUP = Rendezvous(
    address="$(LWS_LEADER_ADDRESS)", rank="$(LWS_WORKER_INDEX)", size="$(LWS_GROUP_SIZE)"
)


def model(
    *,
    weights: Any = "fp8",
    block: int | None = 128,
    heads: int = 128,
    kv_heads: int | None = None,
    head_dim: int = 128,
    vocabulary: int = 129280,
    dense_width: int | None = 18432,
    dense_layers: int | None = 3,
    experts: Experts | None = None,
    parameters: int = 671_026_419_200,
    limit: int = 163840,
) -> ModelProfile:
    attention = (
        Attention(kind="mla", heads=heads, latent=576)
        if kv_heads is None
        else Attention(kind="gqa", heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    )
    return ModelProfile(
        name="m",
        repository="org/m",
        weights=weights,
        quantization_block=block,
        checkpoint=Bytes(parameters),
        parameters=parameters,
        context_limit=limit,
        architecture=Architecture(
            layers=61,
            hidden=7168,
            vocabulary=vocabulary,
            attention=attention,
            dense_width=dense_width,
            dense_layers=dense_layers,
            experts=experts,
        ),
    )


R1 = model(experts=Experts(routed=256, active=8, width=2048, shared=1))
DENSE = model(
    weights="bf16", block=None, kv_heads=8, heads=64, vocabulary=128256, dense_layers=None
)


def ask(
    profile: ModelProfile = R1,
    *,
    version: str = "0.32.0",
    tensor: int = 8,
    pipeline: int = 1,
    data: int = 1,
    prefill_context: int = 1,
    decode_context: int = 1,
    expert_parallel: bool = False,
    size: int | None = None,
    args: tuple[str, ...] = (),
    hardware: HardwareShape = HARDWARE,
    context: int = 32768,
    **options: Any,
) -> LaunchRequest:
    world = tensor * pipeline * data * prefill_context
    size = size or -(-world // 8)
    return LaunchRequest(
        at=("servings", "r1"),
        options=EngineOptions(version=version, args=args, **options),
        release=Release.parse(version),
        model=profile,
        hardware=hardware,
        shape=Shape(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            prefill_context=prefill_context,
            decode_context=decode_context,
            expert_parallel=expert_parallel,
            gpus_per_pod=min(8, world // size),
            size=size,
        ),
        context=context,
        served_name="deepseek-r1",
        model_reference="deepseek-ai/DeepSeek-R1",
        cache_home="/cache",
        token=("hub-token", "token"),
        rendezvous=GROUP if size > 1 else None,
        startup_budget=Seconds(2705),
        defaults=EDITIONS[1],
    )


def container(process: Process) -> dict[str, Any]:
    return {"name": "vllm", "command": list(process.command), "args": list(process.args)}


def ids(request: LaunchRequest) -> list[str]:
    return [found.code.id for found in Vllm().check(request)]


def only(request: LaunchRequest, code: str) -> Finding:
    (found,) = (found for found in Vllm().check(request) if found.code.id == code)
    return found


def place(found: Finding) -> str:
    assert isinstance(found.at, InputPath)
    assert found.at.path[:2] == ("servings", "r1")
    return ".".join(map(str, found.at.path[2:]))


# ── launch ───────────────────────────────────────────────────────────────────────────────────────


def test_the_registry_knows_it() -> None:
    assert isinstance(engine("vllm"), Vllm)


def test_tensor_8_pipeline_2_runs_as_an_operator_would_write_it() -> None:
    launch = Vllm().launch(ask(pipeline=2, version="0.33.0"))
    assert launch.leader.command == ("vllm", "serve")
    assert launch.leader.args == (
        "deepseek-ai/DeepSeek-R1",
        "--served-model-name=deepseek-r1",
        "--max-model-len=32768",
        "--gpu-memory-utilization=0.92",
        "--tensor-parallel-size=8",
        "--pipeline-parallel-size=2",
        "--port=8000",
        "--shutdown-timeout=60",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501",
        "--node-rank=0",
    )
    assert launch.worker is not None
    assert launch.worker.command == ("vllm", "serve")
    assert launch.worker.args == (
        "deepseek-ai/DeepSeek-R1",
        "--served-model-name=deepseek-r1",
        "--max-model-len=32768",
        "--gpu-memory-utilization=0.92",
        "--tensor-parallel-size=8",
        "--pipeline-parallel-size=2",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501",
        "--node-rank=$(LWS_WORKER_INDEX)",
        "--headless",
    )


def test_a_group_gets_its_variables_on_every_pod() -> None:
    launch = Vllm().launch(ask(pipeline=2))
    assert launch.worker is not None
    assert (
        launch.leader.env
        == launch.worker.env
        == (
            EnvVar("VLLM_HOST_IP", field="status.podIP"),
            EnvVar("NCCL_SOCKET_IFNAME", "eth0"),
            EnvVar("GLOO_SOCKET_IFNAME", "eth0"),
            EnvVar("NCCL_IB_HCA", "ibp"),
            EnvVar("VLLM_ENGINE_READY_TIMEOUT_S", "2710"),
            EnvVar("HF_HOME", "/cache"),
            EnvVar("HF_TOKEN", secret=("hub-token", "token")),
        )
    )


def test_one_pod_has_no_rendezvous_and_no_worker() -> None:
    launch = Vllm().launch(ask())
    assert launch.worker is None
    assert launch.leader.ports == (Port("http", 8000),)
    assert not [one for one in launch.leader.args if "nnodes" in one or "master" in one]
    assert launch.leader.env[0].name == "VLLM_ENGINE_READY_TIMEOUT_S"


def test_a_local_model_goes_offline() -> None:
    local = ask()._replace(cache_home=None, token=None, model_reference="/models/r1")
    launch = Vllm().launch(local)
    assert launch.leader.args[0] == "/models/r1"
    assert launch.leader.env[-1] == EnvVar("HF_HUB_OFFLINE", "1")


def test_probes_are_the_leaders_and_a_worker_opens_nothing() -> None:
    launch = Vllm().launch(ask(pipeline=2))
    leader, worker = launch.leader, launch.worker
    assert leader.ports == (Port("http", 8000), Port("rendezvous", 29501))
    assert leader.startup == Probe("/health", "http", Seconds(10), 271, Seconds(3))
    assert leader.readiness == Probe("/health", "http", Seconds(5), 2, Seconds(3))
    assert leader.liveness == Probe("/health", "http", Seconds(30), 3, Seconds(10))
    assert worker is not None
    assert worker.ports == ()
    assert worker.startup is worker.readiness is worker.liveness is None


def test_the_grace_period_holds_sleep_drain_and_margin() -> None:
    known = Vllm().launch(ask(version="0.33.0", pipeline=2))
    assert (known.leader.pre_stop, known.drain, known.grace) == (15, 60, 90)
    assert known.worker is not None
    assert known.worker.pre_stop == 75  # it outlives the leader's drain
    unknown = Vllm().launch(ask(version="0.32.0"))
    assert (unknown.leader.pre_stop, unknown.drain, unknown.grace) == (15, 0, 30)
    assert not [one for one in unknown.leader.args if "shutdown" in one]


def test_a_drain_of_the_users_own_moves_the_grace_period() -> None:
    launch = Vllm().launch(ask(version="0.33.0", args=("--shutdown-timeout", "300")))
    assert launch.grace == 330
    assert [one for one in launch.leader.args if "shutdown" in one] == ["--shutdown-timeout"]


def test_the_users_arguments_come_last_on_every_pod() -> None:
    launch = Vllm().launch(ask(pipeline=2, args=("--max-num-seqs=64", "--trust-remote-code")))
    assert launch.leader.args[-2:] == ("--max-num-seqs=64", "--trust-remote-code")
    assert launch.worker is not None
    assert launch.worker.args[-2:] == ("--max-num-seqs=64", "--trust-remote-code")


def test_every_size_beyond_one_is_written() -> None:
    args = (
        Vllm()
        .launch(
            ask(
                version="0.33.0",
                data=2,
                decode_context=4,
                expert_parallel=True,
                kv_cache_type="fp8",
                utilization=Decimal("0.88"),
            )
        )
        .leader.args
    )
    for one in (
        "--data-parallel-size=2",
        "--decode-context-parallel-size=4",
        "--enable-expert-parallel",
        "--kv-cache-dtype=fp8",
        "--gpu-memory-utilization=0.88",
    ):
        assert one in args


def test_the_image_is_the_published_one_unless_named() -> None:
    assert Vllm().launch(ask(version="0.32")).image == "vllm/vllm-openai:v0.32.0"
    assert Vllm().launch(ask(image="registry.local/vllm:7")).image == "registry.local/vllm:7"


@pytest.mark.parametrize(
    ("version", "ready", "drains", "share"),
    [
        ("0.12.0", False, False, "0.9"),
        ("0.20.2", True, False, "0.9"),
        ("0.33.0", True, True, "0.92"),
    ],
)
def test_releases_differ(version: str, ready: bool, drains: bool, share: str) -> None:
    leader = Vllm().launch(ask(pipeline=2, version=version)).leader
    assert ("VLLM_ENGINE_READY_TIMEOUT_S" in [one.name for one in leader.env]) is ready
    assert ("--shutdown-timeout=60" in leader.args) is drains
    assert f"--gpu-memory-utilization={share}" in leader.args


# ── launch, read back ────────────────────────────────────────────────────────────────────────────


def test_what_is_launched_is_read_back() -> None:
    launch = Vllm().launch(ask(pipeline=2, version="0.33.0"))
    assert launch.worker is not None
    leader, worker = (Vllm().read(container(one)) for one in (launch.leader, launch.worker))
    assert leader is not None and worker is not None
    group = "$(LWS_GROUP_SIZE)"
    assert leader[:6] == ("vllm", True, 8000, 16, group, "0")
    assert worker[:6] == ("vllm", False, 8000, 16, group, "$(LWS_WORKER_INDEX)")
    assert leader.all_ranks and worker.all_ranks and not leader.opens_early
    assert (leader.tensor, leader.address) == (8, "$(LWS_LEADER_ADDRESS)")


# ── checks ───────────────────────────────────────────────────────────────────────────────────────


def test_a_sound_request_has_no_finding() -> None:
    assert ids(ask()) == []
    assert ids(ask(pipeline=2)) == []
    assert ids(ask(DENSE, kv_cache_type="fp8", utilization=Decimal("0.9"))) == []


def test_tensor_3_does_not_divide_64_heads() -> None:
    """r02-e."""
    profile = model(heads=64, block=None, vocabulary=192, dense_width=None, dense_layers=0)
    found = only(ask(profile, tensor=3), "tensor-does-not-divide-heads")
    assert found.what == "tensor 3 does not divide 64 attention heads"
    assert found.fix == "use tensor 2 or 4"
    assert place(found) == "parallelism.tensor"
    assert ids(ask(profile, tensor=4)) == []


def test_tensor_5_divides_heads_and_not_the_vocabulary() -> None:
    profile = model(
        weights="bf16", block=None, heads=40, kv_heads=8, vocabulary=151936, dense_layers=None
    )
    found = only(ask(profile, tensor=5), "tensor-does-not-divide-vocabulary")
    assert found.fix == "use tensor 4 or 8"
    assert ids(ask(profile, tensor=4)) == []


def test_key_value_heads_are_cut_or_copied_evenly() -> None:
    profile = model(
        weights="bf16", block=None, heads=96, kv_heads=8, vocabulary=1200, dense_layers=None
    )
    assert ids(ask(profile, tensor=6)) == ["tensor-does-not-divide-kv-heads"]
    assert ids(ask(profile, tensor=4)) == []
    assert ids(ask(profile, tensor=16)) == []


@pytest.mark.parametrize(("tensor", "fits"), [(8, True), (16, True), (32, False)])
def test_dense_layers_in_blocks_of_128(tensor: int, fits: bool) -> None:
    """r02-a."""
    found = list(Vllm().check(ask(model(), tensor=tensor)))
    if fits:
        assert found == []
        return
    (one,) = found
    assert one.code.id == "fp8-block-is-cut"
    assert one.code.severity is Severity.BREAKS
    assert one.what == "dense layers: 18432 over 32 ranks is 576 = 4.5 blocks of 128"
    assert one.fix == "use tensor 16"


EXPERTS_1536 = model(
    heads=64,
    kv_heads=4,
    vocabulary=151936,
    dense_width=None,
    dense_layers=0,
    experts=Experts(routed=128, active=8, width=1536),
)


def test_experts_of_1536_are_cut_by_tensor_8() -> None:
    """r02-b."""
    found = only(ask(EXPERTS_1536), "fp8-block-is-cut")
    assert found.what == "experts: 1536 over 8 ranks is 192 = 1.5 blocks of 128"
    assert found.fix == (
        "use tensor 4, or set parallelism.expertParallel: true, which keeps experts whole"
    )
    assert ids(ask(EXPERTS_1536, tensor=4)) == []


def test_expert_parallelism_keeps_experts_whole() -> None:
    """r02-c."""
    assert ids(ask(EXPERTS_1536, expert_parallel=True)) == []


def test_data_parallel_ranks_cut_experts_too() -> None:
    two = ask(EXPERTS_1536, tensor=4, data=2, size=1)
    assert ids(two) == ["fp8-block-is-cut"]
    assert ids(two._replace(shape=two.shape._replace(expert_parallel=True))) == []


def test_blocks_hold_for_shared_experts_and_key_value_heads() -> None:
    shared = model(
        dense_width=None,
        dense_layers=0,
        experts=Experts(routed=384, active=6, width=3072, shared=1),
    )
    found = only(ask(shared, tensor=16, expert_parallel=True), "fp8-block-is-cut")
    assert found.what.startswith("shared experts: 3072 over 16 ranks is 192")
    assert ids(ask(shared, tensor=8, expert_parallel=True)) == []
    narrow = model(heads=64, kv_heads=8, head_dim=64, dense_layers=None)
    assert ids(ask(narrow, tensor=8)) == ["fp8-block-is-cut"]
    assert ids(ask(narrow, tensor=4)) == []


def test_160_experts_over_12_ranks_are_refused() -> None:
    """r02-d, first."""
    profile = model(
        weights="bf16",
        block=None,
        heads=96,
        kv_heads=4,
        vocabulary=151932,
        experts=Experts(routed=160, active=8, width=1536),
    )
    request = ask(profile, tensor=12, expert_parallel=True)
    found = only(request, "experts-do-not-divide")
    assert found.what == "160 experts over 12 ranks is 13.33 a rank"
    assert place(found) == "parallelism.expertParallel"
    assert "8 redundant experts" in found.fix
    assert "experts-do-not-divide" not in ids(ask(profile, tensor=4, expert_parallel=True))


@pytest.mark.parametrize(
    "args",
    [
        ("--enable-eplb", '--eplb-config={"num_redundant_experts": 8}'),
        ("--enable-eplb", "--eplb-config", '{"num_redundant_experts": 8}'),
        ("--enable-eplb", "--eplb-config.num_redundant_experts=8"),
    ],
)
def test_256_experts_and_8_redundant_fit_24_ranks(args: tuple[str, ...]) -> None:
    """r02-d, second."""
    request = ask(version="0.33.0", tensor=1, data=24, expert_parallel=True)
    assert ids(request) == ["experts-do-not-divide"]
    spare = request._replace(options=request.options.model_copy(update={"args": args}))
    assert ids(spare) == ["engine-args-change-memory"]


def test_redundant_experts_want_the_balancer() -> None:
    args = ("--eplb-config.num_redundant_experts=8",)
    assert ids(ask(args=args)) == ["engine-args-conflict"]


def test_a_dense_model_has_no_data_or_expert_parallelism() -> None:
    found = only(ask(DENSE, tensor=4, data=2), "no-experts")
    assert found.fix == "set parallelism.data: 1 and 2 times the groups"
    assert ids(ask(DENSE, expert_parallel=True)) == ["no-experts"]
    assert ids(ask(tensor=4, data=2)) == []


def test_data_ranks_fill_pods() -> None:
    assert "data-rank-cuts-pod" in ids(ask(version="0.33", tensor=4, pipeline=3, data=2))
    assert ids(ask(version="0.33", tensor=8, pipeline=2, data=2)) == []
    assert ids(ask(version="0.33", tensor=4, data=4)) == []


def test_decode_context_divides_tensor() -> None:
    found = only(ask(decode_context=3), "decode-context-does-not-fit")
    assert place(found) == "parallelism.decodeContext"
    assert found.fix == "use decodeContext 2"
    assert ids(ask(decode_context=8)) == []


def test_decode_context_uses_copied_heads_only() -> None:
    found = only(ask(DENSE, decode_context=2), "decode-context-does-not-fit")
    assert found.fix == "use decodeContext 1"
    assert ids(ask(EXPERTS_1536, decode_context=2, expert_parallel=True)) == []


def test_prefill_context_and_data_exclude_each_other() -> None:
    found = only(
        ask(version="0.33", tensor=2, data=2, prefill_context=2), "prefill-context-with-data"
    )
    assert place(found) == "parallelism.prefillContext"
    assert ids(ask(version="0.33", tensor=4, prefill_context=2)) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.11.0", ["release-cannot-span-nodes"]),
        ("0.11.1", ["release-miscounts-devices"]),
        ("0.12.0", ["release-miscounts-devices"]),
        ("0.13.0", ["release-not-recommended"]),
        ("0.21.0", ["release-not-recommended"]),
        ("0.22.0", []),
        ("0.40.0", []),
    ],
)
def test_groups_need_a_release(version: str, expected: list[str]) -> None:
    assert ids(ask(pipeline=2, version=version)) == expected
    assert ids(ask(version=version)) == []


def test_a_flag_newer_than_the_release_names_its_input() -> None:
    prefill = only(ask(version="0.22.0", tensor=4, prefill_context=2), "flag-newer-than-release")
    assert place(prefill) == "parallelism.prefillContext"
    assert "0.33" in prefill.what and "0.22" in prefill.what
    data = only(ask(version="0.32.0", data=2, expert_parallel=True), "flag-newer-than-release")
    assert place(data) == "parallelism.data"
    assert ids(ask(version="0.33.0", data=2, expert_parallel=True)) == []
    decode = only(ask(version="0.11.0", decode_context=2), "flag-newer-than-release")
    assert place(decode) == "parallelism.decodeContext"


@pytest.mark.parametrize(("pods", "offered"), [(1, "570.2 GiB"), (2, "1,140.5 GiB")])
def test_fp8_on_gpus_without_its_units_is_said_with_both_figures(pods: int, offered: str) -> None:
    """h36-p."""
    profile = model(
        block=None,
        heads=96,
        kv_heads=8,
        vocabulary=151936,
        dense_layers=0,
        parameters=480_200_000_000,
        experts=Experts(routed=160, active=8, width=2560),
    )
    request = ask(profile, pipeline=pods, hardware=A100, utilization=Decimal("0.9"))
    found = only(request, "fp8-without-native-units")
    assert found.code.severity is Severity.DEGRADES
    for figure in ("447.2 GiB", "894.4 GiB", offered, "8.0"):
        assert figure in found.what
    assert place(found) == "pool"
    assert ids(ask(profile)) == []
    assert ids(request._replace(model=profile.model_copy(update={"weights": "bf16"}))) == []


def test_a_context_beyond_the_model_is_refused_unless_stretched() -> None:
    found = only(ask(context=163841), "context-beyond-model")
    assert found.fix.startswith("use context 163840 or less")
    assert ids(ask(context=163840)) == []
    assert ids(ask(context=200000, args=('--hf-overrides={"rope_scaling": {}}',))) == []


@pytest.mark.parametrize(
    ("share", "unusual"), [("0.99", True), ("0.98", True), ("0.97", False), ("0.3", True)]
)
def test_an_unusual_utilization_is_said(share: str, unusual: bool) -> None:
    assert ids(ask(utilization=Decimal(share))) == ["utilization-unusual"] * unusual


def test_a_model_of_unknown_architecture_is_checked_as_far_as_it_goes() -> None:
    measured = ModelProfile(
        name="m",
        repository="org/m",
        weights="bf16",
        checkpoint=Bytes.gib(100),
        context_limit=8192,
        measured=Measured(weights_per_gpu=Bytes.gib(12), kv_bytes_per_token=4096),
    )
    assert ids(ask(measured, tensor=7, context=8192)) == []
    assert ids(ask(measured, tensor=7, context=9000)) == ["context-beyond-model"]


# ── arguments of the user ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("argument", "field"),
    [
        ("--tensor-parallel-size=4", "parallelism.tensor"),
        ("-tp=4", "parallelism.tensor"),
        ("-tp", "parallelism.tensor"),
        ("--tensor_parallel_size=4", "parallelism.tensor"),
        ("--pipeline-parallel-size=2", "parallelism.pipeline"),
        ("-pp", "parallelism.pipeline"),
        ("-dp", "parallelism.data"),
        ("-dcp=2", "parallelism.decodeContext"),
        ("--enable-expert-parallel", "parallelism.expertParallel"),
        ("--no-enable-expert-parallel", "parallelism.expertParallel"),
        ("--max-model-len=8192", "context"),
        ("--served-model-name=x", "servedModelName"),
        ("--gpu-memory-utilization=0.5", "engine.utilization"),
        ("--kv-cache-dtype=fp8", "engine.kvCacheType: fp8"),
        ("--nnodes=2", None),
        ("--node-rank=1", None),
        ("--master-addr=x", None),
        ("--headless", None),
        ("--port=80", None),
        ("--data-parallel-hybrid-lb", None),
        ("--tensor-paralle=4", "parallelism.tensor"),
        ("--pipeline_par=4", "parallelism.pipeline"),
        ("--serve=x", "servedModelName"),
        ("--no-enable-expert", "parallelism.expertParallel"),
        ("--nnode=2", None),
        ("--headl", None),
    ],
)
def test_a_flag_of_the_plan_is_refused_with_its_input(argument: str, field: str | None) -> None:
    found = only(ask(args=("--max-num-seqs=64", argument)), "engine-args-repeat-plan")
    assert place(found) == "engine.args.1"
    assert field is None or f"set {field}" in found.fix


@pytest.mark.parametrize(
    "argument",
    [
        "--max-num-seqs=64",
        "--trust-remote-code",
        "--host=::",
        "--host=0.0.0.0",
        "--host=$(POD_IP)",
        "--max=1",
        "--tensor-parallelism=4",
        "--max-num-batched-tokens",
        "--seed=1",
    ],
)
def test_other_arguments_pass(argument: str) -> None:
    assert ids(ask(pipeline=2, args=(argument,))) == []


@pytest.mark.parametrize(
    ("argument", "group", "one_pod"),
    [
        ("--distributed-executor-backend=ray", True, False),
        ("--distributed-executor-backend=mp", False, False),
        ("-dpb=ray", True, False),
        ("--api-server-count=2", True, False),
        ("--enable-elastic-ep", True, False),
        ("--uds=/tmp/socket", True, True),
        ("--ssl-keyfile=/key", True, True),
        ("--config=/etc/vllm.yaml", True, True),
        ("--grpc", True, True),
        ("--host=127.0.0.1", True, True),
        ("--distributed-executor=ray", True, False),
    ],
)
def test_arguments_that_the_shape_does_not_bear(argument: str, group: bool, one_pod: bool) -> None:
    conflict = ["engine-args-conflict"]
    assert ids(ask(pipeline=2, args=(argument,))) == conflict * group
    assert ids(ask(args=(argument,))) == conflict * one_pod


def test_a_stage_holds_a_layer() -> None:
    found = only(ask(DENSE, pipeline=62, size=62), "pipeline-longer-than-model")
    assert (place(found), found.fix) == ("parallelism.pipeline", "use pipeline 61 or less")
    assert "pipeline-longer-than-model" not in ids(ask(DENSE, pipeline=61, size=61))


def test_absurd_sizes_are_answered_at_once() -> None:
    began = monotonic()
    absurd = ask(DENSE, tensor=10**9 + 7, decode_context=10**9, size=2)
    assert "tensor-does-not-divide-heads" in ids(absurd)
    assert monotonic() - began < 5


def test_a_leader_is_ready_with_all_its_ranks_only() -> None:
    assert not Vllm.ready_before_workers
    launch = Vllm().launch(ask(pipeline=2))
    reading = Vllm().read(container(launch.leader))
    assert reading is not None and reading.all_ranks
    alone = Vllm().read(container(Vllm().launch(ask()).leader))
    assert alone is not None and not alone.all_ranks


def test_two_words_in_one_item_are_refused() -> None:
    found = only(ask(args=("--max-num-seqs 64",)), "engine-args-joined")
    assert found.fix == "write --max-num-seqs=64, or two items"
    assert ids(ask(args=("--max-num-seqs", "64"))) == []


def test_arguments_that_change_memory_are_said() -> None:
    found = only(ask(args=("--kv-cache-memory-bytes=30G",)), "engine-args-change-memory")
    assert found.code.severity is Severity.DEGRADES
    assert ids(ask(args=("--kv-cache-dtype=fp8_ds_mla",))) == ["engine-args-change-memory"]


def test_every_finding_has_a_fix_and_stands_at_the_serving() -> None:
    worst = ask(
        version="0.11.0",
        tensor=7,
        pipeline=3,
        data=2,
        prefill_context=2,
        decode_context=3,
        expert_parallel=True,
        hardware=A100,
        context=10**7,
        args=("-tp=3", "--uds=x", "--block-size=32", "--a b"),
    )
    found = list(Vllm().check(worst))
    assert len({one.code.id for one in found}) > 10
    for one in found:
        assert place(one) and one.fix and not one.what.endswith(".")
    Vllm().launch(worst)
    assert Vllm().memory(worst).overhead > 0
    assert Fraction(Vllm().memory(worst).utilization) == Fraction(9, 10)
