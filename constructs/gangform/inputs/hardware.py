"""What one node offers, and which of these figures somebody verified."""

from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gangform.inputs.base import Bandwidth, Count, LabelKey, LabelValue, Model, ObjectName
from gangform.inputs.texts import ExtendedResource
from gangform.units import Bytes, Millicores


class Gpu(Model):
    """The accelerators of a node, as its device plugin and labels name them."""

    product: LabelValue = Field(min_length=1)
    """Value of the product label: `NVIDIA-H100-80GB-HBM3`."""
    product_label: LabelKey = "nvidia.com/gpu.product"
    """The label that carries it (GPU feature discovery; `cloud.google.com/gke-accelerator` on GKE)."""
    resource: ExtendedResource = "nvidia.com/gpu"
    """The extended resource that pods request."""
    count: Count
    """GPUs a node."""
    visible_memory: Bytes
    """What CUDA reports for one GPU, less than the figure on the box (79.19 GiB for an 80 GB H100)."""
    unified: bool = False
    """Whether GPU and host share this memory (GB10): what the host holds is missing from it, and varies."""
    capability: str | None = None
    """Compute capability as text, `"9.0"`; decides whether FP8 has native units (from 8.9)."""


class Rdma(Model):
    """How a pod gets the fabric. Absent: TCP over the pod network."""

    resource: ExtendedResource | None = None
    """Extended resource (`rdma/ib`); `None` where the fabric comes with the host network or an annotation."""
    count: Count = 1
    """How many of it a whole-node pod requests."""
    hca: str | None = None
    """Prefix for `NCCL_IB_HCA` (`ibp` on CoreWeave, `mlx5`); `None` leaves NCCL to find them."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Pod annotations that attach the fabric (GKE multi-networking)."""


class Taint(Model):
    """A taint that every node of the shape carries, to be tolerated."""

    key: LabelKey
    value: str | None = None
    """`None` for a taint without a value: tolerated with `Exists`."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class HardwareShape(Model):
    """A kind of node."""

    name: ObjectName
    """What pools call it; the file's name where it has a file of its own."""
    gpu: Gpu
    cpu: Millicores
    """Allocatable CPU of a node (capacity less what the kubelet reserves)."""
    memory: Bytes
    """Allocatable memory of a node."""
    ephemeral_storage: Bytes
    """Allocatable ephemeral storage of a node."""
    rdma: Rdma | None = None
    socket_interface: str | None = None
    """Interface of the pod network for NCCL and Gloo bootstrap (`eth0`); `None` leaves it to them."""
    taints: tuple[Taint, ...] = Field(default=(), strict=False)
    nvlink_gpus: Count | None = None
    """GPUs that one NVLink domain joins; `None` means those of the node. 72 where NVLink spans nodes."""
    read_bandwidth: Bandwidth | None = None
    """How fast a pod on such a node reads weights; `None` means nobody knows and a default is assumed."""
    verified: tuple[str, ...] = Field(default=(), strict=False)
    """The fields whose figures have a checked source; all others are not verified and the plan says so."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Where each figure was read: field → source."""

    @property
    def offered(self) -> dict[str, int]:
        """What a node offers by resource name: CPU in thousandths of a core, memory and storage in bytes."""
        amounts = {
            "cpu": int(self.cpu),
            "memory": int(self.memory),
            "ephemeral-storage": int(self.ephemeral_storage),
            self.gpu.resource: self.gpu.count,
        }
        if self.rdma is not None and self.rdma.resource is not None:
            amounts[self.rdma.resource] = self.rdma.count
        return amounts

    @model_validator(mode="after")
    def _fabric_apart(self) -> "HardwareShape":
        if self.rdma is not None and self.rdma.resource == self.gpu.resource:
            raise PydanticCustomError(
                "resource-twice",
                "`{resource}` is the resource of the GPUs and of the fabric",
                {"resource": self.gpu.resource},
            )
        return self

    @property
    def unverified(self) -> tuple[str, ...]:
        """The figures that a plan reckons with and nobody verified."""
        return tuple(
            figure
            for figure in ("gpu.visibleMemory", "cpu", "memory", "ephemeralStorage")
            if figure not in self.verified and figure.partition(".")[0] not in self.verified
        )

    @property
    def nvlink_domain(self) -> int:
        """GPUs that tensor parallelism may span over NVLink."""
        return self.nvlink_gpus or self.gpu.count
