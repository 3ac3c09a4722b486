"""Pictures as SVG inside of HTML, written by hand: every text is escaped, every picture has a title and a description.

Places along a picture are shares of its width, so that it fills a phone and a wide screen alike while its letters keep
their size. Colours are names of classes; the page gives them a light, a dark and a printed look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from markupsafe import Markup, escape

Value = str | int | Fraction
"""A text, a number of pixels, or a share of the width."""


def element(name: str, attributes: Mapping[str, Value], *children: str) -> Markup:
    """An element; a child that is no `Markup` is a text of somebody, and shown as it is."""
    words = "".join(f' {key}="{escape(spelled(value))}"' for key, value in attributes.items())
    inside = Markup("").join(children)
    return Markup(f"<{name}{words}>") + inside + Markup(f"</{name}>")


def spelled(value: Value) -> str:
    """A share as percent with two places, everything else as it is."""
    if not isinstance(value, Fraction):
        return str(value)
    hundredths = round(value * 10_000)
    whole, rest = divmod(abs(hundredths), 100)
    return f"{'-' if hundredths < 0 else ''}{whole}.{rest:02d}%"


def share(part: int, whole: int) -> Fraction:
    """A part as a share; 0 of nothing."""
    return Fraction(part, whole) if whole else Fraction(0)


class Numbers:
    """Counts the pictures of a page, so that each can be named and no two alike."""

    def __init__(self) -> None:
        """None yet."""
        self._last = 0

    def next(self) -> str:
        """A name that no other picture has."""
        self._last += 1
        return f"picture-{self._last}"


def picture(
    numbers: Numbers,
    *,
    title: str,
    description: str,
    height: int,
    children: Iterable[str],
    width: int | None = None,
    kind: str = "",
) -> Markup:
    """A picture that readers of screens announce by its title and then its description.

    Args:
        numbers: Of the page.
        title: What it shows.
        description: The same in words, with the figures.
        height: In pixels.
        children: What is drawn, from back to front.
        width: In pixels; all there is by default.
        kind: A class.
    """
    name = numbers.next()
    return element(
        "svg",
        {
            "role": "img",
            "aria-labelledby": f"{name}-title {name}-description",
            "width": "100%" if width is None else width,
            "height": height,
            **({"class": kind} if kind else {}),
        },
        element("title", {"id": f"{name}-title"}, title),
        element("desc", {"id": f"{name}-description"}, description),
        *children,
    )


def box(kind: str, *, x: Value, y: int, width: Value, height: int, title: str = "") -> Markup:
    """A rectangle; the title is what a pointer sees that rests on it."""
    return element(
        "rect",
        {"class": kind, "x": x, "y": y, "width": width, "height": height},
        *([element("title", {}, title)] if title else []),
    )


def line(kind: str, *, x1: Value, y1: int, x2: Value, y2: int) -> Markup:
    """A straight line."""
    return element("line", {"class": kind, "x1": x1, "y1": y1, "x2": x2, "y2": y2})


def words(text: str, *, x: Value, y: int, kind: str = "", anchor: str = "start") -> Markup:
    """A text with its foot at `y`; `anchor` says what of it stands at `x`: start, middle or end."""
    return element(
        "text",
        {"x": x, "y": y, "text-anchor": anchor, **({"class": kind} if kind else {})},
        text,
    )


class Key(NamedTuple):
    """One entry of a legend."""

    kind: str
    """The class that it explains."""
    text: str


def swatch(kind: str) -> Markup:
    """A small sample of a class, for legends; the words beside it say what it means."""
    return element(
        "svg",
        {"class": "swatch", "width": 14, "height": 14, "aria-hidden": "true"},
        box(kind, x=1, y=1, width=12, height=12),
    )


PATTERNS = (
    ("hatched", "M0 6 L6 0 M-1.5 1.5 L1.5 -1.5 M4.5 7.5 L7.5 4.5"),
    ("counter", "M0 0 L6 6 M-1.5 4.5 L1.5 7.5 M4.5 -1.5 L7.5 1.5"),
    ("dotted", "M3 3 m-0.9 0 a0.9 0.9 0 1 0 1.8 0 a0.9 0.9 0 1 0 -1.8 0"),
)
"""Name and strokes of each pattern, on a tile of six pixels."""


def patterns() -> Markup:
    """What tells areas apart where colours cannot: once a page, for all its pictures."""
    tiles = [
        element(
            "pattern",
            {"id": name, "width": 6, "height": 6, "patternUnits": "userSpaceOnUse"},
            element("rect", {"class": f"{name}-ground", "width": 6, "height": 6}),
            element("path", {"class": f"{name}-stroke", "d": strokes}),
        )
        for name, strokes in PATTERNS
    ]
    return element(
        "svg",
        {"class": "patterns", "width": 0, "height": 0, "aria-hidden": "true"},
        element("defs", {}, *tiles),
    )
