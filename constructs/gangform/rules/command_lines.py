"""Command lines as such: the engine takes its flags, once each, and the shell passes on what is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import sequence
from gangform.findings import Severity, declare
from gangform.rules.joins import over_templates, read_runs, words_of
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

REFUSED = declare(
    "engine-refuses-flags",
    "Flags that the engine refuses together, or in one item: it ends at its start",
    Severity.BREAKS,
    "engines §1.1, §1.2",
)
DROPPED = declare(
    "shell-drops-arguments",
    "Arguments after a shell's script are the script's own, and it does not ask for them: they are lost",
    Severity.BREAKS,
    "POSIX: sh -c script name arguments",
)

REPEATED = declare(
    "engine-flag-repeated",
    "A flag is given twice with different values, of which the last counts",
    Severity.STYLE,
    "peers §14",
)

_JOINED: Final = re.compile(r"^--[a-z][-\w.]*[ \t]+\S")


@rule(REFUSED, kinds=WORKLOADS)
@over_templates
def engine_refuses_flags(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The engine takes its command line."""
    for run in read_runs(documents, pod):
        if run.reading is None:
            continue
        for what, fix in run.reading.refused:
            yield Fault(path=words_of(run), what=what, fix=fix)
        if run.begun is None or run.begun.script is not None:
            continue
        for key in ("command", "args"):
            for index, word in enumerate(sequence(run.container, key)):
                if isinstance(word, str) and _JOINED.match(word):
                    flag, _, value = word.partition(" ")
                    yield Fault(
                        path=(*run.path, key, index),
                        what=f"`{flag}` and its value are one item, which is one unknown argument",
                        fix=f"write {flag}={value.strip()}, or two items",
                    )


@rule(DROPPED, kinds=WORKLOADS)
@over_templates
def shell_drops_arguments(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """What stands behind a script is used by it."""
    for run in read_runs(documents, pod):
        if run.begun is not None and run.begun.dropped is not None:
            key, index = run.begun.dropped
            word = sequence(run.container, str(key))[int(index)]
            yield Fault(
                path=(*run.path, key, index),
                what=f"`{word}` is behind the script that the shell runs, which does not ask for it",
                fix="write everything into the one text of the script",
            )


@rule(REPEATED, kinds=WORKLOADS)
@over_templates
def engine_flag_repeated(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A size stands once."""
    for run in read_runs(documents, pod):
        for flag, first, last in run.reading.repeated if run.reading is not None else ():
            yield Fault(
                path=words_of(run),
                what=f"{flag} is {first} first and then {last}, which counts",
                fix=f"remove the first, or write {flag} {first} alone",
                seen={"first": first, "last": last},
            )
