"""Who the pods are, and who may reach them: ServiceAccount and NetworkPolicy."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.documents.document import Manifest
from gangform.manifests.pod import listed, metadata
from gangform.plan.serving import ServingPlan


def accounts(plan: ServingPlan) -> Iterator[Manifest]:
    """A ServiceAccount without a mounted token, unless the user named one."""
    role = plan.lead
    if not role.pods.owns_account:
        return
    yield {
        "apiVersion": core.CORE,
        "kind": "ServiceAccount",
        "metadata": metadata(role, plan.namespace, role.identity.account),
        "automountServiceAccountToken": role.pods.mount_token,
    }


def policies(plan: ServingPlan) -> Iterator[Manifest]:
    """Clients and scrapers reach the serving port; pods of the serving reach each other on every port."""
    network, traffic = plan.traffic.network, plan.traffic
    if network is None:
        return
    port = {"protocol": "TCP", "port": traffic.port_name}
    yield {
        "apiVersion": core.NETWORKING,
        "kind": "NetworkPolicy",
        "metadata": metadata(plan.lead, plan.namespace, plan.name),
        "spec": {
            "podSelector": {"matchLabels": dict(traffic.pods)},
            "policyTypes": ["Ingress"],
            "ingress": [
                # NCCL, Gloo and the engine's queues open ports of their own choice inside a group (engines §1.4).
                {"from": [{"podSelector": {"matchLabels": dict(traffic.pods)}}]},
                {"from": listed(network.clients), "ports": [port]},
                {"from": listed(network.scrapers), "ports": [port]},
            ],
        },
    }
