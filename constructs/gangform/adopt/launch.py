"""Engine, model and parallelism of a set, as a serving says them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from gangform.adopt.subject import Subject, Unread
from gangform.apis.versions import Release
from gangform.documents.document import sequence, text
from gangform.documents.secrets import HIDDEN
from gangform.engines.engine import Translation
from gangform.engines.images import published
from gangform.inputs.cluster import Library
from gangform.inputs.nearest import nearest, same
from gangform.inputs.spans import LoadError
from gangform.inputs.spelling import label
from gangform.inputs.starter import NEWEST_ENGINE

_CONTEXT = 32768
"""Tokens, where neither the command line nor a profile says more."""


class Model(NamedTuple):
    """The profile of a model."""

    name: str
    known: bool
    near: tuple[str, ...]
    """Profiles that it may be, where none is it for certain."""


def model(subject: Subject, library: Library, asked: str | None) -> Model:
    """The profile of the model that a set serves: by its id on the hub, else by the last part of its path."""
    if asked is not None:
        return Model(asked, asked in library.models, ())
    words = subject.translation
    written = (words.model or words.served_name) if words else ""
    served = words.served_name if words else ""
    tails = [
        one.rstrip("/").rpartition("/")[2] for one in (written, served) if one and "$" not in one
    ]
    names = dict(_names(library))
    for one in (written, *tails):
        for name, repository in names.items():
            if one and (repository.lower() == one.lower() or same(name, one)):
                return Model(name, True, ())
    for one in tails:
        for name, repository in names.items():
            if same(repository.rpartition("/")[2], one):
                return Model(name, True, ())
    guess = tails[0] if tails else subject.group.name
    near = nearest(guess, names) or nearest(subject.group.name, names)
    return Model(
        re.sub(r"[^a-z0-9.-]+", "-", guess.lower()).strip("-.") or "model", False, tuple(near)
    )


def _names(library: Library) -> Iterator[tuple[str, str]]:
    for name in library.models:
        try:
            yield name, library.models[name].repository
        except LoadError:
            continue


def launch(
    subject: Subject, chosen: Model, library: Library
) -> tuple[dict[str, Any], list[Unread]]:
    """Fields `engine`, `parallelism`, `context` and `servedModelName`, and what was not read."""
    unread: list[Unread] = []
    at = subject.at("containers", f"[{subject.place}]").replace(".[", "[")
    words = subject.translation
    release = _release(subject, at, unread)
    engine: dict[str, Any] = {"name": subject.engine, "version": release}
    fields: dict[str, Any] = {"engine": engine}
    profile = library.models[chosen.name] if chosen.known else None
    if words is None:
        for key in ("command", "args"):
            if sequence(subject.container, key):
                why = "what runs is not certain: a script, a variable or a program decides"
                unread.append(Unread(f"{at}.{key}", sequence(subject.container, key), why))
        fields["parallelism"] = _assumed(subject)
    else:
        engine.update(words.options)
        if args := list(_open(words.args)):
            engine["args"] = args
        unread += [Unread(f"{at}.args", word, why) for word, why in words.unread]
        fields["parallelism"] = _split(subject, words, at, unread)
    context = words.context if words else None
    if context is None:
        context = profile.context_limit if profile else _CONTEXT
        why = "it is the model's own limit" if profile else "it is a guess"
        unread.append(Unread(f"{at}.args", "", f"no length is written; context: {context}, {why}"))
    fields["context"] = context
    served = words.served_name if words else ""
    for one in dict.fromkeys([words.model, served] if words else []):
        if "$" in one:
            unread.append(Unread(f"{at}.args", one, "a variable decides the model"))
    if served and served != chosen.name and "$" not in served:
        fields["servedModelName"] = served
    return fields, unread


def _release(subject: Subject, at: str, unread: list[Unread]) -> str:
    """The engine's release by the image; a guess where its name does not say it."""
    image = text(subject.container, "image")
    known = published(image)
    if known is not None and known.release is not None:
        return _text(known.release)
    found = re.search(r":v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![0-9])", image)
    why = f"taken for release {found[1] if found else NEWEST_ENGINE}; correct engine.version if it is another"
    unread.append(Unread(f"{at}.image", image, why))
    return found[1] if found else NEWEST_ENGINE


def _text(release: Release) -> str:
    return f"{release.major}.{release.minor}.{release.patch}"


def _open(args: Sequence[str]) -> Iterator[str]:
    """Arguments without those whose value is a secret that was not copied."""
    for index, word in enumerate(args):
        if HIDDEN not in word and HIDDEN not in args[index + 1 : index + 2]:
            yield word


def _split(
    subject: Subject, words: Translation, at: str, unread: list[Unread]
) -> Mapping[str, Any]:
    """The parallelism as written; the one number that is no literal from the GPUs of the group."""
    split = dict(words.parallelism)
    if not split and not words.unsized:
        return {"tensor": 1}
    total = subject.group.size * _gpus(subject)
    rest = prod(one for key, one in split.items() if key != "decodeContext" and one is not True)
    if len(words.unsized) == 1 and total % rest == 0:
        (key,) = words.unsized
        split[key] = total // rest
        why = f"{key} {split[key]} is what the {total} GPUs of a group leave"
        unread.append(Unread(f"{at}.args", "", why))
    return split


def _gpus(subject: Subject) -> int:
    """GPUs of a pod."""
    return max(1, *(n for name, n in subject.requested().items() if "/gpu" in name), 1)


def _assumed(subject: Subject) -> Mapping[str, Any]:
    """Tensor inside the pod, a pipeline stage a pod: what most multi-node sets do."""
    pipeline = {"pipeline": subject.group.size} if subject.group.size > 1 else {}
    return {"tensor": _gpus(subject), **pipeline}


def serving_name(subject: Subject) -> str:
    """A name that a serving may have."""
    name = subject.called or subject.group.name
    return label(name) if len(name) > 40 else name
