"""Selectors and names that lead nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


def test_a_selector_matches_some_pod(make: Make, refused: Check, accepted: Check) -> None:
    lost = make("budget", {"spec>selector>matchLabels": {"app": "r1"}})
    refused("selector-matches-nothing", "spec.selector.matchLabels", make("set"), lost)
    refused("selector-matches-nothing", 'matchLabels ~ /name: "r1"', make("set"), lost)
    wrong = make("service", {"spec>selector>leaderworkerset.sigs.k8s.io/name": "r2"})
    refused("selector-matches-nothing", "spec.selector ~ name: r1", make("set"), wrong)
    refused("selector-matches-nothing", "spec.selector", make("service"), complete=True)
    accepted("selector-matches-nothing", make("set"), make("budget"), make("service"))
    accepted("selector-matches-nothing", make("service"))


def test_a_selector_may_be_meant_for_pods_elsewhere(
    make: Make, refused: Check, accepted: Check
) -> None:
    code = "selector-matches-nothing"
    picker = make("deployment", {"spec>template>spec>containers": [{"name": "p", "image": "p:1"}]})
    pool = make("pool", {"spec>selector>matchLabels": {"app": "llama"}})
    accepted(code, picker, pool)
    accepted(code, make("deployment"), pool)
    near = make("pool", {"spec>selector>matchLabels": {"app.kubernetes.io/name": "smal"}})
    refused(code, "spec.selector.matchLabels", make("deployment"), near)
    gateway = make("service", {"spec>selector": {"gateway.networking.k8s.io/gateway-name": "in"}})
    accepted(code, make("set"), gateway)
    leader = {"leaderworkerset.sigs.k8s.io/worker-index": "0", "app": "other"}
    accepted(code, make("set"), make("service", {"spec>selector": leader}))
    of_ours = {"leaderworkerset.sigs.k8s.io/name": "r1", "app": "r1", "role": "leader"}
    refused(code, "spec.selector", make("set"), make("service", {"spec>selector": of_ours}))
    slip = {"app.kubernetes.io/name": "smal"}
    refused(
        code, "spec.selector ~ small", make("deployment"), make("service", {"spec>selector": slip})
    )
    chart = {"app.kubernetes.io/part-of": "x", "app.kubernetes.io/name": "db"}
    accepted(code, make("deployment"), make("service", {"spec>selector": chart, "spec>ports": []}))


def test_a_selector_may_be_meant_for_pods_that_we_do_not_read(make: Make, accepted: Check) -> None:
    other = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "db", "namespace": "llm"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    lost = make("budget", {"spec>selector>matchLabels": {"app": "db"}})
    accepted("selector-matches-nothing", make("set"), lost, other)


def test_expressions_and_other_namespaces_are_understood(make: Make, accepted: Check) -> None:
    expressions = {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
    accepted(
        "selector-matches-nothing", make("set"), make("budget", {"spec>selector": expressions})
    )
    far = make(
        "monitor", {"metadata>namespace": "mon", "spec>namespaceSelector": {"matchNames": ["llm"]}}
    )
    accepted("selector-matches-nothing", make("set"), far, complete=True)


def test_a_name_leads_to_an_object(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    lost = make("local_queue", {"spec>clusterQueue": "gpus"})
    refused("reference-unresolved", "LocalQueue/serving spec.clusterQueue ~ gpu,", *queue, lost)
    refused("reference-unresolved", "spec.clusterQueue", lost, complete=True)
    flavor = make("flavor", {"spec>topologyName": "fabrics"})
    refused("reference-unresolved", "spec.topologyName", make("topology"), flavor)
    target = make("scaler", {"spec>scaleTargetRef>name": "r2"})
    refused("reference-unresolved", "spec.scaleTargetRef.name", make("set"), target)
    sets = [make("set", {"metadata>name": name}) for name in ("llama", "qwen-large")]
    accepted("reference-unresolved", *sets, target)
    slip = make("scaler", {"spec>scaleTargetRef>name": "qwen-larg"})
    refused("reference-unresolved", "spec.scaleTargetRef.name ~ qwen-large", *sets, slip)
    version = make("scaler", {"spec>scaleTargetRef>apiVersion": "apps/v1"})
    refused("reference-unresolved", "spec.scaleTargetRef.name ~ apiVersion", make("set"), version)
    accepted("reference-unresolved", *queue, make("set"), make("scaler"), complete=True)
    accepted("reference-unresolved", lost)
    known = [("kueue.x-k8s.io", "ClusterQueue", "", "gpus")]
    accepted("reference-unresolved", lost, complete=True, exists=known)


def test_a_backend_of_a_route_exists(make: Make, refused: Check, accepted: Check) -> None:
    def route(name: str) -> dict[str, Any]:
        return {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "r1", "namespace": "llm"},
            "spec": {"rules": [{"backendRefs": [{"name": name}]}]},
        }

    at = "HTTPRoute/r1 spec.rules[0].backendRefs[0].name"
    refused("reference-unresolved", at, make("service"), route("r1"))
    accepted("reference-unresolved", make("service"), route("r1-leader"))


def test_an_autoscaler_targets_what_scales(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("scaler", {"spec>scaleTargetRef>kind": "DaemonSet"})
    refused("scale-target-cannot-scale", "spec.scaleTargetRef.kind", wrong)
    accepted("scale-target-cannot-scale", make("scaler"), make("keda"))


def test_a_queue_label_names_a_queue_of_the_namespace(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    label = "metadata>labels>kueue.x-k8s.io/queue-name"
    at = "metadata.labels[kueue.x-k8s.io/queue-name]"
    refused("queue-unresolved", at, *queue, make("set", {label: "servings"}))
    refused("queue-unresolved", at, make("set", {label: "serving"}), complete=True)
    elsewhere = make("local_queue", {"metadata>namespace": "other"})
    refused("queue-unresolved", at, elsewhere, make("set", {label: "serving"}))
    accepted("queue-unresolved", *queue, make("set", {label: "serving"}), make("set"))
    accepted("queue-unresolved", make("set", {label: "serving"}))


def test_a_pod_group_that_pods_name_exists(make: Make, refused: Check, accepted: Check) -> None:
    joined = make("set", {"B>metadata>annotations>scheduling.k8s.io/group-name": "r1"})
    other = make("pod_group", {"metadata>name": "r2"})
    at = "leaderTemplate.metadata.annotations[scheduling.k8s.io/group-name]"
    refused("pod-group-unresolved", at, joined, other)
    accepted("pod-group-unresolved", joined, make("pod_group"), complete=True)
    accepted("pod-group-unresolved", make("set"), complete=True)


def test_what_a_pod_cannot_start_without_exists(
    make: Make, refused: Check, accepted: Check
) -> None:
    secret = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}
    pod = make("set", {"L>C>env": [secret], "B>spec>serviceAccountName": "r1"})
    accounts = [("", "ServiceAccount", "llm", "r1")]
    at = "containers[0].env[0].valueFrom.secretKeyRef.name"
    refused("pod-needs-missing-object", at, pod, complete=True, exists=accounts)
    refused("pod-needs-missing-object", "spec.serviceAccountName", pod, complete=True)
    accepted("pod-needs-missing-object", pod)
    there = [*accounts, ("", "Secret", "llm", "hub")]
    accepted("pod-needs-missing-object", pod, complete=True, exists=there)
    claim = {"name": "w", "persistentVolumeClaim": {"claimName": "weights"}}
    refused(
        "pod-needs-missing-object",
        "volumes[0].persistentVolumeClaim.claimName",
        make("set", {"L>spec>volumes": [claim]}),
        complete=True,
    )


def test_a_pool_may_be_for_pods_of_another_file(
    make: Make, refused: Check, accepted: Check
) -> None:
    labels = "spec>selector>matchLabels"
    other = make("pool", {"metadata>name": "other", labels: {"app": "other"}})
    accepted("selector-matches-nothing", make("set"), other)
    refused("selector-matches-nothing", "matchLabels", make("set"), other, complete=True)
    half = make("pool", {labels: {"leaderworkerset.sigs.k8s.io/name": "r1", "role": "leader"}})
    refused("selector-matches-nothing", "matchLabels", make("set"), half)
