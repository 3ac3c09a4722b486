"""A small bundle that no rule minds, changed by what a test says, and two questions about it.

`refused(code, at, …)`: the rule of that code finds something there. `accepted(code, …)`: it finds nothing. Changes
are a map of paths to values, with `>` between the keys, `...` to leave something out, and short words for what stands
deep: `B` for both templates, `L` and `W` for one of them, `C` for the engine's container.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.rules.objects import BUILDERS, Object

from gangform.apis.kinds import in_full
from gangform.apis.versions import Release, Versions
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key
from gangform.findings import DocumentPath, show_path
from gangform.rules.rule import RULES, Context, load

TEMPLATES = ["spec", "leaderWorkerTemplate"]


def _ways(path: str) -> list[list[str]]:
    parts = path.split(">")
    both = [["leaderTemplate"], ["workerTemplate"]]
    heads = {"B": both, "L": both[:1], "W": both[1:]}
    if parts[0] not in heads:
        return [parts]
    rest = parts[1:]
    if rest[:1] == ["C"]:
        rest = ["spec", "containers", "0", *rest[1:]]
    return [[*TEMPLATES, *head, *rest] for head in heads[parts[0]]]


def _put(node: Any, way: list[str], value: Any) -> None:
    for part in way[:-1]:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    last = way[-1]
    if isinstance(node, list):
        node[int(last)] = copy.deepcopy(value)
    elif value is ...:
        node.pop(last, None)
    else:
        node[last] = copy.deepcopy(value)


@pytest.fixture(scope="session")
def make() -> Callable[..., Object]:
    """An object by name, with changes."""

    def made(name: str, changes: Object | None = None) -> Object:
        manifest = BUILDERS[name]()
        for path, value in (changes or {}).items():
            for way in _ways(path):
                _put(manifest, way, value)
        return manifest

    return made


@pytest.fixture(scope="session")
def queue(make: Callable[..., Object]) -> list[Object]:
    """Everything that a queue stands on."""
    return [make(name) for name in ("topology", "flavor", "cluster_queue", "local_queue")]


def _found(
    code: str,
    manifests: Iterable[Object],
    versions: dict[str, str] | None = None,
    complete: bool = False,
    exists: Iterable[tuple[str, str, str, str]] = (),
    **said: Any,
) -> list[tuple[str, str]]:
    rule = load()[code]
    documents = Documents(
        Document(manifest={**each, "kind": in_full(each)}, builder="")
        if isinstance(each.get("kind"), str)
        else Document(manifest=each, builder="")
        for each in manifests
    )
    releases = {name: Release.parse(text) for name, text in (versions or {}).items()}
    context = Context(
        versions=Versions(**{"kubernetes": Release(1, 36), **releases}) if releases else None,
        exists=frozenset(Key(*key) for key in exists),
        complete=complete,
        **said,
    )
    if not rule.applies(context.offers()):
        return []
    found = []
    for document in rule.subjects(documents):
        for finding in rule(document, documents, context):
            assert isinstance(finding.at, DocumentPath)
            assert finding.what and finding.fix and not finding.what.endswith(".")
            place = f"{finding.at.kind}/{finding.at.name} {show_path(finding.at.path)}"
            found.append((place, f"{finding.what} -> {finding.fix}"))
    return found


@pytest.fixture(scope="session")
def refused() -> Callable[..., None]:
    """The rule finds something at a place: the end of it, or a part of what it says after `~`."""

    def check(code: str, at: str, *manifests: Object, **context: Any) -> None:
        place, _, words = at.partition(" ~ ")
        found = _found(code, manifests, **context)
        assert any(where.endswith(place) and words in what for where, what in found), found

    return check


@pytest.fixture(scope="session")
def accepted() -> Callable[..., None]:
    """The rule finds nothing."""

    def check(code: str, *manifests: Object, **context: Any) -> None:
        assert _found(code, manifests, **context) == []

    return check


@pytest.fixture(scope="session")
def registry() -> dict[str, Any]:
    """Every rule by its code."""
    load()
    return RULES
