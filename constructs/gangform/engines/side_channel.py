"""The address under which other pods ask an engine for its cache, as a container and its script write it."""

from __future__ import annotations

from gangform.documents.document import Manifest, sequence
from gangform.engines.engine import SideChannel
from gangform.engines.shell import Command, environment


def side_channel(
    container: Manifest, command: Command, variable: str, default: str | None
) -> SideChannel:
    """An address from a variable of the container, or of its script."""
    known = environment(container)
    written = variable in known or variable in command.variables
    value = command.variables[variable] if variable in command.variables else known.get(variable)
    unknown = bool(sequence(container, "envFrom"))
    return SideChannel(variable, value if written or unknown else default, written)
