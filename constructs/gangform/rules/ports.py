"""Which ports pods open, and how far that is known: nobody has to declare what a process listens on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import sequence, text, whole
from gangform.rules.joins import read_runs


class Opened(NamedTuple):
    """The ports of pods, as far as their containers say."""

    names: frozenset[str]
    numbers: frozenset[int]
    """Declared, or opened by an engine that we read."""
    served: frozenset[int]
    """Where an engine serves."""
    certain: bool
    """Whether every container is an engine that we read: then what is not said is not opened."""
    words: str
    """Command lines and variables, where a number may be said."""

    def lacks(self, number: int) -> bool:
        """Whether surely nobody opens a port."""
        return self.certain and number not in self.numbers and str(number) not in self.words


def opened_ports(documents: Documents, pods: Sequence[PodView]) -> Opened:
    """What is known of the ports of some pods."""
    names: set[str] = set()
    numbers: set[int] = set()
    served: set[int] = set()
    words: list[str] = []
    certain = bool(pods)
    for pod in pods:
        for run in read_runs(documents, pod):
            if run.reading is not None and run.reading.serves_http:
                served.add(run.reading.port)
            elif run.reading is None and (not run.init or text(run.container, "restartPolicy")):
                certain = False
            for port in sequence(run.container, "ports"):
                names.add(text(port, "name"))
                numbers.add(whole(port, "containerPort") or 0)
            said = [*sequence(run.container, "command"), *sequence(run.container, "args")]
            said += [text(each, "value") for each in sequence(run.container, "env")]
            words += [word for word in said if isinstance(word, str)]
    return Opened(
        frozenset(names - {""}),
        frozenset((numbers | served) - {0}),
        frozenset(served),
        certain,
        " ".join(words),
    )
