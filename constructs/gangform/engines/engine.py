"""The protocol of an inference engine, and the small records that pass between it and the plan.

An engine knows inputs and shapes; it sees no plan, no kind of workload and no cluster. A new one is a module, a line
in `ENGINES` and, where it needs any, options of its own; no existing function changes. An engine that is only read in
foreign manifests stands in `READERS`.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, cast

from gangform.apis.alerting import Alert
from gangform.apis.forms import Rendezvous
from gangform.apis.versions import Release
from gangform.documents.document import Manifest
from gangform.engines.watched import Objective as Objective
from gangform.engines.watched import Watched as Watched
from gangform.findings import Finding, Path
from gangform.units import Bytes, Seconds

if TYPE_CHECKING:  # who only reads manifests needs no inputs, and they take a tenth of a second
    from gangform.apis.panels import EngineChoice, Panel
    from gangform.inputs.defaults import Defaults
    from gangform.inputs.hardware import HardwareShape
    from gangform.inputs.model import ModelProfile
    from gangform.inputs.serving import Engine as EngineOptions


class Shape(NamedTuple):
    """How one replica lies on GPUs and pods."""

    tensor: int
    pipeline: int
    data: int
    prefill_context: int
    decode_context: int
    expert_parallel: bool
    gpus_per_pod: int
    size: int
    """Pods a group."""

    @property
    def world(self) -> int:
        """Ranks of one replica: tensor × pipeline × data × prefillContext. decodeContext uses the tensor ranks."""
        return self.tensor * self.pipeline * self.data * self.prefill_context

    @property
    def gpus(self) -> int:
        """GPUs one group holds."""
        return self.size * self.gpus_per_pod

    @property
    def expert_ranks(self) -> int:
        """Ranks that share the experts of a layer: whole ones under expert parallelism, slices of each otherwise.

        vLLM flattens tensor over data and prefill context for experts either way (`FusedMoEParallelConfig`).
        """
        return self.tensor * self.data * self.prefill_context


class Part(NamedTuple):
    """A part of the overhead of a GPU."""

    name: str
    size: Bytes
    source: str


class MemoryTerms(NamedTuple):
    """What of a GPU is neither weights nor cache, and how well that is known."""

    utilization: Decimal
    """Share of visible memory that the engine plans with."""
    overhead: Bytes
    """Activations, communication buffers and graphs, per GPU of any stage."""
    band: Bytes
    """Error of the overhead, either way."""
    block: int
    """Tokens a cache block."""
    cache_element: Decimal
    """Bytes a cached element."""
    source: str
    """Where the figures come from."""
    sampling: Bytes = Bytes(0)
    """What the last stage holds beyond `overhead`: sampling where there are several, a draft model."""
    latent_entry: int | None = None
    """Bytes an entry of a latent, where its format is not one of plain elements."""
    in_flight: int = 0
    """Tokens that a step may hold; a window keeps them beside its own."""
    redundant_experts: int = 0
    """Copies of experts, over all expert ranks."""
    offloaded: Bytes = Bytes(0)
    """Weights of each GPU that lie in the memory of the host."""
    parts: tuple[Part, ...] = ()
    """What `overhead` and `sampling` are made of."""
    pinned: Bytes | None = None
    """The cache of each GPU that arguments fix; `None`: what the share leaves."""
    pinned_blocks: int | None = None
    """Blocks of the cache that arguments fix, which win over bytes."""
    pinned_by: str = ""
    """The argument that fixes the cache."""
    layers: tuple[int, ...] = ()
    """Layers of each pipeline stage where somebody cuts them; empty: as the engine does."""
    draft_layers: int = 0
    """Layers of a draft model on the last stage, cached as the model's own."""
    speculative: int = 0
    """Tokens that a draft proposes at once; a state is kept for each."""
    heap: Bytes | None = None
    """What a communication library takes of each GPU outside the share, as its variable says; `None`: none does."""


class LaunchRequest(NamedTuple):
    """Everything an engine may look at."""

    at: Path
    """The serving, for findings: `("servings", "r1")`."""
    options: "EngineOptions"
    release: Release
    model: "ModelProfile"
    hardware: "HardwareShape"
    shape: Shape
    context: int
    served_name: str
    model_reference: str
    """What the engine loads: an id on the hub, or a path in the container."""
    cache_home: str | None
    """Folder for downloads; `None` where nothing is downloaded."""
    token: tuple[str, str] | None
    """Secret and key of the hub token."""
    rendezvous: Rendezvous | None
    """`None` where a replica is one pod."""
    startup_budget: Seconds
    """How long a start may take; startup probe and the engine's own time limit obey it."""
    defaults: "Defaults"
    variables: Mapping[str, str] = {}
    """What the user adds to the environment of every pod, as far as it is literal."""

    def measured(
        self, name: Literal["activation", "communication", "graphs", "draft"]
    ) -> Bytes | None:
        """A part of the overhead that somebody measured: with this serving, else with this model."""
        for given in (self.options.overhead, self.model.overhead):
            found: Bytes | None = getattr(given, name)
            if found is not None:
                return found
        return None


class EnvVar(NamedTuple):
    """One variable: a value, a field of the pod, or a key of a Secret."""

    name: str
    value: str | None = None
    field: str | None = None
    secret: tuple[str, str] | None = None


class Port(NamedTuple):
    """A named TCP port of a container."""

    name: str
    number: int


class Probe(NamedTuple):
    """An HTTP probe of a named port."""

    path: str
    port: str
    period: Seconds
    failures: int
    timeout: Seconds


class Process(NamedTuple):
    """What one container runs."""

    command: tuple[str, ...]
    args: tuple[str, ...]
    env: tuple[EnvVar, ...]
    ports: tuple[Port, ...]
    pre_stop: Seconds
    """Sleep before the engine is told to stop. A worker sleeps through the leader's drain, which fails without it
    (`engines §1.7`)."""
    startup: Probe | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None


class Launch(NamedTuple):
    """What leader and workers run, and how they stop."""

    image: str
    leader: Process
    worker: Process | None
    """`None` where a replica is one pod."""
    serving_port: Port
    drain: Seconds
    """Time the engine takes to finish requests; 0 where it cannot drain."""
    grace: Seconds
    """Termination grace period of every pod of the group."""

    @property
    def teardown(self) -> Seconds:
        """From the deletion of a leader to the end of its group: workers are told only once it is gone (`lab E2`)."""
        return Seconds(self.grace + (self.worker.pre_stop if self.worker is not None else 0))


class SideChannel(NamedTuple):
    """The address under which other pods ask an engine for its cache."""

    variable: str
    """Where the engine takes the address from."""
    value: str | None
    """As written, in the container or by its script; the engine's default where nobody writes it; `None`: not known."""
    written: bool
    """Whether somebody writes it."""


class EngineReading(NamedTuple):
    """What a container of a manifest would do, as far as its command line says it for certain."""

    engine: str
    serves_http: bool
    """`False` for a headless worker: no Service may select it and no HTTP probe can succeed."""
    port: int
    gpus: int | None
    """Ranks of the whole replica; `None` where a size is not a literal."""
    nodes: str | None
    """The number of nodes as written (`2`, `$(LWS_GROUP_SIZE)`); `None`: it runs on one or waits for no Ray cluster."""
    rank: str | None
    """The rank as written."""
    all_ranks: bool = False
    """Whether it serves, and a probe of it succeeds, only once every rank of its group is there."""
    start_limit: tuple[str, int, int] | None = None
    """Variable, seconds and default of a limit of the engine's own on its start; `None` where none is written."""
    start_default: tuple[str, int] | None = None
    """Variable and seconds of that limit where nobody writes it; `None` where somebody does, or may."""
    absent_paths: frozenset[str] = frozenset()
    """HTTP paths that are taken for health endpoints of this engine, and that it does not have."""
    opens_early: bool = False
    """Whether its port takes connections before the model is loaded."""
    rank_zero_answers: bool = False
    """Whether other ranks open the port too, and answer health checks and nothing else."""
    rank_zero_paths: frozenset[str] = frozenset()
    """Paths that only rank 0 has."""
    generating_paths: frozenset[str] = frozenset()
    """Health endpoints that run a generation."""
    tensor: int | None = None
    """Tensor ranks; `None` where that is not a literal."""
    local: int | None = None
    """Ranks that this pod runs, where the command line counts data ranks by pod."""
    pods: int | None = None
    """Pods that the data ranks fill, where the command line counts them by pod."""
    address: str = ""
    """Where ranks meet, as written; empty where nothing is written."""
    host: str = ""
    """The address that its port is opened on, the engine's default filled in; empty: every address of the pod."""
    model: str = ""
    """What is loaded, as written: a path, or an id on the hub."""
    cache: str = ""
    """The folder for downloads that the command line names."""
    side_channel: SideChannel | None = None
    """`None` where it hands no cache to other pods."""
    beside: frozenset[int] = frozenset()
    """Ports that it may open beside its own, without a word of them on its command line."""
    metrics_off: tuple[str, str] | None = None
    """Why it exports none of its own series, and the cure; `None` where it does."""
    metrics_served: bool = True
    """Whether it has a path of metrics at all."""
    series: str = ""
    """What the names of its own series begin with."""
    drain: int = 0
    """Seconds that it takes to finish requests at the most when it is told to stop; 0 where it cuts them off."""
    repeated: tuple[tuple[str, str, str], ...] = ()
    """Flags that are given twice with different values: the flag, and both values in order; the last counts."""
    refused: tuple[tuple[str, str], ...] = ()
    """What of its command line it refuses, each with a cure."""
    floor: tuple[Release, str] | None = None
    """The first release that bears this command line, and why."""
    together: Mapping[str, str] = {}
    """Numbers that every rank of a group has to be told alike, as written, by flag; the engine's defaults filled in."""
    ray: bool = False
    """Whether its pod is a node of a Ray cluster: it may use the GPUs of other pods, and those have no ranks."""
    alone: bool = False
    """Whether nothing joins it to another pod: it has the GPUs of its own."""
    variables: Mapping[str, str | None] = {}
    """What the script around it sets; `None`: a value that is not known."""

    @property
    def on_loopback(self) -> bool:
        """Whether no other pod, and no probe of the kubelet, reaches its port."""
        return self.host in ("127.0.0.1", "localhost", "::1")


class Translation(NamedTuple):
    """A container's command line in the words of a serving's inputs."""

    model: str
    """What is loaded, as written: a path, or an id on the hub; empty where nothing says it."""
    served_name: str
    """What clients call the model."""
    context: int | None
    """Longest context; `None` where nothing says it."""
    parallelism: Mapping[str, int | bool]
    """By key; what is not written counts as the engine counts it."""
    unsized: tuple[str, ...]
    """Keys of it whose numbers are no literals."""
    options: Mapping[str, Any]
    """Further fields of `engine`."""
    args: tuple[str, ...]
    """Everything that no input says, as written."""
    unread: tuple[tuple[str, str], ...] = ()
    """Words that were left out, and why; those that gangform writes by itself are not among them."""


class Reader(Protocol):
    """What reads an engine's command line in foreign manifests."""

    def read(self, container: Manifest) -> EngineReading | None:
        """What a container would do; `None`: not this engine, or not certain."""
        ...


class Engine(Reader, Protocol):
    """One inference engine. Stateless."""

    name: ClassVar[str]
    waiting_metric: ClassVar[str]
    """Series of requests that wait, as exported: the signal for autoscaling."""
    running_metric: ClassVar[str]
    """Series of requests that are being answered, as exported: what forbids to take the last group away."""
    newest: ClassVar[Release]
    """The newest release that was read; a newer one is taken for it."""
    ready_before_workers: ClassVar[bool]
    """Whether a leader's readiness probe succeeds before its workers exist; else LeaderReady never starts a group."""

    def check(self, ask: LaunchRequest) -> Iterator[Finding]:
        """The engine's own start-up refusals, found beforehand."""
        ...

    def memory(self, ask: LaunchRequest) -> MemoryTerms:
        """What a GPU holds besides weights and cache."""
        ...

    def launch(self, ask: LaunchRequest) -> Launch:
        """Command, arguments, variables, ports, probes and drain. Total: no refusal here."""
        ...

    def panels(self, release: Release, choice: "EngineChoice") -> "Sequence[Panel]":
        """What a dashboard shows of it: latency, load, cache, by the series that the release has."""
        ...

    def alerts(self, ask: LaunchRequest, watched: Watched) -> Sequence[Alert]:
        """Alerts on the series that its release exports."""
        ...

    def blind_spots(self, ask: LaunchRequest) -> Sequence[str]:
        """What its series do not show, in words, each with the alert that is missing for it."""
        ...

    def first_token_bounds(self, ask: LaunchRequest) -> Sequence[str]:
        """Times to the first token that its histogram tells apart, in seconds, as exported; empty: not known."""
        ...

    def translate(self, container: Manifest) -> Translation | None:
        """Its command line in the words of the inputs; `None`: not this engine, or not certain."""
        ...


ENGINES: dict[str, str] = {
    "vllm": "gangform.engines.vllm:Vllm",
}
"""Engines by name, imported on use."""

READERS: dict[str, str] = {
    "sglang": "gangform.engines.sglang:Sglang",
}
"""Engines that no serving may name, and that are read in foreign manifests."""


def engine(name: str) -> Engine:
    """The engine of a name.

    Raises:
        KeyError: There is none.
    """
    return cast(Engine, _made(ENGINES[name]))


def readers() -> list[Reader]:
    """Whatever reads command lines: every engine, and those that are only read."""
    return [cast(Reader, _made(place)) for place in (*ENGINES.values(), *READERS.values())]


def _made(place: str) -> object:
    module, _, attribute = place.partition(":")
    made: object = getattr(import_module(module), attribute)()
    return made
