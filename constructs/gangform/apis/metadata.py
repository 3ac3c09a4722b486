"""What the API server refuses in the metadata of any object, pod templates included: keys and values that are none.

Sources: validation of ObjectMeta in apimachinery (`IsQualifiedName`, `IsValidLabelValue`, `IsDNS1123Label`,
`IsDNS1123Subdomain`, `IsDNS1035Label`), the same for every kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from gangform.apis.keys import NAME_LIMIT
from gangform.documents.document import Node, dig
from gangform.findings import Path

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes that all annotations of an object may take, keys included (`TotalAnnotationSizeLimitB`)."""

Refusal = tuple[Path, str, str]
"""Path below the metadata, what is wrong, what to write instead."""


def is_dns_label(name: str, *, letter_first: bool = False) -> bool:
    """Whether a text is one label of a host name: at most 63 small letters, digits and dashes, none of these at an end.

    letter_first: as the older standard asks for (RFC 1035).
    """
    return bool(_DNS_LABEL.fullmatch(name)) and not (letter_first and name[0].isdigit())


def is_dns_subdomain(name: str) -> bool:
    """Whether a text is a host name, as the names of most objects are: labels with dots between, at most 253 in all."""
    return len(name) <= NAME_LIMIT and bool(_SUBDOMAIN.fullmatch(name))


@lru_cache(maxsize=4096)
def is_key(key: str) -> bool:
    """Whether a text is a label or annotation key: an optional DNS prefix and a name of at most 63 characters."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return bool(_NAME.fullmatch(name))


def is_label_value(value: str) -> bool:
    """Whether a text can be the value of a label: empty, or at most 63 characters of a name."""
    return not value or bool(_NAME.fullmatch(value))


def is_extended_resource(name: str) -> bool:
    """Whether a text names a resource of a device plugin: a key with a prefix that is not Kubernetes' own.

    Source: `IsExtendedResourceName` in core helpers.
    """
    return "/" in name and "kubernetes.io/" not in name and is_key(f"requests.{name}")


def size_of(entries: Mapping[str, object]) -> int:
    """Bytes that labels or annotations take, keys included."""
    return sum(len(f"{key}{value}".encode(errors="replace")) for key, value in entries.items())


def refusals(metadata: Node | None) -> Iterator[Refusal]:
    """What is wrong with labels and annotations."""
    for field in ("labels", "annotations"):
        entries = dig(metadata, field)
        if not isinstance(entries, Mapping):
            continue
        for key, value in entries.items():
            yield from _entry(field, key, value)
        if field == "annotations" and (size := size_of(entries)) > ANNOTATIONS_LIMIT:
            yield (
                (field,),
                f"the annotations take {size} bytes together, at most {ANNOTATIONS_LIMIT} are allowed",
                "keep long texts in a ConfigMap",
            )


def label_refusals(entries: Node | None) -> Iterator[Refusal]:
    """The same for a map of labels that stands elsewhere: a node selector."""
    if isinstance(entries, Mapping):
        for key, value in entries.items():
            yield from _entry("labels", key, value)


def _entry(field: str, key: str, value: Node) -> Iterator[Refusal]:
    at: Path = (field, key)
    if not is_key(key):
        yield (
            at,
            f"`{key}` is no key: a name of at most 63 characters, after an optional DNS prefix",
            "rename it",
        )
    if not isinstance(value, str):
        yield at, f"the value of `{key}` is no text", f'write "{value}" with quotes'
    elif field == "labels" and not is_label_value(value):
        yield (
            at,
            f"`{value}` is no value of a label: at most 63 letters, digits, dashes, dots and underscores",
            "shorten it or replace what is not allowed",
        )
