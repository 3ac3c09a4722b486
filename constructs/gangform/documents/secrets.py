"""Secrets in plain text are not copied into a file that will be committed, nor shown in reports and comments.

A secret is known by what it is called (a variable, a flag, an assignment in a script) or by how it looks. What only
may be one is hidden too, since a value that is missing is noticed and one that leaked is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

HIDDEN: Final = "(not copied)"
"""What stands in the place of a secret."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CERTAIN: Final = re.compile(
    r"(^|_)(PASSWORDS?|PASSWD|PASS|PWD|PASSPHRASE|SECRETS?|CREDENTIALS?|PAT"
    r"|(API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER)_?KEY|APIKEY)(_|$)"
)
_LIKELY: Final = re.compile(
    r"(^|_)(TOKENS?(_|$)|(AUTH|AUTH_HEADER|AUTHORIZATION|BEARER|COOKIE|KEY)$)"
)
_NO_SECRET: Final = re.compile(r"(/\S*|~/\S*|\$.*|)", re.DOTALL)
"""A path to it, a variable, or nothing."""
_SETTING: Final = re.compile(r"-?[0-9.]+|true|false|yes|no|on|off|none|null", re.IGNORECASE)
_LOOKS: Final = re.compile(
    r"\b(?:hf_|sk-|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|nvapi-|AKIA|ASIA)[A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)",
    re.DOTALL,
)
_IN_ADDRESS: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?!\$)[^\s/@]+(?=@)")
_IN_HEADER: Final = re.compile(r"\b((?:Bearer|Basic)\s+)(?!\$)[A-Za-z0-9._~+/=-]+")
_VALUE: Final = r"""(?!\(not copied)('[^']*'|"[^"]*"|[^\s;&|'"]+)"""
_ASSIGNED: Final = re.compile(rf"(?<![\w-])([A-Za-z_]\w*)(=){_VALUE}")
_FLAG_NAME: Final = r"--((?:[a-z][a-z0-9]*[-_])*(?:api)?(?:key|token|password|passwd|passphrase|secret|credentials?))"
_FLAG: Final = re.compile(rf"(?<![\w-]){_FLAG_NAME}(=|\s+)(?!-){_VALUE}")
_ALONE: Final = re.compile(_FLAG_NAME)


def is_secret(name: str, value: str) -> bool:
    """Whether something is called like a secret, and its value may be one.

    Args:
        name: Of a variable, a flag or a key.
        value: Its value as written.
    """
    words = _CAMEL.sub("_", name).replace("-", "_").upper()
    plain = value.strip("'\"")
    if _NO_SECRET.fullmatch(plain):
        return False
    if _CERTAIN.search(words):
        return True
    return _LIKELY.search(words) is not None and not _SETTING.fullmatch(plain)


def without_secrets(node: Any) -> Any:
    """A copy with `HIDDEN` where a secret has its value written out."""
    if isinstance(node, Mapping):
        made = {key: without_secrets(value) for key, value in node.items()}
        name, value = node.get("name"), node.get("value")
        if isinstance(name, str) and isinstance(value, str) and is_secret(name, value):
            made["value"] = HIDDEN
        return made
    if isinstance(node, (list, tuple)):
        return list(_words(node))
    return _text(node) if isinstance(node, str) else node


def _words(words: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """A list; where it is a command line, without the values of a flag that is called like a secret."""
    flag = ""
    for word in words:
        if isinstance(word, str) and (found := _ALONE.fullmatch(word)):
            flag = found[1]
        elif flag and isinstance(word, str) and not word.startswith("-") and is_secret(flag, word):
            # A flag may take several.
            yield HIDDEN
            continue
        else:
            flag = ""
        yield without_secrets(word)


def _text(text: str) -> str:
    text = _FLAG.sub(lambda found: f"--{_assigned(found)}", text)
    text = _ASSIGNED.sub(_assigned, text)
    text = _IN_ADDRESS.sub(rf"\1{HIDDEN}", text)
    text = _IN_HEADER.sub(rf"\1{HIDDEN}", text)
    return _LOOKS.sub(HIDDEN, text)


def _assigned(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    return f"{name}{sign}{HIDDEN if is_secret(name, value) else value}"
