"""Documents of built-in kinds against the published schemas, pod templates inside custom kinds included.

The controllers of LeaderWorkerSet do not check the templates they are given: a wrong one is found when its StatefulSet
or its pods are refused. The published schemas have no enums; `apis/refusals.py` and its tests are there for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest

Object = dict[str, Any]
Shipped = tuple[str, Object]
Faults = Callable[[str, Object], list[str]]

CORE = (
    "ConfigMap",
    "ServiceAccount",
    "Service",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "NetworkPolicy",
    "Deployment",
)
"""Every built-in kind that we emit."""

NEWEST = "1.37"
"""The newest release whose schemas are published with the test group's package."""


def is_built_in(manifest: Object) -> bool:
    group = manifest["apiVersion"].rpartition("/")[0]
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith("x-k8s.io"))


def of_kind(shipped: Sequence[Shipped], kind: str) -> list[Shipped]:
    return [one for one in shipped if one[1]["kind"] == kind]


def templates(shipped: Sequence[Shipped]) -> Iterator[tuple[str, str, Object, Object]]:
    """Release, name, template and set of every pod template in a LeaderWorkerSet."""
    for release, manifest in of_kind(shipped, "LeaderWorkerSet"):
        for role in ("leaderTemplate", "workerTemplate"):
            template = manifest["spec"]["leaderWorkerTemplate"][role]
            yield release, f"{manifest['metadata']['name']}-{role.lower()}", template, manifest


def as_pod(name: str, template: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template.get("metadata", {}), "name": name},
        "spec": template["spec"],
    }


def as_stateful_set(name: str, template: Object, source: Object) -> Object:
    spec: Object = {"serviceName": name, "selector": {"matchLabels": {}}, "template": template}
    claims = source["spec"]["leaderWorkerTemplate"].get("volumeClaimTemplates")
    if claims is not None:
        spec["volumeClaimTemplates"] = claims
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize("kind", CORE)
def test_documents_of_the_fleet_fit_the_declared_and_the_newest_release(
    kind: str, documents: Sequence[Shipped], core_faults: Faults
) -> None:
    found = of_kind(documents, kind)
    assert found
    faults = [
        f"{release}: {fault}"
        for declared, manifest in found
        for release in sorted({declared, NEWEST})
        for fault in core_faults(release, manifest)
    ]
    assert faults == []


def test_every_built_in_kind_of_the_fleet_is_asked_for(documents: Sequence[Shipped]) -> None:
    assert {manifest["kind"] for _, manifest in documents if is_built_in(manifest)} == set(CORE)


def test_templates_of_groups_are_pods(documents: Sequence[Shipped], core_faults: Faults) -> None:
    found = list(templates(documents))
    assert found
    faults = [
        fault
        for release, name, template, _ in found
        for fault in core_faults(release, as_pod(name, template))
    ]
    assert faults == []


def test_templates_of_groups_are_templates_of_stateful_sets(
    documents: Sequence[Shipped], core_faults: Faults
) -> None:
    faults = [
        fault
        for release, name, template, source in templates(documents)
        for fault in core_faults(release, as_stateful_set(name, template, source))
    ]
    assert faults == []


def first_template(shipped: Sequence[Shipped]) -> Object:
    return deepcopy(next(templates(shipped))[2])


def misspell(spec: Object) -> None:
    spec["terminationGracePeriod"] = spec.pop("terminationGracePeriodSeconds")


def mistype(spec: Object) -> None:
    spec["containers"][0]["ports"][0]["containerPort"] = "8000"


def leave_out(spec: Object) -> None:
    del spec["containers"]


def repeat(spec: Object) -> None:
    spec["containers"].append(spec["containers"][0])


def overflow(spec: Object) -> None:
    spec["priority"] = 1 << 31


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (misspell, "'terminationGracePeriod' was unexpected"),
        (mistype, "'8000' is not of type 'integer'"),
        (leave_out, "'containers' is a required property"),
        (repeat, "stands twice"),
        (overflow, "is not a 'int32'"),
    ],
)
def test_damage_in_a_template_is_noticed(
    damage: Callable[[Object], None],
    said: str,
    shipped: Sequence[Shipped],
    core_faults: Faults,
) -> None:
    template = first_template(shipped)
    damage(template["spec"])
    faults = core_faults("1.36", as_pod("damaged", template))
    assert [fault for fault in faults if said in fault], faults


def test_damage_in_a_document_is_noticed(shipped: Sequence[Shipped], core_faults: Faults) -> None:
    service = deepcopy(of_kind(shipped, "Service")[0][1])
    service["spec"]["publishNotReadyAddress"] = False
    service["metadata"]["label"] = {}
    faults = core_faults("1.36", service)
    assert len(faults) == 2, faults
