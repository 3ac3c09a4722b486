"""Fields whose names are nearly right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


@pytest.mark.parametrize(
    ("name", "change", "at"),
    [
        ("set", {"L>C>readinesProbe": {}}, "containers[0].readinesProbe ~ remove it: readinessP"),
        ("set", {"W>C>readinesProbe": {}}, "containers[0].readinesProbe ~ write it as readiness"),
        ("set", {"B>spec>nodeSelectr": {}}, "spec.nodeSelectr ~ write it as nodeSelector"),
        ("set", {"B>C>volumeMount": []}, "containers[0].volumeMount ~ volumeMounts is written too"),
        ("set", {"B>C>resources>limit": {}}, "resources.limit ~ limits is written too"),
        ("set", {"L>C>startupProbe>periodSecond": 1}, "startupProbe.periodSecond ~ periodSeconds"),
        ("deployment", {"spec>template>spec>toleration": []}, "spec.toleration ~ tolerations"),
        ("deployment", {"spec>replica": 2}, "spec.replica ~ replicas is written too"),
        ("service", {"spec>selctor": {}, "spec>selector": ...}, "spec.selctor ~ write it as sel"),
        ("service", {"spec>ports>0>targetport": 1}, "spec.ports[0].targetport ~ targetPort"),
        ("budget", {"spec>minAvailble": 1}, "spec.minAvailble ~ write it as minAvailable"),
        ("scaler", {"spec>maxReplica": 1}, "spec.maxReplica ~ maxReplicas is written too"),
    ],
)
def test_a_name_that_is_nearly_right(
    make: Make, refused: Check, name: str, change: dict[str, Any], at: str
) -> None:
    refused("field-misspelt", at, make(name, change))


def test_known_and_later_fields_are_accepted(make: Make, accepted: Check) -> None:
    accepted(
        "field-misspelt",
        *map(make, ("set", "roles", "deployment", "stateful", "service", "budget", "scaler")),
        make("set", {"B>C>somethingNew": {}, "B>spec>podCertificates": []}),
        make("set", {"B>C>restartPolicyRules": [], "B>spec>hostnameOverride": "a"}),
        make("deployment", {"spec>template>spec>nodeSelector": {"nodeSelectr": "a"}}),
        make("deployment", {"spec>template>spec>containers": "none"}),
        make("service", {"apiVersion": "serving.knative.dev/v1", "spec>selctor": {}}),
    )
