"""Groups over failure domains: a wish that most backends do not hear."""

from collections.abc import Iterator

from gangform.admission.admission import Demand


def remarks(demand: Demand) -> Iterator[str]:
    """What the backend makes of a wish to spread groups."""
    if demand.spread is None or not demand.runs_groups:
        return
    if keeps_apart(demand) == demand.spread:
        yield f"groups of the set lie in domains of {demand.spread} of their own: exclusive topology keeps them apart"
    else:
        yield (
            f"no backend spreads groups over {demand.spread}: the pool says how many one domain may take at worst"
        )


def keeps_apart(demand: Demand) -> str | None:
    """The level whose domains the backend gives to one group each; `None` where it keeps no groups apart."""
    placed = demand.placement
    return (
        placed.level
        if demand.exclusive and placed is not None and placed.mode == "required"
        else None
    )
