"""How many groups an autoscaler may want, and by what it knows how many are wanted."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gangform.inputs.base import MOST_GROUPS, Count, GroupCount, LabelValue, Model
from gangform.inputs.texts import Line, MetricName, SeriesLabel, SomeSeconds


class Autoscaling(Model):
    """Bounds and signal of an autoscaler on the set: one step is one group."""

    min: Annotated[int, Field(ge=0, le=MOST_GROUPS)]
    """Groups at the least; 0 only under KEDA, with `bufferQuery`."""
    max: GroupCount
    """Groups at the most: queue and pool have to hold so many."""
    type: Literal["External", "Pods"] = "External"
    """`External`: the sum over all groups, shared out among them. `Pods`: the average over the leaders that exist, so
    that one which still loads holds further ones back; only prometheus-adapter serves it."""
    metric: MetricName | None = None
    """Name of the metric that an adapter serves, under KEDA that of a series; `None` means the engine's waiting
    requests."""
    target: Count | None = None
    """Value a group at which one more is added; `None` means the default."""
    selector: dict[SeriesLabel, LabelValue] = Field(default_factory=dict)
    """Further labels of the metric's series."""
    buffer_query: Line | None = None
    """PromQL that counts the requests which a front end holds: one number, there at zero groups too, and above 0 while
    one waits, such as `sum(llm_d_epp_flow_control_queue_size)`. Under KEDA only; needed where `min` is 0."""
    buffer_holds: SomeSeconds | None = None
    """How long that front end and its clients wait for an answer; `None`: nobody knows."""

    @model_validator(mode="after")
    def _ordered(self) -> "Autoscaling":
        if self.max < self.min:
            raise PydanticCustomError(
                "autoscaling-bounds",
                "max {max} is below min {min}",
                {"max": self.max, "min": self.min},
            )
        return self
