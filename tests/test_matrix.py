"""Whole bundles over the product of all that a serving may ask for.

A part of the product is planned: what the plan refuses must be refused with findings, and what it accepts becomes the
documents of one cluster for each backend, over which every invariant and every rule must hold.
"""

from __future__ import annotations

import ast
import copy
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import JsonValue
from tests import matrix
from tests.invariants import INVARIANTS
from tests.matrix import DIMENSIONS, LIBRARY, NETWORK, Combination
from tests.world import LWS, WAVE, Object, World, called

from gangform.bundle import Bundle, bundle, foundation, judge_bundles
from gangform.findings import Finding, InputError
from gangform.inputs.cluster import Cluster, Fleet
from gangform.inputs.serving import Patch, Pods, Rollout, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.synth import synthesise

ROOT = Path(__file__).parent.parent
EACH = 48
"""Combinations from every pair of backend and form: 768 of 55296."""
CLUSTERS = [(backend, gitops) for backend in DIMENSIONS[0] for gitops in DIMENSIONS[8]]


class Planned(NamedTuple):
    """What became of one combination."""

    combination: Combination
    plan: ServingPlan

    @property
    def refused(self) -> list[Finding]:
        return [finding for finding in self.plan.findings if finding.breaks]


class Rendered(NamedTuple):
    """The documents of all accepted combinations of one cluster."""

    cluster: Cluster
    accepted: list[Planned]
    bundles: list[Bundle]
    world: World


@cache
def planned() -> list[Planned]:
    """Every sampled combination, planned once."""
    clusters = {pair: matrix.cluster(*pair) for pair in CLUSTERS}
    found = []
    for number, each in enumerate(matrix.sampled(EACH)):
        made = matrix.serving(each, f"s{number}")
        cluster = clusters[each.backend, each.gitops]
        found.append(Planned(each, plan_serving(made, cluster=cluster, library=LIBRARY)))
    return found


@cache
def rendered(backend: str, gitops: str) -> Rendered:
    """The cluster of a backend with all its accepted servings."""
    cluster = matrix.cluster(backend, gitops)
    accepted = [
        each
        for each in planned()
        if (each.combination.backend, each.combination.gitops) == (backend, gitops)
        and not each.refused
    ]
    plans = [each.plan for each in accepted]
    whole = plan_cluster(cluster, plans)
    assert not [finding.what for finding in whole.findings if finding.breaks]
    bundles = [*map(bundle, plans), foundation(whole)]
    manifests: list[Object] = [document.manifest for made in bundles for document in made.documents]
    servings = [plan.serving for plan in plans]
    return Rendered(
        cluster,
        accepted,
        bundles,
        World(manifests, servings, kueue=cluster.versions.kueue),
    )


def test_a_sensible_share_is_accepted_and_the_rest_is_refused_with_reasons(
    record_property: Callable[[str, object], None],
) -> None:
    refused = [each for each in planned() if each.refused]
    accepted = len(planned()) - len(refused)
    codes = Counter(finding.code.id for each in refused for finding in each.refused)
    record_property("planned", len(planned()))
    record_property("accepted", accepted)
    record_property("codes", dict(codes))
    assert len(planned()) == EACH * 16
    assert len(list(matrix.whole())) == 55296
    assert len(planned()) // 4 < accepted < len(planned()) * 3 // 4, codes
    for each in refused:
        for finding in each.refused:
            assert finding.what and finding.fix, finding
            assert finding.code.id and finding.at.path, finding


@pytest.mark.parametrize("field", Combination._fields)
def test_every_value_occurs_among_the_accepted_under_every_backend_that_has_it(field: str) -> None:
    """A value that never gets through is refused for itself: the exceptions are named."""
    never = {
        # Each group is an object of its own, which no autoscaler can add.
        ("volcano-podgroup", "two pods", "autoscaled"),
        ("volcano-podgroup", "four pods", "autoscaled"),
        ("volcano-podgroup", "set of one pod", "autoscaled"),
        # A surge group would join the PodGroup of another.
        ("volcano-podgroup", "two pods", "declared"),
        ("volcano-podgroup", "four pods", "declared"),
        ("volcano-podgroup", "set of one pod", "declared"),
        # The engine's leader is Ready once its workers have loaded, and they are made once it is Ready.
        *(
            (backend, form, "LeaderReady")
            for backend in DIMENSIONS[0]
            for form in ("two pods", "four pods")
        ),
        # LWS's provider has no way to ask for a place.
        ("volcano", "two pods", "required"),
        ("volcano", "four pods", "required"),
        # The pods of a Deployment carry no index of a group.
        *(
            (backend, "deployment", mode)
            for backend in DIMENSIONS[0]
            for mode in ("perGroup", "released")
        ),
    }
    position = Combination._fields.index(field)
    seen = {
        (each.combination.backend, each.combination.form, each.combination[position])
        for each in planned()
        if not each.refused
    }
    wanted = {
        (backend, form, value)
        for backend in DIMENSIONS[0]
        for form in DIMENSIONS[1]
        for value in DIMENSIONS[position]
        if position > 1 or value in (backend, form)
    }
    assert wanted - seen == never & wanted


@pytest.mark.parametrize("pair", CLUSTERS, ids="-".join)
@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda each: each.__name__)
def test_documents_keep(invariant: Callable[[World], Iterator[str]], pair: tuple[str, str]) -> None:
    faults = list(invariant(rendered(*pair).world))
    assert not faults, f"{len(faults)} faults, such as\n" + "\n".join(faults[:5])


@pytest.mark.parametrize("pair", CLUSTERS, ids="-".join)
def test_rules_find_nothing_that_breaks(pair: tuple[str, str]) -> None:
    made = rendered(*pair)
    broken = [
        f"{finding.code.id}: {finding.what}"
        for finding in judge_bundles(made.bundles, made.cluster)
        if finding.breaks
    ]
    assert not broken, f"{len(broken)} findings, such as\n" + "\n".join(broken[:5])


@pytest.mark.parametrize("pair", CLUSTERS, ids="-".join)
def test_documents_say_what_was_asked(pair: tuple[str, str]) -> None:
    """The words of a combination stand in its objects, and nothing else in their place."""
    made = rendered(*pair)
    for combination, plan in made.accepted:
        workloads = made.world.workloads_of((plan.namespace, plan.name))
        kind = "Deployment" if combination.form == "deployment" else "LeaderWorkerSet"
        assert {each["kind"] for each in workloads} == {kind}, plan.name
        apart = combination.backend == "volcano-podgroup" and kind == "LeaderWorkerSet"
        assert len(workloads) == (matrix.FIXED if apart else 1), plan.name
        for workload in workloads:
            says_what_was_asked(combination, workload)


def says_what_was_asked(combination: Combination, workload: Object) -> None:
    """One workload against the words of its combination."""
    where, spec = (called(workload), combination), workload["spec"]
    single = matrix.SIZES[combination.form] == 1
    templates = [spec["template"]] if "template" in spec else []
    if not templates:
        group = spec["leaderWorkerTemplate"]
        restart = "None" if single else "RecreateGroupAfterStart"
        restart = restart if combination.restart == "derived" else combination.restart
        assert group["restartPolicy"] == restart, where
        assert spec["startupPolicy"] == combination.startup, where
        assert group["size"] == matrix.SIZES[combination.form], where
        templates = [group["leaderTemplate"], group["workerTemplate"]]
        rolling = spec["rolloutStrategy"]["rollingUpdateConfiguration"]
        has_templates = bool(group.get("volumeClaimTemplates"))
        assert has_templates == (combination.weights == "perPod"), where
    else:
        rolling = spec["strategy"]["rollingUpdate"]
    # A surge ends everywhere but in sets under Kueue, and PodGroups of our own have none.
    surges = combination.backend in ("volcano", "none") or combination.form == "deployment"
    if combination.backend == "volcano-podgroup":
        surges = combination.form == "deployment" and rolling["maxSurge"] == 1
    pair = (rolling["maxSurge"], rolling["maxUnavailable"])
    wanted = {
        "derived": (0, 1),
        "spare": (1, 0) if surges else (0, 1),
        "declared": (1, 1),
    }[combination.rollout]
    assert pair == wanted, where
    field = {"hub": "emptyDir", "claim": "persistentVolumeClaim", "nodePath": "hostPath"}
    for template in templates:
        volumes = template["spec"]["volumes"]
        if combination.weights in field:
            assert any(field[combination.weights] in each for each in volumes), where
        elif "template" in spec:
            assert any("ephemeral" in each for each in volumes), where


@pytest.mark.parametrize("backend", DIMENSIONS[0])
@pytest.mark.parametrize("form", DIMENSIONS[1])
@pytest.mark.parametrize("gitops", DIMENSIONS[8])
@pytest.mark.parametrize("groups", [1, 10, 11])
def test_the_longest_name_works_and_one_more_is_refused(
    backend: str, form: str, gitops: str, groups: int
) -> None:
    """Bounds by digits of the highest index: 50 and 49, 52 for one pod, and 39 and 38 under an older Kueue."""
    combination = Combination(
        backend,
        form,
        "derived",
        "LeaderCreated",
        "fixed",
        "serial",
        "claim",
        "derived",
        gitops,
        "none",
    )
    digits = len(str(groups - 1))
    longest = 52 if form == "set of one pod" else 51 - digits
    if form == "deployment":
        longest = 46
    elif backend == "volcano-podgroup":
        # A set for each group, called by its number, with the index 0 inside.
        longest = (52 if form == "set of one pod" else 50) - 1 - digits
    elif backend == "kueue" and gitops == "none":
        longest = min(longest, 40 - digits)
    cluster = matrix.cluster(backend, gitops)
    given = matrix.serving(combination, "x").model_copy(update={"groups": groups})

    def plan(length: int) -> ServingPlan:
        named = given.model_copy(update={"name": "x" * length})
        return plan_serving(named, cluster=cluster, library=LIBRARY)

    made = plan(longest)
    assert not [finding.what for finding in made.findings if finding.breaks]
    manifests = [document.manifest for document in bundle(made).documents]
    world = World(manifests, [made.serving], kueue=cluster.versions.kueue)
    names = next(each for each in INVARIANTS if each.__name__ == "names_stay_in_bounds")
    assert list(names(world)) == []
    with pytest.raises(InputError, match="name-too-long"):
        bundle(plan(longest + 1))


# ── the same bytes ───────────────────────────────────────────────────────────────────────────────


def digests() -> dict[str, str]:
    """A digest of the bytes of every file of a few servings on every cluster."""
    found = {}
    for backend, gitops in CLUSTERS:
        cluster = matrix.cluster(backend, gitops)
        plans = []
        for number, each in enumerate(matrix.sampled(4)):
            if (each.backend, each.gitops) == (backend, gitops):
                asked = matrix.serving(each, f"s{number}")
                plans.append(plan_serving(asked, cluster=cluster, library=LIBRARY))
        plans = [plan for plan in plans if not any(finding.breaks for finding in plan.findings)]
        for made in [*map(bundle, plans), foundation(plan_cluster(cluster, plans))]:
            if made.documents:
                found[f"{cluster.name}/{made.name}"] = sha256(made.to_yaml()).hexdigest()
    return found


def test_bytes_are_the_same_twice_and_in_a_process_of_another_place(tmp_path: Path) -> None:
    """Neither hashing of texts nor time zone, language or folder shows in a byte."""
    here = digests()
    assert len(here) > 20
    assert here == digests()
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "4242",
        "TZ": "Asia/Kathmandu",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_matrix import digests; print(digests())"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == here


def test_a_foundation_does_not_depend_on_the_order_of_servings() -> None:
    for pair in CLUSTERS:
        made = rendered(*pair)
        plans = [each.plan for each in made.accepted]
        turned = foundation(plan_cluster(made.cluster, plans[::-1]))
        if turned.documents:
            assert turned.to_yaml() == made.bundles[-1].to_yaml()


def test_no_manifest_depends_on_the_number_of_nodes() -> None:
    """Only HyperNodes depend on an inventory, and only on its domains."""
    for backend in DIMENSIONS[0]:
        made = rendered(backend, "none")
        pool = made.cluster.pools["small"].model_copy(update={"nodes": 100_000})
        counted = made.cluster.model_copy(update={"pools": {"small": pool}})
        for each, before in zip(made.accepted[:10], made.bundles, strict=False):
            plan = plan_serving(each.plan.serving, cluster=counted, library=LIBRARY)
            assert bundle(plan).to_yaml() == before.to_yaml()


def test_every_kind_occurs() -> None:
    """What no combination makes is checked by nobody here."""
    kinds = {one["kind"] for pair in CLUSTERS for one in rendered(*pair).world.objects}
    assert kinds == {
        "ClusterQueue",
        "Deployment",
        "HorizontalPodAutoscaler",
        "HyperNode",
        "LeaderWorkerSet",
        "LocalQueue",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PodGroup",
        "PodMonitor",
        "PrometheusRule",
        "Queue",
        "ResourceFlavor",
        "Service",
        "ServiceAccount",
        "Topology",
    }


# ── what a run over the product does not ask ─────────────────────────────────────────────────────

PLAIN = Combination(
    "kueue",
    "two pods",
    "derived",
    "LeaderCreated",
    "fixed",
    "serial",
    "claim",
    "derived",
    "none",
    "none",
)


def refusals(*servings: Serving) -> set[str]:
    """Codes that servings of one backend are refused with, alone or together."""
    cluster = matrix.cluster(servings[0].admission.backend, "none")
    try:
        synthesise(Fleet(version=1, clusters=(cluster,), servings=servings), LIBRARY)
    except InputError as error:
        return {finding.code.id for finding in error.findings}
    return set()


@pytest.mark.parametrize("other", ["a-group-0", "a-leader", "a-0"])
def test_two_servings_whose_objects_would_have_one_name_are_refused(other: str) -> None:
    first = matrix.serving(PLAIN._replace(disruption="perGroup"), "a")
    second = matrix.serving(PLAIN, other)
    shared = [each.model_copy(update={"namespace": "llm"}) for each in (first, second)]
    assert refusals(*shared) == {"names-clash"}
    apart = first.model_copy(update={"namespace": "elsewhere"})
    assert refusals(apart, second) == set()


SIDE: dict[str, JsonValue] = {
    "name": "side",
    "image": "example.com/side:1",
    "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
}
AROUND = {
    "sidecar": Pods(sidecars=(SIDE,)),
    "init": Pods(init_containers=({**SIDE, "resources": {"requests": {"cpu": "120"}}},)),
    "restarted init": Pods(init_containers=({**SIDE, "restartPolicy": "Always"},)),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", ["deployment", "two pods"])
@pytest.mark.parametrize("backend", DIMENSIONS[0])
def test_quotas_and_pod_groups_count_every_container(backend: str, form: str, around: str) -> None:
    cluster = matrix.cluster(backend, "none")
    given = matrix.serving(PLAIN._replace(backend=backend, form=form), "a")
    asked = given.model_copy(update={"pods": AROUND[around]})
    plan = plan_serving(asked, cluster=cluster, library=LIBRARY)
    bundles = [bundle(plan), foundation(plan_cluster(cluster, [plan]))]
    manifests = [document.manifest for made in bundles for document in made.documents]
    world = World(manifests, [asked], kueue=cluster.versions.kueue)
    for invariant in INVARIANTS:
        if invariant.__name__ in ("quotas_hold_exactly_the_peak", "pod_groups_hold_their_group"):
            assert list(invariant(world)) == []


@pytest.mark.parametrize("form", ["deployment", "two pods"])
@pytest.mark.parametrize("backend", ["volcano", "volcano-podgroup", "none"])
@pytest.mark.parametrize(
    "key", ["scheduling.volcano.sh/queue-name", "scheduling.k8s.io/group-name"]
)
def test_a_pod_annotation_does_not_lead_past_the_queue(backend: str, form: str, key: str) -> None:
    given = matrix.serving(PLAIN._replace(backend=backend, form=form), "a")
    changed = given.model_copy(update={"pods": Pods(annotations={key: "another"})})
    assert refusals(given) == set()
    assert refusals(changed) == {"label-owned-by-controller"}


def test_a_canary_needs_groups_of_one_set() -> None:
    canary = {"rollout": Rollout(canary_groups=1)}
    given = matrix.serving(PLAIN, "a").model_copy(update=canary)
    assert refusals(given) == set()
    apart = matrix.serving(PLAIN._replace(backend="volcano-podgroup"), "a")
    assert refusals(apart.model_copy(update=canary)) == {"canary-needs-groups"}


def test_a_patch_may_not_give_an_object_to_somebody_else() -> None:
    patch = Patch(
        kind="Service", merge={"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}
    )
    given = matrix.serving(PLAIN, "a").model_copy(update={"patches": (patch,)})
    assert refusals(given) == {"patch-over-plan"}


# ── the invariants see what they are there to see ────────────────────────────────────────────────

SET = "spec.leaderWorkerTemplate"
POD = f"{SET}.leaderTemplate.spec.containers.0"


@pytest.mark.parametrize(
    ("invariant", "kind", "path", "value"),
    [
        ("services_reach_exactly_the_leaders", "Service", "spec.selector", {f"{LWS}name": "a"}),
        ("monitors_scrape_exactly_the_leaders", "PodMonitor", "spec.selector.matchLabels", {}),
        (
            "policies_shield_exactly_the_pods",
            "NetworkPolicy",
            "spec.podSelector.matchLabels",
            {f"{LWS}worker-index": "0"},
        ),
        ("budgets_cover_a_set_or_one_group", "PodDisruptionBudget", "spec.maxUnavailable", 2),
        (
            "budgets_cover_a_set_or_one_group",
            "PodDisruptionBudget",
            "spec.selector.matchLabels",
            {f"{LWS}name": "a", f"{LWS}group-index": "0"},
        ),
        (
            "ports_are_named_where_something_listens",
            "Service",
            "spec.ports.0.targetPort",
            "rendezvous-too",
        ),
        ("probes_ask_only_who_listens", "LeaderWorkerSet", f"{POD}.readinessProbe", None),
        ("ranks_fill_the_requested_gpus", "LeaderWorkerSet", f"{SET}.size", 3),
        (
            "ranks_fill_the_requested_gpus",
            "LeaderWorkerSet",
            f"{POD}.resources.requests",
            {"nvidia.com/gpu": "4"},
        ),
        (
            "templates_schedule_alike",
            "LeaderWorkerSet",
            f"{SET}.workerTemplate.spec.nodeSelector",
            {"a": "b"},
        ),
        ("requests_are_limits", "LeaderWorkerSet", f"{POD}.resources.limits", {}),
        ("quotas_hold_exactly_the_peak", "LeaderWorkerSet", "spec.replicas", 4),
        ("topology_is_asked_for_whole", "LeaderWorkerSet", f"{SET}.workerTemplate.metadata", {}),
        ("required_levels_are_kept", "LeaderWorkerSet", f"{SET}.leaderTemplate.metadata", {}),
        ("references_resolve", "LocalQueue", "metadata.name", "other"),
        ("references_resolve", "ResourceFlavor", "spec.topologyName", "other"),
        ("references_resolve", "ServiceAccount", "metadata.name", "other"),
        ("names_stay_in_bounds", "LeaderWorkerSet", "metadata.name", "a" * 51),
        ("namespaces_are_right", "ClusterQueue", "metadata.namespace", "llm"),
        ("nothing_is_left_to_defaults", "LeaderWorkerSet", f"{SET}.restartPolicy", None),
        ("leaves_are_plain", "Service", "metadata.annotations", {}),
        ("leaves_are_plain", "Service", "spec.type", "None"),
        ("everything_is_owned_and_no_pod_says_so", "Service", "metadata.labels", {}),
        ("completing_changes_nothing", "Service", "spec.ports.0.protocol", None),
        ("waves_lead_to_the_workload", "Service", "metadata.annotations", {WAVE: "9"}),
    ],
)
def test_a_fault_is_noticed(invariant: str, kind: str, path: str, value: Any) -> None:
    """One value changed in one object of a bundle that is right; `None` takes it away."""
    combination = PLAIN._replace(topology="required", gitops="argocd")
    cluster = matrix.cluster("kueue", "argocd")
    given = matrix.serving(combination, "a").model_copy(update={"network": NETWORK})
    plan = plan_serving(given, cluster=cluster, library=LIBRARY)
    bundles = [bundle(plan), foundation(plan_cluster(cluster, [plan]))]
    manifests = [
        copy.deepcopy(dict(document.manifest)) for made in bundles for document in made.documents
    ]
    check = next(each for each in INVARIANTS if each.__name__ == invariant)
    assert list(check(World(manifests, [given], kueue="0.19"))) == []
    node: Any = next(one for one in manifests if one["kind"] == kind)
    *way, last = (int(part) if part.isdecimal() else part for part in path.split("."))
    for part in way:
        node = node[part]
    if value is None:
        del node[last]
    else:
        node[last] = value
    noticed: list[str] | str
    try:
        noticed = list(check(World(manifests, [given], kueue="0.19")))
    except (AssertionError, KeyError) as error:
        noticed = repr(error)
    assert noticed
