"""What we write is what the server takes and keeps: every file of `dist/` on the control plane it was made for.

Applied in the order of the files, as a user would; no warning and no refusal; a second apply changes nothing; read
back, every field is as written and none was added but those that the server owns. Controllers do not look into pod
templates, so a StatefulSet of each is tried too: a Pod would let a restart policy pass that no StatefulSet takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw

from gangform.apis.core import complete
from gangform.documents.document import leaves

DIST = Path(__file__).parents[2] / "dist"
Object = dict[str, Any]

OWNED: Mapping[str, tuple[str, ...]] = {
    "Service": (
        r"spec\.clusterIPs?(\..*)?",  # allocated
        r"spec\.ipFamil(ies|yPolicy)(\..*)?",  # those of the cluster
    ),
    "Deployment": (
        # Kueue's webhook carries the queue of a Deployment to its pods.
        r"spec\.template\.metadata\.(labels|annotations)\.kueue\..*",
    ),
    "LeaderWorkerSet": (
        r"spec\.replicas",  # of a set that an autoscaler scales
        # What Kueue's webhook writes onto templates of a set that it manages (`kueue §2.2`).
        r"spec\.leaderWorkerTemplate\.(leader|worker)Template\.metadata\.(labels|annotations)\.kueue\..*",
    ),
}
"""Fields that the server adds and owns, by kind."""


def documents(cluster: str) -> dict[Path, list[Object]]:
    """The files of a cluster, the foundation first: queues come before what waits in them."""
    files = sorted(
        (DIST / cluster).glob("*.k8s.yaml"), key=lambda path: (path.stem[:10] != "foundation", path)
    )
    return {path: list(yaml.safe_load_all(path.read_text("utf-8"))) for path in files}


def spelled(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path)


def without_nulls(value: Any) -> Any:
    """A copy: a webhook that reads a template into its own types leaves `creationTimestamp: null`."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def drift(written: Object, live: Object) -> Iterator[str]:
    """Where the server holds something else than was written, or more."""
    kind = written["kind"]
    there = {spelled(path): value for path, value in leaves(complete(without_nulls(live)))}
    wanted = {spelled(path): value for path, value in leaves(complete(written))}
    for path, value in wanted.items():
        if there.get(path) != value:
            yield f"{path}: written {value!r}, held {there.get(path)!r}"
    for path, value in there.items():
        if path in wanted or path.split(".")[0] in ("status", "metadata"):
            continue
        if not any(re.fullmatch(pattern, path) for pattern in OWNED.get(kind, ())):
            yield f"{path}: added {value!r}"


def stateful_sets(manifest: Object) -> Iterator[Object]:
    """A StatefulSet of each template of a set."""
    if manifest["kind"] != "LeaderWorkerSet":
        return
    group = manifest["spec"]["leaderWorkerTemplate"]
    for name in ("leaderTemplate", "workerTemplate"):
        template = group[name]
        yield {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {
                "name": f"{manifest['metadata']['name']}-probe",
                "namespace": manifest["metadata"]["namespace"],
            },
            "spec": {
                "serviceName": "probe",
                "selector": {"matchLabels": template["metadata"]["labels"]},
                "template": template,
                "volumeClaimTemplates": group.get("volumeClaimTemplates", []),
            },
        }


def accepted(plane: ControlPlane, cluster: str) -> str:
    """What was accepted."""
    files = documents(cluster)
    assert files
    every = [manifest for manifests in files.values() for manifest in manifests]
    for space in sorted({one["metadata"].get("namespace", "") for one in every} - {""}):
        plane.namespace(space)
    for path in files:
        assert plane.kubectl.apply(path).warnings == (), path
    assert held_otherwise(plane, every) == []
    for probe in (probe for manifest in every for probe in stateful_sets(manifest)):
        assert plane.api.apply(probe, dry_run=True).warnings == ()
    # Not by generation: controllers raise it by what they write themselves, such as a Deployment's revision.
    for path in files:
        assert plane.kubectl.apply(path).warnings == ()
        printed = plane.kubectl.run("diff", "--server-side", "-f", str(path))
        assert printed.code == 0, printed.out
    assert held_otherwise(plane, every) == []
    return f"{len(files)} files of {cluster} with {len(every)} objects"


def held_otherwise(plane: ControlPlane, every: list[Object]) -> list[str]:
    """All drift, with the object that it is in."""
    return [
        f"{manifest['kind']}/{manifest['metadata']['name']} {what}"
        for manifest in every
        for what in drift(manifest, plane.api.read(manifest))
    ]


CLAIM = pytest.mark.claim(
    "Every file is accepted in order and without a word, applied again it changes nothing, and no field is held "
    "otherwise than it was written",
    "design §4 GitOps; apis.core complete",
)


@CLAIM
def test_what_nobody_admits_is_accepted(plain: ControlPlane, saw: Saw) -> None:
    saw(accepted(plain, "prod-plain"))


@CLAIM
@pytest.mark.parametrize("cluster", ["prod-kueue", "prod-kueue-next"])
def test_what_kueue_admits_is_accepted(kueue: ControlPlane, cluster: str, saw: Saw) -> None:
    saw(accepted(kueue, cluster))


@CLAIM
def test_what_volcano_admits_is_accepted(volcano: ControlPlane, saw: Saw) -> None:
    saw(accepted(volcano, "prod-volcano"))


@CLAIM
def test_pod_groups_of_ours_are_accepted(podgroup: ControlPlane, saw: Saw) -> None:
    saw(accepted(podgroup, "prod-volcano-topology"))
