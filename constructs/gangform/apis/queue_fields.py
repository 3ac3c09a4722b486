"""Fields of Kueue's objects, as the CustomResourceDefinitions of v0.19.2 have them in both of their versions."""

from __future__ import annotations

from typing import Final

from gangform.apis.set_fields import METADATA

_GROUPS: Final = """\
  resourceGroups[] 0..16
    coveredResources! list 1..64
    flavors[]! 1..64
      name! str
      resources[]! 1..64
        name! str
        nominalQuota! amount
        borrowingLimit amount
        lendingLimit amount
"""
_SELECTOR: Final = """\
  namespaceSelector
    matchLabels{}
    matchExpressions list
"""
_QUEUE: Final = (
    _GROUPS
    + _SELECTOR
    + """\
  preemption
    borrowWithinCohort
      maxPriorityThreshold int
      policy Never|LowerPriority
    reclaimWithinCohort Never|LowerPriority|Any
    withinClusterQueue Never|LowerPriority|LowerOrNewerEqualPriority
  queueingStrategy StrictFIFO|BestEffortFIFO
  stopPolicy None|Hold|HoldAndDrain
  fairSharing
    weight amount
  admissionScope
    admissionMode! str
  admissionChecksStrategy
    admissionChecks[] 0..64
      name! str
      onFlavors list
  flavorFungibility
    preference BorrowingOverPreemption|PreemptionOverBorrowing
"""
)
_NOW: Final = "MayStopSearch|TryNextFlavor"

CLUSTER_QUEUE: Final = f"""\
spec
{_QUEUE}\
    whenCanBorrow {_NOW}
    whenCanPreempt {_NOW}
  cohortName str
  concurrentAdmissionPolicy{{}} @0.19
{METADATA.lstrip()}"""
CLUSTER_QUEUE_BETA_1: Final = f"""\
spec
{_QUEUE}\
    whenCanBorrow {_NOW}|Borrow
    whenCanPreempt {_NOW}|Preempt
  cohort str
  admissionChecks list
{METADATA.lstrip()}"""
COHORT: Final = f"""\
spec
  parentName str
{_GROUPS}\
  fairSharing
    weight amount
{METADATA.lstrip()}"""
LOCAL_QUEUE: Final = f"""\
spec~
  clusterQueue~ str
  stopPolicy None|Hold|HoldAndDrain
  fairSharing
    weight amount
{METADATA.lstrip()}"""
FLAVOR: Final = f"""\
spec
  nodeLabels{{}}
  nodeTaints[] 0..8
    key! str
    effect! NoSchedule|PreferNoSchedule|NoExecute
    value str
    timeAdded str
  tolerations[] 0..8
    key str
    operator str
    value str
    effect NoSchedule|PreferNoSchedule|NoExecute|
    tolerationSeconds int
  topologyName str
{METADATA.lstrip()}"""
TOPOLOGY: Final = f"""\
spec!
  levels[]! 0..
    nodeLabel! str
{METADATA.lstrip()}"""
PRIORITY_CLASS: Final = f"""\
value! int
description str
{METADATA.lstrip()}"""
CHECK: Final = f"""\
spec!
  controllerName! str
  retryDelayMinutes int
  parameters
    apiGroup! str
    kind! str
    name! str
{METADATA.lstrip()}"""
