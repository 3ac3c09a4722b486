"""The constructs write the bytes of the command line."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests import matrix
from tests.cdk8s.charts import ROOT, app_in, cluster_of, environment
from tests.matrix import LIBRARY

from gangform.bundle import bundle
from gangform.inputs.load import load_fleet
from gangform.plan.serving import plan_serving
from gangform.synth import synthesise

pytestmark = pytest.mark.node


def test_the_app_of_the_fleet_writes_the_bytes_of_the_command_line(tmp_path: Path) -> None:
    """charts/main.py as cdk8s runs it: a process of its own, and the folder in its environment."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "charts" / "main.py")],
        cwd=ROOT,
        env=environment(CDK8S_OUTDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded = load_fleet(ROOT / "gangform.yaml")
    wanted = {file.path: file.content for file in synthesise(loaded.fleet, loaded.library).files}
    there = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(wanted)
    assert [path for path in wanted if there[path] != wanted[path]] == []


def test_combinations_of_all_that_can_be_asked_have_the_same_bytes(tmp_path: Path) -> None:
    """Two accepted combinations of every backend and form, as charts of one App."""
    app = app_in(tmp_path)
    from gangform.chart import InferenceChart

    wanted: dict[str, bytes] = {}
    forms: Counter[tuple[str, str]] = Counter()
    for number, combination in enumerate(matrix.sampled(24)):
        cluster = cluster_of(combination)
        serving = matrix.serving(combination, f"s{number}")
        plan = plan_serving(serving, cluster=cluster, library=LIBRARY)
        pair = (combination.backend, combination.form)
        if any(finding.breaks for finding in plan.findings) or forms[pair] == 2:
            continue
        forms[pair] += 1
        wanted[f"s{number}.k8s.yaml"] = bundle(plan).to_yaml()
        InferenceChart(app, serving.name, serving=serving, cluster=cluster, library=LIBRARY)
    app.synth()
    assert len(forms) >= 12
    assert len(wanted) >= 24
    there = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(there) == sorted(wanted)
    assert [name for name in wanted if there[name] != wanted[name]] == []
