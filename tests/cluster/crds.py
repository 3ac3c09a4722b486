"""Custom kinds on a server."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tests.cluster.api import Object
from tests.cluster.site import Site

BESIDE = (
    "prometheusrules.monitoring.coreos.com",
    "podmonitors.monitoring.coreos.com",
    "servicemonitors.monitoring.coreos.com",
    "scaledobjects.keda.sh",
    "triggerauthentications.keda.sh",
    "applications.argoproj.io",
    "inferencepools.inference.networking.k8s.io",
)
"""Kinds that we write and nobody acts on here: the server checks them against their schemas."""


def install(
    site: Site, crds: Iterable[Object], *, converter: str = "", converted: Collection[str] = ()
) -> None:
    """Apply CRDs and wait until their kinds are served.

    Args:
        site: Where.
        crds: What to apply.
        converter: The port of the webhook that converts between versions.
        converted: Names of the CRDs that it converts.
    """
    names = []
    for crd in crds:
        name = crd["metadata"]["name"]
        if name in converted:
            client = site.webhook(converter, "/convert")
            hook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
            crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
        crd.pop("status", None)
        crd["metadata"].pop("creationTimestamp", None)
        site.api.apply(crd)
        names.append(name)
    for name in names:
        site.wait(f"CRD {name}", lambda name=name: _established(site, name))  # type: ignore[misc]


def _established(site: Site, name: str) -> bool:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    conditions = site.api.get(path).get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
