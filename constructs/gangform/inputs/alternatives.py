"""Other values that an input may have: what `explain` tries to see which lines of the output follow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from gangform.findings import Path
from gangform.inputs.fields import Spot, branches, spot


def words(root: type, path: Path, value: object) -> Iterator[object]:
    """The other words of a closed set; nothing where the field has none."""
    here = spot(root, path)
    for branch in branches(here.annotation) if here is not None else ():
        if get_origin(branch) is Literal:
            yield from (word for word in get_args(branch) if word != value)


def example(root: type, path: Path) -> Iterator[object]:
    """Good values for a field that may be left out, as a file's would be read; nothing where none is known."""
    here = spot(root, path)
    if here is None:
        return
    choices = list(words(root, path, None))
    if choices:
        yield from choices
        return
    import yaml

    try:
        yield _adapter(here).validate_python(
            yaml.safe_load(here.example or "x"), by_alias=True, by_name=False
        )
    except (ValidationError, yaml.YAMLError):
        return


def _adapter(here: Spot) -> TypeAdapter[Any]:
    return TypeAdapter(here.annotation)
