"""Kueue's controller."""

from __future__ import annotations

import json
import shutil

from tests.cluster import crds, webhooks
from tests.cluster.api import Object
from tests.cluster.binaries import ALTERED
from tests.cluster.site import LOOPBACK, Site

GROUP = "kueue.x-k8s.io"
CONVERTED = tuple(
    f"{kind}.{GROUP}"
    for kind in ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
)
"""Kinds that Kueue serves in two versions."""
FRAMEWORKS = (
    "batch/job",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)
SYSTEM = ("kube-system", "kueue-system")
"""Namespaces that Kueue leaves alone."""


def install_crds(site: Site) -> None:
    crds.install(site, site.sources.crds(GROUP), converter="kueue-webhook", converted=CONVERTED)


def start(site: Site) -> None:
    """Start the controller; kinds of LeaderWorkerSet must be there, or it does not manage them."""
    configuration: Object = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": LOOPBACK,
            "port": site.port("kueue-webhook"),
            "certDir": str(site.certificates.folder),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": site.address("kueue-health")},
        "clientConnection": {"qps": 50, "burst": 100},
        "controller": {"groupKindConcurrency": {"Pod": 5, f"Workload.{GROUP}": 5}},
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
    # A kind is established before discovery names it; the controller looks there once and ends where it is missing.
    site.wait("kinds of Kueue", lambda: site.api.path(f"{GROUP}/v1beta2", "Workload"))
    metrics = site.folder / ALTERED["kueue"][1].decode()
    metrics.mkdir(parents=True)
    shutil.copy(site.certificates.server, metrics)
    shutil.copy(site.certificates.server_key, metrics)
    site.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM[1]}})
    site.start(
        "kueue",
        f"--config={site.write('kueue.json', json.dumps(configuration))}",
        f"--kubeconfig={site.kubeconfig}",
        "--feature-gates=VisibilityOnDemand=false",
    )


def finish(site: Site) -> None:
    """Wait for the webhook server, and let the API server know of it."""
    site.wait("kueue", lambda: site.listens("kueue-webhook"), within=90)
    ours = {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(SYSTEM)}
            ]
        }
    }
    names = ("pod.kb.io", "deployment.kb.io", "statefulset.kb.io")
    webhooks.install(
        site,
        site.sources.webhooks("kueue"),
        prefix="kueue-",
        port="kueue-webhook",
        narrowed={f"{letter}{name}": ours for letter in "mv" for name in names},
    )
