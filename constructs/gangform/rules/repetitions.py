"""Variables that stand in a container twice: one applies them or not, by the way in which it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import Node, dig, sequence, text
from gangform.findings import Severity, declare
from gangform.rules.joins import over_templates, runs
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

TWICE = declare(
    "variable-given-twice",
    "A variable has two values: the last one counts, and server-side apply refuses the object",
    Severity.DEGRADES,
    "core/v1 EnvVar: a map by name",
)
REPEATED = declare(
    "variable-repeated",
    "A variable is written twice with one value: server-side apply refuses the object",
    Severity.STYLE,
    "core/v1 EnvVar: a map by name",
)


@rule(TWICE, kinds=WORKLOADS)
@over_templates
def variable_given_twice(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A variable has one value."""
    yield from _again(pod, same=False)


@rule(REPEATED, kinds=WORKLOADS)
@over_templates
def variable_repeated(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A variable is written once."""
    yield from _again(pod, same=True)


def _again(pod: PodView, *, same: bool) -> Iterator[Fault]:
    """The variables that stand in a container before, with the value that they have or with another."""
    for run in runs(pod):
        known: dict[str, tuple[Node | None, Node | None]] = {}
        for index, variable in enumerate(sequence(run.container, "env")):
            name = text(variable, "name")
            value = (dig(variable, "value"), dig(variable, "valueFrom"))
            if name and name in known and (known[name] == value) is same:
                said = "with the same value" if same else "with another value, which counts"
                yield Fault(
                    path=(*run.path, "env", index, "name"),
                    what=f"`{name}` stands twice in `{text(run.container, 'name')}`, here {said}",
                    fix="keep one of them",
                    seen={"variable": name},
                )
            known[name] = value
