"""Documents of the shipped output, changed, and what the change costs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gangform.apis.versions import Versions
from gangform.apis.views import Documents
from gangform.diff.price import prices
from gangform.diff.record import Price
from gangform.diff.words import line, worth_saying
from gangform.documents.document import Document, Key
from gangform.documents.read import read_manifests
from gangform.units import Seconds

DIST = Path(__file__).parents[2] / "dist"
Object = dict[str, Any]
Edit = Callable[[list[Object]], object]


def shipped(cluster: str, *charts: str) -> list[Object]:
    """The objects of a cluster of the shipped fleet; of some charts, or of all."""
    files = [DIST / cluster / f"{chart}.k8s.yaml" for chart in charts]
    return [
        dict(document.manifest)
        for file in files or sorted((DIST / cluster).glob("*.yaml"))
        for document in read_manifests(file.read_text(encoding="utf-8"), file.name)
    ]


def documents(objects: Sequence[Object]) -> Documents:
    return Documents(Document(manifest=one, builder="") for one in objects)


def one(objects: Sequence[Object], kind: str, name: str | None = None) -> Object:
    """The object of a kind."""
    return next(
        each
        for each in objects
        if each["kind"] == kind and name in (None, each["metadata"]["name"])
    )


Cost = Callable[..., list[str]]


@pytest.fixture
def cost() -> Cost:
    """The lines that a change of objects is worth."""

    def cost(
        objects: list[Object],
        edit: Edit,
        *,
        versions: Versions | None = None,
        durations: dict[Key, Seconds] | None = None,
    ) -> list[str]:
        found = priced(objects, edit, versions=versions, durations=durations)
        return [line(price) for price in worth_saying(found)]

    return cost


def priced(
    objects: list[Object],
    edit: Edit,
    *,
    versions: Versions | None = None,
    durations: dict[Key, Seconds] | None = None,
) -> list[Price]:
    after = copy.deepcopy(objects)
    edit(after)
    return prices(
        documents(objects), documents(after), versions=versions, durations=durations or {}
    )
