"""The first `gangform.yaml` of a user: short, commented, and without findings."""

from __future__ import annotations

from gangform.inputs.cluster import Library


def starter(
    *,
    model: str,
    hardware: str,
    cluster: str = "prod",
    groups: int = 1,
    admission: str = "kueue",
    namespace: str = "llm",
    library: Library | None = None,
) -> str:
    """The text of a fleet file for one model on one kind of node.

    Raises:
        InputError: A name that the library does not have, or a model that no number of nodes can hold.
    """
    raise NotImplementedError
