"""The cdk8s app: the fleet of `gangform.yaml` as real constructs, one App per cluster.

`cdk8s synth` runs it and gives the output folder in CDK8S_OUTDIR, which Node would read only once, at import.
"""

import os
from pathlib import Path

OUT = Path(os.environ.get("CDK8S_OUTDIR") or "dist")

import gangform.chart  # noqa: E402, I001  chooses a Node before cdk8s starts one
import cdk8s  # noqa: E402


def main() -> None:
    """Write every chart of every cluster."""
    loaded = gangform.load_fleet(Path(__file__).parent.parent / "gangform.yaml")
    for cluster in loaded.fleet.clusters:
        app = cdk8s.App(outdir=str(OUT / cluster.name))
        plans = []
        for serving in loaded.fleet.servings_of(cluster):
            made = gangform.InferenceChart(
                app, serving.name, serving=serving, cluster=cluster, library=loaded.library
            )
            plans.append(made.bundle.plan)
        chart = cdk8s.Chart(app, "foundation")
        foundation = gangform.ClusterFoundation(
            chart, "foundation", cluster=cluster, servings=plans
        )
        if not foundation.objects:
            app.node.try_remove_child("foundation")
        app.synth()


main()
