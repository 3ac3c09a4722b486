"""A module is short, and is called by what it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.architecture.source import Fault, Source, faults, keep, modules_of_tests, sources

LONGEST_MODULE = 400

NO_SUBJECT = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
"""File names that say nothing about what is inside."""


def long_modules(module: Source) -> Iterator[Fault]:
    """Beyond this nobody reads a module from top to bottom."""
    lines = len(module.text.splitlines())
    if lines > LONGEST_MODULE:
        yield Fault(module.place, lines, f"{lines} lines, {LONGEST_MODULE} at most")


def names_without_subject(module: Source) -> Iterator[Fault]:
    """A module or folder is called by what it is about."""
    for part in module.place.removesuffix(".py").split("/"):
        if part.strip("_") in NO_SUBJECT:
            yield Fault(module.place, 1, f"`{part}` names no subject")


def test_a_module_can_be_read_in_one_go() -> None:
    keep(long_modules, sources())


def test_a_test_module_can_be_read_in_one_go() -> None:
    keep(long_modules, modules_of_tests())


def test_a_module_is_called_by_its_subject() -> None:
    keep(names_without_subject, sources())
    keep(names_without_subject, modules_of_tests())


@pytest.mark.parametrize("place", ["test_bundle.py", "plan/conftest.py"])
def test_a_module_of_tests_is_looked_at(place: str) -> None:
    assert place in {each.place for each in modules_of_tests()}


def test_a_long_module_is_noticed() -> None:
    assert faults(long_modules, "x = 0\n" * (LONGEST_MODULE + 1), "plan/shape.py") == 1
    assert faults(long_modules, "x = 0\n" * LONGEST_MODULE, "plan/shape.py") == 0


@pytest.mark.parametrize(
    "place", ["utils.py", "plan/_helpers.py", "common/names.py", "apis/misc.py"]
)
def test_a_name_without_subject_is_noticed(place: str) -> None:
    assert faults(names_without_subject, "", place) == 1
