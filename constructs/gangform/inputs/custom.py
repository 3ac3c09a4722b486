"""The reasons that input models give themselves, as codes: what each means, and what to write instead.

The types of `PydanticCustomError` in the input models are these ids, one to one; a test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gangform.apis.kinds import GROUPS
from gangform.findings import CODES, Code, Path, Severity, declare, either
from gangform.inputs.amounts import memory
from gangform.inputs.base import in_camel_case
from gangform.inputs.defaults import EDITION_UNKNOWN
from gangform.inputs.fields import UNITS, Spot, words
from gangform.inputs.nearest import nearest, plain
from gangform.units import Bytes


def _refused(id: str, title: str, source: str) -> Code:
    return declare(id, title, Severity.BREAKS, source)


_ALL = (
    EDITION_UNKNOWN,
    _refused("unit-missing", "A bare number where the unit decides what it means", "design §3"),
    _refused("not-a-quantity", "A text that is no quantity of the field's unit", "design §3"),
    _refused("name-reserved", "A serving called like the chart of the cluster", "design §4 GitOps"),
    _refused("duration-too-long", "A duration that no field of Kubernetes holds", "cases r18"),
    _refused("bandwidth-zero", "A read bandwidth of nothing", "cases r18"),
    _refused("path-refused", "A folder that cannot hold weights", "core/v1: validation of volumes"),
    _refused("model-id-invalid", "A text that names no model", "huggingface_hub: repository ids"),
    _refused(
        "resource-not-extended",
        "A resource that no device plugin can offer",
        "core/v1: IsExtendedResourceName",
    ),
    _refused("resource-twice", "GPUs and fabric under one resource", "design §3 HardwareShape"),
    _refused("name-invalid", "A name or label key that Kubernetes refuses", "lws §13"),
    _refused(
        "version-unquoted", "A version without quotes, which YAML reads as a number", "design §3"
    ),
    _refused("version-invalid", "A text that is no version", "design §3"),
    _refused("percent-of-groups", "A percentage where whole groups are counted", "lab summary 4"),
    _refused(
        "restart-policy-word",
        "A restart policy that drifts or that no release has",
        "design §4 Workload",
    ),
    _refused(
        "metric-name-invalid",
        "A metric's name that Prometheus does not take",
        "observability §3.2; Prometheus: data model",
    ),
    _refused(
        "series-label-invalid",
        "A label of a series that Prometheus does not take",
        "observability §3.2; Prometheus: data model",
    ),
    _refused(
        "text-not-one-line", "A text that is empty or not one printable line", "design §3 Serving"
    ),
    _refused("url-invalid", "A runbook address that no link can have", "design §4 Monitoring"),
    _refused(
        "text-expands",
        "A text in an argument that the kubelet takes for a variable",
        "core/v1: Container.args",
    ),
    _refused(
        "quantity-zero", "An amount of nothing where leaving it out is meant", "design §3 Serving"
    ),
    _refused("levels-too-many", "More levels than a topology may have", "kueue §1.2"),
    _refused(
        "levels-order",
        "Topology levels that repeat, or a host level that is not last",
        "design §3 Cluster",
    ),
    _refused("autoscaling-bounds", "A maximum below the minimum", "design §4 Autoscaling"),
    _refused("groups-or-autoscaling", "Groups counted twice, or not at all", "design §3 Serving"),
    _refused(
        "weights-incomplete",
        "A source of weights without the field that it needs",
        "design §3 Serving",
    ),
    _refused(
        "weights-contradict",
        "A field that the source of weights has no use for",
        "design §3 Serving",
    ),
    _refused("patch-form", "A patch with both forms, or with none", "design §3 patches"),
    _refused(
        "object-reference",
        "A text that names no object of a kind that rules know",
        "design §6: lint",
    ),
    _refused(
        "attention-incomplete", "An attention without the figures of its kind", "engines §6.1"
    ),
    _refused(
        "layers-exceeded",
        "More layers with a cache or with experts than the model has",
        "engines §5.1",
    ),
    _refused(
        "model-undescribed",
        "A model without an architecture or measured figures",
        "design §3 ModelProfile",
    ),
)
CUSTOM: Mapping[str, Code] = {code.id: code for code in _ALL}
"""By the type of the error, which is the id of the code."""

assert all(CODES[id] is code for id, code in CUSTOM.items())


def words_of(
    kind: str, text: str, path: Path, context: Mapping[str, Any], value: Any
) -> tuple[str, str, Path]:
    """What is wrong, the fix if it needs no more than the context, and the path of the field that is meant."""
    name = in_camel_case(str(context.get("name", "")))
    if kind == "version-unquoted":
        read = getattr(value, "read_as", value)
        written = context["written"]
        what = f"the version {written} without quotes is a number to YAML"
        what += f", which reads it as {read}" if str(read) != str(written) else ""
        return what, "", path
    if kind == "weights-incomplete":
        what = f"source {context['source']} needs `{name}`"
        return what, f"write `{name}: …` under `weights`, or another source", path
    if kind == "weights-contradict":
        what = f"source {context['source']} has no use for `{name}`"
        return what, f"remove `{name}`, or name the source that uses it", (*path, name)
    if kind == "attention-incomplete":
        missing = [in_camel_case(word) for word in str(context["missing"]).split(" and ")]
        listed = either([f"`{word}`" for word in missing], "and")
        what = f"attention of kind {context['kind']} needs {listed}"
        return what, f"write {listed} from the model's config.json", path
    if kind == "levels-order":
        return (
            text,
            f"name each level once, coarse to fine, and {context['host']} last or not at all",
            path,
        )
    if kind == "autoscaling-bounds":
        fix = f"raise `max` to {context['min']} or more, or lower `min` to {context['max']}"
        return text, fix, (*path, "max")
    if kind == "groups-or-autoscaling":
        if str(context["which"]).startswith("neither"):
            return text, "write `groups: 2`", path
        return text, "remove `groups`, or remove `autoscaling`", path
    if kind == "patch-form":
        return text, "write `merge: {…}` or `json: [{op: …}]`, and only one of them", path
    if kind == "resource-twice":
        fix = "write the fabric's resource, such as rdma/ib, or leave it out"
        return text, fix, (*path, "rdma", "resource")
    if kind == "path-refused":
        return (
            text,
            "write an absolute path without `..`, such as /mnt/models/deepseek-r1",
            (*path, "path"),
        )
    if kind == EDITION_UNKNOWN.id:
        return text, str(context["fix"]), path
    if kind == "layers-exceeded":
        fix = "count each kind of layer once, or write `fullLayers` where layers keep several kinds of cache"
        return text, fix, path
    if kind == "model-undescribed":
        fix = "describe the `architecture`, or write `measured: {weightsPerGpu: …, kvBytesPerToken: …}`"
        return text, fix, path
    return text, "", path


def fix_of(kind: str, name: str, value: Any, context: Mapping[str, Any], here: Spot | None) -> str:
    """What to write at a field called `name` instead of `value`."""
    example = here.example if here else ""
    if kind == "not-a-quantity" and here and UNITS[Bytes] in words(here.annotation):
        converted = memory(plain(value))
        if converted:
            return f'write `{name}: "{converted}"`'
    if kind == "version-unquoted":
        return f'write `{name}: "{context["written"]}"` with quotes'
    if kind == "version-invalid":
        good = example or '"0.10"'
        return f"write `{name}: {good}`: two or three numbers with dots, in quotes"
    if kind == "percent-of-groups":
        return f"write a whole number of groups: `{name}: 1`"
    if kind == "restart-policy-word":
        return "write `RecreateGroupAfterStart`, or remove the line to have it derived"
    if kind == "metric-name-invalid":
        name_of = re.sub(r"[^a-zA-Z0-9_:]+", "_", plain(value)).strip("_").lstrip("0123456789")
        return f"write `{name_of or 'queue_length'}`, as the adapter serves it"
    if kind == "series-label-invalid":
        return "write the label as the series has it: dots, slashes and dashes are underscores"
    if kind == "text-not-one-line":
        return f"write a text for `{name}`, or remove the line"
    if kind == "url-invalid":
        return "write an address such as https://runbooks.example.com/serving, or remove the line"
    if kind == "text-expands":
        return "write it without `$(`, or remove the line"
    if kind == "quantity-zero":
        return f"write an amount above 0 for `{name}`, or remove the line to have it derived"
    if kind == "levels-too-many":
        return f"name the {context['limit']} levels that matter, coarse to fine"
    if kind == "duration-too-long":
        return f"write what it takes, such as `{name}: 45m`"
    if kind == "model-id-invalid":
        return f"write the id on the hub: `{name}: {example or 'deepseek-ai/DeepSeek-R1'}`"
    if kind == "resource-not-extended":
        return f"write what the device plugin calls it, such as `{name}: nvidia.com/gpu`"
    if kind == "bandwidth-zero":
        return "write what a pod reads, such as 2GiB/s, or leave it out"
    if kind == "object-reference":
        return _object_form(str(context["kind"]), int(context["places"]))
    if kind == "name-reserved":
        return "call the serving after its model"
    if kind == "name-invalid":
        allowed = re.sub(r"[^a-z0-9]+", "-", plain(value).lower()).lstrip("-0123456789").rstrip("-")
        return f"write `{allowed[:40].strip('-') or example or 'my-name'}`"
    return f"write `{name}: {example}`" if example else "write the amount with its unit"


def _object_form(kind: str, places: int) -> str:
    if kind not in GROUPS:
        near = nearest(kind, GROUPS)
        return f"did you mean `{near[0]}/…`?" if near else "write Kind/namespace/name"
    return f"write `{kind}/namespace/name`" if places > 1 else f"write `{kind}/name`"
