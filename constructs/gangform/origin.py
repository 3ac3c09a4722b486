"""What the user wrote for a place in a document, and what the plan has said of it before any document was judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gangform.findings import Code, Path
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.signals.alerts import alerts
from gangform.signals.groups import SIGNAL_LOST

REPEATS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "surge-dips-under-queue": frozenset({"surge-dips-below-floor"}),
        "rollout-stops-all-groups": frozenset({"surge-does-not-happen", "rollout-stops-serving"}),
        "leader-ready-remark": frozenset({"leader-ready-opens-budget", "gang-reduced-to-leader"}),
    }
)
"""Rules by code, with the codes by which the plan says the same at the input. A plan's finding is the better one: it
knows the reason, and stands where the user wrote it."""


def said_by_plan(code: Code, plan: ServingPlan | ClusterPlan) -> bool:
    """Whether a rule repeats what the plan of this serving says."""
    said = REPEATS.get(code.id, frozenset())
    return isinstance(plan, ServingPlan) and any(one.code.id in said for one in plan.findings)


_QUERIES: Final = {"waiting": "metric", "buffer": "bufferQuery"}
"""Triggers by name, with the field of `autoscaling` that may say what they ask for."""
_PEERS: Final = ("clients", "scrapers")
"""Fields of `network`, in the order of the policy's rules behind the first, which is for the groups themselves."""


def _asked(plan: ServingPlan, path: Path) -> Path | None:
    """The field with what an autoscaler asks for, as it stands in the autoscaler and in the alert of no answer."""
    asked, scaling = plan.serving.autoscaling, plan.lead.scaling
    if asked is None or scaling is None:
        return None
    number = next((part for part in reversed(path) if isinstance(part, int)), -1)
    field = None
    if path[:2] == ("spec", "metrics"):
        field = "metric"
    elif scaling.keda is not None and path[:2] == ("spec", "triggers"):
        names = [trigger.name for trigger in scaling.keda.triggers]
        field = _QUERIES.get(names[number]) if 0 <= number < len(names) else None
    elif scaling.keda is not None and path[:2] == ("spec", "groups"):
        told = alerts(plan)
        if 0 <= number < len(told) and told[number].name == SIGNAL_LOST:
            field = "metric" if asked.min else "bufferQuery"
    given = asked.metric if field == "metric" else asked.buffer_query
    return None if field is None or given is None else (*plan.at, "autoscaling", field)


_TEMPLATES = ("template", "leaderTemplate", "workerTemplate")


def extension_of(plan: ServingPlan, path: Path) -> Path | None:
    """The field of the inputs whose content the plan took over as it was: a pod's, a peer of the network, a query."""
    if (query := _asked(plan, path)) is not None:
        return query
    for number, peers in enumerate(_PEERS, 1):
        if path[:4] == ("spec", "ingress", number, "from") and len(path) > 4:
            return (*plan.at, "network", peers, path[4])
    starts = [at for at, part in enumerate(path) if part in _TEMPLATES]
    if not starts or path[starts[0] + 1 : starts[0] + 2] != ("spec",):
        return None
    inner, pods = path[starts[0] + 2 :], plan.lead.pods
    extension, here = pods.extension, (*plan.at, "pods")
    # The user's entries of a list come after our own, of which there are so many.
    lists: Mapping[Path, tuple[str, int]] = {
        ("containers",): ("sidecars", 1),
        ("initContainers",): ("initContainers", 0),
        ("imagePullSecrets",): ("imagePullSecrets", 0),
        ("volumes",): ("volumes", len([one for one in pods.volumes if one.kind != "template"])),
        ("tolerations",): ("tolerations", len(pods.taints)),
        ("containers", 0, "env"): ("env", len(plan.lead.launch.leader.env)),
        ("containers", 0, "volumeMounts"): ("volumeMounts", len(pods.volumes)),
    }
    for place, (name, own) in lists.items():
        index = inner[len(place)] if len(inner) > len(place) else None
        if inner[: len(place)] == place and isinstance(index, int) and index >= own:
            return (*here, name, index - own)
    maps: Mapping[Path, tuple[str, object]] = {
        ("affinity",): ("affinity", extension.affinity),
        ("securityContext",): ("securityContext", extension.security_context),
        ("containers", 0, "securityContext"): (
            "containerSecurityContext",
            extension.container_security_context,
        ),
    }
    for place, (name, given) in maps.items():
        if inner[: len(place)] == place and given is not None:
            return (*here, name)
    return None
