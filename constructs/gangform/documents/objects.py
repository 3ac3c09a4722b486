"""Objects of a cluster as `kubectl get … -o json` or `-o yaml` prints them, without places.

Thousands of nodes are a hundred megabytes: JSON is read by the reader made for it, in a second instead of minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gangform.documents.document import Manifest
from gangform.documents.read import read_manifests
from gangform.findings import Finding, InputError, InputPath, Severity, declare

JSON_BROKEN = declare(
    "json-broken", "A text that begins as JSON and is none", Severity.BREAKS, "RFC 8259"
)


def read_objects(text: str, file: str) -> list[Manifest]:
    """Every object of a text, Lists expanded.

    Args:
        text: The content.
        file: What findings call it.

    Raises:
        InputError: With everything that is wrong in it.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return list(_json(text.removeprefix("\ufeff"), file))
    documents = read_manifests(text, file)
    found = [
        one._replace(seen={**one.seen, "file": f"{file}:{one.seen.get('line', '1')}"})
        for document in documents
        for one in document.findings
    ]
    if found:
        raise InputError(found)
    return [document.manifest for document in documents]


def _json(text: str, file: str) -> Iterator[Manifest]:
    try:
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise InputError([_broken(error.msg, f"{file}:{error.lineno}:{error.colno}")]) from None
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError([_broken(what, file)]) from None
    yield from _expanded(value if isinstance(value, list) else [value], {})


def _expanded(items: list[Any], inherited: dict[str, Any]) -> Iterator[Manifest]:
    for item in items:
        if not isinstance(item, dict):
            continue
        kind, inside = item.get("kind"), item.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(inside, list):
            # The items of a typed list come from the API server without a kind of their own.
            own = kind.removesuffix("List")
            yield from _expanded(
                inside, {"apiVersion": item.get("apiVersion", ""), "kind": own} if own else {}
            )
        else:
            yield inherited | item


def _no_number(word: str) -> Any:
    raise ValueError(f"`{word}` is no number of JSON")


def _broken(what: str, file: str) -> Finding:
    return Finding(
        code=JSON_BROKEN,
        at=InputPath(()),
        what=f"the text begins as JSON and is none: {what}",
        fix="write what `kubectl get … -o json` prints, whole",
        seen={"file": file},
    )
