"""Quantities with a unit: parsed once, computed exactly, spelled as Kubernetes spells them.

A bare number in a plan hides what it counts, and a float hides an error. Every type here is an `int` of its base
unit, so that sums and comparisons are exact and cheap, and has one canonical Kubernetes spelling, so that what is
emitted is what the API server stores (`observability §4.4`: a rewritten quantity inside a list is a permanent diff).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_NUMBER = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_QUANTITY = re.compile(rf"^{_NUMBER}(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$")
_DURATION = re.compile(r"^(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?$")
_LONGEST, _LONGEST_SUFFIX = 100, 4
"""Characters of a quantity and of its exponent, `e-99`: beyond that nobody means it, and reckoning takes for ever."""
_SMALL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}


class UnitError(ValueError):
    """A text that is not a quantity of the wanted unit; the message says what is and gives an example."""


@lru_cache(maxsize=4096)
def quantity(text: str) -> Fraction:
    """The exact value of a Kubernetes quantity: `"1.5Gi"` is 1610612736, `"500m"` is 1/2.

    Raises:
        UnitError: The text is not a quantity.
    """
    found = _QUANTITY.match(text) if len(text) <= _LONGEST else None
    if found is None or len(found[2] or "") > _LONGEST_SUFFIX:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise UnitError(f"`{shown}` is not a Kubernetes quantity such as 8, 500m or 512Gi")
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY:
        return number * _BINARY[suffix]
    if suffix in _DECIMAL:
        return number * _DECIMAL[suffix]
    if suffix in _SMALL:
        return number * _SMALL[suffix]
    return number * Fraction(10) ** int(suffix[1:]) if suffix else number


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The spelling the API server gives a quantity: `"1024Gi"` is `"1Ti"`, `"0.5"` is `"500m"`.

    The rule is that of apimachinery's `Quantity.CanonicalizeBytes`: the family of the suffix is kept (binary or
    decimal), the number is made an integer with the largest suffix that keeps it exact; a binary number below 1024
    or with a fraction of a byte is spelled in decimal.

    Raises:
        UnitError: The text is not a quantity.
    """
    value = quantity(text)
    found = _QUANTITY.match(text)
    suffix = (found[2] if found else None) or ""
    if value == 0:
        return "0"
    if suffix in _BINARY and value.denominator == 1 and value >= 1024:
        for name in reversed(_BINARY):
            if value % _BINARY[name] == 0:
                return f"{value // _BINARY[name]}{name}"
        return str(value)
    nanos = -(-value // _SMALL["n"])
    # Kubernetes rounds what is finer than a nano unit up.
    value = Fraction(nanos) * _SMALL["n"]
    if suffix[:1] in ("e", "E") and suffix != "E":
        exponent = next(
            e for e in range(18, -12, -3) if (value / Fraction(10) ** e).denominator == 1
        )
        number = value / Fraction(10) ** exponent
        return f"{number}e{exponent}" if exponent else str(number)
    for name in reversed(_DECIMAL):
        if value % _DECIMAL[name] == 0:
            return f"{value // _DECIMAL[name]}{name}"
    sizes = {"": Fraction(1), **{name: _SMALL[name] for name in ("m", "u", "n")}}
    name = next(name for name, size in sizes.items() if (value / size).denominator == 1)
    return f"{value / sizes[name]}{name}"


class _Unit(int):
    """An exact integer amount of one unit, read from text in inputs and written as text in manifests."""

    __slots__ = ()
    example: ClassVar[str]
    pattern: ClassVar[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The amount that a text stands for.

        Raises:
            UnitError: The text is not an amount of this unit.
        """
        raise NotImplementedError(cls.__name__)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Accept the type itself or a text; never a bare number, which would hide its unit."""
        from pydantic_core import PydanticCustomError, core_schema

        def read(value: object) -> _Unit:
            if isinstance(value, cls):
                return value
            if isinstance(value, str):
                try:
                    return cls.parse(value)
                except UnitError as error:
                    raise PydanticCustomError(
                        "not-a-quantity", "{text}", {"text": str(error)}
                    ) from None
            message = "{text}"
            text = f"`{value}` has no unit: write it as text such as {cls.example}"
            raise PydanticCustomError("unit-missing", message, {"text": text})

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """A text with the pattern of the unit."""
        return {"type": "string", "pattern": cls.pattern, "examples": [cls.example]}


class Bytes(_Unit):
    """An amount of memory or data, in bytes. `Bytes.parse("512Gi")`; `str()` is the canonical quantity."""

    __slots__ = ()
    example = '"512Gi"'
    pattern = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"

    @classmethod
    def parse(cls, text: str) -> Self:
        """`"512Gi"` or `"480.2G"`: a Kubernetes quantity of whole bytes (a fraction of a byte is rounded up).

        Raises:
            UnitError: The text is not a quantity.
        """
        value = quantity(text)
        return cls(-(-value.numerator // value.denominator))

    @classmethod
    def gib(cls, count: int | Decimal | Fraction | str) -> Self:
        """So many GiB (2^30 bytes), rounded down to a whole byte."""
        return cls(Fraction(count) * 2**30)

    def __str__(self) -> str:
        """The canonical Kubernetes quantity, in the binary family wherever it is exact: `"1Ti"`, `"1500M"`."""
        if self < 0:
            return f"-{Bytes(-self)}"
        if self and self % 1024 == 0:
            return canonical(f"{self // 1024}Ki")
        return canonical(f"{int(self)}")

    __repr__ = __str__

    def human(self) -> str:
        """For people, with one decimal: `"447.2 GiB"`."""
        for name, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if abs(self) >= size and not (name == "TiB" and abs(self) < 10 * size):
                return f"{Decimal(int(self)) / size:,.1f} {name}"
        return f"{int(self)} B"


class Millicores(_Unit):
    """An amount of CPU, in thousandths of a core. `Millicores.parse("32")` is 32000."""

    __slots__ = ()
    example = '"32"'
    pattern = r"^[0-9]+(\.[0-9]+)?m?$"

    @classmethod
    def parse(cls, text: str) -> Self:
        """`"32"`, `"0.5"` or `"500m"`.

        Raises:
            UnitError: The text is not a quantity, or finer than a thousandth.
        """
        value = quantity(text) * 1000
        if value.denominator != 1:
            raise UnitError(f"`{text}` is finer than a thousandth of a core")
        return cls(value)

    def __str__(self) -> str:
        """The canonical Kubernetes quantity: `"32"`, `"500m"`."""
        return canonical(f"{int(self)}m")

    __repr__ = __str__


class Seconds(_Unit):
    """A length of time, in whole seconds. `Seconds.parse("1h30m")` is 5400."""

    __slots__ = ()
    example = '"45m"'
    pattern = r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"

    @classmethod
    def parse(cls, text: str) -> Self:
        """`"90s"`, `"45m"`, `"1h30m"`: hours, minutes and seconds in this order.

        Raises:
            UnitError: The text is not a duration.
        """
        found = _DURATION.match(text)
        if found is None or not text:
            raise UnitError(f"`{text}` is not a duration such as 90s, 45m or 1h30m")
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return cls(hours * 3600 + minutes * 60 + seconds)

    def __str__(self) -> str:
        """As Prometheus and Kubernetes durations are written, largest units first: `"1h30m"`, `"0s"`."""
        hours, rest = divmod(int(self), 3600)
        minutes, seconds = divmod(rest, 60)
        parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
        return "".join(f"{count}{name}" for count, name in parts if count) or "0s"

    __repr__ = __str__


class BytesPerSecond(_Unit):
    """A bandwidth, in bytes per second. `BytesPerSecond.parse("2GiB/s")`."""

    __slots__ = ()
    example = '"2GiB/s"'
    pattern = r"^[0-9]+(\.[0-9]+)?([KMGT]i?)?B/s$"

    @classmethod
    def parse(cls, text: str) -> Self:
        """`"2GiB/s"` (2^30) or `"3.5GB/s"` (10^9); bits are not read, since they are mistaken for bytes too often.

        Raises:
            UnitError: The text is not a bandwidth.
        """
        found = re.match(rf"^{_NUMBER}([KMGT]i?)?B/s$", text)
        if found is None:
            raise UnitError(f"`{text}` is not a bandwidth such as 2GiB/s or 500MB/s")
        prefix = found[2] or ""
        size = _BINARY.get(prefix) or _DECIMAL.get(prefix.replace("K", "k"), 1)
        return cls(round(Fraction(found[1]) * size))

    def __str__(self) -> str:
        """For people and for reading back: `"2GiB/s"`, `"500MB/s"`, `"0.4GiB/s"`."""
        decimal = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3))
        spelled = []
        for name, size in (*decimal, *((name, _BINARY[name]) for name in ("Ti", "Gi", "Mi", "Ki"))):
            rounded = round(Decimal(int(self)) / size, 2)
            least = (
                Decimal("0.1") if size >= 10**9 else 1
            )  # people say 0.4GiB/s, and bytes for less than 1KB/s
            text = f"{rounded.normalize():f}{name}B/s"
            if rounded >= least and self.parse(text) == self:
                spelled.append(text)
        return min(
            spelled, key=lambda text: (len(text), text.startswith("0.")), default=f"{int(self)}B/s"
        )

    __repr__ = __str__

    def seconds_for(self, size: Bytes) -> Seconds:
        """How long it takes to move `size`, rounded up to a whole second."""
        return Seconds(-(-int(size) // int(self)))


class Resources(Mapping[str, int]):
    """Amounts by resource name: CPU in thousandths of a core, memory and storage in bytes, all else in pieces.

    Names keep the order in which they were given, since Kueue wants one order in all lists (`kueue §1.4`).
    """

    __slots__ = ("_amounts",)

    def __init__(self, amounts: Mapping[str, int]) -> None:
        """Keep the amounts, in their order."""
        self._amounts = dict(amounts)

    def __getitem__(self, name: str) -> int:
        """The amount of a resource."""
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in order."""
        return iter(self._amounts)

    def __len__(self) -> int:
        """How many resources are named."""
        return len(self._amounts)

    def __add__(self, other: Resources) -> Resources:
        """The sum, by name."""
        names = dict.fromkeys([*self, *other])
        return Resources({name: self.get(name, 0) + other.get(name, 0) for name in names})

    def __mul__(self, times: int) -> Resources:
        """So many times as much."""
        return Resources({name: amount * times for name, amount in self.items()})

    def __repr__(self) -> str:
        """As spelled."""
        return f"Resources({self.spelled()})"

    def spelled(self) -> dict[str, str]:
        """Canonical Kubernetes quantities, by name."""
        return {name: spell(name, amount) for name, amount in self.items()}


@lru_cache(maxsize=4096)
def spell(resource: str, amount: int) -> str:
    """The canonical quantity of an amount of a resource."""
    if resource == "cpu":
        return str(Millicores(amount))
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return str(Bytes(amount))
    return canonical(str(int(amount)))
