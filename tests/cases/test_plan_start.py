"""Planning cases of weights, storage and how long a start takes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.cases.planning import (
    judged,
    model,
    planned,
    refused,
    row,
)

from gangform.bundle import bundle
from gangform.findings import Finding, InputError, Severity
from gangform.inputs.serving import (
    Parallelism,
    Patch,
    Pods,
    Resources,
    Weights,
)
from gangform.plan import startup
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes, BytesPerSecond, Seconds


def downloaded(storage: str) -> ServingPlan:
    return planned(
        model(checkpoint=Bytes(480_200_000_000)),
        parallelism=Parallelism(tensor=8, pipeline=2),
        pods=Pods(resources=Resources(ephemeral_storage=Bytes.parse(storage))),
    )


@row("r34-p")
def test_a_download_larger_than_the_pods_storage_is_refused() -> None:
    finding = refused(downloaded("400Gi"))["checkpoint-exceeds-storage"]
    assert "downloads 447.2 GiB" in finding.what
    assert finding.what.endswith("short by 47.2 GiB")


def test_a_download_that_the_pods_storage_holds_is_accepted() -> None:
    plan = downloaded("500Gi")
    assert refused(plan) == {}
    left = plan.lead.pods.storage - plan.weights.on_pod_storage
    assert Bytes(left).human() == "52.8 GiB"


@row("h01-p")
def test_every_pod_of_a_group_fetches_the_whole_checkpoint() -> None:
    plan = planned(
        model(checkpoint=Bytes(2 * 405_800_000_000)),
        parallelism=Parallelism(tensor=8, pipeline=2),
        pods=Pods(resources=Resources(ephemeral_storage=Bytes.gib(800))),
    )
    assert refused(plan) == {}
    read = plan.lead.startup.read
    assert read.human() == "755.9 GiB"
    assert Bytes(read * plan.lead.shape.size).human() == "1,511.7 GiB"


SLOW = BytesPerSecond(round(Decimal("0.40") * 2**30))
"""0.40 GiB/s, to the nearest byte."""


def started(**changes: Any) -> ServingPlan:
    return planned(
        model(checkpoint=Bytes.gib("447.2")),
        parallelism=Parallelism(tensor=8, pipeline=2),
        weights=Weights(read_bandwidth=SLOW),
        **changes,
    )


@row("r18-a")
def test_the_startup_probe_allows_the_worst_cold_start() -> None:
    plan = started()
    found = plan.lead.startup
    assert found.load == 1118
    assert found.cold_start == 1358
    assert found.worst == found.budget == 2037
    probe = plan.lead.launch.leader.startup
    assert probe is not None
    assert (probe.failures, probe.period) == (204, 10)
    assert startup.budget(found.worst, Seconds(60 * 10)) > 600


def on_leader(**changes: Any) -> Patch:
    """A change to the container of the leader."""
    spec: dict[str, Any] = {"containers": [{"name": "engine", **changes}]}
    template: dict[str, Any] = {"leaderTemplate": {"spec": spec}}
    return Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": template}})


def test_a_startup_probe_shorter_than_the_cold_start_is_refused() -> None:
    """600 s allowed, 2037 s needed: the plan owns the probe, and names the input that a measured start goes into."""
    plan = started(patches=(on_leader(startupProbe={"failureThreshold": 60}),))
    with pytest.raises(InputError, match="change `coldStart`"):
        bundle(plan)


@row("r18-b")
def test_the_engines_own_time_limit_follows_the_startup_budget() -> None:
    """The row warns of 600 s. Here nobody can write it: the variable is the plan's, and no cure is claimed."""
    name = "VLLM_ENGINE_READY_TIMEOUT_S"
    plan = started()
    assert refused(plan) == {}
    for process in (plan.lead.launch.leader, plan.lead.launch.worker):
        assert process is not None
        assert {one.value for one in process.env if one.name == name} == {
            "2040"
        }  # 204 probes of 10 s
    short = started(pods=Pods(env=({"name": name, "value": "600"},)))
    assert list(refused(short)) == ["env-owned-by-plan"]
    finding = refused(short)["env-owned-by-plan"]
    assert "raise" not in finding.fix


def test_a_time_limit_of_the_engine_is_no_matter_of_patches() -> None:
    """In a foreign manifest a rule says it (`start-limit-below-probe`); in ours nobody can write it."""
    short = {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "600"}
    plan = started(patches=(on_leader(env=[short]),))
    with pytest.raises(InputError, match="coldStart"):
        bundle(plan)


PROBED = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: llm, namespace: m}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.33.0
            command: [vllm, serve, /models/m]
            args: [--port=8000, --tensor-parallel-size=8]
            env: [{env}]
            resources: {{limits: {{nvidia.com/gpu: "8"}}}}
            startupProbe: {{httpGet: {{path: /health, port: 8000}}, periodSeconds: 10, failureThreshold: {failures}}}
            readinessProbe: {{httpGet: {{path: /health, port: 8000}}}}
"""


def probed(failures: int, *, limit: str = "", takes: Seconds | None = None) -> dict[str, Finding]:
    """What the rules say of somebody's own probe, where the plan worked out how long a start takes at worst."""
    worst = started().lead.startup.worst if takes is None else takes
    env = f'{{name: VLLM_ENGINE_READY_TIMEOUT_S, value: "{limit}"}}' if limit else ""
    findings = judged(PROBED.format(failures=failures, env=env), takes=worst)
    return {one.code.id: one for one in findings}


def test_somebodys_own_probe_that_is_shorter_is_refused() -> None:
    finding = probed(60)["startup-probe-too-short"]
    assert finding.breaks
    assert finding.seen == {"allowed": "600 s", "least": "2037 s"}
    assert finding.fix == "write failureThreshold: 204"


def test_somebodys_own_probe_that_is_long_enough_is_accepted() -> None:
    assert "startup-probe-too-short" not in probed(204)
    assert "start-limit-below-probe" not in probed(204, limit="2040")


def test_a_limit_of_the_engine_below_the_probe_is_a_warning_without_a_promise() -> None:
    findings = probed(204, limit="600")
    assert "startup-probe-too-short" not in findings
    finding = findings["start-limit-below-probe"]
    assert finding.code.severity is Severity.DEGRADES
    assert finding.seen["limit"] == "600 s"
    assert "where the limit does not bound a normal start this changes nothing" in finding.fix


KILLED = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: m}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.33.0
            command: [vllm, serve, /models/m]
            args: [--port=8000, --tensor-parallel-size=8]
            resources: {limits: {nvidia.com/gpu: "8"}}
            livenessProbe:
              httpGet: {path: /health, port: 8000}
              initialDelaySeconds: 900
              periodSeconds: 10
              failureThreshold: 3
"""


@row("h33-p")
def test_a_liveness_probe_that_kills_a_loading_engine_is_refused() -> None:
    findings = {one.code.id: one for one in judged(KILLED)}
    finding = findings["liveness-before-loaded"]
    assert finding.breaks
    assert finding.seen["allowed"] == "930 s"


@pytest.mark.parametrize(("takes", "refuses"), [(960, True), (1500, True), (930, False)])
def test_it_is_refused_for_what_the_load_is_known_to_take(takes: int, refuses: bool) -> None:
    found = {one.code.id for one in judged(KILLED, takes=Seconds(takes)) if one.breaks}
    assert ("liveness-before-loaded" in found) is refuses


def test_our_own_liveness_starts_after_the_startup_probe() -> None:
    leader = planned(model(), cold_start=Seconds(1500)).lead.launch.leader
    assert leader.startup is not None
    assert leader.liveness is not None
    assert leader.startup.failures * leader.startup.period >= 1500
