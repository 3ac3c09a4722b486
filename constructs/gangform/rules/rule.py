"""Rules over documents: what one is, what it may ask, and how all of them are run.

A rule starts from documents of the kinds it names and joins to others through the index (`apis/views.py`), never over
all pairs. What documents cannot say stands in the context, and a rule that needs a part of it is silent without. The
same registry serves synth, the constructs and lint, so that a rule judges what a controller will do and knows no plan.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeVar

from gangform.apis.versions import Release, Versions
from gangform.apis.views import FORMS, Documents
from gangform.documents.document import Document, Key, dig
from gangform.documents.placeholders import placeholder
from gangform.findings import Code, DocumentPath, Finding, Path, ordered
from gangform.units import Seconds

Scope = Literal["document", "cluster"]
T = TypeVar("T")

EVERY_KIND: Final = ("*",)
"""For a rule about what every object has."""
WORKLOADS: Final = tuple(FORMS)
"""Every kind that runs groups: where rules about groups and pods start."""


class Context(NamedTuple):
    """What documents cannot say. Every field may be missing; a rule that needs one is then silent."""

    versions: Versions | None = None
    """Releases of the cluster."""
    exists: frozenset[Key] = frozenset()
    """Objects known to live beside the documents: Secrets, claims, queues."""
    complete: bool = False
    """Whether the documents are a whole: what they name stands in them or in `exists`, or nowhere."""
    domains: Mapping[str, int] | None = None
    """How many values each node label has in the cluster: a level's domains. `None`: no inventory."""
    provider: Literal["none", "volcano"] | None = None
    """LWS's `schedulerProvider`, a switch of the whole cluster."""
    cold_starts: Mapping[Key, Seconds] | None = None
    """How long a workload takes from its pods to a ready leader, where that was measured or worked out."""
    engines: Mapping[str, Release] | None = None
    """Releases of engines by name, for images whose tag says none."""
    state_metrics: bool = False
    """Whether the cluster's kube-state-metrics has the configuration that comes with our output."""

    def offers(self) -> frozenset[str]:
        """The parts of the context that are there."""
        return frozenset(
            need
            for need, value in zip(self._fields, self, strict=True)
            if (value if isinstance(value, (bool, frozenset)) else value is not None)
        )


class Fault(NamedTuple):
    """What a rule found, at a field of the document it started from."""

    path: Path
    what: str
    """The rule with both values and units. No full stop on one sentence."""
    fix: str
    """An imperative with a concrete value."""
    seen: Mapping[str, str] = MappingProxyType({})
    """The values, for `-o json`."""
    on: Document | None = None
    """Another document that the field stands in."""


Check = Callable[[Document, Documents, Context], Iterator[Fault]]


class Rule(NamedTuple):
    """What must hold of or between documents."""

    code: Code
    kinds: tuple[str, ...]
    """It is called for documents of these kinds only."""
    scope: Scope
    """`cluster`: it concludes from what is *not* there, and so runs over a complete set of documents only."""
    needs: frozenset[str]
    """Names of fields of the context."""
    check: Check
    blanks: bool = False
    """Whether it judges texts that are still to be filled in; about those every other rule is silent."""

    def applies(self, offered: frozenset[str]) -> bool:
        """Whether a context, of which these parts are there, says what the rule needs."""
        return self.needs <= offered and (self.scope != "cluster" or "complete" in offered)

    def subjects(self, documents: Documents) -> Sequence[Document]:
        """The documents that it is called for."""
        return documents.all if self.kinds == EVERY_KIND else documents.of(*self.kinds)

    def finding(self, subject: Document, fault: Fault) -> Finding:
        """A fault as it is reported."""
        key = (fault.on or subject).key
        at = DocumentPath(key.kind, key.namespace, key.name, fault.path)
        return Finding(code=self.code, at=at, what=fault.what, fix=fault.fix, seen=fault.seen)

    def keeps(self, subject: Document, fault: Fault) -> bool:
        """Whether a fault is one of this rule: what is only a placeholder is another rule's matter."""
        if self.blanks:
            return True
        value = dig((fault.on or subject).manifest, *fault.path)
        return not isinstance(value, str) or placeholder(fault.path, value) is None

    def __call__(
        self, subject: Document, documents: Documents, context: Context
    ) -> Iterator[Finding]:
        """What is wrong with one document."""
        for fault in self.check(subject, documents, context):
            if self.keeps(subject, fault):
                yield self.finding(subject, fault)


RULES: dict[str, Rule] = {}
"""Every rule registered so far, by the id of its code. Complete after `load`."""

MODULES: Final = (
    "metadata",
    "contents",
    "placeholders",
    "fields",
    "spelling",
    "references",
    "selectors",
    "pods",
    "probes",
    "endpoints",
    "volumes",
    "nodes",
    "groups",
    "rollouts",
    "ignored",
    "placement",
    "byhand",
    "fabric",
    "roles",
    "traffic",
    "service_ports",
    "routes",
    "network",
    "disruption",
    "budgets",
    "allowances",
    "moving",
    "scaling",
    "waking",
    "answers",
    "vertical",
    "admission",
    "queues",
    "sharing",
    "gangs",
    "hypernodes",
    "later",
    "engine",
    "command_lines",
    "ranks",
    "variables",
    "repetitions",
    "releases",
    "interconnect",
    "agreement",
    "loading",
    "host_ports",
    "sidecars",
    "endings",
    "exports",
    "monitoring",
)
"""One subject a module, imported when something is judged."""


def rule(
    code: Code,
    *,
    kinds: Iterable[str],
    scope: Scope = "document",
    needs: Iterable[str] = (),
    blanks: bool = False,
) -> Callable[[Check], Rule]:
    """Register a generator function as a rule.

    Raises:
        ValueError: The code has a rule already, or a need is no field of the context.
    """

    def register(check: Check) -> Rule:
        if code.id in RULES:
            raise ValueError(f"`{code.id}` has a rule already")
        wanted = frozenset(needs)
        if unknown := sorted(wanted - set(Context._fields)):
            raise ValueError(f"the context has no {', '.join(unknown)}")
        made = Rule(code, tuple(kinds), scope, wanted, check, blanks)
        RULES[code.id] = made
        return made

    return register


def joined(make: Callable[[Documents], T]) -> Callable[[Documents], T]:
    """Mark a function as a join over all documents: made once for each set of them, then looked up."""

    def look_up(documents: Documents) -> T:
        made = documents.joins.get(make)
        if made is None:
            made = documents.joins[make] = make(documents)
        joined: T = made
        return joined

    return look_up


def load() -> Mapping[str, Rule]:
    """Import every module of rules, and give all rules by code."""
    _import()
    return RULES


@cache
def _import() -> None:
    for module in MODULES:
        import_module(f"gangform.rules.{module}")


@cache
def _about(kinds: frozenset[str], offered: frozenset[str], count: int) -> tuple[str, ...]:
    """The codes of the rules, so many as are registered, that start from one of these kinds and apply."""
    assert count == len(RULES)
    return tuple(
        code
        for code, each in RULES.items()
        if (each.kinds == EVERY_KIND or not kinds.isdisjoint(each.kinds)) and each.applies(offered)
    )


def asked(
    documents: Documents, context: Context, only: Collection[int] | None = None
) -> Iterator[tuple[Rule, Sequence[Document]]]:
    """Each rule that applies with the documents that it is called for.

    Args:
        documents: The index.
        context: What documents cannot say.
        only: Of the documents those with these identities; all by default.
    """
    known: dict[tuple[str, ...], Sequence[Document]] = {}
    rules = load()
    for code in _about(documents.kinds, context.offers(), len(rules)):
        each = rules[code]
        subjects = known.get(each.kinds)
        if subjects is None:
            subjects = each.subjects(documents)
            if only is not None:
                subjects = [document for document in subjects if id(document) in only]
            known[each.kinds] = subjects
        yield each, subjects


_WORTH_SHARING: Final = 200
"""Documents. Fewer are judged before another process has begun."""


def judge(documents: Documents, context: Context, *, forks: bool = False) -> list[Finding]:
    """Run every rule that applies; sorted, without duplicates.

    Args:
        documents: What is judged.
        context: What they cannot say.
        forks: Whether other processes may take a part of the rules. The findings are the same.
    """

    def found(work: tuple[Rule, Sequence[Document]]) -> list[Finding]:
        each, subjects = work
        return [one for subject in subjects for one in each(subject, documents, context)]

    work = list(asked(documents, context))
    if forks and len(documents.all) >= _WORTH_SHARING:
        from gangform.processes import processors, share

        shared = share(found, work, processors())
    else:
        shared = [found(each) for each in work]
    return list(ordered(chain.from_iterable(shared)))
