"""Bounds of autoscaling/v2, from the validation of the API server."""

from __future__ import annotations

from gangform.units import Seconds

SHORTEST_PERIOD = Seconds(1)
"""Least that a scaling policy's periodSeconds may be."""
LONGEST_PERIOD = Seconds(1800)
"""Most that a scaling policy's periodSeconds may be."""
LONGEST_WINDOW = Seconds(3600)
"""Most that a stabilizationWindowSeconds may be."""
