"""What gangform would write for a serving anyway, compared with the set: inputs that only repeat it are left out.

The serving is planned twice: bare, to see which of the set's values have to be said, and whole, to see what still
differs. What is planned may be wrong in many ways that `validate` says later; here only the documents count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gangform.adopt.subject import Subject
from gangform.apis.core import complete
from gangform.apis.forms import GroupView
from gangform.apis.keys import KUBECTL
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.bundle import bundle
from gangform.documents.changes import changes, same, spelled
from gangform.documents.document import Document, Key, Manifest, Node, dig, mapping, sequence, text
from gangform.findings import Path
from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.plan.serving import plan_serving

_LISTS = {
    "tolerations": ("tolerations",),
    "env": ("containers", 0, "env"),
    "volumes": ("volumes",),
    "volumeMounts": ("containers", 0, "volumeMounts"),
}
"""Lists of `pods` that follow our own entries in the pod spec."""
_MAPS: Mapping[str, tuple[str | int, ...]] = {
    "nodeSelector": ("nodeSelector",),
    "securityContext": ("securityContext",),
    "containerSecurityContext": ("containers", 0, "securityContext"),
}
_OWN_METADATA = ("labels", "annotations")
IN_ORDER = "the same in another order"
"""What stands on both sides of a list whose entries moved."""
_EITHER = re.compile(r"\b(?:leader|worker)Template\b")


class Difference(NamedTuple):
    """A field in which the set differs from what gangform writes."""

    path: str
    live: Node | None
    ours: Node | None


class Made(NamedTuple):
    """What gangform writes for a serving."""

    workload: Document
    """The set; the first one where each group is a set of its own."""
    documents: Mapping[Key, Document]
    """Every object."""

    @property
    def group(self) -> GroupView:
        """The set as its controller reads it."""
        return Documents([self.workload]).groups()[0]


def made_of(
    serving: Mapping[str, Any], cluster: Cluster, library: Library, model: str, reference: str
) -> Made | None:
    """What gangform writes for a serving; `None` where the inputs are none.

    Args:
        serving: As written in YAML.
        cluster: Where it runs.
        library: What names refer to.
        model: The profile that it names; one that does not exist is stood in for.
        reference: What the engine loads.
    """
    value = dict(serving)
    if model not in library.models:
        value["model"] = _stand_in(model, reference)
    try:
        made = Serving.model_validate(value, by_alias=True, by_name=False)
    except ValueError:
        return None
    plan = plan_serving(made, cluster=cluster, library=library)._replace(findings=())
    kinds = {one.form.kind for one in plan.workloads}
    documents = bundle(plan).documents
    first = next(one for one in documents if one.kind in kinds)
    return Made(first, {one.key: one for one in documents})


def _stand_in(name: str, reference: str) -> ModelProfile:
    """A profile with no figures that matter here."""
    by_hub = "$" not in reference and reference[:1] not in ("", "/")
    written = {
        "name": name,
        "weights": "bf16",
        "checkpoint": "1Gi",
        "contextLimit": 2**31 - 1,
        "measured": {"weightsPerGpu": "1Gi", "kvBytesPerToken": 1},
    }
    for repository in (reference, f"x/{name}") if by_hub else (f"x/{name}",):
        try:
            return ModelProfile.model_validate(
                {**written, "repository": repository}, by_alias=True, by_name=False
            )
        except ValueError:
            continue  # What a command line calls a model may be no id at all.
    raise AssertionError(name)


def needed(asked: Mapping[str, Any], ours: Document, path: Path) -> dict[str, Any]:
    """What of the fields of `pods` gangform does not write by itself. `path`: the leader's template in our set."""
    template = mapping(ours.manifest, *path)
    spec = mapping(template, "spec")
    made: dict[str, Any] = {}
    for key, value in asked.items():
        if key in _LISTS:
            value = _without(value, sequence(spec, *_LISTS[key]))
        elif key in _MAPS:
            own = mapping(spec, *_MAPS[key])
            value = {k: v for k, v in value.items() if k not in own or not same(own[k], v)}
        elif key in _OWN_METADATA:
            own = mapping(template, "metadata", key)
            value = {k: v for k, v in value.items() if own.get(k) != v}
        elif key == "resources":
            value = dict(_amounts(value, spec))
        elif key == "serviceAccountName" and value == text(spec, "serviceAccountName"):
            value = ""
        if value:
            made[key] = value
    return made


def _without(theirs: Sequence[Any], ours: Sequence[Node]) -> list[Any]:
    """Entries that ours do not hold under the same name, or whole: what we name, we decide."""
    names = {text(one, "name") for one in ours if text(one, "name")}
    return [
        one
        for one in theirs
        if text(one, "name") not in names and not any(same(one, other) for other in ours)
    ]


def _amounts(asked: Mapping[str, str], spec: Manifest) -> Iterator[tuple[str, str]]:
    requests = mapping(spec, "containers", 0, "resources", "requests")
    shared = dig(spec, "volumes", 0, "emptyDir", "sizeLimit")
    ours = {
        "cpu": requests.get("cpu"),
        "memory": requests.get("memory"),
        "ephemeralStorage": requests.get("ephemeral-storage"),
        "sharedMemory": shared,
    }
    for key, amount in asked.items():
        if amount_of(amount) != amount_of(ours.get(key)):
            yield key, amount


def differences(subject: Subject, made: Made) -> list[Difference]:
    """Every field of the set, and of what lies beside it, that gangform would write otherwise."""
    found = _between(subject.group.document, made.workload)
    if made.workload.kind != subject.group.kind:
        found = [Difference("kind", subject.group.kind, made.workload.kind)]
    for document in subject.beside:
        ours = made.documents.get(document.key)
        if ours is not None and document.key != made.workload.key:
            found += [
                one._replace(path=f"{document.key} {one.path}") for one in _between(document, ours)
            ]
    return found


def _between(theirs: Document, ours: Document) -> list[Difference]:
    """Every field of an object that gangform would write otherwise, server defaults aside."""
    live = complete(_bare(theirs.manifest))
    made = complete(_bare(ours.manifest))
    found: dict[str, Difference] = {}
    for one in changes(live, made):
        if one.path[:2] == ("metadata", "labels") and one.way == "added":
            continue  # restarts nothing, and is on every object of ours
        where = spelled(one.path, live if one.way == "removed" else made)
        each = Difference(where, one.before, one.after)
        if one.way == "reordered":
            each = each._replace(live=IN_ORDER, ours=IN_ORDER)
        # Leader and workers mostly differ alike: said once.
        both = _EITHER.sub("*Template", each.path)
        twin = found.get(both)
        if twin is not None and each._replace(path="") == twin._replace(path=""):
            found[both] = each._replace(path=both)
        elif twin is not None:
            found[each.path] = each
        else:
            found[both] = each
    return list(found.values())


def _bare(manifest: Manifest) -> dict[str, Node]:
    """Spec, labels and annotations: what its author wrote."""
    metadata = mapping(manifest, "metadata")
    kept: dict[str, Node] = {
        key: {
            name: value
            for name, value in mapping(metadata, key).items()
            if not name.startswith(KUBECTL)
        }
        for key in _OWN_METADATA
    }
    head: dict[str, Node] = {
        "apiVersion": manifest.get("apiVersion", ""),
        "kind": manifest.get("kind", ""),
    }
    names: dict[str, Node] = {
        key: metadata[key] for key in ("name", "namespace") if key in metadata
    }
    return {**head, "metadata": {**names, **kept}, "spec": mapping(manifest, "spec")}
