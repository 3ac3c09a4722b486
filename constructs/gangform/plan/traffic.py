"""Who may receive requests: the leaders, through one Service under its own name.

LeaderWorkerSet's own headless Service selects every pod and publishes those that are not ready; it is for rendezvous
and never for traffic (`lab` summary 1).
"""

from collections.abc import Mapping
from typing import NamedTuple

from gangform.engines.engine import Launch
from gangform.inputs.serving import Network
from gangform.plan.identity import IdentityPlan


class TrafficPlan(NamedTuple):
    """The Service, and the NetworkPolicy where one was asked for."""

    service: str
    port: int
    """Port of the Service, the same as the container's."""
    port_name: str
    leaders: Mapping[str, str]
    """Selector of the pods that serve."""
    pods: Mapping[str, str]
    """Selector of all pods of the serving, for the NetworkPolicy."""
    network: Network | None


def derive(
    identity: IdentityPlan, launch: Launch, network: Network | None, *, spread_over_workloads: bool
) -> TrafficPlan:
    """Selectors of the serving; where each group is a workload of its own, they go by the app label."""
    selectors = identity.selectors
    leaders, pods = selectors.leaders, selectors.pods
    if spread_over_workloads:
        own = set(pods)
        rest = {key: value for key, value in leaders.items() if key not in own}
        leaders, pods = {**identity.pod_labels, **rest}, identity.pod_labels
    return TrafficPlan(
        service=identity.service,
        port=launch.serving_port.number,
        port_name=launch.serving_port.name,
        leaders=leaders,
        pods=pods,
        network=network,
    )
