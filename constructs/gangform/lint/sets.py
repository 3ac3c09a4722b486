"""Which objects are judged together.

What was named together is one set, since a Service in one file may be wrong about pods in another. But one folder may
hold alternatives: overlays for two clusters, examples that have nothing to do with each other. They show by an object
that stands in two files with different content. Then each folder in it is a set of its own, by the same rule, and so
are the files that lie in it directly, together where they have no such object, else each by itself. In one file or
stream another set begins where an object comes again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gangform.apis.kinds import lacks_namespace
from gangform.documents.document import Document, Key
from gangform.lint.objects import Content, Object, made_by, placed


def sets(contents: Sequence[Content]) -> list[list[Object]]:
    """The sets, in the order of what was named. None is empty, and no object stands twice in one."""
    return [objects for objects in map(_once, _sets(list(contents), 0)) if objects]


def _sets(contents: list[Content], depth: int) -> Iterator[list[Object]]:
    if not _alternatives(contents):
        yield [each for content in contents for each in content.objects]
        return
    if len(contents) == 1:
        yield from _stretches(contents[0].objects)
        return
    folders: dict[str, list[Content]] = defaultdict(list)
    direct: list[Content] = []
    for content in contents:
        inside = content.text.folder
        if len(inside) > depth:
            folders[inside[depth]].append(content)
        else:
            direct.append(content)
    if _alternatives(direct):
        for content in direct:
            yield from _stretches(content.objects)
    else:
        yield [each for content in direct for each in content.objects]
    for inner in folders.values():
        yield from _sets(inner, depth + 1)


def _alternatives(contents: Sequence[Content]) -> bool:
    """Whether an object stands twice with different content."""
    known: dict[Key, Object] = {}
    for content in contents:
        for each in content.objects:
            key = each.document.key
            first = known.setdefault(key, each)
            if key.name and first is not each and first.manifest != each.manifest:
                return True
    return False


def _stretches(objects: Sequence[Object]) -> Iterator[list[Object]]:
    """The sets of one stream.

    One that follows begins where an object comes again, or before it, with the first object since of the kind that
    the set before began with: the order is the same in all of them, but not all names need be.
    """
    begin = 0
    known: dict[Key, int] = {}
    for here, each in enumerate(objects):
        key = each.document.key
        earlier = known.get(key)
        if key.name and earlier is not None and objects[earlier].manifest != each.manifest:
            kind = objects[begin].document.kind
            again = here
            if each.document.kind != kind:
                between = range(earlier + 1, here)
                again = next((n for n in between if objects[n].document.kind == kind), here)
            yield list(objects[begin:again])
            begin = again
            known = {objects[n].document.key: n for n in range(begin, here)}
        known[key] = here
    yield list(objects[begin:])


def _once(objects: Sequence[Object]) -> list[Object]:
    known: dict[Key, Object] = {}
    for number, each in enumerate(objects):
        key = each.document.key
        known.setdefault(key if key.name else Key("", "", "", str(number)), each)
    return list(known.values())


def documents(objects: Sequence[Object]) -> tuple[list[tuple[Document, Object]], list[Key]]:
    """What rules judge of a set, one document an object; and the keys of what controllers made of the others.

    Where the objects name a single namespace, those that name none are meant for it: who applies them says so. What a
    controller makes is not judged beside what it was made of: nobody wrote it.
    """
    namespaces = {each.document.key.namespace for each in objects} - {""}
    sole = namespaces.pop() if len(namespaces) == 1 else ""
    present = {(each.document.key.kind, each.document.key.name) for each in objects}
    judged: list[tuple[Document, Object]] = []
    made: list[Key] = []
    for each in objects:
        document = each.document
        if sole and lacks_namespace(each.manifest):
            document = placed(document, sole)
        if any(owner in present for owner in made_by(each.manifest)):
            made.append(document.key)
        else:
            judged.append((document, each))
    return judged, made
