"""What a user's own code changes is written, judged and refused like everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cdk8s.charts import app_in, asked, cluster_of, foreign, rendered
from tests.matrix import LIBRARY

from gangform.findings import InputError
from gangform.inputs.serving import Parallelism, Patch
from gangform.plan.serving import plan_serving

pytestmark = pytest.mark.node


def test_a_harmless_patch_of_the_users_code_is_written(tmp_path: Path) -> None:
    app, _, made = foreign(tmp_path)
    import cdk8s

    made.find("Service").add_json_patch(cdk8s.JsonPatch.add("/metadata/labels/team", "search"))
    app.synth()
    text = (tmp_path / "theirs.k8s.yaml").read_text()
    assert text.count("team: search") == 1
    assert len(text) == len(rendered(asked()).to_yaml()) + len("    team: search\n")


def test_an_object_that_changes_after_a_judgement_is_judged_again(tmp_path: Path) -> None:
    _, _, made = foreign(tmp_path)
    import cdk8s

    assert made.faults() == []
    service = made.find("Service")
    service.add_json_patch(cdk8s.JsonPatch.replace("/spec/ports/0/targetPort", "grpc"))
    broken = made.faults()
    assert broken != []
    assert made.faults() == broken


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        # Requests would go to workers too, which have no server.
        ("Service", "/spec/selector", {"leaderworkerset.sigs.k8s.io/name": "r1"}),
        # No rollout could move.
        (
            "LeaderWorkerSet",
            "/spec/rolloutStrategy/rollingUpdateConfiguration/maxUnavailable",
            0,
        ),
        # A budget of one group in maxUnavailable expects more pods than the group has.
        (
            "PodDisruptionBudget",
            "/spec/selector/matchLabels/leaderworkerset.sigs.k8s.io~1group-index",
            "0",
        ),
        # The pods' ports would be elsewhere.
        ("Service", "/spec/ports/0/targetPort", "grpc"),
    ],
)
def test_a_patch_that_breaks_a_rule_stops_synth_with_our_words(
    tmp_path: Path, kind: str, path: str, value: Any
) -> None:
    app, _, made = foreign(tmp_path)
    import cdk8s

    made.find(kind).add_json_patch(cdk8s.JsonPatch.add(path, value))
    with pytest.raises(RuntimeError) as caught:
        app.synth()
    text = str(caught.value)
    assert "error[" in text
    assert f"{kind}/r1" in text
    assert "fix: " in text
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_bad_serving_is_refused_before_any_object_is_made(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import InferenceBundle

    chart = cdk8s.Chart(app, "theirs")
    bad = asked(parallelism=Parallelism(tensor=6), context=10**6)
    with pytest.raises(InputError) as caught:
        InferenceBundle(chart, "r1", serving=bad, cluster=cluster_of(), library=LIBRARY)
    # Everything that is wrong at once.
    assert len(caught.value.findings) > 1
    assert chart.to_json() == []
    assert list(chart.node.children) == []


def test_a_bad_sum_of_servings_is_refused_before_any_object_is_made(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    import cdk8s

    from gangform.chart import ClusterFoundation

    chart = cdk8s.Chart(app, "theirs")
    pool = cluster_of().pools["small"].model_copy(update={"nodes": 5})
    cluster = cluster_of().model_copy(update={"pools": {"small": pool}})
    plans = [plan_serving(asked(), cluster=cluster, library=LIBRARY)]
    with pytest.raises(InputError, match="pool-too-small"):
        ClusterFoundation(chart, "foundation", cluster=cluster, servings=plans)
    assert chart.to_json() == []


def test_patches_of_the_serving_are_in_the_chart(tmp_path: Path) -> None:
    patched = asked(
        patches=(
            Patch(kind="Service", merge={"metadata": {"annotations": {"example.com/x": "y"}}}),
            Patch(
                kind="LeaderWorkerSet",
                operations=(
                    {
                        "op": "add",
                        "path": "/spec/leaderWorkerTemplate/leaderTemplate/spec/hostname",
                        "value": "lead",
                    },
                ),
            ),
        )
    )
    app, _, made = foreign(tmp_path, patched)
    app.synth()
    assert made.find("Service").to_json()["metadata"]["annotations"] == {"example.com/x": "y"}
    content = (tmp_path / "theirs.k8s.yaml").read_bytes()
    assert content == rendered(patched).to_yaml()
    assert b"hostname: lead" in content
