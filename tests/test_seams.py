"""A new engine and a new backend: a class each and a line in a registry, and no existing function changes.

Both leave traces that nothing else writes, so that they can be found again in the bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, cast

import pytest
from tests import matrix
from tests.invariants import INVARIANTS
from tests.world import Object, World

from gangform.admission.admission import BACKENDS, Demand, Policy, Recognised, Stamp
from gangform.admission.advice import Advice
from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.apis.panels import EngineChoice, Panel, Query
from gangform.apis.versions import Release
from gangform.documents.document import Manifest
from gangform.engines.engine import (
    ENGINES,
    EngineReading,
    EnvVar,
    Launch,
    LaunchRequest,
    MemoryTerms,
    Port,
    Probe,
    Process,
    Translation,
    Watched,
)
from gangform.findings import Code, Finding, InputError, InputPath, Prerequisite, Severity
from gangform.inputs.cluster import Cluster, DashboardInput, Fleet, Monitoring
from gangform.inputs.defaults import AlertDefaults, Defaults
from gangform.inputs.objectives import Objectives
from gangform.inputs.serving import Admission, Engine, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving
from gangform.signals.dashboard import dashboard
from gangform.synth import Synthesis, synthesise
from gangform.units import Bytes, Seconds

TOO_LONG = Code("toy-context-too-long", "The toy forgets after 10000 tokens", Severity.BREAKS, "")
TURNSTILE = "toys.example.com/turnstile"
PORT = Port("toy", 9000)


class Toy:
    """An engine that serves on another port, by other words, with another probe."""

    name: ClassVar[str] = "toy"
    waiting_metric: ClassVar[str] = "toy:waiting"
    running_metric: ClassVar[str] = "toy:running"
    newest: ClassVar[Release] = Release(1, 0)
    ready_before_workers: ClassVar[bool] = True

    def check(self, ask: LaunchRequest) -> Iterator[Finding]:
        if ask.context > 10_000:
            at = InputPath((*ask.at, "context"))
            yield Finding(code=TOO_LONG, at=at, what=f"{ask.context} tokens", fix="use 10000")

    def memory(self, ask: LaunchRequest) -> MemoryTerms:
        return MemoryTerms(
            utilization=Decimal("0.5"),
            overhead=Bytes.gib(1),
            band=Bytes.gib(1),
            block=1,
            cache_element=Decimal(2),
            source="the toy's box",
        )

    def launch(self, ask: LaunchRequest) -> Launch:
        group = ask.rendezvous
        ranks = f"--ranks={ask.shape.world}"
        place = () if group is None else (f"--of={group.size}", f"--at={group.address}")
        asked = Probe("/awake", PORT.name, Seconds(7), 3, Seconds(2))
        leader = Process(
            command=("toy", "lead"),
            args=(ask.model_reference, ranks, *place),
            env=(EnvVar("TOY", value="1"),),
            ports=(PORT,),
            pre_stop=Seconds(5),
            startup=replace_failures(asked, ask.startup_budget),
            readiness=asked,
            liveness=asked,
        )
        worker = leader._replace(
            command=("toy", "follow"),
            ports=(),
            startup=None,
            readiness=None,
            liveness=None,
        )
        return Launch(
            image="example.com/toy:1",
            leader=leader,
            worker=None if group is None else worker,
            serving_port=PORT,
            drain=Seconds(0),
            grace=Seconds(30),
        )

    def panels(self, release: Release, choice: EngineChoice) -> Sequence[Panel]:
        return (Panel("Toys", "Awake.", (Query(choice.select("toy:awake"), f"toys {release}"),)),)

    def alerts(self, ask: LaunchRequest, watched: Watched) -> Sequence[Alert]:
        asleep = f"{watched.select('toy:asleep')} > {ask.context}"
        return (Alert("ToyAsleep", asleep, "info", "It sleeps.", f"{watched.who} sleeps."),)

    def blind_spots(self, ask: LaunchRequest) -> Sequence[str]:
        return ("nobody sees it dream",)

    def first_token_bounds(self, ask: LaunchRequest) -> Sequence[str]:
        return ("1.0", "3.0")

    def read(self, container: Manifest) -> EngineReading | None:
        return None

    def translate(self, container: Manifest) -> Translation | None:
        return None


def replace_failures(asked: Probe, budget: Seconds) -> Probe:
    """The same probe for as long as a start may take."""
    return asked._replace(failures=-(-int(budget) // int(asked.period)))


class Turnstile:
    """A backend that lets one group through at a time, by an object and a label of its own."""

    name: ClassVar[str] = "turnstile"

    def policy(self, cluster: Cluster) -> Policy:
        return Policy(
            queued=True,
            needs_queue=True,
            surge_finishes=True,
            surges=True,
            gangs=True,
            scales=True,
            one_workload_per_group=False,
            longest_name=10,
        )

    def advice(self, demands: Sequence[Demand], cluster: Cluster) -> Advice:
        return Advice(waits="A group waits before the turnstile.")

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        yield from ()

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        yield from ()

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        return Stamp(
            owner_annotations={TURNSTILE: demand.pool},
            pod_labels={TURNSTILE: demand.serving},
            scheduler="turnstile",
            objects=(
                {
                    "apiVersion": "toys.example.com/v1",
                    "kind": "Ticket",
                    "metadata": {"name": demand.workload, "namespace": demand.namespace},
                    "spec": {"pods": demand.size},
                },
            ),
            prerequisites=(Prerequisite(what="a turnstile", check="look", without="chaos"),),
            remarks=("it turns one way",),
        )

    def recognise(self, group: GroupView) -> Recognised | None:
        return None

    def foundation(
        self, demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
    ) -> Sequence[Manifest]:
        groups = sum(demand.groups + demand.extra for demand in demands)
        return (
            {
                "apiVersion": "toys.example.com/v1",
                "kind": "Turnstile",
                "metadata": {"name": "gate"},
                "spec": {"groups": groups},
            },
        )

    def prerequisites(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Prerequisite]:
        return ()

    def panels(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Panel]:
        return (Panel("Turns", "Of the gate.", (Query("sum(turnstile_turns)"),)),)

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        serving = demands[0].serving
        stuck = f'turnstile_stuck{{serving="{serving}"}} > 0'
        return (Alert("ServingStuck", stuck, "warning", "Stuck.", "Stuck.", limits.pending),)

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        crowd = f'turnstile_crowd{{queue="{queue}"}} > {len(demands)}'
        return (Alert("QueueCrowded", crowd, "warning", "Crowded.", "Crowded."),)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line in each registry: a module and a class in it."""
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "toys", module)
    monkeypatch.setitem(ENGINES, "toy", "toys:Toy")
    monkeypatch.setitem(BACKENDS, "turnstile", "toys:Turnstile")


def toy_serving(size: int, **changes: Any) -> Serving:
    """A serving of the matrix, with the toys in place of what it asked for."""
    form = {1: "deployment", 2: "two pods"}[size]
    combination = matrix.Combination(
        "none",
        form,
        "derived",
        "LeaderCreated",
        "fixed",
        "serial",
        "claim",
        "spare",
        "none",
        "none",
    )
    given = matrix.serving(combination, changes.pop("name", f"toy-{size}"))
    return given.model_copy(
        update={
            "engine": Engine(name="toy", version="1.0"),
            "admission": Admission(backend="turnstile", queue="gate"),
            **changes,
        }
    )


def toy_cluster() -> Cluster:
    return matrix.cluster("none", "none")


def synthesised(*servings: Serving) -> Synthesis:
    fleet = Fleet(version=1, clusters=(toy_cluster(),), servings=servings)
    return synthesise(fleet, matrix.LIBRARY)


def objects(made: Synthesis) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {
        (document.kind, document.key.name): cast(Mapping[str, Any], document.manifest)
        for file in made.files
        for document in file.bundle.documents
    }


def test_the_toys_are_in_every_object_that_speaks_of_them() -> None:
    made = synthesised(toy_serving(1), toy_serving(2))
    assert [file.path for file in made.files] == [
        "none-none/foundation.k8s.yaml",
        "none-none/toy-1.k8s.yaml",
        "none-none/toy-2.k8s.yaml",
    ]
    found = objects(made)
    # 3 groups and a spare one, of each serving.
    assert found["Turnstile", "gate"]["spec"] == {"groups": 8}
    assert found["Ticket", "toy-2"]["spec"] == {"pods": 2}
    for one in found.values():
        assert one["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gangform"
    service = found["Service", "toy-2-leader"]["spec"]
    assert service["ports"] == [
        {"name": "toy", "port": 9000, "targetPort": "toy", "protocol": "TCP"}
    ]
    workload = found["LeaderWorkerSet", "toy-2"]
    assert workload["metadata"]["annotations"] == {TURNSTILE: "small"}
    group = workload["spec"]["leaderWorkerTemplate"]
    for name, word in (("leaderTemplate", "lead"), ("workerTemplate", "follow")):
        template = group[name]
        assert template["metadata"]["labels"][TURNSTILE] == "toy-2"
        assert template["spec"]["schedulerName"] == "turnstile"
        container = template["spec"]["containers"][0]
        assert container["image"] == "example.com/toy:1"
        assert container["command"] == ["toy", word]
        assert container["args"][1:] == [
            "--ranks=16",
            "--of=$(LWS_GROUP_SIZE)",
            "--at=$(LWS_LEADER_ADDRESS)",
        ]
    assert "readinessProbe" not in group["workerTemplate"]["spec"]["containers"][0]
    leader = group["leaderTemplate"]["spec"]["containers"][0]
    assert leader["readinessProbe"]["httpGet"]["path"] == "/awake"
    # A surge finishes at the turnstile, and a spare group is declared.
    rolling = workload["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    assert (rolling["maxSurge"], rolling["maxUnavailable"]) == (1, 0)
    single = found["Deployment", "toy-1"]["spec"]["template"]["spec"]["containers"][0]
    assert single["args"] == ["/models/small", "--ranks=8"]


ENGINE_OF_VLLM = {"probes_ask_only_who_listens", "ranks_fill_the_requested_gpus"}
"""What reads flags of vLLM."""


@pytest.mark.parametrize(
    "invariant",
    [each for each in INVARIANTS if each.__name__ not in ENGINE_OF_VLLM],
    ids=lambda each: each.__name__,
)
def test_documents_of_toys_keep(invariant: Any) -> None:
    servings = (toy_serving(1), toy_serving(2))
    made = objects(synthesised(*servings))
    # The world knows only namespaces of Kubernetes' own kinds: the turnstile itself is nobody's.
    manifests: list[Object] = [one for one in made.values() if one["kind"] != "Turnstile"]
    faults = list(invariant(World(manifests, servings, kueue=None)))
    assert not faults, faults


def test_an_engine_says_what_is_watched_and_what_nobody_sees() -> None:
    watched = toy_cluster().model_copy(update={"monitoring": Monitoring()})
    given = toy_serving(2, objectives=Objectives(time_to_first_token="3s", share=Decimal("0.95")))
    fleet = Fleet(version=1, clusters=(watched,), servings=(given,))
    rules = rules_of(objects(synthesise(fleet, matrix.LIBRARY))["PrometheusRule", "toy-2"])
    assert rules["ToyAsleep"]["expr"].startswith("toy:asleep{namespace=")
    plan = plan_serving(given, cluster=watched, library=matrix.LIBRARY)
    assert "nobody sees it dream" in plan.remarks
    assert not [one for one in plan.findings if one.code.id.startswith("objective")]


def rules_of(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    written = [rule for group in manifest["spec"]["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule for rule in written if "alert" in rule}


def test_what_a_backend_tells_is_written_beside_what_others_tell() -> None:
    found = objects(synthesised(toy_serving(1), toy_serving(2)))
    stuck = rules_of(found["PrometheusRule", "toy-2"])["ServingStuck"]
    assert stuck["expr"] == 'turnstile_stuck{serving="toy-2"} > 0'
    assert stuck["for"] == "30m"
    assert stuck["labels"] == {"serving": "toy-2", "severity": "warning"}
    # Of a queue once, however many wait in it.
    crowded = rules_of(found["PrometheusRule", "turnstile.gate"])["QueueCrowded"]
    assert crowded["expr"] == 'turnstile_crowd{queue="gate"} > 2'


def test_what_the_toys_refuse_is_refused() -> None:
    with pytest.raises(InputError, match="toy-context-too-long"):
        synthesised(toy_serving(2, context=20_000))
    # The backend's own bound on names, with room for a two-digit index.
    with pytest.raises(InputError, match="name-too-long"):
        synthesised(toy_serving(2, name="elevencharss"))


def test_the_plan_repeats_what_a_backend_says_in_words() -> None:
    plan = plan_serving(toy_serving(2), cluster=toy_cluster(), library=matrix.LIBRARY)
    assert "it turns one way" in plan.remarks
    assert "a turnstile" in [need.what for need in plan.prerequisites]
    assert plan.lead.memory.utilization == Decimal("0.5")
    assert plan.lead.memory.source == "the toy's box"


def test_a_dashboard_shows_what_the_toys_have_to_show() -> None:
    asked = Monitoring(dashboard=DashboardInput(namespace="monitoring"))
    cluster = toy_cluster().model_copy(update={"monitoring": asked})
    plan = plan_serving(toy_serving(2), cluster=cluster, library=matrix.LIBRARY)
    panels = {
        panel.title: panel.queries
        for row in dashboard(plan_cluster(cluster, [plan])).rows
        for panel in row.panels
    }
    assert panels["Turns"] == (Query("sum(turnstile_turns)"),)
    (awake,) = panels["Toys"]
    assert awake.legend == "toys 1.0"
    assert awake.expr.startswith("toy:awake{namespace=~")
