"""The house, checked: layers, laws of the code, what an import costs, and the public names.

Each check is a function over one module's syntax tree. Two tests use it: one over the package, and one that shows
that the check sees what it is there to see.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "constructs" / "gangform"

PUBLIC = [
    "Cluster",
    "ClusterFoundation",
    "Fleet",
    "HardwareShape",
    "InferenceBundle",
    "InferenceChart",
    "InputError",
    "ModelProfile",
    "Serving",
    "load_fleet",
]
"""What a user may import from `gangform`. A change here is a change of the interface: say so in the changelog."""

LONGEST_MODULE = 400

NO_SUBJECT = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
"""File names that say nothing about what is inside."""

HEAVY = (
    "cdk8s",
    "constructs",
    "jinja2",
    "jsii",
    "markupsafe",
    "pydantic",
    "pydantic_core",
    "rich",
    "shtab",
    "yaml",
)
"""What neither `import gangform` nor `gangform --help` may load."""

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

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
RECKONING = {"abs", "divmod", "max", "min", "pow", "round", "sum"}
TEXT_OR_LIST = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)

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


class Source(NamedTuple):
    """One module: its place below the package, and its syntax tree."""

    place: str
    text: str
    tree: ast.Module


class Fault(NamedTuple):
    """One thing that the house forbids; its text is what a failing test shows."""

    place: str
    line: int
    what: str


Check = Callable[[Source], Iterator[Fault]]


def source(text: str, place: str = "plan/example.py") -> Source:
    return Source(place, text, ast.parse(text))


def sources() -> list[Source]:
    return [
        source(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def within(*folders: str) -> list[Source]:
    return [each for each in sources() if each.place.split("/")[0] in folders]


def keep(check: Check, modules: list[Source]) -> None:
    """Fail with one line a fault."""
    faults = [fault for module in modules for fault in check(module)]
    assert not faults, "\n" + "\n".join(f"{at}:{line}: {what}" for at, line, what in faults)


def called(node: ast.Call) -> str:
    """The last name of what is called: `sorted`, or `join` of `", ".join`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


# ── the checks ───────────────────────────────────────────────────────────────────────────────────


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


def cdk8s_imports(module: Source) -> Iterator[Fault]:
    """Everything but `chart.py` works without Node."""
    if module.place == "chart.py":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            names = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
        else:
            continue
        for name in names:
            if name.split(".")[0] in ("cdk8s", "constructs", "jsii"):
                yield Fault(module.place, node.lineno, f"imports {name}")


# ── the package keeps them ───────────────────────────────────────────────────────────────────────


def test_an_import_points_down() -> None:
    """The contracts are in pyproject.toml; their report says which import broke which."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_source_root_is_no_package() -> None:
    """With an `__init__.py` it would shadow the PyPI package `constructs`, and cdk8s could not be imported."""
    assert PACKAGE.is_dir()
    assert not (PACKAGE.parent / "__init__.py").exists()


def test_api_groups_are_named_in_apis_only() -> None:
    keep(api_group_literals, sources())


def test_nobody_asks_for_an_engine_a_backend_or_a_kind_by_name() -> None:
    keep(names_compared, sources())


def test_manifests_hold_no_arithmetic() -> None:
    keep(arithmetic, within("manifests"))


def test_manifests_hold_no_bare_number() -> None:
    keep(bare_numbers, within("manifests"))


def test_plan_and_manifests_go_through_no_set() -> None:
    keep(sets_in_turn, within("plan", "manifests"))


def test_a_module_can_be_read_in_one_go() -> None:
    keep(long_modules, sources())


def test_a_module_is_called_by_its_subject() -> None:
    keep(names_without_subject, sources())


def test_only_chart_imports_cdk8s() -> None:
    keep(cdk8s_imports, sources())


# ── what an import costs, and the public names ───────────────────────────────────────────────────


def loaded_by(code: str) -> list[str]:
    """The heavy packages in `sys.modules` after the code ran in a fresh interpreter."""
    report = (
        f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return done.stderr.split()


def test_importing_gangform_loads_nothing_heavy() -> None:
    assert loaded_by("import gangform") == []


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from gangform.cli.main import main
try:
    status = main(["--help"])
except SystemExit as stop:
    status = stop.code
assert not status, status
"""
    assert loaded_by(code) == []


def test_the_public_names_are_the_ones_listed() -> None:
    import gangform

    assert list(getattr(gangform, "__all__", [])) == PUBLIC


# ── the checks see what they are there to see ────────────────────────────────────────────────────


def faults(check: Check, text: str, place: str) -> int:
    return len(list(check(source(text, place))))


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


def test_a_long_module_is_noticed() -> None:
    assert faults(long_modules, "x = 0\n" * (LONGEST_MODULE + 1), "plan/shape.py") == 1
    assert faults(long_modules, "x = 0\n" * LONGEST_MODULE, "plan/shape.py") == 0


@pytest.mark.parametrize(
    "place", ["utils.py", "plan/_helpers.py", "common/names.py", "apis/misc.py"]
)
def test_a_name_without_subject_is_noticed(place: str) -> None:
    assert faults(names_without_subject, "", place) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import cdk8s",
        "from constructs import Construct",
        "def f():\n    import jsii",
        'importlib.import_module("cdk8s")',
    ],
)
def test_an_import_of_cdk8s_is_noticed(text: str) -> None:
    assert faults(cdk8s_imports, text, "synth.py") == 1
    assert faults(cdk8s_imports, text, "chart.py") == 0


def test_a_heavy_import_is_noticed() -> None:
    assert loaded_by("import yaml") == ["yaml"]
