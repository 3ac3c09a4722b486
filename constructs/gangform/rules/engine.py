"""Command lines of engines against the group around them: GPUs, nodes, ranks, and variables that somebody fills in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Manifest, sequence, text
from gangform.engines.engine import EngineReading
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    SETS,
    Run,
    engine_of,
    gpus,
    over_groups,
    over_templates,
    own_workers,
    runs,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

TOO_FEW_GPUS = declare(
    "engine-needs-more-gpus",
    "The engine is told to use more GPUs than its group requests",
    Severity.BREAKS,
    "engines §1.2; design §4 Shape",
)
IDLE_GPUS = declare(
    "engine-leaves-gpus-idle",
    "The group requests more GPUs than the engine is told to use",
    Severity.DEGRADES,
    "engines §1.2; design §4 Shape",
)
NODES = declare(
    "engine-nodes-differ",
    "The engine waits for another number of nodes than the group has pods",
    Severity.BREAKS,
    "engines §1.2, §1.3",
)
NODES_LITERAL = declare(
    "engine-nodes-literal",
    "The number of nodes is written by hand beside the size of the group",
    Severity.STYLE,
    "engines §1.3",
)
NO_RANK = declare(
    "node-rank-missing",
    "A worker has no rank and takes rank 0, as the leader does: both wait for each other",
    Severity.BREAKS,
    "engines §1.1, §1.3",
)
RANK = declare(
    "node-rank-wrong",
    "A rank that is not the pod's own",
    Severity.BREAKS,
    "engines §1.3",
)
LEADER_HEADLESS = declare(
    "leader-headless",
    "The leader runs without its API server, so that nothing serves",
    Severity.BREAKS,
    "engines §1.3",
)
WORKER_SERVES = declare(
    "worker-not-headless",
    "A worker of several nodes is started as a server",
    Severity.BREAKS,
    "engines §0, §1.3",
)
SHELL = declare(
    "shell-variable-literal",
    "A shell variable where no shell runs: the process gets the dollar sign and the name",
    Severity.BREAKS,
    "Kubernetes: only $(NAME) is expanded in command and args",
)
VALUE = declare(
    "shell-variable-in-value",
    "A shell variable in the value of a variable: nothing fills it in",
    Severity.DEGRADES,
    "Kubernetes: only $(NAME) is expanded in env values",
)
UNDEFINED = declare(
    "variable-undefined",
    "A reference $(NAME) to a variable that the container does not have: it stays as it is written",
    Severity.BREAKS,
    "engines §1.3; Kubernetes: only variables before it are expanded",
)

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})
_SHELL_VARIABLE: Final = re.compile(r"(?<![\\$])\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)")
_REFERENCE: Final = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Za-z_][\w.-]*)\)")
_FROM_OUTSIDE: Final = re.compile(
    r"^(KUBERNETES_.*|TPU_.*|.*_SERVICE_(HOST|PORT)(_.*)?|.*_PORT(_.*)?)$"
)
"""Service links, and what the controller sets on other accelerators."""


def _reading(documents: Documents, pod: PodView | None) -> tuple[Run, EngineReading] | None:
    run = engine_of(documents, pod) if pod is not None else None
    return None if run is None or run.reading is None else (run, run.reading)


def _words(run: Run) -> Path:
    return (*run.path, "args" if "args" in run.container else "command")


def _nodes_word(run: Run, nodes: str) -> Path:
    """The word that holds the number of nodes, where one can tell."""
    words = sequence(run.container, "args")
    for index, word in enumerate(words):
        if isinstance(word, str) and "node" in word and word.endswith(f"={nodes}"):
            return (*run.path, "args", index)
        before = words[index - 1] if index else ""
        if word == nodes and isinstance(before, str) and "node" in before:
            return (*run.path, "args", index)
    return _words(run)


def _offered(group: GroupView, reading: EngineReading, documents: Documents) -> int | None:
    """GPUs that the engine may use; `None` where it does not say how far it reaches."""
    each = gpus(documents, group.leader)
    form = form_of(group.kind)
    if form is None or not form.can.runs_groups:
        # Several such objects, or several pods of one, may be joined by hand: then nobody knows the others.
        alone = reading.nodes is None and (
            (form is not None and form.can.whole_pods) or group.replicas == 1
        )
        return each if alone else None
    if reading.nodes is not None:
        workers = gpus(documents, group.workers) if group.workers is not None else 0
        return each + workers * (group.size - 1)
    return each if group.size == 1 else None


@rule(TOO_FEW_GPUS, kinds=WORKLOADS)
@over_groups
def engine_needs_more_gpus(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The product of the parallel sizes fits the group."""
    yield from _gpu_fault(group, documents, more=True)


@rule(IDLE_GPUS, kinds=WORKLOADS)
@over_groups
def engine_leaves_gpus_idle(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The product of the parallel sizes fills the group."""
    yield from _gpu_fault(group, documents, more=False)


def _gpu_fault(group: GroupView, documents: Documents, *, more: bool) -> Iterator[Fault]:
    found = _reading(documents, group.leader)
    if found is None:
        return
    run, reading = found
    offered = _offered(group, reading, documents)
    if reading.gpus is None or not offered or reading.gpus == offered:
        return
    if (reading.gpus > offered) == more:
        each = gpus(documents, group.leader)
        yield Fault(
            path=_words(run),
            what=f"the command line uses {reading.gpus} GPUs; {group.size} pods of {each} are "
            f"{offered}",
            fix=f"let tensor × pipeline × data be {offered}, or change size or GPUs",
            seen={"used": str(reading.gpus), "requested": str(offered)},
        )


@rule(NODES, kinds=SETS)
@over_groups
def engine_nodes_differ(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine waits for as many nodes as the group has pods."""
    for run, reading in _all(group, documents):
        nodes = reading.nodes or ""
        if nodes.isdecimal() and nodes != str(group.size):
            yield Fault(
                path=_nodes_word(run, nodes),
                what=f"the engine waits for {nodes} nodes; a group has {group.size} pods",
                fix=f"write $({lws.SIZE_VARIABLE})",
                seen={"nodes": nodes, "size": str(group.size)},
            )


@rule(NODES_LITERAL, kinds=SETS)
@over_groups
def engine_nodes_literal(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The number of nodes comes from the controller."""
    for run, reading in _all(group, documents):
        if reading.nodes == str(group.size):
            yield Fault(
                path=_nodes_word(run, reading.nodes),
                what=f"the number of nodes is the literal {reading.nodes}",
                fix=f"write $({lws.SIZE_VARIABLE}), which follows the size",
            )


def _all(group: GroupView, documents: Documents) -> Iterator[tuple[Run, EngineReading]]:
    for pod in (group.leader, own_workers(group)):
        if (found := _reading(documents, pod)) is not None:
            yield found


@rule(NO_RANK, kinds=SETS)
@over_groups
def node_rank_missing(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Workers say their rank."""
    found = _reading(documents, own_workers(group) or group.leader)
    if found is not None and group.size > 1:
        run, reading = found
        if reading.nodes is not None and reading.rank is None:
            yield Fault(
                path=_words(run),
                what="several nodes and no rank: every worker takes rank 0, the leader's",
                fix=f"add the rank $({lws.RANK_VARIABLE})",
            )


@rule(RANK, kinds=SETS)
@over_groups
def node_rank_wrong(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The leader has rank 0, and each worker its own."""
    workers = own_workers(group)
    led, worked = _reading(documents, group.leader), _reading(documents, workers)
    if workers is not None and led is not None:
        rank = led[1].rank or ""
        if led[1].nodes is not None and rank.isdecimal() and rank.strip("0"):
            yield Fault(
                path=_words(led[0]),
                what=f"the leader has rank {rank}; it is rank 0",
                fix=f"write the rank $({lws.RANK_VARIABLE})",
            )
    rank = (worked[1].rank or "") if worked is not None else ""
    own = rank == "1" and group.size == 2
    if worked is not None and rank.isdecimal() and not own:
        yield Fault(
            path=_words(worked[0]),
            what=f"all {group.size - 1} workers have rank {rank}",
            fix=f"write the rank $({lws.RANK_VARIABLE})",
        )


@rule(LEADER_HEADLESS, kinds=SETS)
@over_groups
def leader_headless(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The leader serves."""
    found = _reading(documents, group.leader)
    if found is not None and not found[1].serves_http:
        yield Fault(
            path=_words(found[0]),
            what="the leader is headless: it opens no HTTP port",
            fix="remove the flag from the leader",
        )


@rule(WORKER_SERVES, kinds=SETS)
@over_groups
def worker_not_headless(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A worker of several nodes runs its ranks and no server, unless it is meant to serve."""
    found = _reading(documents, own_workers(group))
    if found is None:
        return
    run, reading = found
    meant = "ports" in run.container or any(
        key in run.container for key in ("startupProbe", "readinessProbe", "livenessProbe")
    )
    if reading.nodes is not None and reading.serves_http and not meant:
        yield Fault(
            path=_words(run),
            what="the worker starts an API server for ranks that the leader serves",
            fix="start it headless",
        )


# ── variables ────────────────────────────────────────────────────────────────────────────────────


def _texts(container: Manifest) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for index, word in enumerate(sequence(container, key)):
            if isinstance(word, str):
                yield (key, index), word


def _in_shell(container: Manifest) -> bool:
    """Whether a shell reads the words; an image's own entry point is taken for none."""
    command = [word for word in sequence(container, "command") if isinstance(word, str)]
    words = [*command, *(w for w in sequence(container, "args") if isinstance(w, str))]
    return any(PurePosixPath(word).name in _SHELLS for word in words[:3])


@rule(SHELL, kinds=WORKLOADS)
@over_templates
def shell_variable_literal(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Words that no shell reads hold no shell variables."""
    for run in runs(pod):
        if _in_shell(run.container) or not sequence(run.container, "command"):
            continue
        for path, word in _texts(run.container):
            for found in _SHELL_VARIABLE.findall(word):
                name = found.strip("${}")
                yield Fault(
                    path=(*run.path, *path),
                    what=f"`{found}` reaches `{text(run.container, 'name')}` as it is written",
                    fix=f"write $({name}), with {name} among the container's variables",
                )


@rule(VALUE, kinds=WORKLOADS)
@over_templates
def shell_variable_in_value(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Values of variables hold no shell variables."""
    for run in runs(pod):
        for index, variable in enumerate(sequence(run.container, "env")):
            value = text(variable, "value")
            if found := _SHELL_VARIABLE.fullmatch(value):
                name = found[0].strip("${}")
                yield Fault(
                    path=(*run.path, "env", index, "value"),
                    what=f"{text(variable, 'name')} is the text `{value}`",
                    fix=f"take it from a Secret or ConfigMap, or write $({name})",
                )


@rule(UNDEFINED, kinds=WORKLOADS)
@over_templates
def variable_undefined(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Every $(NAME) is a variable of the container that stands before it."""
    form = form_of(pod.document.kind)
    injected = form is not None and form.rendezvous() is not None
    own = {lws.ADDRESS_VARIABLE, lws.SIZE_VARIABLE, lws.RANK_VARIABLE} if injected else set()
    for run in runs(pod):
        if sequence(run.container, "envFrom"):
            continue
        names = set(own)
        for index, variable in enumerate(sequence(run.container, "env")):
            for name in _REFERENCE.findall(text(variable, "value")):
                if name not in names and not _FROM_OUTSIDE.match(name):
                    yield _undefined((*run.path, "env", index, "value"), name, names)
            names.add(text(variable, "name"))
        if _in_shell(run.container):
            continue
        for path, word in _texts(run.container):
            for name in _REFERENCE.findall(word):
                if name not in names and not _FROM_OUTSIDE.match(name):
                    yield _undefined((*run.path, *path), name, names)


def _undefined(path: Path, name: str, names: set[str]) -> Fault:
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    return Fault(
        path=path,
        what=f"no variable {name} is defined before it, so that `$({name})` stays as it is",
        fix=f"write $({close[0]})" if close else f"add {name} to the container's env, before it",
        seen={"variable": name},
    )
