"""The price of a change, workload by workload: what restarts, how many groups at once, how many GPUs meanwhile.

Computed from the documents' own rollout fields by the controllers' arithmetic; how long it takes only where the plan
knows the cold start. Two sets of documents are enough, ours or anybody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gangform.apis.effects import Outcome
from gangform.apis.forms import GroupView
from gangform.apis.kueue import surge_dips, surge_finishes
from gangform.apis.leaderworkerset import serving_groups
from gangform.apis.versions import Versions
from gangform.apis.views import Documents, form_of
from gangform.diff.handover import order
from gangform.diff.objects import objects
from gangform.diff.record import Field, Price, Rollout, fields
from gangform.diff.scale import counted_gpus, counted_groups, group_gpus
from gangform.diff.units import Pair, Unit, pairs
from gangform.documents.document import Key, text, whole
from gangform.rules.demand import queue_label
from gangform.rules.joins import base_groups, is_set, most_groups, peak, rollout
from gangform.units import Seconds


def prices(
    before: Documents,
    after: Documents,
    *,
    versions: Versions | None = None,
    durations: Mapping[Key, Seconds] = MappingProxyType({}),
) -> list[Price]:
    """The price of everything that differs, workloads first, in the order of the documents.

    Args:
        before: What runs.
        after: What is to run.
        versions: The releases of the cluster.
        durations: How long the rollout of a workload takes, where a plan says so.
    """
    found = [
        price
        for pair in pairs(before, after)
        if (price := _workload(pair, before, after, versions, durations)) is not None
    ]
    moved = {
        key.name
        for price in found
        if price.news != "changed" or price.former
        for key in (price.key, price.former)
        if key is not None
    }
    return [*found, *objects(before, after, versions, moved)]


# ── workloads ────────────────────────────────────────────────────────────────────────────────────


def _workload(
    pair: Pair,
    before: Documents,
    after: Documents,
    versions: Versions | None,
    durations: Mapping[Key, Seconds],
) -> Price | None:
    old, new = pair
    unit = new or old
    assert unit is not None
    key = unit.key
    sides = (old, before), (new, after)
    counted = [counted_groups(all_, side.groups) if side else 0 for side, all_ in sides]
    was, now = (counted_gpus(all_, side.groups) if side else 0 for side, all_ in sides)
    gpus = was, now
    groups = None if None in counted else (counted[0] or 0, counted[1] or 0)
    basis = Price(key, "workload", "changed", Outcome.NONE, groups=groups, gpus=gpus)
    if old is None:
        return basis._replace(news="added")
    if new is None:
        return basis._replace(news="removed")
    if old.key != key or old.sets != new.sets:
        return basis._replace(outcome=Outcome.RECREATES, former=old.key)
    changed = sorted(_fields(old, new, versions), key=lambda one: -one.rank)
    steps = order(pair, before, after)
    same = not changed and gpus[0] == gpus[1] and (groups is None or groups[0] == groups[1])
    if same and not steps:
        return None
    outcome = changed[0].consequence.effect.outcome if changed else Outcome.NONE
    price = basis._replace(fields=tuple(changed), outcome=outcome, order=steps)
    if outcome is not Outcome.ROLLS or not new.groups:
        return price
    return _rolled(price, old, new, before, after, durations)


def _fields(old: Unit, new: Unit, versions: Versions | None) -> Iterator[Field]:
    living = {document.key: document for document in old.documents}
    for document in new.documents:
        if (was := living.get(document.key)) is not None:
            yield from fields(was, document, versions)


def _rolled(
    price: Price,
    old: Unit,
    new: Unit,
    before: Documents,
    after: Documents,
    durations: Mapping[Key, Seconds],
) -> Price:
    paced = all(one.consequence.effect.paced for one in price.decisive)
    if not new.sets:
        group = new.groups[0]
        form = form_of(group.kind)
        if form is not None and not form.can.rolls_in_place:
            return price._replace(rollout=_roles(new, after))
        was = old.groups[0] if old.groups else group
        how = _rollout(group, was, before, after, price, durations.get(new.key))
        return price._replace(rollout=how if paced else how._replace(serving=None))
    changed = {one.key for one in price.decisive}
    times = [durations[key] for key in changed if key in durations]
    # Sets that are new with this very change do not serve yet.
    staying = {one.key for one in new.documents} & {one.key for one in old.documents}
    how = Rollout(
        least=len(changed),
        most=len(changed),
        more_gpus=0,
        serving=max(0, len(staying) - (1 if new.staged else len(changed))),
        seconds=Seconds(sum(times) if new.staged else max(times)) if times else None,
    )
    return price._replace(rollout=how, sets=len(changed), staged=new.staged)


def _rollout(
    group: GroupView,
    old: GroupView,
    before: Documents,
    after: Documents,
    price: Price,
    seconds: Seconds | None,
) -> Rollout:
    """The rollout of one set or Deployment, by its own fields."""
    least, most = base_groups(after, group), most_groups(after, group)
    held, was_held = _partition(group), _partition(old)
    surge, gone = rollout(group, least)
    more = (peak(group, most) - most) * group_gpus(after, group)
    # A group that is new with this very change is made, not rolled, and does not serve yet.
    living = least if old.replicas is None else min(least, old.replicas)
    stood = min(least, base_groups(before, old))
    # An autoscaler may add those that a higher minimum asks for only after the rollout has begun.
    floor = least if price.groups is not None else stood
    serving = serving_groups(floor, unavailable=gone)
    queued = is_set(group) and queue_label(group) != ""
    ends = not queued or surge_finishes(surge, gone)
    if queued and (surge_dips(surge, gone) or (not ends and least > 1)):
        serving = max(0, serving - 1)
    serving = min(serving, stood)
    if text(group.document.manifest, "spec", "strategy", "type") == "Recreate":
        more, serving = 0, 0
    only_released = all(
        one.consequence.change.path[-1:] == ("partition",) for one in price.decisive
    )
    ceiling = was_held if only_released else max(most, living)
    low, high = (max(0, min(count, ceiling) - held) for count in (living, most))
    if price.groups is not None:
        high = low
    if seconds is not None:
        # The plan's is for all groups that its rollout makes: those that surge are made beside those that roll.
        surged = peak(group, least) - least if is_set(group) else 0
        seconds = Seconds(seconds * (low + surged) // max(1, least - held + surged))
    return Rollout(low, high, max(0, more), serving, seconds if low and ends else None, ends)


def _roles(unit: Unit, after: Documents) -> Rollout:
    """The rollout of sets that are replaced by new ones, all roles in steps together (`lws §6`, `lab E6`).

    How far a role may sink is not its own `maxUnavailable`: none is promised unless no role may sink at all.
    """
    least = most = more = 0
    sinks = False
    for group in unit.groups:
        low, high = base_groups(after, group), most_groups(after, group)
        least += low * group.copies
        most += high * group.copies
        more += (peak(group, high) - high) * group.copies * group_gpus(after, group)
        sinks = sinks or rollout(group, low)[1] > 0
    return Rollout(least, most, max(0, more), None if sinks else least, None)


def _partition(group: GroupView) -> int:
    way = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition")
    return max(0, whole(group.document.manifest, *way) or 0) if is_set(group) else 0
