"""Weights and pod fields of a set, as a serving says them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from gangform.adopt.subject import Subject, Unread
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text
from gangform.documents.secrets import HIDDEN
from gangform.inputs.spelling import flow
from gangform.plan.pods import SHARED_MEMORY, is_reserved
from gangform.plan.weights import CACHE

_HUB_TOKEN = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_HUB_HOME = "/root/.cache/huggingface"
"""Where the hub's client keeps downloads, where no `HF_HOME` says otherwise."""
_KEPT_CACHES = frozenset({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
"""Variables that win over `HF_HOME`."""


class Mounts:
    """The volumes of a set and where its engine mounts them, taken away one by one as inputs say them."""

    def __init__(self, subject: Subject) -> None:
        """Begin with all of them."""
        self.volumes = {
            text(one, "name"): one
            for one in sequence(subject.spec, "volumes")
            if isinstance(one, Mapping)
        }
        self.mounts = [
            one for one in sequence(subject.container, "volumeMounts") if isinstance(one, Mapping)
        ]

    def of(self, path: str) -> Manifest | None:
        """The mount that holds a path: the longest one above it."""
        above = [
            one
            for one in self.mounts
            if f"{path}/".startswith(text(one, "mountPath").rstrip("/") + "/")
            and text(one, "mountPath")
        ]
        return max(above, key=lambda one: len(text(one, "mountPath")), default=None)

    def take(self, mount: Manifest) -> Manifest:
        """The volume behind a mount; both are done with."""
        self.mounts = [one for one in self.mounts if one is not mount]
        name = text(mount, "name")
        if any(text(one, "name") == name for one in self.mounts):
            return self.volumes.get(name, {})
        return self.volumes.pop(name, {})


def weights(subject: Subject, mounts: Mounts) -> tuple[dict[str, Any], list[Unread]]:
    """Where the engine reads the model from."""
    reference = subject.translation.model if subject.translation else ""
    if not reference.startswith("/"):
        return _from_hub(subject, mounts, reference)
    mount = mounts.of(reference)
    if mount is None:
        why = "no volume of the pod holds the model: it is in the image, or comes otherwise"
        return {}, [Unread(subject.at("volumes"), reference, why)]
    below = text(mount, "mountPath").rstrip("/")
    inside = "/".join(
        part for part in (text(mount, "subPath"), reference[len(below) :].strip("/")) if part
    )
    volume = mounts.take(mount)
    claim = text(volume, "persistentVolumeClaim", "claimName")
    folder = text(volume, "hostPath", "path")
    if claim:
        return {"source": "claim", "claim": claim, **({"path": inside} if inside else {})}, []
    if folder:
        whole = "/".join([folder.rstrip("/"), *([inside] if inside else [])])
        return {"source": "nodePath", "path": whole}, []
    mounts.mounts.append(mount)
    mounts.volumes[text(mount, "name")] = volume
    why = "weights come from a claim, a folder of the node, or the hub"
    return {}, [Unread(subject.at("volumes"), cast(Node, volume), why)]


def _from_hub(
    subject: Subject, mounts: Mounts, reference: str
) -> tuple[dict[str, Any], list[Unread]]:
    """Weights that every pod downloads, onto a claim of its own where the set has one."""
    found: dict[str, Any] = {}
    for variable in sequence(subject.container, "env"):
        secret = mapping(variable, "valueFrom", "secretKeyRef")
        if text(variable, "name") in _HUB_TOKEN and text(secret, "name"):
            found["token"] = {"name": text(secret, "name"), "key": text(secret, "key") or "token"}
    claims = subject.group.part("leaderWorkerTemplate", "volumeClaimTemplates")
    for template in claims if isinstance(claims, (list, tuple)) else ():
        mount = next(
            (
                one
                for one in mounts.mounts
                if text(one, "name") == text(template, "metadata", "name")
            ),
            None,
        )
        if mount is None or found.get("source"):
            continue
        mounts.take(mount)
        found["source"] = "perPod"
        spec = mapping(template, "spec")
        if text(spec, "storageClassName"):
            found["storageClass"] = text(spec, "storageClassName")
        if size := dig(spec, "resources", "requests", "storage"):
            found["size"] = str(size)
    if not reference:
        return {}, []
    return ({"source": "hub", **found} if found else {}), []


def lost_downloads(subject: Subject, mounts: Mounts) -> Iterator[str]:
    """What is to be said where the set keeps the hub's downloads on a volume: ours go to a folder of each pod."""
    env = {text(one, "name"): text(one, "value") for one in sequence(subject.container, "env")}
    words = [*sequence(subject.container, "args"), *sequence(subject.container, "command")]
    if env.keys() & _KEPT_CACHES or any("--download-dir" in str(word) for word in words):
        return  # Ours keeps these as they are.
    hub = f"{env.get('HF_HOME') or _HUB_HOME}/hub"
    mount = mounts.of(hub)
    volume = mounts.volumes.get(text(mount, "name"), {}) if mount else {}
    if mount is None or not volume or "emptyDir" in volume:
        return
    claim = text(volume, "persistentVolumeClaim", "claimName")
    below = text(mount, "mountPath").rstrip("/")
    yield (
        f"attention: the set keeps its downloads on {f'claim {claim}' if claim else 'volume ' + text(volume, 'name')}, "
        f"mounted at {below}; here HF_HOME is {CACHE}, empty in every new pod, so each downloads the model again"
    )
    model = subject.translation.model if subject.translation else ""
    if claim and "/" in model and "$" not in model:
        inside = [text(mount, "subPath").strip("/"), hub[len(below) :].strip("/")]
        inside += [f"models--{model.replace('/', '--')}", "snapshots", "REVISION"]
        path = "/".join(part for part in inside if part)
        yield f"to read them: `weights: {{source: claim, claim: {claim}, path: {path}}}` with the revision put in"


def pods(subject: Subject, mounts: Mounts) -> dict[str, Any]:
    """Everything that `pods` takes over as it is, before what gangform writes anyway is taken out again."""
    spec, container = subject.spec, subject.container
    made: dict[str, Any] = {}
    shared = mounts.of(SHARED_MEMORY)
    resources = _resources(container)
    if shared is not None and text(shared, "mountPath").rstrip("/") == SHARED_MEMORY:
        volume = mounts.take(shared)
        if limit := dig(volume, "emptyDir", "sizeLimit"):
            resources["sharedMemory"] = str(limit)
    secrets = [text(one, "name") for one in sequence(spec, "imagePullSecrets") if text(one, "name")]
    account = text(spec, "serviceAccountName")
    context = dict(mapping(container, "securityContext"))
    others = [one for at, one in enumerate(sequence(spec, "containers")) if at != subject.place]
    made |= {
        "resources": resources,
        "imagePullSecrets": secrets,
        "serviceAccountName": "" if account == "default" else account,
        "securityContext": dict(mapping(spec, "securityContext")),
        "containerSecurityContext": context,
        "hostNetwork": dig(spec, "hostNetwork") is True,
        "initContainers": list(sequence(spec, "initContainers")),
        "sidecars": others,
        "tolerations": list(sequence(spec, "tolerations")),
        "nodeSelector": dict(mapping(spec, "nodeSelector")),
        "affinity": dict(mapping(spec, "affinity")),
        "labels": _kept(subject, "labels"),
        "annotations": _kept(subject, "annotations"),
        "env": [one for one in sequence(container, "env") if HIDDEN not in text(one, "value")],
        "volumes": list(mounts.volumes.values()),
        "volumeMounts": mounts.mounts,
        "priorityClassName": text(spec, "priorityClassName"),
    }
    return {key: value for key, value in made.items() if value}


def hidden(subject: Subject) -> Iterator[Unread]:
    """Secrets of the pods that stand in plain text."""
    why = "a secret in plain text: put it into a Secret, and name that"
    for key in ("initContainers", "containers"):
        for number, container in enumerate(sequence(subject.spec, key)):
            at = f"{subject.at(key)}[{number}]"
            for one in sequence(container, "env"):
                if HIDDEN in text(one, "value"):
                    yield Unread(f"{at}.env[{text(one, 'name')}]", HIDDEN, why)
            for word in ("command", "args"):
                if any(HIDDEN in str(each) for each in sequence(container, word)):
                    yield Unread(f"{at}.{word}", HIDDEN, why)


def _resources(container: Manifest) -> dict[str, str]:
    """Requests that an input says; limits stand in where no request is written."""
    asked = {
        **mapping(container, "resources", "limits"),
        **mapping(container, "resources", "requests"),
    }
    keys = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeralStorage"}
    return {key: str(asked[name]) for name, key in keys.items() if name in asked}


def _kept(subject: Subject, key: str) -> dict[str, str]:
    """Labels or annotations of both templates that are neither a controller's nor the plan's."""
    sides = _written(subject, key)
    return {
        name: value
        for name, value in sides[0].items()
        if isinstance(value, str)
        and not is_reserved(name)
        and all(side.get(name) == value for side in sides)
    }


def apart(subject: Subject) -> Iterator[Unread]:
    """Labels and annotations that leader and workers do not share: an input writes them on both."""
    for key in ("labels", "annotations"):
        sides = _written(subject, key)
        for name in dict.fromkeys(name for side in sides for name in side):
            values = [side.get(name) for side in sides]
            if is_reserved(name) or all(one == values[0] for one in values):
                continue
            leader, worker = ("none" if one is None else flow(one) for one in values)
            why = f"leader: {leader}, workers: {worker}; pods.{key} are those of both"
            at = ".".join([*map(str, subject.group.leader.path), "metadata", key])
            yield Unread(f"{at}[{name}]", "", why)


def _written(subject: Subject, key: str) -> list[Manifest]:
    """Labels or annotations as written in the templates of leader and workers."""
    manifest = subject.group.document.manifest
    return [mapping(manifest, *one.path, "metadata", key) for one in subject.group.pods]
