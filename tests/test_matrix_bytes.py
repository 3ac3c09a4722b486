"""The bytes of whole bundles are the same in every run, place and order."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from tests import matrix
from tests.matrix import DIMENSIONS, LIBRARY
from tests.rendering import CLUSTERS, rendered

from gangform.bundle import bundle, foundation
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving

ROOT = Path(__file__).parent.parent


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
        [sys.executable, "-c", "from tests.test_matrix_bytes import digests; print(digests())"],
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


def test_every_way_to_be_scaled_occurs() -> None:
    found = set()
    for pair in CLUSTERS:
        for one in rendered(*pair).world.objects:
            if one["kind"] == "HorizontalPodAutoscaler":
                found |= {metric["type"] for metric in one["spec"]["metrics"]}
            elif one["kind"] == "ScaledObject":
                found.add("zero" if one["spec"]["minReplicaCount"] == 0 else "some")
    assert found == {"External", "Pods", "zero", "some"}


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
        "ScaledObject",
        "ResourceFlavor",
        "Service",
        "ServiceAccount",
        "Topology",
    }
