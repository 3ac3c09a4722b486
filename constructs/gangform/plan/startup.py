"""From bytes to seconds: how long a cold start takes, and how long every probe and time limit must wait for it.

A startup budget that is too short kills a load and repeats it for ever; one that is too long costs nothing. So it is
never capped, and generous where the read bandwidth is only assumed.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple

from gangform.apis.leaderworkerset import LEADER_CREATED, LEADER_READY
from gangform.engines.engine import Engine
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.defaults import Defaults
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.units import Bytes, BytesPerSecond, Seconds

NEVER_STARTS = declare(
    "leader-ready-never-starts",
    "LeaderReady makes workers once the leader is Ready, and this engine's leader is Ready once they have loaded",
    Severity.BREAKS,
    "engines §1.6; lab E3",
)

Basis = Literal["measured", "declared", "assumed"]


_PLACES = {
    "hub": "the pod's storage",
    "claim": "a shared claim",
    "nodePath": "the node's folder",
    "perPod": "the pod's own claim",
}
"""Where a pod reads the checkpoint, by the source of the weights."""
_DOWNLOADED = ("hub", "perPod")
"""The sources of which each pod gets a copy of its own."""


class StartupPlan(NamedTuple):
    """A cold start: pod created to leader ready."""

    read: Bytes
    """What each pod reads."""
    place: str
    """Where it reads that, in words."""
    downloads: bool
    """Whether it has to get it there first."""
    download: Seconds
    """Fetching it first; 0 where it is there, or where the read bandwidth stands for both."""
    download_bandwidth: BytesPerSecond | None
    """`None` where nothing is downloaded, or nobody said how fast."""
    bandwidth: BytesPerSecond
    basis: Basis
    """Whether the time was measured, rests on a declared bandwidth, or on an assumed one."""
    load: Seconds
    """Reading alone."""
    warm_up: Seconds
    """From weights loaded to ready: profiling, compilation, graphs."""
    warm_up_measured: bool
    cold_start: Seconds
    """Expected."""
    restart: Seconds
    """The same for a pod that finds on its own claim what an earlier one downloaded."""
    margin: Fraction
    """What the worst is reckoned with."""
    worst: Seconds
    """Cold start × margin: what time limits elsewhere must allow."""
    budget: Seconds
    """What the startup probe allows."""
    progress_deadline: Seconds
    """When a Deployment's rollout counts as stuck."""

    @property
    def declared(self) -> bool:
        """Whether the figures rest on something somebody said."""
        return self.basis != "assumed"


@formula("checkpoint / read bandwidth of a pod", source="cases r18")
def load(checkpoint: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Seconds to read the checkpoint."""
    return bandwidth.seconds_for(checkpoint)


@formula(
    "checkpoint / download bandwidth of a pod, where the pod downloads and that is declared; else 0",
    source="engines §6.3: ephemeral storage holds what is downloaded per pod",
)
def download(checkpoint: Bytes, bandwidth: BytesPerSecond | None) -> Seconds:
    """Seconds to fetch the checkpoint before it is read."""
    return Seconds(0) if bandwidth is None else bandwidth.seconds_for(checkpoint)


@formula("as measured, or the default of the edition", source="cases r18; engines §1.5")
def warm_up(measured: Seconds | None, default: Seconds) -> Seconds:
    """Seconds from weights loaded to ready."""
    return default if measured is None else measured


@formula("download + load + warm-up, or as measured", source="design §4 Readiness; cases r18")
def cold_start(
    loading: Seconds, warming: Seconds, measured: Seconds | None, fetching: Seconds = Seconds(0)
) -> Seconds:
    """Expected seconds from a pod's creation to a ready leader."""
    return measured if measured is not None else Seconds(fetching + loading + warming)


@formula(
    "cold start - download, where each pod keeps a claim of its own", source="design §3 weights"
)
def restart(expected: Seconds, fetching: Seconds, *, kept: bool) -> Seconds:
    """Expected seconds of a later start of the same pod; a measured cold start says nothing about it."""
    return Seconds(expected - fetching) if kept else expected


@formula("cold start x margin", source="design §4 Readiness")
def worst(expected: Seconds, margin: Fraction) -> Seconds:
    """Seconds that a cold start may take at worst."""
    return Seconds(-(-(expected * margin).numerator // (expected * margin).denominator))


@formula("max(floor, worst cold start), never capped", source="design §4 Readiness")
def budget(worst_case: Seconds, floor: Seconds) -> Seconds:
    """Seconds that the startup probe allows."""
    return max(worst_case, floor)


@formula(
    "startup budget + margin", source="apps/v1: the default of 10 minutes is shorter than a load"
)
def progress_deadline(allowed: Seconds, margin: Seconds) -> Seconds:
    """Seconds without progress after which a Deployment's rollout is reported as failed."""
    return Seconds(allowed + margin)


def derive(
    serving: Serving, model: ModelProfile, hardware: HardwareShape, defaults: Defaults
) -> StartupPlan:
    """The cold start of one group."""
    asked = serving.weights
    known = asked.read_bandwidth or hardware.read_bandwidth
    bandwidth = known or defaults.assumed_bandwidth
    basis: Basis = "declared" if known else "assumed"
    if serving.cold_start is not None:
        basis = "measured"
    fetching = download(model.checkpoint, asked.download_bandwidth)
    loading = load(model.checkpoint, bandwidth)
    warming = warm_up(serving.engine.warm_up, defaults.warm_up)
    expected = cold_start(loading, warming, serving.cold_start, fetching)
    kept = asked.source == "perPod" and basis != "measured"
    at_worst = worst(expected, defaults.cold_start_margin)
    floor = defaults.assumed_startup_floor if basis == "assumed" else defaults.startup_floor
    return StartupPlan(
        read=model.checkpoint,
        place=_PLACES[asked.source],
        downloads=asked.source in _DOWNLOADED,
        download=fetching,
        download_bandwidth=asked.download_bandwidth,
        bandwidth=bandwidth,
        basis=basis,
        load=loading,
        warm_up=warming,
        warm_up_measured=serving.engine.warm_up is not None,
        cold_start=expected,
        restart=restart(expected, fetching, kept=kept),
        margin=defaults.cold_start_margin,
        worst=at_worst,
        budget=budget(at_worst, floor),
        progress_deadline=progress_deadline(budget(at_worst, floor), defaults.progress_margin),
    )


def check(serving: Serving, *, engine: Engine, size: int, at: Path) -> Iterator[Finding]:
    """Whether a group can start at all. `size`: pods a group."""
    if size > 1 and serving.startup_policy == LEADER_READY and not engine.ready_before_workers:
        yield Finding(
            code=NEVER_STARTS,
            at=InputPath((*at, "startupPolicy")),
            what=f"{LEADER_READY} with groups of {size} pods: a leader of {engine.name} is Ready only when all ranks "
            "have loaded, and the workers wait for it",
            fix=f"write {LEADER_CREATED}, or leave it out",
        )
