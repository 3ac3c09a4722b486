"""vLLM: what its pods run, what a GPU holds beside weights and cache, and what of a foreign container is vLLM.

One `vllm serve` a pod, joined by torch's own rendezvous and without Ray: every pod runs the same command but for its
rank, workers are headless (`engines §1.1`, `§1.3`). The leader opens its port only when every rank is loaded, so a
probe of `/health` means the whole group (`engines §1.6`); a headless worker opens none and has no probe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gangform.apis.alerting import Alert
from gangform.apis.versions import Release
from gangform.documents.document import Manifest
from gangform.engines import (
    vllm_alerts,
    vllm_args,
    vllm_check,
    vllm_flags,
    vllm_memory,
    vllm_read,
    vllm_series,
    vllm_translate,
)
from gangform.engines.engine import (
    EngineReading,
    EnvVar,
    Launch,
    LaunchRequest,
    MemoryTerms,
    Port,
    Probe,
    Process,
    Translation,
    Watched,
)
from gangform.engines.flags import is_number, last
from gangform.engines.vllm_flags import FLAGS, NEWEST
from gangform.findings import Finding
from gangform.units import Seconds

if TYPE_CHECKING:
    from gangform.apis.panels import EngineChoice, Panel

IMAGE = "vllm/vllm-openai"
"""The published image; its tags are `v` and three numbers."""

HTTP = Port("http", 8000)
RENDEZVOUS = Port("rendezvous", 29501)
"""vLLM's default `--master-port`, written all the same (`engines §1.4`)."""


class Vllm:
    """The engine `vllm`."""

    name: ClassVar[str] = "vllm"
    waiting_metric: ClassVar[str] = vllm_series.PREFIX + vllm_series.WAITING
    running_metric: ClassVar[str] = vllm_series.PREFIX + vllm_series.RUNNING
    newest: ClassVar[Release] = NEWEST
    ready_before_workers: ClassVar[bool] = False

    def check(self, ask: LaunchRequest) -> Iterator[Finding]:
        """The engine's own start-up refusals, found beforehand (`engines §1.2`)."""
        return vllm_check.check(ask)

    def memory(self, ask: LaunchRequest) -> MemoryTerms:
        """Utilisation, overheads by class of release, and how the cache is stored."""
        return vllm_memory.terms(ask)

    def panels(self, release: Release, choice: EngineChoice) -> Sequence[Panel]:
        """Latency, load and cache, by the names of the release."""
        from gangform.engines.vllm_panels import panels

        return tuple(panels(release, choice))

    def launch(self, ask: LaunchRequest) -> Launch:
        """Command, arguments, variables, ports, probes and drain of leader and workers."""
        group = ask.rendezvous if ask.shape.size > 1 else None
        flags = _model_flags(ask)
        drain, drains = _drain(ask)
        user = ask.options.args
        serving = [f"--port={HTTP.number}", *drains]
        period = ask.defaults.startup_period
        failures = max(1, -(-ask.startup_budget // period))
        environment = _environment(ask, Seconds(failures * period))
        leader_flags = [*flags, *serving]
        worker = None
        if group is not None:
            place = {
                "--nnodes": group.size,
                "--master-addr": group.address,
                "--master-port": str(RENDEZVOUS.number),
            }
            leader_flags += _dated(ask, {**place, "--node-rank": "0"})
            headless = ["--headless"] if FLAGS.has("--headless", ask.release) else []
            worker = Process(
                command=("vllm", "serve"),
                args=(
                    *flags,
                    *_dated(ask, {**place, "--node-rank": group.rank}),
                    *headless,
                    *user,
                ),
                env=environment,
                ports=(),
                pre_stop=Seconds(ask.defaults.pre_stop + drain),
            )
        leader = Process(
            command=("vllm", "serve"),
            args=(*leader_flags, *user),
            env=environment,
            ports=(HTTP,) if group is None else (HTTP, RENDEZVOUS),
            pre_stop=ask.defaults.pre_stop,
            startup=Probe(
                "/health",
                HTTP.name,
                period,
                failures,
                ask.defaults.readiness_timeout,
            ),
            # Not /v1/models: behind an API key, which a user may ask for, it answers 401.
            readiness=Probe(
                "/health",
                HTTP.name,
                ask.defaults.readiness_period,
                ask.defaults.readiness_failures,
                ask.defaults.readiness_timeout,
            ),
            liveness=Probe(
                "/health",
                HTTP.name,
                ask.defaults.liveness_period,
                ask.defaults.liveness_failures,
                ask.defaults.liveness_timeout,
            ),
        )
        return Launch(
            image=ask.options.image or image(ask.release),
            leader=leader,
            worker=worker,
            serving_port=HTTP,
            drain=drain,
            grace=Seconds(ask.defaults.pre_stop + drain + ask.defaults.grace_margin),
        )

    def alerts(self, ask: LaunchRequest, watched: Watched) -> Sequence[Alert]:
        """Alerts on the series that its release exports."""
        return vllm_alerts.alerts(ask, watched)

    def blind_spots(self, ask: LaunchRequest) -> Sequence[str]:
        """What its series do not show, in words."""
        return tuple(vllm_alerts.blind_spots(ask))

    def first_token_bounds(self, ask: LaunchRequest) -> Sequence[str]:
        """Times to the first token that its histogram tells apart."""
        return vllm_alerts.bounds(ask)

    def read(self, container: Manifest) -> EngineReading | None:
        """What a container would do; `None`: not vLLM, or not certain."""
        return vllm_read.read(container)

    def translate(self, container: Manifest) -> Translation | None:
        """Its command line in the words of the inputs; `None`: not vLLM, or not certain."""
        return vllm_translate.translate(container)


def image(release: Release) -> str:
    """The published image of a release: `vllm/vllm-openai:v0.32.0`."""
    return f"{IMAGE}:v{release.major}.{release.minor}.{release.patch}"


def _dated(ask: LaunchRequest, flags: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in flags.items() if FLAGS.has(name, ask.release)]


def _model_flags(ask: LaunchRequest) -> list[str]:
    """The model and what every rank must agree on.

    The utilisation is always written, so that an upgrade of the engine does not change the pool in silence.
    """
    shape = ask.shape
    flags = {
        "--served-model-name": ask.served_name,
        "--max-model-len": str(ask.context),
        "--gpu-memory-utilization": f"{vllm_memory.utilization(ask):f}",
        "--tensor-parallel-size": str(shape.tensor),
    }
    beyond_one = {
        "--pipeline-parallel-size": shape.pipeline,
        "--data-parallel-size": shape.data,
        "--prefill-context-parallel-size": shape.prefill_context,
        "--decode-context-parallel-size": shape.decode_context,
    }
    flags |= {name: str(count) for name, count in beyond_one.items() if count > 1}
    if ask.options.kv_cache_type != "auto":
        flags["--kv-cache-dtype"] = ask.options.kv_cache_type
    expert = "--enable-expert-parallel"
    switches = [expert] if shape.expert_parallel and FLAGS.has(expert, ask.release) else []
    return [ask.model_reference, *_dated(ask, flags), *switches]


def _drain(ask: LaunchRequest) -> tuple[Seconds, list[str]]:
    """How long the engine drains, and the flag for it; a `--shutdown-timeout` of the user wins over ours.

    Without the flag SIGTERM aborts what is in flight, and only the sleep before it helps (`engines §1.7`).
    """
    own = last(vllm_args.own(ask), vllm_flags.SHUTDOWN)
    if own is not None:
        text = own.value or ""
        return Seconds(int(text)) if is_number(text) else ask.defaults.drain, []
    drain = ask.defaults.drain
    if drain and FLAGS.has(vllm_flags.SHUTDOWN, ask.release):
        return drain, [f"{vllm_flags.SHUTDOWN}={int(drain)}"]
    return Seconds(0), []


def _environment(ask: LaunchRequest, limit: Seconds) -> tuple[EnvVar, ...]:
    """Variables of every pod of the group, each for a reason given in `engines §1.5`.

    limit: what the startup probe allows, and so the engine's own limit on its start.
    """
    hardware = ask.hardware
    variables = []
    if ask.shape.size > 1:
        # Message queues between nodes bind to what the engine guesses to be its own address: wrong with several NICs.
        variables.append(EnvVar("VLLM_HOST_IP", field="status.podIP"))
        if hardware.socket_interface is not None:
            variables.append(EnvVar("NCCL_SOCKET_IFNAME", hardware.socket_interface))
            variables.append(EnvVar("GLOO_SOCKET_IFNAME", hardware.socket_interface))
        if hardware.rdma is not None and hardware.rdma.hca is not None:
            variables.append(EnvVar("NCCL_IB_HCA", hardware.rdma.hca))
    if FLAGS.has(vllm_flags.READY_TIMEOUT, ask.release):
        variables.append(EnvVar(vllm_flags.READY_TIMEOUT, str(int(limit))))
    if ask.cache_home is None:
        variables.append(EnvVar("HF_HUB_OFFLINE", "1"))
    else:
        variables.append(EnvVar("HF_HOME", ask.cache_home))
        if ask.token is not None:
            variables.append(EnvVar("HF_TOKEN", secret=ask.token))
    return tuple(variables)
