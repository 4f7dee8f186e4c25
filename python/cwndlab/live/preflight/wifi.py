"""Networks of a Wi-Fi survey, from what ``iw``, ``nmcli`` and ``netsh`` print.

Formats: ``iw dev X scan`` (iw(8); its scan.c prints one ``BSS`` block per network), ``nmcli device wifi list`` as a
table and, by ``-t``, with fields joined by colons and ``\\`` before a colon that is data (nmcli(1)), and ``netsh wlan
show networks mode=bssid`` of Windows in any of its languages: of its words only ``SSID``, ``BSSID``, ``%`` and numbers
are relied upon. This list does not mark the network that the machine is joined to; ``netsh wlan show interfaces``,
which may stand in the same text, has its BSSID.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from unicodedata import combining, east_asian_width

from cwndlab.errors import Fault, ScenarioError

#: Fields that `cwndlab preflight` asks nmcli for, in this order.
NMCLI_FIELDS = "IN-USE,BSSID,SSID,CHAN,FREQ,SIGNAL"
_MAC = r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}"
_Value = TypeVar("_Value", int, float)
_HINT = (
    f"output of `iw dev X scan`, `nmcli -t -f {NMCLI_FIELDS} dev wifi`, or `netsh wlan show networks mode=bssid` and "
    "`netsh wlan show interfaces`"
)


@dataclass(frozen=True)
class Network:
    """One access point as it was received. What is not known is ``None``; a hidden network has no ``ssid``."""

    ssid: str | None
    bssid: str | None
    channel: int | None
    frequency_mhz: int | None
    signal_dbm: float | None
    """As iw tells it, or reckoned from a percentage: `dbm_of_nmcli`, `dbm_of_windows`."""
    signal_percent: int | None = None
    secondary: int = 0
    """Channels from the primary to the secondary one of a network of 40 MHz in the 2.4 GHz band: 4, −4 or 0."""
    associated: bool = False
    """This machine is joined to it."""
    width_mhz: int | None = None
    """Channel width of the cell: 20, 40, 80, 160 or 320, by its operation elements (HT, VHT, HE, EHT)."""
    stations: int | None = None
    """Stations that are associated with it, by its BSS Load element."""
    utilisation: float | None = None
    """Share of time in which it finds the medium busy, 0 to 1, by its BSS Load element."""

    @property
    def band(self) -> str | None:
        """``sub-1 GHz``, ``2.4 GHz``, ``5 GHz``, ``6 GHz`` or ``60 GHz``."""
        return None if self.frequency_mhz is None else band_of(self.frequency_mhz)

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}


#: Columns of a network.
COLUMNS = (
    "ssid",
    "bssid",
    "band",
    "channel",
    "frequency_mhz",
    "secondary",
    "signal_dbm",
    "signal_percent",
    "associated",
    "width_mhz",
    "stations",
    "utilisation",
)

#: Frequencies of 802.11, MHz, with the band: 802.11ah, the 2.4, 5 and 6 GHz bands (802.11j from 4.9 GHz), 802.11ad.
_BANDS = (
    (755, 928, "sub-1 GHz"),
    (2400, 2500, "2.4 GHz"),
    (4900, 5924, "5 GHz"),
    (5925, 7125, "6 GHz"),
    (56160, 73440, "60 GHz"),
)
_WIDTHS = (20, 40, 80, 160, 320)


def printable(text: str) -> str:
    r"""A name as a terminal may show it: whoever names a network may write anything into it.

    >>> printable("café \x1b[2J")
    'café \\x1b[2J'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def band_of(frequency_mhz: int) -> str | None:
    """The band of a centre frequency, ``None`` outside of the bands of 802.11.

    >>> band_of(2412), band_of(5180), band_of(5955), band_of(3000)
    ('2.4 GHz', '5 GHz', '6 GHz', None)
    """
    return next((name for least, most, name in _BANDS if least <= frequency_mhz <= most), None)


def channel_of(frequency_mhz: int) -> int | None:
    """The channel with this centre frequency (IEEE 802.11-2016, 17.3.8.4.2 and 19.3.15: start of the band + 5 MHz ×
    channel, 14 apart; 802.11ax-2021, 27.3.23.2 for 6 GHz).

    >>> [channel_of(mhz) for mhz in (2412, 2472, 2484, 5180, 5955, 5935, 58320)]
    [1, 13, 14, 36, 1, 2, 1]
    """
    if frequency_mhz == 2484:
        return 14
    if frequency_mhz == 5935:
        return 2
    for first, last, base, step in (
        (2412, 2472, 2407, 5),
        (4910, 4980, 4000, 5),
        (5005, 5920, 5000, 5),
        (5955, 7115, 5950, 5),
        (58320, 70200, 56160, 2160),
    ):
        if first <= frequency_mhz <= last and (frequency_mhz - base) % step == 0:
            return (frequency_mhz - base) // step
    return None


def frequency_of(channel: int) -> int | None:
    """Centre frequency of a channel whose number tells the band: 1 to 14 are taken for 2.4 GHz, from 36 on for 5 GHz.

    >>> frequency_of(6), frequency_of(14), frequency_of(100), frequency_of(20)
    (2437, 2484, 5500, None)
    """
    if channel == 14:
        return 2484
    if 1 <= channel <= 13:
        return 2407 + 5 * channel
    return 5000 + 5 * channel if 36 <= channel <= 177 else None


def _between(value: _Value | None, least: float, most: float) -> _Value | None:
    """The value, or ``None`` where it is outside of what its field can hold."""
    return value if value is not None and least <= value <= most else None


def _valid(one: Network) -> Network:
    """The network without values that no network has: a damaged line is not a measurement."""
    mhz = one.frequency_mhz if one.frequency_mhz is not None and band_of(one.frequency_mhz) else None
    channel = _between(one.channel, 1, 253)
    return replace(
        one,
        frequency_mhz=mhz,
        channel=channel,
        signal_dbm=_between(one.signal_dbm, -200, 100),
        signal_percent=_between(one.signal_percent, 0, 100),
        secondary=one.secondary if channel is not None and 1 <= channel + one.secondary <= 13 else 0,
        width_mhz=one.width_mhz if one.width_mhz in _WIDTHS else None,
        stations=_between(one.stations, 0, 65535),
        utilisation=_between(one.utilisation, 0, 1),
    )


def parse_networks(text: str, where: str = "wifi") -> list[Network]:
    """The networks in the output of one of the tools, which is recognised; raises ``ScenarioError`` if it is of no
    tool. Values outside of what their field can hold are ``None``."""
    return [_valid(one) for one in _parsed(text, where)]


def _parsed(text: str, where: str) -> list[Network]:
    if re.search(rf"^BSS {_MAC}", text, re.MULTILINE):
        return list(_iw(text))
    if re.search(_NETSH_LIST, text, re.MULTILINE) or _interfaces(text):
        return _netsh(text)
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and {"SSID", "SIGNAL"} <= set(lines[0].split()):
        return list(_nmcli_table(lines, where))
    if lines and all(_is_terse(_split(line)) for line in lines):
        return list(_nmcli_terse(lines))
    if not lines or (len(lines) <= 2 and " : " in lines[0] and re.search(r"\b0\b", lines[-1])):
        return []  # nothing was received; netsh says on which interface, and that there are 0 networks
    if lines[0].strip() == "scan aborted!":
        raise ScenarioError(Fault(where, "iw's scan was aborted", "scan again: another program used the device"))
    raise ScenarioError(Fault(where, "is no Wi-Fi survey that is known here", _HINT))


# iw


def _iw(text: str) -> Iterator[Network]:
    blocks = re.split(rf"^BSS (?={_MAC})", text, flags=re.MULTILINE)[1:]
    for block in blocks:
        head, _, body = block.partition("\n")
        # Fields of the network have one tab; deeper ones belong to elements, as the networks of a multiple BSSID set.
        frequency = _number(_field(body, "freq"))
        signal = _field(body, "signal")
        level, percent = None, None
        if signal is not None and "dBm" in signal:
            level = _level(signal)
        elif signal is not None and (share := re.match(r"([0-9]{1,3})/100", signal)):
            percent = int(share[1])  # of drivers that know no unit: it says nothing of power
        mhz = None if frequency is None else round(frequency)
        channel = None if mhz is None else channel_of(mhz)
        if channel is None:
            match = re.search(r"DS Parameter set: channel ([0-9]{1,3})\b|\* primary channel: ([0-9]{1,3})\b", body)
            channel = int(match[1] or match[2]) if match else None
        offset = re.search(r"\* secondary channel offset: (above|below)", body)
        busy = _count(body, r"\* channel utilisation: ([0-9]{1,3})/255\b")
        yield Network(
            ssid=_unescaped(_field(body, "SSID")),
            bssid=head[:17].lower(),
            channel=channel,
            frequency_mhz=mhz,
            signal_dbm=level,
            signal_percent=percent,
            secondary={"above": 4, "below": -4}[offset[1]] if offset and mhz is not None and mhz < 2500 else 0,
            associated=re.search(r" -- (associated|joined)\b", head) is not None,
            width_mhz=_width(body),
            stations=_count(body, r"\* station count: ([0-9]{1,5})\b"),
            utilisation=None if busy is None else busy / 255,
        )


def _level(signal: str) -> float | None:
    """A power that iw prints as ``%d.%.2d dBm``, of whole and hundredths of a negative number: both have a sign."""
    match = re.search(r"([-−]?)([0-9]{1,6})(?:[.,][-−]?([0-9]{1,6}))?", signal)
    if match is None:
        return None
    value = float(f"{match[2]}.{match[3] or 0}")
    return -value if "-" in signal.replace("−", "-") else value


def _count(text: str, pattern: str) -> int | None:
    match = re.search(pattern, text)
    return None if match is None else int(match[1])


def _element(body: str, name: str) -> str:
    """The lines of an element: those below its name that are indented deeper."""
    match = re.search(rf"^\t{name}:.*\n((?:\t\t.*(?:\n|$))*)", body, re.MULTILINE | re.IGNORECASE)
    return match[1] if match else ""


def _width(body: str) -> int | None:
    """The channel width of the last generation that the cell operates: EHT, HE at 6 GHz, VHT, HT.

    A VHT cell of 160 MHz says 80 MHz and a second centre eight channels from the first (802.11-2016, table 9-252).
    """
    for name in ("EHT operation", "HE operation"):
        if width := _count(_element(body, name), r"Channel Width: ([0-9]{2,3}) MHz"):
            return width
    vht = _element(body, "VHT operation")
    mode = _count(vht, r"\* channel width: ([0-3]) ")
    centres = [_count(vht, rf"\* center freq segment {number}: ([0-9]{{1,3}})\b") for number in (1, 2)]
    if mode == 1:
        first, second = centres
        return 160 if second and first and abs(second - first) == 8 else 80
    if mode in (2, 3):
        return 160 if mode == 2 else 80  # 80+80 MHz are two channels of 80
    ht = _element(body, "HT operation")
    if re.search(r"\* secondary channel offset: (above|below)", ht):
        return 40
    return 20 if ht else None


def _field(body: str, name: str) -> str | None:
    match = re.search(rf"^(?:\t| {{2,8}}){name}:[ \t]?(.*)$", body, re.MULTILINE)
    return None if match is None else match[1]


def _unescaped(text: str | None) -> str | None:
    r"""The SSID that iw prints: bytes beyond printable ASCII, blanks at the ends and ``\`` are ``\xNN``."""
    if text is None:
        return None
    raw = re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text.rstrip("\r"))
    with contextlib.suppress(UnicodeEncodeError):  # where it is not escaped at all: it is text already
        raw = raw.encode("latin-1").decode("utf-8", "replace")
    return raw if raw.strip("\0") else None


def _number(text: str | None) -> float | None:
    """The first number, with a point or, as some languages write it, a comma."""
    match = re.search(r"[-−]?[0-9]{1,6}(?:[.,][0-9]{1,6})?", text or "")
    return None if match is None else float(match[0].replace("−", "-").replace(",", "."))


# nmcli

# Fields of a terse line by how many there are: ours, the default of NetworkManager, that of versions before 1.20.
_TERSE = {
    6: ("IN-USE", "BSSID", "SSID", "CHAN", "FREQ", "SIGNAL"),
    9: ("IN-USE", "BSSID", "SSID", "MODE", "CHAN", "RATE", "SIGNAL", "BARS", "SECURITY"),
    8: ("IN-USE", "SSID", "MODE", "CHAN", "RATE", "SIGNAL", "BARS", "SECURITY"),
}


def _split(line: str) -> list[str]:
    r"""Fields between colons that have no ``\`` before them."""
    fields, escaped = [""], False
    for letter in line:
        if escaped or letter not in "\\:":
            fields[-1] += letter
            escaped = False
        elif letter == ":":
            fields.append("")
        else:
            escaped = True
    return fields


def _is_terse(fields: list[str]) -> bool:
    return len(fields) in _TERSE and fields[0].strip() in ("", "*")


def _nmcli_terse(lines: list[str]) -> Iterator[Network]:
    for line in lines:
        fields = _split(line)
        yield _of_nmcli(dict(zip(_TERSE[len(fields)], fields, strict=True)))


def _nmcli_table(lines: list[str], where: str) -> Iterator[Network]:
    header = lines[0]
    names = [(match.start(), match[0]) for match in re.finditer(r"\S+", header)]
    if "CHAN" not in {name for _, name in names}:
        hint = f"`LC_ALL=C nmcli dev wifi`, or {_HINT}"
        raise ScenarioError(Fault(where, "this table of nmcli has no column CHAN", hint))
    starts = [0, *(start for start, _ in names[1:])]
    for line in lines[1:]:
        if line.split() == header.split():
            continue  # nmcli repeats it for each device
        cells = _cut(line, starts)
        yield _of_nmcli({name: cell.strip() for (_, name), cell in zip(names, cells, strict=True)})


def _cut(line: str, starts: list[int]) -> list[str]:
    """A line cut at columns of the terminal, of which wide letters take two and combining ones none."""
    cells = [""] * len(starts)
    column = at = 0
    for letter in line:
        while at + 1 < len(starts) and column >= starts[at + 1]:
            at += 1
        cells[at] += letter
        column += 0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1
    return cells


def _of_nmcli(fields: dict[str, str]) -> Network:
    channel = _number(fields.get("CHAN"))
    frequency = _number(fields.get("FREQ"))
    percent = _number(fields.get("SIGNAL"))
    ssid = fields.get("SSID")
    number = None if channel is None else round(channel)
    mhz = round(frequency) if frequency is not None else frequency_of(number) if number is not None else None
    return Network(
        ssid=None if ssid in ("", "--", None) else ssid,
        bssid=fields["BSSID"].lower() if re.fullmatch(_MAC, fields.get("BSSID", "")) else None,
        channel=number if number is not None else channel_of(mhz) if mhz is not None else None,
        frequency_mhz=mhz,
        signal_dbm=None if percent is None else dbm_of_nmcli(percent),
        signal_percent=None if percent is None else round(percent),
        associated=fields.get("IN-USE", "").strip() == "*",
    )


def dbm_of_nmcli(percent: float) -> float | None:
    """Power behind a percentage of NetworkManager, which has 100 − 70 · (−20 − x) / 70 for x dBm within −90 and −20
    (``nl80211_xbm_to_percent`` of its nm-wifi-utils-nl80211.c); nothing outside of what that gives.

    >>> dbm_of_nmcli(63), dbm_of_nmcli(0)
    (-57.0, None)
    """
    return percent - 120.0 if 30 <= percent <= 100 else None


# netsh


#: Blanks before the colon of a label: French has a no-break space.
_BLANKS = r"[ \t\u00a0\u202f]"
#: The first line of a network in the list.
_NETSH_LIST = rf"^\s*SSID [0-9]+{_BLANKS}*:"
#: The GUID of an interface, which no network has.
_GUID = re.compile(r":[ \t]*\{?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?[ \t]*$", re.MULTILINE)


def names_joined_network(text: str) -> bool:
    """Whether the output of a tool says which network the machine is joined to, or that it is joined to none: not the
    list of ``netsh`` without its interfaces."""
    return not re.search(_NETSH_LIST, text, re.MULTILINE) or bool(_interfaces(text))


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n[ \t]*\n", re.sub(r"\r+\n?", "\n", text))


def _interfaces(text: str) -> list[str]:
    """The paragraphs of ``netsh wlan show interfaces``: each has the GUID of an interface."""
    return [one for one in _paragraphs(text) if _GUID.search(one)]


def _joined(interface: str) -> Network | None:
    """The network that an interface is joined to; ``None`` where it has no BSSID ("AP BSSID" on newer builds), which
    stands in lines that are there while it is connected only."""
    lines = [
        (label.strip(), value.strip()) for label, _, value in (one.partition(":") for one in interface.split("\n"))
    ]
    bssid = next(
        (value for label, value in lines if label.split()[-1:] == ["BSSID"] and re.fullmatch(_MAC, value)), None
    )
    ssid = next((value for label, value in lines if label == "SSID"), None)
    return None if bssid is None else replace(_of_netsh(ssid or None, f"{bssid}\n{interface}"), associated=True)


def _netsh(text: str) -> list[Network]:
    """The networks of the list, with those that an interface is joined to, whether or not the list has them."""
    joined = {one.bssid: one for one in map(_joined, _interfaces(text)) if one is not None}
    listed = list(_netsh_list("\n\n".join(one for one in _paragraphs(text) if not _GUID.search(one))))
    missing = [one for bssid, one in joined.items() if bssid not in {network.bssid for network in listed}]
    return [replace(one, associated=one.bssid is not None and one.bssid in joined) for one in listed] + missing


def _netsh_list(text: str) -> Iterator[Network]:
    parts = re.split(_NETSH_LIST, text, flags=re.MULTILINE)[1:]
    for part in parts:
        name, _, body = part.partition("\n")
        ssid = name.strip() or None
        points = re.split(rf"^\s*BSSID [0-9]+{_BLANKS}*:[ \t]*(?=(?:{_MAC})?[ \t]*\r?$)", body, flags=re.MULTILINE)[1:]
        for point in points:
            yield _of_netsh(ssid, point)
        if not points:  # without mode=bssid
            yield Network(ssid, None, None, None, None)


def _of_netsh(ssid: str | None, point: str) -> Network:
    bssid, _, body = point.partition("\n")
    # Values in the order of the lines: of two that could be meant the first one is; "Bss Load" of Windows 11 has
    # percentages too, but in parentheses.
    parts = [re.split(rf"{_BLANKS}: ", line, maxsplit=1) for line in body.splitlines()]
    values = [part[1].strip() for part in parts if len(part) > 1]
    percent = _first(values, r"([0-9]{1,3})\s?%")
    band = _first(values, r"([0-9](?:[.,][0-9])?)\s?GHz")
    channel = _first(values, r"([0-9]{1,3})")
    number = int(channel) if channel else None
    mhz = None
    if number is not None:
        mhz = (5935 if number == 2 else 5950 + 5 * number) if band == "6" else frequency_of(number)
    level = int(percent) if percent else None
    return Network(
        ssid=ssid,
        bssid=bssid.strip().lower() or None,
        channel=number,
        frequency_mhz=mhz,
        signal_dbm=None if level is None else dbm_of_windows(level),
        signal_percent=level,
    )


def _first(values: list[str], pattern: str) -> str | None:
    for value in values:
        match = re.fullmatch(pattern, value)
        if match:
            return match[1]
    return None


def dbm_of_windows(percent: int) -> float | None:
    """Power behind Windows' signal quality, which runs evenly from −100 dBm (0) to −50 dBm (100) and says no more
    beyond (``wlanSignalQuality`` of WLAN_ASSOCIATION_ATTRIBUTES).

    >>> dbm_of_windows(86), dbm_of_windows(0)
    (-57.0, -100.0)
    """
    return percent / 2 - 100.0 if 0 <= percent <= 100 else None
