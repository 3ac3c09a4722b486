"""Argo CD: in which wave each kind comes, and which sync options its objects want.

Waves are comfort, not necessity: a set whose queue is missing waits. Whatever belongs to a workload comes with it or
before it, never after, since a wave ends only when its objects are healthy (`observability §4.2`, `design §4` GitOps).
"""

from __future__ import annotations

from collections.abc import Mapping

from gangform.apis.keys import SYNC_OPTIONS, SYNC_WAVE

WAVES: Mapping[str, int] = {
    "WorkloadPriorityClass": -3,
    "Topology": -2,
    "ResourceFlavor": -2,
    "HyperNode": -2,
    "ClusterQueue": -1,
    "LocalQueue": -1,
    "Queue": -1,
    "ServiceAccount": -1,
    "LeaderWorkerSet": 1,
    "Deployment": 1,
    "HorizontalPodAutoscaler": 1,
    "ScaledObject": 1,
}
"""Wave by kind; every other kind is in wave 0, before the workloads."""

_CUSTOM = frozenset(
    {
        "ClusterQueue",
        "HyperNode",
        "LeaderWorkerSet",
        "LocalQueue",
        "PodGroup",
        "PodMonitor",
        "PrometheusRule",
        "Queue",
        "ResourceFlavor",
        "ScaledObject",
        "Topology",
        "WorkloadPriorityClass",
    }
)
_KEEP = frozenset({"LeaderWorkerSet", "Deployment"})


def wave(kind: str) -> int:
    """The wave of a kind."""
    return WAVES.get(kind, 0)


def marks(kind: str, position: int) -> dict[str, str]:
    """Annotations of an object: sync wave and sync options.

    A kind whose CRD another application installs skips the dry run while it is missing, else the sync fails before
    anything is applied. A workload is pruned and deleted only after somebody confirmed it: a rename is a deletion of
    all groups (`observability §4.3`).
    """
    options = ["SkipDryRunOnMissingResource=true"] if kind in _CUSTOM else []
    if kind in _KEEP:
        options += ["Prune=confirm", "Delete=confirm"]
    made = {SYNC_OPTIONS: ",".join(options)} if options else {}
    return {**made, SYNC_WAVE: str(position)}


HEALTH_KEY = "resource.customizations.health.leaderworkerset.x-k8s.io_LeaderWorkerSet"
"""Key of the health check in the ConfigMap `argocd-cm`."""

HEALTH_CHECK = """\
local status = obj.status or {}
local want = (obj.spec or {}).replicas or 1
local ready = status.readyReplicas or 0
local function is(kind)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == kind then return condition.status == "True" end
  end
  return false
end
if obj.status == nil or (status.observedGeneration or obj.metadata.generation) < obj.metadata.generation then
  return {status = "Progressing", message = "the controller has not read this spec"}
end
if is("Degraded") then return {status = "Degraded", message = "a group is no longer rebuilt"} end
if want == 0 then return {status = "Healthy", message = "scaled to no group"} end
if is("UpdateInProgress") or not is("Available") then
  return {status = "Progressing", message = ready .. " of " .. want .. " groups ready"}
end
return {status = "Healthy", message = ready .. " of " .. want .. " groups ready"}"""
"""Without a check Argo CD counts a set as healthy at once, and the next wave starts while groups still load. Lua of the
base library only; a scaled-down set is healthy, since Suspended would hold a sync for ever (`observability §4.1`)."""
