"""Plan and manifests go through nothing whose order changes from run to run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import Fault, Source, called, faults, keep, within

ORDERLY = {"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"}
"""Functions whose result does not depend on the order of what they are given."""
IN_TURN = {
    "dict",
    "enumerate",
    "filter",
    "fromkeys",
    "iter",
    "join",
    "list",
    "map",
    "next",
    "tuple",
    "zip",
}
"""Functions that go through what they are given one after the other."""
SET_ALGEBRA = {"difference", "intersection", "symmetric_difference", "union"}
SETS = {"AbstractSet", "FrozenSet", "MutableSet", "Set", "frozenset", "set"}


def sets_in_turn(module: Source) -> Iterator[Fault]:
    """The order of a set changes from run to run, and so would the bytes: sort it first."""
    for scope in ast.walk(module.tree):
        if isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            nodes = list(inside(scope))
            names = set_names(scope, nodes)
            orderly = {
                id(argument)
                for node in nodes
                if isinstance(node, ast.Call) and called(node) in ORDERLY
                for argument in node.args
            }
            for node in nodes:
                for gone_through in in_turn(node, orderly):
                    if is_set(gone_through, names):
                        what = f"a set in no order: `{ast.unparse(gone_through)}`"
                        yield Fault(module.place, gone_through.lineno, what)


def inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module or function without those of the functions in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from inside(child)


def set_names(scope: ast.AST, nodes: list[ast.AST]) -> set[str]:
    """Names that hold a set there: by their annotation, or by what is assigned."""
    names: set[str] = set()
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = scope.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.annotation is not None and says_set(argument.annotation):
                names.add(argument.arg)
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if says_set(node.annotation):
                names.add(node.target.id)
        elif isinstance(node, ast.Assign) and is_set(node.value, names):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


def says_set(annotation: ast.expr) -> bool:
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return (outer.attr if isinstance(outer, ast.Attribute) else getattr(outer, "id", "")) in SETS


def is_set(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        return called(node) in {"set", "frozenset"} | SET_ALGEBRA
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
    ):
        return is_set(node.left, names) or is_set(node.right, names)
    return False


def in_turn(node: ast.AST, orderly: set[int]) -> Iterator[ast.expr]:
    """The expressions that a node goes through one after the other, where their order is seen."""
    if isinstance(node, ast.For):
        yield node.iter
    elif isinstance(node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
        if id(node) not in orderly:
            yield from (each.iter for each in node.generators)
    elif isinstance(node, ast.Call) and called(node) in IN_TURN:
        if id(node) not in orderly:
            yield from node.args
    elif isinstance(node, ast.Starred):
        yield node.value


def test_plan_and_manifests_go_through_no_set() -> None:
    keep(sets_in_turn, within("plan", "manifests"))


@pytest.mark.parametrize(
    "text",
    [
        "for x in {1, 2}: ...",
        "[x for x in set(xs)]",
        "{x: 1 for x in frozenset(xs)}",
        "list({x for x in xs})",
        "','.join(set(xs))",
        "[*set(xs)]",
        "tuple(a.union(b))",
        "for x in set(a) - b: ...",
        "names = set(xs)\nfor x in names: ...",
        "def f(names: frozenset[str]):\n    return [x for x in names]",
        "def f():\n    names: set[str] = made()\n    return enumerate(names)",
    ],
)
def test_a_set_gone_through_is_noticed(text: str) -> None:
    assert faults(sets_in_turn, text, "plan/shape.py") == 1


@pytest.mark.parametrize(
    "text",
    [
        "for x in sorted({1, 2}): ...",
        "sorted(x for x in set(xs))",
        "all(x for x in {1, 2})",
        "len(set(xs)) == 1",
        "x in {1, 2}",
        "{x for x in set(xs)}",
        "for x in xs: ...",
        "def f():\n    names = set(xs)\ndef g(names: list[str]):\n    return list(names)",
    ],
)
def test_a_set_in_order_or_asked_is_let_pass(text: str) -> None:
    assert faults(sets_in_turn, text, "plan/shape.py") == 0
