"""What kube-state-metrics would export of small objects, by its source; and that no series of ours is left out."""

from __future__ import annotations

import re

import pytest
from tests.signals.exporter import IMITATED, LABELS, Object, series
from tests.signals.forms import FORMS
from tests.signals.scenario import MakePlan

from gangform.apis.metrics import KUBE_STATE_METRICS
from gangform.signals.alerts import alerts

POD: Object = {
    "kind": "Pod",
    "metadata": {
        "namespace": "m",
        "name": "llm-0",
        "uid": "u1",
        "creationTimestamp": "2026-01-01T00:00:10Z",
        "ownerReferences": [
            {"kind": "Other", "name": "x"},
            {"kind": "StatefulSet", "name": "llm", "controller": True},
        ],
    },
    "spec": {
        "nodeName": "n1",
        "containers": [
            {
                "name": "engine",
                "resources": {
                    "requests": {
                        "cpu": "1500m",
                        "memory": "1Gi",
                        "nvidia.com/gpu": "8",
                        "pods": "1",
                        "requests.example.com/x": "1",
                    }
                },
            },
            {"name": "side"},
        ],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.1.0.1",
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"}],
    },
}
ENDPOINT: Object = {
    "addresses": ["10.1.0.1"],
    "conditions": {"ready": False, "serving": True, "terminating": True},
    "nodeName": "n1",
    "targetRef": {"kind": "Pod", "name": "llm-0", "namespace": "m"},
}
SLICE: Object = {
    "kind": "EndpointSlice",
    "metadata": {"namespace": "m", "name": "llm-leader-abc12"},
    "addressType": "IPv4",
    "endpoints": [ENDPOINT, {"addresses": ["10.1.0.2"], "conditions": {}}],
}
NODE: Object = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "spec": {"unschedulable": True},
    "status": {"allocatable": {"cpu": "96", "pods": "110", "nvidia.com/gpu": "8"}},
}
SCALER: Object = {
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"namespace": "m", "name": "llm"},
    "spec": {"maxReplicas": 4},
    "status": {
        "desiredReplicas": 2,
        "conditions": [{"type": "ScalingActive", "status": "False"}],
    },
}
JOB = 'job="kube-state-metrics"'
ITS = f'{JOB},namespace="m",pod="llm-0"'


def of(metric: str, *things: Object) -> dict[str, float]:
    """The series of one metric, its name left out."""
    found = {name: value for name, value in series(things).items() if name.startswith(metric + "{")}
    return {name.removeprefix(metric): value for name, value in found.items()}


def test_a_condition_is_three_series() -> None:
    assert of("kube_pod_status_ready", POD) == {
        f'{{condition="true",{ITS},uid="u1"}}': 0,
        f'{{condition="false",{ITS},uid="u1"}}': 1,
        f'{{condition="unknown",{ITS},uid="u1"}}': 0,
    }


def test_a_phase_is_five_series() -> None:
    found = of("kube_pod_status_phase", POD)
    assert len(found) == 5
    assert found[f'{{{JOB},namespace="m",phase="Running",pod="llm-0",uid="u1"}}'] == 1
    assert sum(found.values()) == 1


def test_what_a_pod_does_not_have_is_not_exported() -> None:
    """A pod that was only just made: no condition, no phase, no node, no time."""
    metadata = {"namespace": "m", "name": "llm-0", "uid": "u1"}
    pod = {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "engine"}]}}
    assert series([pod]) == {f'kube_pod_info{{host_network="false",{ITS},uid="u1"}}': 1}


def test_a_pod_that_ends_is_exported_as_before() -> None:
    ends = {**POD, "metadata": {**POD["metadata"], "deletionTimestamp": "2026-01-01T00:01:00Z"}}
    assert series([ends]) == series([POD])


def test_a_pod_says_who_made_it_when_and_where_it_runs() -> None:
    assert of("kube_pod_info", POD) == {
        '{created_by_kind="StatefulSet",created_by_name="llm",host_network="false",'
        f'{JOB},namespace="m",node="n1",pod="llm-0",pod_ip="10.1.0.1",uid="u1"}}': 1
    }
    assert of("kube_pod_created", POD) == {f'{{{ITS},uid="u1"}}': 1767225610}


def test_requests_are_those_of_known_and_of_extended_resources() -> None:
    def its(resource: str, unit: str) -> str:
        where = f'{JOB},namespace="m",node="n1",pod="llm-0"'
        return f'{{container="engine",{where},resource="{resource}",uid="u1",unit="{unit}"}}'

    assert of("kube_pod_container_resource_requests", POD) == {
        its("cpu", "core"): 1.5,
        its("memory", "byte"): 2**30,
        its("nvidia_com_gpu", "integer"): 8,
    }


def test_a_zero_that_the_api_leaves_out_is_exported_and_a_missing_pointer_is_not() -> None:
    metadata = {"namespace": "m", "name": "llm"}
    for kind, counters in (("StatefulSet", 5), ("Deployment", 4)):
        found = series([{"kind": kind, "metadata": metadata, "spec": {}, "status": {}}])
        assert sum("_status_replicas" in name for name in found) == counters
        assert not any("spec_replicas" in name or "set_replicas{" in name for name in found)
    there = {"kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": 0}}
    mine = f'{JOB},namespace="m",statefulset="llm"'
    assert of("kube_statefulset_replicas", there) == {f"{{{mine}}}": 0}
    status = {"currentRevision": "a", "updateRevision": "b"}
    assert of("kube_statefulset_status_update_revision", {**there, "status": status}) == {
        f'{{{JOB},namespace="m",revision="b",statefulset="llm"}}': 1
    }


def test_an_endpoint_is_a_series_for_each_address() -> None:
    mine = f'endpointslice="llm-leader-abc12",{JOB},namespace="m"'
    assert of("kube_endpointslice_info", SLICE) == {f'{{addresstype="IPv4",{mine}}}': 1}
    assert of("kube_endpointslice_endpoints", SLICE) == {
        f'{{address="10.1.0.1",endpoint_nodename="n1",{mine},ready="false",serving="true",'
        'targetref_kind="Pod",targetref_name="llm-0",targetref_namespace="m",terminating="true"}': 1,
        f'{{address="10.1.0.2",{mine}}}': 1,
    }
    assert of("kube_endpointslice_endpoints", {**SLICE, "endpoints": None}) == {}


def test_a_node_says_what_it_offers_and_whether_it_takes_pods() -> None:
    assert of("kube_node_spec_unschedulable", NODE) == {f'{{{JOB},node="n1"}}': 1}
    assert of("kube_node_status_allocatable", NODE) == {
        f'{{{JOB},node="n1",resource="cpu",unit="core"}}': 96,
        f'{{{JOB},node="n1",resource="pods",unit="integer"}}': 110,
        f'{{{JOB},node="n1",resource="nvidia_com_gpu",unit="integer"}}': 8,
    }


def test_labels_of_a_node_are_those_of_an_allowlist() -> None:
    labels = {"example.com/gpuPool": "a", "other": "b"}
    node = {"kind": "Node", "metadata": {"name": "n1", "labels": labels}}
    assert not any("kube_node_labels" in name for name in series([node]))
    found = series([node], allowed=["example.com/gpuPool", "missing"])
    assert f'kube_node_labels{{{JOB},label_example_com_gpu_pool="a",node="n1"}}' in found


def test_an_autoscaler_says_what_it_wants_may_and_can() -> None:
    mine = f'horizontalpodautoscaler="llm",{JOB},namespace="m"'
    assert of("kube_horizontalpodautoscaler_spec_max_replicas", SCALER) == {f"{{{mine}}}": 4}
    assert of("kube_horizontalpodautoscaler_status_desired_replicas", SCALER) == {f"{{{mine}}}": 2}
    said = of("kube_horizontalpodautoscaler_status_condition", SCALER)
    assert said[f'{{condition="ScalingActive",{mine},status="false"}}'] == 1
    assert sum(said.values()) == 1 and len(said) == 3


def test_a_budget_says_what_it_counts() -> None:
    status = {"currentHealthy": 3, "desiredHealthy": 4, "disruptionsAllowed": 0, "expectedPods": 6}
    metadata = {"namespace": "m", "name": "llm"}
    found = series([{"kind": "PodDisruptionBudget", "metadata": metadata, "status": status}])
    assert sorted(found.values()) == [0, 3, 4, 6]


@pytest.mark.parametrize("form", FORMS)
def test_every_series_that_an_alert_reads_of_the_exporter_is_imitated(
    form: str, make_plan: MakePlan
) -> None:
    known = {each.metric for each in IMITATED} | {LABELS[1]}
    assert len(known) == len(IMITATED) + 1
    for alert in alerts(make_plan(form)):
        assert set(re.findall(r"\bkube_\w+", alert.expr)) <= known, alert.name


def test_labels_are_those_of_the_table_of_exporters() -> None:
    """The table that the rules of `gangform lint` stand on, and this, are two readings of one source."""
    held = 0
    for name in series([POD, NODE, SLICE, SCALER]):
        metric, _, labels = name.partition("{")
        if metric in KUBE_STATE_METRICS:
            found = {*re.findall(r'(\w+)="', labels)} - {"job"}
            assert found <= KUBE_STATE_METRICS[metric].labels, metric
            held += 1
    assert held > 15
