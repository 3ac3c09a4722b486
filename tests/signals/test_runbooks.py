"""A page for every alert, in every form: its commands are those of the plan, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from tests.signals.forms import FORMS
from tests.signals.kubectl import Command, commands, parse
from tests.signals.pages import WRITTEN, alert, cluster
from tests.signals.scenario import MakePlan

from gangform.admission.admission import BACKENDS
from gangform.inputs.cluster import Monitoring
from gangform.inputs.serving import Admission, Disruption
from gangform.plan.serving import ServingPlan
from gangform.signals import queues, runbooks
from gangform.signals.alerts import NAMES, alerts
from gangform.signals.groups import SIGNAL_LOST
from gangform.signals.runbook_facts import ClusterFacts, QueueFacts, ServingFacts

OF_SERVINGS = [name for name in WRITTEN if name.startswith("Serving")]
OF_SCALERS = [name for name in OF_SERVINGS if name.startswith("ServingAutoscaler")]

Shape = tuple[str, dict[str, object]]
SHAPES: dict[str, Shape] = {
    **{form: (form, {}) for form in FORMS},
    **{
        f"{form} under {backend}": (
            form,
            {"admission": Admission(backend=backend, queue="serving")},
        )
        for form in ("groups", "deployment")
        for backend in BACKENDS
        if backend != "none"
    },
    "groups drained by hand": ("groups", {"disruption": Disruption(mode="perGroup")}),
}
"""Every form, backend, budget and autoscaler whose pages differ."""


@pytest.fixture(scope="module", params=SHAPES)
def plan(request: pytest.FixtureRequest, make_plan: MakePlan) -> ServingPlan:
    form, changes = SHAPES[request.param]
    return make_plan(form, **changes)


def written_for(plan: ServingPlan) -> list[str]:
    """The alerts that a serving of this form could have, also those that it has not."""
    scaling = plan.lead.scaling
    left_out = {*OF_SCALERS} if scaling is None else {SIGNAL_LOST} if scaling.keda is None else ()
    return [name for name in OF_SERVINGS if name not in left_out]


@pytest.fixture(scope="module")
def pages(plan: ServingPlan) -> list[str]:
    """The page of each of them."""
    names = written_for(plan)
    facts = ServingFacts(plan, cluster(plan), frozenset(names))
    book = runbooks.Book(facts, tuple(map(alert, names)))
    return [book.page(each) for each in book.alerts]


def page_of(plan: ServingPlan, name: str) -> str:
    """One page, as if no other alert had any."""
    return runbooks.Book(ServingFacts(plan, cluster(plan), frozenset()), ()).page(alert(name))


# ── there is one ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_page(name: str) -> None:
    assert runbooks.has_page(name)


def test_an_alert_links_to_its_page(make_plan: MakePlan) -> None:
    plan = make_plan("autoscaled")
    book, *_ = runbooks.books(cluster(plan))
    made = dict(runbooks.files(cluster(plan)))
    for each in book.alerts:
        assert each.runbook_url == f"https://runbooks.example.com/serving/llm/{each.name}.md"
        assert made[f"runbooks/llm/{each.name}.md"].startswith(f"# {each.name}: llm\n")
    assert len(made) == len(book.alerts) + 1


def test_pages_are_files_only_where_an_alert_links_to_one(make_plan: MakePlan) -> None:
    def asked(monitoring: Monitoring) -> bool:
        plan = cluster(make_plan())
        return runbooks.asked(
            plan._replace(cluster=plan.cluster.model_copy(update={"monitoring": monitoring}))
        )

    assert not asked(Monitoring())
    assert asked(Monitoring(runbook_base="https://r.example.com"))
    assert not asked(Monitoring(runbook_base="https://r.example.com", enabled=False))


def test_a_fleet_that_asks_for_none_imports_no_templates() -> None:
    code = (
        "import sys; from gangform.companions import companions, wanted; assert not companions([]) and not wanted([]);"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_alert_that_nobody_wrote_of_has_what_holds_for_any(make_plan: MakePlan) -> None:
    plan = make_plan(admission=Admission(backend="kueue", queue="serving"))
    found = cluster(plan)
    (queue,) = found.queues
    for facts in (
        ServingFacts(plan, found, frozenset()),
        QueueFacts(queue, found, frozenset()),
        ClusterFacts(found, frozenset()),
    ):
        text = runbooks.Book(facts, ()).page(alert("ServingStuck"))
        assert text.startswith(f"# ServingStuck: {facts.subject}\n")
        assert "Nobody wrote a page" in text
        assert [parse(line) for line in commands(text)] or facts.subject == queues.STATES


# ── what stands in it ────────────────────────────────────────────────────────────────────────────


def test_every_page_of_every_form_renders(plan: ServingPlan, pages: list[str]) -> None:
    for text in pages:
        prose = re.sub(r"```.*?```|`[^`]*`", "code", text, flags=re.S)
        assert not re.search(r"\{[{%#]|None|  +\S|<\w+\.", prose), text
        titles = re.findall(r"^## (.*)$", text, re.M)
        assert titles[:4] == ["Look", "Decide", "Do not", "When it fires, when it clears"]
        assert text.count("```") in (2, 4)
        decide, never = (
            text.split(f"## {title}")[1].split("\n## ")[0] for title in ("Decide", "Do not")
        )
        assert len(re.findall("^- ", decide, re.M)) >= 2 and re.search("^- ", never, re.M), text
        assert len(text.splitlines()) < 60


def test_it_counts_in_groups_and_gpus(make_plan: MakePlan) -> None:
    def said(form: str) -> str:
        book, *_ = runbooks.books(cluster(make_plan(form)))
        return book.contents

    assert (
        "One group is 3 pods of 8 GPUs: 24 GPUs. 2 groups are wanted, 48 GPUs. With one missing 1 of 2 keep serving, "
        "50 % of the capacity." in said("groups")
    )
    assert "One replica is 1 pod of 8 GPUs. 2 replicas are wanted, 16 GPUs." in said("deployment")
    assert "2 groups are wanted, 32 GPUs." in said("sets of one group")
    assert (
        "The autoscaler keeps 2 to 4 groups, 32 to 64 GPUs. With one missing 1 of 2 at the least keep serving"
        in said("autoscaled")
    )


def test_a_serving_that_rests_is_not_counted_by_its_lowest_number(make_plan: MakePlan) -> None:
    some, rests = make_plan("groups"), make_plan("to zero")
    assert "At least 1 of 2 groups should be serving." in page_of(some, "ServingRolloutStalled")
    assert "should be serving" not in page_of(rests, "ServingRolloutStalled")
    assert "Where it is the only one, nothing serves" in page_of(rests, "ServingGroupsNotReady")


def test_a_lost_signal_names_the_query_that_must_have_a_result(make_plan: MakePlan) -> None:
    asks = '`http://prometheus:9090`: `sum(vllm:num_requests_waiting{namespace="m", '
    assert asks in page_of(make_plan("by keda"), SIGNAL_LOST)
    rests = page_of(make_plan("to zero"), SIGNAL_LOST)
    assert '`sum(queue{gateway="llm"})`' in rests
    assert "a request that waits brings none" in rests
    assert "Do not delete the ScaledObject" in rests


@pytest.mark.parametrize("policy", ["RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"])
def test_what_one_worker_takes_along_is_that_of_the_policy(
    make_plan: MakePlan, policy: str
) -> None:
    page = page_of(make_plan("groups", restart_policy=policy), "ServingEngineStalled")
    assert ("it comes back alone" in page) == (policy != "RecreateGroupOnPodRestart")
    assert ("the whole group goes with it" in page) == (policy == "RecreateGroupOnPodRestart")


@pytest.mark.parametrize("form", ["groups", "sets of one group"])
def test_a_whole_group_goes_by_its_leader(make_plan: MakePlan, form: str) -> None:
    plan = make_plan(form)
    leader = "llm-$GROUP-0" if form == "sets of one group" else "llm-$GROUP"
    for name in ("ServingLeaderReadyGroupIncomplete", "ServingEngineStalled"):
        page = page_of(plan, name)
        assert f'`kubectl delete pod -n m "{leader}"`' in page
        assert "Do not delete a single worker" in page
        assert "first byte" in page


def test_what_a_drain_does_is_said_by_the_budget(make_plan: MakePlan) -> None:
    def page(mode: Literal["serial", "perGroup"]) -> str:
        plan = make_plan(disruption=Disruption(mode=mode))
        facts = ServingFacts(plan, cluster(plan), frozenset())
        return runbooks.Book(facts, ()).page(alert("ServingGroupOnCordonedNode"))

    assert "the budget lets one group go at a time" in page("serial")
    assert "disruption.released" in page("perGroup") and "Cordon **all** nodes" in page("perGroup")


def test_who_admits_has_its_say(make_plan: MakePlan) -> None:
    def page(backend: str) -> str:
        plan = make_plan(admission=Admission(backend=backend, queue="serving"))
        facts = ServingFacts(plan, cluster(plan), frozenset())
        return runbooks.Book(facts, ()).page(alert("ServingGroupPodsPending"))

    assert "SchedulingGated" in page("kueue") and "field is immutable" in page("kueue")
    assert "leaderworkerset-llm-[0-9]+-" in page("kueue")
    assert "^(NAME|llm-[0-9]+-)" in page("volcano")
    assert "placed one by one" in page("none")


def test_the_wait_is_the_alerts_own(make_plan: MakePlan) -> None:
    plan = make_plan()
    book, *_ = runbooks.books(cluster(plan))
    for each in book.alerts:
        told = "Fires at the first look" if each.for_ is None else f"Fires after {each.for_}"
        assert told in book.page(each)
    assert str(plan.lead.startup.worst) in book.page(alert("ServingGroupsNotReady"))


# ── commands ─────────────────────────────────────────────────────────────────────────────────────


def test_every_command_is_whole_and_selects_what_the_plan_selects(
    plan: ServingPlan, pages: list[str]
) -> None:
    seen = 0
    for text in pages:
        for line in commands(text):
            command = parse(line)
            assert command.flags.get("-n", plan.namespace) in (
                plan.namespace,
                "lws-system",
                "keda",
            ), line
            _selects(plan, command, line)
            _names(plan, command, line)
            seen += 1
    assert seen > 80


def _labels(selector: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in selector.split(","))


def _selects(plan: ServingPlan, command: Command, line: str) -> None:
    if "-l" not in command.flags:
        return
    labels = _labels(command.flags["-l"])
    role = plan.lead
    gpu = role.hardware.gpu
    allowed = [
        dict(plan.traffic.pods),
        dict(plan.traffic.leaders),
        dict(role.identity.object_labels),
        {"kubernetes.io/service-name": plan.traffic.service},
        {gpu.product_label: gpu.product},
        {"app.kubernetes.io/name": "kube-state-metrics"},
    ]
    if "$GROUP" not in command.flags["-l"]:
        assert labels in allowed, line
        return
    for index in range(2):
        found = {key: value.replace("$GROUP", str(index)) for key, value in labels.items()}
        if len(plan.workloads) > 1:
            assert found == dict(plan.workloads[index].role.identity.selectors.pods), line
        else:
            group = role.identity.selectors.group
            assert group is not None and found == dict(group(index)), line


def _names(plan: ServingPlan, command: Command, line: str) -> None:
    """A leader is the pod of the metrics' pattern, and a set one of the plan's."""
    names = [workload.name for workload in plan.workloads]
    ours = command.flags.get("-n") == plan.namespace
    if ours and command.verb in ("logs", "delete") and command.words and "$POD" not in line:
        leader = command.words[-1].replace("$GROUP", "1")
        assert leader == (f"{names[1]}-0" if len(names) > 1 else f"{names[0]}-1"), line
    if command.words[:1] == ("statefulsets",):
        assert list(command.words[1:]) == names, line


@pytest.mark.parametrize("form", ["groups", "deployment", "sets of one group"])
def test_a_filter_finds_its_own_and_no_sibling(make_plan: MakePlan, form: str) -> None:
    plan = make_plan(form)
    book, *_ = runbooks.books(cluster(plan))
    lines = [
        line
        for each in book.alerts
        for line in commands(book.page(each))
        if "get events" in line and "grep" in line
    ]
    (pattern,) = {parse(line).filters[0][2] for line in lines}
    mine = {
        "groups": ["leaderworkerset/llm", "pod/llm-0", "pod/llm-10-2", "statefulset/llm-1"],
        "deployment": ["deployment/llm", "pod/llm-6c9d7f8b5-x2x4q"],
        "sets of one group": ["leaderworkerset/llm-1", "pod/llm-1-0", "pod/llm-0-0-1"],
    }[form]
    others = ["pod/llmx-0", "pod/x-llm-0", "leaderworkerset/llm_x"]
    others += [] if form == "deployment" else ["pod/llm-x-0", "deployment/llm-x"]

    def matches(name: str) -> bool:
        done = subprocess.run(
            ["grep", "-qE", pattern],
            input=f"5m  Normal  Pulled  {name}   text\n",
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1)
        return done.returncode == 0

    assert [name for name in mine if not matches(name)] == []
    assert [name for name in others if matches(name)] == []


# ── links ────────────────────────────────────────────────────────────────────────────────────────


def test_links_among_pages_resolve(plan: ServingPlan) -> None:
    made = dict(runbooks.files(cluster(plan)))
    for path, text in made.items():
        for target in re.findall(r"\]\(([^)]*)\)", text):
            assert str(Path(path).parent / target) in made, (path, target)
    assert {path for path in made if path.startswith("runbooks/llm/")} == {
        "runbooks/llm/README.md",
        *(f"runbooks/llm/{each.name}.md" for each in alerts(plan)),
    }


def test_a_page_speaks_of_no_page_that_is_not_there(plan: ServingPlan) -> None:
    for name in written_for(plan):
        text = page_of(plan, name)
        assert re.findall(r"\]\(([^)]*)\)", text) == ["README.md"], name
        assert not re.search(r":\s*$", text, re.M), name
