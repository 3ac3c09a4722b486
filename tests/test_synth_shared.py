"""Many servings are rendered in several processes: the same files, findings and errors as in one."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests import matrix
from tests.matrix import LIBRARY, PLAIN

import gangform.processes as processes
import gangform.synth as synth
from gangform.findings import InputError
from gangform.inputs.cluster import Fleet
from gangform.inputs.serving import Patch, Serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")

MANY = 44


def fleet(*changed: tuple[int, dict[str, object]]) -> Fleet:
    """Servings on two clusters, some with changes."""
    clusters = (matrix.cluster("kueue", "argocd"), matrix.cluster("none", "argocd"))
    servings: list[Serving] = []
    for number in range(MANY):
        backend = ("kueue", "none")[number % 2]
        combination = PLAIN._replace(backend=backend, weights=("hub", "claim")[number % 3 % 2])
        one = matrix.serving(combination, f"llm-{number}")
        servings.append(one.model_copy(update={"clusters": (clusters[number % 2].name,)}))
    for number, change in changed:
        servings[number] = servings[number].model_copy(update=change)
    return Fleet(version=1, clusters=clusters, servings=tuple(servings))


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "processors", lambda: 2)


@pytest.mark.parametrize("servings", [(), ("llm-3", "llm-8")])
def test_shared_work_gives_the_same(servings: tuple[str, ...]) -> None:
    label = Patch(kind="Service", merge={"metadata": {"labels": {"team": "a"}}})
    given = fleet((4, {"patches": (label,)}))
    seen: list[str] = []
    alone = synth.synthesise(given, LIBRARY, servings=servings)
    shared = synth.synthesise(given, LIBRARY, servings=servings, forks=True, progress=seen.append)
    assert [(one.path, one.content) for one in shared.files] == [
        (one.path, one.content) for one in alone.files
    ]
    assert shared.findings == alone.findings
    assert sorted(seen) == [one.path for one in alone.files]
    assert len(alone.files) == (len(servings) or MANY + 1)
    for one, other in zip(shared.files, alone.files, strict=True):
        assert one.bundle.documents == other.bundle.documents
        assert one.bundle.patched == other.bundle.patched
        assert one.bundle.to_yaml() == one.content


def test_only_many_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    share = processes.share

    def counted(work: Any, items: Any, *rest: Any, **more: Any) -> Any:
        asked.append(len(items))
        return share(work, items, *rest, **more)

    monkeypatch.setattr(processes, "share", counted)
    synth.synthesise(fleet(), LIBRARY)
    few = fleet().model_copy(update={"servings": fleet().servings[:3]})
    synth.synthesise(few, LIBRARY, forks=True)
    assert asked == []
    synth.synthesise(fleet(), LIBRARY, forks=True)
    assert MANY in asked


@pytest.mark.parametrize(
    "patch",
    [
        Patch(kind="Nothing", merge={}),
        Patch(kind="Service", merge={"metadata": {"annotations": {"n": 2**60}}}),
    ],
)
def test_errors_are_the_same(patch: Patch) -> None:
    given = fleet((4, {"patches": (patch,)}), (17, {"patches": (patch,)}))
    found = []
    for forks in (False, True):
        with pytest.raises(InputError) as caught:
            synth.synthesise(given, LIBRARY, forks=forks)
        found.append(caught.value.findings)
    assert found[0] == found[1]
    assert found[0]
