"""What the names of a serving refer to. Only here does a plan stop early: without them there is nothing to derive."""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.admission.admission import BACKENDS, Admission, backend
from gangform.engines.engine import ENGINES, Engine, engine
from gangform.findings import Finding, InputError, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Cluster, Library, Pool
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving

UNKNOWN_NAME = declare(
    "name-refers-to-nothing",
    "Models, hardware shapes, pools, engines and backends are named, and the name has to exist",
    Severity.BREAKS,
    "design §3",
)


NOT_HERE = declare(
    "serving-not-on-cluster",
    "A serving that names its clusters runs on no other",
    Severity.BREAKS,
    "design §3 Fleet",
)


class Resolved(NamedTuple):
    """What a serving's names refer to."""

    model: ModelProfile
    pool: Pool
    hardware: HardwareShape
    engine: Engine
    admission: Admission


def resolve(serving: Serving, *, cluster: Cluster, library: Library, at: Path) -> Resolved:
    """What the names refer to.

    Raises:
        InputError: With every name that refers to nothing.
    """
    pool = cluster.pools.get(serving.pool)
    model = library.models.get(serving.model) if isinstance(serving.model, str) else serving.model
    hardware: HardwareShape | None = None
    if pool is not None:
        named = pool.hardware
        hardware = library.hardware.get(named) if isinstance(named, str) else named
    known = {
        ("model",): (model is not None, str(serving.model), "model profile", library.models),
        ("pool",): (
            pool is not None and hardware is not None,
            serving.pool if pool is None else str(pool.hardware),
            f"pool of cluster {cluster.name}" if pool is None else "hardware shape",
            cluster.pools if pool is None else library.hardware,
        ),
        ("engine", "name"): (
            serving.engine.name in ENGINES,
            serving.engine.name,
            "engine",
            ENGINES,
        ),
        ("admission", "backend"): (
            serving.admission.backend in BACKENDS,
            serving.admission.backend,
            "admission backend",
            BACKENDS,
        ),
    }
    findings = [
        Finding(
            code=UNKNOWN_NAME,
            at=InputPath((*at, *path)),
            what=f"`{name}` is no {noun}",
            fix=f"use one of {', '.join(sorted(choices))}",
            seen={"name": name},
        )
        for path, (found, name, noun, choices) in known.items()
        if not found
    ]
    if findings or model is None or pool is None or hardware is None:
        raise InputError(findings)
    return Resolved(
        model=model,
        pool=pool,
        hardware=hardware,
        engine=engine(serving.engine.name),
        admission=backend(serving.admission.backend),
    )


def elsewhere(serving: Serving, cluster: Cluster, at: Path) -> Iterator[Finding]:
    """That a serving is not meant for a cluster."""
    if serving.clusters is not None and cluster.name not in serving.clusters:
        yield Finding(
            code=NOT_HERE,
            at=InputPath((*at, "clusters")),
            what=f"serving {serving.name} runs on {', '.join(serving.clusters) or 'no cluster'}, not on "
            f"{cluster.name}",
            fix=f"add {cluster.name} to `clusters`, or leave `clusters` out",
        )
