"""Why a rollout stands still, in words: `gangform plan` and the page say the same."""

from collections.abc import Mapping

STALLS: Mapping[str, str] = {
    "strategy": "neither may a group be added nor one be taken down",
    "room": "pods find no node",
    "admission": "a surge group lost its admission",
}
"""What stands behind a stall, by its cause."""
