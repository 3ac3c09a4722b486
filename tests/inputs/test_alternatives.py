"""Other values that an input may have."""

from __future__ import annotations

import pytest

from gangform.findings import Path
from gangform.inputs.alternatives import example, words
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Autoscaling, Serving, TopologyRequest
from gangform.units import Seconds


@pytest.mark.parametrize(
    ("root", "path", "value", "others"),
    [
        (
            Serving,
            ("restartPolicy",),
            "None",
            ["RecreateGroupAfterStart", "RecreateGroupOnPodRestart"],
        ),
        (Cluster, ("gitops",), "argocd", ["none"]),
        (Serving, ("groups",), 2, []),
        (Serving, ("nothing",), "a", []),
    ],
)
def test_closed_sets_have_other_words(
    root: type, path: Path, value: object, others: list[str]
) -> None:
    assert list(words(root, path, value)) == others


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (("coldStart",), [Seconds.parse("45m")]),
        (("rollout", "maxSurge"), [1]),
        (("servedModelName",), ["x"]),
        (("pods", "affinity"), []),
        (("nothing",), []),
    ],
)
def test_what_is_left_out_has_an_example_of_its_type(path: Path, wanted: list[object]) -> None:
    found = list(example(Serving, path))
    assert found == wanted
    assert [type(one) for one in found] == [type(one) for one in wanted]


def test_an_example_of_an_object_is_the_object() -> None:
    assert [type(one) for one in example(Serving, ("topology",))] == [TopologyRequest]
    assert [type(one) for one in example(Serving, ("autoscaling",))] == [Autoscaling]
