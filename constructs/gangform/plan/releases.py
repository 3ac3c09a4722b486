"""The releases that a cluster declares, against those that somebody looked at: too old is refused, newer is said once.

A release newer than every known one counts as the newest known (`design §5`): what it changed is not in our tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import keda, kueue, leaderworkerset, volcano
from gangform.apis.forms import Form
from gangform.apis.versions import NEWEST_KUBERNETES, Release
from gangform.engines import engine as engines
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Serving

TOO_OLD = declare(
    "release-too-old",
    "A release that lacks what every bundle relies on",
    Severity.BREAKS,
    "lws §2a, §10 row 3; policy/v1: unhealthyPodEvictionPolicy is on from 1.27",
)
MISSING = declare(
    "lws-release-missing",
    "A set of groups needs LeaderWorkerSet in the cluster",
    Severity.BREAKS,
    "design §5",
)
KEDA_MISSING = declare(
    "keda-release-missing",
    "What a ScaledObject may say depends on the release of KEDA",
    Severity.BREAKS,
    "KEDA: changelog of 2.17.0 and 2.18.0",
)
NEWER = declare(
    "release-newer-than-known",
    "A release newer than every known one counts as the newest known",
    Severity.STYLE,
    "design §5",
)

_NEWEST = {
    "kubernetes": NEWEST_KUBERNETES,
    "lws": leaderworkerset.NEWEST,
    "kueue": kueue.NEWEST,
    "volcano": volcano.NEWEST,
    "keda": keda.NEWEST,
}

_RUNS = {
    "kubernetes": "bundles run on",
    "lws": "bundles run on",
    "keda": "keeps the groups of a set when it gets no answer",
}
"""What a release is needed for."""


def check(serving: Serving, cluster: Cluster, form: Form) -> Iterator[Finding]:
    """What a serving of this form cannot run on; one that needs no sets of groups needs Kubernetes alone."""
    releases = cluster.versions.releases
    floors = {}
    if releases.kubernetes is not None:
        floors["kubernetes"] = (releases.kubernetes, leaderworkerset.OLDEST_KUBERNETES)
    if form.can.runs_groups and releases.lws is not None:
        floors["lws"] = (releases.lws, leaderworkerset.OLDEST)
    elif form.can.runs_groups:
        yield Finding(
            code=MISSING,
            at=InputPath(("clusters", cluster.name, "versions")),
            what=f"serving {serving.name} needs a {form.kind}, and the cluster declares no release of lws",
            fix='add `lws: "0.10"` with the release that runs there',
        )
    if serving.autoscaling is not None and cluster.metrics_adapter == "keda":
        if releases.keda is not None:
            floors["keda"] = (releases.keda, keda.OLDEST)
        else:
            yield Finding(
                code=KEDA_MISSING,
                at=InputPath(("clusters", cluster.name, "versions")),
                what=f"serving {serving.name} is scaled by KEDA, and the cluster declares no release of keda",
                fix=f'add `keda: "{keda.OLDEST}"` with the release that runs there',
            )
    for software, (release, oldest) in floors.items():
        if release < oldest:
            yield Finding(
                code=TOO_OLD,
                at=InputPath(("clusters", cluster.name, "versions", software)),
                what=f"{software} {release} is older than {oldest}, the first release that {_RUNS[software]}",
                fix=f"upgrade {software} to {oldest} or later",
                seen={"release": str(release), "oldest": str(oldest)},
            )


def newer(cluster: Cluster) -> Iterator[Finding]:
    """One note for each piece of software that nobody looked at in this release."""
    releases = cluster.versions.releases._asdict()
    for software, newest in _NEWEST.items():
        release = releases[software]
        if release is not None and _is_newer(release, newest):
            at = ("clusters", cluster.name, "versions", software)
            yield _newer(software, release, newest, at)


def engine(serving: Serving, at: Path) -> Iterator[Finding]:
    """The same note on the engine of a serving."""
    name, release = serving.engine.name, Release.parse(serving.engine.version)
    newest = engines.engine(name).newest
    if _is_newer(release, newest):
        yield _newer(name, release, newest, (*at, "engine", "version"))


def _is_newer(release: Release, newest: Release) -> bool:
    return (release.major, release.minor) > (newest.major, newest.minor)


def _newer(software: str, release: Release, newest: Release, at: Path) -> Finding:
    return Finding(
        code=NEWER,
        at=InputPath(at),
        what=f"{software} {release} is newer than {newest}, the newest release known here, and is taken for it",
        fix=f"read the release notes after {newest}, or upgrade gangform",
        seen={"release": str(release), "newest": str(newest)},
    )
