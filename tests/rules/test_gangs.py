"""Volcano: the rows of `lab E8`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


VOLCANO = {"B>spec>schedulerName": "volcano"}
JOINED = {**VOLCANO, "B>metadata>annotations>scheduling.k8s.io/group-name": "r1"}
ONE = {**JOINED, "spec>replicas": 1}


def test_somebody_makes_the_gang(make: Make, refused: Check, accepted: Check) -> None:
    at = "leaderTemplate.spec.schedulerName"
    accepted("gang-not-formed", make("set", VOLCANO))
    refused("gang-not-formed", at, make("set", VOLCANO), provider="none")
    queued = make("set", {**VOLCANO, "metadata>annotations>scheduling.volcano.sh/queue-name": "q"})
    refused("gang-not-formed", f"{at} ~ 0.5.1", queued, versions={"lws": "0.5.1"})
    accepted("gang-not-formed", queued, make("set", JOINED), make("set"))
    accepted("gang-not-formed", queued, versions={"lws": "0.9"})


def test_the_clusters_provider_decides(make: Make, refused: Check, accepted: Check) -> None:
    pods = make("set", VOLCANO)
    refused("gang-not-formed", "schedulerName ~ is off", pods, provider="none")
    accepted("gang-not-formed", pods, provider="volcano")


def test_a_gang_is_one_whole_group(make: Make, refused: Check, accepted: Check) -> None:
    accepted("gang-counts-other-pods", make("set", ONE), make("pod_group"))
    accepted("gang-counts-other-pods", make("set"), make("pod_group"))
    less = make("pod_group", {"spec>minMember": 1})
    refused("gang-counts-other-pods", "spec.minMember ~ minMember: 2", make("set", ONE), less)
    two = make("set", JOINED)
    refused(
        "gang-counts-other-pods", "PodGroup/r1 metadata.name ~ 2 groups", two, make("pod_group")
    )
    tasks = {"spec>minMember": 6, "spec>minTaskMember": {"r1-0": 2, "r1-1": 4}}
    accepted("gang-counts-other-pods", make("set", ONE), make("pod_group", tasks))
    for word in ("labels", "annotations"):
        named = make("set", {**ONE, f"B>metadata>{word}>volcano.sh/task-spec": "r1-0"})
        accepted("gang-counts-other-pods", named, make("pod_group", tasks))
        alone = make("pod_group", {"spec>minMember": 6, "spec>minTaskMember": {"r1-0": 2}})
        refused("gang-counts-other-pods", "spec.minMember ~ minMember: 2", named, alone)
    name = "spec>template>metadata>annotations>scheduling.k8s.io/group-name"
    by_hand = make("stateful", {name: "r1"})
    accepted("gang-counts-other-pods", by_hand, make("pod_group"))
    leader = make("stateful", {"metadata>name": "leader", name: "r1", "spec>replicas": 1})
    three = make("pod_group", {"spec>minMember": 3})
    accepted("gang-counts-other-pods", by_hand, leader, three)
    refused("gang-counts-other-pods", "spec.minMember ~ minMember: 2", by_hand, three)
    half = {"L>metadata>annotations>scheduling.k8s.io/group-name": "r1", "spec>replicas": 1}
    at = "spec.minMember ~ of which 1 name"
    refused("gang-counts-other-pods", at, make("set", half), make("pod_group"))


def test_a_gang_says_what_it_takes(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("pod_group", {"spec>minResources": ...})
    at = "spec.minResources ~ nvidia.com/gpu: 16"
    refused("gang-without-resources", at, make("set", ONE), bare)
    accepted("gang-without-resources", bare)
    accepted("gang-without-resources", make("pod_group"))
    native = make("pod_group", {"apiVersion": "scheduling.k8s.io/v1alpha2", "spec": {}})
    accepted("gang-without-resources", native)


def test_topology_has_one_tier(make: Make, refused: Check, accepted: Check) -> None:
    both = make("pod_group", {"spec>networkTopology>highestTierAllowed": 1})
    refused("pod-group-refused", "spec.networkTopology.highestTierName", both)
    none = make("pod_group", {"spec>networkTopology": {"mode": "hard"}})
    refused("pod-group-refused", "spec.networkTopology.mode ~ silence", none)
    accepted("pod-group-refused", make("pod_group"))
    soft = make("pod_group", {"spec>networkTopology": {"mode": "soft"}})
    accepted("pod-group-refused", soft)


def volcano(kind: str, group: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def test_queues_and_hyper_nodes_are_taken(refused: Check, accepted: Check) -> None:
    api, topology = "scheduling.volcano.sh/v1beta1", "topology.volcano.sh/v1alpha1"
    refused("volcano-queue-refused", "Queue/x spec.weight", volcano("Queue", api, {"weight": 0}))
    accepted("volcano-queue-refused", volcano("Queue", api, {"weight": 1}))
    member = {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}
    node = volcano("HyperNode", topology, {"tier": 1, "members": [member]})
    accepted("hyper-node-refused", node)
    refused("hyper-node-refused", "spec.members", volcano("HyperNode", topology, {"tier": 1}))


def test_a_queue_takes_no_more_than_those_it_lies_in(refused: Check, accepted: Check) -> None:
    def queue(name: str, parent: str = "root", **spec: Any) -> dict[str, Any]:
        one = volcano("Queue", "scheduling.volcano.sh/v1beta1", {"parent": parent, **spec})
        return {**one, "metadata": {"name": name}}

    gpus = "nvidia.com/gpu"
    team = queue("team", deserved={gpus: 16}, capability={gpus: 32, "cpu": "64"})
    halves = [queue(name, "team", deserved={gpus: 8}) for name in ("a", "b")]
    accepted("volcano-queue-refused", team, *halves)
    third = queue("c", "team", deserved={gpus: 1})
    said = f"Queue/c spec.deserved[{gpus}] ~ 1 is more than others leave of 16, the deserved of the parent team"
    refused("volcano-queue-refused", said, team, *halves, third)
    least = queue("d", "team", guarantee={"resource": {"cpu": "8"}}, deserved={"cpu": "8"})
    accepted("volcano-queue-refused", team, least)  # releases differ where the parent sets none
    deep = queue("e", "a", capability={gpus: 33})
    refused(
        "volcano-queue-refused", f"Queue/e spec.capability[{gpus}] ~ above 32", team, *halves, deep
    )
    accepted("volcano-queue-refused", team, *halves, queue("e", "a", capability={gpus: 32}))
    accepted("volcano-queue-refused", queue("e", "gone", capability={gpus: 33}, deserved={gpus: 9}))
    root = queue("root", "", capability={gpus: 1})
    accepted("volcano-queue-refused", root, queue("f", capability={gpus: 33}, deserved={gpus: 33}))
    ring = [queue("g", "h", capability={gpus: 2}), queue("h", "g", capability={gpus: 2})]
    accepted("volcano-queue-refused", *ring)


def test_a_pattern_of_nodes_compiles(refused: Check, accepted: Check) -> None:
    def matching(pattern: str) -> dict[str, Any]:
        member = {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}
        spec = {"tier": 1, "members": [member]}
        return volcano("HyperNode", "topology.volcano.sh/v1alpha1", spec)

    at = "HyperNode/x spec.members[0].selector.regexMatch.pattern"
    for pattern, why in (
        ("node-(1|2", "missing )"),
        ("node-1)", "unbalanced parenthesis"),
        ("node-[0-9", "unterminated character set"),
        ("*-rack-1", "nothing stands before `*`"),
        ("node-(?!9).*", "it has no `(?!`"),
    ):
        refused("hyper-node-refused", f"{at} ~ {why}", matching(pattern))
    fine = (
        "node-[0-9]+",
        r"\Qa(b\E",
        r"\pL+-\z",
        "^*a",
        "[(?=]",
        r"a\(?=",
        "(?P<n>a)",
        "(?i)a",
        "",
    )
    accepted("hyper-node-refused", *map(matching, fine))


def test_topology_annotations_do_nothing_on_a_set(
    make: Make, refused: Check, accepted: Check
) -> None:
    key = "volcano.sh/network-topology-mode"
    on_set = make("set", {f"metadata>annotations>{key}": "hard"})
    refused("topology-annotation-inert", f"LeaderWorkerSet/r1 metadata.annotations[{key}]", on_set)
    on_pods = make("set", {f"W>metadata>annotations>{key}": "hard"})
    refused("topology-annotation-inert", f"workerTemplate.metadata.annotations[{key}]", on_pods)
    accepted("topology-annotation-inert", make("set"))
    alone = make("deployment", {f"spec>template>metadata>annotations>{key}": "hard"})
    accepted("topology-annotation-inert", alone)
