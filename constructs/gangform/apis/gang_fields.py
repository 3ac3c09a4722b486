"""Fields of Volcano's objects (v1.15.1), of NVIDIA's ComputeDomain (v0.4.1) and of InferencePool (v1.6.0)."""

from __future__ import annotations

from typing import Final

from gangform.apis.set_fields import METADATA

_TOPOLOGY: Final = """\
  networkTopology
    mode hard|soft
    highestTierAllowed int 0..
    highestTierName str
"""

POD_GROUP: Final = f"""\
spec
  minMember~ int 0..
  minTaskMember{{}}
  minResources{{}}
  queue str
  priorityClassName str
{_TOPOLOGY}\
  subGroupPolicy[]
    name str
    labelSelector{{}}
    matchLabelKeys list
    minSubGroups int 0..
    subGroupSize int 1..
    networkTopology
      mode hard|soft
      highestTierAllowed int 0..
      highestTierName str
{METADATA.lstrip()}"""
QUEUE: Final = f"""\
spec
  weight int
  capability{{}}
  deserved{{}}
  guarantee
    resource{{}}
  reclaimable bool
  parent str
  priority int 0..
  dequeueStrategy fifo|traverse
  type str
  affinity
    nodeGroupAffinity{{}}
    nodeGroupAntiAffinity{{}}
  extendClusters list
{METADATA.lstrip()}"""
HYPER_NODE: Final = f"""\
spec!
  tier int
  tierName str
  members[]
    type! Node|HyperNode
    selector
      exactMatch
        name! str
      regexMatch
        pattern! str
      labelMatch
        matchLabels{{}}
        matchExpressions list
{METADATA.lstrip()}"""
DOMAIN: Final = f"""\
spec!
  numNodes int 0..
  channel!
    allocationMode Single|All
    resourceClaimTemplate!
      name! str
{METADATA.lstrip()}"""
POOL: Final = f"""\
spec!
  selector!
    matchLabels{{}}!
  targetPorts[]! 1..8
    number! int 1..65535
  appProtocol str
  endpointPickerRef
    name! str
    group str
    kind str
    port
      number! int 1..65535
    failureMode FailOpen|FailClose
{METADATA.lstrip()}"""
