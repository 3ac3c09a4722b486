"""Pages of queues and of clusters: what they count, their commands and their links."""

from __future__ import annotations

import re

import pytest
from tests.signals.kubectl import commands, parse
from tests.signals.pages import WRITTEN, alert, cluster
from tests.signals.scenario import MakePlan

from gangform.admission.admission import BACKENDS
from gangform.inputs.serving import Admission
from gangform.signals import runbooks
from gangform.signals.alerts import alerts
from gangform.signals.runbook_facts import ClusterFacts, QueueFacts, ServingFacts

OF_QUEUES = [name for name in WRITTEN if name.startswith("Queue")]


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "none"])
@pytest.mark.parametrize("name", OF_QUEUES)
def test_a_queue_has_pages_too(make_plan: MakePlan, backend: str, name: str) -> None:
    plan = make_plan(admission=Admission(backend=backend, queue="serving"))
    found = cluster(plan)
    (queue,) = found.queues
    facts = QueueFacts(queue, found, frozenset(OF_QUEUES))
    text = runbooks.Book(facts, ()).page(alert(name))
    assert text.startswith(f"# {name}: {backend}.serving\n")
    assert "llm: " in text and "24 GPUs" in text
    lines = [parse(line) for line in commands(text)]
    assert lines
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert set(links) <= {"README.md", *(f"{each}.md" for each in OF_QUEUES)}


@pytest.mark.parametrize(
    ("form", "backend", "asked"),
    [
        ("groups", "kueue", "llm: 2 groups of 24 GPUs in 3 pods"),
        ("groups of one", "kueue", "llm: 2 groups of 8 GPUs"),
        ("deployment", "kueue", "llm: 2 replicas of 8 GPUs"),
        ("sets of one group", "volcano-podgroup", "llm: 2 groups of 16 GPUs in 2 pods"),
    ],
)
def test_a_queue_says_what_each_serving_asks_for(
    make_plan: MakePlan, form: str, backend: str, asked: str
) -> None:
    found = cluster(make_plan(form, admission=Admission(backend=backend, queue="serving")))
    assert QueueFacts(found.queues[0], found, frozenset()).users == [asked]


def test_a_command_says_where_the_number_of_a_group_stands(make_plan: MakePlan) -> None:
    plan = make_plan()
    found = {each.name: each for each in alerts(plan)}
    book = runbooks.Book(ServingFacts(plan, cluster(plan), frozenset()), ())
    where = "in the label `pod` of the alert"
    assert where in book.page(found["ServingEngineStalled"])
    assert where not in book.page(found["ServingRequestErrors"])


def test_a_cluster_has_a_page_too(make_plan: MakePlan) -> None:
    facts = ClusterFacts(cluster(make_plan()), frozenset())
    text = runbooks.Book(facts, ()).page(alert("StateMetricsMissing"))
    assert text.startswith("# StateMetricsMissing: kube-state-metrics.objects\n")
    assert [parse(line) for line in commands(text)]
