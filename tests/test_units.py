"""The types of the units, and resources."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gangform.units import (
    Bytes,
    BytesPerSecond,
    Millicores,
    Resources,
    Seconds,
    UnitError,
    canonical,
    spell,
)


@settings(deadline=None)
@given(st.integers(0, 2**62))
def test_bytes_come_back_as_written(amount: int) -> None:
    assert Bytes.parse(str(Bytes(amount))) == amount
    assert canonical(str(Bytes(amount))) == str(Bytes(amount))


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_millicores_come_back_as_written(amount: int) -> None:
    assert Millicores.parse(str(Millicores(amount))) == amount


@settings(deadline=None)
@given(st.integers(0, 10**7))
def test_seconds_come_back_as_written(amount: int) -> None:
    assert Seconds.parse(str(Seconds(amount))) == amount


@settings(deadline=None)
@given(st.integers(0, 10**13))
def test_bandwidths_come_back_as_written(amount: int) -> None:
    assert BytesPerSecond.parse(str(BytesPerSecond(amount))) == amount


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1000, "1k"),
        (1024, "1Ki"),
        (1536, "1536"),
        (1536 * 1024, "1536Ki"),
        (1_500_000_000, "1500M"),
        (512 * 2**30, "512Gi"),
        (2**40, "1Ti"),
        (-(2**30), "-1Gi"),
    ],
)
def test_bytes_are_spelled_in_the_binary_family_where_it_is_exact(amount: int, text: str) -> None:
    assert str(Bytes(amount)) == repr(Bytes(amount)) == text


def test_a_fraction_of_a_byte_is_rounded_up_when_read_and_down_when_reckoned() -> None:
    assert Bytes.parse("0.1Gi") == 107_374_183
    assert Bytes.gib("0.1") == 107_374_182
    assert Bytes.gib(Decimal("79.19")) == int(Decimal("79.19") * 2**30)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 * 2**20, "5.0 MiB"),
        (480_200_000_000, "447.2 GiB"),
        (-(3 * 2**30), "-3.0 GiB"),
        (2**40, "1,024.0 GiB"),
        (10 * 2**40 - 2**30, "10,239.0 GiB"),
        (10 * 2**40, "10.0 TiB"),
    ],
)
def test_bytes_for_people_have_one_decimal_and_gib_up_to_ten_tib(amount: int, text: str) -> None:
    assert Bytes(amount).human() == text


@pytest.mark.parametrize(
    ("amount", "text"), [(32_000, "32"), (500, "500m"), (1500, "1500m"), (0, "0"), (10**6, "1k")]
)
def test_cores_are_spelled_as_stored(amount: int, text: str) -> None:
    assert str(Millicores(amount)) == repr(Millicores(amount)) == text


@pytest.mark.parametrize(("text", "amount"), [("32", 32_000), ("0.5", 500), ("500m", 500)])
def test_cores_are_read_in_thousandths(text: str, amount: int) -> None:
    assert Millicores.parse(text) == amount


@pytest.mark.parametrize(
    ("text", "amount", "spelled"),
    [
        ("90s", 90, "1m30s"),
        ("45m", 2700, "45m"),
        ("1h30m", 5400, "1h30m"),
        ("1h1m1s", 3661, "1h1m1s"),
        ("0s", 0, "0s"),
        ("120m", 7200, "2h"),
    ],
)
def test_durations_are_spelled_with_the_largest_units_first(
    text: str, amount: int, spelled: str
) -> None:
    assert Seconds.parse(text) == amount
    assert str(Seconds(amount)) == repr(Seconds(amount)) == spelled


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2GiB/s", 2 * 2**30),
        ("2.5GiB/s", 5 * 2**29),
        ("1KB/s", 1000),
        ("1KiB/s", 1024),
        ("1TiB/s", 2**40),
        ("7B/s", 7),
        ("0B/s", 0),
    ],
)
def test_bandwidths_are_spelled_with_the_largest_unit(text: str, amount: int) -> None:
    assert BytesPerSecond.parse(text) == amount
    assert str(BytesPerSecond(amount)) == repr(BytesPerSecond(amount)) == text


@pytest.mark.parametrize("text", ["500MB/s", "3.5GB/s", "1TB/s", "0.4GiB/s"])
def test_bandwidths_keep_their_family(text: str) -> None:
    assert str(BytesPerSecond.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "amount"), [("500MB/s", 500 * 10**6), ("3.5GB/s", 3_500_000_000), ("1TB/s", 10**12)]
)
def test_a_bandwidth_is_read_in_powers_of_ten_without_an_i(text: str, amount: int) -> None:
    assert BytesPerSecond.parse(text) == amount


def test_moving_bytes_takes_whole_seconds_rounded_up() -> None:
    bandwidth = BytesPerSecond.parse("1GiB/s")
    assert bandwidth.seconds_for(Bytes.gib(100)) == 100
    assert bandwidth.seconds_for(Bytes(100 * 2**30 + 1)) == 101
    assert bandwidth.seconds_for(Bytes(0)) == 0


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (Bytes.parse, "12 GB", "`12 GB` is not a Kubernetes quantity such as 8, 500m or 512Gi"),
        (Millicores.parse, "0.0001", "`0.0001` is finer than a thousandth of a core"),
        (Millicores.parse, "2 cores", "`2 cores` is not a Kubernetes quantity such as 8, 500m or"),
        (Seconds.parse, "", "`` is not a duration such as 90s, 45m or 1h30m"),
        (Seconds.parse, "90", "`90` is not a duration such as 90s, 45m or 1h30m"),
        (Seconds.parse, "1m1h", "`1m1h` is not a duration such as 90s, 45m or 1h30m"),
        (Seconds.parse, "1.5h", "`1.5h` is not a duration such as 90s, 45m or 1h30m"),
        (BytesPerSecond.parse, "2Gb/s", "`2Gb/s` is not a bandwidth such as 2GiB/s or 500MB/s"),
        (BytesPerSecond.parse, "2GiB", "`2GiB` is not a bandwidth such as 2GiB/s or 500MB/s"),
        (BytesPerSecond.parse, "2PiB/s", "`2PiB/s` is not a bandwidth such as 2GiB/s or 500MB/s"),
    ],
)
def test_a_text_of_another_unit_is_refused_with_an_example(
    read: Callable[[str], int], text: str, message: str
) -> None:
    with pytest.raises(UnitError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind", [Bytes, Millicores, Seconds, BytesPerSecond])
def test_an_input_takes_the_type_itself_and_no_bare_number(kind: type[Bytes]) -> None:
    adapter = TypeAdapter[Bytes](kind)
    assert adapter.validate_python(kind(7)) == 7
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python(7)
    (error,) = caught.value.errors()
    assert error["type"] == "unit-missing"
    assert error["msg"] == f"`7` has no unit: write it as text such as {kind.example}"
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python("seven")
    (error,) = caught.value.errors()
    assert error["type"] == "not-a-quantity"
    assert error["msg"].startswith("`seven` is not a ")


@pytest.mark.parametrize("kind", [Bytes, Millicores, Seconds, BytesPerSecond])
def test_a_unit_goes_through_json_as_text(kind: type[Bytes]) -> None:
    adapter = TypeAdapter[Bytes](kind)
    example = kind.example.strip('"')
    value = adapter.validate_python(example)
    assert adapter.validate_json(adapter.dump_json(value)) == value
    schema = adapter.json_schema()
    assert (schema["type"], schema["pattern"]) == ("string", kind.pattern)


# ── resources ────────────────────────────────────────────────────────────────────────────────────

POD = Resources({"nvidia.com/gpu": 8, "cpu": 1500, "memory": 2**40, "ephemeral-storage": 2**30})

amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "rdma/ib"]), st.integers(0, 10**15)
)


def test_resources_are_spelled_by_name_in_the_order_given() -> None:
    assert list(POD.spelled().items()) == [
        ("nvidia.com/gpu", "8"),
        ("cpu", "1500m"),
        ("memory", "1Ti"),
        ("ephemeral-storage", "1Gi"),
    ]
    assert repr(Resources({"cpu": 500})) == "Resources({'cpu': '500m'})"


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("cpu", 2000, "2"),
        ("memory", 2**30, "1Gi"),
        ("ephemeral-storage", 2**30, "1Gi"),
        ("hugepages-2Mi", 2**30, "1Gi"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("nvidia.com/gpu", 2000, "2k"),
    ],
)
def test_an_amount_is_spelled_in_the_unit_of_its_resource(
    name: str, amount: int, text: str
) -> None:
    assert spell(name, amount) == text


@settings(deadline=None)
@given(amounts, amounts)
def test_resources_add_up_by_name(one: dict[str, int], other: dict[str, int]) -> None:
    total = Resources(one) + Resources(other)
    assert dict(total) == {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
    assert list(total) == list({**one, **other})
    assert len(total) == len({**one, **other})


@settings(deadline=None)
@given(amounts, st.integers(0, 6))
def test_times_is_repeated_addition(one: dict[str, int], times: int) -> None:
    total = Resources(dict.fromkeys(one, 0))
    for _ in range(times):
        total = total + Resources(one)
    assert dict(Resources(one) * times) == dict(total)


def test_resources_do_not_follow_the_dictionary_they_came_from() -> None:
    given = {"cpu": 1}
    resources = Resources(given)
    given["cpu"] = 2
    assert resources["cpu"] == 1
