"""How much runs: the groups and GPUs of sets of groups, as their documents say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gangform.apis.forms import GroupView
from gangform.apis.keys import GPU
from gangform.apis.views import Documents
from gangform.rules.demand import group_requests
from gangform.rules.joins import base_groups, most_groups


def counted_groups(documents: Documents, groups: Sequence[GroupView]) -> int | None:
    """Groups of some sets; `None` where an autoscaler has them, or where there is no set that we can read."""
    least = sum(base_groups(documents, one) * one.copies for one in groups)
    most = sum(most_groups(documents, one) * one.copies for one in groups)
    return least if groups and least == most else None


def counted_gpus(documents: Documents, groups: Sequence[GroupView]) -> int:
    """GPUs of some sets; under an autoscaler at its minimum."""
    return sum(
        base_groups(documents, group) * group.copies * group_gpus(documents, group)
        for group in groups
    )


def group_gpus(documents: Documents, group: GroupView) -> int:
    """GPUs of one group."""
    return int(group_requests(documents, group).get(GPU, Fraction(0)))
