"""Damaged output of the tools of a preflight: valid rows or a clear error."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import cwndlab
from cwndlab.errors import ScenarioError
from cwndlab.live import preflight
from cwndlab.live.preflight import route, tcp, wifi
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from preflight_outputs import (
    INTERNET,
    IW,
    NETSH,
    NETSH_CHINESE,
    NETSH_FRENCH,
    NETSH_GERMAN,
    NMCLI,
    TERSE,
    TRACEROUTE,
    TRACERT,
    WIDE,
)

_BITS = ("BSS 00:11:22:33:44:55(on w)\n", "\tfreq: ", "\tsignal: ", "SSID 1 : ", "BSSID 1 : ", "SSID", "SIGNAL CHAN")
_MORE = (
    ":",
    "\n",
    "\\",
    "\\x",
    "-57",
    " dBm",
    "%",
    " ms",
    "*",
    "1  ",
    "MinRto(ms) : ",
    "SettingName : ",
    "é",
    "\0",
    "9" * 30,
)
_PIECES = st.sampled_from([*_BITS, *_MORE])
_TEXTS = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4)), max_size=30).map("".join))


@given(_TEXTS)
def test_no_text_whatever_breaks_a_reader(text: str) -> None:
    for read in (preflight.parse_networks, preflight.parse_route, preflight.windows_settings):
        try:
            found = read(text)
        except ScenarioError:
            continue
        if read is preflight.parse_networks:
            preflight.least_overlapped(found)  # type: ignore[arg-type]


_OUTPUTS = (IW, WIDE, NMCLI, TERSE, NETSH, NETSH_GERMAN, NETSH_FRENCH, NETSH_CHINESE, INTERNET, TRACEROUTE, TRACERT)
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp437", "cp1252", "shift_jis", "gb18030", "koi8-r")


@st.composite
def damaged_outputs(draw: st.DrawFn) -> bytes:
    """Output of a tool with lines exchanged, repeated, cut or replaced, in any encoding, with damaged bytes."""
    lines = draw(st.sampled_from(_OUTPUTS)).splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 6))):
        at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(("swap", "repeat", "cut", "digits", "piece", "join"))):
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "repeat":
                lines.insert(at, lines[other])
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "digits":
                digits = st.sampled_from(("0", "99999999", "-1", "1e999", "٣", "²", "0x1f", "1,5", "NaN"))
                lines[at] = re.sub(r"[0-9]+", draw(digits), lines[at])
            case "piece":
                lines[at] = draw(_PIECES) + lines[at]
            case "join":
                lines[at] = lines[at].rstrip("\n") + lines[other]
    content = bytearray("".join(lines).encode(draw(st.sampled_from(_ENCODINGS)), "replace"))
    for _ in range(draw(st.integers(0, 3))):
        if content:
            content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content)


def _in_range(value: float | None, least: float, most: float) -> bool:
    return value is None or least <= value <= most


def _assert_valid_networks(networks: list[wifi.Network]) -> None:
    for one in networks:
        assert _in_range(one.channel, 1, 253), one
        assert one.frequency_mhz is None or one.band is not None, one
        assert _in_range(one.signal_dbm, -200, 100), one
        assert _in_range(one.signal_percent, 0, 100), one
        assert one.width_mhz in (None, 20, 40, 80, 160, 320), one
        assert _in_range(one.stations, 0, 65535), one
        assert _in_range(one.utilisation, 0, 1), one
        json.dumps(one.as_dict(), allow_nan=False)
    for choice in preflight.least_overlapped(networks):
        json.dumps(choice.as_dict(), allow_nan=False)


def _assert_valid_route(hops: list[route.Hop]) -> None:
    assert [one.hop for one in hops] == list(range(1, len(hops) + 1))
    for hop in hops:
        # A probe is given up after seconds; no tool waits longer than the maximum lifetime of a segment (RFC 9293).
        assert all(_in_range(time_ns, 0, 120e9) for time_ns in hop.rtts_ns), hop
        json.dumps(hop.as_dict(), allow_nan=False)


@given(st.one_of(st.binary(), damaged_outputs()))
@hypothesis_settings(max_examples=400)
def test_damaged_output_gives_valid_rows_or_a_clear_error(content: bytes) -> None:
    text = preflight.decoded(content)
    with suppress(ScenarioError):
        _assert_valid_networks(preflight.parse_networks(text))
    with suppress(ScenarioError):
        _assert_valid_route(preflight.parse_route(text))
    try:
        found, names = preflight.windows_settings(text)
    except ScenarioError:
        return
    assert all(names)
    stack = tcp.profile_of(found)
    json.dumps(stack, allow_nan=False)
    _assert_valid_stack(stack)


def _assert_valid_stack(stack: dict[str, str | int | bool]) -> None:
    """A scenario takes it."""
    document = json.loads(
        cwndlab.Scenario(
            duration="1 s",
            dumbbell=cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms")),
            flows=[cwndlab.Flow("reno", rtt="30 ms")],
        ).to_json()
    )
    document["flow"][0]["stack"] = stack
    cwndlab.Scenario.from_json(json.dumps(document))


def test_values_of_no_stack_and_of_no_round_trip_are_left_out() -> None:
    """A packet lives for two minutes (RFC 9293, 3.4.2); a smallest timeout above the largest is none."""
    (hop,) = preflight.parse_route(" 1  192.0.2.1  999999 ms  0.4 ms  99999999.5 ms\n")
    assert hop.rtts_ns == (400_000,)
    found, _ = preflight.windows_settings("SettingName : Internet\nMinRto(ms) : 99999999\nDelayedAckFrequency : 0\n")
    assert preflight.profile_of(found) == {}


@given(st.binary())
def test_any_bytes_are_text(content: bytes) -> None:
    assert isinstance(preflight.decoded(content), str)


def test_text_of_windows_is_decoded() -> None:
    assert preflight.decoded("é".encode("utf-16")) == "é"  # with its mark, as `>` of PowerShell writes it
    assert preflight.decoded(b"\xef\xbb\xbf\xc3\xa9") == "é"
    assert preflight.decoded(b"B\xfcro") == "Büro"
