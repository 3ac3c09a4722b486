"""Invariants of references and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.invariant.admits import queue_of
from tests.world import (
    CLUSTER_SCOPED,
    KUEUE_PRIORITY,
    PREFERRED,
    QUEUE,
    RANDOM,
    REQUIRED,
    Object,
    World,
    called,
    differ,
    name_of,
    serving_of,
    space_of,
    surge_of,
    templates_of,
)

from gangform.inputs.serving import Serving


def references_resolve(world: World) -> Iterator[str]:
    """From the queue label to the nodes, and from the pods to what they mount: everything is made or declared."""
    for workload in world.workloads:
        space, where = space_of(workload), called(workload)
        labels = workload["metadata"]["labels"]
        if QUEUE in labels:
            yield from _queue_chain(world, workload)
        if KUEUE_PRIORITY in labels and not world.has(
            "WorkloadPriorityClass", "", labels[KUEUE_PRIORITY]
        ):
            yield f"{where}: no WorkloadPriorityClass {labels[KUEUE_PRIORITY]}"
        queue = queue_of(world, workload)
        if queue is not None and not world.has(queue[0], "", queue[1]):
            yield f"{where}: no {queue[0]} {queue[1]}"
        declared = declared_by(world.servings[space, serving_of(workload)])
        for _, template in templates_of(workload):
            for kind, name in named_by(template):
                made = world.has(kind, space, name)
                yield from differ(
                    f"{where} names {kind} {name}: known", made or (kind, name) in declared, True
                )
        for claim in (
            workload["spec"].get("leaderWorkerTemplate", {}).get("volumeClaimTemplates", ())
        ):
            storage = ("StorageClass", claim["spec"].get("storageClassName"))
            if storage[1] is not None and storage not in declared:
                yield f"{where}: a claim names {storage}"


def _queue_chain(world: World, workload: Object) -> Iterator[str]:
    where, space = called(workload), space_of(workload)
    name = workload["metadata"]["labels"][QUEUE]
    local = world.places["LocalQueue"].get((space, name))
    if local is None:
        yield f"{where}: no LocalQueue {name} in {space}"
        return
    queue = world.places["ClusterQueue"].get(("", local["spec"]["clusterQueue"]))
    if queue is None:
        yield f"{called(local)}: no ClusterQueue {local['spec']['clusterQueue']}"
        return
    (namespaces,) = queue["spec"]["namespaceSelector"]["matchExpressions"]
    if space not in namespaces["values"]:
        yield f"{called(queue)} does not take namespace {space}"
    template = templates_of(workload)[0][1]
    fitting = []
    for entry in queue["spec"]["resourceGroups"][0]["flavors"]:
        flavor = world.places["ResourceFlavor"].get(("", entry["name"]))
        if flavor is None:
            yield f"{called(queue)}: no ResourceFlavor {entry['name']}"
            continue
        labels = flavor["spec"]["nodeLabels"]
        if labels.items() <= template["spec"]["nodeSelector"].items():
            fitting.append(flavor)
    yield from differ(f"flavors for {where}", len(fitting), 1)
    for flavor in fitting:
        tolerated = template["spec"].get("tolerations", [])
        for toleration in flavor["spec"].get("tolerations", ()):
            if toleration not in tolerated:
                yield f"{where} does not tolerate {toleration['key']}, its flavor does"
        notes = template["metadata"].get("annotations", {})
        level = notes.get(REQUIRED, notes.get(PREFERRED))
        if level is None:
            continue
        topology = world.places["Topology"].get(("", flavor["spec"].get("topologyName", "")))
        if topology is None:
            yield f"{called(flavor)}: no Topology, and {where} asks for {level}"
        elif level not in [each["nodeLabel"] for each in topology["spec"]["levels"]]:
            yield f"{called(topology)} has no level {level}"


def named_by(template: Object) -> Iterator[tuple[str, str]]:
    """Kind and name of everything in its namespace that a pod needs."""
    spec = template["spec"]
    yield ("ServiceAccount", spec["serviceAccountName"])
    yield from (("Secret", one["name"]) for one in spec.get("imagePullSecrets", ()))
    for volume in spec["volumes"]:
        if "persistentVolumeClaim" in volume:
            yield ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
        if "ephemeral" in volume:
            claim = volume["ephemeral"]["volumeClaimTemplate"]["spec"]
            if "storageClassName" in claim:
                yield ("StorageClass", claim["storageClassName"])
    for container in spec["containers"]:
        for variable in container.get("env", ()):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference is not None:
                yield ("Secret", reference["name"])


def declared_by(serving: Serving) -> set[tuple[str, str]]:
    """What a serving says exists beside the bundle."""
    weights, pods = serving.weights, serving.pods
    found = {("Secret", name) for name in pods.image_pull_secrets}
    for kind, name in (
        ("Secret", weights.token.name if weights.token else None),
        ("PersistentVolumeClaim", weights.claim),
        ("StorageClass", weights.storage_class),
        ("ServiceAccount", pods.service_account_name),
    ):
        if name is not None:
            found.add((kind, name))
    return found


def names_stay_in_bounds(world: World) -> Iterator[str]:
    """At the highest index that rollout and autoscaler reach, with the longest hash that was seen."""
    for pod in world.pods:
        if len(pod.name) > 63:
            yield f"pod {pod.name} has {len(pod.name)} characters"
        for key, value in pod.labels.items():
            if len(value) > 63:
                yield f"pod {pod.name}: {key} has {len(value)} characters"
    for workload in world.workloads:
        highest = world.highest(workload) + surge_of(workload) - 1
        if QUEUE in workload["metadata"]["labels"] and workload["kind"] == "LeaderWorkerSet":
            text = f"leaderworkerset-{name_of(workload)}-{highest}-{RANDOM}"
            if len(text) > 63 and world.kueue is not None and world.kueue < (0, 18):
                yield f"{called(workload)}: Workload {text} is a label of {len(text)} characters"
    taken: Counter[tuple[str, str, str]] = Counter()
    for one in world.objects:
        taken[one["kind"], space_of(one), name_of(one)] += 1
        # LeaderWorkerSet makes a headless Service under its own name.
        if one["kind"] == "LeaderWorkerSet":
            taken["Service", space_of(one), name_of(one)] += 1
        limit = 63 if one["kind"] == "Service" else 253
        if len(name_of(one)) > limit:
            yield f"{called(one)} has {len(name_of(one))} characters"
        for key, value in one["metadata"].get("labels", {}).items():
            if len(value) > 63 or len(key.rpartition("/")[2]) > 63:
                yield f"{called(one)}: label {key}={value} is too long"
    yield from (f"{each} stands {count} times" for each, count in taken.items() if count > 1)
    pods = Counter((pod.namespace, pod.name) for pod in world.pods)
    yield from (
        f"pod {pod} would be made {count} times" for pod, count in pods.items() if count > 1
    )


def namespaces_are_right(world: World) -> Iterator[str]:
    """A cluster-scoped object has no namespace; every other has the one of its serving, or of one of them."""
    spaces = {space for space, _ in world.servings}
    for one in world.objects:
        if one["kind"] in CLUSTER_SCOPED:
            yield from differ(f"{called(one)} namespace", "namespace" in one["metadata"], False)
        elif one["kind"] == "PrometheusRule" and "." in name_of(one):
            # Of a queue or of the cluster: no serving has a dot in its name.
            if space_of(one) not in spaces:
                yield f"{called(one)} is in no namespace of a serving"
        elif one["kind"] == "ConfigMap":
            yield from differ(
                f"{called(one)} is for", serving_of(one), ""
            )  # a dashboard is for all
        elif one["kind"] != "LocalQueue":
            place = space_of(one), serving_of(one)
            if place not in world.servings:
                yield f"{called(one)} is for no serving"
