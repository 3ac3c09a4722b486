"""What is imported later is the real thing once it is used, and is not loaded before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BEGIN = """
import sys
from gangform.cli.later import import_later
import_later("importlib.metadata", "entry_points")
def loaded(): return "email.message" in sys.modules
"""


def ran(code: str) -> list[str]:
    """What lines of a fresh interpreter print."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_an_import_of_the_module_or_of_a_function_loads_nothing() -> None:
    code = "import importlib.metadata as m\nfrom importlib.metadata import entry_points\nprint(loaded())"
    assert ran(code) == ["False"]


def test_a_call_of_the_function_is_one_of_the_real_function() -> None:
    code = """
from importlib.metadata import entry_points
print(loaded())
found = entry_points(group="console_scripts")
import importlib.metadata
print(loaded(), "gangform" in found.names, found == importlib.metadata.entry_points(group="console_scripts"))
"""
    assert ran(code) == ["False", "True", "True", "True"]


def test_anything_else_is_the_real_modules() -> None:
    code = """
from importlib.metadata import PackageNotFoundError, version
import importlib.metadata, importlib
try:
    version("no such package")
except PackageNotFoundError:
    print(importlib.metadata.version("pydantic") == version("pydantic"), loaded())
print(importlib.metadata is importlib.import_module("importlib.metadata"))
"""
    assert ran(code) == ["True", "True", "True"]


def test_a_module_that_is_there_already_is_left_alone() -> None:
    code = """
import json as before
import_later("json")
import json as after
print(before is after)
"""
    assert ran(code) == ["True"]


def test_pydantic_makes_models_without_it() -> None:
    """The reason for all of it: who changes pydantic's loading of plugins shows up here."""
    code = """
import os
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
import gangform.inputs.serving
print(gangform.inputs.serving.Secret(name="token").name, loaded())
"""
    assert ran(code) == ["token", "False"]


def test_a_script_is_read_alike_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What `run` puts off changes no finding."""
    script = "exec vllm serve m --tensor-parallel-size=${TP:-0}"
    container = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.33.0",
        "command": ["sh", "-c", script],
        "env": [{"name": "TP", "value": "8"}],
        "resources": {"limits": {"nvidia.com/gpu": 4}},
    }
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "small"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod},
    }
    (tmp_path / "a.json").write_text(json.dumps(deployment))
    words = ["-m", "gangform", "lint", str(tmp_path / "a.json"), "--select"]
    done = subprocess.run(
        [sys.executable, *words, "engine-needs-more-gpus"], capture_output=True, text=True
    )
    assert "uses 8 GPUs" in done.stdout


# ── what modules make of texts ────────────────────────────────────────────────────────────────────

TEXTS = """
import typing, dataclasses
from gangform.cli import later
later.begin()
"""


def test_methods_of_a_dataclass_are_the_same() -> None:
    code = """
@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Pair:
    a: int
    b: "list[int]" = dataclasses.field(default_factory=list)
one = Pair(1)
print(one, one == Pair(1, []), one == Pair(2), one < Pair(b=[], a=2), one.b is not Pair(1).b)
print(dataclasses.replace(one, a=5).a, dataclasses.is_dataclass(one), [f.name for f in dataclasses.fields(one)])
for wrong in (lambda: setattr(one, "a", 2), lambda: hash(one), Pair):
    try:
        wrong()
    except (dataclasses.FrozenInstanceError, TypeError) as error:
        print(type(error).__name__)
"""
    said = " ".join(ran(TEXTS + code))
    assert said == (
        "Pair(a=1, b=[]) True False True True 5 True ['a', 'b'] FrozenInstanceError TypeError TypeError"
    )


def test_annotations_are_types_when_they_are_asked_for() -> None:
    code = """
class Row(typing.NamedTuple):
    name: "str"
    sizes: "list[int] | None" = None
print(Row("a"), typing.get_type_hints(Row) == {"name": str, "sizes": list[int] | None})
try:
    typing.get_type_hints(typing.NamedTuple("Wrong", [("x", "1 +")]))
except SyntaxError:
    print("wrong")
"""
    assert " ".join(ran(TEXTS + code)) == "Row(name='a', sizes=None) True wrong"


def test_a_module_that_is_asked_for_is_whole_for_those_who_had_it() -> None:
    code = """
import uuid, zoneinfo, tokenize, ntpath
from uuid import UUID
print("platform" in sys.modules, UUID(int=1) == uuid.UUID(int=1), isinstance(UUID(int=1), uuid.UUID))
print(uuid is not sys.modules["uuid"], ntpath.join("a", "b"), tokenize.NAME == __import__("token").NAME)
print(zoneinfo.ZoneInfo("UTC").key)
"""
    assert ran(TEXTS + code) == ["False", "True", "True", "True", "a\\b", "True", "UTC"]
