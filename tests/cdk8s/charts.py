"""Charts of somebody else, and the servings that stand in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import matrix
from tests.matrix import LIBRARY, Combination

from gangform.bundle import Bundle, bundle
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Serving
from gangform.plan.serving import plan_serving

if TYPE_CHECKING:
    import cdk8s

    from gangform.chart import InferenceBundle


ROOT = Path(__file__).parent.parent.parent
KUEUE = Combination(
    "kueue",
    "two pods",
    "derived",
    "LeaderCreated",
    "fixed",
    "serial",
    "claim",
    "derived",
    "none",
    "required",
)


def asked(combination: Combination = KUEUE, **changes: Any) -> Serving:
    """A serving called r1."""
    return matrix.serving(combination, "r1").model_copy(update=changes)


def cluster_of(combination: Combination = KUEUE) -> Cluster:
    return matrix.cluster(combination.backend, combination.gitops)


def app_in(folder: Path) -> cdk8s.App:
    """An App that writes into a folder."""
    import gangform.chart  # noqa: F401, I001  chooses a Node before cdk8s starts one
    import cdk8s

    return cdk8s.App(outdir=str(folder))


def foreign(
    folder: Path, serving: Serving | None = None, namespace: str | None = None
) -> tuple[cdk8s.App, cdk8s.Chart, InferenceBundle]:
    """A bundle in somebody else's chart `theirs`."""
    app = app_in(folder)
    import cdk8s

    from gangform.chart import InferenceBundle

    chart = cdk8s.Chart(app, "theirs", namespace=namespace)
    made = InferenceBundle(
        chart, "r1", serving=serving or asked(), cluster=cluster_of(), library=LIBRARY
    )
    return app, chart, made


def rendered(serving: Serving, combination: Combination = KUEUE) -> Bundle:
    return bundle(plan_serving(serving, cluster=cluster_of(combination), library=LIBRARY))


def environment(**changes: str) -> dict[str, str]:
    """The environment of a child that finds this package, without a choice of Node."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JSII_")}
    path = os.pathsep.join(filter(None, sys.path))
    return {**kept, "PYTHONPATH": path, **changes}
