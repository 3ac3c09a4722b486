"""ComputeDomains: the nodes of one group, joined by all its pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

CLAIM = [{"name": "fabric", "resourceClaimTemplateName": "r1-channel"}]
JOINED = {
    "B>spec>resourceClaims": CLAIM,
    "B>C>resources>claims": [{"name": "fabric"}],
    "spec>replicas": 1,
}


def test_a_domain_waits_for_the_pods_of_its_group(
    make: Make, refused: Check, accepted: Check
) -> None:
    one = make("set", JOINED)
    domain = make("domain", {"spec>numNodes": 3})
    refused("compute-domain-size", "spec.numNodes ~ numNodes: 2", domain, one)
    accepted("compute-domain-size", make("domain"), one)
    for absent in (0, 1, ...):
        accepted("compute-domain-size", make("domain", {"spec>numNodes": absent}), one)
    wide = make("set", {**JOINED, "spec>replicas": 3})
    accepted("compute-domain-size", make("domain", {"spec>numNodes": 6}), wide)
    refused("compute-domain-size", "numNodes", make("domain", {"spec>numNodes": 5}), wide)
    accepted("compute-domain-size", make("domain", {"spec>numNodes": 5}), make("set"))


def test_a_domain_is_that_of_one_group(make: Make, refused: Check, accepted: Check) -> None:
    wide = make("set", {**JOINED, "spec>replicas": 3})
    at = "spec.channel.resourceClaimTemplate.name ~ 3 groups of r1"
    refused("compute-domain-shared", at, make("domain"), wide)
    second = make("set", {**JOINED, "metadata>name": "r2"})
    both = (make("domain"), make("set", JOINED), second)
    refused("compute-domain-across-sets", "name ~ r1, r2", *both)
    accepted("compute-domain-shared", *both)
    accepted("compute-domain-across-sets", make("domain"), wide)
    accepted("compute-domain-shared", make("domain"), make("set", JOINED))
    accepted("compute-domain-shared", make("domain"), make("set"))
    by_hand = {"spec>template>spec>resourceClaims": CLAIM, "spec>replicas": 16}
    accepted("compute-domain-shared", make("domain"), make("stateful", by_hand))


def test_both_templates_join(make: Make, refused: Check, accepted: Check) -> None:
    half = make("set", {**JOINED, "W>spec>resourceClaims": ...})
    refused(
        "compute-domain-half-joined", "workerTemplate.spec.resourceClaims", make("domain"), half
    )
    accepted("compute-domain-half-joined", half)
    accepted("compute-domain-half-joined", make("domain"), make("set", JOINED))


def test_a_claim_is_used(make: Make, refused: Check, accepted: Check) -> None:
    idle = make("set", {"B>spec>resourceClaims": CLAIM})
    refused("claim-unused", "leaderTemplate.spec.resourceClaims[0]", idle)
    accepted("claim-unused", make("set", JOINED))


def test_a_claim_template_is_made_by_somebody(make: Make, refused: Check, accepted: Check) -> None:
    joined = make("set", JOINED)
    other = make("domain", {"spec>channel>resourceClaimTemplate>name": "r1-chanel"})
    refused("claim-template-unresolved", "resourceClaimTemplateName ~ r1-chanel", joined, other)
    refused("claim-template-unresolved", "resourceClaimTemplateName", joined, complete=True)
    accepted("claim-template-unresolved", joined)
    accepted("claim-template-unresolved", joined, make("domain"))
    given = [("resource.k8s.io", "ResourceClaimTemplate", "llm", "r1-channel")]
    accepted("claim-template-unresolved", joined, complete=True, exists=given)


def test_the_controller_makes_the_claim_template(
    make: Make, refused: Check, accepted: Check
) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "r1-channel", "namespace": "llm"},
    }
    refused("compute-domain-template-twice", "metadata.name", template, make("domain"))
    accepted("compute-domain-template-twice", template)
