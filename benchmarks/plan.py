"""How long it takes to plan a large fleet, once the program has started.

    python benchmarks/plan.py             10 rounds
    python benchmarks/plan.py --runs 3    a look

A hundred servings, five on each of twenty pools, with racks and blocks: shapes, memory, rollouts, quota, packing of
all groups into domains, and all checks, as `gangform plan` does it. What is printed is the time of reading, of
planning, and of both.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from fleet import KINDS, NAMESPACES  # noqa: E402

from gangform.inputs.load import Loaded, load_fleet  # noqa: E402
from gangform.synth import plan_fleet  # noqa: E402

POOLS, EACH = 20, 5
RACKS, NODES = 5, 8
LIMIT = 1.0
"""Seconds that planning may take on two processors."""

_HEAD = """\
version: 1
defaults: 1
cluster:
  name: prod
  versions: {kubernetes: "1.36", lws: "0.10", kueue: "0.19"}
  foundation: all
  metricsAdapter: external
  pools:
"""
_SERVING = """\
  - name: {name}
    namespace: {namespace}
    model: {kind.model}
    pool: p{pool}
    engine: {{name: vllm, version: "0.33.0"}}
    parallelism: {{tensor: 8, pipeline: 2{spread}}}
    autoscaling: {{min: 2, max: 4, target: 12}}
    context: {kind.context}
    topology: {{level: example.net/rack, mode: required}}
    admission: {{backend: kueue, queue: q{pool}}}
"""


def written() -> str:
    """The fleet as a file."""
    lines = [_HEAD]
    for pool in range(POOLS):
        domains = ", ".join(
            f"{{at: [b{pool}-{rack // 2}, r{pool}-{rack}], nodes: {NODES}}}"
            for rack in range(RACKS)
        )
        lines.append(
            f"    p{pool}:\n      hardware: h100-8x\n      nodes: {RACKS * NODES}\n"
            f"      nodeLabels: {{example.net/pool: p{pool}}}\n"
            f"      levels: [example.net/block, example.net/rack]\n      domains: [{domains}]\n"
        )
    lines.append("servings:\n")
    for number in range(POOLS * EACH):
        kind = KINDS[number % len(KINDS)]
        lines.append(
            _SERVING.format(
                name=f"model-{number}",
                namespace=NAMESPACES[number % len(NAMESPACES)],
                kind=kind,
                pool=number % POOLS,
                spread=", expertParallel: true" if kind.expert_parallel else "",
            )
        )
    return "".join(lines)


def read(path: Path) -> tuple[Loaded, float]:
    """The fleet, and the seconds it took to read."""
    start = time.perf_counter()
    loaded = load_fleet(path)
    return loaded, time.perf_counter() - start


def planned(loaded: Loaded) -> tuple[int, int, float]:
    """Servings, groups on the map, and the seconds it took to plan them."""
    start = time.perf_counter()
    (plan,) = plan_fleet(loaded.fleet, loaded.library)
    taken = time.perf_counter() - start
    laid = sum(len(run.groups) for pool in plan.pools for run in pool.runs)
    return len(plan.servings), laid, taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gangform.yaml"
        path.write_text(written(), encoding="utf-8")
        read(path)  # imports
        readings, plans = [], []
        for _ in range(runs):
            loaded, taken = read(path)
            readings.append(taken)
            servings, groups, taken = planned(loaded)
            plans.append(taken)
    both = [one + other for one, other in zip(readings, plans, strict=True)]
    print(
        f"{servings} servings on {POOLS} pools, {groups} groups laid on {POOLS * RACKS * NODES} nodes\n"
    )
    print(f"{'':12}{'best s':>8}{'median s':>10}")
    for name, taken in (("reading", readings), ("planning", plans), ("both", both)):
        print(f"{name:12}{min(taken):8.3f}{statistics.median(taken):10.3f}")
    met = "met" if min(plans) < LIMIT else "NOT MET"
    print(f"\naim: planning within {LIMIT} s, {met}")


if __name__ == "__main__":
    main()
