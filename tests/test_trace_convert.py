"""Traces of two columns, a time and a rate, in Mahimahi's format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cwndlab.errors import ScenarioError
from cwndlab.scenario import traces

Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("text", "time", "rate"),
    [
        ("0 12\n1 24\n2 24\n", "s", "Mbit/s"),
        ("# a remark\ntime_ms,kbps\n5000,12000\n6000,24000\n7000,24000\n", "ms", "kbit/s"),
        ("1.5e9;12000000\r\n1500000001;24000000\r\n1500000002;24000000\r\n", "s", "bit/s"),
    ],
)
def test_rates_become_opportunities_of_1500_bytes(text: str, time: str, rate: str) -> None:
    """By hand: 12 Mbit/s is a packet of 12,000 bits per millisecond; the last rate holds as long as the one before."""
    moments = traces.convert(text, "a", time=time, rate=rate)
    assert moments == sorted(moments)
    assert moments[:3] == [1, 2, 3]
    assert [sum(1000 * n < one <= 1000 * (n + 1) for one in moments) for n in range(3)] == [1000, 2000, 2000]


def test_a_rate_below_a_packet_per_line_adds_up_and_a_pause_is_kept() -> None:
    """By hand: 1.2 Mbit/s is a packet per 10 ms, here over lines of 4 ms; then nothing for 100 ms."""
    text = "\n".join(f"{4 * n} 1.2" for n in range(10)) + "\n40 0\n140 1.2\n144 1.2\n"
    assert traces.convert(text, "a", time="ms") == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("text", "options", "what"),
    [
        ("", {}, "a: has fewer than two lines"),
        ("0 1\n1 x\n", {}, "a, line 2: '1 x' is not a time and rate"),
        ("0 1 2\n1 2 3\n2 3 4\n", {}, "a, line 2: '1 2 3' is not a time and rate"),
        ("0 1\n1 -2\n", {}, "a, line 2: '1 -2' is not a time and rate from 0 on"),
        ("0 1\nnan 2\n", {}, "a, line 2: 'nan 2' is not a time and rate from 0 on"),
        ("0 1\n0 2\n", {}, "a, line 2: the time is not later than that of the line before"),
        ("0 1\n1 1\n", {"rate": "bit/s"}, "a: carries less than one packet"),
        ("0 1\n1 1\n", {"time": "min"}, "time: 'min' is not a unit of a time"),
        ("0 1\n1 1\n", {"rate": "baud"}, "rate: 'baud' is not a unit of a rate"),
        ("0 1\n90000 1\n", {}, "a: is longer than a day"),
        ("0 1e12\n1 1\n", {}, "opportunities"),
    ],
)
def test_what_is_no_trace_of_rates_is_bad_input(text: str, options: dict[str, str], what: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        traces.convert(text, "a", **options)
    assert what in str(caught.value)


def test_the_command_writes_a_trace_that_the_package_reads(cli: Cli, tmp_path: Path) -> None:
    rates, trace = tmp_path / "rates.csv", tmp_path / "my.down"
    rates.write_text("ms,kbit\n0,6000\n500,12000\n1000,12000\n")
    status, out, _ = cli("trace", "convert", rates, "--time", "ms", "--rate", "kbit/s")
    assert status == 0
    trace.write_text(out)
    assert traces.describe(traces.load(trace)).opportunities == 250 + 500 + 500
    assert cli("trace", "convert", tmp_path / "missing")[0] == 2
