"""`explain`, of codes, fields and values, and what a finding about an object says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gangform.cli.codes import every_code, spelled, told
from gangform.cli.findings import as_data, render
from gangform.cli.traced import parse_path
from gangform.findings import DocumentPath, Finding, show_path

Run = Callable[..., Any]


def test_a_code_is_explained(run: Run) -> None:
    status, out, _ = run("explain", "tensor-leaves-nvlink")
    assert status == 0
    assert "severity  error: it does not start" in out
    assert "the design of gangform, §4 Shape" in out
    assert "hide" not in out


def test_a_code_of_a_rule_says_what_is_judged_and_when_it_is_silent(run: Run) -> None:
    out = run("explain", "exclusive-topology-deadlock").out
    for line in (
        "rule            A gang that LWS's provider forms does not wait for workers that wait for its leader.",
        "judges          LeaderWorkerSet, DisaggregatedSet",
        "silent without  who makes PodGroups (`--given` with",
        "module          gangform.rules.placement",
        "`# gangform: ignore[exclusive-topology-deadlock] REASON` in the file",
    ):
        assert line in out
    assert "silent without" not in run("explain", "leader-template-missing").out
    data = json.loads(run("explain", "pod-needs-missing-object", "-o", "json").out)
    assert data["source"] in {code.source for code in every_code()}
    assert "complete: true" in data["needs"][0]


def test_everything_that_is_known_of_every_code_can_be_said() -> None:
    for code in every_code():
        data = told(code)
        assert data["consequence"]
        assert data.get("rule", "some") and data.get("judges", ["some"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("lws §2d, kueue §2.6", "notes on LeaderWorkerSet, §2d, notes on Kueue, §2.6"),
        ("lab E4; lws#539", "tests on the real controllers, E4; kubernetes-sigs/lws#539"),
        ("peers, direction of travel", "notes on other projects, direction of travel"),
        ("Kubernetes: lab rats and lws", "Kubernetes: lab rats and lws"),
    ],
)
def test_sources_are_said_in_words(source: str, said: str) -> None:
    assert spelled(source) == said


def test_all_codes_are_listed(run: Run) -> None:
    data = json.loads(run("explain", "-o", "json").out)
    codes = [one["code"] for one in data]
    assert codes == sorted(codes)
    assert {"file-not-ours", "patch-hits-nothing", "yaml-tab", "names-clash"} <= set(codes)
    assert len(codes) == len(every_code())


def test_a_field_is_explained(run: Run) -> None:
    status, out, _ = run("explain", "servings.parallelism.tensor")
    assert status == 0
    assert "whole number, at least 1" in out


def test_an_alert_has_a_page(run: Run) -> None:
    assert "`gangform runbook SERVING QueuePending`" in run("explain", "queuepending").err


@pytest.mark.thorough
def test_a_value_is_explained(run: Run, known: None) -> None:
    path = "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge"
    status, out, _ = run("explain", "LeaderWorkerSet/r1", path, "-o", "json")
    assert status == 0
    (one,) = json.loads(out)
    assert one["value"] == 0
    assert one["file"] == "prod/r1.k8s.yaml"
    assert one["builder"].startswith("manifests.leaderworkerset")
    assert any(each["by"] == "plan.rollout.max_surge" for each in one["derived"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spec.replicas", "groups"),
        ("spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].image", "engine.image"),
        ("spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].startupProbe", "coldStart"),
        ("spec.leaderWorkerTemplate.restartPolicy", None),
    ],
)
def test_a_value_names_the_input_that_it_follows(run: Run, path: str, name: str | None) -> None:
    (one,) = json.loads(run("explain", "LeaderWorkerSet/r1", path, "-o", "json").out)
    assert one.get("input") == name


def test_a_whole_object_is_explained(run: Run, known: None) -> None:
    status, out, _ = run("explain", "LeaderWorkerSet/r1")
    assert status == 0
    assert "LeaderWorkerSet/llm/r1" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tensor-leave-nvlink"], "did you mean tensor-leaves-nvlink?"),
        (["servings.paralelism"], "did you mean servings.parallelism"),
        (["LeaderWorkerSet/r2"], "did you mean LeaderWorkerSet/r1"),
        (["LeaderWorkerSet/r1", "spec.replica"], "did you mean replicas"),
        (["LeaderWorkerSet", "spec"], "write KIND/NAME"),
        (["dist/prod/r1.k8s.yaml"], "is a file; write FILE:LINE, or KIND/NAME of an object in it"),
        (["dist/prod/r1.k8s.yaml:x"], "is a file; write FILE:LINE"),
        (["dist/prod/r1.k8s.yaml:57"], "there is no file dist/prod/r1.k8s.yaml"),
    ],
)
def test_what_is_unknown_has_near_misses(run: Run, words: list[str], said: str) -> None:
    status, out, err = run("explain", *words)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "path",
    [
        ("spec", "template", "containers", 0, "image"),
        ("metadata", "labels", "app.kubernetes.io/name"),
        ("spec", "selector", "matchLabels", "a/b", 3),
    ],
)
def test_paths_are_read_as_they_are_shown(path: tuple[str | int, ...]) -> None:
    assert parse_path(show_path(path)) == path


# ── findings about documents ─────────────────────────────────────────────────────────────────────


def test_a_finding_about_an_object_names_it() -> None:
    code = next(code for code in every_code() if code.id == "tensor-leaves-nvlink")
    finding = Finding(
        code=code,
        at=DocumentPath("Service", "llm", "r1", ("spec", "ports", 0)),
        what="a\nb",
        fix="c",
    )
    assert render(finding, None) == (
        "error[tensor-leaves-nvlink]: a\n       b\n  --> Service/llm/r1 spec.ports[0]\n  fix: c\n"
    )
    (data,) = as_data([finding], None)
    assert (data["object"], data["path"]) == ("Service/llm/r1", "spec.ports[0]")
