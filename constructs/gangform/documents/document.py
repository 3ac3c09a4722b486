"""The plain data that everything downstream of the plan works on.

A manifest holds only maps, lists, texts, whole numbers and booleans: a float would be spelled differently by the
two emitters, and `null` has no meaning we use (`style §1.4`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Union

from gangform.findings import Path

Node = Union[Mapping[str, "Node"], Sequence["Node"], str, int, bool]  # noqa: UP007  names itself, on 3.11
"""A value inside a manifest. Covariant and read-only, so that builders need no casts."""

Manifest = Mapping[str, Node]
"""A whole object, or any map inside one."""


class Key(NamedTuple):
    """What makes an object the same object in a cluster. `namespace` is empty for a cluster-scoped one."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`Service/llm/r1-leader`, as people write it."""
        return printable("/".join(part for part in (self.kind, self.namespace, self.name) if part))


def printable(text: str) -> str:
    """A text of others for a line of ours: what would move a cursor, or begin another line, is spelled out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


@dataclass(frozen=True, kw_only=True)
class Document:
    """One object of a bundle and where it came from. Only `manifest` is emitted.

    Without slots, so that the key is made once: every index and rule asks for it.
    """

    manifest: Manifest
    builder: str
    """Dotted name of the function that made it: `manifests.disruption.budgets`. Empty for a foreign file."""
    origin: Path | None = None
    """The input it exists for: `("servings", "r1")`. `None` for a foreign file."""
    wave: int = 0
    """Argo CD sync wave; also the order in the file."""

    @cached_property
    def key(self) -> Key:
        """Group, kind, namespace and name."""
        return key_of(self.manifest)

    @cached_property
    def kind(self) -> str:
        """The kind, or an empty text for something that has none."""
        return text(self.manifest, "kind")


def group_of(api_version: str) -> str:
    """The API group of a group and version: `apps` of `apps/v1`, empty for the core's `v1`."""
    return api_version.rpartition("/")[0]


def key_of(manifest: Manifest) -> Key:
    """The key of a manifest; parts that are missing are empty texts."""
    return Key(
        group_of(text(manifest, "apiVersion")),
        text(manifest, "kind"),
        text(manifest, "metadata", "namespace"),
        text(manifest, "metadata", "name"),
    )


def dig(node: Node | None, *path: str | int) -> Node | None:
    """The value at a path, or `None` where the path ends early or meets something of another type."""
    here: Any = node
    for part in path:
        here = here.get(part) if here.__class__ is dict else _step(here, part)
    found: Node | None = here
    return found


# A plain dict is looked into on the spot, there and in what follows: lint asks half a million times, and a call takes
# longer than the rest. It has no key that is a number.
def _step(here: Any, part: str | int) -> Any:
    if here is None:
        return None
    if isinstance(part, str):
        return here.get(part) if isinstance(here, Mapping) else None
    if isinstance(here, Sequence) and not isinstance(here, str):
        return here[part] if -len(here) <= part < len(here) else None
    return None


def text(node: Node | None, *path: str | int) -> str:
    """The text at a path; empty where there is none."""
    here: Any = node
    for part in path:
        here = here.get(part) if here.__class__ is dict else _step(here, part)
    return here if isinstance(here, str) else ""


def whole(node: Node | None, *path: str | int) -> int | None:
    """The whole number at a path; `None` where there is none (a boolean is none)."""
    value = dig(node, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(node: Node | None, *path: str | int) -> Manifest:
    """The map at a path; empty where there is none."""
    here: Any = node
    for part in path:
        here = here.get(part) if here.__class__ is dict else _step(here, part)
    found: Manifest = {} if here is None or not isinstance(here, (dict, Mapping)) else here
    return found


def sequence(node: Node | None, *path: str | int) -> Sequence[Node]:
    """The list at a path; empty where there is none."""
    here: Any = node
    for part in path:
        here = here.get(part) if here.__class__ is dict else _step(here, part)
    if here is None or isinstance(here, str):
        return ()
    return here if isinstance(here, (list, tuple, Sequence)) else ()


def texts(node: Node | None) -> dict[str, str]:
    """The entries of a map that are texts: labels, annotations."""
    return {key: value for key, value in mapping(node).items() if isinstance(value, str)}


def leaves(node: Node, path: Path = ()) -> Iterator[tuple[Path, str | int | bool]]:
    """Every text, number and boolean in a node, with its path, in order."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, (str, int)):
        yield path, node
    else:
        for index, value in enumerate(node):
            yield from leaves(value, (*path, index))
