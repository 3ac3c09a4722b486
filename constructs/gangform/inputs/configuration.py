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
            value = self._values.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
            if isinstance(value, float) and value.is_integer() and value >= 0:
                return int(value)
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
        return next((v for n in names if isinstance(v := self._values.get(n), str)), "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Yes or no."""
        value = self._values.get(name, default)
        return value if isinstance(value, bool) else default

    def items(self, name: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self._values.get(name)
        return list(value) if isinstance(value, list) else []

    def part(self, name: str) -> Mapping[str, Any]:
        """A map; empty where there is none."""
        value = self._values.get(name)
        return value if isinstance(value, Mapping) else {}

    def inside(self, name: str) -> Configuration:
        """A part that is asked in the same way; what it lacks is reported with its name."""
        made = Configuration(self.part(name))
        made.missing = _Named(self.missing, name)
        return made


class _Named(list[str]):
    """Passes on what is missing, with the name of the part."""

    def __init__(self, outer: list[str], name: str) -> None:
        super().__init__()
        self._outer, self._name = outer, name

    def append(self, value: str) -> None:
        self._outer.append(f"{self._name}.{value}")


def _texts(value: Any) -> Sequence[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
