"""`gangform plan drain`: what a drain or a loss of nodes takes down, for the plan's own map or for pods that run.

For machines (`-o json`) the result is a list of objects: `cluster`, `lies` (`assumed` or `seen`), `places` (what goes:
names of nodes or domains), and `losses`: `serving`, `groups`, `of`, `notServing` (groups broken before anything
goes), `remaining`, `drainFloor`, `drain` (`group`, `answer`, `budget`), `home`, `back` and `drained` (seconds). A key
whose value is not known is left out.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gangform.cli.files import read_stream
from gangform.cli.findings import refused
from gangform.cli.selection import select
from gangform.cli.table import Block, Cells, as_markdown, as_text, structured
from gangform.cli.terminal import UsageError, say, tell
from gangform.findings import InputError, either
from gangform.report import losses as words

if TYPE_CHECKING:
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.homes import Held
    from gangform.plan.loss import Loss, Row

_COMMAND = "kubectl get pods -A -o json"


def drain(arguments: Namespace, nodes: Sequence[str]) -> int:
    """Say what goes with these nodes; without any, with every node and domain of the map."""
    spans = None
    arguments.servings = []
    try:
        from gangform.synth import plan_fleet

        chosen = select(arguments)
        spans = chosen.loaded.spans
        plans = plan_fleet(chosen.loaded.fleet, chosen.loaded.library, clusters=chosen.clusters)
    except InputError as error:
        return refused(error, spans)
    made = [
        (one, rows)
        for one, rows in _rows(plans, nodes, arguments.pods)
        if rows or not nodes or len(plans) == 1
    ]
    lies = "seen" if arguments.pods else "assumed"
    if arguments.output in ("json", "yaml"):
        data = [_record(one, row, lies) for one, rows in made for row in rows]
        say(structured(data, arguments.output))
        return 0
    blocks = [_block(one, rows, lies) for one, rows in made]
    say(as_markdown(blocks) if arguments.output == "markdown" else as_text(blocks))
    tell(words.COUNTED_FROM)
    for line in words.by_node_autoscaler(made):
        tell(line)
    for one, _ in made:
        _unchecked(one, lies)
    return 0


def _unchecked(plan: ClusterPlan, lies: str) -> None:
    if lies == "seen":
        tell("Not checked whether the groups find a place elsewhere: pods do not say what is free.")
        return
    blind = [one.pool for one in plan.pools if one.nodes is None and not one.domains]
    if blind:
        tell(
            f"Not checked: no inventory of {', '.join(blind)}; `gangform cluster import` makes one, --pods reads pods."
        )


# ── what goes ────────────────────────────────────────────────────────────────────────────────────


def _rows(
    plans: Sequence[ClusterPlan], nodes: Sequence[str], pods: str | None
) -> Iterator[tuple[ClusterPlan, list[Row]]]:
    from gangform.plan.loss import Row, assumed, losses, places, table

    if pods is not None:
        yield from _seen(plans, nodes, pods)
        return
    known = [(one, places(one)) for one in plans]
    _known(nodes, {name for _, names in known for name in names}, "of the plan's map")
    for plan, names in known:
        if not nodes:
            yield plan, list(table(plan))
            continue
        gone = frozenset(node for name in nodes for node in names.get(name, ()))
        found = losses(plan, assumed(plan), gone, on_map=True)
        yield plan, [Row(tuple(name for name in nodes if name in names), found)] if gone else []


def _seen(
    plans: Sequence[ClusterPlan], nodes: Sequence[str], pods: str
) -> Iterator[tuple[ClusterPlan, list[Row]]]:
    from gangform.documents.objects import read_objects
    from gangform.plan.loss import Row, losses
    from gangform.plan.seen import nodes_with_pods, seen

    if len(plans) > 1:
        raise UsageError(
            f"--pods are those of one cluster: --cluster {plans[0].cluster.name}, or another"
        )
    text, shown = read_stream(pods, _COMMAND)
    running = [one for one in read_objects(text, shown) if one.get("kind") == "Pod"]
    if not running:
        raise UsageError(f"{shown} holds no Pod; wanted is what `{_COMMAND}` prints")
    _known(nodes, set(nodes_with_pods(running)), f"that a pod of {shown} runs on")
    (plan,) = plans
    held: Sequence[Held] = seen(plan, running)
    if nodes:
        yield plan, [Row(tuple(nodes), losses(plan, held, nodes, on_map=False))]
        return
    each = sorted({node for one in held for node in one.nodes})
    yield plan, [Row((node,), losses(plan, held, [node], on_map=False)) for node in each]


def _known(nodes: Sequence[str], known: set[str], whose: str) -> None:
    for node in nodes:
        if node not in known:
            from gangform.inputs.nearest import nearest

            near = [one for one in sorted(known) if one.endswith(f"/{node}")][:3]
            near = near or nearest(node, sorted(known))
            hint = f"did you mean {either(near)}?" if near else "`gangform plan drain` lists them"
            raise UsageError(f"there is no node or domain `{node}` {whose}; {hint}")


# ── what is printed ──────────────────────────────────────────────────────────────────────────────


def _block(plan: ClusterPlan, rows: Sequence[Row], lies: str) -> Block:
    title = f"{plan.cluster.name}: what is lost with it, " + (
        "by the pods that run" if lies == "seen" else "as the plan assumes that groups lie"
    )
    cells: list[Cells] = []
    for row in rows:
        where = words.places(row.names)
        for loss in row.losses or (None,):
            cells.append((where, *words.cells(loss)))
            where = ""
    return Block(
        title=title,
        columns=words.COLUMNS,
        rows=cells,
        empty="nothing lies on it" if lies == "seen" else "no group is on the map",
    )


def _record(plan: ClusterPlan, row: Row, lies: str) -> dict[str, Any]:
    return {
        "cluster": plan.cluster.name,
        "lies": lies,
        "places": list(row.names),
        "losses": [_loss(loss) for loss in row.losses],
    }


def _loss(loss: Loss) -> dict[str, Any]:
    known = {
        "serving": loss.serving,
        "groups": list(loss.groups),
        "of": loss.of,
        "remaining": loss.lost,
        "drainFloor": loss.floor,
        "drain": [one._asdict() for one in loss.drain],
        "notServing": list(loss.broken),
        "home": loss.home,
        "back": None if loss.back is None else int(loss.back),
        "drained": None if loss.drained is None else int(loss.drained),
    }
    return {key: value for key, value in known.items() if value is not None}
