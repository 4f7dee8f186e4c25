"""Wi-Fi surveys of iw, nmcli and netsh, and the channel that they make the best."""

from __future__ import annotations

import pytest
from cwndlab.errors import ScenarioError
from cwndlab.live import preflight
from cwndlab.live.preflight import channels, wifi
from hypothesis import given
from hypothesis import strategies as st
from preflight_outputs import (
    IW,
    NETSH,
    NETSH_CHINESE,
    NETSH_FRENCH,
    NETSH_GERMAN,
    NETSH_INTERFACES,
    NETSH_NEAR,
    NMCLI,
    TERSE,
    WIDE,
)


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
    livebox, hidden = preflight.parse_networks(NETSH_FRENCH)
    assert (livebox.ssid, livebox.channel, livebox.signal_dbm) == ("Livebox-1234", 44, -68.0)
    assert (hidden.ssid, hidden.bssid, hidden.channel, hidden.signal_percent) == (None, "66:77:88:99:aa:bb", 6, 20)
    [chinese] = preflight.parse_networks(NETSH_CHINESE)
    assert (chinese.ssid, chinese.channel, chinese.signal_dbm) == ("校园网", 11, -55.0)
    assert preflight.parse_networks("Interface name : Wi-Fi\nThere are 0 networks currently visible.\n") == []


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
