"""The fields that misspelt ones are compared with, beside the published definitions of Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import pytest

from gangform.apis.pod_fields import POD, SPECS
from gangform.apis.structure import Field, structure

RELEASES = ("1.36", "1.37")
CORE = "io.k8s.api.core.v1."
ROOTS = {
    f"{CORE}PodSpec": POD,
    f"{CORE}ServiceSpec": SPECS["", "Service"],
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec": SPECS["policy", "PodDisruptionBudget"],
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec": SPECS[
        "autoscaling", "HorizontalPodAutoscaler"
    ],
    "io.k8s.api.apps.v1.DeploymentSpec": SPECS["apps", "Deployment"],
    "io.k8s.api.apps.v1.StatefulSetSpec": SPECS["apps", "StatefulSet"],
}


def definitions(release: str) -> Mapping[str, Any]:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{release}.0-local"
    found: Mapping[str, Any] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return found


def missing(field: Field, name: str, known: Mapping[str, Any], at: str) -> Iterator[str]:
    """Published fields that a level of ours lacks."""
    published = known[name].get("properties", {})
    for each, schema in published.items():
        if each not in field.fields:
            yield f"{at}.{each}"
            continue
        below = schema.get("items", schema).get("$ref", "").rpartition("/")[2]
        if below and field.fields[each].fields:
            yield from missing(field.fields[each], below, known, f"{at}.{each}")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ROOTS)
def test_no_published_field_is_missing(name: str, release: str) -> None:
    assert list(missing(structure(ROOTS[name]), name, definitions(release), "spec")) == []
