"""Who admits a set that somebody else wrote."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.admission.admission import Placement, Recognised, recognised
from gangform.apis.views import Documents
from gangform.documents.document import Document

QUEUE = "kueue.x-k8s.io/queue-name"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
VOLCANO = "scheduling.volcano.sh/queue-name"


def admitted(
    labels: dict[str, str],
    annotations: dict[str, str],
    pod: dict[str, str],
    scheduler: str = "",
) -> tuple[str, Recognised]:
    spec: dict[str, Any] = {"containers": [], **({"schedulerName": scheduler} if scheduler else {})}
    manifest: dict[str, Any] = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a", "namespace": "n", "labels": labels, "annotations": annotations},
        "spec": {
            "leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": {"metadata": {"annotations": pod}, "spec": spec},
            }
        },
    }
    (group,) = Documents([Document(manifest=manifest, builder="")]).groups()
    return recognised(group)


@pytest.mark.parametrize(
    ("labels", "annotations", "pod", "scheduler", "expected"),
    [
        ({}, {}, {}, "", ("none", Recognised())),
        (
            {},
            {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"},
            {},
            "",
            ("none", Recognised(placement=Placement("rack", "required"))),
        ),
        ({QUEUE: "q"}, {}, {}, "", ("kueue", Recognised("q"))),
        (
            {QUEUE: "q", "kueue.x-k8s.io/priority-class": "high"},
            {},
            {REQUIRED: "rack"},
            "",
            ("kueue", Recognised("q", "high", Placement("rack", "required"))),
        ),
        (
            {QUEUE: "q"},
            {},
            {PREFERRED: "rack"},
            "",
            ("kueue", Recognised("q", None, Placement("rack", "preferred"))),
        ),
        ({}, {VOLCANO: "q"}, {}, "volcano", ("volcano", Recognised("q"))),
        ({}, {}, {}, "volcano", ("volcano", Recognised())),
        (
            {},
            {},
            {"scheduling.k8s.io/group-name": "g"},
            "volcano",
            ("volcano-podgroup", Recognised()),
        ),
        # Another scheduler's pods are nobody's here.
        ({}, {VOLCANO: "q"}, {}, "other", ("none", Recognised())),
    ],
)
def test_a_set_is_admitted_by_the_backend_whose_marks_it_has(
    labels: dict[str, str],
    annotations: dict[str, str],
    pod: dict[str, str],
    scheduler: str,
    expected: tuple[str, Recognised],
) -> None:
    assert admitted(labels, annotations, pod, scheduler) == expected
