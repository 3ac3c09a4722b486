from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from gangform.findings import Finding, InputPath
from gangform.inputs.cluster import Cluster, Installed
from gangform.inputs.serving import Rollout
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]


@pytest.mark.parametrize(
    ("changes", "path", "lws", "since"),
    [
        ({"restart_policy": "RecreateGroupAfterStart"}, ("restartPolicy",), "0.8", "0.9"),
        ({"rollout": Rollout(canary_groups=1)}, ("rollout", "canaryGroups"), "0.5", "0.6"),
    ],
)
def test_a_field_that_the_release_lacks_is_refused_at_its_input(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    codes: Codes,
    changes: dict[str, object],
    path: tuple[str, ...],
    lws: str,
    since: str,
) -> None:
    def found(release: str) -> list[Finding]:
        on = make_cluster(versions=Installed(kubernetes="1.36", lws=release))
        plan = make_plan(on=on, **changes)
        return [one for one in plan.findings if one.code.id == "field-newer-than-release"]

    (one,) = found(lws)
    assert one.at == InputPath(("servings", "llm", *path))
    assert f"or upgrade to {since}" in one.fix
    assert found(since) == []
