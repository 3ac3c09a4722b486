"""How a replica is split over GPUs, and what decides where the user leaves that open."""

from typing import Literal

from gangform.inputs.base import Few, Model

Preference = Literal["fewestGpus", "fewestNodes", "tensorFirst"]
"""What decides between shapes that hold the declared load. `fewestGpus`: fewest GPUs a group, then fewest nodes, then
fewest pipeline stages, then most requests. `fewestNodes`: GPUs of a node that is taken anyway count for nothing.
`tensorFirst`: as `fewestGpus`, but data ranks only where tensor ranks alone do not hold the load."""


class Parallelism(Model):
    """How one replica is split. tensor × pipeline × data × prefillContext = size × GPUs per pod."""

    tensor: Few = 1
    """Ranks that share each layer; inside the NVLink domain unless the hardware says more."""
    pipeline: Few = 1
    """Stages of consecutive layers."""
    data: Few = 1
    """Attention replicas inside one group (mixture-of-experts models)."""
    prefill_context: Few = 1
    """Ranks that share a prompt's tokens."""
    decode_context: Few = 1
    """Ranks that share a sequence's cache; divides tensor and uses the same GPUs."""
    expert_parallel: bool = False
    """Spread whole experts over tensor × data ranks instead of cutting each."""

    @property
    def parts(self) -> dict[str, int | bool]:
        """What has to be written, by key: `tensor`, and all that is not the default."""
        return {
            str(field.alias): getattr(self, name)
            for name, field in type(self).model_fields.items()
            if name == "tensor" or getattr(self, name) != field.default
        }

    @property
    def written(self) -> str:
        """As it stands in YAML, on one line: `{tensor: 8, pipeline: 2}`."""
        words = (f"{key}: {str(value).lower()}" for key, value in self.parts.items())
        return f"{{{', '.join(words)}}}"
