"""Kubernetes itself: etcd, the API server, controllers, scheduler, and KWOK in the place of kubelets."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.site import LOOPBACK, Site

STAGES = Path(__file__).parent / "stages.yaml"

TOLERATION = 5
"""Seconds that a pod stays on a node that is not ready; 300 by default."""


def start_server(site: Site) -> None:
    """etcd and the API server, ready."""
    client, peer = f"http://{site.address('etcd')}", f"http://{site.address('etcd-peer')}"
    site.start(
        "etcd",
        *("--data-dir", site.folder / "etcd", "--unsafe-no-fsync", "--log-level", "warn"),
        *("--listen-client-urls", client, "--advertise-client-urls", client),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
        *("--initial-cluster", f"default={peer}"),
    )
    site.wait("etcd", lambda: site.listens("etcd"))
    files = site.certificates
    site.start(
        "kube-apiserver",
        f"--etcd-servers={client}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={site.port('api')}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={files.server}",
        f"--tls-private-key-file={files.server_key}",
        f"--client-ca-file={files.authority}",
        f"--service-account-key-file={files.accounts_key}",
        f"--service-account-signing-key-file={files.accounts_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=AlwaysAllow",
        "--anonymous-auth=false",
        f"--default-not-ready-toleration-seconds={TOLERATION}",
        f"--default-unreachable-toleration-seconds={TOLERATION}",
        "--profiling=false",
    )
    site.wait("kube-apiserver", lambda: site.api.request("GET", "/readyz"), within=120)


def start_controllers(site: Site) -> None:
    """The controllers, the scheduler and the kubelets; a namespace is usable when its account is there."""
    files = site.certificates
    shared = (
        f"--kubeconfig={site.kubeconfig}",
        "--leader-elect=false",
        f"--bind-address={LOOPBACK}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    site.start(
        "kube-controller-manager",
        *shared,
        f"--secure-port={site.port('controllers')}",
        f"--root-ca-file={files.authority}",
        f"--service-account-private-key-file={files.accounts_key}",
        "--concurrent-statefulset-syncs=20",
        "--concurrent-gc-syncs=20",
        "--node-monitor-grace-period=16s",
        "--horizontal-pod-autoscaler-sync-period=5s",
    )
    site.start("kube-scheduler", *shared, f"--secure-port={site.port('scheduler')}")
    site.start(
        "kwok",
        f"--kubeconfig={site.kubeconfig}",
        f"--config={STAGES}",
        f"--server-address={site.address('kwok')}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=20",
        f"--node-ip={LOOPBACK}",
        "--cidr=10.1.0.0/16",
    )
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    site.wait("kube-controller-manager", lambda: site.api.find(account))
