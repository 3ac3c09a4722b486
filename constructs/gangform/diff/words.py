"""A price in words: one line an object, and for machines everything behind it. Keys are added, never renamed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from gangform.apis.effects import Effect, Outcome
from gangform.diff.record import Field, Price, Rollout
from gangform.documents.changes import Change
from gangform.documents.document import Node, printable
from gangform.findings import counted, some
from gangform.units import Seconds

_LONGEST = 60
"""Characters of a value that is shown in a line."""
_TOUCHED = 8
"""Workloads of a line that are called by name."""
_NAMED = 2
"""Fields of a line that are called by name."""
_GROUPS = "spec.leaderWorkerTemplate."


def line(price: Price) -> str:
    """`LeaderWorkerSet/llm/r1: rolls 2 groups (+0 GPUs while it lasts, at least 1 serving): …`."""
    return f"{price.key}: {said(price)}"


def said(price: Price) -> str:
    """The price without the name of the object."""
    parts = [_verdict(price), *_scale(price)]
    if price.touches:
        parts.append(f"it is for {some(price.touches, _TOUCHED)}")
    parts += price.notes
    if price.order:
        parts.append("only in the order that `gangform diff` shows")
    if price.outcome is Outcome.REFUSED:
        parts.append(f"instead {_told(price, 'instead')}")
    return "; ".join(parts)


def verdict(price: Price) -> str:
    """In one or two words, for a column: `rolls`, `no restart`, `new`."""
    if price.news != "changed":
        return {"added": "new", "removed": "removed"}[price.news]
    if price.outcome is Outcome.ROLLS and price.rollout is not None and not price.rollout.most:
        return "no restart"
    return {Outcome.NONE: "no restart", Outcome.IN_PLACE: "in place"}.get(
        price.outcome, price.outcome.value
    )


def _verdict(price: Price) -> str:
    word = verdict(price)
    if price.news != "changed":
        side = 1 if price.news == "added" else 0
        if price.role != "workload" or price.groups is None:
            return word
        return f"{word}: {counted(price.groups[side], 'group')}, {counted(price.gpus[side], 'GPU')}"
    behind = named(price.decisive)
    if price.outcome is Outcome.ROLLS:
        return f"{_rolls(price)}: {behind}"
    if price.outcome is Outcome.REFUSED:
        return f"refused {_told(price, 'by', ' and ')}: {behind}"
    if price.outcome is Outcome.EVICTS:
        return f"evicts {_evicted(price)}: {behind} ({_says(price)})"
    if price.outcome is Outcome.RECREATES:
        if price.role != "workload":
            return f"made anew: it was {price.former}"
        groups = "all groups" if price.groups is None else counted(price.groups[0], "group")
        why = f"it was {price.former}" if price.former else f"{behind} ({_says(price)})"
        # Who may stand at zero has no number of its own: what runs is whatever its autoscaler has made.
        gpus = f" ({counted(price.gpus[0], 'GPU')})" if price.groups or price.gpus[0] else ""
        return f"recreates {groups}{gpus}: {why}"
    if not price.fields:
        return word
    more = _says(price)
    return f"{word}: {behind}" + (f" ({more})" if more else "")


def _rolls(price: Price) -> str:
    how = price.rollout
    if how is None:
        return "rolls all its groups" if price.role == "workload" else "rolls its pods"
    if not how.most:
        held = price.groups is None or price.groups[1]
        return "no restart, a canary holds back all groups" if held else "no restart, no groups"
    count = counted(how.most, "group")
    if how.least != how.most:
        count = f"{how.least} to {count}"
    together = ""
    if price.sets > 1:
        together = (
            ", one set after another" if price.staged else ", all at once if applied together"
        )
    return f"rolls {count}{together} ({', '.join(_meanwhile(how))})"


def _meanwhile(how: Rollout) -> Iterator[str]:
    yield f"+{counted(how.more_gpus, 'GPU')} while it lasts"
    yield "no promise how many serve" if how.serving is None else f"at least {how.serving} serving"
    if not how.ends:
        yield "it never ends under Kueue"
    elif how.seconds is not None:
        yield f"~{minutes(how.seconds)} min" + (" or more" if how.most > how.least else "")


def minutes(seconds: Seconds) -> int:
    """Whole minutes, rounded up."""
    return -(-int(seconds) // 60)


def _evicted(price: Price) -> str:
    if price.groups is not None:
        return f"{counted(price.groups[0], 'group')} ({counted(price.gpus[0], 'GPU')})"
    return "all groups that run" + (f" ({counted(price.gpus[0], 'GPU')})" if price.gpus[0] else "")


def _says(price: Price) -> str:
    return _told(price, "says")


def _told(price: Price, word: Literal["says", "by", "instead"], between: str = "; ") -> str:
    """What the tables say beside the fields that make the price, each once."""
    said = [getattr(one.consequence.effect, word) for one in price.decisive]
    return between.join(dict.fromkeys(filter(None, said)))


_NO_SCALE = (Outcome.EVICTS, Outcome.REFUSED)


def _scale(price: Price) -> Iterator[str]:
    """What it takes for good, beyond what it took."""
    if price.news != "changed" or price.former or price.outcome in _NO_SCALE:
        return
    more = price.gpus[1] - price.gpus[0]
    gpus = f"{more:+} GPU{'' if abs(more) == 1 else 's'}"
    if price.groups is not None and price.groups[0] != price.groups[1]:
        groups = price.groups[1] - price.groups[0]
        word = "more" if groups > 0 else "less"
        yield f"{counted(abs(groups), 'group')} {word} ({gpus})"
    elif more:
        yield f"{gpus} for good" + (" at the minimum" if price.groups is None else "")


def told(effect: Effect) -> str:
    """What a field does, for a column: the outcome, and what stands beside it."""
    beside = "; ".join(filter(None, (effect.says, effect.instead)))
    return f"{effect.outcome.value}: {beside}" if beside else effect.outcome.value


def named(fields: Iterable[Field]) -> str:
    """The fields by name, one that changed alike in both templates once; of many only the first."""
    paths = list(dict.fromkeys(_short(one.path) for one in fields))
    shown: list[str] = []
    for path in paths:
        other = path.replace("workerTemplate", "leaderTemplate", 1)
        if other != path and other in paths:
            continue
        twin = path.replace("leaderTemplate", "workerTemplate", 1)
        both = twin != path and twin in paths
        shown.append(path.replace("leaderTemplate", "{leader,worker}Template", 1) if both else path)
    return some(shown, _NAMED)


def _short(path: str) -> str:
    return path.removeprefix(_GROUPS)


def value(node: Node | None) -> str:
    """A value in a line; `–` for none."""
    if node is None:
        return "–"
    text = node if isinstance(node, str) else _json(node)
    text = printable(" ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def sides(change: Change) -> tuple[str, str]:
    """What a field was and what it is; of two lists of plain values only what is not in both."""
    before, after = change.before, change.after
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        old, new = (_without(one, other) for one, other in ((before, after), (after, before)))
        if old or new:
            return " ".join(old) or value(None), " ".join(new) or value(None)
    return value(before), value(after)


def _without(entries: Sequence[Node], others: Sequence[Node]) -> list[str]:
    return [value(entry) for entry in entries if entry not in others]


def _json(node: Node) -> str:
    return json.dumps(node, ensure_ascii=False, sort_keys=True)


def record(price: Price) -> dict[str, Any]:
    """A price for machines; what does not apply is left out."""
    how = price.rollout
    counts = price.role == "workload" or price.outcome is Outcome.EVICTS
    known = {
        "object": str(price.key),
        "role": price.role,
        "change": price.news,
        "outcome": price.outcome.value if price.news == "changed" else None,
        "was": str(price.former) if price.former else None,
        "rollout": None
        if how is None
        else {
            "groups": [how.least, how.most],
            "moreGpus": how.more_gpus,
            "serving": how.serving,
            "seconds": None if how.seconds is None else int(how.seconds),
            "ends": how.ends,
        },
        "groups": list(price.groups) if price.groups and counts else None,
        "gpus": list(price.gpus) if counts else None,
        "touches": list(price.touches),
        "notes": list(price.notes),
        "order": list(price.order),
        "says": said(price),
        "fields": [_field(one) for one in price.fields],
    }
    return {key: one for key, one in known.items() if one not in (None, [])}


def _field(one: Field) -> dict[str, Any]:
    effect, change = one.consequence.effect, one.consequence.change
    known = {
        "object": str(one.key),
        "path": one.path,
        "before": change.before,
        "after": change.after,
        "outcome": effect.outcome.value,
        "says": effect.says,
        "refused": effect.by,
        "instead": effect.instead,
        "evidence": effect.evidence.value,
        "source": effect.source,
    }
    return {key: one for key, one in known.items() if one not in (None, "")}


def worth_saying(prices: Sequence[Price]) -> list[Price]:
    """Workloads and the foundation, and of what lies beside them what does anything."""
    return [
        price for price in prices if price.role != "beside" or price.outcome is not Outcome.NONE
    ]
