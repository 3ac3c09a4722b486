"""What is seen of an update while it runs: moments, the order of groups, the end, or why there is none."""

from typing import NamedTuple

from gangform.units import Seconds


class Moment(NamedTuple):
    """What stands from here to the next moment."""

    at: Seconds
    bound: int
    """Pods on nodes, those that are ending too."""
    requested: int
    """Pods that there are, those that wait for a node too."""
    groups: int
    """Groups that the set should have."""
    serving: int
    """Groups that are whole, ready and not being taken down."""
    overlapping: int
    """Groups whose pods are of two revisions."""
    mixed: int
    """Groups whose leader is ready while their pods are of two revisions: they answer, and wrongly."""
    hollow: int
    """Groups whose leader is ready while workers of its own revision are missing."""


class Stall(NamedTuple):
    """Why a rollout stands still."""

    cause: str
    """`strategy`: nothing may move; `room`: pods find no node; `admission`: a surge group lost it."""
    groups: tuple[int, ...]
    """Groups that wait for it."""
    held: int
    """Pods that these groups hold meanwhile."""
    short: int
    """Pods that find no place."""


class Rollout(NamedTuple):
    """An update from its beginning to its end, or to where it stands still."""

    moments: tuple[Moment, ...]
    order: tuple[int, ...]
    """Groups in the order in which their new leader was made."""
    end: Seconds | None
    """When every group that rolls is updated and ready; `None` where that never comes."""
    stall: Stall | None
    made: int | None = None
    """Groups that were made or replaced, where they have no index and so no order."""

    @property
    def peak(self) -> int:
        """Groups at the height."""
        return max(moment.groups for moment in self.moments)

    @property
    def bound(self) -> int:
        """Pods on nodes at the height."""
        return max(moment.bound for moment in self.moments)

    @property
    def requested(self) -> int:
        """Pods at the height."""
        return max(moment.requested for moment in self.moments)

    @property
    def floor(self) -> int:
        """Groups that serve at the least."""
        return min(moment.serving for moment in self.moments)

    @property
    def overlapping(self) -> int:
        """Groups of two revisions at the height."""
        return max(moment.overlapping for moment in self.moments)

    @property
    def mixed(self) -> int:
        """Groups that answer with two revisions, at the height."""
        return max(moment.mixed for moment in self.moments)

    @property
    def hollow(self) -> int:
        """Groups that answer without all their workers, at the height."""
        return max(moment.hollow for moment in self.moments)

    @property
    def steps(self) -> int:
        """Groups that were made or replaced."""
        return len(self.order) if self.made is None else self.made
