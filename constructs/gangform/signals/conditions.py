"""What is wrong, in PromQL: the queries of replicas put against each other, whatever kind runs them."""

from gangform.apis import alerting
from gangform.apis.apps import GENERATED_BASE
from gangform.apis.promql import Exporter, boxed, equal, like, literal
from gangform.signals.queries import Replicas
from gangform.units import Seconds


def fewer(replicas: Replicas, quiet: Seconds, *, wanted: str) -> str:
    """Less ready than wanted: how many are ready. Silent while a rollout moves, which takes one after another down."""
    short = f"{boxed(replicas.ready)}\n< on (namespace)\n{wanted}"
    return f"{boxed(short)}\nunless on (namespace)\n{boxed(replicas.moving(quiet))}"


def nothing(replicas: Replicas, start: Seconds) -> str:
    """None ready although some are wanted, and have been for longer than a start takes or after one was ready.

    A first start and one from zero are no outage; an outage is told at once, however long the start after it takes.
    """
    began = f"{replicas.served_within(start)}\nor on (namespace)\n{replicas.known_before(start)}"
    return (
        f"{boxed(replicas.ready)} == 0\nand on (namespace)\n{replicas.wanted_throughout(start)} > 0\n"
        f"and on (namespace)\n{boxed(began)}"
    )


def mismatch(replicas: Replicas, service: str) -> str:
    """Endpoints of the Service that are not as many as replicas are ready, where slices are exported at all."""
    exporter = replicas.exporter
    slices = like("endpointslice", literal(f"{service}-"[:GENERATED_BASE]) + alerting.SLICE_SUFFIX)
    found = exporter.select(alerting.SLICE_ENDPOINTS, slices, equal("ready", "true"))
    pods = f"count by (namespace) (count by (namespace, targetref_name) ({found}))"
    known = f"count({exporter.everywhere(alerting.SLICE)})"
    endpoints = boxed(f"{pods}\nor on (namespace)\n0 * {replicas.wanted}")
    differ = f"{endpoints}\n!= on (namespace)\n{boxed(replicas.ready)}"
    return f"{boxed(differ)}\nand on ()\n{known}"


def at_maximum(exporter: Exporter, name: str) -> str:
    """An autoscaler that wants all it may: how many."""
    scaler = equal("horizontalpodautoscaler", name)
    wish = exporter.select(alerting.SCALER_WISH, scaler)
    most = exporter.select(alerting.SCALER_MAXIMUM, scaler)
    return f"max by (namespace) ({wish})\n>= on (namespace)\nmax by (namespace) ({most})"


def blind(replicas: Replicas, name: str) -> str:
    """An autoscaler that cannot read its metric; at zero it reads none, and that is no fault."""
    matchers = (
        equal("horizontalpodautoscaler", name),
        equal("condition", "ScalingActive"),
        equal("status", "false"),
    )
    found = replicas.exporter.select(alerting.SCALER_CONDITION, *matchers)
    return f"max by (namespace) ({found}) == 1\nand on (namespace)\n{replicas.wanted} > 0"


def signal_lost(replicas: Replicas, name: str, query: str, *, rests: bool) -> str:
    """A query that an autoscaler lives on and that has no result. `rests`: it has one at zero groups too."""
    most = replicas.exporter.select(alerting.SCALER_MAXIMUM, equal("horizontalpodautoscaler", name))
    there = f"max by (namespace) ({most})" if rests else f"{replicas.wanted} > 0"
    return f"{there}\nunless on ()\n{boxed(query)}"
