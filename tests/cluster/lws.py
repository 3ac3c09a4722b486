"""LeaderWorkerSet's controller."""

from __future__ import annotations

import json

from tests.cluster import crds, webhooks
from tests.cluster.api import Object
from tests.cluster.site import LOOPBACK, Site

GROUPS = ("leaderworkerset.x-k8s.io", "disaggregatedset.x-k8s.io")
NAME = "leaderworkerset.sigs.k8s.io/name"
"""The label of every pod of a set."""


def install_crds(site: Site) -> None:
    crds.install(site, site.sources.crds(*GROUPS))


def start(site: Site, *, provider: bool) -> None:
    """Start the controller, with its provider for Volcano or without."""
    configuration: Object = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": LOOPBACK,
            "port": site.port("lws-webhook"),
            "certDir": str(site.certificates.folder),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": site.address("lws-health")},
    }
    if provider:
        configuration["gangSchedulingManagement"] = {"schedulerProvider": "volcano"}
    site.start(
        "lws",
        f"--config={site.write('lws.json', json.dumps(configuration))}",
        f"--kubeconfig={site.kubeconfig}",
        "--leader-elect=false",
        # The configuration's word alone leaves a metrics server that wants certificates of its own.
        "--metrics-bind-address=0",
    )


def finish(site: Site) -> None:
    """Wait for the webhook server, and let the API server know of it."""
    site.wait("lws", lambda: site.listens("lws-webhook"))
    pods = {"objectSelector": {"matchExpressions": [{"key": NAME, "operator": "Exists"}]}}
    webhooks.install(
        site,
        site.sources.webhooks("lws"),
        prefix="lws-",
        port="lws-webhook",
        narrowed={"mpod.kb.io": pods, "vpod.kb.io": pods},
    )
