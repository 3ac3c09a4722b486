"""`plan`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

Run = Callable[..., Any]


def test_the_plan_begins_with_a_row_of_verdicts_for_each_serving(run: Run) -> None:
    status, out, _ = run("plan")
    assert status == 0
    lines = [line.split() for line in out.splitlines() if line]
    assert lines[0] == ["Verdicts"]
    assert lines[2][:4] == ["r1", "prod", "fits", "LeaderWorkerSet"]
    assert lines[3][:4] == ["small", "prod", "fits", "Deployment"]
    assert lines[4] == ["Pools"]
    assert lines[6][:4] == ["h100", "prod", "not", "checked:"]
    assert len(lines) < 12
    assert "gangform plan -o wide" in out


@pytest.mark.parametrize("words", [["r1"], ["-o", "wide"], ["-o", "markdown"]])
def test_verdicts_stand_before_the_arithmetic(run: Run, words: list[str]) -> None:
    out = run("plan", *words).out
    assert out.index("Verdicts") < out.index("not verified") < out.index("Prerequisites of prod")
    assert "gangform plan -o wide" not in out


def test_the_verdict_counts_what_is_wrong_with_a_serving(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("pipeline: 2", "pipeline: 1"))
    rows = [" ".join(line.split()) for line in run("plan").out.splitlines()]
    assert next(row for row in rows if row.startswith("r1 prod does not fit")).endswith("1 error")
    assert next(row for row in rows if row.startswith("small prod fits")).endswith("none")


def test_the_plan_of_a_serving_leaves_out_clusters_without_it(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    text = text.replace("cluster:\n  name: prod\n", "clusters:\n- name: prod\n")
    text = text.replace(
        "servings:",
        '- {name: other, versions: {kubernetes: "1.36", lws: "0.10", kueue: "0.19"}, '
        "foundation: all, pools: {h100: {hardware: h100-8x}}}\nservings:",
    ).replace("name: r1", "name: r1\n    clusters: [prod]")
    (folder / "gangform.yaml").write_text(text)
    assert "Cluster other" not in run("plan", "r1").out
    assert "Cluster other" in run("plan", "small").out


def test_the_plan_shows_the_arithmetic_and_ends_with_prerequisites(run: Run) -> None:
    status, out, _ = run("plan", "r1", "small")
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
    assert "cpu, memory, ephemeralStorage of hardware h100-8x" in run("plan", "r1").out
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
    assert "not verified" not in run("plan", "r1").out


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


def _closed(node: Any) -> Any:
    """A schema that allows no key but those it describes."""
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    shut = {"additionalProperties": False} if "required" in node else {}
    return {key: _closed(each) for key, each in node.items()} | shut


def _used(schema: Any, data: Any) -> set[str]:
    """Keys of a schema that some data has, each with its path."""
    found: set[str] = set()
    for key, inside in schema.get("properties", {}).items():
        if key in data:
            found |= {key, *(f"{key}.{below}" for below in _used(inside, data[key]))}
    for each in data if isinstance(data, list) else ():
        found |= _used(schema["items"], each)
    return found


def _described(schema: Any) -> set[str]:
    found: set[str] = set()
    for key, inside in schema.get("properties", {}).items():
        found |= {key, *(f"{key}.{below}" for below in _described(inside))}
    return found | (_described(schema["items"]) if "items" in schema else set())


def test_the_schema_of_the_plan_has_every_key_and_no_other(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = json.loads(run("schema", "plan").out)
    here = json.loads(run("plan", "-o", "json").out)
    fleet = folder / "gangform.yaml"
    text = fleet.read_text()
    measured = 'qualified: {date: "2026-11-02", engine: "0.31.0", tokensPerSecond: 5400}'
    parallelism = "    parallelism: {tensor: 8, pipeline: 2}\n"
    others = []
    stuck = text.replace("hardware: h100-8x}", "hardware: h100-8x, nodes: 5}")
    stuck = stuck.replace("{backend: kueue, queue: serving}", "{backend: none}")
    surge = "    rollout: {maxSurge: 1, maxUnavailable: 0}\n"
    fleet.write_text(stuck.replace(parallelism, parallelism + surge))
    others.append(json.loads(run("plan", "-o", "json").out))
    for written in (
        f"    parallelism: auto\n    {measured}\n",
        parallelism.replace("pipeline: 2", "pipeline: 1"),
        parallelism + "    startupPolicy: LeaderReady\n",
        '    parallelism: auto\n    fit: {availableKv: "8Gi"}\n',
    ):
        fleet.write_text(text.replace(parallelism, written))
        others.append(json.loads(run("plan", "-o", "json").out))
    engine = 'version: "0.32.0"'
    assert engine in text
    fleet.write_text(text.replace(engine, f"{engine}, args: [--kv-cache-memory-bytes=9G]"))
    others.append(json.loads(run("plan", "-o", "json").out))
    fleet.write_text(text.replace(parallelism, parallelism.replace("pipeline: 2", "pipeline: 4")))
    others.append(json.loads(run("plan", "--shapes", "-o", "json").out))
    monkeypatch.chdir(Path(__file__).parents[2])
    shipped = json.loads(run("plan", "-o", "json").out)
    broken = json.loads(json.dumps(here))
    broken["findings"] = [
        {"code": "a", "severity": "error", "what": "b", "fix": "c", "file": "d", "line": 1}
        | {"column": 2, "path": "e", "object": "f", "seen": {"g": "h"}}
    ]
    used: set[str] = set()
    for data in (here, shipped, broken, *others):
        jsonschema.validate(data, schema)
        jsonschema.validate(data, _closed(schema))
        used |= _used(schema, data)
    assert _described(schema) == used


def test_the_schema_of_the_plan_refuses_another_type(run: Run) -> None:
    schema = json.loads(run("schema", "plan").out)
    data = json.loads(run("plan", "-o", "json").out)
    data["clusters"][0]["servings"][0]["memory"]["tokens"] = "many"
    with pytest.raises(jsonschema.ValidationError, match="'many' is not of type 'integer'"):
        jsonschema.validate(data, schema)
    del data["clusters"][0]["servings"][0]["memory"]["tokens"]
    del data["clusters"][0]["servings"][0]["memory"]["requests"]
    with pytest.raises(jsonschema.ValidationError, match="'requests' is a required property"):
        jsonschema.validate(data, schema)


def test_the_plan_for_a_pull_request(run: Run) -> None:
    out = run("plan", "-o", "markdown").out
    assert out.startswith("## Verdicts\n\n| serving | cluster | memory |")
    assert "## Cluster prod\n\n|  |  |\n| --- | --- |\n" in out
    assert "### prod / r1\n" in out
    assert "## Prerequisites of prod\n\n| what | check | without |\n" in out
    tables = [line for line in out.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    # An asterisk outside of code is emphasis, and the command is another one.
    commands = [line for line in tables if "[*]" in line]
    assert commands
    assert all("*" not in "".join(line.split("`")[::2]) for line in commands)


@pytest.mark.thorough
def test_findings_stand_in_the_order_of_the_file(run: Run, folder: Path) -> None:
    """Not of the names: `a-small` is written behind `r1`."""
    fleet = folder / "gangform.yaml"
    text = fleet.read_text().replace("name: small", "name: a-small")
    fleet.write_text(re.sub("context: [0-9]+", "context: 999999999", text))
    said = [one["line"] for one in json.loads(run("validate", "-o", "json").out)["findings"]]
    shown = re.findall(r"--> gangform.yaml:([0-9]+)", run("validate").err)
    assert said == sorted(said)
    assert len(set(said)) > 1
    assert shown == list(map(str, said))


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
