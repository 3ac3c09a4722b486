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


class StartupPlan(NamedTuple):
    """A cold start: pod created to leader ready."""

    read: Bytes
    """What each pod reads."""
    bandwidth: BytesPerSecond
    basis: Basis
    """Whether the time was measured, rests on a declared bandwidth, or on an assumed one."""
    load: Seconds
    """Reading alone."""
    cold_start: Seconds
    """Expected."""
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


@formula("load + warm-up, or as measured", source="design §4 Readiness; cases r18")
def cold_start(loading: Seconds, warm_up: Seconds, measured: Seconds | None) -> Seconds:
    """Expected seconds from a pod's creation to a ready leader."""
    return measured if measured is not None else Seconds(loading + warm_up)


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
    known = serving.weights.read_bandwidth or hardware.read_bandwidth
    bandwidth = known or defaults.assumed_bandwidth
    basis: Basis = "declared" if known else "assumed"
    if serving.cold_start is not None:
        basis = "measured"
    loading = load(model.checkpoint, bandwidth)
    expected = cold_start(loading, defaults.warm_up, serving.cold_start)
    at_worst = worst(expected, defaults.cold_start_margin)
    floor = defaults.assumed_startup_floor if basis == "assumed" else defaults.startup_floor
    return StartupPlan(
        read=model.checkpoint,
        bandwidth=bandwidth,
        basis=basis,
        load=loading,
        cold_start=expected,
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
