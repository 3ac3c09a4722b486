"""Pod templates: what the pod API would refuse, what GPU pods need, and probes and endings that work.

No controller checks a template (`lab` summary 9), so this is where it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU, GPU_PARTS
from gangform.apis.pods import is_image, pull_policy
from gangform.apis.refusals import pod_refusals, port_collisions
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, mapping, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    asked,
    engine_of,
    gpus,
    groups_of,
    over_templates,
    read_runs,
    resources_of,
    runs,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

REFUSED = declare(
    "pod-would-be-refused",
    "The API server would refuse a pod of this template; a controller accepts it and makes no pods",
    Severity.BREAKS,
    "lab E9, summary 9",
)
REQUESTS = declare(
    "gpu-pod-without-request",
    "A GPU pod asks for no memory: it lands on full nodes and is evicted first",
    Severity.STYLE,
    "design §4 Workload; kueue §11 item 5",
)
DISK = declare(
    "gpu-pod-without-disk-request",
    "A GPU pod that downloads its model to the node's disk asks for none: it is evicted where the disk is full",
    Severity.STYLE,
    "design §4 Workload; kueue §11 item 5",
)
SERVICE_LINKS = declare(
    "service-links-on",
    "Service links put a variable for every Service of the namespace into every container",
    Severity.STYLE,
    "engines §1.5",
)
SHARED_MEMORY = declare(
    "shared-memory-missing",
    "A pod with several GPUs has the runtime's 64 MiB of /dev/shm: NCCL needs more between its ranks",
    Severity.BREAKS,
    "engines §1.5, observability §6",
)
GRACE = declare(
    "grace-shorter-than-pre-stop",
    "The grace period ends before the preStop hook: the process is killed without being told to stop",
    Severity.DEGRADES,
    "design §4 Workload",
)
PORTS = declare(
    "container-ports-collide",
    "Containers of one pod share its network: a port, and the name of one, belongs to one of them",
    Severity.BREAKS,
    "core/v1 ContainerPort",
)
IMAGE = declare(
    "image-name-invalid",
    "An image name that no registry can have: the container never starts",
    Severity.BREAKS,
    "OCI distribution: a repository is lower case",
)
TAG = declare(
    "image-tag-moves",
    "An image without a tag, or with latest: pods of one group may run different releases",
    Severity.DEGRADES,
    "engines §1.8; Kubernetes: imagePullPolicy",
)
HELPER_TAG = declare(
    "helper-image-tag-moves",
    "An image without a tag, or with latest, of what stands beside the engine of a GPU pod",
    Severity.STYLE,
    "Kubernetes: imagePullPolicy",
)

_SHM: Final = "/dev/shm"
DEFAULT_GRACE: Final = 30
"""Seconds of grace where none are written (core/v1)."""
_SLEEP: Final = re.compile(r"(?:^|[;&\s])sleep\s+([0-9]{1,9})(?![0-9]|\.?[0-9]*[mhd])")
_MEMORY, _DISK = "memory", "ephemeral-storage"
_ON_NODE: Final = frozenset({"configMap", "downwardAPI", "emptyDir", "projected", "secret"})
"""Volumes whose content is counted as the pod's own, or is small."""


@rule(REFUSED, kinds=WORKLOADS)
def pod_would_be_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every template is a pod that the API server takes. What is only begun is said once of an object."""
    begun = False
    for pod in (pod for group in groups_of(documents, subject) for pod in templates(group)):
        path: Path = (*pod.path, "spec")
        named = sequence(pod.spec, "containers")
        bare = next((n for n, each in enumerate(named) if not text(each, "image")), None)
        claims = [
            text(claim, "metadata", "name")
            for claim in sequence(subject.manifest, *pod.path[:-1], "volumeClaimTemplates")
        ]
        found = pod_refusals(pod.spec, in_stateful_set=True, claims=claims)
        if dig(subject.manifest, *pod.path) is None:
            continue  # That a whole template is absent is said of the object.
        if named and bare is None:
            for inner, what, fix in found:
                yield Fault(path=(*path, *inner), what=what, fix=fix)
        elif not begun:
            begun = True
            wanted: Path = ("containers",) if bare is None else ("containers", bare, "image")
            for inner, what, fix in found:
                if inner == wanted:
                    yield Fault(path=(*path, *inner), what=what, fix=fix)


@rule(PORTS, kinds=WORKLOADS)
@over_templates
def container_ports_collide(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """No two containers of a pod open one port or use one name for it."""
    for path, what, fix in port_collisions(pod.spec):
        yield Fault(path=(*pod.path, "spec", *path), what=what, fix=fix)


@rule(REQUESTS, kinds=WORKLOADS)
@over_templates
def gpu_pod_without_request(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """GPU pods ask for memory too."""
    if _MEMORY not in asked(documents, pod):
        yield from _unasked(pod, documents, _MEMORY)


@rule(DISK, kinds=WORKLOADS)
@over_templates
def gpu_pod_without_disk_request(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Those that download to the node's disk ask for room on it."""
    wants = asked(documents, pod)
    if _MEMORY in wants and _DISK not in wants and _downloads(pod, documents):
        yield from _unasked(pod, documents, _DISK)


def _unasked(pod: PodView, documents: Documents, name: str) -> Iterator[Fault]:
    holder = next((run for run in runs(pod) if GPU in resources_of(run.container)), None)
    if gpus(documents, pod):
        path = (*pod.path, "spec") if holder is None else holder.path
        yield Fault(
            path=(*path, "resources", "requests"),
            what=f"a pod with {gpus(documents, pod)} GPUs requests no {name}",
            fix=f"request the {name} that the pod uses, with the same limit",
            seen={"resource": name},
        )


def _downloads(pod: PodView, documents: Documents) -> bool:
    """Whether the engine takes its model from a hub, and has no volume that it may write it to."""
    run = engine_of(documents, pod)
    model = run.reading.model if run is not None and run.reading is not None else ""
    if run is None or not model or model[0] in "/.$":
        return False
    mounted = {text(mount, "name") for mount in sequence(run.container, "volumeMounts")}
    return not any(
        text(volume, "name") in mounted and not _ON_NODE & {*mapping(volume)}
        for volume in sequence(pod.spec, "volumes")
    )


@rule(SERVICE_LINKS, kinds=WORKLOADS)
def service_links_on(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """GPU pods take no variables from Services; said once of an object."""
    pods = (pod for group in groups_of(documents, subject) for pod in templates(group))
    for pod in pods:
        if not gpus(documents, pod) or dig(pod.spec, "enableServiceLinks") is False:
            continue
        yield Fault(
            path=(*pod.path, "spec", "enableServiceLinks"),
            what="enableServiceLinks is true by default",
            fix="write enableServiceLinks: false",
        )
        return


@rule(SHARED_MEMORY, kinds=WORKLOADS)
@over_templates
def shared_memory_missing(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A container with several GPUs mounts something at /dev/shm."""
    if gpus(documents, pod) < 2 or dig(pod.spec, "hostIPC") is True:
        return
    for run in runs(pod):
        taken = resources_of(run.container)
        if run.init or GPU not in taken:
            continue
        if not GPU_PARTS.isdisjoint(taken) and _ranks(documents, pod) < 2:
            continue  # Parts of GPUs: whether ranks share them only the engine says.
        mounts = sequence(run.container, "volumeMounts")
        if not any(text(mount, "mountPath").rstrip("/") == _SHM for mount in mounts):
            yield Fault(
                path=(*pod.path, "spec", "volumes"),
                what=f"`{text(run.container, 'name')}` has {gpus(documents, pod)} GPUs and no volume "
                f"at {_SHM}, so the runtime's 64 MiB",
                fix="add an emptyDir with medium: Memory and a sizeLimit such as 16Gi, "
                f"mounted at {_SHM}",
                seen={"gpus": str(gpus(documents, pod))},
            )


def _ranks(documents: Documents, pod: PodView) -> int:
    """Tensor ranks of the engine of a pod; 0 where nothing says for certain how many."""
    run = engine_of(documents, pod)
    return 0 if run is None or run.reading is None else run.reading.tensor or 0


@rule(GRACE, kinds=WORKLOADS)
@over_templates
def grace_shorter_thanpre_stop(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The grace period covers the preStop hook."""
    written = whole(pod.spec, "terminationGracePeriodSeconds")
    grace = DEFAULT_GRACE if written is None else written
    for run in runs(pod):
        sleeps = pre_stop(dig(run.container, "lifecycle", "preStop"))
        if sleeps is not None and grace < sleeps:
            yield Fault(
                path=(*pod.path, "spec", "terminationGracePeriodSeconds"),
                what=f"preStop of `{text(run.container, 'name')}` takes {sleeps} s, "
                f"the grace period is {grace} s",
                fix=f"write terminationGracePeriodSeconds: {sleeps + DEFAULT_GRACE} or more",
                seen={"grace": str(grace), "preStop": str(sleeps)},
            )


def pre_stop(hook: Node | None) -> int | None:
    """Seconds that a hook sleeps, where it says so."""
    if (seconds := whole(hook, "sleep", "seconds")) is not None:
        return seconds
    words = [word for word in sequence(hook, "exec", "command") if isinstance(word, str)]
    slept = [int(found) for found in _SLEEP.findall(" ".join(words))]
    return sum(slept) if slept else None


@rule(IMAGE, kinds=WORKLOADS)
@over_templates
def image_name_invalid(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """An image is named as registries name them."""
    for run in runs(pod):
        image = text(run.container, "image")
        if image and not is_image(image):
            yield Fault(
                path=(*run.path, "image"),
                what=f"`{image}` is no image name: a repository is lower case, without placeholders",
                fix="write registry/repository:tag of the image meant",
            )


@rule(TAG, kinds=WORKLOADS)
@over_templates
def image_tag_moves(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """GPU containers say which release of an image they run."""
    yield from _moving(pod, documents, helpers=False)


@rule(HELPER_TAG, kinds=WORKLOADS)
@over_templates
def helper_image_tag_moves(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """So do those beside them."""
    yield from _moving(pod, documents, helpers=True)


def _moving(pod: PodView, documents: Documents, *, helpers: bool) -> Iterator[Fault]:
    if not gpus(documents, pod):
        return
    whole_pod = dig(pod.spec, "resources") is not None
    for run in read_runs(documents, pod):
        image = text(run.container, "image")
        engine = not run.init and (
            whole_pod or run.reading is not None or GPU in resources_of(run.container)
        )
        if engine is not helpers and is_image(image) and pull_policy(image) == "Always":
            yield Fault(
                path=(*run.path, "image"),
                what=f"`{image}` is whatever the registry has on the day a pod starts",
                fix="write the tag of a release, or a digest",
            )
