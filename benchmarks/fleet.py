"""The fleets that are measured: one rack of eight nodes, and up to four groups in it, for each serving.

    python benchmarks/fleet.py 10 FOLDER

writes one fleet three times: `gangform.yaml`; the shipped cdk8s app over it; and `values.yaml` for the Helm chart
beside this file, which makes the same objects.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CHART = HERE / "chart"
NAMESPACES = ("llm", "code", "chat", "batch")
PER_SERVING = 7
"""LeaderWorkerSet, Service, ServiceAccount, PodDisruptionBudget, autoscaler, PodMonitor, PrometheusRule."""


class Kind(NamedTuple):
    """A serving of the fleet. gangform derives the last two itself; a chart has to be told."""

    model: str
    context: int
    expert_parallel: bool
    ready_seconds: int
    start_within: str


KINDS = (
    Kind("llama-3.1-405b", 32768, False, 930, "20m27s"),
    Kind("deepseek-r1", 32768, False, 850, "19m2s"),
    Kind("qwen3-coder-480b-fp8", 65536, True, 700, "16m38s"),
)

_CLUSTER = """\
version: 1
defaults: 1
cluster:
  name: prod
  versions: {{kubernetes: "1.36", lws: "0.9", kueue: "0.17"}}
  foundation: all
  gitops: argocd
  lwsSchedulerProvider: none
  kueue: {{lwsFramework: enabled, waitForPodsReady: disabled}}
  metricsAdapter: external
  monitoring:
    labels: {{release: kube-prometheus-stack}}
  pools:
    h100:
      hardware: h100-8x
      nodes: {nodes}
      levels: [topology.example.com/block, topology.example.com/rack, kubernetes.io/hostname]
      domains:
{domains}
servings:
"""

_SERVING = """\
  - name: {name}
    namespace: {namespace}
    model: {kind.model}
    pool: h100
    engine: {{name: vllm, version: "0.33.0"}}
    parallelism: {{tensor: 8, pipeline: 2{expert_parallel}}}
    autoscaling: {{min: 2, max: 4, target: 12}}
    context: {kind.context}
    weights: {{source: claim, claim: models, path: {kind.model}, readBandwidth: 2GiB/s}}
    topology: {{level: topology.example.com/rack, mode: required}}
    admission: {{backend: kueue, queue: serving}}
"""

_VALUES = """\
  - name: {name}
    namespace: {namespace}
    model: {kind.model}
    context: {kind.context}
    tensor: 8
    pipeline: 2
    expertParallel: {expert_parallel}
    min: 2
    max: 4
    target: 12
    readySeconds: {kind.ready_seconds}
    startWithin: {kind.start_within}
"""


def namespaces(count: int) -> tuple[str, ...]:
    """Those that the first servings lie in."""
    return NAMESPACES[:count]


def names(count: int) -> list[str]:
    return [f"{_kind(index).model.replace('.', '-')}-{index:03}" for index in range(count)]


def fleet(count: int) -> str:
    """`gangform.yaml` of so many servings."""
    domains = "\n".join(
        f"        - {{at: [b{rack // 8}, r{rack}], nodes: 8}}" for rack in range(count)
    )
    servings = [
        _SERVING.format(
            name=name,
            namespace=NAMESPACES[index % len(NAMESPACES)],
            kind=_kind(index),
            expert_parallel=", expertParallel: true" if _kind(index).expert_parallel else "",
        )
        for index, name in enumerate(names(count))
    ]
    return _CLUSTER.format(nodes=8 * count, domains=domains) + "".join(servings)


def values(count: int) -> str:
    """The same servings for the Helm chart."""
    servings = [
        _VALUES.format(
            name=name,
            namespace=NAMESPACES[index % len(NAMESPACES)],
            kind=_kind(index),
            expert_parallel=str(_kind(index).expert_parallel).lower(),
        )
        for index, name in enumerate(names(count))
    ]
    head = f"nodes: {8 * count}\nnamespaces: [{', '.join(namespaces(count))}]\nservings:\n"
    return head + "".join(servings)


def write(folder: Path, count: int) -> None:
    """A project with the fleet, with the shipped cdk8s app, and with values for the chart."""
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    (folder / "gangform.yaml").write_text(fleet(count))
    (folder / "values.yaml").write_text(values(count))
    shutil.copy(HERE.parent / "charts" / "main.py", folder / "charts" / "main.py")
    shutil.copy(HERE.parent / "cdk8s.yaml", folder / "cdk8s.yaml")


def objects(count: int) -> int:
    """Objects that a fleet comes to, with Topology, ResourceFlavor, ClusterQueue, its rules and the LocalQueues."""
    return count * PER_SERVING + 4 + len(namespaces(count))


def _kind(index: int) -> Kind:
    return KINDS[index % len(KINDS)]


if __name__ == "__main__":
    wanted = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    wanted.add_argument("servings", type=int)
    wanted.add_argument("folder", type=Path)
    given = wanted.parse_args()
    write(given.folder, given.servings)
