"""Where the weights come from, what is mounted for them, and whether there is room.

Every pod of a group reads the checkpoint; a download that does not fit the pod's storage ends in an eviction, after
an hour of loading, over and over.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple

from gangform.apis.forms import Form
from gangform.apis.leaderworkerset import FIELDS
from gangform.apis.versions import Release
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.defaults import Defaults
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.units import Bytes

NO_ROOM = declare(
    "checkpoint-exceeds-storage",
    "A checkpoint that each pod downloads has to fit the pod's ephemeral storage",
    Severity.BREAKS,
    "cases r34; engines §6.3",
)
CLAIM_SMALL = declare(
    "claim-smaller-than-checkpoint",
    "A claim per pod has to hold the checkpoint",
    Severity.BREAKS,
    "cases r34",
)
TOO_NEW = declare(
    "field-newer-than-release",
    "An older controller drops a field it does not know in silence",
    Severity.BREAKS,
    "lws §13; design §4 Workload",
)

MODELS = "/models"
"""Where a claim or a node folder is mounted."""
CACHE = "/cache"
"""Where downloads go."""

VolumeKind = Literal["memory", "empty", "claim", "host", "ephemeral", "template"]


class Volume(NamedTuple):
    """One volume of every pod and where it is mounted."""

    name: str
    kind: VolumeKind
    """`memory` and `empty`: emptyDir; `claim`: an existing PersistentVolumeClaim; `host`: a node's folder;
    `ephemeral`: a claim that lives with its pod; `template`: a claim per pod of a set."""
    mount: str
    size: Bytes | None = None
    reference: str | None = None
    """The claim, the node's folder, or the StorageClass."""
    read_only: bool = False


class WeightsPlan(NamedTuple):
    """What the engine is told to load, and what is mounted for it."""

    reference: str
    """Hub id, or path in the container."""
    cache_home: str | None
    token: tuple[str, str] | None
    volumes: tuple[Volume, ...]
    on_pod_storage: Bytes
    """What lands on the pod's ephemeral storage."""


@formula("declared, or checkpoint x margin", source="cases r34")
def claim_size(declared: Bytes | None, checkpoint: Bytes, margin: Fraction) -> Bytes:
    """Size of a claim per pod, in whole GiB where derived."""
    if declared is not None:
        return declared
    wanted = checkpoint * margin
    return Bytes(-(-wanted.numerator // (wanted.denominator * 2**30)) * 2**30)


def derive(serving: Serving, model: ModelProfile, form: Form, defaults: Defaults) -> WeightsPlan:
    """Mounts and references of a source."""
    asked = serving.weights
    token = None if asked.token is None else (asked.token.name, asked.token.key)
    if asked.source == "hub":
        cache = Volume(name="cache", kind="empty", mount=CACHE)
        return WeightsPlan(
            reference=model.repository,
            cache_home=CACHE,
            token=token,
            volumes=(cache,),
            on_pod_storage=model.checkpoint,
        )
    if asked.source == "perPod":
        cache = Volume(
            name="cache",
            kind="template" if form.can.runs_groups else "ephemeral",
            mount=CACHE,
            size=claim_size(asked.size, model.checkpoint, defaults.claim_margin),
            reference=asked.storage_class,
        )
        return WeightsPlan(
            reference=model.repository,
            cache_home=CACHE,
            token=token,
            volumes=(cache,),
            on_pod_storage=Bytes(0),
        )
    inside = MODELS
    if asked.source == "claim":
        inside = "/".join(part for part in (MODELS, (asked.path or "").strip("/")) if part)
    models = Volume(
        name="models",
        kind="claim" if asked.source == "claim" else "host",
        mount=MODELS,
        reference=asked.claim if asked.source == "claim" else asked.path,
        read_only=True,
    )
    return WeightsPlan(
        reference=inside,
        cache_home=None,
        token=None,
        volumes=(models,),
        on_pod_storage=Bytes(0),
    )


def remarks(serving: Serving, model: ModelProfile) -> Iterator[str]:
    """What a download from the hub costs and needs, in words."""
    asked = serving.weights
    if asked.source == "hub":
        yield (
            f"each pod downloads {model.checkpoint.human()} from the hub whenever it is made anew; source claim or "
            "nodePath reads a copy of yours, perPod keeps the download on a claim per pod"
        )
    if asked.source in ("hub", "perPod") and asked.token is None:
        yield (
            f"the hub is asked for {model.repository} without a token: a gated model needs "
            "`weights: {token: {name: SECRET}}`"
        )


def check(
    plan: WeightsPlan,
    *,
    serving: Serving,
    model: ModelProfile,
    storage: Bytes,
    form: Form,
    lws: Release | None,
    at: Path,
) -> Iterator[Finding]:
    """Whether the checkpoint has room. `storage` is the pod's ephemeral storage."""
    here = (*at, "weights")
    if plan.on_pod_storage > storage:
        short = Bytes(int(plan.on_pod_storage) - int(storage))
        yield Finding(
            code=NO_ROOM,
            at=InputPath((*here, "source")),
            what=f"each pod downloads {plan.on_pod_storage.human()} and has {storage.human()} of ephemeral "
            f"storage: short by {short.human()}",
            fix="use source claim, nodePath or perPod, or raise `pods.resources.ephemeralStorage` to "
            f"{Bytes(-(-int(plan.on_pod_storage) // 2**30) * 2**30)}",
            seen={"checkpoint": str(int(plan.on_pod_storage)), "storage": str(int(storage))},
        )
    for volume in plan.volumes:
        if volume.kind not in ("ephemeral", "template") or volume.size is None:
            continue
        if volume.size < model.checkpoint:
            yield Finding(
                code=CLAIM_SMALL,
                at=InputPath((*here, "size")),
                what=f"a claim of {volume.size.human()} cannot hold {model.checkpoint.human()}",
                fix="leave `size` out, or use at least "
                f"{Bytes(-(-int(model.checkpoint) // 2**30) * 2**30)}",
            )
        row = FIELDS.rows["volumeClaimTemplates"]
        if volume.kind == "template" and lws is not None and not FIELDS.has(row.name, lws):
            yield Finding(
                code=TOO_NEW,
                at=InputPath((*here, "source")),
                what=f"volumeClaimTemplates exist from LeaderWorkerSet {row.since}, the cluster has {lws}",
                fix=f"use source claim or hub, or upgrade to {row.since}",
            )
