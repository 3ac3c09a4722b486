"""The shipped fleet: the invariants over its bytes, every kind that it is an example of, and `dist/` as rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.invariants import INVARIANTS
from tests.world import Object, World

from gangform.findings import InputError
from gangform.inputs.load import Loaded, load_fleet
from gangform.plan.serving import ServingPlan
from gangform.synth import Synthesis, synthesise

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
CLUSTERS = (
    "prod-kueue",
    "prod-kueue-next",
    "prod-plain",
    "prod-volcano",
    "prod-volcano-topology",
)
KINDS = {
    "ClusterQueue",
    "ConfigMap",
    "Deployment",
    "HorizontalPodAutoscaler",
    "HyperNode",
    "LeaderWorkerSet",
    "LocalQueue",
    "PodDisruptionBudget",
    "PodGroup",
    "PodMonitor",
    "PrometheusRule",
    "Queue",
    "ResourceFlavor",
    "ScaledObject",
    "Service",
    "ServiceAccount",
    "Topology",
    "WorkloadPriorityClass",
}


@cache
def fleet() -> Loaded:
    return load_fleet(ROOT / "gangform.yaml")


@cache
def made() -> Synthesis:
    return synthesise(fleet().fleet, fleet().library)


@cache
def world(cluster: str) -> World:
    """One cluster, read back from the bytes that are written."""
    manifests: list[Object] = []
    for file in made().files:
        if file.path.startswith(f"{cluster}/"):
            manifests += yaml.load_all(file.content, yaml.CSafeLoader)
    (chosen,) = (each for each in fleet().fleet.clusters if each.name == cluster)
    return World(manifests, fleet().fleet.servings_of(chosen), kueue=chosen.versions.kueue)


def plan_of(name: str) -> ServingPlan:
    (found,) = (plan for each in made().plans for plan in each.servings if plan.name == name)
    return found


def test_the_clusters_are_the_ones_checked() -> None:
    assert tuple(sorted(each.name for each in fleet().fleet.clusters)) == CLUSTERS


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda each: each.__name__)
def test_the_fleet_keeps(invariant: Callable[[World], Iterator[str]], cluster: str) -> None:
    faults = list(invariant(world(cluster)))
    assert not faults, f"{len(faults)} faults, such as\n" + "\n".join(faults[:5])


def test_every_kind_occurs() -> None:
    assert {one["kind"] for cluster in CLUSTERS for one in world(cluster).objects} == KINDS


def test_the_fleet_is_an_example_without_warnings() -> None:
    assert [finding.what for finding in made().findings] == []


def test_the_output_folder_is_what_is_rendered() -> None:
    """Byte for byte, and nothing of ours beside it."""
    how = "make it with `gangform synth`"
    assert DIST.is_dir(), f"there is no dist/: {how}"
    wanted = {file.path: file.content for file in made().files}
    there = {
        path.relative_to(DIST).as_posix(): path.read_bytes() for path in DIST.rglob("*.k8s.yaml")
    }
    assert sorted(there) == sorted(wanted), f"dist/ has other files: {how}"
    stale = [path for path, content in wanted.items() if there[path] != content]
    assert not stale, f"dist/ is not current in {', '.join(stale)}: {how}"
    others = [path.name for path in DIST.rglob("*") if path.is_file() and path.suffix != ".yaml"]
    assert not others, (
        "only manifests are in dist/: what else is there would be applied or break a sync"
    )


def test_the_cache_of_deepseek_r1_is_far_from_figures_of_articles() -> None:
    """A latent cache is not divided by tensor ranks: each of them keeps all of it.

    A token is 512 + 64 = 576 elements a layer, in bf16 1152 bytes, whatever the tensor size. 61 layers on 2 stages are
    31 and 30, so a token costs 35,712 or 34,560 bytes on each GPU. The first stage has the 3 dense layers, and so the
    second is the fuller one: of 79.2 GiB visible 92 % are planned with, 40.5 GiB are weights (FP8, 16 GPUs) and 6.7
    GiB overhead. What is left, 25.7 GiB, holds 27,556,405,620 / 34,560 = 0.80 million tokens, in whole blocks of 16.
    Divided by tensor 8, as heads would be, it would read 6.4 million.
    """
    memory = plan_of("deepseek-r1").lead.memory
    first, second = memory.stages
    assert (first.layers, second.layers) == (31, 30)
    assert (first.cache_per_token, second.cache_per_token) == (31 * 576 * 2, 30 * 576 * 2)
    assert memory.worst == second
    assert memory.tokens == int(second.available) // (34_560 * 16) * 16
    assert 600_000 < memory.tokens < 1_000_000


def test_two_servings_of_one_name_would_be_one_file() -> None:
    loaded = fleet()
    one = loaded.fleet.servings[0]
    twice = loaded.fleet.model_copy(
        update={"servings": (one, one.model_copy(update={"namespace": "other"}))}
    )
    with pytest.raises(InputError, match="would be one file"):
        synthesise(twice, loaded.library)
