"""What is known beside the manifests: objects out of a cluster, and facts.

Objects join to what is judged, but what is wrong with them alone is not said. Nodes say how many domains a label has,
and LWS's configuration says who makes PodGroups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from gangform.apis import leaderworkerset
from gangform.apis.kinds import GROUPS, NO_NAMESPACE
from gangform.apis.versions import Release, Versions
from gangform.documents.document import Document, Key, Manifest, mapping, text
from gangform.documents.read import read_manifests
from gangform.findings import InputError
from gangform.inputs.files import read_file
from gangform.lint.objects import Object, read
from gangform.lint.sources import Missing, Text
from gangform.rules.rule import Context
from gangform.units import Seconds

if TYPE_CHECKING:
    from gangform.inputs.given import Given

_OBJECTS = b"apiVersion"
"""What a file of facts does not hold, and the answer of a cluster always does, also an empty one."""


class Beside(NamedTuple):
    """Everything that was given."""

    objects: tuple[Object, ...] = ()
    exists: tuple[str, ...] = ()
    """References to objects: kind, namespace and name."""
    context: Context = Context()
    """All of it that does not depend on what is judged."""
    cold_starts: Mapping[str, Seconds] = {}


def beside(files: Sequence[str], versions: Mapping[str, Release]) -> Beside:
    """Read what was given. Of facts that stand in several files the last one counts, then the command line.

    Args:
        files: Objects and facts.
        versions: Releases that run, by name.

    Raises:
        LoadError: With everything that is wrong in a file of facts.
        InputError: A file is not well-formed.
        Missing: There is no such file.
        OSError: A file cannot be read.
    """
    objects: list[Object] = []
    facts: list[Given] = []
    for file in files:
        if not Path(file).exists():
            raise Missing(f"there is no file {file}")
        content = read(Text(file, Path(file).read_bytes(), (), True))
        if not content.objects and _OBJECTS not in content.text.content:
            from gangform.inputs.given import read_given

            facts.append(read_given(read_file(Path(file))))
            continue
        if content.faults:
            raise InputError(each.finding for each in content.faults)
        objects += content.objects
    releases: dict[str, Release] = {}
    domains = dict(_domains(each.manifest for each in objects))
    provider = _provider(each.manifest for each in objects)
    cold_starts: dict[str, Seconds] = {}
    for one in facts:
        releases |= one.versions.releases
        domains |= one.domains
        cold_starts |= one.cold_start
        provider = one.lws_scheduler_provider or provider
    releases |= versions
    context = Context(
        versions=_versions(releases),
        complete=any(one.complete for one in facts),
        domains=domains or None,
        provider=provider,
        state_metrics=any(one.state_metrics == "configured" for one in facts),
        engines={name: each for name, each in releases.items() if name not in Versions._fields}
        or None,
    )
    exists = tuple(each for one in facts for each in one.exists)
    return Beside(tuple(objects), exists, context, cold_starts)


def _versions(releases: Mapping[str, Release]) -> Versions | None:
    cluster = {name: releases[name] for name in Versions._fields if name in releases}
    return Versions(**cluster) if cluster else None


def _domains(manifests: Iterable[Manifest]) -> Iterator[tuple[str, int]]:
    values: defaultdict[str, set[str]] = defaultdict(set)
    for manifest in manifests:
        if text(manifest, "kind") in _NODES:
            for key, value in mapping(manifest, "metadata", "labels").items():
                values[key].add(str(value))
    for key, found in values.items():
        yield key, len(found)


_NODES = ("Node",)


def _provider(manifests: Iterable[Manifest]) -> Literal["none", "volcano"] | None:
    """What LWS's configuration says, where it was given."""
    for manifest in manifests:
        for each in (manifest, *_inside(manifest)):
            if text(each, "apiVersion").startswith(leaderworkerset.CONFIGURATION):
                said = text(each, "gangSchedulingManagement", "schedulerProvider")
                if said in ("", "none"):
                    return "none"
                return "volcano" if said.startswith("volcano") else None
    return None


def _inside(manifest: Manifest) -> Iterator[Manifest]:
    """The objects in the texts of a ConfigMap."""
    for value in mapping(manifest, "data").values():
        if isinstance(value, str) and leaderworkerset.CONFIGURATION in value:
            yield from (each.manifest for each in read_manifests(value, ""))


def context_of(given: Beside, documents: Sequence[Document], made: Iterable[Key]) -> Context:
    """The context of one set of documents: references without a namespace are meant in each of theirs."""
    namespaces = sorted({document.key.namespace for document in documents} | {""})
    exists = {key for each in given.exists for key in _keys(each, namespaces)}
    cold_starts = {
        key: value for each, value in given.cold_starts.items() for key in _keys(each, namespaces)
    }
    return given.context._replace(
        exists=frozenset(exists | set(made)), cold_starts=cold_starts or None
    )


def _keys(reference: str, namespaces: Sequence[str]) -> Iterator[Key]:
    kind, *place = reference.split("/")
    spaces = place[:1] if len(place) > 1 else [""] if kind in NO_NAMESPACE else namespaces
    for group in GROUPS[kind]:
        for space in spaces:
            yield Key(group, kind, space, place[-1])


def unused(given: Beside, judged: Collection[Key]) -> list[str]:
    """The workloads whose cold start was given, and that stand neither among what was judged nor beside it."""
    there = {*judged, *(each.document.key for each in given.objects)}
    namespaces = sorted({key.namespace for key in there} | {""})
    return [each for each in given.cold_starts if there.isdisjoint(_keys(each, namespaces))]


def near(given: Beside, documents: Sequence[Document]) -> list[Document]:
    """The objects given that may have to do with a set: in its namespaces or in none, and not the same ones."""
    spaces = {document.key.namespace for document in documents} | {""}
    own = {document.key for document in documents}
    return [
        each.document
        for each in given.objects
        if each.document.key.namespace in spaces and each.document.key not in own
    ]
