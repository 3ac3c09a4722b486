"""The user's own changes to a manifest: merged in, or as the operations of RFC 6902.

Merging is that of `kubectl patch`, without a schema: maps by key, lists of named maps by `name`, all other lists as a
whole, and `null` deletes. Written here and not taken from a library: a manifest has no `null` and no fraction, `true`
is not `1`, an error has to say what stands at the place where the path ends, and nothing is changed in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangform.documents.changes import same
from gangform.documents.document import Manifest, Node
from gangform.findings import GangformError, Path, show_path

_DIRECTIVE = "$patch"
_INDEX = re.compile(r"0|[1-9][0-9]*")


class PatchError(GangformError):
    """A patch that does not fit the manifest. `path` is the place in the manifest, `what` says why."""

    def __init__(self, path: Path, what: str) -> None:
        """Keep the parts: the caller knows which patch it was."""
        self.path, self.what = path, what
        super().__init__(path, what)

    def __str__(self) -> str:
        """`spec.replicas: …`; a path of nothing is the whole object."""
        return f"{show_path(self.path) or 'the object'}: {self.what}"


def merge(manifest: Manifest, patch: Mapping[str, Any]) -> Manifest:
    """A manifest with a patch merged in; neither is changed.

    A `null` deletes its key. An entry of a list of named maps is merged into the one of its name or added at the
    end, and `$patch: delete` in it takes that entry out. A list without names, or an empty one, replaces the list.

    Raises:
        PatchError: A map, list or plain value over one of the others, a value no manifest holds, or another
            directive.
    """
    return _merge_map(manifest, patch, ())


def _merge_map(given: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> dict[str, Node]:
    merged: dict[str, Node] = {key: _copy(value, (*path, key)) for key, value in given.items()}
    for key, value in patch.items():
        where = (*path, key)
        if not isinstance(key, str):
            raise PatchError(path, f"the key `{key}` is not a text; quote it")
        if key.startswith("$"):
            raise PatchError(
                where, f"only `{_DIRECTIVE}: delete` in an entry of a named list is understood"
            )
        if value is None:
            merged.pop(key, None)
        elif key in given:
            merged[key] = _merge(given[key], value, where)
        else:
            merged[key] = _added(value, where)
    return merged


def _merge(given: Any, patch: Any, path: Path) -> Node:
    if _sort(given) != _sort(patch):
        raise PatchError(path, f"{_sort(patch)} cannot be merged into {_sort(given)}")
    if isinstance(patch, Mapping):
        return _merge_map(given, patch, path)
    if _is_list(patch) and patch and _names(patch) and (_names(given) or not given):
        return _merge_named(given, patch, path)
    if _is_list(patch) and _names(given) and all(isinstance(item, Mapping) for item in patch):
        names = [item.get("name") for item in patch]
        twice = [name for name in names if name is not None and names.count(name) > 1]
        if twice:
            raise PatchError(path, f"`{twice[0]}` is there twice; a list is merged by name")
    return _added(patch, path)


def _merge_named(given: Sequence[Any], patch: Sequence[Any], path: Path) -> list[Node]:
    merged: dict[str, Node] = {item["name"]: _copy(item, path) for item in given}
    for index, item in enumerate(patch):
        name = item["name"]
        if item.get(_DIRECTIVE) == "delete":
            if merged.pop(name, None) is None:
                raise PatchError(path, f"there is no `{name}` to delete{_near(name, merged)}")
        elif name in merged:
            position = next((at for at, other in enumerate(given) if other["name"] == name), index)
            merged[name] = _merge(merged[name], item, (*path, position))
        else:
            merged[name] = _added(item, (*path, len(merged)))
    return list(merged.values())


def _added(value: Any, path: Path) -> Node:
    """What a patch brings along where nothing was: its nulls have nothing to delete."""
    if isinstance(value, Mapping):
        return _merge_map({}, value, path)
    if isinstance(value, (list, tuple)):
        return [_added(item, (*path, index)) for index, item in enumerate(value)]
    return _copy(value, path)


def apply_json(manifest: Manifest, operations: Sequence[Mapping[str, Any]]) -> Manifest:
    """A manifest after the operations of RFC 6902, in order; nothing given is changed.

    Raises:
        PatchError: An operation that is malformed, whose place is not there, or a `test` that does not hold.
    """
    root: dict[str, Node] = _merge_map(manifest, {}, ())
    for number, operation in enumerate(operations):
        try:
            changed = _operate(root, operation)
            if not isinstance(changed, dict):
                raise PatchError((), "an object stays a map")
            root = changed
        except PatchError as error:
            verb, pointer = operation.get("op", "?"), operation.get("path", "?")
            raise PatchError(
                error.path, f"operation {number} ({verb} {pointer}): {error.what}"
            ) from None
    return root


def _operate(root: Any, operation: Mapping[str, Any]) -> Any:
    """One operation on a tree that is ours to change."""
    verb, path = operation.get("op"), _pointer(operation, "path")
    if verb in ("add", "replace", "test"):
        if "value" not in operation:
            raise PatchError(path, f"`{verb}` needs a `value`")
        if verb == "test":
            if not same(_get(root, path), operation["value"]):
                raise PatchError(path, f"it is not {operation['value']!r}")
            return root
        value = _copy(operation["value"], path)
        return _put(root, path, value, insert=verb == "add")
    if verb == "remove":
        return _remove(root, path)
    if verb in ("copy", "move"):
        source = _pointer(operation, "from")
        value = _copy(_get(root, source), path)
        if verb == "move":
            if path[: len(source)] == source and path != source:
                raise PatchError(path, "a value cannot move into itself")
            root = _remove(root, source)
        return _put(root, path, value, insert=True)
    raise PatchError(path, f"`{verb}` is not one of add, remove, replace, copy, move, test")


def _pointer(operation: Mapping[str, Any], member: str) -> tuple[str, ...]:
    """A JSON pointer's parts: `/metadata/annotations/a~1b` ends in `a/b`."""
    pointer = operation.get(member)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError((), f"`{member}` is a JSON pointer such as /spec/replicas")
    if re.search(r"~(?![01])", pointer):
        raise PatchError((), f"`~` in a pointer is written `~0`, `/` is written `~1`: {pointer}")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _step(node: Any, part: str, path: Path) -> Any:
    """The key or index that a part of a pointer means at a node, if it is there."""
    if isinstance(node, dict):
        if part not in node:
            raise PatchError((*path, part), f"there is no `{part}` here{_near(part, node)}")
        return part
    if not isinstance(node, list):
        raise PatchError(path, f"{_sort(node)} has nothing inside")
    if not _INDEX.fullmatch(part):
        raise PatchError((*path, part), "a list is entered by an index such as 0")
    if int(part) >= len(node):
        raise PatchError((*path, int(part)), f"the list has {len(node)} entries, counted from 0")
    return int(part)


def _get(root: Any, pointer: tuple[str, ...]) -> Any:
    node = root
    path: Path = ()
    for part in pointer:
        key = _step(node, part, path)
        node, path = node[key], (*path, key)
    return node


def _parent(root: Any, pointer: tuple[str, ...]) -> Any:
    return _get(root, pointer[:-1])


def _put(root: Any, pointer: tuple[str, ...], value: Any, *, insert: bool) -> Any:
    if not pointer:
        return value
    parent, last = _parent(root, pointer), pointer[-1]
    if isinstance(parent, dict) and insert:
        parent[last] = value
    elif isinstance(parent, list) and insert:
        if last == "-" or last == str(len(parent)):
            parent.append(value)
        else:
            parent.insert(_step(parent, last, pointer[:-1]), value)
    else:
        parent[_step(parent, last, pointer[:-1])] = value
    return root


def _remove(root: Any, pointer: tuple[str, ...]) -> Any:
    if not pointer:
        raise PatchError((), "the whole object cannot be removed")
    parent = _parent(root, pointer)
    del parent[_step(parent, pointer[-1], pointer[:-1])]
    return root


def touched(before: Node, after: Node) -> list[Path]:
    """The paths of the leaves that differ: changed, added or removed. Empty maps and lists are leaves.

    Entries of named lists are compared by name, so that an entry put before others does not touch them; their
    index is that in `after`, or in `before` for what is gone. Where only the order differs, it is the list's path.
    """
    return list(_touched(before, after, ()))


def _touched(before: Any, after: Any, path: Path) -> Iterator[Path]:
    if isinstance(before, Mapping) and isinstance(after, Mapping) and before and after:
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield from _ends(before[key], (*path, key))
            elif key not in before:
                yield from _ends(after[key], (*path, key))
            else:
                yield from _touched(before[key], after[key], (*path, key))
    elif _is_list(before) and _is_list(after) and before and after:
        named = _names(before) and _names(after)
        old = {item["name"] if named else index: index for index, item in enumerate(before)}
        new = {item["name"] if named else index: index for index, item in enumerate(after)}
        for name in [*new, *(name for name in old if name not in new)]:
            if name not in new:
                yield from _ends(before[old[name]], (*path, old[name]))
            elif name not in old:
                yield from _ends(after[new[name]], (*path, new[name]))
            else:
                yield from _touched(before[old[name]], after[new[name]], (*path, new[name]))
        if [name for name in new if name in old] != [name for name in old if name in new]:
            yield path
    elif not same(before, after):
        # One of them is a leaf or empty: that and everything in the other is touched.
        yield from dict.fromkeys([*_ends(before, path), *_ends(after, path)])


def _ends(node: Any, path: Path) -> Iterator[Path]:
    """The paths of all leaves of a node."""
    pairs: Sequence[tuple[str | int, Any]] = ()
    if isinstance(node, Mapping):
        pairs = list(node.items())
    elif _is_list(node):
        pairs = list(enumerate(node))
    if not pairs:
        yield path
    for part, value in pairs:
        yield from _ends(value, (*path, part))


def _is_list(node: object) -> bool:
    return isinstance(node, (list, tuple))


def _names(items: Sequence[Any]) -> bool:
    """Whether every entry is a map with a name of its own."""
    names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _sort(node: object) -> str:
    if isinstance(node, Mapping):
        return "a map"
    return "a list" if _is_list(node) else "a plain value"


def _near(name: str, names: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; there is: {', '.join(sorted(names)[:8])}" if names else ""


def _copy(node: Any, path: Path) -> Node:
    """A tree of plain maps and lists that nothing else holds."""
    if isinstance(node, (str, int)):
        return node
    if isinstance(node, Mapping):
        return {key: _copy(value, (*path, key)) for key, value in node.items()}
    if _is_list(node):
        return [_copy(item, (*path, index)) for index, item in enumerate(node)]
    if node is None:
        raise PatchError(path, "a manifest holds no null")
    raise PatchError(path, f"`{node}` is no text, whole number or boolean; write it as text")
