"""Models and hardware shapes that references may name: names at once, contents when somebody asks.

A bundle needs one model and one shape; reading all that are shipped would cost more than everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from gangform.documents.read import Source
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.findings import Path as Keys
from gangform.inputs.cluster import Library
from gangform.inputs.files import listing, read_file
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.spans import LoadError, Spans

NAME_MISMATCH = declare(
    "name-mismatch",
    "A profile called otherwise than its file",
    Severity.BREAKS,
    "design §3: name = NAME",
)

Profile = TypeVar("Profile", bound=BaseModel)


class Shelf(Mapping[str, Profile], Generic[Profile]):
    """The profiles of one kind, from folders of which an earlier one wins."""

    def __init__(
        self, kind: str, model: type[Profile], folders: tuple[Path, ...], spans: Spans | None
    ) -> None:
        """Read nothing yet. spans: where to register what is read."""
        self._kind, self._model, self._folders, self._spans = kind, model, folders, spans
        self._files: Mapping[str, Path] | None = None
        self._read: dict[str, Profile] = {}

    @property
    def files(self) -> Mapping[str, Path]:
        """Every profile's file, by name."""
        if self._files is None:
            merged: dict[str, Path] = {}
            for folder in self._folders:
                merged = {**listing(folder), **merged}
            self._files = dict(sorted(merged.items()))
        return self._files

    def __getitem__(self, name: str) -> Profile:
        """A profile.

        Raises:
            KeyError: There is none of this name.
            LoadError: Its file is wrong.
        """
        if name not in self._read:
            source = read_file(self.files[name])
            spans = self._spans or Spans(source)
            spans.add(self._kind, name, source)
            self._read[name] = profile(self._model, source, name, (self._kind, name), spans)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a file of this name, without reading it."""
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        """Names in order."""
        return iter(self.files)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.files)


def library(folders: tuple[Path, ...], spans: Spans | None = None) -> Library:
    """Models and hardware below `profiles` folders, of which an earlier one wins."""
    shelf = partial(_shelf, folders=folders, spans=spans)
    return Library(shelf("models", ModelProfile), shelf("hardware", HardwareShape))


def _shelf(
    kind: str, model: type[Profile], *, folders: tuple[Path, ...], spans: Spans | None
) -> Shelf[Profile]:
    return Shelf(kind, model, tuple(folder / kind for folder in folders), spans)


def shipped_folder() -> Path:
    """Where the shipped profiles lie: in the installed package, or at the top of a checkout.

    Found from this file and not with `importlib.resources`, whose import takes 20 ms.
    """
    package = Path(__file__).parents[1]
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parents[1] / "profiles"


def shipped_library() -> Library:
    """The models and hardware shapes that come with the package: names at once, contents on demand."""
    return library((shipped_folder(),))


def profile(model: type[Profile], source: Source, name: str, path: Keys, spans: Spans) -> Profile:
    """The object that fills a file called `name`; `path` is where later stages find it.

    Raises:
        LoadError: With everything that is wrong in the file.
    """
    found = [under(finding, path) for finding in source.findings]
    if found:
        raise LoadError(found, spans)
    value = named(source, name)
    if value["name"] != name:
        raise LoadError([mismatch(value["name"], name, path)], spans)
    try:
        return model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        raise LoadError(
            _translated(error, model, value, lambda inside: (*path, *inside)), spans
        ) from None


def named(source: Source, name: str) -> dict[str, object]:
    """The object of a file, called as the file is unless it says its name itself."""
    return {"name": name, **source.value}


def mismatch(written: object, name: str, path: Keys) -> Finding:
    """The finding on a file whose object is called otherwise."""
    return Finding(
        code=NAME_MISMATCH,
        at=InputPath((*path, "name")),
        what=f"the file is called {name}.yaml and the object in it `{written}`",
        fix=f"write `name: {name}`, remove the line, or rename the file",
    )


def under(finding: Finding, path: Keys) -> Finding:
    """A finding about a file as one about the input that fills it."""
    inside = finding.at.path
    return Finding(
        code=finding.code,
        at=InputPath((*path, *inside)),
        what=finding.what,
        fix=finding.fix,
        seen=finding.seen,
    )


def _translated(
    error: ValidationError, model: type[BaseModel], value: object, place: Callable[[Keys], Keys]
) -> list[Finding]:
    from gangform.inputs.translate import translate

    return translate(error, model, value, place)
