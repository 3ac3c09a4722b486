"""What has to be there before a bundle works and what no manifest of ours makes.

Each of these is silent when it is missing: pods that are never made, or stay in a state nobody looks at. So each comes
with a command that shows it, and with what happens without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from gangform.apis.argocd import HEALTH_CHECK, HEALTH_KEY
from gangform.apis.core import CORE, SCHEDULING
from gangform.apis.forms import Form
from gangform.apis.keys import COMPUTE_DOMAINS, GPU_CLIQUE, STORAGE
from gangform.apis.leaderworkerset import DEFINITION, OLDEST
from gangform.apis.pods import needs
from gangform.documents.document import Key, Node, group_of
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Serving
from gangform.plan import adapters
from gangform.plan.role import RolePlan
from gangform.plan.shape import spans_nodes_over_nvlink

_WITHOUT = {
    "Secret": "pods stay in CreateContainerConfigError or ContainerCreating",
    "ConfigMap": "pods stay in CreateContainerConfigError or ContainerCreating",
    "PersistentVolumeClaim": "pods stay Pending",
    "ServiceAccount": "no pod is made; the reason stands in an event of the set only",
    "PriorityClass": "no pod is made; the reason stands in an event of the set only",
    "StorageClass": "claims stay Pending, and so do their pods",
}
_SELECTORS = "".join(
    f'{{.items[*].spec.{kind}{part}elector}}{{"\\n"}}'
    for kind in ("rule", "podMonitor")
    for part in ("S", "NamespaceS")
)
"""What a Prometheus selects rules and monitors by: their labels, and those of their namespaces."""


def derive(serving: Serving, *, pods_have_account: bool) -> list[Key]:
    """The objects that the pods name, in a stable order, each once."""
    space, pods, weights = serving.namespace, serving.pods, serving.weights
    found: list[tuple[str, str]] = []
    if weights.token is not None:
        found.append(("Secret", weights.token.name))
    if weights.claim is not None:
        found.append(("PersistentVolumeClaim", weights.claim))
    if weights.storage_class is not None:
        found.append(("StorageClass", weights.storage_class))
    if pods.priority_class_name is not None:
        found.append(("PriorityClass", pods.priority_class_name))
    own = {
        "serviceAccountName": pods.service_account_name if pods_have_account else None,
        "imagePullSecrets": [{"name": name} for name in pods.image_pull_secrets],
        "volumes": pods.volumes,
        "containers": [{"env": pods.env}, *pods.sidecars],
        "initContainers": pods.init_containers,
    }
    found += [(kind, name) for _, kind, name in needs(cast(Node, own)) if name]
    return list(dict.fromkeys(_key(kind, space, name) for kind, name in found))


def _key(kind: str, namespace: str, name: str) -> Key:
    if kind == "PriorityClass":
        return Key(group_of(SCHEDULING), kind, "", name)
    if kind == "StorageClass":
        return Key(group_of(STORAGE), kind, "", name)
    return Key(group_of(CORE), kind, namespace, name)


def prerequisites(serving: Serving, named: Sequence[Key]) -> Iterator[Prerequisite]:
    """One for the namespace, one for each named object, and one for a folder on the nodes."""
    yield Prerequisite(
        what=f"Namespace {serving.namespace}",
        check=f"kubectl get namespace {serving.namespace}",
        without="every object in it is refused",
    )
    token = serving.weights.token
    for key in named:
        where = f"-n {key.namespace} " if key.namespace else ""
        what = f"{key}"
        if token is not None and key.kind == "Secret" and key.name == token.name:
            what += f" with the key {token.key}"
        if key.kind == "PersistentVolumeClaim" and key.name == serving.weights.claim:
            what += " that all pods can mount, with the model in it"
        yield Prerequisite(
            what=what,
            check=f"kubectl get {key.kind.lower()} {where}{key.name}",
            without="pods stay in ErrImagePull and ImagePullBackOff, if the image is private"
            if key.kind == "Secret" and key.name in serving.pods.image_pull_secrets
            else _WITHOUT[key.kind],
        )
    if serving.weights.source == "nodePath":
        yield Prerequisite(
            what=f"folder {serving.weights.path} with the model on every node of pool {serving.pool}",
            check=f"kubectl debug node/NODE -it --image=busybox -- ls /host{serving.weights.path}",
            without="pods stay in ContainerCreating, since the folder has to exist",
        )


def platform(
    serving: Serving, cluster: Cluster, form: Form, role: RolePlan, *, staged: bool
) -> Iterator[Prerequisite]:
    """Nodes, controllers and their settings. `staged`: each group is a set of its own, one updated after another."""
    gpu = role.hardware.gpu
    labels = {gpu.product_label: gpu.product, **cluster.pools[serving.pool].node_labels}
    chosen = ",".join(f"{key}={value}" for key, value in labels.items())
    yield Prerequisite(
        what=f"nodes of pool {serving.pool} with the labels {chosen}, and a device plugin that offers {gpu.count} of "
        f"{gpu.resource} on each",
        check=f"kubectl get nodes -l {chosen} -o jsonpath="
        f"'{{range .items[*]}}{{.metadata.name}} {{.status.allocatable}}{{\"\\n\"}}{{end}}'",
        without="pods stay Pending: no node matches, or none offers the resource",
    )
    if spans_nodes_over_nvlink(role.shape, role.hardware):
        yield Prerequisite(
            what="IMEX on every node of a group, so that its ranks reach each other over NVLink: a ComputeDomain that "
            "the pods claim (driver dra-driver-nvidia-gpu), or the service nvidia-imex of the nodes",
            check=f"kubectl get nodes -L {GPU_CLIQUE} && kubectl get crd {COMPUTE_DOMAINS}",
            without="no memory is shared between nodes: the engine fails at start, or runs tensor parallelism over "
            "the network",
        )
    if form.can.runs_groups:
        yield Prerequisite(
            what=f"LeaderWorkerSet {cluster.versions.lws or OLDEST} with its webhook",
            check=f"kubectl get crd {DEFINITION} && "
            "kubectl get deploy -n lws-system lws-controller-manager",
            without="the set is refused, or exists and makes no pods",
        )
    if cluster.monitoring.enabled:
        own = ",".join(f"{key}={value}" for key, value in sorted(cluster.monitoring.labels.items()))
        chosen = f"selects {own}" if own else "selects rules without labels of their own"
        yield Prerequisite(
            what=f"Prometheus operator whose Prometheus {chosen}, as rules and as pod monitors, and looks into "
            f"namespace {serving.namespace} for both",
            check=f"kubectl get prometheus -A -o jsonpath='{_SELECTORS}'",
            without="no alert ever fires, and no series of the engine is there",
        )
        yield Prerequisite(
            what=f"kube-state-metrics, which Prometheus scrapes as job {cluster.monitoring.kube_state_metrics_job}",
            check="kubectl get --raw '/api/v1/namespaces/NAMESPACE/services/prometheus-operated:9090/proxy/api/v1/"
            "query?query=count(kube_pod_info)by(job)'",
            without="alerts on pods and budgets never fire",
        )
    if role.scaling is not None:
        leaders = role.identity.selectors.leaders
        yield from adapters.prerequisites(serving, cluster, role.scaling, leaders)
    if staged and cluster.gitops == "argocd":
        yield Prerequisite(
            what=f"Argo CD health check for LeaderWorkerSet under {HEALTH_KEY} in argocd-cm:\n{HEALTH_CHECK}",
            check="kubectl get configmap -n argocd argocd-cm -o yaml | grep -A3 leaderworkerset",
            without="Argo CD does not wait between waves, and a change takes all groups down at once",
        )
