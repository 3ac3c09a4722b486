"""What a change does to groups that run, field by field: what the tables of effects say is what the controllers do.

Without Kueue; `test_kueue_effects.py` has what it manages, `test_paced_effects.py` what depends on what runs beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from tests.apis.changed import Case
from tests.cluster.changes import Tried, all_made, trials
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.test_paced_effects import KINDS, PACED

from gangform.apis.effects import Effect, Outcome
from gangform.apis.kueue_effects import BY_WEBHOOK, WHILE_MANAGED

LATER = ("what no revision knows", "placement", "slices")
"""Fields of later releases: the server knows none of them."""


SAMPLED = (
    "image",
    "args",
    "startupProbe",
    "requests/cpu",
    "limits/cpu",
    "containers",
    "tolerations",
    "nodeSelector",
    "volumes",
)
"""Of fields inside a template: any of them makes another revision."""


def sampled(name: str) -> bool:
    """Whether a change of a field inside a template is tried; what is no such change is."""
    field = name.removesuffix(" unmanaged").partition(" ")[2]
    return not name.endswith(" unmanaged") or field.endswith(SAMPLED)


def here(case: Case, rows: Sequence[Effect]) -> bool:
    return (
        case.kind in KINDS
        and not case.queued
        and case.name not in (*LATER, *PACED)
        and sampled(case.name)
        and not any(row.by in (BY_WEBHOOK, WHILE_MANAGED) for row in rows)
    )


SPACE = "effects"
TRIALS = trials(SPACE, here)


@pytest.fixture(scope="module")
def tried(plain_plane: ControlPlane) -> Iterator[Tried]:
    with all_made(plain_plane, SPACE, TRIALS) as tried:
        yield tried


@pytest.mark.claim(
    "A change of anything inside the templates replaces the group: image, args, env, probe, requests, limits, a "
    "container, labels and annotations of pods, size, restart policy, subdomains, a role",
    "apis.leaderworkerset_effects, core_effects; lws §2b; lab E2, E6",
)
def test_groups_roll(tried: Tried, saw: Saw) -> None:
    saw(f"pods are replaced: {tried.borne_out(Outcome.ROLLS)}")


@pytest.mark.claim(
    "A change beside the templates leaves every pod: labels of the set, surge, partition, startup policy, groups",
    "apis.leaderworkerset_effects, core_effects; lab E2, E5, E6",
)
def test_groups_stay(tried: Tried, saw: Saw) -> None:
    saw(f"pods stay: {tried.borne_out(Outcome.NONE)}")


@pytest.mark.claim(
    "Subgroups of a set and the selector of a Deployment are refused",
    "apis.leaderworkerset_effects, core_effects; lws §2b",
)
def test_what_is_kept_is_refused(tried: Tried, saw: Saw) -> None:
    saw(f"refused: {tried.borne_out(Outcome.REFUSED)}")
