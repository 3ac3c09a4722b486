"""Where pods may go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]

LABEL = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
PRODUCT = "nvidia.com/gpu.product"


def terms(*expressions: dict[str, Any]) -> dict[str, Any]:
    each = [{"matchExpressions": [one]} for one in expressions]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": each}}
    return {"nodeAffinity": required}


def test_an_affinity_agrees_with_the_selector(make: Make, refused: Check, accepted: Check) -> None:
    selector = {"B>spec>nodeSelector": {PRODUCT: "H100"}}
    other = {"key": PRODUCT, "operator": "In", "values": ["H200"]}
    same = {"key": PRODUCT, "operator": "In", "values": ["H100", "H200"]}
    never = {"key": PRODUCT, "operator": "DoesNotExist"}
    but = {"key": PRODUCT, "operator": "NotIn", "values": ["H100"]}
    for wrong in (other, never, but):
        at = "leaderTemplate.spec.affinity.nodeAffinity"
        at += ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0] ~ H100"
        refused(
            "affinity-contradicts-selector",
            at,
            make("set", {**selector, "B>spec>affinity": terms(wrong)}),
        )
    for right in (terms(same), terms(other, same), terms({"key": PRODUCT, "operator": "Exists"})):
        accepted(
            "affinity-contradicts-selector", make("set", {**selector, "B>spec>affinity": right})
        )
    accepted(
        "affinity-contradicts-selector", make("set"), make("set", {"B>spec>affinity": terms(other)})
    )


def test_a_selector_agrees_with_a_flavor(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    elsewhere = make("set", {**LABEL, "B>spec>nodeSelector": {PRODUCT: "H200"}})
    at = f"workerTemplate.spec.nodeSelector[{PRODUCT}] ~ H100 in flavor hopper"
    refused("selector-contradicts-flavors", at, *queue, elsewhere)
    for selector in ({PRODUCT: "H100"}, {"disk": "nvme"}, {}):
        agreed = make("set", {**LABEL, "B>spec>nodeSelector": selector})
        accepted("selector-contradicts-flavors", *queue, agreed)
    accepted("selector-contradicts-flavors", elsewhere, *queue[2:])
    more = make("cluster_queue")
    flavors = more["spec"]["resourceGroups"][0]["flavors"]
    flavors.append({**flavors[0], "name": "other"})
    other = make("flavor", {"metadata>name": "other", f"spec>nodeLabels>{PRODUCT}": "H200"})
    accepted("selector-contradicts-flavors", *queue[:2], other, more, queue[3], elsewhere)


def test_pods_are_spread_among_their_own(make: Make, refused: Check, accepted: Check) -> None:
    def spread(labels: dict[str, str], *keys: str) -> dict[str, Any]:
        one = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}}
        return make(
            "set", {"B>spec>topologySpreadConstraints": [{**one, "matchLabelKeys": [*keys]}]}
        )

    own, lws = {"app.kubernetes.io/name": "r1"}, "leaderworkerset.sigs.k8s.io/"
    at = "topologySpreadConstraints[0]"
    refused("spread-selector-misses-pods", f"{at}.labelSelector ~ app=x", spread({"app": "x"}))
    refused("spread-selector-misses-pods", f"{at}.matchLabelKeys[0]", spread(own, "revision"))
    accepted(
        "spread-selector-misses-pods", spread(own), spread(own, lws + "group-key"), make("set")
    )
    accepted("spread-selector-misses-pods", spread({lws + "name": "r1", lws + "group-index": "0"}))
