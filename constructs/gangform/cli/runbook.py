"""`gangform runbook`: what somebody types who is called about a serving, one page for each of its alerts.

Without a name it lists who has pages.

For machines (`-o json`) the list is one of objects: `alert`, `severity`, `for` (seconds; left out where one look is
enough), `summary`, `path` (below the folder of the cluster), and `url` where pages are published.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from gangform.cli.findings import refused
from gangform.cli.selection import select
from gangform.cli.table import Block, as_text, structured
from gangform.cli.terminal import UsageError, say
from gangform.findings import InputError, either

if TYPE_CHECKING:
    from gangform.apis.alerting import Alert
    from gangform.signals.runbooks import Book

_NAMED = 8
"""Names that a message lists where none is near."""


def runbook(arguments: Namespace) -> int:
    """Print a page, or say what pages there are. Also for a fleet with errors: what runs may break meanwhile."""
    subject, named = arguments.subject, arguments.servings
    if len(named) > 1:
        raise UsageError(f"one alert at a time; `{named[1]}` is one more")
    spans = None
    arguments.servings = []
    try:
        from gangform.synth import plan_fleet

        chosen = select(arguments)
        spans = chosen.loaded.spans
        plans = plan_fleet(chosen.loaded.fleet, chosen.loaded.library, clusters=chosen.clusters)
    except InputError as error:
        return refused(error, spans)
    from gangform.signals.runbooks import books

    found = [(plan.cluster.name, book) for plan in plans for book in books(plan)]
    if subject is None and found:
        _all(found, arguments.output)
        return 0
    book = _chosen(found, subject)
    if named:
        if arguments.output != "table":
            raise UsageError(
                f"a page is Markdown; `-o {arguments.output}` is for the list of pages"
            )
        say(book.page(_alert(book, named[0])))
    elif arguments.output == "table":
        say(as_text([_listed(book)]))
    else:
        say(structured([_record(book, alert) for alert in book.alerts], arguments.output))
    return 0


def _all(found: Sequence[tuple[str, Book]], output: str) -> None:
    """Who has pages: for somebody who does not know what it is called here."""
    if output != "table":
        made = [
            {"subject": book.subject, "cluster": cluster, "alerts": len(book.alerts)}
            for cluster, book in found
        ]
        say(structured(made, output))
        return
    rows = [(book.subject, cluster, str(len(book.alerts))) for cluster, book in found]
    title = "who has pages: `gangform runbook NAME` lists those of one"
    say(as_text([Block(title=title, columns=("name", "cluster", "alerts"), rows=rows)]))


def _chosen(found: Sequence[tuple[str, Book]], subject: str) -> Book:
    """The book of a subject.

    Raises:
        UsageError: None has that name, or it is on several clusters.
    """
    mine = [(cluster, book) for cluster, book in found if book.subject == subject]
    if not mine:
        known = list(dict.fromkeys(book.subject for _, book in found))
        if not known:
            raise UsageError(
                "nothing has alerts: `monitoring.enabled` is false, or there is no serving"
            )
        _unknown(f"nothing called `{subject}` has alerts", subject, known)
    if len(mine) > 1:
        clusters = [cluster for cluster, _ in mine]
        raise UsageError(
            f"`{subject}` is on {', '.join(clusters)}; say which with `--cluster {clusters[0]}`"
        )
    return mine[0][1]


def _alert(book: Book, name: str) -> Alert:
    """The alert of a book.

    Raises:
        UsageError: It has none of that name.
    """
    for alert in book.alerts:
        if alert.name.lower() == name.lower():
            return alert
    _unknown(f"{book.subject} has no alert `{name}`", name, [alert.name for alert in book.alerts])


def _unknown(what: str, name: str, known: Sequence[str]) -> NoReturn:
    from gangform.inputs.nearest import nearest

    near = nearest(name, known)
    if near:
        raise UsageError(f"{what}; did you mean {either([f'`{one}`' for one in near])}?")
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    raise UsageError(f"{what}; there is {', '.join(known[:_NAMED])}{more}")


def _listed(book: Book) -> Block:
    rows = [
        (
            alert.name,
            alert.severity,
            "at once" if alert.for_ is None else f"{alert.for_}",
            alert.summary,
        )
        for alert in book.alerts
    ]
    return Block(
        title=f"pages of {book.subject}: `gangform runbook {book.subject} ALERT` prints one",
        columns=("alert", "severity", "after", "says"),
        rows=rows,
    )


def _record(book: Book, alert: Alert) -> dict[str, Any]:
    made: dict[str, Any] = {"alert": alert.name, "severity": alert.severity}
    if alert.for_ is not None:
        made["for"] = int(alert.for_)
    made |= {"summary": alert.summary, "path": book.path(alert)}
    if alert.runbook_url is not None:
        made["url"] = alert.runbook_url
    return made
