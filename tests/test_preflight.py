"""Route, RTT, Wi-Fi and TCP settings: what the tools print is read, and what cannot be found out is said.

Samples are written after the tools' documented formats: iw's scan.c, nmcli(1), the reference of `netsh wlan show
networks` and of Get-NetTCPSetting, traceroute(8), `tracert`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.live import preflight
from cwndlab.live.preflight import channels, route, rtt, tcp, wifi
from cwndlab.live.preflight.captured import Unknown
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

IW = (Path(__file__).parent / "samples" / "iw-scan.txt").read_text(encoding="utf-8")
WIDE = (Path(__file__).parent / "samples" / "iw-scan-wide.txt").read_text(encoding="utf-8")

# Wide letters take two columns of the table, combining ones none.
NMCLI = """\
IN-USE  BSSID              SSID            MODE   CHAN  RATE        SIGNAL  BARS  SECURITY
*       52:33:F0:9F:32:04  小心王占        Infra  11    130 Mbit/s  63      ▂▄▆_  WPA2
        50:33:F0:BF:32:06  cmcc: 5G        Infra  149   270 Mbit/s  100     ▂▄▆█  WPA1 WPA2
        52:33:F0:AF:32:06  --              Infra  1     54 Mbit/s   0       ____  --
        52:33:F0:AF:32:07  cafe\u0301 bar        Infra  6     54 Mbit/s   40      ▂___  --
"""

TERSE = r"""*:52\:33\:F0\:9F\:32\:04:a\:b\\c:11:2462 MHz:63
 :50\:33\:F0\:BF\:32\:06::1:5955 MHz:100
:50\:33\:F0\:BF\:32\:07:x:6:2437 MHz:
"""

NETSH = """\

Interface name : Wi-Fi
There are 3 networks currently visible.

SSID 1 : Home : upstairs
    Network type            : Infrastructure
    Authentication          : WPA3-Personal
    Encryption              : CCMP
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 86%
         Radio type         : 802.11ax
         Band               : 6 GHz
         Channel            : 37
         Bss Load:
             Connected Stations:         4
             Channel Utilization:        35 (13 %)
             Medium Available Capacity:  38000 (µs/s)
         Basic rates (Mbps) : 6 12 24
         Other rates (Mbps) : 9 18 36 48 54
    BSSID 2                 : 00:11:22:33:44:56
         Signal             : 62%
         Radio type         : 802.11n
         Channel            : 6

SSID 2 :
    Network type            : Infrastructure
    BSSID 1                 : aa:bb:cc:dd:ee:ff
         Signal             : 4%
         Radio type         : 802.11n
         Channel            : 100

SSID 3 : without
    Network type            : Infrastructure
"""

NETSH_GERMAN = """\
Schnittstellenname : WLAN
Momentan sind 1 Netzwerke sichtbar.

SSID 1 : Büro
    Netzwerktyp             : Infrastruktur
    Authentifizierung       : WPA2-Personal
    Verschlüsselung         : CCMP
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 90 %
         Funktyp            : 802.11n
         Kanal              : 13
         Basisraten (MBit/s): 1 2 5,5 11
"""

# The study's "Internet" template (links-and-queues of the paper's tables), in the form of the cmdlet.
INTERNET = """\

SettingName                   : Automatic
MinRto(ms)                    :
InitialCongestionWindow(MSS)  :
CongestionProvider            :

SettingName                   : Internet
MinRto(ms)                    : 300
InitialCongestionWindow(MSS)  : 10
CongestionProvider            : CUBIC
CwndRestart                   : False
DelayedAckTimeout(ms)         : 40
DelayedAckFrequency           : 2
MemoryPressureProtection      : Enabled
AutoTuningLevelLocal          : Normal
AutoTuningLevelGroupPolicy    : NotConfigured
AutoTuningLevelEffective      : Local
EcnCapability                 : Disabled
Timestamps                    : Disabled
InitialRto(ms)                : 1000
ScalingHeuristics             : Disabled
DynamicPortRangeStartPort     : 49152
NonSackRttResiliency          : Disabled
ForceWS                       : Enabled
MaxSynRetransmissions         : 4
"""


def test_a_scan_of_iw_is_read() -> None:
    one, two, three, four, five = preflight.parse_networks(IW)
    assert one == wifi.Network("café: \\net ", "00:11:22:33:44:55", 1, 2412, -57.0, associated=True, width_mhz=20)
    # Hidden; a comma for the point; 40 MHz upwards; names of other networks deeper in its elements are not its own.
    assert two == wifi.Network(None, "aa:bb:cc:dd:ee:01", 6, 2437, -60.5, secondary=4, width_mhz=40)
    assert (three.ssid, three.signal_dbm, three.signal_percent) == (None, None, 60)
    # Beyond 2.4 GHz a secondary channel overlaps nothing that is chosen here.
    assert (four.band, four.channel, four.secondary) == ("6 GHz", 1, 0)
    assert (five.channel, five.signal_dbm) == (14, None)


def test_widths_loads_and_bands_of_iw_are_read() -> None:
    """Written after the formats of iw's scan.c. A VHT cell of 160 MHz says 80 MHz and a second centre 8 channels away
    (IEEE 802.11-2016, table 9-252); the newest generation's element counts; 51 / 255 is a fifth."""
    ibss, load, eht, he, dmg, s1g, damaged = preflight.parse_networks(WIDE)
    assert (ibss.associated, ibss.signal_dbm, ibss.width_mhz, ibss.secondary) == (True, -57.53, 160, 0)
    assert (load.associated, load.width_mhz, load.stations, load.utilisation) == (False, 80, 12, 0.2)
    assert (eht.band, eht.channel, eht.width_mhz) == ("6 GHz", 37, 320)
    assert (he.band, he.channel, he.width_mhz) == ("6 GHz", 1, 80)
    assert (dmg.band, dmg.channel, dmg.width_mhz) == ("60 GHz", 1, None)
    # 802.11ah, whose channels have other numbers.
    assert (s1g.band, s1g.channel, s1g.frequency_mhz) == ("sub-1 GHz", None, 902)
    unknown = (damaged.frequency_mhz, damaged.signal_dbm, damaged.stations, damaged.utilisation)
    assert unknown == (None, None, None, None)
    assert damaged.width_mhz == 80


def test_an_aborted_scan_says_what_to_do() -> None:
    with pytest.raises(ScenarioError, match="iw's scan was aborted\n  hint: scan again"):
        preflight.parse_networks("scan aborted!\n")


def test_a_table_of_nmcli_is_read_by_the_columns_of_a_terminal() -> None:
    one, two, three, four = preflight.parse_networks(NMCLI)
    # 63 % is 63 − 120 dBm by NetworkManager's rule; 0 % lies below its −90 dBm.
    assert one == wifi.Network("小心王占", "52:33:f0:9f:32:04", 11, 2462, -57.0, 63, associated=True)
    assert (two.ssid, two.channel, two.band, two.signal_dbm) == ("cmcc: 5G", 149, "5 GHz", -20.0)
    assert (three.ssid, three.signal_dbm, three.signal_percent) == (None, None, 0)
    assert (four.ssid, four.channel, four.signal_percent) == ("cafe\u0301 bar", 6, 40)


def test_terse_lines_of_nmcli_keep_colons_and_backslashes() -> None:
    one, two, three = preflight.parse_networks(TERSE)
    assert (one.ssid, one.bssid, one.channel, one.associated) == ("a:b\\c", "52:33:f0:9f:32:04", 11, True)
    assert (two.ssid, two.band, two.channel) == (None, "6 GHz", 1)
    assert (three.ssid, three.signal_dbm, three.signal_percent) == ("x", None, None)


def test_a_list_of_netsh_is_read_in_any_language() -> None:
    one, two, three, four = preflight.parse_networks(NETSH)
    # −57 dBm are 86 % of Windows; what the cell's load is in percent is not a signal.
    assert one == wifi.Network("Home : upstairs", "00:11:22:33:44:55", 37, 6135, -57.0, 86)
    assert (two.ssid, two.channel, two.frequency_mhz) == ("Home : upstairs", 6, 2437)
    assert (three.ssid, three.signal_dbm, three.band) == (None, -98.0, "5 GHz")
    assert (four.ssid, four.bssid) == ("without", None)
    [german] = preflight.parse_networks(NETSH_GERMAN)
    assert (german.ssid, german.channel, german.signal_dbm) == ("Büro", 13, -55.0)
    assert preflight.parse_networks("Interface name : Wi-Fi\nThere are 0 networks currently visible.\n") == []


# After the reference of `netsh wlan show interfaces`, of a machine with two interfaces; a newer build says "AP BSSID".
NETSH_NEAR = """
Interface name : Wi-Fi
There are 2 networks currently visible.

SSID 1 : Home
    Network type            : Infrastructure
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 90%
         Radio type         : 802.11ax
         Channel            : 11

SSID 2 : Neighbour
    Network type            : Infrastructure
    BSSID 1                 : 66:77:88:99:aa:bb
         Signal             : 40%
         Radio type         : 802.11n
         Channel            : 6
"""
NETSH_INTERFACES = """
Es sind 2 Schnittstellen auf dem System vorhanden:

    Name                   : WLAN
    Beschreibung           : Intel(R) Wi-Fi 6 AX201 160MHz
    GUID                   : 1b0e1f5c-9c4e-4d2a-8f7c-0a1b2c3d4e5f
    Physische Adresse      : 3c:58:c2:aa:bb:cc
    Status                 : Verbunden
    SSID                   : Home
    {label}                : 00:11:22:33:44:55
    Netzwerktyp            : Infrastruktur
    Funktyp                : 802.11ax
    Kanal                  : 11
    Empfangsrate (MBit/s)  : 287
    Signal                 : 90%
    Profil                 : Home

    Status des gehosteten Netzwerks: Nicht verfügbar

    Name                   : WLAN 2
    Beschreibung           : Realtek USB
    GUID                   : {{0c0e1f5c-9c4e-4d2a-8f7c-0a1b2c3d4e5f}}
    Physische Adresse      : 3c:58:c2:aa:bb:cd
    Status                 : Getrennt
"""


@pytest.mark.parametrize("label", ["BSSID", "AP BSSID"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [True, False])
def test_the_joined_network_of_netsh_is_that_of_its_interfaces(label: str, ending: str, first: bool) -> None:
    """The physical address is the machine's own; an interface that is not connected has no BSSID."""
    parts = [NETSH_INTERFACES.format(label=label), NETSH_NEAR]
    networks = preflight.parse_networks("\n".join(parts if first else parts[::-1]).replace("\n", ending))
    assert [(one.ssid, one.bssid, one.channel, one.associated) for one in networks] == [
        ("Home", "00:11:22:33:44:55", 11, True),
        ("Neighbour", "66:77:88:99:aa:bb", 6, False),
    ]
    # The own access point on 11 is not a neighbour: the one on 6 overlaps 6 alone, so that 1 is free, and so is 11.
    loads = {one.channel: one.networks for one in preflight.least_overlapped(networks)}
    assert loads == {1: 0, 6: 1, 11: 0}


def test_a_joined_network_that_the_list_lacks_is_added() -> None:
    """The list of Windows is that of its last scan, which may be a minute old."""
    interfaces = NETSH_INTERFACES.format(label="AP BSSID").replace("00:11:22:33:44:55", "00:11:22:33:44:66")
    *_, own = preflight.parse_networks(NETSH_NEAR + interfaces)
    assert own == wifi.Network("Home", "00:11:22:33:44:66", 11, 2462, -55.0, 90, associated=True)
    [alone] = preflight.parse_networks(interfaces)
    assert alone == own


def test_a_list_of_netsh_without_interfaces_says_that_the_own_network_is_unknown(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "netsh.txt"
    file.write_text(NETSH_NEAR)
    _, _, err = cli("preflight", "--wifi", file)
    assert "unknown: the network that this machine is joined to: `netsh wlan show networks` does not mark it" in err
    file.write_text(NETSH_NEAR + NETSH_INTERFACES.format(label="BSSID"))
    _, _, err = cli("preflight", "--wifi", file)
    assert "the network that this machine is joined to (Home) does not count" in err
    assert "does not mark it" not in err
    file.write_text(NETSH_NEAR + NETSH_INTERFACES.format(label="Kein"))
    _, _, err = cli("preflight", "--wifi", file)
    assert "joined" not in err


def test_netsh_is_asked_for_networks_and_interfaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in on the path prints what Windows' netsh prints for each of its two commands."""
    (tmp_path / "list").write_text(NETSH_NEAR)
    (tmp_path / "interfaces").write_text(NETSH_INTERFACES.format(label="AP BSSID"))
    tool = tmp_path / "netsh"
    tool.write_text(f'#!/bin/sh\ncase "$3" in networks) file=list ;; *) file=interfaces ;; esac\n'
                    f'while IFS= read -r line; do echo "$line"; done < {tmp_path}/$file\n')  # fmt: skip
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("cwndlab.live.preflight.surveying.wireless_devices", list)
    survey = preflight.survey(None)
    assert [(one.ssid, one.associated) for one in survey.networks] == [("Home", True), ("Neighbour", False)]


def test_what_no_tool_printed_is_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        preflight.parse_networks("dear diary", "notes.txt")
    assert str(refused.value) == (
        "notes.txt: is no Wi-Fi survey that is known here\n"
        "  hint: output of `iw dev X scan`, `nmcli -t -f IN-USE,BSSID,SSID,CHAN,FREQ,SIGNAL dev wifi`, or "
        "`netsh wlan show networks mode=bssid` and `netsh wlan show interfaces`"
    )
    with pytest.raises(ScenarioError, match="LC_ALL=C nmcli"):
        preflight.parse_networks("IN-USE  BSSID  SSID  MODUS  KANAL  SIGNAL\n*  x  y  z  1  2\n")


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


TRACEROUTE = """\
traceroute to host.example (192.0.2.7), 30 hops max, 60 byte packets
 1  gateway (192.0.2.1)  0.412 ms  0.380 ms *
 2  * * *
 3  2001:db8::1  12.5 ms !N  13.1 ms  12.9 ms
"""

TRACERT = """\
Routenverfolgung zu host.example [192.0.2.7] über maximal 30 Hops:

  1    <1 ms    <1 ms     1 ms  192.0.2.1
  2     *        *        *     Zeitüberschreitung der Anforderung.
  3    12 ms    13 ms    12 ms  host.example [192.0.2.7]
"""

_OUTPUTS = (IW, WIDE, NMCLI, TERSE, NETSH, NETSH_GERMAN, INTERNET, TRACEROUTE, TRACERT)
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
@hypothesis_settings(max_examples=400, deadline=None)
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


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=32).filter(lambda name: name.strip("\0")))
def test_any_name_survives_iw(name: str) -> None:
    """iw's ``print_ssid_escaped``: printable ASCII but ``\\`` as it is, blanks inside too, the rest as ``\\xNN``."""
    raw = name.encode()
    shown = "".join(
        chr(byte) if (32 < byte < 127 and byte != 92) or (byte == 32 and 0 < at < len(raw) - 1) else f"\\x{byte:02x}"
        for at, byte in enumerate(raw)
    )
    [found] = preflight.parse_networks(f"BSS 00:11:22:33:44:55(on wlan0)\n\tfreq: 2412\n\tSSID: {shown}\n")
    assert found.ssid == name


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=32))
def test_any_name_survives_terse_nmcli(name: str) -> None:
    shown = name.replace("\\", "\\\\").replace(":", "\\:")
    [found] = preflight.parse_networks(f":00\\:11\\:22\\:33\\:44\\:55:{shown}:6:2437 MHz:70\n")
    assert found.ssid == (None if name == "--" else name)


def _heard(channel: int, dbm: float | None, **more: object) -> wifi.Network:
    return wifi.Network("x", None, channel, wifi.frequency_of(channel), dbm, **more)  # type: ignore[arg-type]


def test_the_channel_with_the_least_power_is_chosen() -> None:
    """By hand: channel 3 overlaps 1 and 6 (|Δ| 2 and 3), 8 overlaps 6 and 11, 11 only 11: −50 dBm are 10⁻⁵ mW, −60 dBm
    10⁻⁶ mW. On 1 stand 10⁻⁵ mW, on 6 10⁻⁵ + 2 · 10⁻⁶, on 11 3 · 10⁻⁶ though more networks are there."""
    found = preflight.least_overlapped([_heard(3, -50), _heard(8, -60), _heard(8, -60), _heard(11, -60)])
    assert [one.channel for one in found] == [1, 6, 11]
    assert [one.load_mw for one in found] == pytest.approx([1e-5, 1.2e-5, 3e-6])
    assert [one.networks for one in found] == [1, 3, 3]
    assert [one.channel for one in found if one.least] == [11]


def test_the_channel_of_a_lone_network_leaves_those_five_away() -> None:
    """A network on 6 overlaps 2 to 10."""
    found = preflight.least_overlapped([_heard(6, -40)], channels.ALL)
    assert [one.channel for one in found if one.networks] == list(range(2, 11))
    assert [one.channel for one in found if one.least] == [1]


def test_wide_networks_their_own_and_silent_ones() -> None:
    # 40 MHz from 6 upwards stands on 6 and 10: 1 alone is free.
    found = preflight.least_overlapped([_heard(6, -60, secondary=4)])
    assert [one.networks for one in found] == [0, 1, 1]
    # The network that is to move does not count; 14 lies 12 MHz beyond 13, which is 22 MHz from 11.
    found = preflight.least_overlapped([_heard(1, -30, associated=True), _heard(14, None)])
    assert [(one.networks, one.unknown, one.load_mw) for one in found] == [(0, 0, 0), (0, 0, 0), (1, 1, 0)]
    # Equal powers: fewer networks, then the lower channel.
    assert [one.channel for one in preflight.least_overlapped([_heard(1, None)]) if one.least] == [6]
    assert preflight.least_overlapped([_heard(36, -30)]) == preflight.least_overlapped([])


def test_the_settings_of_the_study_become_its_profile() -> None:
    """`windows-10-20h1` was written from the same table."""
    settings, names = preflight.windows_settings(INTERNET)
    assert names == ["Automatic", "Internet"]
    assert preflight.profile_of(settings) == {
        "min_rto": "300 ms",
        "initial_window": 10,
        "idle_restart": "off",
        "ack_delay": "40 ms",
        "ack_every": 2,
        "auto_tuning": True,
        "ecn": "off",
        "timestamps": False,
        "initial_rto": "1000 ms",
        "syn_retries": 4,
    }
    other, _ = preflight.windows_settings(INTERNET, template="automatic")
    assert preflight.profile_of(other) == {}
    with pytest.raises(ScenarioError) as refused:
        preflight.windows_settings(INTERNET, template="Datacentre")
    assert str(refused.value) == (
        "--template: no template is called 'Datacentre'\n  hint: there are Automatic, Internet"
    )


def test_the_settings_of_linux_are_its_sysctls(tmp_path: Path) -> None:
    folder = tmp_path / "ipv4"
    folder.mkdir()
    values = {"tcp_ecn": "1", "tcp_sack": "0", "tcp_rmem": "4096\t131072\t6291456", "tcp_rto_min_us": "5500"}
    for name, value in (values | {"tcp_fastopen_key": "0-1-2-3", "tcp_stdurg": "0"}).items():
        (folder / name).write_text(f"{value}\n")
    found = {one.name: one for one in preflight.linux_settings(tmp_path)}
    assert found["net.ipv4.tcp_rmem"].value == "4096 131072 6291456"
    told = preflight.profile_of(found.values())
    assert told == {"ecn": "classic", "sack": False, "min_rto": "5500 us", "initial_window": told["initial_window"]}
    everything = {one.name for one in preflight.linux_settings(tmp_path, everything=True)}
    assert "net.ipv4.tcp_stdurg" in everything
    assert "net.ipv4.tcp_fastopen_key" not in everything  # it opens connections in another's name
    with pytest.raises(Unknown, match="this is no Linux"):
        preflight.linux_settings(tmp_path / "nothing")


def test_a_profile_is_a_stack_that_a_scenario_takes() -> None:
    for settings in (preflight.windows_settings(INTERNET)[0], preflight.linux_settings()):
        scenario = {
            "schema_version": 1,
            "duration": "1 s",
            "dumbbell": {"bottleneck": {"rate": "1 Mbps", "delay": "1 ms", "queue": {"capacity": "10 packets"}}},
            "flow": [{"algorithm": "reno", "rtt": "10 ms", "stack": preflight.profile_of(settings)}],
        }
        cwndlab.run(scenario, seed=1)


def test_the_initial_window_of_a_route_is_found() -> None:
    routes = "10.0.0.0/8 dev eth1 initcwnd 40\ndefault via 192.0.2.1 dev eth0 proto dhcp initcwnd 20 initrwnd 30\n"
    assert tcp.initial_window(routes)[0] == 20
    assert tcp.initial_window("default via 192.0.2.1 dev eth0\n")[0] == 10


TRACEROUTE = """\
traceroute to host.example (203.0.113.9), 30 hops max, 60 byte packets
 1  gateway (192.0.2.1)  1.123 ms  0.9 ms  1,000 ms
 2  * * *
 3  a.example (198.51.100.1)  12.1 ms b.example (198.51.100.2)  14.1 ms *
 4  2001:db8::9  15 ms !X  16 ms !X  17 ms !X
"""

TRACERT = """\
Routenverfolgung zu host.example [203.0.113.9]
über maximal 30 Hops:

  1    <1 ms    <1 ms     1 ms  192.0.2.1
  2     *        *        *     Zeitüberschreitung der Anforderung.
  3    12 ms    11 ms    13 ms  host.example [203.0.113.9]

Ablaufverfolgung beendet.
"""


def test_routes_of_traceroute_and_tracert_are_read() -> None:
    one, two, three, four = preflight.parse_route(TRACEROUTE)
    assert one == route.Hop(1, ("192.0.2.1",), (1_123_000, 900_000, 1_000_000))
    assert two == route.Hop(2, (), (None, None, None))
    assert three == route.Hop(3, ("198.51.100.1", "198.51.100.2"), (12_100_000, 14_100_000, None))
    assert (four.addresses, four.note) == (("2001:db8::9",), "!X")
    hops = preflight.parse_route(TRACERT)
    assert [hop.addresses for hop in hops] == [("192.0.2.1",), (), ("203.0.113.9",)]
    assert hops[0].rtts_ns == (1_000_000, 1_000_000, 1_000_000)


def test_round_trips_are_told_by_hand() -> None:
    """1, 2, 4, 8 and 100 ms, one without an answer between the second and the third."""
    told = preflight.Rtts("x", (1_000_000, 2_000_000, None, 4_000_000, 8_000_000, 100_000_000)).as_dict()
    assert (told["sent"], told["answered"]) == (6, 5)
    assert (told["min_ms"], told["median_ms"], told["max_ms"], told["mean_ms"]) == (1, 4, 100, 23)
    assert told["p95_ms"] == 100
    assert told["jitter_ms"] == pytest.approx((1 + 4 + 92) / 3)
    assert all(preflight.Rtts("x", (None,)).as_dict()[name] is None for name in rtt.COLUMNS[3:])


def test_a_handshake_is_timed_whether_it_is_taken_or_refused() -> None:
    here = (socket.AF_INET, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taken = preflight.tcp_connects(here, port, count=3, interval_s=0)
    refused = preflight.tcp_connects(here, port, count=2, interval_s=0)
    assert (len(taken.answered), len(refused.answered)) == (3, 2)
    assert all(sample > 0 for sample in taken.answered + refused.answered)


def test_an_echo_is_known_by_what_it_carries() -> None:
    mark = bytes(range(16))
    request = rtt.echo_request(socket.AF_INET, 7, mark)
    assert rtt.checksum(request) == 0  # RFC 1071: of a message with its checksum
    reply = bytes([0]) + request[1:]
    assert rtt.is_reply(socket.AF_INET, reply, mark)
    assert rtt.is_reply(socket.AF_INET, b"\x45" + bytes(19) + reply, mark)  # a raw socket shows the IP header
    assert not rtt.is_reply(socket.AF_INET, request, mark)
    assert not rtt.is_reply(socket.AF_INET, reply, bytes(16))
    assert not rtt.is_reply(socket.AF_INET, b"", mark)


def test_pings_come_back_or_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    here = (socket.AF_INET, "127.0.0.1")
    if os.geteuid() == 0:
        assert len(preflight.ping(here, count=2, interval_s=0).answered) == 2

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(
        Unknown, match=r"not allowed here \(operation not permitted\): net.ipv4.ping_group_range has not"
    ):
        preflight.ping(here, count=2)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("host.example", "host.example", 443),
        ("host.example:80", "host.example", 80),
        ("https://host.example/x?y", "host.example", 443),
        ("http://host.example:8080", "host.example", 8080),
        ("2001:db8::1", "2001:db8::1", 443),
        ("[2001:db8::1]:8443", "2001:db8::1", 8443),
    ],
)
def test_targets(text: str, host: str, port: int) -> None:
    assert preflight.Target.parse(text) == preflight.Target(host, port)


def test_an_address_that_answers_is_preferred_to_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with an address of IPv6 that has no route here (RFC 3849 reserves it for documentation)."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        known = [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
        assert preflight.rtt.addresses("host.example")[0] == (socket.AF_INET6, "2001:db8::1")
        assert preflight.rtt.reachable("host.example", port) == (socket.AF_INET, "127.0.0.1")
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known[:1])
        assert preflight.rtt.reachable("host.example", port) == (socket.AF_INET6, "2001:db8::1")


@pytest.mark.parametrize("text", ["", "host:99999", "a b", "[::", "http://"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="write a name or an address"):
        preflight.Target.parse(text)


def test_the_verb_shows_what_there_is_and_says_what_is_not(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    scan, stack, way, kept = (tmp_path / name for name in ("scan", "stack", "way", "kept.json"))
    scan.write_text(IW.replace("SSID: six", "SSID: \\x1b[2J"))
    stack.write_text(INTERNET, encoding="utf-16")
    way.write_text(TRACERT)
    files = ("--wifi", scan, "--tcp-settings", stack, "--route", way)
    status, out, err = cli("preflight", "no-such-host.invalid", *files, "--out", kept)
    assert status == 0
    assert "  3  203.0.113.9       3         3      11       12      13" in out
    assert "café: \\net" in out
    assert "\\x1b[2J" in out
    assert "\x1b" not in out
    assert 'DelayedAckTimeout(ms)         40             ack_delay = "40 ms"' in out
    assert "unknown: address: 'no-such-host.invalid' has no address" in err
    assert "template Internet of Automatic, Internet" in err
    told = json.loads(kept.read_text())
    assert [one["channel"] for one in told["channels"] if one["least"]] == [1]
    status, out, _ = cli("preflight", *files, "--format", "json")
    assert json.loads(out)["stack"] == told["stack"]
    assert json.loads(out)["unknown"] == []
    status, out, err = cli("preflight", "--wifi", tmp_path / "none")
    assert (status, err) == (
        2,
        f"{tmp_path / 'none'}: there is no such file\n  hint: a file with a Wi-Fi survey\n",
    )


def test_a_machine_without_the_tools_says_so(
    cli: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("cwndlab.live.preflight.surveying.wireless_devices", list)
    status, _, err = cli("preflight")
    assert status == 0
    assert (
        "unknown: Wi-Fi: this machine has no Wi-Fi device; `nmcli` is not installed; `netsh` is not installed\n"
    ) in err


# A router between two hosts, in network namespaces that have no names and go with the processes that hold them.


@contextmanager
def _namespaces(count: int) -> Iterator[list[int]]:
    own = Path("/proc/self/ns/net").readlink()
    holders = [subprocess.Popen(["unshare", "--net", "sleep", "120"]) for _ in range(count)]
    try:
        end = time.monotonic() + 10
        for holder in holders:
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                assert time.monotonic() < end
                assert holder.poll() is None
                time.sleep(0.01)
        yield [holder.pid for holder in holders]
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _inside(holder: int, *command: str) -> str:
    enter = ("nsenter", "--target", str(holder), "--net")
    return subprocess.run([*enter, *command], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip"))),
    reason="needs root, unshare, nsenter and ip",
)
def test_a_route_of_two_hops_is_found_by_each_kind_of_probe() -> None:
    with _namespaces(3) as (host, router, far):
        for name, here, there, near, away in (
            ("left", host, router, "10.77.1.2/24", "10.77.1.1/24"),
            ("right", far, router, "10.77.2.2/24", "10.77.2.1/24"),
        ):
            _inside(here, "ip", "link", "add", name, "type", "veth", "peer", "name", name, "netns", str(there))
            for place, address in ((here, near), (there, away)):
                _inside(place, "ip", "address", "add", address, "dev", name)
                _inside(place, "ip", "link", "set", name, "up")
            _inside(here, "ip", "route", "add", "default", "via", away.split("/")[0])
        _inside(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for place in (router, far):
            _inside(place, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit")
        for kind in ("udp", "icmp", "tcp"):
            if kind == "icmp":
                _inside(host, "sh", "-c", "echo '0 0' > /proc/sys/net/ipv4/ping_group_range")
            asked = (sys.executable, "-m", "cwndlab", "preflight", "10.77.2.2:9", "--count", "2", "--trace", kind)
            told = json.loads(_inside(host, *asked, "--format", "json"))
            hops = [(hop["hop"], hop["address"], hop["answered"]) for hop in told["route"]]
            assert hops == [(1, "10.77.1.1", 3), (2, "10.77.2.2", 3)], kind
            assert [(one["method"], one["answered"]) for one in told["rtt"]] == [("TCP, port 9", 2), ("ICMP echo", 2)]
            assert not [one for one in told["unknown"] if "oute" in one["what"]]
