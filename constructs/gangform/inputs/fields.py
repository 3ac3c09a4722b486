"""What the input models declare, asked by YAML path: for messages about inputs, for `explain` and for schemas.

Only types are read here, never values, and nothing on the path of a bundle imports this module.
"""

import types
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from gangform.apis.keys import HOSTNAME, ZONE
from gangform.inputs.base import LabelKey, Name, ObjectName
from gangform.inputs.cluster import Cluster, Fleet
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.inputs.texts import Version
from gangform.units import Bytes, BytesPerSecond, Millicores, Seconds

UNITS: Mapping[type, str] = {
    Bytes: "amount of memory",
    Millicores: "amount of CPU",
    Seconds: "duration",
    BytesPerSecond: "bandwidth",
}
ROOTS: Mapping[str, Any] = {
    "cluster": Cluster,
    "clusters": tuple[Cluster, ...],
    "servings": tuple[Serving, ...],
    "models": dict[str, ModelProfile],
    "hardware": dict[str, HardwareShape],
}
"""The first part of a path that is no plain field of the fleet."""

_NAMED: tuple[tuple[Any, str], ...] = (
    (Name, "name (lower-case letters, digits and dashes)"),
    (ObjectName, "object name (lower-case letters, digits, dashes and dots)"),
    (LabelKey, "label key"),
    (Version, "version in quotes"),
)
# What a good value looks like where the type alone does not say; by `Model.field`.
_EXAMPLES: Mapping[str, str] = {
    "Admission.backend": "kueue",
    "Attention.heads": "64",
    "Autoscaling.max": "4",
    "Autoscaling.min": "1",
    "Architecture.attention": "{kind: gqa, heads: 64, kvHeads: 8, headDim: 128}",
    "Architecture.compressed": "[{layers: 21, ratio: 4}]",
    "Architecture.hidden": "7168",
    "Architecture.indexer": "{layers: 21}",
    "Architecture.layers": "61",
    "Architecture.states": '[{layers: 45, size: "4268032"}]',
    "Architecture.vocabulary": "129280",
    "Architecture.windows": "[{layers: 18, tokens: 128}]",
    "Cluster.name": "prod-a",
    "Cluster.pools": "{h100: {hardware: h100-8x}}",
    "Cluster.versions": '{kubernetes: "1.36", lws: "0.10"}',
    "Compressed.layers": "21",
    "Compressed.ratio": "4",
    "DashboardInput.labels": '{grafana_dashboard: "1"}',
    "DashboardInput.namespace": "monitoring",
    "Domain.at": "[rack-1]",
    "Engine.heap": "16Gi",
    "Engine.overhead": "{activation: 3Gi}",
    "Engine.version": '"0.32.0"',
    "Experts.active": "8",
    "Experts.routed": "256",
    "Experts.width": "2048",
    "Fleet.clusters": "[{name: prod-a, …}]",
    "Fleet.servings": "[{name: deepseek-r1, …}]",
    "Fleet.version": "1",
    "Gpu.count": "8",
    "Gpu.product": "NVIDIA-H100-80GB-HBM3",
    "Gpu.visibleMemory": '"79.18Gi"',
    "HardwareShape.cpu": '"160"',
    "HardwareShape.gpu": '{product: NVIDIA-H100-80GB-HBM3, count: 8, visibleMemory: "79.18Gi"}',
    "HardwareShape.memory": '"1650Gi"',
    "HardwareShape.name": "h100-8x",
    "Indexer.layers": "21",
    "Installed.kubernetes": '"1.36"',
    "Measured.kvBytesPerToken": "70272",
    "ModelProfile.checkpoint": '"688.6G"',
    "ModelProfile.contextLimit": "131072",
    "ModelProfile.name": "deepseek-r1",
    "ModelProfile.repository": "deepseek-ai/DeepSeek-R1",
    "Network.clients": "[{namespaceSelector: {matchLabels: {…}}}]",
    "Network.scrapers": "[{namespaceSelector: {matchLabels: {…}}}]",
    "Objectives.share": "0.95",
    "Objectives.timeToFirstToken": "2.5s",
    "Overhead.activation": "3Gi",
    "Overhead.communication": "2200Mi",
    "Overhead.graphs": "1Gi",
    "Patch.kind": "Service",
    "Pool.domains": "[{at: [rack-1], nodes: 4}]",
    "Pool.hardware": "h100-8x",
    "Pool.levels": f"[{ZONE}, {HOSTNAME}]",
    "Qualified.date": '"2026-11-02"',
    "Qualified.engine": '"0.32.0"',
    "Secret.name": "hub-token",
    "Serving.admission": "{backend: kueue, queue: serving}",
    "Serving.context": "32768",
    "Serving.engine": '{name: vllm, version: "0.32.0"}',
    "Serving.model": "deepseek-r1",
    "Serving.name": "deepseek-r1",
    "Serving.namespace": "llm",
    "Serving.parallelism": "{tensor: 8, pipeline: 2}",
    "Serving.patches": "[{kind: Service, merge: {…}}]",
    "Serving.pool": "h100",
    "State.layers": "45",
    "State.size": '"4268032"',
    "Taint.key": "nvidia.com/gpu",
    "TensorClass.size": '"653.9G"',
    "Tensors.experts": '{size: "653.9G"}',
    "TopologyRequest.level": ZONE,
    "Window.layers": "18",
    "Window.tokens": "128",
}


class Spot(NamedTuple):
    """A type at a path, and the field it belongs to (`None` for an entry of a list or a map)."""

    annotation: Any
    owner: type[BaseModel] | None = None
    field: FieldInfo | None = None
    name: str = ""

    def steps(self, part: str | int) -> Iterator["Spot"]:
        """The types one part further in: one for each branch of a union that has it."""
        for branch in branches(self.annotation):
            origin, inner = get_origin(branch), get_args(branch)
            if is_model(branch) and isinstance(part, str):
                for alias, name, field in fields_of(branch):
                    if alias == part:
                        yield Spot(annotation_of(field), branch, field, name)
            elif origin is tuple and isinstance(part, int):
                yield Spot(inner[0])
            elif origin is dict:
                yield Spot(inner[1])

    @property
    def models(self) -> tuple[type[BaseModel], ...]:
        """The models that an object here may be."""
        return tuple(branch for branch in branches(self.annotation) if is_model(branch))

    @property
    def example(self) -> str:
        """A good value, as YAML; empty where the type has none."""
        if self.owner is not None and self.field is not None:
            key = f"{self.owner.__name__}.{alias_of(self.name, self.field)}"
            if key in _EXAMPLES:
                return _EXAMPLES[key]
        return next((text for text in map(_example, branches(self.annotation)) if text), "")


def spot(root: Any, path: tuple[str | int, ...]) -> Spot | None:
    """What stands at a path under a type; `None` where nothing is declared."""
    here = [Spot(root)]
    for part in path:
        here = [further for one in here for further in one.steps(part)]
    return here[0] if here else None


def is_model(annotation: Any) -> bool:
    """Whether a type is an input model."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def fields_of(model: type[BaseModel]) -> Iterator[tuple[str, str, FieldInfo]]:
    """Key in YAML, name in Python and declaration of each field."""
    for name, field in model.model_fields.items():
        yield alias_of(name, field), name, field


def alias_of(name: str, field: FieldInfo) -> str:
    """The key in YAML."""
    return field.alias or name


def annotation_of(field: FieldInfo) -> Any:
    """The type with its constraints, which pydantic keeps apart."""
    annotation: Any = field.annotation
    for item in field.metadata:
        annotation = Annotated[annotation, item]
    return annotation


def branches(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, `None` left out; constraints around a union are dropped."""
    bare = _bare(annotation)
    if get_origin(bare) in (Union, types.UnionType):
        members = (member for member in get_args(bare) if member is not type(None))
        return tuple(branch for member in members for branch in branches(member))
    return (bare,) if get_origin(bare) is not None or is_model(bare) else (annotation,)


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def words(annotation: Any) -> str:
    """A type as people say it: `whole number, at least 1`, `text or object (ModelProfile)`."""
    return " or ".join(dict.fromkeys(map(_words, branches(annotation))))


def _words(branch: Any) -> str:
    constraints = get_args(branch)[1:] if get_origin(branch) is Annotated else ()
    for alias, text in _NAMED:
        if set(get_args(alias)[1:]) & set(constraints):
            return text
    bare = _bare(branch)
    origin, inner = get_origin(bare), get_args(bare)
    if origin is Literal:
        return ("one of " if len(inner) > 1 else "") + ", ".join(map(spelled, inner))
    if origin is tuple:
        return f"list of {words(inner[0])}"
    if bare is JsonValue:
        return "anything"
    if origin is dict:
        if inner == (str, JsonValue):
            return "piece of a Kubernetes object"
        return f"map of {words(inner[0])} to {words(inner[1])}"
    if is_model(bare):
        return f"object ({bare.__name__})"
    if bare in UNITS:
        return f"{UNITS[bare]} such as {bare.example}"
    plain = {str: "text", int: "whole number", bool: "true or false", Decimal: "number"}
    return plain.get(bare, str(bare)) + _bounds(constraints)


def spelled(word: Any) -> str:
    """A word of a closed set as the file has to spell it: `on` without quotes is a boolean to YAML 1.1."""
    text = str(word)
    return f'"{text}"' if text in ("on", "off", "yes", "no", "y", "n") else text


def _bounds(constraints: tuple[Any, ...]) -> str:
    text = ""
    for item in constraints:
        for part in getattr(item, "metadata", None) or (item,):
            for name, word in (
                ("gt", "above"),
                ("ge", "at least"),
                ("lt", "below"),
                ("le", "at most"),
            ):
                bound = getattr(part, name, None)
                if bound is not None:
                    text += f", {word} {bound}"
    return text


def _spots(model: type[BaseModel]) -> Iterator[Spot]:
    for _, name, field in fields_of(model):
        yield Spot(annotation_of(field), model, field, name)


def _example(branch: Any) -> str:
    bare = _bare(branch)
    origin, inner = get_origin(bare), get_args(bare)
    if origin is Literal:
        return spelled(inner[0])
    if bare in UNITS:
        return str(bare.example)
    if origin is tuple:
        inside = Spot(inner[0]).example
        return f"[{inside}]" if inside else ""
    if is_model(bare):
        wanted = [
            f"{alias_of(spot.name, spot.field)}: {spot.example or '…'}"
            for spot in _spots(bare)
            if spot.field and spot.field.is_required()
        ]
        if not wanted:
            first = next((spot for spot in _spots(bare) if spot.example), None)
            wanted = (
                [f"{alias_of(first.name, first.field)}: {first.example}"]
                if first and first.field
                else []
            )
        return "{" + ", ".join(wanted) + "}"
    constraints = get_args(branch)[1:] if get_origin(branch) is Annotated else ()
    if set(get_args(Version)[1:]) & set(constraints):
        return '"0.10"'
    if set(get_args(LabelKey)[1:]) & set(constraints):
        return ZONE
    return {int: "1", bool: "true", Decimal: "0.9"}.get(bare, "")


def root_of(kind: str) -> Any:
    """The type of the first part of a path: a kind of input, or a field of the fleet itself."""
    if kind in ROOTS:
        return ROOTS[kind]
    found = spot(Fleet, (kind,))
    return found.annotation if found else None
