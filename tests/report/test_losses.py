"""What is said of a loss beside groups that do not serve already."""

from __future__ import annotations

import pytest

from gangform.plan.loss import Evicted, Loss
from gangform.report.losses import cells
from gangform.units import Seconds


@pytest.mark.parametrize(
    ("broken", "groups", "serve", "waits"),
    [
        ((), (0,), "1 of 6 serve; all back", "takes group 0 at once"),
        ((5,), (0,), "group 5 does not serve now", "takes group 0 once group 5 serves again"),
        ((4, 5), (0,), "groups 4, 5 do not serve now", "group 0 once groups 4, 5 serve again"),
        (
            (2, 3, 4, 5),
            (0, 1),
            "groups 2 to 5 do not serve now",
            "takes groups 0, 1 one after another once groups 2 to 5 serve again, 1 of 6 keep serving",
        ),
        ((0,), (0,), "group 0 does not serve now", "takes group 0 at once"),
    ],
)
def test_groups_that_do_not_serve_are_named_and_waited_for(
    broken: tuple[int, ...], groups: tuple[int, ...], serve: str, waits: str
) -> None:
    loss = Loss(
        serving="r1",
        groups=groups,
        of=6,
        broken=broken,
        lost=1,
        floor=1,
        drain=tuple(Evicted(group, "evicted in turn", "r1") for group in groups),
        home=None,
        back=Seconds(600),
        drained=Seconds(1200) if not broken else None,
    )
    _, _, lost, drain = cells(loss)
    assert serve in lost
    assert waits in drain
