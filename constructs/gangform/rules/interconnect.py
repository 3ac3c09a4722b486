"""How ranks and pods reach each other: addresses for caches, interfaces, and RDMA devices that are really there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU
from gangform.apis.pods import DEVICE_ANNOTATIONS
from gangform.apis.views import Documents
from gangform.documents.document import Manifest, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import Run, over_templates, read_runs, resources_of, words_of
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

UNSET = declare(
    "transfer-host-unset",
    "The address under which other pods fetch the cache is not set: they are told to ask themselves",
    Severity.BREAKS,
    "engines §0 item 6, §1.5, §3.1",
)
WILDCARD = declare(
    "transfer-host-wrong",
    "The address under which other pods fetch the cache is none that leads to this pod",
    Severity.BREAKS,
    "engines §1.5, §3.1; cases h33",
)
GLOO = declare(
    "gloo-interface-invalid",
    "Gloo takes names of interfaces, and none of the exclusions that NCCL takes",
    Severity.BREAKS,
    "engines §1.5; cases r13",
)
NO_DEVICE = declare(
    "rdma-without-device",
    "RDMA devices are named, and the pod is given none: transfers fall back to TCP",
    Severity.DEGRADES,
    "observability §6; engines §1.5, §8.3",
)

_EVERYWHERE: Final = frozenset({"0.0.0.0", "::", "[::]", "*"})
_ITSELF: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_GLOO: Final = "GLOO_SOCKET_IFNAME"
_SIGNS: Final = ("^", "=", "!")
_DEVICES: Final = ("NCCL_IB_HCA", "NVSHMEM_HCA_PREFIX", "NVSHMEM_HCA_LIST")
_OFF: Final = "NCCL_IB_DISABLE"
_INJECTED: Final = frozenset({"NVIDIA_MOFED", "MELLANOX_VISIBLE_DEVICES"})
"""Variables that make the container runtime add the devices by itself."""
_GPUS: Final = ("gpu", "mig-")
_PLAIN_RUNTIME: Final = "nvidia"
"""Adds GPUs and nothing else."""


@rule(UNSET, kinds=WORKLOADS)
@over_templates
def transfer_host_unset(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """An engine that hands over its cache says where it is."""
    for run in _transferring(documents, pod):
        channel = run.reading.side_channel if run.reading is not None else None
        if channel is not None and not channel.written and channel.value is not None:
            yield Fault(
                path=(*run.path, "env"),
                what=f"{channel.variable} is not set, and its default is {channel.value}",
                fix=f"add {channel.variable} from fieldRef status.podIP",
            )


@rule(WILDCARD, kinds=WORKLOADS)
@over_templates
def transfer_host_wrong(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The address for caches is the pod's own."""
    for run in _transferring(documents, pod):
        channel = run.reading.side_channel if run.reading is not None else None
        if channel is None or not channel.written or channel.value is None:
            continue
        if channel.value in _EVERYWHERE or channel.value in _ITSELF:
            meant = "every address" if channel.value in _EVERYWHERE else "whoever asks"
            yield Fault(
                path=_variable(run, channel.variable),
                what=f"{channel.variable} is {channel.value}, which is {meant} and leads other pods nowhere",
                fix="take it from fieldRef status.podIP",
                seen={"value": channel.value},
            )


def _transferring(documents: Documents, pod: PodView) -> Iterator[Run]:
    """Engines that hand their cache to another pod; two in one pod may mean each other."""
    found = [
        run
        for run in read_runs(documents, pod)
        if run.reading is not None and run.reading.side_channel is not None and not run.init
    ]
    if len(found) == 1:
        yield found[0]


def _variable(run: Run, name: str) -> Path:
    """Where a variable gets its value: in the container, or in its command line."""
    for index, variable in enumerate(sequence(run.container, "env")):
        if text(variable, "name") == name:
            return (*run.path, "env", index, "value")
    return words_of(run)


def _values(run: Run) -> Iterator[tuple[str, str, Path]]:
    """Variables with a literal value, from the container and from the script around its engine."""
    for index, variable in enumerate(sequence(run.container, "env")):
        yield (
            text(variable, "name"),
            text(variable, "value"),
            (*run.path, "env", index),
        )
    for name, value in (run.reading.variables if run.reading is not None else {}).items():
        if value:
            yield name, value, words_of(run)


@rule(GLOO, kinds=WORKLOADS)
@over_templates
def gloo_interface_invalid(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Gloo is given names of interfaces."""
    for run in read_runs(documents, pod):
        for name, value, path in _values(run):
            if name == _GLOO and value.startswith(_SIGNS):
                yield Fault(
                    path=(*path, "value") if "env" in path else path,
                    what=f"{name} is `{value}`: Gloo looks for an interface of this very name",
                    fix="write the interface of the pod network, such as eth0",
                    seen={"value": value},
                )


@rule(NO_DEVICE, kinds=WORKLOADS)
@over_templates
def rdma_without_device(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A container that names RDMA devices is given some."""
    if _pod_gets_devices(pod):
        return
    for run in read_runs(documents, pod):
        if GPU not in resources_of(run.container) or _gets_devices(run.container):
            continue
        values = list(_values(run))
        if any(name == _OFF and value not in ("", "0") for name, value, _ in values):
            continue
        named = next(
            ((name, value, path) for name, value, path in values if name in _DEVICES and value),
            None,
        )
        if named is not None:
            name, value, path = named
            yield Fault(
                path=path,
                what=f"{name} is {value}, and `{text(run.container, 'name')}` requests no RDMA resource",
                fix="request the cluster's RDMA resource, such as rdma/ib: 1, in requests and limits",
                seen={"variable": name, "value": value},
            )


def _pod_gets_devices(pod: PodView) -> bool:
    """Whether devices may come by another way: host network, host paths, networks, claims, a runtime class."""
    volumes = sequence(pod.spec, "volumes")
    return (
        dig(pod.spec, "hostNetwork") is True
        or bool(sequence(pod.spec, "resourceClaims"))
        or text(pod.spec, "runtimeClassName") not in ("", _PLAIN_RUNTIME)
        or any(text(volume, "hostPath", "path").startswith("/dev") for volume in volumes)
        or any(key.startswith(DEVICE_ANNOTATIONS) for key in pod.annotations)
    )


def _gets_devices(container: Manifest) -> bool:
    """Whether a container is given devices beside GPUs, or every device of its node."""
    names = [name for name in resources_of(container) if "/" in name]
    others = [name for name in names if not name.rpartition("/")[2].startswith(_GPUS)]
    injected = {text(variable, "name") for variable in sequence(container, "env")} & _INJECTED
    privileged = mapping(container, "securityContext").get("privileged") is True
    return bool(others) or bool(injected) or privileged
