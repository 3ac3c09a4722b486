"""Runbooks: one page for each alert of a serving, out of its own names, for somebody who is woken by it.

A page begins with the commands that tell most, then says what they can mean and what to do for each, then what makes
it worse. All that is a number or a name is the plan's; all that is advice stands in `templates/runbooks`, one template
an alert.

Pages are files beside the manifests where the cluster says under which address they are published
(`monitoring.runbookBase`), since else no alert links to one; `gangform runbook` prints one anywhere. Only then are
templates and their language imported.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gangform.apis.alerting import Alert
from gangform.plan.cluster import ClusterPlan
from gangform.signals import queues, states
from gangform.signals.alerts import alerts, linked

if TYPE_CHECKING:
    from jinja2 import Environment

    from gangform.signals.runbook_facts import Facts

FOLDER = "runbooks"
"""Where they lie below the folder of a cluster, and what is published under the base address."""
_INDEX = "README.md"
"""Lists the pages of one subject; what most forges show for a folder."""
_TEMPLATES = Path(__file__).parent / "templates" / FOLDER


class Book(NamedTuple):
    """The pages of one subject: a serving, a queue, a cluster."""

    facts: "Facts"
    alerts: tuple[Alert, ...]

    @property
    def subject(self) -> str:
        """Its name, and that of its folder."""
        return self.facts.subject

    @property
    def contents(self) -> str:
        """What pages there are, as Markdown."""
        return _rendered("index", s=self.facts, alerts=self.alerts)

    def path(self, alert: Alert) -> str:
        """Where the page of an alert lies below the folder of the cluster."""
        return f"{FOLDER}/{self.subject}/{alert.name}.md"

    def page(self, alert: Alert) -> str:
        """The page of an alert, as Markdown."""
        return _rendered(alert.name, s=self.facts, alert=alert)


def asked(plan: ClusterPlan) -> bool:
    """Whether an alert links to a page."""
    monitoring = plan.cluster.monitoring
    return monitoring.enabled and monitoring.runbook_base is not None


def files(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    """Every page of a cluster, and for each subject a list of its pages."""
    for book in books(plan):
        yield f"{FOLDER}/{book.subject}/{_INDEX}", book.contents
        for alert in book.alerts:
            yield book.path(alert), book.page(alert)


def books(plan: ClusterPlan) -> Iterator[Book]:
    """The pages of everything on a cluster that has alerts: servings, queues that are ours, the cluster itself."""
    from gangform.signals.runbook_facts import ClusterFacts, QueueFacts, ServingFacts

    for serving in plan.servings:
        found = alerts(serving)
        if found:
            yield Book(ServingFacts(serving, plan, names(found)), found)
    if not plan.cluster.monitoring.enabled:
        return
    base = plan.cluster.monitoring.runbook_base

    def about(subject: str, told: Iterable[Alert]) -> tuple[Alert, ...]:
        return tuple(linked(alert, base, subject) for alert in told)

    for queue in plan.queues:
        found = about(queues.name_of(queue), queue.alerts)
        yield Book(QueueFacts(queue, plan, names(found)), found)
    if found := about(queues.STATES, states.missing(plan)):
        yield Book(ClusterFacts(plan, names(found)), found)


def names(found: tuple[Alert, ...]) -> frozenset[str]:
    """Which alerts have a page beside each other."""
    return frozenset(alert.name for alert in found)


def has_page(name: str) -> bool:
    """Whether somebody wrote what to do about an alert of this name."""
    return (_TEMPLATES / f"{name}.md.j2").is_file()


def _rendered(name: str, **given: object) -> str:
    return _flowing(_environment().get_template(f"{name}.md.j2").render(**given))


def _flowing(text: str) -> str:
    """Every paragraph and every item on a line of its own, and no blank or empty line too many; code as it is.

    Where a line of a template ends has nothing to do with where a reader's should: half of it is names.
    """
    lines: list[str] = []
    code = False
    for line in text.splitlines():
        line = line.rstrip()
        if not code:
            line = line[: len(line) - len(line.lstrip())] + " ".join(line.split())
        fence = line.startswith("```")
        goes_on = lines and lines[-1] and not lines[-1].startswith(("#", "|", "```"))
        if code or fence or not line or not goes_on or line.startswith(("#", "|", "- ")):
            if line or code or (lines and lines[-1]):
                lines.append(line)
        else:
            lines[-1] += f" {line.lstrip()}"
        code ^= fence
    return "\n".join(lines).strip("\n") + "\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from gangform.apis import keys

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["keys"] = keys
    return made
