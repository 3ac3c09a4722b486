"""Leader and workers of a group are ranks of one process group: what they talk with and load from is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import GPU
from gangform.apis.pods import is_image
from gangform.apis.views import Documents
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text
from gangform.engines.conditions import asks_for
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    SETS,
    Run,
    over_groups,
    own_workers,
    pinned_apart,
    read_runs,
    resources_of,
)
from gangform.rules.rule import Context, Fault, rule

VARIABLES = declare(
    "ranks-configured-apart",
    "Leader and workers have different settings of the libraries that they talk through",
    Severity.DEGRADES,
    "engines §1.5; cases h14",
)
VOLUMES = declare(
    "volumes-differ",
    "Leader and workers have different volumes behind one name",
    Severity.DEGRADES,
    "cases h23",
)
IMAGES = declare(
    "ranks-of-other-releases",
    "Leader and workers run different releases of one image",
    Severity.DEGRADES,
    "engines §1.8",
)
MODEL = declare(
    "model-not-mounted",
    "The engine loads from a path that the other template has on a volume, and this one has not",
    Severity.BREAKS,
    "engines §1.3",
)

_TALK: Final = ("NCCL_", "NVSHMEM_", "GLOO_", "UCX_", "RCCL_")
_EACH_ITS_OWN: Final = (
    "DEBUG",
    "LOG",
    "INFO",
    "DUMP",
    "VERSION",
    "TOPO_FILE",
    "HOST",
    "TRACE",
    "METRIC",
)
"""In names of variables that ranks need not share."""
_SHARED: Final = frozenset({"VLLM_ALL2ALL_BACKEND", "VLLM_PP_LAYER_PARTITION", "PYTHONHASHSEED"})
_ON_NODE: Final = "hostPath"
_STORES: Final = (_ON_NODE, "persistentVolumeClaim", "nfs")


def _engines(documents: Documents, group: GroupView) -> tuple[Run, Run] | None:
    """The containers with GPUs of leader and workers, where each template has one and they run one image."""
    workers = own_workers(group)
    if workers is None:
        return None
    found = [_holder(documents, pod) for pod in (group.leader, workers)]
    leader, worker = found
    if leader is None or worker is None:
        return None
    same = text(leader.container, "image") == text(worker.container, "image")
    return (leader, worker) if same else None


def _holder(documents: Documents, pod: PodView) -> Run | None:
    holders = [
        run
        for run in read_runs(documents, pod)
        if not run.init and GPU in resources_of(run.container)
    ]
    return holders[0] if len(holders) == 1 else None


@rule(IMAGES, kinds=SETS)
@over_groups
def ranks_of_other_releases(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Ranks of one group run one image."""
    workers = own_workers(group)
    leader = None if workers is None else _holder(documents, group.leader)
    worker = None if workers is None else _holder(documents, workers)
    if leader is None or worker is None:
        return
    one, other = (text(run.container, "image") for run in (leader, worker))
    if (
        one != other
        and is_image(one)
        and is_image(other)
        and _repository(one) == _repository(other)
    ):
        yield Fault(
            path=(*worker.path, "image"),
            what=f"the workers run {other}, and the leader {one}",
            fix=f"write image: {one}",
            seen={"leader": one, "workers": other},
        )


def _repository(image: str) -> str:
    """An image without tag and digest."""
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"


def _must_agree(name: str) -> bool:
    talks = name.startswith(_TALK) and not any(part in name for part in _EACH_ITS_OWN)
    return talks or name in _SHARED


def _variables(run: Run) -> dict[str, tuple[int, Node]]:
    """Variables that ranks share, with their places and what they are."""
    found: dict[str, tuple[int, Node]] = {}
    for index, variable in enumerate(sequence(run.container, "env")):
        name = text(variable, "name")
        if _must_agree(name):
            value = dig(variable, "valueFrom")
            found[name] = (index, value if value is not None else text(variable, "value"))
    return found


def _speaks_of(run: Run, name: str) -> bool:
    """Whether the container may get a variable another way: from a map, or in its script."""
    return bool(sequence(run.container, "envFrom")) or asks_for(run.container, name)


@rule(VARIABLES, kinds=SETS)
@over_groups
def ranks_configured_apart(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Ranks of one group talk with the same settings."""
    both = _engines(documents, group)
    if both is None:
        return
    leader, worker = both
    led, worked = _variables(leader), _variables(worker)
    for name in sorted(led.keys() | worked.keys()):
        has, wants = led.get(name), worked.get(name)
        if has is not None and wants is not None and has[1] == wants[1]:
            continue
        if _speaks_of(leader, name) or _speaks_of(worker, name):
            continue
        path: Path = (*worker.path, "env")
        yield Fault(
            path=path if wants is None else (*path, wants[0]),
            what=f"{name} is {_said(has)} on the leader and {_said(wants)} on the workers",
            fix=f"write the same {name} into both templates",
            seen={"variable": name},
        )


def _said(found: tuple[int, Node] | None) -> str:
    if found is None:
        return "absent"
    return f"`{found[1]}`" if isinstance(found[1], str) else "taken from elsewhere"


def _volumes(pod: PodView) -> dict[str, tuple[int, Manifest]]:
    return {
        text(volume, "name"): (index, volume)
        for index, volume in enumerate(sequence(pod.spec, "volumes"))
        if isinstance(volume, Mapping)
    }


@rule(VOLUMES, kinds=SETS)
@over_groups
def volumes_differ(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A volume that the ranks load from is the same for all of them."""
    workers = own_workers(group)
    both = _engines(documents, group)
    if workers is None or both is None:
        return
    led, worked = _volumes(group.leader), _volumes(workers)
    mounts = [
        {text(mount, "name"): text(mount, "mountPath") for mount in _mounts(run)} for run in both
    ]
    for name, (index, volume) in worked.items():
        if name not in led or mounts[0].get(name) is None:
            continue
        if mounts[0][name] != mounts[1].get(name):
            continue
        other = led[name][1]
        for field, has, wants in _differences(other, volume):
            if field[0] == _ON_NODE and pinned_apart(group):
                continue
            yield Fault(
                path=(*workers.path, "spec", "volumes", index, *field),
                what=f"`{name}` has {field[-1]} {has} on the leader and {wants} on the workers",
                fix="write the same volume into both templates",
                seen={"leader": has, "workers": wants},
            )


def _differences(leader: Manifest, worker: Manifest) -> Iterator[tuple[Path, str, str]]:
    """Where two volumes differ in what is behind them."""
    for kind in _STORES:
        has, wants = mapping(leader, kind), mapping(worker, kind)
        if not has or not wants:
            continue
        for key in sorted(has.keys() | wants.keys()):
            one, other = has.get(key, ""), wants.get(key, "")
            if key != "readOnly" and one != other:
                yield (kind, key), str(one) or "absent", str(other) or "absent"


def _mounts(run: Run) -> Iterator[Manifest]:
    for mount in sequence(run.container, "volumeMounts"):
        if isinstance(mount, Mapping):
            yield mount


@rule(MODEL, kinds=SETS)
@over_groups
def model_not_mounted(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every rank has the volume that the model is on."""
    both = _engines(documents, group)
    if both is None:
        return
    for run, other in (both, both[::-1]):
        model = run.reading.model if run.reading is not None else ""
        path = f"{model.rstrip('/')}/"
        if not model.startswith("/") or other.reading is None or other.reading.model != model:
            continue
        over = [text(mount, "mountPath").rstrip("/") for mount in _mounts(other)]
        own = [text(mount, "mountPath").rstrip("/") for mount in _mounts(run)]
        covering = [place for place in over if place and path.startswith(f"{place}/")]
        if covering and not any(place and path.startswith(f"{place}/") for place in own):
            yield Fault(
                path=(*run.path, "volumeMounts"),
                what=f"the engine loads {model}, and nothing is mounted there; the other template has a "
                f"volume at {covering[0]}",
                fix=f"mount the volume at {covering[0]} here too",
                seen={"model": model},
            )
