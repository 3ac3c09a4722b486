"""The address under which other pods ask an engine for its cache, as a container and its script write it."""

from __future__ import annotations

from gangform.documents.document import Manifest, sequence
from gangform.engines.engine import SideChannel
from gangform.engines.shell import Command, settings


def side_channel(
    container: Manifest, command: Command, variable: str, default: str | None
) -> SideChannel:
    """An address from a variable of the container, or of its script."""
    known = settings(container, command)
    absent = variable not in known and not sequence(container, "envFrom")
    return SideChannel(variable, default if absent else known.get(variable), variable in known)
