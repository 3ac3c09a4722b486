"""Fields of LeaderWorkerSet and DisaggregatedSet above the pod templates, with the release that brought the new ones.

Read in the CustomResourceDefinitions of v0.10.0; what came later as `lws §12` grades it. A field that some release
has is known here; whether the cluster's has it is another question.
"""

from __future__ import annotations

import textwrap
from typing import Final

_OF_METADATA: Final = """\
  name str
  generateName str
  namespace str
  labels{}
  annotations{}
  finalizers list
  ownerReferences list
  creationTimestamp str
"""

METADATA: Final = f"""
metadata
{_OF_METADATA}\
  deletionTimestamp str
  deletionGracePeriodSeconds int
  generation int
  managedFields list
  resourceVersion str
  selfLink str
  uid str
status{{}}
apiVersion str
kind str
"""
"""What every object has beside its spec."""

_TEMPLATE: Final = f"""\
metadata
{_OF_METADATA}spec{{}}
"""

_SET: Final = f"""\
replicas int 0..1000000
leaderWorkerTemplate!
  leaderTemplate
{textwrap.indent(_TEMPLATE, "    ")}\
  workerTemplate!
{textwrap.indent(_TEMPLATE, "    ")}\
  size~ int 1..2147483647
  restartPolicy str
  subGroupPolicy
    subGroupPolicyType LeaderWorker|LeaderExcluded
    subGroupSize int
  volumeClaimTemplates list
  persistentVolumeClaimRetentionPolicy
    whenDeleted Retain|Delete
    whenScaled Retain|Delete
  maxGroupRestarts int 0.. @0.11
  restartBackoff{{}} @0.11
  podTerminationPolicy str @0.11
  placementPolicy{{}} @0.11
networkConfig
  subdomainPolicy Shared|UniquePerReplica
rolloutStrategy
  type RollingUpdate|
  rollingUpdateConfiguration
    maxSurge amount
    maxUnavailable amount
    partition int 0..
startupPolicy LeaderCreated|LeaderReady
groupIdentity str @0.11
groupReplacementPolicy str @0.11
scheduling{{}} @0.11
maxGroupRestarts int 0.. @0.11
restartBackoff{{}} @0.11
podTerminationPolicy str @0.11
placementPolicy{{}} @0.11
"""
"""Where `lws §12` does not say on which level a new field stands, both are known."""

SET: Final = f"spec!\n{textwrap.indent(_SET, '  ')}{METADATA.lstrip()}"

ROLES: Final = f"""\
spec!
  roles[]! 1..32
    name! str
    metadata
      name str
      namespace str
      labels{{}}
      annotations{{}}
      finalizers list
    scaling
      mode Static|External
    spec!
{textwrap.indent(_SET, "      ")}\
    subRoles list @0.11
    scalingPolicy{{}} @0.11
  slices int 1..100
  placementPolicy
    type None|ExclusiveSlice|ExclusiveTopology
    topology str
  scalingPolicy{{}} @0.11
  rolloutStrategy{{}} @0.11
{METADATA.lstrip()}"""

OF_PODS: Final = frozenset(
    {
        "affinity",
        "containers",
        "hostIPC",
        "hostNetwork",
        "imagePullSecrets",
        "initContainers",
        "nodeSelector",
        "priorityClassName",
        "resourceClaims",
        "runtimeClassName",
        "schedulerName",
        "securityContext",
        "serviceAccountName",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    }
)
"""Fields of a pod spec that are written one level too high."""
