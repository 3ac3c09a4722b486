"""Groups, label keys and annotation keys of core Kubernetes, of the Prometheus operator and of Argo CD.

The literals of API groups stand in this package and nowhere else, so that a search for one finds every use.
"""

from __future__ import annotations

CORE = "v1"
APPS = "apps/v1"
POLICY = "policy/v1"
AUTOSCALING = "autoscaling/v2"
NETWORKING = "networking.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
SCHEDULING = "scheduling.k8s.io/v1"
MONITORING = "monitoring.coreos.com/v1"
"""Group and version of PrometheusRule and PodMonitor (`observability §3`)."""
INFERENCE = "inference.networking.k8s.io/v1"
"""Group and version of InferencePool."""
KEDA = "keda.sh/v1alpha1"
STORAGE = "storage.k8s.io/v1"
EXTERNAL_METRICS = "external.metrics.k8s.io/v1beta1"
"""What an adapter serves for autoscalers on external metrics."""
CUSTOM_METRICS = "custom.metrics.k8s.io/v1beta1"
"""What an adapter serves for autoscalers on metrics of pods."""
ARGOCD = "argoproj.io/v1alpha1"

APP_NAME = "app.kubernetes.io/name"
APP_INSTANCE = "app.kubernetes.io/instance"
APP_COMPONENT = "app.kubernetes.io/component"
APP_PART_OF = "app.kubernetes.io/part-of"
APP_VERSION = "app.kubernetes.io/version"
MANAGED_BY = "app.kubernetes.io/managed-by"
HOSTNAME = "kubernetes.io/hostname"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""On every Namespace object, with its name: the way to select a namespace in a NetworkPolicy."""
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
POD_TEMPLATE_HASH = "pod-template-hash"
"""What the Deployment controller puts on pods, one value a template revision."""
REVISION_HASH = "controller-revision-hash"
"""What the StatefulSet controller, and so LeaderWorkerSet, puts on pods: the revision that they are of."""
POD_INDEX = "apps.kubernetes.io/pod-index"
"""The ordinal in the StatefulSet: under LeaderWorkerSet the group's index on a leader, a worker's own from 1 on
(`lws §1`)."""
POD_NAME = "statefulset.kubernetes.io/pod-name"
SERVICE_NAME = "kubernetes.io/service-name"
"""On every EndpointSlice, with the name of its Service."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""A taint by which an operator says that a node is dead: its pods are deleted without an answer of it (`lws §4`)."""

GPU = "nvidia.com/gpu"
"""The extended resource of NVIDIA's device plugin."""
GPU_PARTS = frozenset({GPU + "mem", GPU + "mem-percentage", GPU + "cores"})
"""What HAMi's device plugin hands out of a GPU: beside them `nvidia.com/gpu` counts parts of GPUs."""
GPU_PRODUCT = "nvidia.com/gpu.product"
GPU_CLIQUE = "nvidia.com/gpu.clique"
"""`<cluster UUID>.<clique>`: the NVLink domain of a node (`volcano §9`)."""
COMPUTE_DOMAIN_GROUP = "resource.nvidia.com"
COMPUTE_DOMAINS = "computedomains.resource.nvidia.com"
"""Name of the CustomResourceDefinition of NVIDIA's DRA driver that joins nodes over NVLink (`volcano §9`)."""

KUBECTL = "kubectl.kubernetes.io/"
"""Prefix of the annotations that kubectl leaves."""

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"

LABEL_VALUE_LIMIT = 63
"""Longest value of a label, and longest DNS label (Service names, pod host names)."""
NAME_LIMIT = 253
"""Longest name of an object that need not be a DNS label."""
