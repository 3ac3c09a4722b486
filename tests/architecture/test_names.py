"""Laws 1, 2 and 4: who names an API, an engine, a backend or a kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.source import Fault, Source, called, faults, keep, sources

API_GROUP = re.compile(
    r"""
      \b [a-z0-9.-]* (
            k8s\.io | kubernetes\.io | volcano\.sh | coreos\.com | argoproj\.io | keda\.sh
        ) \b
    | \b leaderworkerset\.
    | (?<![\w./-]) ( apps | autoscaling | batch | policy ) / v [1-9] \w* (?![\w/])
    """,
    re.VERBOSE,
)
"""API groups, group versions and the keys under them: `apps/v1`, `kubernetes.io/hostname`."""

OWN_NAMES = {
    "vllm": {"engines/engine.py", "engines/vllm.py", "engines/vllm_flags.py"},
    "sglang": {"engines/engine.py", "engines/sglang.py", "engines/sglang_flags.py"},
    "kueue": {"admission/admission.py", "admission/kueue.py", "apis/kueue.py"},
    "volcano": {"admission/admission.py", "admission/volcano.py", "apis/volcano.py"},
    "volcano-podgroup": {"admission/admission.py", "admission/podgroup.py"},
    "LeaderWorkerSet": {"apis/forms.py", "apis/views.py", "apis/leaderworkerset.py"},
    "DisaggregatedSet": {"apis/forms.py", "apis/views.py", "apis/disaggregatedset.py"},
    "Deployment": {"apis/forms.py", "apis/views.py", "apis/core.py", "apis/apps.py"},
    "StatefulSet": {"apis/forms.py", "apis/views.py", "apis/core.py", "apis/apps.py"},
}
"""Engines, backends and forms, with the modules that may ask for one by name: its own, and the registry."""

OWN_NAMES_OF_A_BACKEND = {
    "none": {"admission/admission.py", "admission/none.py"},
    "native": {"admission/admission.py", "admission/native.py", "apis/scheduling.py"},
}
"""Backends whose names are everyday words: noticed only beside something called `backend` or `admission`."""


def texts(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every string that is a value, with its line: no docstring, no text of a code or formula, no evidence."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(id(node.value))
        elif isinstance(node, ast.Call):
            whole = called(node) in ("declare", "formula")
            said = [*node.args, *(each.value for each in node.keywords)] if whole else []
            said += [each.value for each in node.keywords if each.arg == "source"]
            prose.update(id(each) for part in said for each in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value, node.lineno


def api_group_literals(module: Source) -> Iterator[Fault]:
    """Law 1: what an API is called is a fact, and facts live in `apis/`."""
    if module.place.startswith("apis/"):
        return
    for text, line in texts(module.tree):
        if match := API_GROUP.search(text):
            yield Fault(module.place, line, f"API group `{match[0]}` outside apis/")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "apiVersion"
                    and isinstance(value, ast.Constant)
                    and not API_GROUP.search(str(value.value))
                ):
                    what = f"API version `{value.value!s}` outside apis/"
                    yield Fault(module.place, value.lineno, what)


def names_compared(module: Source) -> Iterator[Fault]:
    """Laws 2 and 4: ask for an ability; who it is, only its own module and the registry know."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Compare):
            sides: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [node.subject, *(case.pattern for case in node.cases)]
        else:
            continue
        beside_backend = any(
            name in word.lower()
            for side in sides
            for word in words(side)
            for name in ("backend", "admission")
        )
        owners = OWN_NAMES | (OWN_NAMES_OF_A_BACKEND if beside_backend else {})
        for name in sorted({name for side in sides for name in compared_names(side)}):
            for known, homes in owners.items():
                if plain(name) == plain(known) and module.place not in homes:
                    yield Fault(module.place, node.lineno, f"`{known}` asked for by name")


def words(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def compared_names(node: ast.AST) -> Iterator[str]:
    """Texts, members of an enumeration (`Backend.KUEUE`), and constants (`leaderworkerset.KIND`)."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        elif isinstance(each, ast.Attribute) and each.attr.isupper():
            in_module = isinstance(each.value, ast.Name) and each.attr in ("KIND", "NAME")
            yield each.value.id if in_module and isinstance(each.value, ast.Name) else each.attr


def plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def test_api_groups_are_named_in_apis_only() -> None:
    keep(api_group_literals, sources())


def test_nobody_asks_for_an_engine_a_backend_or_a_kind_by_name() -> None:
    keep(names_compared, sources())


@pytest.mark.parametrize(
    "text",
    [
        'KEY = "kueue.x-k8s.io/queue-name"',
        'API = "leaderworkerset.x-k8s.io/v1"',
        'API = "scheduling.volcano.sh/v1beta1"',
        'API = "monitoring.coreos.com/v1"',
        'API = "argoproj.io/v1alpha1"',
        'API = "apps/v1"',
        'API = "policy/v1"',
        'API = "autoscaling/v2"',
        'API = "networking.k8s.io/v1"',
        'KEY = "kubernetes.io/hostname"',
        'KEY = f"app.kubernetes.io/{name}"',
        'TEXT = "give the label leaderworkerset.sigs.k8s.io/name"',
        'finding(fix="set kueue.x-k8s.io/queue-name")',
        'MANIFEST = {"apiVersion": "v1"}',
    ],
)
def test_an_api_group_outside_apis_is_noticed(text: str) -> None:
    assert faults(api_group_literals, text, "manifests/traffic.py") == 1
    assert faults(api_group_literals, text, "apis/core.py") == 0


@pytest.mark.parametrize(
    "text",
    [
        '"""About kueue.x-k8s.io."""',
        'class A:\n    field: str\n    """The label kubernetes.io/hostname."""',
        'CODE = declare("a", "The label kubernetes.io/hostname is missing", BREAKS, "apps/v1")',
        '@formula("a + b", source="validation of autoscaling/v2")\ndef f(): ...',
        'PATH = "/v1/models"',
        'IMAGE = "registry.example/apps/v1/image"',
        'MANIFEST = {"kind": core.SERVICE, "name": "v1"}',
    ],
)
def test_prose_and_paths_are_no_api_groups(text: str) -> None:
    assert faults(api_group_literals, text, "plan/shape.py") == 0


@pytest.mark.parametrize(
    "text",
    [
        'engine.name == "vllm"',
        '"vllm" != engine',
        'backend in ("kueue", "volcano")',
        'backend == "none"',
        'serving.admission.name not in {"native"}',
        "options.backend is Backend.VOLCANO_PODGROUP",
        'document.kind == "LeaderWorkerSet"',
        "document.kind == leaderworkerset.KIND",
        'match kind:\n    case "Deployment" | "StatefulSet":\n        pass',
    ],
)
def test_a_name_compared_is_noticed(text: str) -> None:
    assert faults(names_compared, text, "plan/rollout.py") >= 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("serving.kueue is None", "plan/rollout.py"),
        ("serving.backend is None", "plan/rollout.py"),
        ('cluster.gitops == "none"', "bundle.py"),
        ('document.kind == "Service"', "rules/traffic.py"),
        ('form.can.surges and engine.read("vllm")', "rules/groups.py"),
        ('document.kind == "LeaderWorkerSet"', "apis/leaderworkerset.py"),
        ('name == "vllm"', "engines/engine.py"),
    ],
)
def test_what_is_no_question_for_a_name_is_let_pass(text: str, place: str) -> None:
    assert faults(names_compared, text, place) == 0
