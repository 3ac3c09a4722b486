"""Memory that containers share: it is memory, and it is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.documents.document import Document, Manifest, dig, mapping, sequence, text
from gangform.findings import Severity, declare
from gangform.rules.joins import gpus, groups_of, over_templates, resources_of, runs, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

ON_DISK = declare(
    "shared-memory-on-disk",
    "The volume at /dev/shm is a folder on the node's disk: ranks of a pod exchange their data through it",
    Severity.DEGRADES,
    "engines §1.5; observability §6",
)
UNBOUNDED = declare(
    "memory-volume-without-limit",
    "A GPU container fills a volume in memory and has no memory limit: the node may run out instead of the pod",
    Severity.STYLE,
    "observability §6; Kubernetes: emptyDir in memory counts towards the container's limit",
)

BEYOND = declare(
    "memory-volume-beyond-limit",
    "A volume in memory may grow to all that its container may take, and what is in it counts as the container's",
    Severity.STYLE,
    "Kubernetes: emptyDir in memory counts towards the container's limit",
)

_SHM: Final = "/dev/shm"
_MEMORY: Final = "Memory"


def _volumes(pod: PodView) -> dict[str, tuple[int, Manifest]]:
    """The emptyDirs of a pod by name, with their places."""
    return {
        text(volume, "name"): (index, mapping(volume, "emptyDir"))
        for index, volume in enumerate(sequence(pod.spec, "volumes"))
        if dig(volume, "emptyDir") is not None
    }


@rule(ON_DISK, kinds=WORKLOADS)
@over_templates
def shared_memory_on_disk(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """What GPU ranks share at /dev/shm is memory."""
    if gpus(documents, pod) < 2 or dig(pod.spec, "hostIPC") is True:
        return
    volumes = _volumes(pod)
    said: set[int] = set()
    for run in runs(pod):
        if run.init or GPU not in resources_of(run.container):
            continue
        for mount in sequence(run.container, "volumeMounts"):
            index, volume = volumes.get(text(mount, "name"), (-1, {}))
            at_shm = text(mount, "mountPath").rstrip("/") == _SHM
            if at_shm and index >= 0 and not text(volume, "medium") and index not in said:
                said.add(index)
                yield Fault(
                    path=(*pod.path, "spec", "volumes", index, "emptyDir"),
                    what=f"the emptyDir at {_SHM} has no medium, so that it is on disk",
                    fix=f"write medium: {_MEMORY} and a sizeLimit, and count it in the memory request",
                )


@rule(UNBOUNDED, kinds=WORKLOADS)
def memory_volume_without_limit(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A container that fills memory has a limit of it; said once of an object."""
    pods = (pod for group in groups_of(documents, subject) for pod in templates(group))
    yield from islice((fault for pod in pods for fault in _unbounded(pod)), 1)


def _unbounded(pod: PodView) -> Iterator[Fault]:
    volumes = _volumes(pod)
    for run in runs(pod):
        if GPU not in resources_of(run.container) or dig(pod.spec, "resources") is not None:
            continue
        if "memory" in mapping(run.container, "resources", "limits"):
            continue
        for mount in sequence(run.container, "volumeMounts"):
            _, volume = volumes.get(text(mount, "name"), (-1, {}))
            if text(volume, "medium") == _MEMORY:
                size = text(volume, "sizeLimit")
                yield Fault(
                    path=(*run.path, "resources", "limits"),
                    what=f"`{text(run.container, 'name')}` has no memory limit, and {text(mount, 'name')} is a "
                    f"volume in memory {f'of {size}' if size else 'without a sizeLimit'}",
                    fix="write a memory limit equal to the request, with the volume counted in",
                )
                break


@rule(BEYOND, kinds=WORKLOADS)
@over_templates
def memory_volume_beyond_limit(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What a GPU container shares in memory leaves room for itself."""
    volumes = _volumes(pod)
    for run in runs(pod):
        limit = amount_of(mapping(run.container, "resources", "limits").get("memory"))
        if run.init or limit is None or GPU not in resources_of(run.container):
            continue
        for mount in sequence(run.container, "volumeMounts"):
            index, volume = volumes.get(text(mount, "name"), (-1, {}))
            size = amount_of(dig(volume, "sizeLimit"))
            if text(volume, "medium") == _MEMORY and size is not None and size >= limit:
                yield Fault(
                    path=(*pod.path, "spec", "volumes", index, "emptyDir", "sizeLimit"),
                    what=f"`{text(mount, 'name')}` may take {dig(volume, 'sizeLimit')}, and all of "
                    f"`{text(run.container, 'name')}` {mapping(run.container, 'resources', 'limits')['memory']}",
                    fix="write a sizeLimit that leaves the engine its memory, such as 32Gi, or raise the limit",
                )
