"""What the user wrote for a place in a document, and what the plan has said of it before any document was judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gangform.findings import Code, Path
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan

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


_PEERS: Final = ("clients", "scrapers")
"""Fields of `network`, in the order of the policy's rules behind the first, which is for the groups themselves."""


_TEMPLATES = ("template", "leaderTemplate", "workerTemplate")


def extension_of(plan: ServingPlan, path: Path) -> Path | None:
    """The field of the inputs whose content the plan took over as it was: a pod's, or a peer of the network."""
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
