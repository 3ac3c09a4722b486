"""No rule falls over an object whose fields have other types than Kubernetes reads."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangform.apis.places import as_map
from gangform.apis.versions import Release, Versions
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key
from gangform.documents.read import read_manifests
from gangform.rules.rule import Context, judge
from gangform.units import Seconds

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("tests/cases/lint/*.yaml"), *ROOT.glob("dist/*/*.yaml")])
WRONG: tuple[Any, ...] = (
    0,
    -1,
    10**30,
    True,
    "",
    "x",
    "$(X)",
    "9" * 5000,
    "-5%",
    "\u0000",
    [],
    {},
    [0],
    [[]],
    [{}],
    ["", 7, {"name": 5}],
    {"": 0},
    {"name": []},
    {"a": {"b": {"c": []}}},
)
SOME = [
    path if number % 5 == 0 else pytest.param(path, marks=pytest.mark.thorough)
    for number, path in enumerate(FILES)
]
"""All files; by default every fifth is tried."""
CONTEXT = Context(
    versions=Versions(Release(1, 34), Release(0, 10), Release(0, 19), Release(1, 14)),
    exists=frozenset({Key("", "Secret", "inference", "x")}),
    domains={"example.net/node-pool": 2},
    provider="none",
    cold_starts={
        Key("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "inference", "atlas"): Seconds(1260)
    },
    engines={"vllm": Release(0, 33), "sglang": Release(0, 5, 23)},
)


def spots(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place where a value can be put in the place of another."""
    inner = node.items() if isinstance(node, Mapping) else enumerate(node)
    for key, value in inner:
        yield node, key
        if isinstance(value, (dict, list)):
            yield from spots(value)


def survive(objects: list[dict[str, Any]]) -> None:
    documents = [Document(manifest=each, builder="") for each in objects]
    for context in (Context(), CONTEXT, CONTEXT._replace(complete=True, provider="volcano")):
        judge(Documents(documents), context)


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_rules_survive_values_of_wrong_types(path: Path) -> None:
    originals = [each.manifest for each in read_manifests(path.read_text("utf-8"), path.name)]
    chance = random.Random(path.stem)
    for _ in range(6):
        objects = [as_map(each) for each in originals]
        # One at a time and many at once: a rule that gives up early hides what comes after.
        for _ in range(chance.choice((1, 1, 3, 12))):
            place, key = chance.choice([spot for each in objects for spot in spots(each)])
            place[key] = deepcopy(chance.choice(WRONG))
        try:
            survive(objects)
        except Exception as error:
            raise AssertionError(yaml.safe_dump_all(objects)) from error


LONG = "9" * 5000
TAILS = ("-" + LONG, "=", "'", '"', "\\", "$(", "${", "%", "\n", "²", "٣")
ODD = (
    "'",
    '"a',
    "$((",
    "<<EOF\n",
    f"sleep {LONG}",
    f"{LONG}%",
    f"1e{LONG}",
    "a:b:c",
    f"[::1]:{LONG}",
)


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_rules_survive_odd_texts(path: Path) -> None:
    originals = [each.manifest for each in read_manifests(path.read_text("utf-8"), path.name)]
    chance = random.Random(path.stem)
    for _ in range(5):
        objects = [as_map(each) for each in originals]
        texts = [
            (place, key)
            for each in objects
            for place, key in spots(each)
            if isinstance(place[key], str)
        ]
        for _ in range(6):
            place, key = chance.choice(texts)
            was = str(place[key])
            place[key] = chance.choice(
                (
                    re.sub(r"[0-9]+", LONG, was),
                    was + chance.choice(TAILS),
                    was[: chance.randrange(len(was) + 1)],
                    was + was,
                    chance.choice(ODD),
                )
            )
        survive(objects)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.thorough) for first in range(1, 5))]
)
@pytest.mark.parametrize("wrong", [10**30, [{}]], ids=repr)
def test_rules_survive_each_field_of_a_set_being_wrong(wrong: Any, first: int) -> None:
    path = ROOT / "tests/cases/lint/h24-budget-that-protects-nobody.yaml"
    originals = [each.manifest for each in read_manifests(path.read_text("utf-8"), path.name)]
    count = sum(1 for each in originals for _ in spots(each))
    for number in range(first * 5, count, 25):
        objects = [as_map(each) for each in originals]
        place, key = [spot for each in objects for spot in spots(each)][number]
        place[key] = wrong
        survive(objects)


@pytest.mark.parametrize("field", ["apiVersion", "kind", "metadata", "spec", "status"])
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_rules_survive_an_object_that_is_hardly_one(field: str, wrong: Any) -> None:
    path = ROOT / "tests/cases/lint/h24-budget-that-protects-nobody.yaml"
    for each in read_manifests(path.read_text("utf-8"), path.name):
        survive([{**each.manifest, field: wrong}])
        survive([{key: value for key, value in each.manifest.items() if key != field}])
