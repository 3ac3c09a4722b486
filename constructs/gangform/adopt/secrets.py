"""Secrets in plain text are not copied into a file that will be committed, nor shown in its comments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

HIDDEN: Final = "(not copied)"
"""What stands in the place of a secret."""
_NAME: Final = re.compile(r"(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_KEY|CREDENTIALS?)$")
_FLAG: Final = re.compile(r"(--(?:api[-_]key|hf[-_]token)(?:=|\s+))(?!\$)[^\s'\"]+")
_ALONE: Final = re.compile(r"--(?:api[-_]key|hf[-_]token)$")


def without_secrets(node: Any) -> Any:
    """A copy with `HIDDEN` where a variable or a flag that is called like a secret has its value written out."""
    if isinstance(node, Mapping):
        made = {key: without_secrets(value) for key, value in node.items()}
        name, value = node.get("name"), node.get("value")
        if isinstance(name, str) and isinstance(value, str) and _NAME.search(name.upper()):
            made["value"] = value if not value or value.startswith("$") else HIDDEN
        return made
    if isinstance(node, (list, tuple)):
        items = [without_secrets(one) for one in node]
        for index, one in enumerate(items[:-1]):
            after = items[index + 1]
            if isinstance(one, str) and _ALONE.match(one) and not str(after).startswith("$"):
                items[index + 1] = HIDDEN
        return items
    return _FLAG.sub(rf"\1{HIDDEN}", node) if isinstance(node, str) else node
