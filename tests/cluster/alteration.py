"""A document with one field altered, and what follows: a server that refuses it, or one that takes it.

Paths have `>` between the keys; `...` leaves a field out. Short words stand for what lies deep: `P` is the pod spec of
the workers, `C` its engine container, `M` and `L` the metadata of workers and leader, `G` the group of a set, `Q` the
first resource group of a queue. A change of several paths alters each.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.cluster.api import Object

Changes = Mapping[str, Any]


class Refused(NamedTuple):
    """A change that our rules judge by a code, and a part of what the server says to it."""

    kind: str
    changes: Changes
    says: str


class Taken(NamedTuple):
    """A change that our rules let pass, and the server too; or one that the server alone takes."""

    kind: str
    changes: Changes


GROUP = "spec>leaderWorkerTemplate"
SHORT = {
    "P": f"{GROUP}>workerTemplate>spec",
    "C": f"{GROUP}>workerTemplate>spec>containers>0",
    "M": f"{GROUP}>workerTemplate>metadata",
    "L": f"{GROUP}>leaderTemplate>metadata",
    "G": GROUP,
    "Q": "spec>resourceGroups>0",
}


def altered(document: Object, changes: Changes) -> Object:
    """A copy of a document with other values."""
    made = copy.deepcopy(document)
    for path, value in changes.items():
        head, _, rest = path.partition(">")
        *way, last = f"{SHORT.get(head, head)}>{rest}".rstrip(">").split(">")
        node: Any = made
        for part in way:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        if isinstance(node, list):
            node[int(last) : int(last) + 1] = [] if value is ... else [value]
        elif value is ...:
            node.pop(last, None)
        else:
            node[last] = copy.deepcopy(value)
    return made
