"""Fields of later releases of LWS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

SET = "spec>leaderWorkerTemplate"
ALONE = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "example.com/rack"}


def test_restarts_are_limited_where_they_take_the_group(
    make: Make, refused: Check, accepted: Check
) -> None:
    for field in ("spec>maxGroupRestarts", f"{SET}>maxGroupRestarts"):
        still = make("set", {field: 3, f"{SET}>restartPolicy": "None"})
        refused("restart-limit-refused", "maxGroupRestarts ~ RecreateGroupAfterStart", still)
        accepted("restart-limit-refused", make("set", {field: 3}))
    for wrong in ({"baseSeconds": 60, "capSeconds": 30}, {"baseSeconds": 0}):
        refused(
            "restart-limit-refused", "restartBackoff", make("set", {"spec>restartBackoff": wrong})
        )
    accepted("restart-limit-refused", make("set", {"spec>restartBackoff": {"baseSeconds": 20}}))


def test_groups_without_an_order(make: Make, refused: Check, accepted: Check) -> None:
    free = {"spec>groupIdentity": "Hash"}
    claim = {f"{SET}>volumeClaimTemplates": [{"metadata": {"name": "w"}}]}
    held = {"spec>rolloutStrategy>rollingUpdateConfiguration>partition": 1}
    refused("hash-identity-refused", "volumeClaimTemplates", make("set", {**free, **claim}))
    refused("hash-identity-refused", "partition", make("set", {**free, **held}))
    accepted("hash-identity-refused", make("set", free), make("set", {**claim, **held}))


def test_a_gang_of_kubernetes_is_taken(make: Make, refused: Check, accepted: Check) -> None:
    gang: dict[str, Any] = {"spec>scheduling": {}}
    for change, at in (
        ({"metadata>annotations": ALONE}, "exclusive-topology]"),
        ({"spec>startupPolicy": "LeaderReady"}, "spec.startupPolicy"),
        ({"L>spec>priorityClassName": "high"}, "workerTemplate.spec.priorityClassName"),
        ({"W>spec>schedulingGroup": {"podGroupName": "a"}}, "spec.schedulingGroup"),
    ):
        refused("native-gang-refused", at, make("set", {**gang, **change}))
        accepted("native-gang-refused", make("set", change))
    accepted("native-gang-refused", make("set", gang))


def test_one_gang_is_enough(make: Make, refused: Check, accepted: Check) -> None:
    gang: dict[str, Any] = {"spec>scheduling": {}}
    queue = {"metadata>labels": {"kueue.x-k8s.io/queue-name": "serving"}}
    volcano = {"B>spec>schedulerName": "volcano"}
    for other in (queue, volcano):
        refused("native-gang-beside-another", "spec.scheduling", make("set", {**gang, **other}))
        accepted("native-gang-beside-another", make("set", other))
    accepted("native-gang-beside-another", make("set", gang))
