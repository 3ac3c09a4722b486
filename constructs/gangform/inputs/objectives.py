"""What a serving promises its clients, as far as an alert can hold it to that."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from gangform.inputs.base import Model

Latency = Annotated[str, Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?s$")]
"""Seconds, with a fraction where needed: `2.5s`."""


class Objectives(Model):
    """A share of requests and the time in which they get their first token; alerts say when too many do not."""

    time_to_first_token: Latency
    """A bound of the histogram that the engine's release exports, such as `2.5s`: between two of them nobody counts."""
    share: Annotated[Decimal, Field(ge=Decimal("0.94"), lt=1, strict=False)]
    """Share of requests that keep to it, such as 0.95. Below 0.94 the alert that pages could not fire: it waits until
    14.4 times the allowed share are slow."""
