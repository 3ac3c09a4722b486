"""What somebody measured, and with what: figures of a group that hold as long as nothing under them moves."""

from typing import Annotated

from pydantic import Field

from gangform.inputs.base import Count, Model, ObjectName
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.texts import Line, Version

Rate = Annotated[int, Field(ge=1, le=10**9)]
"""Tokens a second."""


class Qualified(Model):
    """A measurement of one group. What is left out was not noted, and is not compared."""

    date: Line
    """When, as text: `"2026-11-02"`."""
    engine: Version
    """Release of the engine."""
    driver: Version | None = None
    """Release of the GPU driver; compared with `driver` of the pool."""
    nccl: Version | None = None
    """Release of NCCL; compared with `engine.nccl`."""
    hardware: ObjectName | None = None
    """Name of the hardware shape."""
    parallelism: Parallelism | None = None
    """How the group was split."""
    context: Count | None = None
    """Longest context that the engine was started with, in tokens."""
    tokens_per_second: Rate | None = None
    """Output tokens a second of one group."""
