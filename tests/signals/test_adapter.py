"""The rules of prometheus-adapter, and that every metric an autoscaler asks for comes out of one of them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.signals.forms import HARDWARE, MODEL

from gangform.bundle import bundle
from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.serving import Admission, Autoscaling, Engine, Parallelism, Serving
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import plan_serving
from gangform.signals.adapter import files


def planned(adapter: str, **scaled: dict[str, Any]) -> ClusterPlan:
    cluster = Cluster(
        name="prod",
        versions=Installed(kubernetes="1.36", lws="0.10"),
        foundation="existing",
        pools={"gpu": Pool(hardware="eight")},
        metrics_adapter=adapter,  # type: ignore[arg-type]
    )
    library = Library(models={"small": MODEL}, hardware={"eight": HARDWARE})
    servings = [
        Serving(
            name=name,
            namespace="m",
            model="small",
            pool="gpu",
            engine=Engine(version="0.33.0"),
            context=8192,
            parallelism=Parallelism(tensor=8, pipeline=2),
            autoscaling=Autoscaling(min=2, max=4, **fields) if fields else None,
            groups=None if fields else 2,
            admission=Admission(backend="none"),
        )
        for name, fields in scaled.items()
    ]
    return plan_cluster(
        cluster, [plan_serving(one, cluster=cluster, library=library) for one in servings]
    )


EXTERNAL, PODS = {"type": "External"}, {"type": "Pods"}
OWN = {"type": "External", "metric": "queue"}


def values(plan: ClusterPlan) -> dict[str, Any]:
    ((name, text),) = files(plan)
    assert name == "prometheus-adapter.yaml"
    read: dict[str, Any] = yaml.safe_load(text)
    assert set(read) == {"rules"}
    found: dict[str, Any] = read["rules"]
    return found


def test_one_rule_serves_all_servings_of_an_engine() -> None:
    found = values(planned("prometheus-adapter", one=EXTERNAL, two=EXTERNAL, three=OWN))
    assert found == {
        "external": [
            {
                "seriesQuery": 'vllm:num_requests_waiting{namespace!=""}',
                "resources": {"overrides": {"namespace": {"resource": "namespace"}}},
                "name": {"as": "vllm_num_requests_waiting"},
                "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>})",
            }
        ]
    }


def test_metrics_of_pods_keep_namespace_and_pod() -> None:
    (rule,) = values(planned("prometheus-adapter", one=PODS))["custom"]
    assert set(rule["resources"]["overrides"]) == {"namespace", "pod"}
    assert rule["metricsQuery"] == "sum by (<<.GroupBy>>) (<<.Series>>{<<.LabelMatchers>>})"
    assert 'pod!=""' in rule["seriesQuery"]


def test_a_name_in_the_api_has_no_colon_and_is_the_one_that_is_asked_for() -> None:
    plan = planned("prometheus-adapter", one=EXTERNAL, two=PODS)
    found = values(plan)
    served = {
        ("External" if place == "external" else "Pods", rule["name"]["as"])
        for place, made in found.items()
        for rule in made
    }
    asked = set()
    for serving in plan.servings:
        for document in bundle(serving).documents:
            if document.kind == "HorizontalPodAutoscaler":
                (metric,) = yaml.safe_load(yaml.safe_dump(document.manifest))["spec"]["metrics"]
                asked.add((metric["type"], metric[metric["type"].lower()]["metric"]["name"]))
    assert asked == served
    assert not any(":" in name for _, name in served)


@pytest.mark.parametrize(
    ("adapter", "scaled"),
    [
        ("external", {"one": EXTERNAL}),
        ("keda", {"one": EXTERNAL}),
        ("prometheus-adapter", {"one": {}}),
        ("prometheus-adapter", {"one": OWN}),
    ],
)
def test_where_no_rule_is_ours_there_is_no_file(
    adapter: str, scaled: dict[str, dict[str, Any]]
) -> None:
    assert list(files(planned(adapter, **scaled))) == []
