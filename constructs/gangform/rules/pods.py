"""Pod templates: what the pod API would refuse, what GPU pods need, and probes and endings that work.

No controller checks a template (`lab` summary 9), so this is where it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU
from gangform.apis.pods import pull_policy
from gangform.apis.refusals import pod_refusals
from gangform.apis.views import Documents
from gangform.documents.document import (
    Document,
    Manifest,
    Node,
    dig,
    mapping,
    sequence,
    text,
    whole,
)
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import asked, gpus, groups_of, over_templates, read_runs, runs
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

REFUSED = declare(
    "pod-would-be-refused",
    "The API server would refuse a pod of this template; a controller accepts it and makes no pods",
    Severity.BREAKS,
    "lab E9, summary 9",
)
REQUESTS = declare(
    "gpu-pod-without-request",
    "A GPU pod asks for no memory or no ephemeral storage: it lands on full nodes and is evicted first",
    Severity.DEGRADES,
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
PROBE_UNSERVED = declare(
    "probe-without-server",
    "An HTTP probe of a process that opens no HTTP port can only fail",
    Severity.BREAKS,
    "engines §0 item 3, §1.6",
)
PROBE_PORT = declare(
    "probe-port-unnamed",
    "A probe names a port that its container does not declare: it can only fail",
    Severity.BREAKS,
    "Kubernetes: a named port is looked up in the container",
)
LIVENESS = declare(
    "liveness-before-loaded",
    "A liveness probe without a startup probe kills an engine that still loads, for ever",
    Severity.BREAKS,
    "engines §1.6; design §4 Readiness",
)
START_LIMIT = declare(
    "start-limit-below-probe",
    "The engine gives up starting before the startup probe does",
    Severity.DEGRADES,
    "engines §1.5; cases r18",
)
STARTUP = declare(
    "startup-probe-missing",
    "A serving leader has no startup probe: nothing ends a start that hangs",
    Severity.STYLE,
    "design §4 Readiness",
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
READINESS = declare(
    "readiness-probe-missing",
    "A serving leader has no readiness probe: it gets requests while its engine loads",
    Severity.DEGRADES,
    "observability §6; lab summary 1",
)

LOADING: Final = 2700
"""Seconds that an engine may take where nothing says how long (`design §4 Readiness`: 45 minutes)."""
_IMAGE: Final = re.compile(
    r"^(?:(?:localhost|[\w-]*[.:][\w.:-]*)/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[a-z0-9+._-]+:[0-9a-fA-F]{32,})?$"
)
_SHM: Final = "/dev/shm"
_GRACE: Final = 30
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")
_SLEEP: Final = re.compile(r"(?:^|[;&\s])sleep\s+([0-9]+)(?![0-9.]*[mhd])")
_IN_POD: Final = frozenset({"memory", "ephemeral-storage"})


@rule(REFUSED, kinds=WORKLOADS)
@over_templates
def pod_would_be_refused(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every template is a pod that the API server takes."""
    claims = [
        text(claim, "metadata", "name")
        for claim in sequence(pod.document.manifest, *pod.path[:-1], "volumeClaimTemplates")
    ]
    for path, what, fix in pod_refusals(pod.spec, in_stateful_set=True, claims=claims):
        yield Fault(path=(*pod.path, "spec", *path), what=what, fix=fix)


@rule(REQUESTS, kinds=WORKLOADS)
@over_templates
def gpu_pod_without_request(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """GPU pods ask for memory and ephemeral storage too."""
    wants = asked(documents, pod)
    if not wants.get(GPU):
        return
    holder = next((run for run in runs(pod) if GPU in _resources(run.container)), None)
    for name in sorted(_IN_POD - wants.keys()):
        path = (*pod.path, "spec") if holder is None else holder.path
        yield Fault(
            path=(*path, "resources", "requests"),
            what=f"a pod with {gpus(documents, pod)} GPUs requests no {name}",
            fix=f"request the {name} that the pod uses, with the same limit",
            seen={"resource": name},
        )


def _resources(container: Manifest) -> Manifest:
    resources = mapping(container, "resources")
    return {**mapping(resources, "limits"), **mapping(resources, "requests")}


@rule(SERVICE_LINKS, kinds=WORKLOADS)
@over_templates
def service_links_on(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """GPU pods take no variables from Services."""
    if gpus(documents, pod) and dig(pod.spec, "enableServiceLinks") is not False:
        yield Fault(
            path=(*pod.path, "spec", "enableServiceLinks"),
            what="enableServiceLinks is true by default",
            fix="write enableServiceLinks: false",
        )


@rule(SHARED_MEMORY, kinds=WORKLOADS)
@over_templates
def shared_memory_missing(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A container with several GPUs mounts something at /dev/shm."""
    if gpus(documents, pod) < 2 or dig(pod.spec, "hostIPC") is True:
        return
    for run in runs(pod):
        if run.init or GPU not in _resources(run.container):
            continue
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


@rule(GRACE, kinds=WORKLOADS)
@over_templates
def grace_shorter_than_pre_stop(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The grace period covers the preStop hook."""
    written = whole(pod.spec, "terminationGracePeriodSeconds")
    grace = _GRACE if written is None else written
    for run in runs(pod):
        sleeps = _pre_stop(dig(run.container, "lifecycle", "preStop"))
        if sleeps is not None and grace < sleeps:
            yield Fault(
                path=(*pod.path, "spec", "terminationGracePeriodSeconds"),
                what=f"preStop of `{text(run.container, 'name')}` takes {sleeps} s, "
                f"the grace period is {grace} s",
                fix=f"write terminationGracePeriodSeconds: {sleeps + _GRACE} or more",
                seen={"grace": str(grace), "preStop": str(sleeps)},
            )


def _pre_stop(hook: Node | None) -> int | None:
    """Seconds that a hook sleeps, where it says so."""
    if (seconds := whole(hook, "sleep", "seconds")) is not None:
        return seconds
    words = [word for word in sequence(hook, "exec", "command") if isinstance(word, str)]
    slept = [int(found) for found in _SLEEP.findall(" ".join(words))]
    return sum(slept) if slept else None


@rule(PROBE_UNSERVED, kinds=WORKLOADS)
@over_templates
def probe_without_server(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A process without an HTTP port has no HTTP probe."""
    for run in read_runs(documents, pod):
        if run.reading is None or run.reading.serves_http:
            continue
        for name in _PROBES:
            handler = next(
                (h for h in ("httpGet", "tcpSocket") if dig(run.container, name, h)), None
            )
            port = dig(run.container, name, handler, "port") if handler else None
            if handler == "httpGet" or port in ("http", run.reading.port):
                yield Fault(
                    path=(*run.path, name),
                    what=f"`{text(run.container, 'name')}` is headless and opens no HTTP "
                    f"port, so its {name} never succeeds",
                    fix=f"remove the {name}: the leader's probe means the whole group",
                )


@rule(PROBE_PORT, kinds=WORKLOADS)
@over_templates
def probe_port_unnamed(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A port that a probe names is one of its container's."""
    for run in runs(pod):
        ports = {text(port, "name"): port for port in sequence(run.container, "ports")}
        for name in _PROBES:
            for handler in ("httpGet", "tcpSocket"):
                port = text(run.container, name, handler, "port")
                if port and not port.isdecimal() and port not in ports:
                    known = ", ".join(sorted(filter(None, ports)))
                    yield Fault(
                        path=(*run.path, name, handler, "port"),
                        what=f"the {name} asks port `{port}`, the container declares "
                        + (known or "none by name"),
                        fix=f"name a port `{port}` in the container, or write its number",
                    )


def _servers(subject: Document, documents: Documents) -> Iterator[tuple[Path, Manifest]]:
    """Containers of leaders that serve from GPUs: an engine that we read, or GPUs and a port."""
    for group in groups_of(documents, subject):
        for run in read_runs(documents, group.leader):
            if run.init or GPU not in _resources(run.container):
                continue
            if run.reading is not None and not run.reading.serves_http:
                continue
            if run.reading is not None or sequence(run.container, "ports"):
                yield run.path, run.container


@rule(IMAGE, kinds=WORKLOADS)
@over_templates
def image_name_invalid(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """An image is named as registries name them."""
    for run in runs(pod):
        image = text(run.container, "image")
        if image and not _IMAGE.match(image):
            yield Fault(
                path=(*run.path, "image"),
                what=f"`{image}` is no image name: a repository is lower case, without placeholders",
                fix="write registry/repository:tag of the image meant",
            )


@rule(TAG, kinds=WORKLOADS)
@over_templates
def image_tag_moves(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """GPU pods say which release of an image they run."""
    if not gpus(documents, pod):
        return
    for run in runs(pod):
        image = text(run.container, "image")
        if _IMAGE.match(image) and pull_policy(image) == "Always":
            yield Fault(
                path=(*run.path, "image"),
                what=f"`{image}` is whatever the registry has on the day a pod starts",
                fix="write the tag of a release, or a digest",
            )


@rule(LIVENESS, kinds=WORKLOADS)
def liveness_before_loaded(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Liveness starts to count when the engine has loaded."""
    for path, container in _servers(subject, documents):
        probe = mapping(container, "livenessProbe")
        if not probe or "startupProbe" in container:
            continue
        delay = whole(probe, "initialDelaySeconds") or 0
        failures = whole(probe, "failureThreshold") or 3
        allowed = delay + failures * (whole(probe, "periodSeconds") or 10)
        if allowed < LOADING:
            at = (*path, "livenessProbe")
            yield Fault(
                path=(*at, "initialDelaySeconds") if delay else at,
                what=f"the engine is killed {allowed} s after its start when it has not loaded",
                fix="add a startupProbe of the same endpoint with periodSeconds: 10 and "
                f"failureThreshold: {LOADING // 10}, or what loading takes",
                seen={"allowed": f"{allowed} s"},
            )


@rule(START_LIMIT, kinds=WORKLOADS)
@over_templates
def start_limit_below_probe(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine's own limit on its start is no shorter than what the startup probe allows."""
    for run in read_runs(documents, pod):
        probe = mapping(run.container, "startupProbe")
        if not probe or run.reading is None or run.reading.start_limit is None:
            continue
        variable, limit = run.reading.start_limit
        allowed = (whole(probe, "failureThreshold") or 3) * (whole(probe, "periodSeconds") or 10)
        if limit < allowed:
            yield Fault(
                path=(*run.path, "env"),
                what=f"{variable} is {limit} s, the startup probe allows {allowed} s",
                fix=f"write {allowed}; where the limit does not bound a normal start this changes nothing",
                seen={"limit": f"{limit} s", "allowed": f"{allowed} s"},
            )


@rule(STARTUP, kinds=WORKLOADS)
def startup_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a startup probe."""
    for path, container in _servers(subject, documents):
        if "startupProbe" not in container and "livenessProbe" not in container:
            yield Fault(
                path=(*path, "startupProbe"),
                what=f"`{text(container, 'name')}` has no startup probe",
                fix=f"add one with periodSeconds: 10 and failureThreshold: {LOADING // 10}, "
                "or what loading takes",
            )


@rule(READINESS, kinds=WORKLOADS)
def readiness_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a readiness probe."""
    for path, container in _servers(subject, documents):
        if "readinessProbe" not in container:
            yield Fault(
                path=(*path, "readinessProbe"),
                what=f"`{text(container, 'name')}` has no readiness probe"
                + (
                    ": once its startup probe passed, nothing takes it out of traffic"
                    if "startupProbe" in container
                    else " and is Ready as soon as it runs"
                ),
                fix="add a readinessProbe of the engine's health endpoint with periodSeconds: 5",
            )
