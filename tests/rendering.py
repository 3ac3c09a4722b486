"""Part of the product of all that a serving may ask for, planned and rendered once in a run."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from tests import matrix
from tests.matrix import DIMENSIONS, LIBRARY, Combination
from tests.world import Object, World

from gangform.bundle import Bundle, bundle, foundation
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving

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
