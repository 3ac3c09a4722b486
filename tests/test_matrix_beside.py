"""What a run over the product of all that a serving may ask for does not ask."""

from __future__ import annotations

import pytest
from pydantic import JsonValue
from tests import matrix
from tests.invariants import INVARIANTS
from tests.matrix import DIMENSIONS, LIBRARY, PLAIN
from tests.world import World

from gangform.bundle import bundle, foundation
from gangform.findings import InputError
from gangform.inputs.cluster import Fleet
from gangform.inputs.serving import Patch, Pods, Rollout, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving
from gangform.synth import synthesise


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
