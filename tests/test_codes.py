"""Every code that is declared is well-formed, and some test speaks of it."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

import gangform
from gangform.findings import CODES, Severity
from gangform.inputs.cluster import Pool
from gangform.inputs.model import Attention
from gangform.inputs.translate import translate

TESTS = Path(__file__).parent
SOURCE = Path(gangform.__file__).parent
DECLARED = re.compile(r"^([A-Z][A-Z0-9_]*)(?:: \w+)? = declare\(\s*\"([a-z0-9-]+)\"", re.M)


def declaring() -> list[str]:
    """Modules that declare codes; none that needs cdk8s does."""
    return [
        module.name
        for module in pkgutil.walk_packages([str(SOURCE)], "gangform.")
        if not module.ispkg
        and "declare(" in (SOURCE.parent / f"{module.name.replace('.', '/')}.py").read_text("utf-8")
    ]


for _name in declaring():
    import_module(_name)

ALL = sorted(CODES)


def test_there_are_codes() -> None:
    assert len(ALL) > 100


def test_a_code_is_kebab_case_and_says_what_it_is_and_where_from() -> None:
    for id in ALL:
        code = CODES[id]
        assert code.id == id
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", id)
        assert code.title == code.title.strip() and code.title, id
        assert code.source == code.source.strip() and code.source, id
        assert isinstance(code.severity, Severity), id


def test_every_code_is_spoken_of_in_a_test() -> None:
    constants: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for constant, id in DECLARED.findall(path.read_text("utf-8")):
            constants.setdefault(id, set()).add(constant)
    texts = [path.read_text("utf-8") for path in TESTS.rglob("*.py")]
    spoken = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", "\n".join(texts)))
    words = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", "\n".join(texts)))
    missing = [id for id in ALL if id not in spoken and not constants.get(id, set()) & words]
    assert missing == [], f"no test speaks of {', '.join(missing)}"


# ── codes of inputs that a keyword argument raises too ───────────────────────────────────────────


def test_an_attention_without_its_figures_is_attention_incomplete() -> None:
    with pytest.raises(ValidationError) as caught:
        Attention(kind="mla", heads=8)
    assert [error["type"] for error in caught.value.errors()] == ["attention-incomplete"]
    assert Attention(kind="mla", heads=8, latent=576).latent == 576


def test_a_level_that_stands_twice_is_levels_order() -> None:
    with pytest.raises(ValidationError) as caught:
        Pool(hardware="a", levels=("b", "b"))
    assert [error["type"] for error in caught.value.errors()] == ["levels-order"]
    assert Pool(hardware="a", levels=("b", "c")).levels == ("b", "c")


def test_an_error_of_an_unknown_kind_is_input_invalid() -> None:
    error = ValidationError.from_exception_data(
        "Pool", [{"type": "recursion_loop", "loc": ("hardware",), "input": "a"}]
    )
    (found,) = translate(error, Pool, {"hardware": "a"}, lambda path: path)
    assert found.code.id == "input-invalid"
