"""Times and amounts of data as text: the engine's reader, the same as for scenarios."""

from __future__ import annotations

import pytest
from cwndlab import ScenarioError
from cwndlab.errors import Parameter
from cwndlab.scenario.units import duration_s, rate_bps, size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0 s", 0),
        ("20ms", 0.02),
        (" 5  s ", 5),
        ("2 d", 172_800),
        ("0.5d", 43_200),
        ("1.5 min", 90),
        ("2 h", 7200),
        ("100 us", 1e-4),
        ("1 ns", 1e-9),
    ],
)
def test_a_time_is_read_in_seconds(text: str, seconds: float) -> None:
    """By hand."""
    assert duration_s(text, "warm_up") == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("1 B", 1), ("200MB", 200_000_000), ("1.5 KiB", 1536), ("2 GiB", 2**31), ("3 TB", 3 * 10**12)]
)
def test_an_amount_of_data_is_read_in_bytes(text: str, size: int) -> None:
    """By hand: SI prefixes are powers of 1000, IEC ones of 1024 (IEC 80000-13)."""
    assert size_bytes(text, "bytes") == size


@pytest.mark.parametrize(
    ("text", "what"),
    [("5", "'5' has no unit"), ("7 w", "'7 w' has an unknown unit 'w'"), ("-1 s", "'-1 s' is negative"), ("rtt", "")],
)
def test_what_is_no_time_names_the_parameter(text: str, what: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        duration_s(text, "warm_up")
    (fault,) = raised.value.faults
    assert (fault.where, fault.what) == ("warm_up", what or "'rtt' is not a time")
    assert isinstance(fault.where, Parameter)


@pytest.mark.parametrize("text", ["200", "x", "0 MB", "-1 MB", "1 mb", "200 packets"])
def test_what_is_no_amount_of_data_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^bytes: "):
        size_bytes(text, "bytes")


@pytest.mark.parametrize(
    ("text", "rate"), [("20 Mbps", 20_000_000), ("1.5 Mbit/s", 1_500_000), ("2 MB/s", 16_000_000), ("1 Gbit/s", 10**9)]
)
def test_a_rate_is_read_in_bits_per_second(text: str, rate: int) -> None:
    """By hand: a byte has 8 bits."""
    assert rate_bps(text, "rate") == rate


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^rate: '48' has no unit"):
        rate_bps("48", "rate")
