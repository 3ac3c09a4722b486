"""`gangform plan`: what every serving takes, in words and numbers, and what has to be there first.

The numbers are the plan's; nothing is derived here but sums of what stands beside each other. What machines get is
described in `record`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gangform.cli import cold_start, shapes
from gangform.cli.findings import as_data, refused, show, summary
from gangform.cli.room import capacity_rows, map_rows, update_rows
from gangform.cli.selection import select
from gangform.cli.table import Block, Cells, as_markdown, as_text, structured
from gangform.cli.terminal import UsageError, say, tell
from gangform.findings import InputError, Prerequisite, counted

if TYPE_CHECKING:
    from gangform.engines.engine import Launch, Probe
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.memory import MemoryPlan, Stage
    from gangform.plan.serving import ServingPlan
    from gangform.plan.ways import Way


def plan(arguments: Namespace) -> int:
    """Show the plan. Errors do not hide it: they are said beside it, and are the exit code."""
    if arguments.servings[:1] == ["drain"]:
        from gangform.cli.drain import drain

        return drain(arguments, arguments.servings[1:])
    if arguments.pods is not None:
        raise UsageError("--pods: only with `gangform plan drain`")
    spans = None
    try:
        from gangform.synth import plan_fleet

        chosen = select(arguments)
        spans = chosen.loaded.spans
        if arguments.pin:
            from gangform.cli.pin import pin

            chosen = select(arguments) if pin(chosen) else chosen
            spans = chosen.loaded.spans
        fleet, library = chosen.loaded.fleet, chosen.loaded.library
        plans = plan_fleet(fleet, library, clusters=chosen.clusters, search=arguments.shapes)
    except InputError as error:
        return refused(error, spans, "nothing was written" if arguments.pin else "")
    found = [finding for one in plans for finding in one.every_finding]
    wanted = frozenset(chosen.servings)
    if arguments.output in ("json", "yaml"):
        from gangform.cli.record import record

        data = {**record(plans, wanted), "findings": as_data(found, spans)}
        say(structured(data, arguments.output))
    else:
        blocks = list(
            _report(plans, wanted, arguments.output, asked=arguments.shapes or arguments.pin)
        )
        say(as_markdown(blocks) if arguments.output == "markdown" else as_text(blocks))
        show(found, spans)
        if found:
            tell(summary(found))
    return 1 if any(finding.breaks for finding in found) else 0


def _report(
    plans: Sequence[ClusterPlan], wanted: frozenset[str], form: str, *, asked: bool
) -> Iterator[Block]:
    """Verdicts first. The arithmetic and the prerequisites follow where one serving is meant, or all of it is asked."""
    from gangform.cli.verdicts import verdicts

    chosen = [(one, chosen_servings(one, wanted)) for one in plans]
    chosen = [(one, servings) for one, servings in chosen if servings or not wanted]
    meant = sum(len(servings) for _, servings in chosen)
    details = asked or bool(wanted) or meant == 1 or form in ("wide", "markdown")
    needs = sum(len(prerequisites(one, wanted)) for one, _ in chosen)
    yield from verdicts(chosen, needs, details=details)
    if details:
        for one, _ in chosen:
            yield from _cluster(one, wanted, form)
        for one, _ in chosen:
            yield _prerequisites(one, wanted)


def chosen_servings(plan: ClusterPlan, wanted: frozenset[str]) -> tuple[ServingPlan, ...]:
    """The servings that were asked for; all of them where none was."""
    return tuple(one for one in plan.servings if not wanted or one.name in wanted)


def prerequisites(plan: ClusterPlan, wanted: frozenset[str]) -> tuple[Prerequisite, ...]:
    """What has to be there for the cluster and for the chosen servings, each once."""
    own = [need for one in chosen_servings(plan, wanted) for need in one.prerequisites]
    return tuple(dict.fromkeys([*plan.prerequisites, *own]))


# ── a cluster ────────────────────────────────────────────────────────────────────────────────────


def _cluster(plan: ClusterPlan, wanted: frozenset[str], form: str) -> Iterator[Block]:
    yield Block(
        title=f"Cluster {plan.cluster.name}", rows=list(cluster_rows(plan, wide=form == "wide"))
    )
    for serving in chosen_servings(plan, wanted):
        yield Block(
            title=f"{plan.cluster.name} / {serving.name}",
            rows=list(serving_rows(serving, plan, wide=form == "wide")),
            level=2,
        )


def cluster_rows(plan: ClusterPlan, *, wide: bool) -> Iterator[Cells]:
    """What is said of a cluster: a label and a text each."""
    cluster = plan.cluster
    versions = cluster.versions.model_dump(by_alias=True, exclude_none=True)
    yield "releases", ", ".join(f"{name} {version}" for name, version in versions.items())
    yield "foundation", cluster.foundation
    yield "defaults", f"edition {plan.defaults.edition}"
    for pool, resources in plan.quota.items():
        amounts = ", ".join(f"{name} {amount}" for name, amount in resources.spelled().items())
        yield f"quota of {pool}", f"{amounts} (all groups, surge and spare included)"
    for one, capacity in zip(plan.pools, plan.capacity, strict=True):
        has = "no inventory, so not checked" if one.nodes is None else f"it has {one.nodes}"
        yield (
            f"pool {one.pool}",
            f"{counted(one.needed, 'node')} filled, {one.peak} at the peak; {has}",
        )
        yield from capacity_rows(capacity)
        if cluster.pools[one.pool].domains is None:
            continue
        for packing in one.packings:
            where = f", each whole in a domain of {packing.level}" if packing.level else ""
            yield (
                f"  {packing.workload}",
                f"{packing.placed} of {packing.wanted + packing.extra} groups find a place, surge and spare "
                f"included{where}; the loss of one {packing.spread or 'pool'} takes up to {packing.most_in_one}",
            )
        if wide:
            yield from map_rows(one.domains)


def _prerequisites(plan: ClusterPlan, wanted: frozenset[str]) -> Block:
    return Block(
        title=f"Prerequisites of {plan.cluster.name}",
        columns=("what", "check", "without"),
        rows=[(one.what, one.check, one.without) for one in prerequisites(plan, wanted)],
        stacked=True,
        code=("check",),
    )


# ── a serving ────────────────────────────────────────────────────────────────────────────────────


def serving_rows(plan: ServingPlan, cluster: ClusterPlan, *, wide: bool) -> Iterator[Cells]:
    """What is said of a serving: a label and a text each; without a label it goes on."""
    role, serving = plan.lead, plan.serving
    shape = role.shape
    yield "serves", f"{plan.model.name} in namespace {plan.namespace}, on pool {serving.pool}"
    yield "form", f"{plan.choice.form.kind}: {plan.choice.reason}"
    factors = {
        "tensor": shape.tensor,
        "pipeline": shape.pipeline,
        "data": shape.data,
        "prefillContext": shape.prefill_context,
    }
    split = " x ".join(
        f"{name} {count}" for name, count in factors.items() if count > 1 or name == "tensor"
    )
    extras = f", decodeContext {shape.decode_context}" if shape.decode_context > 1 else ""
    extras += ", whole experts on each rank" if shape.expert_parallel else ""
    yield "shape", f"{split} = {counted(shape.world, 'GPU')}{extras}"
    if plan.search is not None:
        yield from shapes.rows(plan, plan.search, wide=wide)
    highest, pods = serving.highest_groups, counted(shape.size, "pod")
    groups, each = counted(highest, "group"), counted(shape.gpus_per_pod, "GPU")
    if plan.lead.scaling:
        groups = f"{serving.idle_groups} to {groups}"
    yield "groups", f"{groups} x {pods} x {each} = {counted(highest * shape.gpus, 'GPU')}"
    doubted = ", ".join(role.hardware.unverified)
    if doubted:
        yield "not verified", f"{doubted} of hardware {role.hardware.name}: look at your nodes"
    yield from _memory(role.memory, plan.ways, wide=wide)
    yield from cold_start.rows(plan, wide=wide)
    if wide:
        yield from _wide(plan)
    yield from _qualified(plan)
    yield from _rollout(plan)
    yield from update_rows(plan, cluster, wide=wide)
    yield "drain", plan.disruption.drain
    if plan.disruption.autoscaler and (wide or plan.lead.pods.autoscaler != "unknown"):
        yield "node autoscaler", plan.disruption.autoscaler
    yield "termination", _termination(role.launch)
    yield "not stopped", plan.disruption.unstopped
    queue = f", queue {serving.admission.queue}" if serving.admission.queue else ""
    yield "admission", f"{serving.admission.backend}{queue}"
    placed = role.demand.placement
    if placed is not None:
        yield "placement", f"a group together in one domain of {placed.level} ({placed.mode})"
    elif shape.size > 1:
        yield "placement", "no level is declared, so a group may spread over the whole pool"
    scale = role.scaling
    if scale is not None:
        yield (
            "autoscaling",
            f"{scale.lowest} to {scale.highest} groups at {scale.target} of {scale.metric} a group; at most one more "
            f"in {scale.up_period}, one fewer in {scale.down_period} after {scale.down_window}",
        )
    for remark in plan.remarks:
        yield "remark", remark


def _qualified(plan: ServingPlan) -> Iterator[Cells]:
    found = plan.qualification
    if found is None:
        return
    doubts = "; ".join(map(str, found.differences))
    yield "qualified", f"measured on {found.date}{f', not re-measured: {doubts}' if doubts else ''}"
    if found.unknown:
        yield "", f"not compared, since nobody declares it: {', '.join(found.unknown)}"
    if found.rate is not None:
        yield "", f"{found.rate} tokens a second a group, {found.highest_rate} of all groups"


def _termination(launch: Launch) -> str:
    if launch.drain:
        return f"{launch.grace} grace, of which {launch.drain} to finish requests"
    return (
        f"{launch.grace} grace; the engine does not drain, so requests that outlast the {launch.leader.pre_stop} "
        "before it is told to stop are cut off"
    )


def _memory(plan: MemoryPlan, ways: Sequence[Way], *, wide: bool) -> Iterator[Cells]:
    yield "memory", f"{plan.verdict} ({'measured' if plan.measured else plan.source})"
    if not plan.measured:
        yield (
            "",
            f"{plan.visible.human()} visible x {plan.utilization} = {plan.share.human()} a GPU; "
            f"{plan.overhead.human()} overhead, error {plan.band.human()}",
        )
    if plan.heap:
        outside = f"of the {plan.outside.human()} outside the engine's share"
        where = "beside the fixed cache" if plan.pinned_by else outside
        yield "  heap", f"{plan.heap.human()} {where}"
    if wide and not plan.measured:
        for part in plan.parts:
            yield f"  {part.name}", f"{part.size.human()} ({part.source})"
    for name, stage in _stages(plan.stages, wide=wide):
        sums = f"{stage.available.human()} measured"
        if plan.pinned_by:
            sums = f"{stage.available.human()} fixed by {plan.pinned_by}"
        elif not plan.measured:
            beside = f"{stage.weights.human()} weights - {stage.overhead.human()}"
            sums = f"{plan.share.human()} - {beside} = {stage.available.human()}"
        yield name, f"{stage.layers} layers; {sums} for the cache; {_tokens(stage)}"
        if wide and stage.held is not None:
            held = stage.held
            yield (
                "",
                f"weights: {held.experts.human()} experts, {held.cut.human()} cut over tensor ranks, "
                f"{held.whole.human()} whole on each, {held.tables.human()} embedding and head",
            )
    one = f"one alone finds room for {plan.longest} tokens"
    if plan.tokens is not None:
        room = f"{plan.tokens} tokens a rank, {plan.requests} requests"
    elif plan.requests == plan.requests_most:
        room = f"{plan.requests} requests"
    else:
        room = f"{plan.requests} to {plan.requests_most} requests"
    yield "cache", f"{room} of {plan.context} tokens a group; {one}"
    for way in ways:
        yield "  way out", way.text


def _tokens(stage: Stage) -> str:
    """What tokens and requests take: a number of tokens where all layers are alike, else two numbers."""
    each = f"{stage.cache_per_token} bytes a token"
    if stage.tokens is not None:
        return f"{each}: {stage.tokens} tokens"
    return f"{stage.cache_fixed.human()} a request and {each}"


def _stages(stages: Sequence[Stage], *, wide: bool) -> Iterator[tuple[str, Stage]]:
    """Each stage by its number; neighbours that are alike in one line, unless all are wanted."""
    number = 0
    for _, alike in groupby(enumerate(stages), key=lambda pair: pair if wide else pair[1]):
        here = [stage for _, stage in alike]
        last = number + len(here) - 1
        yield f"  stage {number}" if last == number else f"  stages {number} to {last}", here[0]
        number = last + 1


def _rollout(plan: ServingPlan) -> Iterator[Cells]:
    rollout, shape = plan.lead.rollout, plan.lead.shape
    pair = f"maxSurge {rollout.max_surge}, maxUnavailable {rollout.max_unavailable}"
    yield "rollout", f"{pair}: {rollout.reason}"
    each = (
        f"over {len(plan.workloads)} workloads, one after another: " if plan.workloads[1:] else ""
    )
    yield (
        "",
        f"{each}at most {counted(rollout.peak, 'group')} = {counted(rollout.peak * shape.gpus, 'GPU')} at once, "
        f"at least {rollout.floor} serving, about {rollout.duration} in all"
        + (
            "; the peak at the autoscaler's maximum, the rest at its minimum"
            if plan.lead.scaling is not None
            else ""
        ),
    )
    if rollout.partition:
        more = rollout.peak - (plan.lead.replicas or rollout.peak)
        stays = f", and {counted(more, 'surge group')} as long beside them" if more else ""
        yield "", f"groups 0 to {rollout.partition - 1} keep the old revision{stays}"
    if rollout.spare:
        yield "", f"{counted(rollout.spare, 'spare group')} kept free in the pool"


def _wide(plan: ServingPlan) -> Iterator[Cells]:
    launch = plan.lead.launch
    probes = {
        "startup": launch.leader.startup,
        "readiness": launch.leader.readiness,
        "liveness": launch.leader.liveness,
    }
    for name, probe in probes.items():
        if probe is not None:
            yield f"{name} probe", _probe(probe)
    requests = plan.lead.pods.requests.spelled()
    yield "pod requests", ", ".join(f"{name} {amount}" for name, amount in requests.items())
    yield "image", launch.image
    yield "workloads", ", ".join(workload.name for workload in plan.workloads)


def _probe(probe: Probe) -> str:
    return (
        f"GET {probe.path} on {probe.port} every {probe.period}, {probe.failures} failures, "
        f"timeout {probe.timeout}"
    )
