"""Amounts as people spell them."""

from __future__ import annotations

import pytest

from gangform.inputs.amounts import binary, memory, whole


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("26GB", "26G"),
        ("2000Gb", "2000G"),
        ("1TB", "1T"),
        ("1.5 TiB", "1.5Ti"),
        ("512gi", "512Gi"),
        ("64kb", "64k"),
        ("64KiB", "64Ki"),
        ("13,000,000,000", "13000000000"),
        ("12 cups", ""),
        ("5ib", ""),
        ("1,00", ""),
    ],
)
def test_an_amount_of_memory_is_understood(text: str, meant: str) -> None:
    assert memory(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("4k", "4000"),
        ("32,768", "32768"),
        ("1.5k", "1500"),
        ("1_000", "1000"),
        ("4.2", ""),
        ("x", ""),
    ],
)
def test_a_whole_number_is_understood(text: str, meant: str) -> None:
    assert whole(text) == meant


@pytest.mark.parametrize(
    ("text", "other"),
    [("4k", "4096"), ("64K", "65536"), ("1M", "1048576"), ("32,768", ""), ("1.5k", ""), ("4b", "")],
)
def test_tokens_are_counted_in_other_thousands_too(text: str, other: str) -> None:
    assert binary(text) == other
