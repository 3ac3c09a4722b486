"""The records of a workload: a homogeneous set of groups with every number in sections, and the object that runs it."""

from typing import NamedTuple

from gangform.admission.admission import Demand, Stamp
from gangform.apis.forms import Form
from gangform.engines.engine import Launch, Shape
from gangform.inputs.hardware import HardwareShape
from gangform.plan import identity, memory, pods, rollout, scaling, startup


class RolePlan(NamedTuple):
    """A homogeneous set of groups: what one pair of templates is made from. One section a field."""

    hardware: HardwareShape
    shape: Shape
    memory: memory.MemoryPlan
    startup: startup.StartupPlan
    launch: Launch
    pods: pods.PodsPlan
    replicas: int | None
    """Groups; `None` where an autoscaler writes them."""
    identity: identity.IdentityPlan
    rollout: rollout.RolloutPlan
    scaling: scaling.ScalingPlan | None
    restart_policy: str
    startup_policy: str
    demand: Demand
    stamp: Stamp


class WorkloadPlan(NamedTuple):
    """One controller object."""

    name: str
    form: Form
    stage: int
    """Its turn in a rollout that is staged over workloads; 0 where there is nothing to stage."""
    roles: tuple[RolePlan, ...]

    @property
    def role(self) -> RolePlan:
        """The only role of a kind that has no roles."""
        return self.roles[0]
