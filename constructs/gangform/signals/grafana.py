"""A dashboard as the JSON that Grafana reads.

It is written by hand and not by grafana-foundation-sdk: importing that takes 0.2 s, which is longer than rendering a
cluster, and what its types fill in by themselves would change under committed files with each of its releases. Tests
read the JSON back with its types instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from gangform.apis.panels import (
    NAMESPACE_VARIABLE,
    SCHEMA,
    SERVING_VARIABLE,
    Dashboard,
    Panel,
    Query,
    Row,
    Step,
)
from gangform.plan.identity import OWNER

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_LINE = 110
_COLUMNS = 24
_HEIGHT: Mapping[str, int] = {"number": 4}
_HEIGHT_OTHERS = 8
_KINDS = {
    "lines": "timeseries",
    "stack": "timeseries",
    "number": "stat",
    "table": "table",
}
_LEGEND = {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
_TOOLTIP = {"mode": "multi", "sort": "desc"}

_Json = dict[str, Any]


def text(made: Dashboard) -> str:
    """The whole file."""
    return _spread(_whole(made), 0) + "\n"


def _spread(value: object, depth: int) -> str:
    """JSON on as few lines as can be read: whatever fits is on one."""
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_spread(one, depth + 1)}" for key, one in value.items()]
        first, last = "{}"
    elif isinstance(value, list):
        parts = [_spread(one, depth + 1) for one in value]
        first, last = "[]"
    else:
        return json.dumps(value)
    length = depth + sum(map(len, parts)) + 2 * len(parts)
    if length <= _LINE and not any("\n" in part for part in parts):
        return first + ", ".join(parts) + last
    pad = "\n" + " " * (depth + 1)
    return f"{first}{pad}" + f",{pad}".join(parts) + f"{pad[:-1]}{last}"


def _whole(made: Dashboard) -> _Json:
    return {
        "uid": made.uid,
        "title": made.title,
        "description": made.description,
        "tags": [OWNER],
        "schemaVersion": SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                _variable("datasource", "datasource", "Data source", "prometheus"),
                _choice(NAMESPACE_VARIABLE, "Namespace", made.namespaces),
                _choice(SERVING_VARIABLE, "Serving", made.servings),
            ]
        },
        "annotations": {"list": []},
        "panels": _placed(made.rows),
    }


def _variable(name: str, kind: str, label: str, query: str) -> _Json:
    return {
        "name": name,
        "type": kind,
        "label": label,
        "query": query,
        "hide": 0,
        "skipUrlSync": False,
        "options": [],
    }


def _choice(name: str, label: str, values: Sequence[str]) -> _Json:
    """One value, several or all, out of a list that stands here: Grafana makes the options of it."""
    return {
        **_variable(name, "custom", label, ",".join(values)),
        "multi": True,
        "includeAll": True,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _placed(rows: Sequence[Row]) -> list[_Json]:
    """Panels with a number and a place each: from left to right, in lines as high as their highest."""
    made: list[_Json] = []
    number = top = 0
    for row in rows:
        number += 1
        heading: _Json = {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": not row.open,
            "gridPos": {"h": 1, "w": _COLUMNS, "x": 0, "y": top},
            "panels": [],
        }
        made.append(heading)
        top += 1
        left, line, inside = 0, 0, made if row.open else heading["panels"]
        bottom = top
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                left, line, bottom = 0, 0, bottom + line
            height = _HEIGHT.get(panel.look, _HEIGHT_OTHERS)
            place = {"h": height, "w": panel.width, "x": left, "y": bottom}
            number += 1
            inside.append(_panel(panel, number, place))
            left, line = left + panel.width, max(line, height)
        # A closed row is as high as its heading.
        top = bottom + line if row.open else top
    return made


def _panel(panel: Panel, number: int, place: _Json) -> _Json:
    options, custom = _looks(panel)
    defaults: _Json = {"unit": panel.unit, "min": 0}
    if panel.most is not None:
        defaults["max"] = panel.most
    defaults["color"] = {"mode": "thresholds" if _coloured(panel) else "palette-classic"}
    if panel.steps:
        defaults["thresholds"] = {"mode": "absolute", "steps": [*map(_step, panel.steps)]}
    if custom:
        defaults["custom"] = custom
    made: _Json = {
        "id": number,
        "type": _KINDS[panel.look],
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [_target(panel, index, query) for index, query in enumerate(panel.queries)],
        "options": options,
        "fieldConfig": {"defaults": defaults, "overrides": _links(panel)},
    }
    if panel.look == "table":
        made["transformations"] = _columns(panel)
    return made


def _links(panel: Panel) -> list[_Json]:
    if panel.link is None:
        return []
    label, title, url = panel.link
    links = [{"title": title, "url": url, "targetBlank": True}]
    return [
        {
            "matcher": {"id": "byName", "options": label},
            "properties": [{"id": "links", "value": links}],
        }
    ]


def _coloured(panel: Panel) -> bool:
    return bool(panel.steps) and panel.look in ("number", "table")


def _step(step: Step) -> _Json:
    return {"color": step.colour, "value": None if step.since is None else _number(step.since)}


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)


def _looks(panel: Panel) -> tuple[_Json, _Json]:
    """Options of the panel, and of its fields."""
    if panel.look == "number":
        reduced = {"calcs": ["lastNotNull"], "fields": "", "values": False}
        return {
            "reduceOptions": reduced,
            "graphMode": "area",
            "colorMode": "value",
            "justifyMode": "auto",
            "textMode": "auto",
            "orientation": "auto",
        }, {}
    if panel.look == "table":
        footer = {"show": False, "reducer": [], "countRows": False}
        return {"frameIndex": 0, "showHeader": True, "cellHeight": "sm", "footer": footer}, {
            "align": "auto",
            "inspect": False,
        }
    stacked = panel.look == "stack"
    return {"legend": _LEGEND, "tooltip": _TOOLTIP}, {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 30 if stacked else 5,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "dashed" if panel.steps else "off"},
    }


def _target(panel: Panel, index: int, query: Query) -> _Json:
    table = panel.look == "table"
    return {
        "refId": _letters(index),
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "editorMode": "code",
        "format": "table" if table else "time_series",
        "instant": table,
        "range": not table,
    }


def _letters(index: int) -> str:
    """A, B, …, Z, A1, B1, … as names of queries."""
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")


def _columns(panel: Panel) -> list[_Json]:
    """One row for each set of labels, and a column for each query."""
    named = len(panel.queries) > 1
    values = {
        (f"Value #{_letters(index)}" if named else "Value"): query.legend
        for index, query in enumerate(panel.queries)
    }
    order = {name: index for index, name in enumerate((*panel.shown, *values))}
    return [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True},
                "indexByName": order,
                "renameByName": values,
            },
        },
    ]
