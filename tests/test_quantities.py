"""How Kubernetes writes a quantity."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.units import UnitError, canonical, quantity

SPELLINGS = {
    "0": "0",
    "00": "0",
    "0Ki": "0",
    "0e0": "0",
    "8": "8",
    "1.0": "1",
    "0.5": "500m",
    "1.5": "1500m",
    "2.50": "2500m",
    "0.001": "1m",
    "0.0000000001": "1n",
    "1500m": "1500m",
    "999m": "999m",
    "1000m": "1",
    "2048m": "2048m",
    "1000n": "1u",
    "1000000u": "1",
    "1000": "1k",
    "1024": "1024",
    "1025": "1025",
    "100000": "100k",
    "1234567": "1234567",
    "1000k": "1M",
    "1500M": "1500M",
    "480.2G": "480200M",
    "1.5E": "1500P",
    "1Ki": "1Ki",
    "1023Ki": "1023Ki",
    "1024Ki": "1Mi",
    "1024Gi": "1Ti",
    "1.5Gi": "1536Mi",
    "10.0Gi": "10Gi",
    "0.5Gi": "512Mi",
    "0.5Ki": "512",
    ".5Ki": "512",
    "0.1Gi": "107374182400m",
    ".001Ki": "1024m",
    ".000001Ki": "1024u",
    ".000000001Ki": "1024n",
    ".000000000001Ki": "2n",
    "1Ei": "1Ei",
    "1e0": "1",
    "1e1": "10",
    "1e3": "1e3",
    "1E3": "1e3",
    "1e+3": "1e3",
    "1e4": "10e3",
    "12e6": "12e6",
    "1000e3": "1e6",
    "0.5e3": "500",
    "12345e2": "1234500",
}
"""Written → stored, as printed by `Quantity.CanonicalizeBytes` of apimachinery 0.37.2."""

SUFFIXES = (
    "n",
    "u",
    "m",
    "",
    "k",
    "M",
    "G",
    "T",
    "P",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "e0",
    "e3",
    "E2",
    "e+6",
)


@st.composite
def quantities(draw: st.DrawFn) -> str:
    """Quantities that neither overflow 64 bits nor are finer than a nano unit: such ones change their value."""
    suffix = draw(st.sampled_from(SUFFIXES))
    number = str(draw(st.integers(0, 9_999)))
    if suffix not in ("n", "u"):
        places = draw(st.text("0123456789", max_size=3))
        number += f".{places}" if places else ""
    return number + suffix


@settings(deadline=None)
@given(quantities())
def test_the_canonical_spelling_keeps_the_value(text: str) -> None:
    assert quantity(canonical(text)) == quantity(text)


@settings(deadline=None)
@given(quantities())
def test_a_canonical_spelling_stays(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


@settings(deadline=None)
@given(quantities())
def test_a_canonical_spelling_has_no_fraction(text: str) -> None:
    assert "." not in canonical(text)


@pytest.mark.parametrize(("written", "stored"), SPELLINGS.items())
def test_a_quantity_is_spelled_as_the_api_server_stores_it(written: str, stored: str) -> None:
    assert canonical(written) == stored


@pytest.mark.parametrize(
    ("written", "stored"),
    [("1.5e0", "1500e-3"), ("1e-3", "1e-3"), ("5e-1", "500e-3"), ("1999.81n", "2u")],
)
def test_an_exponent_stays_one_below_zero_too(written: str, stored: str) -> None:
    assert canonical(written) == stored


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5Gi", Fraction(1_610_612_736)),
        ("500m", Fraction(1, 2)),
        ("1u", Fraction(1, 10**6)),
        ("3n", Fraction(3, 10**9)),
        ("2k", Fraction(2000)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        ("1e3", Fraction(1000)),
        ("1E-3", Fraction(1, 1000)),
        (".5", Fraction(1, 2)),
    ],
)
def test_a_quantity_is_read_exactly(text: str, value: Fraction) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize(
    "text", ["", "Gi", "1 Gi", "1gi", "1_000", "1,5", "-1", "1GB", "1Ki ", "٣"]
)
def test_what_is_no_quantity_is_refused_with_examples(text: str) -> None:
    for read in (quantity, canonical):
        with pytest.raises(UnitError) as caught:
            read(text)
        assert str(caught.value) == (
            f"`{text}` is not a Kubernetes quantity such as 8, 500m or 512Gi"
        )
