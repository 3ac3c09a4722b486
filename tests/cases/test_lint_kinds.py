"""Kinds of fault that manifests have in practice, and why the shipped fleet has none of them.

Each file of `lint/` begins with what a linter has to expect of it. A kind is a question asked of plain documents, apart
from our rules: it must find the fault in every file that expects it, and none in any cluster of the fleet.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cases import kinds_of_pods, kinds_of_sets, kinds_of_surroundings
from tests.cases.reading import World

from gangform.apis.versions import Release, Versions
from gangform.apis.views import Documents
from gangform.bundle import bundle, foundation
from gangform.documents.document import Document, Key
from gangform.documents.read import read_manifests
from gangform.findings import Severity
from gangform.inputs.load import load_fleet
from gangform.plan.cluster import ClusterPlan
from gangform.rules.rule import Context, judge
from gangform.synth import plan_fleet

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("lint")
FILES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
EXPECTED = {name: re.findall(r"^# expect: (\S+) at", text, re.M) for name, text in FILES.items()}
KINDS = {**kinds_of_pods.KINDS, **kinds_of_sets.KINDS, **kinds_of_surroundings.KINDS}
CLEAN = [name for name, text in FILES.items() if text.startswith("# expect: clean\n")]


# ── the files and the fleet ──────────────────────────────────────────────────────────────────────

GIVEN: dict[str, dict[str, Any]] = {
    "h13-exclusive-topology-without-spare-domain": {"domains": {"example.net/node-pool": 2}},
    "r18-startup-budget-too-short": {"cold_start": {"atlas": round(756 / 0.6)}},
}
"""What `# given:` says of a file, as far as a kind asks for it."""


def lint(name: str) -> World:
    objects = list(yaml.safe_load_all(FILES[name]))
    return World(objects=objects, **GIVEN.get(name, {}))


@cache
def fleet() -> dict[str, World]:
    loaded = load_fleet(ROOT / "gangform.yaml")
    return {plan.cluster.name: rendered(plan) for plan in plan_fleet(loaded.fleet, loaded.library)}


def rendered(plan: ClusterPlan) -> World:
    made = [*map(bundle, plan.servings), foundation(plan)]
    return World(
        objects=[document.manifest for each in made for document in each.documents],
        cold_start={
            workload.name: int(workload.role.startup.cold_start)
            for serving in plan.servings
            for workload in serving.workloads
        },
        domains={
            level: len({domain.at[: depth + 1] for domain in pool.domains or ()})
            for pool in plan.cluster.pools.values()
            for depth, level in enumerate(pool.levels)
        },
        provider=plan.cluster.lws_scheduler_provider == "volcano",
    )


def test_every_file_expects_something_known_or_is_clean() -> None:
    assert {name for names in EXPECTED.values() for name in names} == set(KINDS)
    assert [name for name, expected in EXPECTED.items() if not expected] == CLEAN


def test_every_kind_says_why_we_cannot_have_it() -> None:
    assert all(each.why for each in KINDS.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, each) for name, expected in EXPECTED.items() for each in dict.fromkeys(expected)],
)
def test_a_kind_is_seen_in_every_file_that_expects_it(name: str, expected: str) -> None:
    assert KINDS[expected].ask(lint(name))


@pytest.mark.parametrize("name", FILES)
def test_no_other_kind_is_seen_in_a_file(name: str) -> None:
    world = lint(name)
    assert [each for each in KINDS if each not in EXPECTED[name] and KINDS[each].ask(world)] == []


@pytest.mark.parametrize("name", KINDS)
def test_no_kind_is_seen_in_the_fleet(name: str) -> None:
    assert [cluster for cluster, world in fleet().items() if KINDS[name].ask(world)] == []


def test_the_fleet_has_something_to_ask_about() -> None:
    kinds = {each["kind"] for world in fleet().values() for each in world.objects}
    assert kinds >= {"LeaderWorkerSet", "Deployment", "Service", "PodDisruptionBudget", "PodGroup"}
    assert kinds >= {"HorizontalPodAutoscaler", "PodMonitor", "Topology", "ClusterQueue"}


# ── rules are silent on what only looks wrong ────────────────────────────────────────────────────


def versions(name: str) -> Versions | None:
    """The releases that a file gives; Kubernetes has no default."""
    line = next(iter(re.findall(r"^# given: (.*)$", FILES[name], re.M)), "")
    given = dict(re.findall(r"\b(kubernetes|lws|kueue|volcano) ([0-9.]+)", line))
    found = {each: Release.parse(text.strip(".")) for each, text in given.items()}
    return Versions(**found) if "kubernetes" in found else None


@pytest.mark.parametrize("name", CLEAN)
def test_rules_are_silent_on_a_clean_file(name: str) -> None:
    documents = Documents(
        Document(manifest=source.manifest, builder="")
        for source in read_manifests(FILES[name], f"{name}.yaml")
    )
    exists = frozenset({Key("kueue.x-k8s.io", "LocalQueue", "sandbox", "cpu-shared")})
    findings = judge(documents, Context(versions=versions(name), exists=exists))
    assert [one for one in findings if one.code.severity is not Severity.STYLE] == []
