"""Pod specs: what the API server writes into them, and what a pod asks for.

A template of a built-in kind is defaulted in full. A template inside a custom resource gets only the defaults of its
CRD (`observability §4.4`): the rest appears on the pods, not on the object. Neither is given what the server writes
into pods alone: requests from limits, `enableServiceLinks`, host ports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from gangform.apis.places import Fills, fill, spell
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text
from gangform.findings import Path
from gangform.units import UnitError, quantity

_IMAGE: Final = re.compile(
    r"^(?:(?:localhost|[\w-]*[.:][\w.:-]*)/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[a-z0-9+._-]+:[0-9a-fA-F]{32,})?\Z",
    re.ASCII,
)
DEVICE_ANNOTATIONS: Final = (
    "k8s.v1.cni.cncf.io/",
    "v1.multus-cni.io/",
    "networking.gke.io/",
    "cdi.k8s.io/",
)
"""Beginnings of annotations by which a pod gets further network devices (`engines §8.3`)."""
_LISTS: Final = ("containers", "initContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = (*_PROBES, "lifecycle.postStart", "lifecycle.preStop")


def _in_containers(*fills: tuple[str, Node]) -> Fills:
    return Fills(*((f"{name}[].{path}", value) for name in _LISTS for path, value in fills))


_SHARED = Fills(
    *_in_containers(
        ("ports[].protocol", "TCP"),
        ("env[].valueFrom.fileKeyRef.optional", False),
        *((f"{probe}.grpc.service", "") for probe in _PROBES),
    ),
)
"""Default both of the CRDs and of the server."""

_NAMES = Fills(
    *_in_containers(
        ("env[].valueFrom.configMapKeyRef.name", ""),
        ("env[].valueFrom.secretKeyRef.name", ""),
        ("envFrom[].configMapRef.name", ""),
        ("envFrom[].secretRef.name", ""),
    ),
    ("imagePullSecrets[].name", ""),
    ("volumes[].cephfs.secretRef.name", ""),
    ("volumes[].cinder.secretRef.name", ""),
    ("volumes[].configMap.name", ""),
    ("volumes[].csi.nodePublishSecretRef.name", ""),
    ("volumes[].flexVolume.secretRef.name", ""),
    ("volumes[].iscsi.iscsiInterface", "default"),
    ("volumes[].iscsi.secretRef.name", ""),
    ("volumes[].projected.sources[].configMap.name", ""),
    ("volumes[].projected.sources[].secret.name", ""),
    ("volumes[].rbd.keyring", "/etc/ceph/keyring"),
    ("volumes[].rbd.pool", "rbd"),
    ("volumes[].rbd.secretRef.name", ""),
    ("volumes[].rbd.user", "admin"),
    ("volumes[].scaleIO.fsType", "xfs"),
    ("volumes[].scaleIO.secretRef.name", ""),
    ("volumes[].scaleIO.storageMode", "ThinProvisioned"),
    ("volumes[].storageos.secretRef.name", ""),
    ("volumes[].azureDisk.fsType", "ext4"),
    ("volumes[].azureDisk.readOnly", False),
)
"""Further defaults of pod templates in the CRD of LeaderWorkerSet (v0.10.0)."""

_TYPED = Fills(
    *_in_containers(
        ("env[].valueFrom.resourceFieldRef.divisor", "0"),
        ("resources", {}),
    ),
    ("volumes[].downwardAPI.items[].resourceFieldRef.divisor", "0"),
    ("volumes[].projected.sources[].downwardAPI.items[].resourceFieldRef.divisor", "0"),
    ("volumes[].ephemeral.volumeClaimTemplate.spec.resources", {}),
)
"""Written wherever typed Go code writes the object again: structs without a value are spelled out."""

_CORE = Fills(
    *_in_containers(
        *(
            (f"{probe}.{key}", value)
            for probe in _PROBES
            for key, value in (
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            )
        ),
        *(
            (f"{handler}.httpGet.{key}", value)
            for handler in _HANDLERS
            for key, value in (
                ("path", "/"),
                ("scheme", "HTTP"),
            )
        ),
        ("env[].valueFrom.fieldRef.apiVersion", "v1"),
        ("terminationMessagePath", "/dev/termination-log"),
        ("terminationMessagePolicy", "File"),
    ),
    ("volumes[].secret.defaultMode", 0o644),
    ("volumes[].configMap.defaultMode", 0o644),
    ("volumes[].downwardAPI.defaultMode", 0o644),
    ("volumes[].downwardAPI.items[].fieldRef.apiVersion", "v1"),
    ("volumes[].projected.defaultMode", 0o644),
    ("volumes[].projected.sources[].serviceAccountToken.expirationSeconds", 3600),
    ("volumes[].projected.sources[].downwardAPI.items[].fieldRef.apiVersion", "v1"),
    ("volumes[].hostPath.type", ""),
    ("volumes[].ephemeral.volumeClaimTemplate.spec.volumeMode", "Filesystem"),
    ("restartPolicy", "Always"),
    ("terminationGracePeriodSeconds", 30),
    ("dnsPolicy", "ClusterFirst"),
    ("securityContext", {}),
    ("schedulerName", "default-scheduler"),
)
"""What the server writes into every pod template of its own kinds (Kubernetes 1.36)."""

_QUANTITIES: Final = (
    *(
        f"{name}[].{path}"
        for name in _LISTS
        for path in (
            "resources.limits{}",
            "resources.requests{}",
            "env[].valueFrom.resourceFieldRef.divisor",
        )
    ),
    "resources.limits{}",
    "resources.requests{}",
    "overhead{}",
    "volumes[].emptyDir.sizeLimit",
    "volumes[].downwardAPI.items[].resourceFieldRef.divisor",
    "volumes[].projected.sources[].downwardAPI.items[].resourceFieldRef.divisor",
    "volumes[].ephemeral.volumeClaimTemplate.spec.resources.limits{}",
    "volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests{}",
)


def complete_embedded(spec: dict[str, Any], *, typed: bool) -> None:
    """Write the defaults of a pod spec inside a custom resource into it.

    Args:
        spec: The pod spec; changed in place.
        typed: Whether a webhook of the kind writes the whole object again (LeaderWorkerSet: yes).
    """
    fill(spec, _SHARED)
    fill(spec, _NAMES)
    if typed:
        fill(spec, _TYPED)
    spell(spec, _QUANTITIES)


def complete_core(spec: dict[str, Any]) -> None:
    """Write the defaults of a pod spec inside a built-in kind into it, in place."""
    for volume in spec.get("volumes") or ():
        if isinstance(volume, dict) and volume.keys() == {"name"}:
            volume["emptyDir"] = {}
        image = volume.get("image") if isinstance(volume, dict) else None
        if isinstance(image, dict) and "pullPolicy" not in image:
            image["pullPolicy"] = pull_policy(text(image, "reference"))
    fill(spec, _SHARED)
    fill(spec, _CORE)
    for name in _LISTS:
        for container in spec.get(name) or ():
            if isinstance(container, dict) and "imagePullPolicy" not in container:
                container["imagePullPolicy"] = pull_policy(text(container, "image"))
    fill(spec, _TYPED)
    account = spec.get("serviceAccountName")
    if isinstance(account, str) and account:
        spec["serviceAccount"] = account
    spell(spec, _QUANTITIES)


def is_image(image: str) -> bool:
    """Whether a text is the name of an image: a lower-case repository, then a tag, a digest or both."""
    return bool(_IMAGE.match(image))


def pull_policy(image: str) -> str:
    """`Always` for the tag `latest` and for no tag at all, else `IfNotPresent`; a digest counts as a tag."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def requests(spec: Manifest) -> dict[str, Fraction]:
    """What one pod counts for, by resource: the most that it ever holds at once, plus overhead (`kueue §7`).

    Restartable init containers (sidecars) run beside the containers and beside the init containers after them. A
    missing request is the limit, as on the pod; requests of the pod as a whole win over the containers' sum.
    """
    running: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in sequence(spec, "initContainers"):
        asked = _asked(mapping(container, "resources"))
        if text(container, "restartPolicy") == "Always":
            _add(running, asked)
            _raise(peak, running)
        else:
            _raise(peak, {name: value + running.get(name, 0) for name, value in asked.items()})
    for container in sequence(spec, "containers"):
        _add(running, _asked(mapping(container, "resources")))
    _raise(peak, running)
    for name, value in _amounts(mapping(spec, "resources", "limits")).items():
        peak.setdefault(name, value)
    peak.update(_amounts(mapping(spec, "resources", "requests")))
    _add(peak, _amounts(mapping(spec, "overhead")))
    return peak


def _asked(resources: Manifest) -> dict[str, Fraction]:
    return {
        **_amounts(mapping(resources, "limits")),
        **_amounts(mapping(resources, "requests")),
    }


def _amounts(resources: Manifest) -> dict[str, Fraction]:
    found = {}
    for name, value in resources.items():
        if (amount := amount_of(value)) is not None:
            found[name] = amount
    return found


def amount_of(value: Node | None) -> Fraction | None:
    """The value of a quantity as written, text or number; `None` for what is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    try:
        return quantity(str(value))
    except UnitError:
        return None


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def _raise(total: dict[str, Fraction], least: Mapping[str, Fraction]) -> None:
    for name, value in least.items():
        total[name] = max(total.get(name, value), value)


def needs(spec: Node) -> Iterator[tuple[Path, str, str]]:
    """The objects of its namespace that a pod cannot start without: path, kind and name; empty names included."""
    account = text(spec, "serviceAccountName")
    if account != "default":
        yield ("serviceAccountName",), "ServiceAccount", account
    for index, secret in enumerate(sequence(spec, "imagePullSecrets")):
        yield ("imagePullSecrets", index, "name"), "Secret", text(secret, "name")
    for index, volume in enumerate(sequence(spec, "volumes")):
        path: Path = ("volumes", index)
        claim = text(volume, "persistentVolumeClaim", "claimName")
        yield (*path, "persistentVolumeClaim", "claimName"), "PersistentVolumeClaim", claim
        if dig(volume, "configMap", "optional") is not True:
            yield (*path, "configMap", "name"), "ConfigMap", text(volume, "configMap", "name")
        if dig(volume, "secret", "optional") is not True:
            yield (*path, "secret", "secretName"), "Secret", text(volume, "secret", "secretName")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(sequence(spec, kind)):
            yield from _environment((kind, index), container)


def _environment(path: Path, container: Node) -> Iterator[tuple[Path, str, str]]:
    sources = (("configMap", "ConfigMap"), ("secret", "Secret"))
    for index, variable in enumerate(sequence(container, "env")):
        for word, kind in sources:
            ref = dig(variable, "valueFrom", f"{word}KeyRef")
            if dig(ref, "optional") is not True:
                at = (*path, "env", index, "valueFrom", f"{word}KeyRef", "name")
                yield at, kind, text(ref, "name")
    for index, source in enumerate(sequence(container, "envFrom")):
        for word, kind in sources:
            ref = dig(source, f"{word}Ref")
            if dig(ref, "optional") is not True:
                yield (*path, "envFrom", index, f"{word}Ref", "name"), kind, text(ref, "name")
