"""What a panel of a dashboard shows, as data.

Engines and backends say what of theirs is worth seeing, without a word on how a dashboard is written. Queries may use
the variables of the dashboard, `$namespace` and `$serving`, in matchers of patterns: Grafana puts in one value, or
several as `(a|b)` (grafana.com: Prometheus template variables).

Sources: the types for Grafana 10.1 of grafana-foundation-sdk (how a dashboard is written, length of its uid).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, NamedTuple

from gangform.apis.promql import selector

UID_LIMIT = 40
"""Longest uid of a dashboard."""
SCHEMA = 36
"""Version of the format that the types are of; a newer Grafana reads it and migrates by itself."""

NAMESPACE_VARIABLE = "namespace"
SERVING_VARIABLE = "serving"
RATE = "$__rate_interval"
"""A range long enough for a rate at every zoom: four scrapes at the least."""

Look = Literal["lines", "stack", "number", "table"]
"""Lines over time; areas on each other; the last value in large; a row for each series."""
Colour = Literal["green", "orange", "red"]


class Step(NamedTuple):
    """From a value on, a colour."""

    since: Decimal | None
    """`None`: from the smallest on."""
    colour: Colour


class Query(NamedTuple):
    """One query of a panel."""

    expr: str
    legend: str = ""
    """What a series is called, `{{label}}` in it; the heading of its column in a table."""


class Panel(NamedTuple):
    """One panel."""

    title: str
    description: str
    queries: tuple[Query, ...]
    look: Look = "lines"
    unit: str = "none"
    """In Grafana's words: `none` for a count, `percentunit` for a share of 1, `s`, `reqps`."""
    steps: tuple[Step, ...] = ()
    """Thresholds, upwards; empty: every series has a colour of its own."""
    most: int | None = None
    """Upper end of the axis, where a value has one."""
    width: int = 12
    """Of 24 columns."""
    shown: tuple[str, ...] = ()
    """Labels that are columns of a table, in order."""
    link: tuple[str, str, str] | None = None
    """On a column of a table: its label, what the link is called, and its URL, with `${__value.text}` for the cell and
    `${__data.fields.LABEL}` for another one of its row."""


class EngineChoice(NamedTuple):
    """Which series of engines panels show: those of the servings that are chosen."""

    matchers: tuple[str, ...]
    serving: str
    """The label that holds the name of the serving."""

    def select(self, series: str, *matchers: str) -> str:
        """A series of the servings that are chosen."""
        return selector(series, *self.matchers, *matchers)


class Row(NamedTuple):
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]
    open: bool = False


class Dashboard(NamedTuple):
    """A whole dashboard."""

    uid: str
    title: str
    description: str
    namespaces: tuple[str, ...]
    servings: tuple[str, ...]
    rows: tuple[Row, ...]


def joined(panels: Iterable[Panel]) -> tuple[Panel, ...]:
    """Panels of one title as one, with the queries of all: releases of an engine may call a series differently."""
    found: dict[str, Panel] = {}
    for panel in panels:
        known = found.get(panel.title, panel)
        queries = tuple(dict.fromkeys((*known.queries, *panel.queries)))
        found[panel.title] = known._replace(queries=queries)
    return tuple(found.values())
