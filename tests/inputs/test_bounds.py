"""Numbers that no field of an object holds are refused where they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangform.inputs.load import LoadError, load_text

GOOD = (Path(__file__).parent / "fleet.yaml").read_text()


def refused(old: str, new: str) -> list[str]:
    assert old in GOOD
    try:
        load_text(GOOD.replace(old, new))
    except LoadError as error:
        return [finding.code.id for finding in error.findings]
    return []


@pytest.mark.parametrize(
    ("old", "good", "bad"),
    [
        ("groups: 2", "groups: 1000000", "groups: 1000001"),
        (
            "groups: 2",
            "autoscaling: {min: 1, max: 1000000}",
            "autoscaling: {min: 1, max: 1000001}",
        ),
        ("context: 32768", "context: 2147483647", "context: 2147483648"),
        ("tensor: 8, pipeline: 2", "tensor: 10000", "tensor: 10001"),
        ("tensor: 8, pipeline: 2", "pipeline: 10000", "pipeline: 10000000"),
        (
            "foundation: all",
            "foundation: all\n  priorities: {high: 2147483647, low: -2147483648}",
            "foundation: all\n  priorities: {high: 2147483648}",
        ),
        (
            "groups: 2",
            "groups: 2\n    rollout: {spareGroups: 1000000}",
            "groups: 2\n    rollout: {spareGroups: 1000001}",
        ),
    ],
)
def test_a_number_is_as_large_as_its_field(old: str, good: str, bad: str) -> None:
    assert refused(old, good) == []
    assert refused(old, bad) == ["value-out-of-range"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [("coldStart", "2147483647s", "2147483648s"), ("pendingAlertAfter", "1h", "600000h")],
)
def test_a_duration_is_as_long_as_a_probe_can_count(field: str, good: str, bad: str) -> None:
    assert refused("groups: 2", f"groups: 2\n    {field}: {good}") == []
    assert refused("groups: 2", f"groups: 2\n    {field}: {bad}") == ["duration-too-long"]


@pytest.mark.parametrize("value", ['""', "a b", "-"])
def test_a_domain_is_named_by_a_label_value(value: str) -> None:
    place = f"nodes: 28, levels: [example.com/rack], domains: [{{at: [{value}], nodes: 4}}]"
    good = "nodes: 28, levels: [example.com/rack], domains: [{at: [r_1], nodes: 4}]"
    assert refused("nodes: 28", good) == []
    assert refused("nodes: 28", place) == ["name-invalid"]
