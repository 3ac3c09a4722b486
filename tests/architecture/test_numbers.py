"""Law 1: manifests reckon nothing and hold no number of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import Fault, Source, called, faults, keep, within

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
RECKONING = {"abs", "divmod", "max", "min", "pow", "round", "sum"}
TEXT_OR_LIST = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)


def arithmetic(module: Source) -> Iterator[Fault]:
    """Law 1: a builder places. Whatever is reckoned is reckoned in the plan."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
            if not joins(node):
                yield Fault(module.place, node.lineno, f"arithmetic: `{ast.unparse(node)}`")
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ARITHMETIC):
            if not (isinstance(node.op, ast.Add) and is_text_or_list(node.value)):
                yield Fault(module.place, node.lineno, f"arithmetic: `{ast.unparse(node)}`")
        elif isinstance(node, ast.Call) and called(node) in RECKONING:
            yield Fault(module.place, node.lineno, f"arithmetic: `{ast.unparse(node)}`")


def joins(node: ast.BinOp) -> bool:
    """Whether a sum joins texts or lists, as far as one can see."""
    return isinstance(node.op, ast.Add) and (
        is_text_or_list(node.left) or is_text_or_list(node.right)
    )


def is_text_or_list(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, TEXT_OR_LIST) or (isinstance(node, ast.BinOp) and joins(node))


def bare_numbers(module: Source) -> Iterator[Fault]:
    """Law 1: a number in a builder is an opinion without a reason. Only the indexes 0 and 1 are none."""
    indexes = {
        id(each)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript)
        for each in ast.walk(node.slice)
        if isinstance(each, ast.Constant) and each.value in (0, 1)
    }
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
            and id(node) not in indexes
        ):
            yield Fault(module.place, node.lineno, f"bare number {node.value}")


def test_manifests_hold_no_arithmetic() -> None:
    keep(arithmetic, within("manifests"))


def test_manifests_hold_no_bare_number() -> None:
    keep(bare_numbers, within("manifests"))


@pytest.mark.parametrize(
    "text",
    [
        "role.size - one",
        "a + b",
        "2 * x",
        "n // m",
        "n % m",
        "n ** m",
        "n / m",
        "n += m",
        "max(a, b)",
        "sum(sizes)",
    ],
)
def test_arithmetic_is_noticed(text: str) -> None:
    assert faults(arithmetic, text, "manifests/pod.py") == 1


@pytest.mark.parametrize(
    "text",
    [
        'name + "-leader"',
        'f"{a}" + b + c',
        "[*a] + b",
        'text += "x"',
        "labels | more",
        "len(groups)",
    ],
)
def test_joining_is_no_arithmetic(text: str) -> None:
    assert faults(arithmetic, text, "manifests/pod.py") == 0


@pytest.mark.parametrize(
    "text", ['{"weight": 100}', "port = 8000", "ratio = 0.5", "items[2]", "replicas = 1", "-1"]
)
def test_a_bare_number_is_noticed(text: str) -> None:
    assert faults(bare_numbers, text, "manifests/pod.py") == 1


@pytest.mark.parametrize(
    "text", ["items[0]", "items[1:]", "items[-1]", "enabled = True", 'port = "8000"']
)
def test_an_index_is_no_bare_number(text: str) -> None:
    assert faults(bare_numbers, text, "manifests/pod.py") == 0
