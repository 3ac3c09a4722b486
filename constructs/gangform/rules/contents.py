"""What Secrets and ConfigMaps hold: texts by key, as the API server takes them."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, mapping
from gangform.findings import Severity, declare
from gangform.rules.rule import Context, Fault, rule

REFUSED = declare(
    "data-refused",
    "An entry of a Secret or ConfigMap that the API server refuses: no text, no base64, or a key that it does not take",
    Severity.BREAKS,
    "core/v1: Secret, ConfigMap; apimachinery: IsConfigMapKey",
)
TOO_LARGE = declare(
    "data-too-large",
    "A Secret or ConfigMap that holds more than the API server takes",
    Severity.BREAKS,
    "core/v1: MaxSecretSize, which ConfigMaps share",
)

_MOST: Final = 1024 * 1024
"""Bytes of all values together; keys do not count."""
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_BYTES: Final = {"Secret": ("data",), "ConfigMap": ("binaryData",)}
_TEXTS: Final = {"Secret": ("stringData",), "ConfigMap": ("data",)}
_ENCRYPTED: Final = "sops"
"""What SOPS writes at the head of a file that it encrypted."""
_SHOWN: Final = 40
"""Characters of a key that are shown; values may be secrets, and are not."""


@rule(REFUSED, kinds=("Secret", "ConfigMap"))
def data_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Values are texts, or base64 where they are bytes, under keys that may be names of files."""
    if _ENCRYPTED in subject.manifest:
        return  # It is another object once it is decrypted.
    for part in (*_BYTES[subject.kind], *_TEXTS[subject.kind]):
        coded = part in _BYTES[subject.kind]
        for key, value in mapping(subject.manifest, part).items():
            if not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
                yield Fault(
                    path=(part, key),
                    what=f"the key `{key[:_SHOWN]}` has other signs than letters, digits, `-`, `_` and `.`",
                    fix="write a key such as `config.yaml`",
                )
            elif why := _refusal(value, coded=coded):
                plain = _TEXTS[subject.kind][0]
                yield Fault(
                    path=(part, key),
                    what=f"the value of {key[:_SHOWN]} is {why}",
                    fix=f"write it as it is under {plain}, or encode it"
                    if coded
                    else "write it as a text, in quotes",
                )


@rule(TOO_LARGE, kinds=("Secret", "ConfigMap"))
def data_too_large(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """All values together are a mebibyte at the most, decoded where they are bytes."""
    if _ENCRYPTED in subject.manifest:
        return
    sizes: dict[str, int] = {}  # a key in clear text stands for the same key in base64
    for part in (*_BYTES[subject.kind], *_TEXTS[subject.kind]):
        for key, value in mapping(subject.manifest, part).items():
            if isinstance(value, str):
                sizes[key] = _decoded(value) if part in _BYTES[subject.kind] else _encoded(value)
    size = sum(sizes.values())
    if size > _MOST:
        yield Fault(
            path=(_TEXTS[subject.kind][0] if subject.kind == "ConfigMap" else "data",),
            what=f"the values are {size} bytes, and {_MOST} is the most",
            fix="put them into several objects, or into a volume",
            seen={"bytes": str(size)},
        )


def _refusal(value: Node | None, *, coded: bool) -> str:
    """What a value is in place of what the API server takes; empty where it is that."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return "no text"
    return "no base64" if coded and not _decodes(value) else ""


def _decodes(value: str) -> bool:
    """Whether a text is base64 as the API server reads it: line breaks are skipped, other signs are not."""
    try:
        b64decode(value.replace("\n", "").replace("\r", "").encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return False
    return True


def _encoded(value: str) -> int:
    return len(value.encode("utf-8", "replace"))


def _decoded(value: str) -> int:
    """Bytes of a text in base64."""
    return len(value.replace("\n", "").replace("\r", "").rstrip("=")) * 3 // 4
