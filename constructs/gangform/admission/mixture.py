"""What the backends of one cluster may not do together: two schedulers over one pool, and LWS's provider.

Two admission controllers that count the same nodes promise them twice (`volcano §11.14`). LWS's provider is a switch of
the whole cluster: it stamps the pods of every set, whoever admits them (`volcano §5`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.admission.admission import BACKENDS, backend, lws_makes_groups
from gangform.findings import Code, Finding, InputPath, Path, Severity, declare, either
from gangform.inputs.cluster import Cluster

SHARED_POOL = declare(
    "backends-share-pool",
    "A pool has one admission backend: two would promise the same nodes twice",
    Severity.BREAKS,
    "design §3 Cluster; volcano §11.14",
)
OPPOSITE_PROVIDERS = declare(
    "backends-need-opposite-providers",
    "One backend needs LWS's provider on and another needs it off, and a cluster has one switch",
    Severity.BREAKS,
    "design §3 Cluster; volcano §5",
)
GROUPS_ALL_THE_SAME = declare(
    "provider-makes-groups-all-the-same",
    "LWS's provider makes a PodGroup for each group of every set, whoever admits it",
    Severity.STYLE,
    "design §3 Cluster; volcano §5",
)


class Use(NamedTuple):
    """One serving's choice."""

    pool: str
    backend: str
    """A name in `BACKENDS`; what is unknown there is passed over."""
    at: Path
    """The serving."""


def mixture_faults(uses: Sequence[Use], cluster: Cluster) -> Iterator[Finding]:
    """What the choices of a cluster's servings get wrong together; their order does not matter."""
    known = [use for use in uses if use.backend in BACKENDS]
    wants = {
        name: backend(name).policy(cluster).lws_provider
        for name in sorted({use.backend for use in known})
    }
    on = [name for name, want in wants.items() if want is True]
    off = [name for name, want in wants.items() if want is False]
    for use in known:
        others = sorted(
            {other.backend for other in known if other.pool == use.pool} - {use.backend}
        )
        if others:
            yield _finding(
                SHARED_POOL,
                use,
                f"pool {use.pool} is admitted by {use.backend} here and by {_list(others)} elsewhere",
                f"use one backend for all servings of pool {use.pool}, or give each its own nodes",
            )
        want = wants[use.backend]
        opposite = off if want else on
        if want is not None and opposite:
            word = "on" if want else "off"
            yield _finding(
                OPPOSITE_PROVIDERS,
                use,
                f"{use.backend} needs LWS's schedulerProvider {word}; {_list(opposite)} on this cluster the opposite",
                f"use {_list(opposite)} here too, or run this serving on another cluster",
            )
    untouched = [name for name, want in wants.items() if want is None]
    if untouched and lws_makes_groups(cluster):
        yield Finding(
            code=GROUPS_ALL_THE_SAME,
            at=InputPath(("clusters", cluster.name, "lwsSchedulerProvider")),
            what=f"LWS makes a PodGroup for each group under {_list(untouched)} all the same; the scheduler of "
            "those pods ignores it, but where it cannot be made the group gets no workers",
            fix="switch the provider off unless other sets on this cluster need it",
            seen={"backends": ", ".join(untouched)},
        )


def _finding(code: Code, use: Use, what: str, fix: str) -> Finding:
    at = InputPath((*use.at, "admission", "backend"))
    return Finding(code=code, at=at, what=what, fix=fix, seen={"backend": use.backend})


def _list(names: Sequence[str]) -> str:
    return either(names, "and")
