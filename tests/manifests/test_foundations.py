"""Foundations: a cluster's own objects, one golden an object for each backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from gangform.bundle import Bundle
from gangform.documents.document import Manifest

Foundation = Callable[..., Bundle]
Spell = Callable[[Manifest], str]


@pytest.mark.parametrize("kind", ["Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"])
def test_kueue_has_one_queue_for_the_sum(
    lay: Foundation, spell: Spell, golden: SnapshotAssertion, kind: str
) -> None:
    built = lay("kueue", groups=3)
    (found,) = [one.manifest for one in built.documents if one.kind == kind]
    assert spell(found) == golden


@pytest.mark.parametrize("backend", ["volcano", "volcano-podgroup"])
def test_volcano_has_a_queue(
    lay: Foundation, spell: Spell, golden: SnapshotAssertion, backend: str
) -> None:
    (found,) = [one.manifest for one in lay(backend).documents if one.kind == "Queue"]
    assert spell(found) == golden


def test_hyper_nodes_follow_the_declared_domains(
    lay: Foundation, spell: Spell, golden: SnapshotAssertion
) -> None:
    built = lay("volcano-podgroup")
    found = [one.manifest for one in built.documents if one.kind == "HyperNode"]
    assert "---\n".join(map(spell, found)) == golden


@pytest.mark.parametrize(
    ("backend", "on", "kinds"),
    [
        ("none", {}, []),
        ("kueue", {"foundation": "existing"}, []),
        ("kueue", {"foundation": "queues"}, ["ClusterQueue", "LocalQueue", "PrometheusRule"]),
        ("volcano", {"foundation": "queues"}, ["Queue", "PrometheusRule"]),
        ("volcano", {"foundation": "existing"}, []),
    ],
)
def test_what_others_own_is_not_made(
    lay: Foundation, backend: str, on: dict[str, Any], kinds: list[str]
) -> None:
    assert [one.kind for one in lay(backend, on=on).documents] == kinds
