"""Layers, what an import costs, and the public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, ROOT, Fault, Source, called, faults, keep, sources

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
