"""How an engine ends: its drain fits the grace period, workers outlast their leader, and a dead engine is seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents
from gangform.documents.document import dig, sequence, text, whole
from gangform.findings import Severity, declare
from gangform.rules.joins import engine_of, over_groups, over_templates, own_workers, read_runs
from gangform.rules.pods import DEFAULT_GRACE, pre_stop
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

DRAIN = declare(
    "grace-shorter-than-drain",
    "The grace period ends before the engine has drained: requests that it still answers are cut off",
    Severity.DEGRADES,
    "engines §1.7",
)
FIRST = declare(
    "workers-end-first",
    "Workers are killed while their leader still drains: the requests that it answers fail",
    Severity.DEGRADES,
    "engines §1.7",
)
KEPT = declare(
    "dead-engine-kept",
    "The server stays when its engine has died: no probe and no restart ends it",
    Severity.DEGRADES,
    "engines §1.5",
)
GENERATES = declare(
    "liveness-generates",
    "A liveness probe that runs a generation fails under load, and the engine is killed when it is busiest",
    Severity.STYLE,
    "engines §2.2",
)

_KEEP: Final = "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"
_GENERATION: Final = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"
_NO: Final = frozenset({"", "0", "false", "False"})


def _grace(pod: PodView) -> int:
    written = whole(pod.spec, "terminationGracePeriodSeconds")
    return DEFAULT_GRACE if written is None else written


@rule(DRAIN, kinds=WORKLOADS)
@over_templates
def grace_shorter_than_drain(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The grace period covers the preStop hook and the drain after it."""
    for run in read_runs(documents, pod):
        drain = run.reading.drain if run.reading is not None and run.reading.serves_http else 0
        before = pre_stop(dig(run.container, "lifecycle", "preStop")) or 0
        if drain and before <= _grace(pod) < before + drain:
            yield Fault(
                path=(*pod.path, "spec", "terminationGracePeriodSeconds"),
                what=f"preStop takes {before} s and the drain up to {drain} s; the grace period is "
                f"{_grace(pod)} s",
                fix=f"write terminationGracePeriodSeconds: {before + drain + 15}",
                seen={"grace": str(_grace(pod)), "drain": str(drain)},
            )


@rule(FIRST, kinds=WORKLOADS)
@over_groups
def workers_end_first(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Workers have as long as their leader."""
    workers, run = own_workers(group), engine_of(documents, group.leader)
    if workers is None or run is None or run.reading is None or not run.reading.drain:
        return
    if run.reading.nodes is not None and _grace(workers) < _grace(group.leader):
        yield Fault(
            path=(*workers.path, "spec", "terminationGracePeriodSeconds"),
            what=f"the workers have {_grace(workers)} s, the leader {_grace(group.leader)} s to drain",
            fix=f"write terminationGracePeriodSeconds: {_grace(group.leader)}",
        )


@rule(KEPT, kinds=WORKLOADS)
@over_templates
def dead_engine_kept(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A server whose engine died ends."""
    for run in read_runs(documents, pod):
        for index, variable in enumerate(sequence(run.container, "env")):
            value = text(variable, "value")
            if text(variable, "name") == _KEEP and value not in _NO:
                yield Fault(
                    path=(*run.path, "env", index),
                    what=f"{_KEEP} is {value}: the pod goes on answering errors",
                    fix="remove it",
                )


@rule(GENERATES, kinds=WORKLOADS)
@over_templates
def liveness_generates(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Liveness is asked cheaply."""
    for run in read_runs(documents, pod):
        paths = run.reading.generating_paths if run.reading is not None else frozenset[str]()
        path = text(run.container, "livenessProbe", "httpGet", "path")
        cheap = any(
            text(variable, "name") == _GENERATION and text(variable, "value") in _NO
            for variable in sequence(run.container, "env")
        )
        if path in paths and not cheap and not sequence(run.container, "envFrom"):
            yield Fault(
                path=(*run.path, "livenessProbe", "httpGet", "path"),
                what=f"{path} generates a token each time it is asked",
                fix=f'set {_GENERATION} to "false", or leave liveness out',
            )
