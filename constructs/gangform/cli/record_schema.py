"""The JSON Schema of what `gangform plan -o json` prints: `gangform schema plan`.

A key that is not required is left out where it does not apply. Keys are added in later releases and never renamed or
dropped, so a reader skips what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Value(NamedTuple):
    """A single value: its JSON type, and what it means where its key does not say it."""

    type: str
    doc: str = ""


class Each(NamedTuple):
    """A list of things that are alike, or with `by` a map of them and what its keys are."""

    inside: Any
    by: str = ""


TEXT, WHOLE, BOOLEAN = Value("string"), Value("integer"), Value("boolean")

_STAGE = {
    "layers": WHOLE,
    "weightsBytes": WHOLE,
    "weights?": {
        "expertsBytes": WHOLE,
        "cutBytes": Value("integer", "what tensor ranks share"),
        "wholeBytes": Value("integer", "what each of them keeps"),
        "tablesBytes": Value("integer", "embedding and output head"),
    },
    "overheadBytes": WHOLE,
    "cacheBytesPerToken": WHOLE,
    "cacheFixedBytes": Value("integer", "what one request keeps however long it is"),
    "cachePagedBytes": Value("integer", "the same where every kind of layer takes whole pages"),
    "availableBytes": Value("integer", "what is left for the cache on one GPU"),
    "tokens?": Value("integer", "left out where a request keeps something however long it is"),
}
_WAY = {
    "kind": Value("string", "weights, pipeline or hardware"),
    "change": Value("string", "what to do, in words"),
    "gpus": Value("integer", "GPUs of a group then"),
    "verdict": TEXT,
    "weightsBytes": WHOLE,
    "availableBytes": WHOLE,
    "requests": Value("string", "a decimal"),
}
_MEMORY = {
    "verdict": Value("string", "fits, tight, does not fit or unknown"),
    "measured": Value("boolean", "the cache comes from the engine's log, not from the arithmetic"),
    "fixedBy?": Value("string", "the argument of the engine that says how large the cache is"),
    "source": Value("string", "where overhead and error band come from"),
    "visibleBytes": Value("integer", "memory of one GPU as the driver shows it"),
    "utilization": Value("string", "share of it that the engine may use, a decimal"),
    "shareBytes": Value("integer", "visible memory x utilization"),
    "heapBytes": Value("integer", "what is taken outside the share"),
    "overheadBytes": WHOLE,
    "overheadParts": Each({"name": TEXT, "bytes": WHOLE, "source": TEXT}),
    "bandBytes": Value("integer", "error of the overhead, to both sides"),
    "shortBytes": Value("integer", "what one request at the context lacks; negative: what is left"),
    "context": Value("integer", "tokens of one request, as declared"),
    "tokens?": Value("integer", "tokens that one data-parallel rank holds; left out as in stages"),
    "requests": Value("string", "requests at the context that a group holds, a decimal"),
    "requestsAtMost": Value("string", "the same if no page is wasted, a decimal"),
    "longestContext": Value("integer", "tokens that one request alone may have"),
    "stages": Each(_STAGE),
    "waysOut": Each(_WAY),
}
_STARTUP = {
    "basis": Value("string", "how the read bandwidth is known: declared, measured or assumed"),
    "readBytes": Value("integer", "what one pod reads"),
    "readFrom": Value("string", "where from"),
    "downloadSeconds": WHOLE,
    "bandwidthBytesPerSecond": WHOLE,
    "loadSeconds": WHOLE,
    "warmUpSeconds": Value("integer", "weights loaded to ready"),
    "warmUpMeasured": BOOLEAN,
    "coldStartSeconds": Value("integer", "from a pod's start until it serves"),
    "restartSeconds": Value("integer", "the same where nothing has to be downloaded again"),
    "worstSeconds": WHOLE,
    "budgetSeconds": Value("integer", "what the startup probe allows"),
}
_SHAPE = {
    "tensor": WHOLE,
    "pipeline": WHOLE,
    "data": WHOLE,
    "prefillContext": WHOLE,
    "decodeContext": WHOLE,
    "expertParallel": BOOLEAN,
}
_CANDIDATE = {
    **_SHAPE,
    "gpusPerGroup": WHOLE,
    "podsPerGroup": WHOLE,
    "verdict?": TEXT,
    "requests?": TEXT,
    "shortBytes?": WHOLE,
    "lost?": Value("string", "in which respect it lost"),
    "why?": Value("string", "the same with its figures"),
}
_SEARCH = {
    "preference": TEXT,
    "chosen?": _SHAPE,
    "declared?": _CANDIDATE,
    "leftOut": Each({"what": Value("string", "what is never chosen"), "why": TEXT}),
    "unsearchable?": Value("string", "why no shape was looked at"),
    "considered": Each(_CANDIDATE),
}
_QUALIFIED = {
    "date": TEXT,
    "holds": Value("boolean", "nothing that is declared differs from what was measured"),
    "differences": Each({"what": TEXT, "measured": TEXT, "declared": TEXT}),
    "notCompared": Each(TEXT),
    "tokensPerSecond?": Value("integer", "of one group, as measured"),
    "highestTokensPerSecond?": Value("integer", "of all groups at the most"),
}
_UPDATE = {
    "playedGroups": Value(
        "integer", "groups that it is played with; under an autoscaler the fewest"
    ),
    "notPlayed?": Value("string", "why it is not played through"),
    "lackingGroups": Value("integer", "surge groups that find no place"),
    "waysOut": Each(
        {
            "name": TEXT,
            "what": TEXT,
            "gpus": Value("integer", "GPUs beyond those of the pool"),
            "servingGroups": WHOLE,
            "durationSeconds": WHOLE,
        }
    ),
    "ends?": BOOLEAN,
    "endSeconds?": WHOLE,
    "order?": Each(Value("integer", "index of a group, in the order in which they are updated")),
    "leaderAlone?": {
        "mixed": Value("integer", "groups that would answer with two revisions"),
        "hollow": Value("integer", "groups that would answer before their workers are there"),
    },
    "stall?": {
        "cause": Value("string", "strategy, room or admission"),
        "groups": Each(WHOLE),
        "heldGpus": WHOLE,
        "shortGpus": WHOLE,
    },
    "timeline?": Each(
        {
            "atSeconds": WHOLE,
            "groups": WHOLE,
            "serving": WHOLE,
            "overlapping": Value("integer", "groups whose pods are of two revisions"),
            "mixed": Value("integer", "those of them that answer"),
            "boundGpus": WHOLE,
            "requestedGpus": WHOLE,
        }
    ),
}
_CAPACITY = {
    "servingGpus": WHOLE,
    "burstGpus": Value("integer", "more at an autoscaler's maximum"),
    "rolloutGpus": Value("integer", "of one group that is rolled"),
    "hasGpus?": WHOLE,
    "losses": Each(
        {
            "level": TEXT,
            "domain": Each(TEXT),
            "groups": WHOLE,
            "gpus": WHOLE,
            "floorGpus": Value("integer", "serving + the larger of the loss and one rolled group"),
            "additiveGpus": Value("integer", "serving + both"),
            "chosen": BOOLEAN,
        }
    ),
}
_DOMAIN = {
    "at": Each(Value("string", "a label value, coarse to fine")),
    "nodes": WHOLE,
    "filled": WHOLE,
    "free": WHOLE,
    "groups": Each(
        {
            "workload": TEXT,
            "kind": Value("string", "wanted, surge or spare"),
            "first": WHOLE,
            "count": WHOLE,
        }
    ),
}
_SERVING = {
    "name": TEXT,
    "namespace": TEXT,
    "model": TEXT,
    "pool": TEXT,
    "form": {"kind": TEXT, "reason": TEXT},
    "workloads": Each({"name": TEXT, "stage": Value("integer", "its turn in a rollout")}),
    "shape": {
        **_SHAPE,
        "gpusPerPod": WHOLE,
        "podsPerGroup": WHOLE,
        "gpusPerGroup": WHOLE,
    },
    "search?": _SEARCH,
    "groups": {"lowest": WHOLE, "highest": WHOLE, "spare": WHOLE},
    "hardware": {
        "name": TEXT,
        "notVerified": Each(Value("string", "a field of the profile that nobody has verified")),
    },
    "memory": _MEMORY,
    "startup": _STARTUP,
    "qualified?": _QUALIFIED,
    "rollout": {
        "maxSurge": WHOLE,
        "maxUnavailable": WHOLE,
        "partition": WHOLE,
        "peakGroups": WHOLE,
        "peakGpus": WHOLE,
        "floorGroups": Value("integer", "groups that keep serving at least"),
        "durationSeconds": WHOLE,
        "reason": TEXT,
    },
    "update": _UPDATE,
    "disruption": {
        "drain": Value("string", "what draining a node does, in words"),
        "nodeAutoscaler": Value(
            "string", "what the node autoscaler will do, in one sentence; empty where there is none"
        ),
        "unstopped": Value("string", "what no budget stops, in words"),
        "releasable": Value("integer", "groups that may be without a budget at once"),
        "budgets": Each({"name": TEXT, "minAvailable?": WHOLE, "maxUnavailable?": WHOLE}),
    },
    "admission": {"backend": TEXT, "queue?": TEXT, "placement?": {"level": TEXT, "mode": TEXT}},
    "autoscaling?": {
        "lowest": WHOLE,
        "highest": WHOLE,
        "kind": Value("string", "of the object: HorizontalPodAutoscaler or ScaledObject"),
        "type": Value("string", "External: the sum over all groups; Pods: the average of leaders"),
        "metric": TEXT,
        "target": Value("integer", "the metric's value a group"),
    },
    "requests": Each(Value("string", "a Kubernetes quantity"), by="resource of one pod"),
    "remarks": Each(TEXT),
}
_POOL = {
    "pool": TEXT,
    "nodes?": Value("integer", "nodes that it has; left out where nobody said"),
    "needed": Value("integer", "nodes that the wanted groups fill"),
    "peak": Value("integer", "nodes with every surge and spare group"),
    "packings": Each(
        {
            "workload": TEXT,
            "level?": Value("string", "the level in whose domains a group lies whole"),
            "wanted": WHOLE,
            "extra": Value("integer", "surge and spare groups"),
            "placed": WHOLE,
            "mostInOne": Value("integer", "groups that the loss of one domain takes at worst"),
        }
    ),
    "capacity": _CAPACITY,
    "domains": Each(_DOMAIN),
}
_FINDING = {
    "code": TEXT,
    "severity": Value("string", "error, warning or note"),
    "what": TEXT,
    "fix": TEXT,
    "file?": TEXT,
    "line?": WHOLE,
    "column?": WHOLE,
    "path?": Value("string", "in the file, or in the object"),
    "object?": Value("string", "Kind/namespace/name"),
    "seen?": Each(TEXT, by="value that the rule looked at"),
}
PLAN: Mapping[str, Any] = {
    "version": Value("integer", "of this form; 1"),
    "clusters": Each(
        {
            "name": TEXT,
            "defaults": Value("integer", "the edition"),
            "foundation": TEXT,
            "versions": Each(TEXT, by="controller or server whose release is declared"),
            "servings": Each(_SERVING),
            "quota": Each(Each(TEXT, by="resource"), by="pool"),
            "pools": Each(_POOL),
            "prerequisites": Each({"what": TEXT, "check": TEXT, "without": TEXT}),
        }
    ),
    "findings": Each(_FINDING),
}
"""The whole. Figures of a rollout are those of one workload."""


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12)."""
    head = {"$schema": _DRAFT, "title": "gangform plan"}
    return {**head, "description": " ".join((__doc__ or "").split()), **_schema(PLAN)}


def _schema(node: Any) -> dict[str, Any]:
    if isinstance(node, Value):
        return {"type": node.type, **({"description": node.doc} if node.doc else {})}
    if isinstance(node, Each):
        if not node.by:
            return {"type": "array", "items": _schema(node.inside)}
        keys = {"description": node.by}
        return {
            "type": "object",
            "propertyNames": keys,
            "additionalProperties": _schema(node.inside),
        }
    return {
        "type": "object",
        "properties": {key.removesuffix("?"): _schema(inside) for key, inside in node.items()},
        "required": [key for key in node if not key.endswith("?")],
    }
