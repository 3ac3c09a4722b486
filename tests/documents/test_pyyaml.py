"""PyYAML is the same with its patterns compiled later, and nobody else's are."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import re
made = []
real = re._compiler.compile
re._compiler.compile = lambda *given: made.append(given[0]) or real(*given)
before = re.compile
from gangform.documents.pyyaml import yaml
"""


def ran(code: str) -> list[str]:
    """What lines of a fresh interpreter print."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_patterns_of_pyyaml_are_compiled_when_first_used_and_once() -> None:
    code = """
pattern = yaml.reader.Reader.NON_PRINTABLE
text = pattern._given[0]
print(text in made, pattern.search("a\\0b").start(), pattern.search("ab"), made.count(text))
"""
    assert ran(code) == ["False", "1", "None", "1"]


def test_patterns_of_others_are_compiled_at_once() -> None:
    code = """
print(re.compile is before, type(re.compile("a+")).__name__, "a+" in made)
"""
    assert ran(code) == ["True", "Pattern", "True"]


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("a: [1, 1.5, yes, ~, x]", "{'a':[1,1.5,True,None,'x']}"),
        ("2026-11-30", "datetime.date(2026,11,30)"),
    ],
)
def test_the_parser_in_python_reads_alike(text: str, loaded: str) -> None:
    assert "".join(ran(f"print(yaml.load({text!r}, Loader=yaml.SafeLoader).__repr__())")) == loaded


def test_tables_of_patterns_can_be_copied() -> None:
    code = """
from copy import copy, deepcopy
table = yaml.SafeLoader.yaml_implicit_resolvers
one = table["<"][0][1]
print(deepcopy(table)["<"][0][1].match("<<")[0], copy(one).match("<<")[0])
"""
    assert ran(code) == ["<<", "<<"]
