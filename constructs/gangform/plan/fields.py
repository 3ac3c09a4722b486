"""What of a serving the cluster's LeaderWorkerSet has: the rest its controller drops in silence."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.forms import Form
from gangform.apis.leaderworkerset import FIELDS
from gangform.apis.versions import Release
from gangform.findings import Finding, InputPath, Path
from gangform.inputs.serving import Serving
from gangform.plan.weights import TOO_NEW


def check(serving: Serving, *, form: Form, lws: Release | None, at: Path) -> Iterator[Finding]:
    """Whether the declared release has what was asked for."""
    if lws is None or not form.can.runs_groups:
        return
    asked: list[tuple[str, Path, str]] = []
    if serving.restart_policy is not None:
        asked.append((serving.restart_policy, ("restartPolicy",), "leave `restartPolicy` out"))
    if serving.rollout.canary_groups is not None:
        asked.append(("partition", ("rollout", "canaryGroups"), "leave `canaryGroups` out"))
    for name, path, fix in asked:
        if name in FIELDS.rows and not FIELDS.has(name, lws):
            since = FIELDS.rows[name].since
            yield Finding(
                code=TOO_NEW,
                at=InputPath((*at, *path)),
                what=f"{name} exists from LeaderWorkerSet {since}, the cluster has {lws}",
                fix=f"{fix}, or upgrade to {since}",
                seen={"since": str(since), "runs": str(lws)},
            )


def restart_policy(serving: Serving, size: int, lws: Release | None) -> str:
    """What a lost pod does to its group: rebuild it once it is complete, and nothing to a group of one pod."""
    if serving.restart_policy is not None:
        return serving.restart_policy
    if size == 1:
        return "None"
    known = lws is None or FIELDS.has("RecreateGroupAfterStart", lws)
    return "RecreateGroupAfterStart" if known else "RecreateGroupOnPodRestart"
