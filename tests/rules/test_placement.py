"""Groups that want a domain each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

LEVEL = "example.com/rack"
KEY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
SURGE = "spec>rolloutStrategy>rollingUpdateConfiguration"
ALONE = {"metadata>annotations": {KEY: LEVEL}}


def test_every_group_finds_a_domain(make: Make, refused: Check, accepted: Check) -> None:
    plain = make("set", ALONE)
    refused("exclusive-topology-domains", KEY + "] ~ 2 groups", plain, domains={LEVEL: 1})
    accepted("exclusive-topology-domains", plain, domains={LEVEL: 2})
    accepted("exclusive-topology-domains", plain, domains={"example.com/block": 1})
    accepted("exclusive-topology-domains", plain)
    accepted("exclusive-topology-domains", make("set"), domains={LEVEL: 1})


def test_a_surge_group_finds_one_too(make: Make, refused: Check, accepted: Check) -> None:
    surging = make("set", {**ALONE, SURGE: {"maxSurge": 1, "maxUnavailable": 0}})
    refused("exclusive-topology-domains", "maxSurge ~ 1 in surge", surging, domains={LEVEL: 2})
    accepted("exclusive-topology-domains", surging, domains={LEVEL: 3})
    both = make("set", {**ALONE, SURGE: {"maxSurge": 1, "maxUnavailable": 1}})
    accepted("exclusive-topology-domains", both, domains={LEVEL: 2})


def test_sets_of_a_namespace_compete(make: Make, refused: Check, accepted: Check) -> None:
    first, second = make("set", ALONE), make("set", {**ALONE, "metadata>name": "r2"})
    rival = "4 groups of r1, r2"
    refused("exclusive-topology-domains", f"{KEY}] ~ {rival}", first, second, domains={LEVEL: 3})
    accepted("exclusive-topology-domains", first, second, domains={LEVEL: 4})
    apart = make("set", {**ALONE, "metadata>namespace": "other"})
    accepted("exclusive-topology-domains", first, apart, domains={LEVEL: 2})


def test_a_role_asks_for_domains_in_its_own_metadata(
    make: Make, refused: Check, accepted: Check
) -> None:
    asks = {"spec>roles>1>metadata": {"annotations": {KEY: LEVEL}}}
    at = f"spec.roles[1].metadata.annotations[{KEY}]"
    refused("exclusive-topology-domains", at, make("roles", asks), domains={LEVEL: 1})
    accepted("exclusive-topology-domains", make("roles", ALONE), domains={LEVEL: 1})


def test_a_gang_does_not_wait_for_workers_that_wait(
    make: Make, refused: Check, accepted: Check
) -> None:
    gang = make("set", {**ALONE, "B>spec>schedulerName": "volcano"})
    refused("exclusive-topology-deadlock", KEY + "]", gang, provider="volcano")
    accepted("exclusive-topology-deadlock", gang, provider="none")
    accepted("exclusive-topology-deadlock", gang)
    accepted("exclusive-topology-deadlock", make("set", ALONE), provider="volcano")
    late = make(
        "set", {**ALONE, "B>spec>schedulerName": "volcano", "spec>startupPolicy": "LeaderReady"}
    )
    accepted("exclusive-topology-deadlock", late, provider="volcano")
