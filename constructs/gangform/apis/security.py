"""Security contexts of pods and containers: what they grant, and what the pod API refuses in them.

Sources: `ValidateSecurityContext` and `ValidatePodSecurityContext` in core validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.documents.document import Node, dig, sequence
from gangform.findings import Path

_IDS: Final = ("runAsUser", "runAsGroup", "fsGroup")
_HIGHEST: Final = 2**31 - 1
_PREFIX: Final = "CAP_"
_ADMIN: Final = "SYS_ADMIN"


def added(context: Node | None) -> tuple[str, ...]:
    """The capabilities that a container's context adds, as written."""
    names = sequence(context, "capabilities", "add")
    return tuple(name for name in names if isinstance(name, str))


def merged(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    """Both lists, ours first and none twice, with or without the prefix `CAP_`."""
    known = {name.removeprefix(_PREFIX) for name in ours}
    return (*ours, *(name for name in theirs if name.removeprefix(_PREFIX) not in known))


def escalates(context: Node | None) -> bool:
    """Whether a container may gain privileges whatever it says: privileged ones, and those with CAP_SYS_ADMIN."""
    return dig(context, "privileged") is True or any(
        name.removeprefix(_PREFIX) == _ADMIN for name in added(context)
    )


def security_refusals(context: Node | None, path: Path) -> Iterator[tuple[Path, str, str]]:
    """What the pod API refuses in a context of a pod or container: path, what is wrong, what to write instead."""
    for key in _IDS:
        value = dig(context, key)
        if value is None or (type(value) is int and 0 <= value <= _HIGHEST):
            continue
        yield (
            (*path, key),
            f"{key} `{value}` is no whole number from 0 to {_HIGHEST}",
            "write the numeric id",
        )
    if dig(context, "allowPrivilegeEscalation") is not False:
        return
    admin = _PREFIX + _ADMIN
    cause = "privileged: true" if dig(context, "privileged") is True else ""
    # The API compares with this spelling only.
    cause = cause or (f"the capability {admin}" if admin in added(context) else "")
    if cause:
        yield (
            (*path, "allowPrivilegeEscalation"),
            f"allowPrivilegeEscalation: false beside {cause}, which implies it",
            "write allowPrivilegeEscalation: true, or take the privilege away",
        )
