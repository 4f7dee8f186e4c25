"""Test cases of RFC 8869 for congestion controls of real-time media over wireless networks, evaluated by RFC 8868.

The RFC describes networks, and compares with what is expected in words, or with the same number of TCP flows (3.2). The
limits are those of `cwndlab.suites.rfc8867`. Over Wi-Fi a flow could have what as many CUBIC flows get on average.

Differences from the RFC: one cell in place of 21, whose users keep their place and have Clarke's fading, flat over the
band; users are present from the start, in place of arrivals, 4, 8 or 16 with a call and two with short TCP transfers;
frames of 802.11n are not aggregated, with which 52 Mbit/s carry the 20 Mbit/s that the RFC mentions; stations have
equal, fixed modes; rates of other traffic over UDP are this suite's (0.5 Mbit/s on the line of 1 Mbit/s, five of
1 Mbit/s over Wi-Fi).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.media import LEAST_BPS, MOST_BPS, Rates, delay, fair, media, share
from cwndlab.suites.paths import Path
from cwndlab.suites.trial import Trial, duration, rate

#: The line of 3.1, whose queue is 300 ms (RFC 8867, section 4), and that of 3.2.
_LINE = Path("line of 1 Mbit/s, 100 ms", 1e6, 0.1)
_AIR = Path("Wi-Fi of 52 Mbit/s, 100 ms", 100e6, 0.1)
_QUEUE_S = 0.3
_SECONDS = 120.0
#: 802.11n with MCS 11: MCS 3 of 802.11n on two streams, 52 Mbit/s.
_MEDIUM = {"name": "air", "standard": "802.11n", "mcs": 3, "streams": 2, "aggregation": False, "access_point": "ap"}
#: Rate of other traffic over UDP, bit/s, on the line of 3.1 and of each of five flows of 3.2.
_CROSS_BPS, _UDP_BPS = 0.5e6, 1e6

#: The cell of 2.1 and 2.2: 10 MHz, base RTT with the radio; evaluated from 30 to 60 s of 91.
_CELL = (Path("cell, 40 ms", 10e6, 0.04), Path("cell, 150 ms", 10e6, 0.15))
_CELL_SECONDS, _FROM_S, _TO_S = 91.0, 30.0, 60.0
#: SNR of the users, dB: evenly from the edge to the centre of a cell with radius 167 m, and of one with 577 m.
_NEAR_DB, _FAR_DB = (6.0, 22.0), (0.0, 12.0)
#: Coherence times at 2 GHz (0.423 c / (v f)): 3 and 30 km/h.
_WALK, _DRIVE = "76 ms", "7.6 ms"

CASES, case = cases((_LINE,))

Flow = dict[str, Any]


def _between(flow: Flow, ends: tuple[str, str]) -> Flow:
    """The flow between these nodes; the delay of a graph is that of its links."""
    return {name: value for name, value in flow.items() if name != "rtt"} | {"from": ends[0], "to": ends[1]}


def _down(flow: Flow, station: int) -> Flow:
    return _between(flow, ("server", f"sta{station}"))


def _up(flow: Flow, station: int) -> Flow:
    return _between(flow, (f"sta{station}", "server"))


def _tcp(name: str, start_s: float = 0.0, stop_s: float = _SECONDS) -> Flow:
    return {"name": name, "algorithm": "cubic", "start": duration(start_s), "stop": duration(stop_s)}


def _udp(name: str, bps: float, start_s: float, stop_s: float) -> Flow:
    workload = {"kind": "cbr", **rate(bps)}
    span = {"start": duration(start_s), "stop": duration(stop_s)}
    return {"name": name, "transport": "udp", "workload": workload, **span}


def _wifi(t: Trial, flows: Sequence[Flow], stations: int) -> Rates:
    """A run: a line between the server and an access point, and stations on its medium."""
    queue = {"kind": "droptail", "capacity": f"{max(t.path.rate_bps, 20e6 * (t.path is _AIR)) * _QUEUE_S / 8:.0f} B"}
    wire = {**rate(t.path.rate_bps), "delay": duration(t.path.rtt_s / 2), "queue": queue}
    links: list[dict[str, Any]] = [{"from": "server", "to": "ap", "duplex": True, **wire}]
    air = {"medium": "air", "duplex": True, "queue": {"kind": "droptail", "capacity": "500 packets"}}
    links += [{"from": "ap", "to": f"sta{number}", **air} for number in range(stations)]
    return _run(t, _SECONDS, {"medium": [_MEDIUM], "link": links}, flows)


def _cell(t: Trial, flows: Sequence[Flow], snr_db: Sequence[float], fading: str) -> Rates:
    """A run: users of a cell of 10 MHz with a delay of 10 ms; the fixed side has the rest of the RTT."""
    radio_s = 0.01
    links: list[dict[str, Any]] = [
        {"from": "server", "to": "enb", "duplex": True, "rate": "1 Gbps", "delay": duration(t.path.rtt_s / 2 - radio_s)}
    ]
    for number, snr in enumerate(snr_db):
        radio = {"cell": "cell", "snr": round(snr, 2), "fading": fading, "delay": duration(radio_s)}
        ends = [("enb", f"sta{number}"), (f"sta{number}", "enb")]
        links += [{"from": source, "to": target, **radio} for source, target in ends]
    network = {"cell": [{"name": "cell", "base_station": "enb", "resource_blocks": 50}], "link": links}
    return _run(t, _CELL_SECONDS, network, flows)


def _run(t: Trial, seconds: float, network: Mapping[str, Any], flows: Sequence[Flow]) -> Rates:
    document = {
        "schema_version": 1,
        "duration": duration(seconds),
        "sample_interval": "200 ms",
        **network,
        "flow": [dict(one) for one in flows],
    }
    return Rates(t.run(document).records)


# --- 2 Cellular


def _load(t: Trial, source: str, snr_db: tuple[float, float], users: int, limit_bps: float, fading: str) -> None:
    """A cell with calls, and two more users with short transfers, one at the edge and one in the centre."""
    calls = [_down(media(t, f"{number}"), number) for number in range(users)]
    size = {"kind": "exponential", "mean": "50 kB"}
    workload = {"kind": "arrivals", "per_second": limit_bps / 2 / (8 * 50e3), "size": size}
    tcp = {"workload": workload, "stop": duration(_CELL_SECONDS)}
    short = [_down({**_tcp(f"tcp{station}"), **tcp}, station) for station in (users, users + 1)]
    low, high = snr_db
    levels = [low + (high - low) * number / (users - 1) for number in range(users)]
    run = _cell(t, [*calls, *short], [*levels, low, high], fading)
    rates = [run.bps(str(number), _FROM_S, _TO_S) for number in range(users)]
    t.expect(source, "bit/s of the slowest flow from 30 to 60 s", min(rates), 0.9 * LEAST_BPS, at=_TO_S)
    late = sorted(run.late_s(str(number), _FROM_S, _TO_S) for number in range(users))
    text = f"the longest of {users} delays of 95 % of the frames from 30 to 60 s, s"
    t.expect(f"{source}: frame delay", text, late[-1], high=0.4, at=_TO_S)


_VARYING = "RFC 8869, section 2.1: varying network load"


@case("cell-low-load", "Cellular: few users", "RFC 8869, section 2.1", paths=_CELL)
def _low(t: Trial) -> None:
    _load(t, _VARYING, _NEAR_DB, 4, 1e6, _WALK)


@case("cell-high-load", "Cellular: many users", "RFC 8869, section 2.1", paths=_CELL)
def _high(t: Trial) -> None:
    _load(t, _VARYING, _NEAR_DB, 16, 4e6, _WALK)


@case("cell-high-speed", "Cellular: users at 30 km/h", "RFC 8869, section 2.1", paths=_CELL[:1])
def _speed(t: Trial) -> None:
    _load(t, _VARYING, _NEAR_DB, 8, 4e6, _DRIVE)


@case("cell-bad-coverage", "Cellular: bad radio coverage", "RFC 8869, section 2.2", paths=_CELL)
def _coverage(t: Trial) -> None:
    _load(t, "RFC 8869, section 2.2: bad radio coverage", _FAR_DB, 8, 2e6, _WALK)


# --- 3.1 Wi-Fi behind a narrow line

_WIRED = "RFC 8869, section 3.1"


@case("wifi-line-single", "Wi-Fi, wired bottleneck: one flow", _WIRED)
def _single(t: Trial) -> None:
    run = _wifi(t, [_down(media(t, "1"), 0)], 1)
    share(t, run, "1", 0, _SECONDS, t.path.rate_bps, _WIRED)
    delay(t, run, "1", 0, _SECONDS, _WIRED)


@case("wifi-line-bidirectional", "Wi-Fi, wired bottleneck: a flow in each direction", _WIRED)
def _both(t: Trial) -> None:
    run = _wifi(t, [_down(media(t, "1"), 0), _up(media(t, "2"), 0)], 1)
    for name in "12":
        share(t, run, name, 0, _SECONDS, t.path.rate_bps, _WIRED)
        delay(t, run, name, 0, _SECONDS, _WIRED)


def _cross(t: Trial, start_s: float, stop_s: float) -> None:
    run = _wifi(t, [_down(media(t, "1"), 0), _down(_udp("udp", _CROSS_BPS, start_s, stop_s), 0)], 1)
    for begin, end in ((0.0, 60.0), (60.0, _SECONDS)):
        free = t.path.rate_bps - (_CROSS_BPS if (begin, end) == (start_s, 60.0) or start_s == begin else 0.0)
        share(t, run, "1", begin, end, free, _WIRED)
        delay(t, run, "1", begin, end, _WIRED)


@case("wifi-line-udp-first", "Wi-Fi, wired bottleneck: UDP from 0 to 60 s", _WIRED)
def _udp_first(t: Trial) -> None:
    _cross(t, 0.0, 60.0)


@case("wifi-line-udp-later", "Wi-Fi, wired bottleneck: UDP from 60 to 119 s", _WIRED)
def _udp_later(t: Trial) -> None:
    _cross(t, 60.0, 119.0)


@case("wifi-line-tcp", "Wi-Fi, wired bottleneck: beside a TCP flow", _WIRED)
def _line_tcp(t: Trial) -> None:
    run = _wifi(t, [_down(media(t, "1"), 0), _down(_tcp("tcp"), 0)], 1)
    t.expect(_WIRED, "bit/s of the media flow from 60 to 120 s", run.bps("1", 60, _SECONDS), 0.9 * LEAST_BPS)
    t.expect(_WIRED, "bit/s of TCP from 60 to 120 s", run.bps("tcp", 60, _SECONDS), 0.1 * t.path.rate_bps)


# --- 3.2 Wi-Fi as the bottleneck

_WIRELESS = "RFC 8869, section 3.2"


def _fair_bps(t: Trial, down: int, up: int, start_s: float, end_s: float) -> float:
    """What each flow could have: the mean rate of as many CUBIC flows, at most that of the encoder."""
    flows = [_down(_tcp(str(number)), number) for number in range(down)]
    flows += [_up(_tcp(str(number)), number) for number in range(down, down + up)]
    run = _wifi(t, flows, down + up)
    rates = [run.bps(str(number), start_s, end_s) for number in range(down + up)]
    return min(sum(rates) / len(rates), MOST_BPS)


def _many(
    t: Trial,
    down: int,
    up: int,
    *,
    beside: Sequence[Flow] = (),
    periods: Sequence[tuple[float, float]] = ((0.0, _SECONDS),),
    late: bool = True,
    **more: Any,
) -> Rates:
    """Flows of media in both directions; states rates, ratios and delays in the last half of each period."""
    count = down + up
    names = [str(number) for number in range(count)]
    calls = [_down(media(t, name, **more), number) for number, name in enumerate(names[:down])]
    calls += [_up(media(t, name, **more), down + number) for number, name in enumerate(names[down:])]
    run = _wifi(t, [*calls, *beside], count)
    fair_bps = _fair_bps(t, down, up, _SECONDS / 2, _SECONDS)
    for begin, end in periods:
        half = (begin + end) / 2
        rates = [run.bps(name, half, end) for name in names]
        text = f"mean rate of {count} media flows from {half:g} to {end:g} s over that of CUBIC or 1.5 Mbit/s"
        t.expect(_WIRELESS, text, sum(rates) / count / fair_bps, 0.5, at=end)
        for part in filter(None, (names[:down], names[down:])):
            fair(t, run, part, begin, end, _WIRELESS)
        if late:
            worst = max(run.late_s(name, half, end) for name in names)
            text = f"the longest of {count} delays of 95 % of the frames from {half:g} to {end:g} s, s"
            t.expect(_WIRELESS, text, worst, high=0.4, at=end)
    return run


@case("wifi-down", "Wi-Fi bottleneck: 16 downstream flows", _WIRELESS, paths=(_AIR,))
def _sixteen_down(t: Trial) -> None:
    _many(t, 16, 0)


@case("wifi-up", "Wi-Fi bottleneck: 16 upstream flows", _WIRELESS, paths=(_AIR,))
def _sixteen_up(t: Trial) -> None:
    _many(t, 0, 16)


@case("wifi-both", "Wi-Fi bottleneck: 8 flows in each direction", _WIRELESS, paths=(_AIR,))
def _eight_each(t: Trial) -> None:
    _many(t, 8, 8)


def _with_udp(t: Trial, start_s: float, stop_s: float) -> None:
    udp = [_up(_udp(f"udp{number}", _UDP_BPS, start_s, stop_s), number) for number in range(5)]
    _many(t, 8, 8, beside=udp, periods=((0.0, 60.0), (61.0, _SECONDS)))


@case("wifi-udp-first", "Wi-Fi bottleneck: 8 and 8 flows, five of UDP upstream until 60 s", _WIRELESS, paths=(_AIR,))
def _on_off(t: Trial) -> None:
    _with_udp(t, 0.0, 60.0)


@case("wifi-udp-later", "Wi-Fi bottleneck: 8 and 8 flows, five of UDP upstream from 61 s", _WIRELESS, paths=(_AIR,))
def _off_on(t: Trial) -> None:
    _with_udp(t, 61.0, _SECONDS)


@case("wifi-tcp", "Wi-Fi bottleneck: 8 and 8 flows, five TCP flows from 40 to 80 s", _WIRELESS, paths=(_AIR,))
def _with_tcp(t: Trial) -> None:
    tcp = [_down(_tcp(f"tcp{number}", 40, 80), number) for number in range(5)]
    run = _many(t, 8, 8, beside=tcp, periods=((0.0, 40.0), (80.0, _SECONDS)))
    rates = [run.bps(str(number), 60, 80) for number in range(16)]
    t.expect(
        _WIRELESS, "bit/s of the slowest media flow beside TCP from 60 to 80 s", min(rates), 0.9 * LEAST_BPS, at=80
    )


@case("wifi-numbers", "Wi-Fi bottleneck: 4, 12 and 20 downstream flows", _WIRELESS, paths=(_AIR,))
def _numbers(t: Trial) -> None:
    for count in (4, 12, 20):
        _many(t, count, 0, periods=((10.0, 110.0),))
