"""What a pod fetches before it serves: packages that a start should not depend on, and models that need a volume."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import CORE, GPU
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.documents.document import (
    Document,
    Key,
    Manifest,
    dig,
    group_of,
    mapping,
    sequence,
    text,
)
from gangform.engines.shell import Command
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import Run, over_templates, read_runs, resources_of
from gangform.rules.rule import WORKLOADS, Context, Fault, rule
from gangform.rules.starts import billions

INSTALL = declare(
    "packages-installed-at-start",
    "Every start installs packages: pods of a group may differ, and none starts without the index",
    Severity.DEGRADES,
    "cases h24",
)
CACHE = declare(
    "cache-beside-volume",
    "The folder for downloads is on no volume, although one is mounted that nothing else uses",
    Severity.BREAKS,
    "cases r34; engines §6.3",
)
CACHE_LOST = declare(
    "cache-in-container",
    "A folder for downloads that was chosen by hand is on no volume: each restart downloads the model again",
    Severity.DEGRADES,
    "cases r34; engines §6.3",
)

SMALL = declare(
    "volume-smaller-than-model",
    "The volume that a model goes to is smaller than the model is at 4 bits a parameter",
    Severity.BREAKS,
    "peers §14; engines §6.3",
)

_INSTALLERS: Final = {
    "pip": ("install",),
    "pip3": ("install",),
    "uv": ("pip", "add", "sync"),
    "conda": ("install",),
    "mamba": ("install",),
    "apt-get": ("install",),
    "apt": ("install",),
    "apk": ("add",),
    "yum": ("install",),
    "dnf": ("install",),
    "microdnf": ("install",),
    "npm": ("install", "i", "ci"),
}
_OFFLINE: Final = frozenset({"--no-index", "--offline"})
_PYTHON: Final = re.compile(r"^python[0-9.]*$")
_HUB: Final = re.compile(r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
_CACHES: Final = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "TRANSFORMERS_CACHE")
"""Variables that say where the hub's files go; the first that is written counts (`huggingface_hub`)."""
_SHM: Final = "/dev/shm"
_HALF_BYTE: Final = Fraction(10**9, 2)
"""Bytes of a billion parameters at 4 bits."""
_BELOW: Final = re.compile(r"gguf|bit", re.IGNORECASE)
"""In names of checkpoints that may take less than 4 bits a parameter."""


@rule(INSTALL, kinds=WORKLOADS)
@over_templates
def packages_installed_at_start(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What a GPU container needs is in its image."""
    for run in read_runs(documents, pod):
        if run.init or GPU not in resources_of(run.container):
            continue
        begun = run.begun
        if begun is None or begun.script is None:
            continue
        found = next((one for one in begun.commands if _installs(one)), None)
        if found is not None:
            yield Fault(
                path=(*run.path, *begun.script),
                what=f"`{text(run.container, 'name')}` runs `{' '.join(found.words)[:60]}` at every start",
                fix="build an image with these packages",
                seen={"command": " ".join(found.words)},
            )


def _installs(command: Command) -> bool:
    words = command.words
    if _PYTHON.match(command.program) and words[1:2] == ("-m",):
        words = words[2:]
    verbs = _INSTALLERS.get(words[0].rpartition("/")[2] if words else "", ())
    verb = next((word for word in words[1:] if not word.startswith("-")), "")
    return verb in verbs and not _OFFLINE & set(words)


def _download(run: Run) -> tuple[str, str, Path] | None:
    """Variable and folder that a model of the hub is written to, with the place; `None` where nobody chose one."""
    if run.reading is None or not _HUB.match(run.reading.model) or run.reading.cache:
        return None
    if sequence(run.container, "envFrom"):
        return None
    for name in _CACHES:
        if name in run.reading.variables:
            return None
        for index, variable in enumerate(sequence(run.container, "env")):
            if text(variable, "name") == name:
                folder = text(variable, "value")
                literal = folder.startswith("/") and "$" not in folder
                return (name, folder, (*run.path, "env", index, "value")) if literal else None
    return None


def _on_volume(run: Run, folder: str) -> bool:
    places = (
        text(mount, "mountPath").rstrip("/") for mount in sequence(run.container, "volumeMounts")
    )
    inside = f"{folder.rstrip('/')}/"
    return any(inside.startswith(f"{place}/") for place in places)


def _unused(run: Run, pod: PodView) -> str:
    """A place where a volume can be written that nothing in the container speaks of; empty where there is none."""
    stores = {
        text(volume, "name")
        for volume in sequence(pod.spec, "volumes")
        if any(dig(volume, kind) is not None for kind in ("persistentVolumeClaim", "ephemeral"))
        or (dig(volume, "emptyDir") is not None and not text(volume, "emptyDir", "medium"))
        or dig(volume, "hostPath") is not None
    }
    words = [*sequence(run.container, "command"), *sequence(run.container, "args")]
    words += [text(variable, "value") for variable in sequence(run.container, "env")]
    for mount in sequence(run.container, "volumeMounts"):
        place = text(mount, "mountPath")
        named = any(isinstance(word, str) and place.rstrip("/") in word for word in words)
        writes = dig(mount, "readOnly") is not True and not text(mount, "subPath")
        if text(mount, "name") in stores and writes and not named and place.rstrip("/") != _SHM:
            return place
    return ""


def _least(run: Run) -> Fraction:
    """Bytes that the model takes at the least; 0 where its name does not say how large it is."""
    model = run.reading.model if run.reading is not None else ""
    size = None if _BELOW.search(model) else billions(model)
    return Fraction(0) if size is None else Fraction(size) * _HALF_BYTE


def _too_large(run: Run) -> bool:
    """Whether the model surely does not fit the container's limit of storage."""
    limit = amount_of(mapping(run.container, "resources", "limits").get("ephemeral-storage"))
    return limit is not None and _least(run) > limit


@rule(CACHE, kinds=WORKLOADS)
@over_templates
def cache_beside_volume(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A model is downloaded onto the volume that is there for it."""
    for run in read_runs(documents, pod):
        found = _download(run)
        if found is None or run.reading is None or _on_volume(run, found[1]):
            continue
        name, folder, path = found
        place = _unused(run, pod)
        if place or _too_large(run):
            yield Fault(
                path=path,
                what=f"{run.reading.model} is downloaded to {folder}, which is on no volume"
                + (
                    f"; the one at {place} stays empty"
                    if place
                    else " and exceeds the limit of storage"
                ),
                fix=f"write {name}: {place or '/cache'}" + ("" if place else ", on a volume"),
                seen={"folder": folder},
            )


@rule(CACHE_LOST, kinds=WORKLOADS)
@over_templates
def cache_in_container(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A chosen folder for downloads outlives its container."""
    for run in read_runs(documents, pod):
        found = _download(run)
        if found is None or run.reading is None or _on_volume(run, found[1]):
            continue
        if not _unused(run, pod) and not _too_large(run):
            yield Fault(
                path=found[2],
                what=f"{run.reading.model} is downloaded to {found[1]}, which is on no volume",
                fix="mount a volume there",
                seen={"folder": found[1]},
            )


def _folder(run: Run) -> str:
    """Where the model lies or is downloaded to; empty where one cannot tell."""
    if run.reading is None:
        return ""
    if run.reading.model.startswith("/") and "$" not in run.reading.model:
        return run.reading.model
    found = _download(run)
    return found[1] if found is not None else ""


def _volume(run: Run, pod: PodView, folder: str) -> tuple[int, Manifest] | None:
    """The volume behind a folder, with its place."""
    inside = f"{folder.rstrip('/')}/"
    mounts = [
        mount
        for mount in sequence(run.container, "volumeMounts")
        if inside.startswith(f"{text(mount, 'mountPath').rstrip('/')}/")
    ]
    if not mounts:
        return None
    nearest = max(mounts, key=lambda mount: len(text(mount, "mountPath")))
    for index, volume in enumerate(sequence(pod.spec, "volumes")):
        if text(volume, "name") == text(nearest, "name") and isinstance(volume, Mapping):
            return index, volume
    return None


def _sizes(
    volume: Manifest, pod: PodView, path: Path, documents: Documents
) -> Iterator[tuple[Path, str, Document | None]]:
    """What a volume holds, where that is written."""
    limit = text(volume, "emptyDir", "sizeLimit")
    if limit:
        yield (*path, "emptyDir", "sizeLimit"), limit, None
    asks: Path = ("spec", "resources", "requests", "storage")
    inline = text(volume, "ephemeral", "volumeClaimTemplate", *map(str, asks))
    if inline:
        yield (*path, "ephemeral", "volumeClaimTemplate", *asks), inline, None
    name = text(volume, "persistentVolumeClaim", "claimName")
    key = Key(group_of(CORE), "PersistentVolumeClaim", pod.document.key.namespace, name)
    claim = documents.get(key) if name else None
    if claim is not None:
        yield asks, text(claim.manifest, *map(str, asks)), claim


@rule(SMALL, kinds=WORKLOADS)
@over_templates
def volume_smaller_than_model(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A volume holds the model that is meant for it."""
    for run in read_runs(documents, pod):
        least = _least(run)
        found = _volume(run, pod, folder) if (folder := _folder(run)) else None
        if not least or found is None or run.reading is None:
            continue
        path: Path = (*pod.path, "spec", "volumes", found[0])
        for at, written, claim in _sizes(found[1], pod, path, documents):
            held = amount_of(written)
            if held is not None and held < least:
                yield Fault(
                    path=at,
                    what=f"the volume holds {written}; {run.reading.model} is at least {int(least / 2**30)}Gi",
                    fix=f"write {-(-4 * int(least) // 2**30)}Gi for 2 bytes a parameter, or what the checkpoint takes",
                    seen={"holds": written},
                    on=claim,
                )
