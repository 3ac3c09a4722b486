"""`plan` and `explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangform.cli.codes import every_code, spelled, told
from gangform.cli.explain import parse_path
from gangform.cli.findings import as_data, render
from gangform.findings import DocumentPath, Finding, show_path

Run = Callable[..., Any]


# ── plan ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_plan_shows_the_arithmetic_and_ends_with_prerequisites(run: Run) -> None:
    status, out, _ = run("plan")
    assert status == 0
    assert "form            LeaderWorkerSet: a replica spans 2 nodes of 8 GPUs" in out
    assert "2 groups x 2 pods x 8 GPUs = 32 GPUs" in out
    assert "tensor 8 x pipeline 2 = 16 GPUs" in out
    assert "79.2 GiB visible x 0.92 = 72.8 GiB a GPU" in out
    assert "quota of h100" in out
    assert "no inventory, so not checked" in out
    last = [line for line in out.splitlines() if line and not line.startswith(" ")][-1]
    assert last == "Prerequisites of prod"
    assert "kubectl get namespace llm" in out
    assert "\x1b" not in out


def test_the_plan_says_which_figures_of_the_hardware_nobody_verified(
    run: Run, folder: Path
) -> None:
    assert "cpu, memory, ephemeralStorage of hardware h100-8x" in run("plan").out
    data = json.loads(run("plan", "-o", "json").out)
    said = data["clusters"][0]["servings"][0]["hardware"]
    assert said == {"name": "h100-8x", "notVerified": ["cpu", "memory", "ephemeralStorage"]}
    shape = folder / "profiles" / "hardware" / "mine.yaml"
    shape.parent.mkdir(parents=True)
    shape.write_text(
        "gpu: {product: NVIDIA-H100-80GB-HBM3, count: 8, visibleMemory: 79.18Gi}\n"
        'cpu: "90"\nmemory: 1650Gi\nephemeralStorage: 3000Gi\n'
        "verified: [gpu.visibleMemory, cpu, memory, ephemeralStorage]\n"
    )
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("h100-8x", "mine"))
    assert "not verified" not in run("plan").out


def test_a_measured_cold_start_is_said_without_a_bandwidth(run: Run, folder: Path) -> None:
    assert "(assumed) take" in run("plan", "r1").out
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(
        text.replace("groups: 2", "groups: 2\n    coldStart: 10m")
    )
    out = run("plan", "r1").out
    assert "10m measured, 15m at worst (margin included)" in out
    assert "take" not in next(line for line in out.splitlines() if "cold start" in line)


@pytest.mark.parametrize(
    ("rollout", "said"),
    [
        (
            "{canaryGroups: 1, maxSurge: 1, maxUnavailable: 0}",
            "groups 0 to 0 keep the old revision, and 1 surge group as long beside them",
        ),
        ("{canaryGroups: 1}", "groups 0 to 0 keep the old revision"),
        # Nothing surges: the peak is 2 groups.
        (
            "{canaryGroups: 1, maxSurge: 2, maxUnavailable: 2}",
            "groups 0 to 0 keep the old revision",
        ),
    ],
)
def test_the_plan_says_what_a_canary_keeps(rollout: str, said: str, run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    text = text.replace("groups: 2", f"groups: 2\n    rollout: {rollout}", 1)
    text = text.replace("backend: kueue, queue: serving", "backend: none")
    (folder / "gangform.yaml").write_text(text)
    assert said in [line.strip() for line in run("plan", "r1").out.splitlines()]


def test_the_plan_says_how_long_a_pod_may_take_to_end(run: Run, folder: Path) -> None:
    assert "the engine does not drain" in run("plan", "r1").out
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("0.32.0", "0.33.0"))
    assert "1m30s grace, of which 1m to finish requests" in run("plan", "r1").out


def test_wide_adds_probes_and_every_stage(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("pipeline: 2", "pipeline: 4"))
    narrow, wide = run("plan", "r1").out, run("plan", "r1", "-o", "wide").out
    assert "startup probe" not in narrow
    assert "startup probe" in wide
    assert "stage 3 " in wide


def test_a_selection_leaves_out_other_servings(run: Run) -> None:
    out = run("plan", "small").out
    assert "prod / small" in out
    assert "prod / r1" not in out


def test_the_plan_for_machines(run: Run) -> None:
    status, out, err = run("plan", "-o", "json")
    assert (status, err) == (0, "")
    data = json.loads(out)
    assert list(data) == ["version", "clusters", "findings"]
    (cluster,) = data["clusters"]
    first = cluster["servings"][0]
    assert first["shape"]["gpusPerGroup"] == 16
    assert first["memory"]["verdict"] == "fits"
    assert len(first["memory"]["stages"]) == 2
    assert first["startup"]["basis"] == "assumed"
    assert first["rollout"]["maxUnavailable"] == 1
    assert cluster["quota"]["h100"]["nvidia.com/gpu"] == "34"
    assert set(cluster["prerequisites"][0]) == {"what", "check", "without"}
    assert yaml.safe_load(run("plan", "-o", "yaml").out) == data


def test_every_key_for_machines_is_described(run: Run) -> None:
    from gangform.cli import record

    def keys(node: Any) -> set[str]:
        if isinstance(node, list):
            return {key for each in node for key in keys(each)}
        if not isinstance(node, dict):
            return set()
        return {key for key in node if key.isalnum()} | {
            key
            for name, each in node.items()
            if name not in ("quota", "requests", "findings", "versions")
            for key in keys(each)
        }

    assert record.__doc__ is not None
    missing = [
        key for key in keys(json.loads(run("plan", "-o", "json").out)) if key not in record.__doc__
    ]
    assert missing == []


def test_the_plan_for_a_pull_request(run: Run) -> None:
    out = run("plan", "-o", "markdown").out
    assert out.startswith("## Cluster prod\n\n|  |  |\n| --- | --- |\n")
    assert "### prod / r1\n" in out
    assert "## Prerequisites of prod\n\n| what | check | without |\n" in out
    tables = [line for line in out.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


def test_a_fleet_with_errors_has_a_plan_too(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("pipeline: 2", "pipeline: 1"))
    status, out, err = run("plan")
    assert status == 1
    assert "does not fit" in out
    assert "error[model-does-not-fit]" in err


def test_ways_out_are_shown_with_their_figures(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("pipeline: 2", "pipeline: 1"))
    out = " ".join(run("plan", "r1").out.split())
    assert "way out use a pool of `hardware: h200-8x` (fits: 8 GPUs a group, " in out
    assert "way out use `pipeline: 2` (fits: 16 GPUs a group, " in out
    data = json.loads(run("plan", "r1", "-o", "json").out)
    ways = data["clusters"][0]["servings"][0]["memory"]["waysOut"]
    assert [way["kind"] for way in ways] == ["hardware", "pipeline"]
    assert set(ways[0]) == {
        "kind",
        "change",
        "gpus",
        "verdict",
        "weightsBytes",
        "availableBytes",
        "requests",
    }


def test_a_hybrid_is_shown_by_two_numbers(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("deepseek-r1", "qwen3.5-397b"))
    out = run("plan", "r1").out
    assert "11.7 MiB a request and 8192 bytes a token" in out
    assert "tokens a rank" not in out
    data = json.loads(run("plan", "r1", "-o", "json").out)
    found = data["clusters"][0]["servings"][0]["memory"]
    assert "tokens" not in found and "tokens" not in found["stages"][0]
    assert found["stages"][0]["cacheFixedBytes"] == 12_270_592  # 23 layers of 533,504 bytes
    assert float(found["requests"]) <= float(found["requestsAtMost"])


def test_wide_says_what_the_overhead_is_made_of(run: Run) -> None:
    wide = run("plan", "r1", "-o", "wide").out
    for name in ("activation", "communication", "graphs", "sampling on the last stage"):
        assert f"  {name}  " in wide
    assert "GiB experts, " in wide and "cut over tensor ranks" in wide
    data = json.loads(run("plan", "r1", "-o", "json").out)
    parts = data["clusters"][0]["servings"][0]["memory"]["overheadParts"]
    assert all(part["source"] for part in parts)


def test_a_heap_is_shown_beside_what_is_left_for_it(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    small = text.replace('version: "0.32.0"}', 'version: "0.32.0", heap: 2Gi}')
    (folder / "gangform.yaml").write_text(small)
    status, out, _ = run("plan", "r1")
    assert status == 0
    assert "2.0 GiB of the 6.3 GiB outside the engine's share" in out
    (folder / "gangform.yaml").write_text(small.replace("heap: 2Gi", "heap: 16Gi"))
    status, _, err = run("plan", "r1")
    assert status == 1
    assert "error[heap-outside-share]: the heap of 16.00 GiB" in err


# ── explain ──────────────────────────────────────────────────────────────────────────────────────


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


def test_a_value_is_explained(run: Run) -> None:
    path = "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge"
    status, out, _ = run("explain", "LeaderWorkerSet/r1", path, "-o", "json")
    assert status == 0
    (one,) = json.loads(out)
    assert one["value"] == 0
    assert one["file"] == "prod/r1.k8s.yaml"
    assert one["builder"].startswith("manifests.leaderworkerset")
    assert any(each["by"] == "plan.rollout.max_surge" for each in one["derived"])


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


def test_a_whole_object_is_explained(run: Run) -> None:
    status, out, _ = run("explain", "Service/r1-leader")
    assert status == 0
    assert "kind: Service" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tensor-leave-nvlink"], "did you mean tensor-leaves-nvlink?"),
        (["servings.paralelism"], "did you mean servings.parallelism"),
        (["LeaderWorkerSet/r2"], "did you mean LeaderWorkerSet/r1"),
        (["LeaderWorkerSet/r1", "spec.replica"], "did you mean replicas"),
        (["LeaderWorkerSet", "spec"], "write KIND/NAME"),
        (["dist/prod/r1.k8s.yaml:57"], "is a file; write KIND/NAME of an object in it"),
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
