"""A Hugging Face `config.json` as it is asked: a number under one of its names, and what was missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Configuration:
    """One published configuration. Whoever asks for what is not there gets 1 and goes on: all is reported at once."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        """The parts of a model of several media that concern its text win over the outer ones."""
        inner = written.get("text_config")
        self._values: dict[str, Any] = {**written, **(inner if isinstance(inner, Mapping) else {})}
        self.missing: list[str] = []
        self.asked: set[str] = set()
        """Names that somebody asked for."""
        self.odd: list[str] = []
        """What a class says of itself that is not described here."""
        self.media = sorted(key for key in written if key in ("vision_config", "audio_config"))
        """Parts beside the text, whose weights are not counted."""
        self.classes = [
            name
            for part in (inner, written)
            if isinstance(part, Mapping)
            for name in _texts(part.get("architectures"))
        ]
        """Names of the model's class, the inner one first."""

    def number(self, *names: str, default: int | None = None) -> int:
        """A whole number, at least 0, under the first of its names that holds one."""
        for name in names:
            value = self.said(name)
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                continue
            if value > _MOST:
                self.missing.append(f"{name} (is beyond {_MOST:,})")
                return 1
            return value
        if default is None:
            self.missing.append(names[0])
            return 1
        return default

    def positive(self, *names: str, default: int | None = None) -> int:
        """A whole number, at least 1."""
        value = self.number(*names, default=default)
        if value == 0:
            self.missing.append(f"{names[0]} (is 0)")
        return max(1, value)

    def word(self, *names: str) -> str:
        """A text; empty where there is none."""
        return next((v for n in names if isinstance(v := self.said(n), str)), "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Yes or no."""
        value = self.said(name)
        return value if isinstance(value, bool) else default

    def items(self, name: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.said(name)
        return list(value) if isinstance(value, list) else []

    def part(self, name: str) -> Mapping[str, Any]:
        """A map; empty where there is none."""
        value = self.said(name)
        return value if isinstance(value, Mapping) else {}

    def inside(self, *names: str) -> Configuration:
        """A part that is asked in the same way, the first that is there; what it lacks is reported with its name."""
        name = next((one for one in names if self.part(one)), names[0])
        made = Configuration(self.part(name))
        made.missing = _Named(self.missing, name)
        return made

    def assume(self, **values: int) -> None:
        """What the model's own code takes where nothing is written; for classes whose published files rely on it."""
        said = {name: one for name, one in self._values.items() if one is not None}
        self._values = {**values, **said}

    def said(self, name: str) -> Any:
        """What stands under a name, of whatever type; `None` where nothing does."""
        self.asked.add(name)
        return self._values.get(name)

    def unasked(self, names: Sequence[str]) -> list[str]:
        """Names of one meaning that say something, where nobody asked for any of them."""
        if self.asked.intersection(names):
            return []
        return [name for name in names if _says(self._values.get(name))]


_PLAIN = (
    "full_attention",
    "attention",
    "deepseek_sparse_attention",
    "indexed_attention",
    "sparse",
    "",
)
"""Words for layers as they are anyway."""
_MOST = 10**9
"""No number of a published model is larger."""


def _says(value: Any) -> bool:
    """Whether a value makes a model another one: not 0, 1 or nothing, not attention of one kind on all layers."""
    if isinstance(value, Mapping):
        return bool(value)
    if value in _PLAIN:
        return False
    if isinstance(value, list):
        return any(one != value[0] for one in value) or (len(value) > 0 and _says(value[0]))
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, (int, float)) and value > 1


class _Named(list[str]):
    """Passes on what is missing, with the name of the part."""

    def __init__(self, outer: list[str], name: str) -> None:
        super().__init__()
        self._outer, self._name = outer, name

    def append(self, value: str) -> None:
        self._outer.append(f"{self._name}.{value}")


def _texts(value: Any) -> Sequence[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
