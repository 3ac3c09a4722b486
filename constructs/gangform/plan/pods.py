"""What every pod of a group requests, tolerates and mounts, alike on leader and workers.

A group is scheduled as one, so both templates carry the same scheduling fields (`kueue §3`: differing ones were
evaluated on one of them only). A pod takes its GPU share of what the node can give.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple, TypeVar, cast

from gangform.apis import kueue, leaderworkerset, node_autoscalers, security, volcano
from gangform.apis.core import APP_NAME, MANAGED_BY
from gangform.apis.keys import POD_TEMPLATE_HASH, REVISION_HASH
from gangform.apis.metadata import ANNOTATIONS_LIMIT, size_of
from gangform.apis.pods import is_image
from gangform.apis.pods import requests as requests_of
from gangform.documents.document import Node, text
from gangform.engines.engine import Launch, Shape
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Pool
from gangform.inputs.defaults import Defaults
from gangform.inputs.hardware import HardwareShape, Taint
from gangform.inputs.serving import Pods, Serving
from gangform.plan.figures import formula
from gangform.plan.weights import Volume, WeightsPlan
from gangform.units import Bytes, Millicores, Resources

RESERVED = declare(
    "label-owned-by-controller",
    "Labels and annotations that a controller or the plan sets may not be set by hand",
    Severity.BREAKS,
    "lws §1; lab E9; kueue §2.2",
)
ENV_OWNED = declare(
    "env-owned-by-plan",
    "A variable that the plan or the controller sets may not be set twice",
    Severity.BREAKS,
    "lws §1; engines §1.5",
)
SELECTOR_CLASH = declare(
    "node-selector-contradicts-pool",
    "A node selector that contradicts the pool matches no node",
    Severity.BREAKS,
    "design §4 Workload",
)
MEMORY_SMALL = declare(
    "shared-memory-exceeds-request",
    "/dev/shm counts towards the pod's memory and must leave some of it",
    Severity.BREAKS,
    "observability §6",
)
OTHER_PRODUCT = declare(
    "pool-contradicts-hardware",
    "A pool whose labels name another GPU than its hardware selects nodes that nobody described",
    Severity.BREAKS,
    "design §3 Cluster",
)
OVER_NODE = declare(
    "request-exceeds-node",
    "A pod that requests more than a node offers is never scheduled",
    Severity.BREAKS,
    "design §4 Workload",
)
HOST_PORTS = declare(
    "host-network-ports-collide",
    "With the host's network two pods on a node would open the same ports",
    Severity.BREAKS,
    "observability §6; cases lint r38",
)
SPREAD_UNKNOWN = declare(
    "spread-level-unknown",
    "Replicas can be spread only over a level that the pool has",
    Severity.BREAKS,
    "design §4 Topology",
)
NAME_TAKEN = declare(
    "container-name-taken",
    "Containers and volumes of a pod need names of their own",
    Severity.BREAKS,
    "lab E9",
)

ANNOTATIONS = declare(
    "annotations-too-large",
    "Annotations of an object take 256 KiB together at the most",
    Severity.BREAKS,
    "apimachinery: TotalAnnotationSizeLimitB",
)
IMAGE = declare(
    "engine-image-invalid",
    "An image name that no registry can have: the engine never starts",
    Severity.BREAKS,
    "OCI distribution: a repository is lower case",
)

Amount = TypeVar("Amount", Bytes, Millicores)

CONTAINER = "engine"
"""Name of the container that runs the engine."""
SHARED_MEMORY = "/dev/shm"
_OWNED = (APP_NAME, MANAGED_BY, POD_TEMPLATE_HASH, REVISION_HASH)


class Spread(NamedTuple):
    """How replicas of one pod are spread over domains."""

    level: str
    skew: int
    """How many more pods one domain may have than another."""
    otherwise: str
    """`whenUnsatisfiable`."""


class PodsPlan(NamedTuple):
    """What both templates share."""

    container: str
    requests: Resources
    """Of the engine's container."""
    limits: Resources
    counted: Resources
    """Of the whole pod, init containers and sidecars included: what a quota must hold."""
    volumes: tuple[Volume, ...]
    """Ours, with their mounts; the user's come from `extension`."""
    node_selector: Mapping[str, str]
    taints: tuple[Taint, ...]
    """Taints of the shape, to be tolerated."""
    capabilities: tuple[str, ...]
    """Linux capabilities to add: what the fabric needs, then the user's."""
    annotations: Mapping[str, str]
    autoscaler: str
    """The cluster's node autoscaler; the user's annotation wins over what keeps it away."""
    privilege_escalation: bool
    mount_token: bool
    extension: Pods
    """The user's fields, passed through."""
    owns_account: bool
    """Whether the ServiceAccount is one of ours."""
    spread: Spread | None
    """How single-pod replicas are spread; `None` where nothing is, or cannot be, enforced."""

    @property
    def storage(self) -> Bytes:
        """Ephemeral storage of a pod."""
        return Bytes(self.requests["ephemeral-storage"])


@formula(
    "allocatable x 9/10 x GPUs per pod / GPUs of the node, in whole cores",
    source="design §4 Workload",
)
def cpu(allocatable: Millicores, portion: Fraction) -> Millicores:
    """CPU request of a pod."""
    return Millicores(max(1, int(allocatable * portion) // 1000) * 1000)


@formula(
    "allocatable x 9/10 x GPUs per pod / GPUs of the node, in whole GiB",
    source="design §4 Workload",
)
def memory(allocatable: Bytes, portion: Fraction) -> Bytes:
    """Memory or ephemeral-storage request of a pod."""
    return Bytes(int(allocatable * portion) // 2**30 * 2**30)


@formula(
    "the most that its containers request at once, sidecars and init containers included",
    source="kueue §7",
)
def counted(engine: Resources, extension: Pods) -> Resources:
    """Requests of the whole pod."""
    spec = {
        "initContainers": [cast(Node, container) for container in extension.init_containers],
        "containers": [
            {"resources": {"requests": engine.spelled()}},
            *(cast(Node, container) for container in extension.sidecars),
        ],
    }
    whole = requests_of(spec)
    scale = {"cpu": 1000}
    return Resources(
        {name: ceil(whole[name] * scale.get(name, 1)) for name in dict.fromkeys([*engine, *whole])}
    )


@formula("2 GiB x GPUs per pod", source="engines §1.5; observability §6")
def shared_memory(per_gpu: Bytes, gpus: int) -> Bytes:
    """Size of /dev/shm."""
    return Bytes(per_gpu * gpus)


def _given(asked: Amount | None, derived: Amount) -> Amount:
    return derived if asked is None else asked


def derive(
    serving: Serving,
    *,
    shape: Shape,
    hardware: HardwareShape,
    pool: Pool,
    weights: WeightsPlan,
    groups: bool,
    autoscaler: str,
    defaults: Defaults,
) -> PodsPlan:
    """The pods of one role. `groups`: whether a replica is a group that is scheduled as one."""
    extension, own = serving.pods, serving.pods.resources
    part = Fraction(shape.gpus_per_pod, hardware.gpu.count)
    portion = part * defaults.allocatable_share
    shm = _given(
        own.shared_memory, shared_memory(defaults.shared_memory_per_gpu, shape.gpus_per_pod)
    )
    memory_request = _given(own.memory, memory(hardware.memory, portion))
    storage = _given(own.ephemeral_storage, memory(hardware.ephemeral_storage, portion))
    amounts = {
        "cpu": int(_given(own.cpu, cpu(hardware.cpu, portion))),
        "memory": int(memory_request),
        "ephemeral-storage": int(storage),
        hardware.gpu.resource: shape.gpus_per_pod,
    }
    context = cast(Node, extension.container_security_context)
    # Nothing of one pod crosses nodes, so that it needs no fabric.
    fabric = hardware.rdma if shape.size > 1 else None
    if fabric is not None and fabric.resource is not None:
        amounts[fabric.resource] = fabric.count
    requests = Resources(amounts)
    limits = Resources({name: amount for name, amount in amounts.items() if name != "cpu"})
    return PodsPlan(
        container=CONTAINER,
        requests=requests,
        limits=limits,
        counted=counted(requests, extension),
        volumes=(
            Volume(name="shm", kind="memory", mount=SHARED_MEMORY, size=shm),
            *weights.volumes,
        ),
        node_selector={
            hardware.gpu.product_label: hardware.gpu.product,
            **pool.node_labels,
            **extension.node_selector,
        },
        taints=hardware.taints,
        capabilities=security.merged(
            ("IPC_LOCK",) if fabric is not None else (), security.added(context)
        ),
        annotations={
            **(fabric.annotations if fabric else {}),
            **node_autoscalers.annotation(autoscaler),
            **extension.annotations,
        },
        autoscaler=autoscaler,
        # A context that gains privileges in any case, and says that it does not, is refused.
        privilege_escalation=defaults.privilege_escalation or security.escalates(context),
        mount_token=defaults.mount_token,
        extension=extension,
        owns_account=extension.service_account_name is None,
        spread=None
        if groups or serving.spread is None
        else Spread(
            level=serving.spread,
            skew=defaults.spread_skew,
            otherwise=defaults.spread_unsatisfied,
        ),
    )


def check(
    plan: PodsPlan,
    *,
    shape: Shape,
    hardware: HardwareShape,
    pool: Pool,
    launch: Launch,
    spread: str | None,
    home: Path,
    at: Path,
) -> Iterator[Finding]:
    """What a pod of this kind could not be. `home`: where its pool is described."""
    here = (*at, "pods")
    yield from _owned(plan.extension, here, launch)
    size = size_of(plan.annotations)
    if size > ANNOTATIONS_LIMIT:
        yield Finding(
            code=ANNOTATIONS,
            at=InputPath((*here, "annotations")),
            what=f"the annotations take {size} bytes together, at most {ANNOTATIONS_LIMIT} are allowed",
            fix="keep long texts in a ConfigMap",
        )
    if not is_image(launch.image):
        yield Finding(
            code=IMAGE,
            at=InputPath((*at, "engine", "image")),
            what=f"`{launch.image}` is no image name: a repository is lower case, without placeholders",
            fix="write registry/repository:tag of the image meant",
        )
    if spread is not None and spread not in pool.levels:
        has = ", ".join(pool.levels) or "no levels"
        yield Finding(
            code=SPREAD_UNKNOWN,
            at=InputPath((*at, "spread")),
            what=f"`{spread}` is not among the levels of the pool: {has}",
            fix=f"write one of {has}" if pool.levels else "declare the pool's `levels`",
        )
    product = pool.node_labels.get(hardware.gpu.product_label, hardware.gpu.product)
    if product != hardware.gpu.product:
        yield Finding(
            code=OTHER_PRODUCT,
            at=InputPath((*home, "nodeLabels", hardware.gpu.product_label)),
            what=f"the pool's nodes are labelled `{product}`, and {hardware.name} has {hardware.gpu.product}",
            fix="remove the label, or name the hardware that the pool has",
            seen={"pool": product, "hardware": hardware.gpu.product},
        )
    ours = {hardware.gpu.product_label: hardware.gpu.product, **pool.node_labels}
    for key, value in plan.extension.node_selector.items():
        if key in ours and ours[key] != value:
            yield Finding(
                code=SELECTOR_CLASH,
                at=InputPath((*here, "nodeSelector", key)),
                what=f"{key} is `{value}`, but the pool has `{ours[key]}`",
                fix="leave it out, or choose another pool",
            )
    shm = next(volume.size for volume in plan.volumes if volume.kind == "memory") or Bytes(0)
    if shm >= plan.requests["memory"]:
        yield Finding(
            code=MEMORY_SMALL,
            at=InputPath((*here, "resources")),
            what=f"/dev/shm of {shm.human()} in a memory request of "
            f"{Bytes(plan.requests['memory']).human()}",
            fix="raise `memory` or lower `sharedMemory`",
        )
    names = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeralStorage"}
    beside = "sidecars" if plan.extension.sidecars else "initContainers"
    for resource, amount in hardware.offered.items():
        whole = plan.counted.get(resource, 0)
        if whole > amount:
            asked = Resources({resource: whole}).spelled()[resource]
            has = Resources({resource: amount}).spelled()[resource]
            field = ("resources", names[resource]) if resource in names else (beside,)
            yield Finding(
                code=OVER_NODE,
                at=InputPath((*here, *field)),
                what=f"a pod requests {asked} {resource}, a node of {hardware.name} offers {has}",
                fix=f"use at most {has}",
            )
    if plan.extension.host_network and shape.gpus_per_pod < hardware.gpu.count:
        yield Finding(
            code=HOST_PORTS,
            at=InputPath((*here, "hostNetwork")),
            what=f"hostNetwork with {shape.gpus_per_pod} of {hardware.gpu.count} GPUs a pod: two pods of a "
            f"node would open port {launch.serving_port.number}",
            fix="leave it out, or use whole nodes",
        )


def is_reserved(key: str) -> bool:
    """Whether a label or annotation of pods is set by a controller or by the plan."""
    prefixes = (leaderworkerset.PREFIX, kueue.PREFIX, volcano.GROUP_NAME, volcano.QUEUE_NAME)
    return key.startswith(prefixes) or key in _OWNED


def _owned(extension: Pods, here: Path, launch: Launch) -> Iterator[Finding]:
    for field, entries in (("labels", extension.labels), ("annotations", extension.annotations)):
        for key in entries:
            if is_reserved(key):
                yield Finding(
                    code=RESERVED,
                    at=InputPath((*here, field, key)),
                    what=f"`{key}` is set by a controller or by the plan",
                    fix="leave it out, or use a key of your own",
                )
    taken = {variable.name for variable in launch.leader.env}
    taken |= {
        leaderworkerset.ADDRESS_VARIABLE,
        leaderworkerset.SIZE_VARIABLE,
        leaderworkerset.RANK_VARIABLE,
    }
    for index, entry in enumerate(extension.env):
        name = text(cast(Node, entry), "name")
        if name in taken:
            yield Finding(
                code=ENV_OWNED,
                at=InputPath((*here, "env", index)),
                what=f"`{name}` is already set for the engine",
                fix="leave it out",
            )
    for field, containers in (
        ("initContainers", extension.init_containers),
        ("sidecars", extension.sidecars),
    ):
        for index, container in enumerate(containers):
            if text(cast(Node, container), "name") == CONTAINER:
                yield Finding(
                    code=NAME_TAKEN,
                    at=InputPath((*here, field, index, "name")),
                    what=f"`{CONTAINER}` is the name of the engine's container",
                    fix="choose another name",
                )
