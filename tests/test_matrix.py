"""Whole bundles over the product of all that a serving may ask for.

A part of the product is planned: what the plan refuses must be refused with findings, and what it accepts becomes the
documents of one cluster for each backend, over which every invariant and every rule must hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests import matrix
from tests.invariants import INVARIANTS
from tests.matrix import DIMENSIONS, LIBRARY, Combination
from tests.rendering import CLUSTERS, EACH, planned, rendered
from tests.world import Object, World, called

from gangform.bundle import bundle, judge_bundles
from gangform.findings import InputError
from gangform.plan.serving import ServingPlan, plan_serving


@pytest.mark.thorough
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
def test_documents_keep(pair: tuple[str, str]) -> None:
    world = rendered(*pair).world
    faults = [f"{each.__name__}: {fault}" for each in INVARIANTS for fault in each(world)]
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
