"""A page as a test sees it: elements with their attributes and texts, tables with their cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "wbr", "br"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        inside = "".join(c if isinstance(c, str) else c.text for c in self.children)
        return " ".join(inside.split())

    def all(self, name: str) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                if child.name == name:
                    yield child
                yield from child.all(name)

    def own(self, name: str) -> str:
        """The text of the first child of a name."""
        return next(c.text for c in self.children if isinstance(c, Element) and c.name == name)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(page: str) -> Element:
    """The page; what is opened and not closed fails the test."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1, f"{reader.open[-1].name} is not closed"
    return reader.open[0]


def table(root: Element, title: str, number: int = 0) -> list[list[str]]:
    """The rows of the n-th table with a caption."""
    found = [one for one in root.all("table") if any(c.text == title for c in one.all("caption"))]
    return [[cell.text for cell in row.all("td")] for row in found[number].all("tr")][1:]
