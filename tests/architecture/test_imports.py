"""Layers, what an import costs, and the public names."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


LATE = (
    "cdk8s",
    "difflib",
    "email",
    "jinja2",
    "platform",
    "random",
    "rich",
    "shutil",
    "subprocess",
    "sysconfig",
    "tempfile",
    "tokenize",
    "gangform.adopt",
    "gangform.cli.price",
    "gangform.cli.show",
    "gangform.cli.table",
    "gangform.diff",
    "gangform.documents.changes",
    "gangform.documents.patch",
    "gangform.inputs.checkpoint",
    "gangform.inputs.families",
    "gangform.inputs.fields",
    "gangform.inputs.nearest",
    "gangform.inputs.reference",
    "gangform.inputs.starter",
    "gangform.inputs.translate",
    "gangform.lint",
    "gangform.manifests.ownership",
    "gangform.plan.choice",
    "gangform.plan.loss",
    "gangform.plan.rehearsal",
    "gangform.plan.simulation",
    "gangform.plan.timeline",
    "gangform.report",
    "gangform.trace",
)
"""What writing a bundle does not load, with everything below: other commands do, and what is wrong or asked for."""


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


def loaded_late(words: str) -> list[str]:
    """What of `LATE` a process of its own has loaded after a command."""
    code = f"""
import sys
from gangform.cli import later
from gangform.cli.main import run
sys.argv = ["gangform", *{words.split()!r}]
assert run() == 0
real = [name for name, module in sys.modules.items() if not isinstance(module, later.Later)]
late = [name for name in real if any(f"{{name}}.".startswith(f"{{one}}.") for one in {LATE!r})]
print(*late, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.split()


def test_writing_a_bundle_loads_what_it_needs(tmp_path: Path) -> None:
    """Each module costs half a thousandth of a second, and one bundle is to take less than a third of one."""
    spec = importlib.util.spec_from_file_location("fleet", ROOT / "benchmarks" / "fleet.py")
    assert spec is not None and spec.loader is not None
    fleet = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fleet)
    path = tmp_path / "gangform.yaml"
    path.write_text(fleet.fleet(1))
    assert loaded_late(f"synth -f {path}") == []
    assert loaded_late(f"synth -f {path} --stdout") == []
    assert loaded_late(f"synth -f {path} --check") == []
    assert loaded_late("--help") == []
    assert "gangform.plan.rehearsal" in loaded_late(f"plan -f {path}")


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
