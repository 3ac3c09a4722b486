"""Whether groups fit in any way, held against every way there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.plan import arrangement
from gangform.plan.arrangement import Item, arrange
from gangform.plan.layout import At

RACKS = (("b0", "r0"), ("b0", "r1"), ("b1", "r2"), ("b1", "r3"))


def fits(left: dict[At, int], items: list[Item], free: int, shut: frozenset[At]) -> bool:
    """Every way to lay the items node by node, written without anything of what is tested."""
    if not items:
        return sum(nodes for at, nodes in left.items() if at not in shut) >= free
    item, *rest = items
    for domain in {at[: item.depth] for at in left}:
        inside = [at for at in left if at[: item.depth] == domain]
        if any(at in shut for at in inside):
            inside = [at for at in inside if at not in shut] if not item.exclusive else []
        if item.exclusive:
            whole = inside and all(left[at] == FULL[at] for at in inside)
            if not whole or sum(left[at] for at in inside) < item.nodes:
                continue
            if fits(
                {at: n * (at not in inside) for at, n in left.items()}, rest, free, shut | {*inside}
            ):
                return True
            continue
        for share in shares(item.nodes, [left[at] for at in inside]):
            taken = dict(zip(inside, share, strict=True))
            after = {at: n - taken.get(at, 0) for at, n in left.items()}
            if fits(after, rest, free, shut):
                return True
    return False


FULL: dict[At, int] = {}


def shares(nodes: int, room: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take so many nodes of these rooms."""
    if not room:
        if not nodes:
            yield ()
        return
    for here in range(min(nodes, room[0]) + 1):
        for others in shares(nodes - here, room[1:]):
            yield (here, *others)


items = st.builds(Item, st.integers(1, 4), st.integers(1, 2), st.sampled_from((False, False, True)))


@settings(deadline=None, max_examples=400)
@given(
    sizes=st.tuples(*[st.integers(0, 4)] * 4),
    asked=st.lists(items, min_size=1, max_size=4),
    free=st.integers(0, 3),
)
def test_what_is_found_fits_and_what_is_not_cannot(
    sizes: tuple[int, ...], asked: list[Item], free: int
) -> None:
    FULL.clear()
    FULL.update(zip(RACKS, sizes, strict=True))
    found = arrange(list(zip(RACKS, sizes, strict=True)), asked, free)
    assert (found.targets is not None) == fits(dict(FULL), asked, free, frozenset())
    assert found.certain
    if found.targets is not None:
        assert [len(at) for at in found.targets] == [item.depth for item in asked]


def test_four_and_three_beside_three_and_three_fit_where_the_tightest_place_first_does_not() -> (
    None
):
    domains = [(("r0",), 7), (("r1",), 6)]
    found = arrange(domains, [Item(4, 1), *[Item(3, 1)] * 3], 0)
    assert found.targets is not None
    assert found.targets[0] == ("r0",)
    assert sorted(found.targets) == [("r0",), ("r0",), ("r1",), ("r1",)]
    assert arrange(domains, [Item(4, 1), *[Item(3, 1)] * 3], 1) == (None, True)


def test_a_search_that_gives_up_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    domains = [((f"r{index}",), 12) for index in range(6)]
    asked = [Item(nodes, 1) for nodes in (7, 7, 7, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 5)]
    monkeypatch.setattr(arrangement, "MOST_STATES", 2)
    assert arrange(domains, asked, 0) == (None, False)
    monkeypatch.setattr(arrangement, "MOST_ITEMS", 3)
    assert arrange(domains, [Item(1, 1)] * 4, 0) == (None, False)
