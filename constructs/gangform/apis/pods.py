"""What a pod asks for, as the scheduler and the queues count it."""

from __future__ import annotations

from fractions import Fraction

from gangform.documents.document import Manifest


def requests(spec: Manifest) -> dict[str, Fraction]:
    """What one pod counts for: the most that it ever holds at once, plus overhead (`kueue §7`)."""
    raise NotImplementedError
