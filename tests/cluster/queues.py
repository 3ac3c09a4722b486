"""Servings that wait in Kueue's queues: planned on racks, applied as written or with one field altered, and read back.

    made = queued(cluster, groups=3, rollout={"spare_groups": 1})
    with watching(plane.api, made.pods, workloads(plane, made)) as seen:
        apply(plane, made)
        seen.until(lambda now: len(admitted(now)) == 3, within=60, what="all groups are admitted")

What gangform would not write is made of what it wrote: `altered` changes a field of one object, and `refusals` says
what the rules think of it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import yaml
from tests.cluster.api import ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes import nodes_of
from tests.cluster.servings import REVISION, Made, make, serving
from tests.cluster.watch import Watch

from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.findings import Finding, InputError
from gangform.inputs.cluster import Cluster, Domain, Library
from gangform.rules.rule import Context, judge

KUEUE = "kueue.x-k8s.io/v1beta2"
RACK = "topology.example.com/rack"
IN_ONE_RACK = {"level": RACK, "mode": "required"}
POOL = "h100"
GATE = "kueue.x-k8s.io/"
"""Scheduling gates of Kueue begin so: a pod that has one waits for admission."""


# ── clusters ─────────────────────────────────────────────────────────────────────────────────────


def racked(cluster: Cluster, *nodes: int) -> Cluster:
    """The cluster with racks of so many nodes, as somebody declares who knows them."""
    places = tuple(Domain(at=("b0", f"r{rack}"), nodes=count) for rack, count in enumerate(nodes))
    return _with_pool(cluster, nodes=sum(nodes), domains=places)


def unlisted(cluster: Cluster) -> Cluster:
    """The cluster without an inventory: nothing that depends on nodes is checked."""
    return _with_pool(cluster, nodes=None, domains=None)


def set_racks(plane: ControlPlane, *nodes: int) -> dict[str, str]:
    """Have racks of so many nodes; the rack of each node."""
    made = nodes_of(racked(plane.cluster, *nodes), Library.shipped())
    plane.set_nodes(made)
    return {each["metadata"]["name"]: each["metadata"]["labels"][RACK] for each in made}


def _with_pool(cluster: Cluster, **changed: Any) -> Cluster:
    pool = cluster.pools[POOL].model_copy(update=changed)
    return cluster.model_copy(update={"pools": {POOL: pool}})


# ── servings ─────────────────────────────────────────────────────────────────────────────────────


def queued(cluster: Cluster, **fields: Any) -> Made:
    """One serving in a queue of its own; fields as those of `servings.serving`."""
    return make(cluster, serving(**{"admission": {"backend": "kueue", "queue": "q"}, **fields}))


def altered(
    made: Made, kind: str, change: Callable[[Object], object], name: str | None = None
) -> Made:
    """The same documents with one of them changed in place by hand."""
    chosen = made.one(kind, name)
    changed = copy.deepcopy(chosen)
    change(changed)
    assert changed != chosen, "nothing was altered"
    documents = tuple(changed if one is chosen else one for one in made.documents)
    content = yaml.safe_dump_all(documents, sort_keys=False).encode()
    return replace(made, files={"altered.k8s.yaml": content}, documents=documents)


def refusals(made: Made) -> set[str]:
    """The codes of the rules that refuse the documents: synthesis would write none of them."""
    return {found.code.id for found in _judged(made) if found.breaks}


def remarks(made: Made) -> set[str]:
    """The codes of the rules that let the documents pass and say something of them."""
    return {found.code.id for found in _judged(made) if not found.breaks}


def _judged(made: Made) -> list[Finding]:
    documents = [
        Document(manifest=one, builder="by hand", origin=None, wave=0) for one in made.documents
    ]
    cluster = made.cluster.cluster
    context = Context(versions=cluster.versions.releases)
    return judge(Documents(documents), context)


def refused(cluster: Cluster, **fields: Any) -> list[Finding]:
    """Why gangform does not write a serving."""
    with pytest.raises(InputError) as caught:
        queued(cluster, **fields)
    return list(caught.value.findings)


def template(manifest: Object, role: str) -> Object:
    """The template of `leader` or `worker` in a set."""
    found: Object = manifest["spec"]["leaderWorkerTemplate"][f"{role}Template"]
    return found


def answer(plane: ControlPlane, manifest: Object) -> str:
    """What the server says to an object applied in a dry run, as kubectl would; empty where it takes it."""
    try:
        # The same manager as kubectl's, or a field left out would be one of somebody else and stay.
        plane.api.apply(manifest, manager="kubectl", dry_run=True)
    except ApiError as error:
        return f"{error.status} {error.message}"
    return ""


# ── what Kueue says ──────────────────────────────────────────────────────────────────────────────


def workloads(plane: ControlPlane, made: Made) -> str:
    """The path of the Workloads in the namespace of the first serving."""
    return plane.api.path(KUEUE, "Workload", namespace=made.plan.namespace)


def holds(workload: Object, condition: str) -> bool:
    """Whether a condition of a Workload is true."""
    conditions = workload.get("status", {}).get("conditions", [])
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def admitted(now: Watch) -> list[Object]:
    """The Workloads that are admitted."""
    return [one for one in now.of("Workload") if holds(one, "Admitted")]


def waiting(now: Watch) -> list[Object]:
    """The Workloads that Kueue looked at and found no place or quota for."""
    return [
        one
        for one in now.of("Workload")
        if not holds(one, "Admitted") and why(one) and not holds(one, "Finished")
    ]


def why(workload: Object) -> str:
    """What Kueue says of a Workload that waits; empty before it was looked at."""
    for condition in workload.get("status", {}).get("conditions", []):
        if condition["type"] == "QuotaReserved" and condition["status"] == "False":
            return str(condition["message"])
    return ""


def gated(pods: Iterable[Object]) -> list[Object]:
    """The pods that Kueue holds back."""
    return [
        pod
        for pod in pods
        if any(gate["name"].startswith(GATE) for gate in pod["spec"].get("schedulingGates", []))
    ]


def quiet(seconds: float) -> Callable[[Watch], bool]:
    """A condition: nothing has happened to anything watched for so long."""

    def hold(now: Watch) -> bool:
        last = now.events[-1].at if now.events else 0.0
        return time.monotonic() - now.began - last >= seconds

    return hold


def revisions(pods: Iterable[Object]) -> set[str]:
    """The revisions of the pods of sets."""
    return {pod["metadata"]["labels"][REVISION] for pod in pods}
