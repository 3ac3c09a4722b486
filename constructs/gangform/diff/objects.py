"""The price of what runs no pods itself: the cluster's foundation, and what lies beside a workload."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gangform.apis.consequences import table_of
from gangform.apis.effects import Outcome
from gangform.apis.versions import Versions
from gangform.apis.views import Documents
from gangform.diff.foundation import groups_of, is_foundation, shortages, users
from gangform.diff.record import Price, Role, fields
from gangform.diff.scale import counted_gpus, counted_groups
from gangform.diff.units import runs_pods
from gangform.documents.document import Document, mapping


def objects(
    before: Documents, after: Documents, versions: Versions | None, moved: Collection[str]
) -> Iterator[Price]:
    """The price of every object that differs and is no workload.

    Args:
        before: What runs.
        after: What is to run.
        versions: The releases of the cluster.
        moved: Names of workloads that come, go or are renamed: what lies beside these comes and goes with them.
    """
    gone = [one for one in before.all if not runs_pods(one) and after.get(one.key) is None]
    for document in after.all:
        if runs_pods(document):
            continue
        old = before.get(document.key)
        former = None if old else _former(document, gone)
        if former is not None:
            gone.remove(former)
        price = _price(old, document, former, versions)
        if price is not None and (old or _matters(document, moved)):
            yield _told(price, before, after)
    for document in gone:
        if _matters(document, moved):
            price = Price(document.key, _role(document), "removed", Outcome.IN_PLACE)
            yield _told(price, before, after)


def _price(
    old: Document | None, new: Document, former: Document | None, versions: Versions | None
) -> Price | None:
    basis = Price(new.key, _role(new), "changed", Outcome.IN_PLACE)
    if former is not None:
        return basis._replace(outcome=Outcome.RECREATES, former=former.key)
    if old is None:
        return basis._replace(news="added")
    found = sorted(fields(old, new, versions), key=lambda one: -one.rank)
    if not found:
        return None
    return basis._replace(fields=tuple(found), outcome=found[0].consequence.effect.outcome)


def _told(price: Price, before: Documents, after: Documents) -> Price:
    if price.role != "foundation" or price.outcome is Outcome.NONE:
        return price
    were = users(before, price.former or price.key)
    who = [*users(after, price.key), *were]
    notes = list(shortages(after, price.key))
    gone = table_of(price.key).gone
    if were and gone and (price.former or price.news == "removed"):
        notes.append(f"{price.former}: {gone}" if price.former else gone)
    price = price._replace(touches=tuple(dict.fromkeys(who)), notes=tuple(notes))
    return _evicting(price, before) if price.outcome is Outcome.EVICTS else price


def _evicting(price: Price, before: Documents) -> Price:
    """A price with the groups that run on the object."""
    running = list(groups_of(before, price.key))
    groups = counted_groups(before, running)
    return price._replace(
        groups=None if groups is None else (groups, 0), gpus=(counted_gpus(before, running), 0)
    )


def _former(new: Document, gone: Collection[Document]) -> Document | None:
    """What a new object of the foundation was called before: one of its kind with the same content is gone."""
    if not is_foundation(new.key):
        return None
    return next(
        (
            old
            for old in gone
            if old.key._replace(name="") == new.key._replace(name="")
            and mapping(old.manifest, "spec") == mapping(new.manifest, "spec")
            and old.manifest.get("value") == new.manifest.get("value")
        ),
        None,
    )


def _role(document: Document) -> Role:
    return "foundation" if is_foundation(document.key) else "beside"


def _matters(document: Document, moved: Collection[str]) -> bool:
    """Whether somebody must hear that an object comes or goes: not beside a workload that does so too."""
    if is_foundation(document.key):
        return True
    if table_of(document.key).rows[-1].outcome is Outcome.NONE or document.key.name in moved:
        return False
    labels: Mapping[str, object] = mapping(document.manifest, "metadata", "labels")
    return not any(value in moved for value in labels.values())
