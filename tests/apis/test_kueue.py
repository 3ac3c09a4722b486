from __future__ import annotations

import pytest

from gangform.apis import kueue
from gangform.apis.versions import Release
from gangform.units import Seconds

REQUIRED = {kueue.REQUIRED_TOPOLOGY: "topology.lab/rack"}
PREFERRED = {kueue.PREFERRED_TOPOLOGY: "topology.lab/rack"}
GROUP = {kueue.PODSET_GROUP: "grp"}


def keys(leader: dict[str, str] | None, workers: dict[str, str]) -> list[str]:
    return [key for key, _, _ in kueue.annotation_faults(leader, workers)]


@pytest.mark.parametrize("level", [REQUIRED, PREFERRED])
def test_level_and_group_name_on_both_templates_are_right(level: dict[str, str]) -> None:
    assert keys({**level, **GROUP}, {**level, **GROUP}) == []


def test_without_a_leader_template_the_level_alone_is_right() -> None:
    assert keys(None, REQUIRED) == []
    assert keys(None, {**REQUIRED, **GROUP}) == [kueue.PODSET_GROUP]


def test_no_annotation_at_all_is_accepted() -> None:
    assert keys({}, {}) == []


def test_a_level_and_a_name_on_one_template_alone_are_refused() -> None:
    both = {**REQUIRED, **GROUP}
    want = [kueue.REQUIRED_TOPOLOGY, kueue.PODSET_GROUP]
    assert keys(both, {}) == want
    assert keys({}, both) == want


def test_the_silent_splits_are_found() -> None:
    (alone,) = kueue.annotation_faults(REQUIRED, {})
    assert alone[0] == kueue.REQUIRED_TOPOLOGY
    assert "split over domains in silence" in alone[1]
    (nameless,) = kueue.annotation_faults(REQUIRED, REQUIRED)
    assert nameless[0] == kueue.PODSET_GROUP
    assert "split in silence" in nameless[1]


def test_slices_without_a_group_name_are_placed_apart_on_purpose() -> None:
    slices = {kueue.SLICE_REQUIRED_TOPOLOGY: "topology.lab/rack", kueue.SLICE_SIZE: "2"}
    assert keys(PREFERRED, {**PREFERRED, **slices}) == []
    both = {**PREFERRED, **slices, **GROUP}
    assert keys(both, both) == [kueue.PODSET_GROUP, kueue.PODSET_GROUP]


def test_a_group_name_needs_a_level_on_the_same_template() -> None:
    assert keys(GROUP, GROUP) == [kueue.PODSET_GROUP, kueue.PODSET_GROUP]
    assert keys({**REQUIRED, **GROUP}, GROUP) == [kueue.PODSET_GROUP, kueue.REQUIRED_TOPOLOGY]


def test_a_group_name_is_no_number_and_the_same_in_both() -> None:
    number = {**REQUIRED, kueue.PODSET_GROUP: "1"}
    assert keys(number, number) == [kueue.PODSET_GROUP, kueue.PODSET_GROUP]
    other = {**REQUIRED, kueue.PODSET_GROUP: "other"}
    (fault,) = kueue.annotation_faults({**REQUIRED, **GROUP}, other)
    assert fault[2] == "write `grp` into both templates"


def test_the_templates_ask_for_the_same_level() -> None:
    block = {kueue.REQUIRED_TOPOLOGY: "topology.lab/block", **GROUP}
    assert keys({**REQUIRED, **GROUP}, block) == [kueue.REQUIRED_TOPOLOGY]


def test_one_template_has_one_topology_annotation() -> None:
    both = {**REQUIRED, **PREFERRED, **GROUP}
    assert keys(both, both) == [kueue.PREFERRED_TOPOLOGY, kueue.PREFERRED_TOPOLOGY]


def test_a_level_key_fits_into_a_workload() -> None:
    assert keys(None, {kueue.REQUIRED_TOPOLOGY: "e.io/" + "a" * 58}) == []
    assert keys(None, {kueue.REQUIRED_TOPOLOGY: "e.io/" + "a" * 59}) == [kueue.REQUIRED_TOPOLOGY]
    assert keys(None, {kueue.REQUIRED_TOPOLOGY: "no key"}) == [kueue.REQUIRED_TOPOLOGY]


@pytest.mark.parametrize(
    ("surge", "unavailable", "finishes"),
    [(1, 0, False), (2, 0, False), (0, 1, True), (1, 1, True), (2, 2, True), (2, 1, True)],
)
def test_a_rollout_ends_as_the_lab_saw_it(surge: int, unavailable: int, finishes: bool) -> None:
    assert kueue.surge_finishes(surge, unavailable) is finishes


def test_what_the_releases_differ_in() -> None:
    assert kueue.api_version(Release(0, 14)) == "kueue.x-k8s.io/v1beta1"
    assert kueue.api_version(Release(0, 15)) == "kueue.x-k8s.io/v1beta2"
    assert kueue.longest_name(Release(0, 17), highest_index=9) == 39
    assert kueue.longest_name(Release(0, 17), highest_index=10) == 38
    assert kueue.longest_name(Release(0, 18), highest_index=10) is None
    assert kueue.wait_for_pods_ready(Release(0, 18, 6)) is None
    assert kueue.wait_for_pods_ready(Release(0, 19)) == Seconds.parse("30m")
    assert not kueue.manages_by_default(Release(0, 15))
    assert [
        kueue.size_is_frozen(Release.parse(text))
        for text in ("0.17", "0.18.4", "0.18.5", "0.19", "0.19.1", "0.20")
    ] == [False, False, True, False, True, True]


def test_requests_of_whole_pods_are_frozen_in_newer_releases_only() -> None:
    assert kueue.frozen(Release(0, 17)) == kueue.FROZEN
    assert kueue.frozen(Release(0, 19)) == (*kueue.FROZEN, "resources")


def test_until_when_a_free_domain_is_overlooked() -> None:
    texts = ("0.15", "0.16.6", "0.16.7", "0.17", "0.17.1", "0.17.2", "0.18")
    found = [kueue.overlooks_domains_until(Release.parse(text)) for text in texts]
    assert [str(each) for each in found] == [
        "0.16.7", "0.16.7", "None", "0.17.2", "0.17.2", "None", "None"
    ]  # fmt: skip


def test_the_longest_workload_name_is_a_label_value() -> None:
    name = "x" * (kueue.longest_name(Release(0, 17), highest_index=10) or 0)
    assert len(f"leaderworkerset-{name}-10-abcde") == 63
