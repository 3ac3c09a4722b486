"""The page in a real browser: silent, alone, whole, and within the screen at phone and desktop width."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.chromium import PROGRAM, Tab, browser

pytestmark = pytest.mark.browser

_WIDER = """
[...document.querySelectorAll('body *')]
  .filter(one => !one.closest('svg') && !one.matches('.grid:not(.objects) > caption'))
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 120))
"""
"""What sticks out at the right."""
_CUT = """
[...document.querySelectorAll('svg[role=img]')].flatMap(svg =>
  [...svg.querySelectorAll('text')]
    .filter(one => {
      const [text, own] = [one.getBoundingClientRect(), svg.getBoundingClientRect()]
      return text.width && (text.left < own.left - 1 || text.right > own.right + 1)
    })
    .map(one => one.textContent))
"""
"""Letters that leave their picture."""
_HIDDEN = """
[...document.querySelectorAll('table, svg[role=img]')]
  .filter(one => !one.getBoundingClientRect().width || !one.getBoundingClientRect().height)
  .map(one => one.outerHTML.slice(0, 120))
"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if PROGRAM is None:
        if os.environ.get("GANGFORM_BROWSER_TESTS") == "required":
            pytest.fail("no Chromium, and the tests with one are required")
        pytest.skip("no Chromium on this machine")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_stands_alone_and_fits_the_screen(
    tab: Tab, shipped: Path, width: int, dark: bool
) -> None:
    tab.open(shipped, width=width, dark=dark)
    assert tab.ask("document.documentElement.clientWidth") <= width
    assert tab.complaints == []
    assert tab.requests == [shipped.as_uri()]
    assert tab.ask("document.querySelectorAll('table').length") > 30
    assert tab.ask("document.querySelectorAll('svg[role=img]').length") > 30
    assert tab.ask(_HIDDEN) == []
    assert tab.ask(_WIDER) == []
    assert tab.ask(_CUT) == []
    paper = tab.ask("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark


def test_paper_is_white_and_nothing_is_lost_on_it(tab: Tab, shipped: Path) -> None:
    tab.open(shipped, width=794, dark=True)
    tab.send("Emulation.setEmulatedMedia", media="print")
    assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.ask(_HIDDEN) == []
    assert tab.ask(_WIDER) == []
    tab.send("Emulation.setEmulatedMedia", media="")


def test_readers_of_screens_get_a_name_for_every_picture(tab: Tab, shipped: Path) -> None:
    tab.open(shipped, width=1280)
    tree = tab.send("Accessibility.getFullAXTree")["nodes"]
    pictures = [
        node
        for node in tree
        if node.get("role", {}).get("value") in ("image", "img") and not node["ignored"]
    ]
    assert len(pictures) > 30
    assert all(node["name"]["value"] for node in pictures)


def test_the_check_sees_what_it_is_there_to_see(tab: Tab, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><body><div style='width: 3000px'>wide</div><img src='missing.png'>"
        "<svg role='img' width='10' height='20'><text y='12'>far too long</text></svg>"
        "<table></table><script>console.error('said')</script>"
    )
    tab.open(bad, width=390)
    assert len(tab.requests) == 2
    assert tab.complaints
    assert tab.ask(_WIDER) and tab.ask(_CUT) and tab.ask(_HIDDEN)
