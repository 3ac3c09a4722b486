"""Manifests broken on purpose: for each the check that must notice, which minds nothing in what gangform wrote.

A mutation of a Service or a budget is applied over the living one; what decides at the start of a group is applied
before it, to a serving that was taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest
import yaml
from tests.cluster.alteration import Changes, altered
from tests.cluster.checks import (
    all_groups_run,
    budgets_answer_as_planned,
    endpoints_are_leaders,
    groups_are_whole_in_one_domain,
)
from tests.cluster.conftest import Planes
from tests.cluster.control_plane import KUEUE, PLAIN, PODGROUP, ControlPlane, Flavour
from tests.cluster.evidence import Saw
from tests.cluster.refusals import RACK, REQUIRED, annotated
from tests.cluster.servings import GPU, GROUP_INDEX, WORKER_INDEX, Made, apply, make, serving
from tests.cluster.test_podgroups import nodes

from gangform.apis import volcano
from gangform.inputs.serving import Serving

Check = Callable[[ControlPlane, Made], None]


class Mutation(NamedTuple):
    """One fault."""

    name: str
    flavour: Flavour
    kind: str
    changes: Changes | Callable[[Made], Changes]
    check: Check
    document: str | None = None
    """The document, where there are several of the kind."""
    living: bool = False
    """Whether it is applied over what serves; else the sets are taken away first."""


class Scene(NamedTuple):
    """A serving on a control plane, and nothing wrong with it."""

    plane: ControlPlane
    made: Made


SIZE = 3


def racked(backend: str, *, groups: int) -> Serving:
    return serving(
        size=SIZE,
        groups=groups,
        topology={"level": RACK, "mode": "required"},
        admission={"backend": backend, "queue": "serving"},
    )


def short_by_one(made: Made) -> Changes:
    """The quota of GPUs less one group's."""
    rows = made.one("ClusterQueue")["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    (index,) = [index for index, row in enumerate(rows) if row["name"] == GPU]
    less = int(rows[index]["nominalQuota"]) - made.plan.lead.shape.gpus
    return {f"Q>flavors>0>resources>{index}>nominalQuota": str(less)}


MUTATIONS = (
    Mutation(
        "a worker in the Service's selector",
        PLAIN,
        "Service",
        {f"spec>selector>{WORKER_INDEX}": ...},
        endpoints_are_leaders,
        living=True,
    ),
    Mutation(
        "one group alone in the Service's selector",
        PLAIN,
        "Service",
        {f"spec>selector>{GROUP_INDEX}": "0"},
        endpoints_are_leaders,
        living=True,
    ),
    Mutation(
        "minAvailable one less than the group",
        PLAIN,
        "PodDisruptionBudget",
        {"spec>minAvailable": 1},
        budgets_answer_as_planned,
        "r1-group-0",
        living=True,
    ),
    Mutation(
        "a budget over two groups",
        PLAIN,
        "PodDisruptionBudget",
        {f"spec>selector>matchLabels>{GROUP_INDEX}": ...},
        budgets_answer_as_planned,
        "r1-group-0",
        living=True,
    ),
    Mutation(
        "the quota short by one group",
        KUEUE,
        "ClusterQueue",
        short_by_one,
        all_groups_run,
    ),
    Mutation(
        "the topology annotation on the leader only",
        KUEUE,
        "LeaderWorkerSet",
        annotated({REQUIRED: RACK}, {}),
        groups_are_whole_in_one_domain,
    ),
    Mutation(
        # Of a smaller minMember alone nothing follows: minResources still keeps the group back.
        "a PodGroup for one pod less",
        PODGROUP,
        "PodGroup",
        {"spec>minMember": SIZE - 1, "spec>minResources": ...},
        groups_are_whole_in_one_domain,
    ),
    Mutation(
        "the PodGroup's name on the leader only",
        PODGROUP,
        "LeaderWorkerSet",
        {f"M>annotations>{volcano.GROUP_NAME}": ...},
        groups_are_whole_in_one_domain,
    ),
)


def serve(plane: ControlPlane) -> Made:
    """Put a serving on the control plane, with every check of the flavour passed."""
    cluster, checks = plane.cluster, [all_groups_run, groups_are_whole_in_one_domain]
    if plane.flavour == PLAIN:
        made = make(cluster, serving(size=2, groups=2, disruption={"mode": "perGroup"}))
        checks = [all_groups_run, endpoints_are_leaders, budgets_answer_as_planned]
    elif plane.flavour == KUEUE:
        # Two racks for two groups; a leader that is placed alone goes to the third, whose one node it fills.
        made = make(cluster, racked("kueue", groups=2))
        plane.set_nodes(nodes(plane, r0=1, r1=4, r2=4))
    else:
        # The group waits: four nodes are free, and no rack has three of them.
        made = make(cluster, racked("volcano-podgroup", groups=1))
        plane.set_nodes(nodes(plane, r0=2, r1=2))
        checks = [groups_are_whole_in_one_domain]
    apply(plane, made)
    for check in checks:
        check(plane, made)
    return made


@pytest.fixture(scope="module")
def scene(request: pytest.FixtureRequest, planes: Planes) -> Iterator[Scene]:
    """One for each flavour, the one before taken away first."""
    plane = planes.get(request.param)
    yield Scene(plane, serve(plane))
    plane.reset()


def faulty(made: Made, mutation: Mutation) -> Made:
    """The same files with the fault."""
    whole = made.one(mutation.kind, mutation.document)
    changes = mutation.changes(made) if callable(mutation.changes) else mutation.changes
    broken = altered(whole, changes)
    files = {
        file: yaml.safe_dump_all(
            [broken if each == whole else each for each in yaml.safe_load_all(content)]
        ).encode()
        for file, content in made.files.items()
    }
    return replace(made, files=files)


def take_away(plane: ControlPlane, made: Made) -> None:
    """Delete the sets of a serving and their PodGroups, and wait for the end of the pods."""
    for each in made.documents:
        if each["kind"] in ("LeaderWorkerSet", "PodGroup"):
            plane.api.delete(plane.api.path_of(each), foreground=True)
    plane.site.wait("the pods to be gone", lambda: not plane.api.list(made.pods))


@pytest.mark.claim(
    "A manifest that is broken on purpose is noticed by a check that minds nothing in ours",
    "plan.traffic, plan.disruption, plan.cluster.quota, admission",
)
@pytest.mark.parametrize(
    ("scene", "mutation"),
    [pytest.param(each.flavour, each, id=each.name) for each in MUTATIONS],
    indirect=["scene"],
    scope="module",
)
def test_a_fault_is_noticed(scene: Scene, mutation: Mutation, saw: Saw) -> None:
    plane, made = scene
    if not mutation.living:
        take_away(plane, made)
    apply(plane, faulty(made, mutation))
    with pytest.raises(AssertionError) as error:
        mutation.check(plane, made)
    if mutation.living:
        apply(plane, made)
        mutation.check(plane, made)
    saw(f"{mutation.check.__name__}: {str(error.value).splitlines()[0]}")
