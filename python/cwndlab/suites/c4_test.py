"""Test cases of C4: downloads that have to end within a bound, alone and beside a flow of C4, CUBIC or BBR; and calls
whose frames have to arrive within bounds.

Source: C. Huitema, S. Nandakumar, C. Jennings, "Testing of Christian's Congestion Control Code (C4)",
draft-huitema-ccwg-c4-test, in the repository private-octopus/c4 at commit e3377b6 (November 2025). A bound applies to
the slowest of 100 runs, which differ by chance; here the seeds do, with the field ``perturb``. Where the text gives no
buffer, rate or size, they are those of the specifications of its simulations (``sim_specs``).

Differences from the source: TCP in place of QUIC. The sender begins half a round-trip time after the start, as a server
does that is asked for the data. Rivals are this catalogue's `c4`, `cubic` and `bbr3`. The remembered window and RTT of
the satellite are those of an algorithm with `careful-resume`; others, such as `c4`, whose specification does not
mention them, begin without.

In the calls the workload ``call`` has audio and two videos, by priority, and the receiver stops the second video when
it is late. TCP retransmits audio, which the source sends as datagrams, and delivers all streams in the order in which
they were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.trial import Trial, duration, rate, steps

#: Runs of a case.
RUNS = 100
#: A run ends at this multiple of the bound.
_PATIENCE = 3.0

_SHORT = Path("20 Mbit/s, 80 ms", 20e6, 0.08)
_FAST = Path("200 Mbit/s, 40 ms", 200e6, 0.04)
_STEP = Path("10 Mbit/s, 100 ms", 10e6, 0.1)
_HOLE = Path("25 Mbit/s, 70 ms", 25e6, 0.07)
_ROUTE = Path("10 Mbit/s, 30 ms", 10e6, 0.03)
_WIFI = Path("10 Mbit/s, 2 ms", 10e6, 0.002)
_PAUSES = Path("20 Mbit/s, 10 ms", 20e6, 0.01)
_WIDE = Path("50 Mbit/s, 30 ms", 50e6, 0.03)
_LATE = Path("10 Mbit/s, 70 ms", 10e6, 0.07)
#: Longest delay of the queue where the source states none, s.
_QUEUE_S = 0.08
_SATELLITE = Path("250 Mbit/s, 600 ms", 250e6, 0.6)
_MEDIA = Path("100 Mbit/s, 30 ms", 100e6, 0.03)
_MEDIA_SLOW = Path("10 Mbit/s, 40 ms", 10e6, 0.04)
_MEDIA_FADE = Path("20 Mbit/s, 40 ms", 20e6, 0.04)
_MEDIA_WIFI = Path("20 Mbit/s, 2 ms", 20e6, 0.002)
_JITTER: Mapping[str, Any] = {"wifi_jitter": "7 ms"}
#: The window of the satellite that is remembered, bytes, and its RTT, s.
_REMEMBERED = (18_750_000, 0.600123)

CASES, case = cases((_SHORT,))


def _completion_s(t: Trial, document: Mapping[str, Any], seed: int) -> float:
    """When the download of the first flow ended, s; infinite if it did not."""
    rows = t.run(document, seed).records.rows("transfers")
    return min((row["end_ns"] / 1e9 for row in rows if row["flow"] == 0), default=inf)


def _download(
    t: Trial,
    source: str,
    megabytes: float,
    bound_s: float,
    *,
    start_s: float = 0.0,
    queue_s: float = _QUEUE_S,
    rival: tuple[str, float, float] | None = None,
    algorithm: str | None = None,
    **link: Any,
) -> None:
    """States that a download ends within the bound in each run; ``rival`` has algorithm, megabytes and start, and
    ``algorithm`` is that of the download in place of the subject's."""
    path = t.path
    one_way = {
        **rate(path.rate_bps),
        "queue": {"kind": "droptail", "capacity": f"{path.rate_bps * queue_s / 8:.0f} B"},
        **link,
    }
    document = t.scenario(_PATIENCE * bound_s, link=one_way, reverse=one_way)
    flow = document["flow"][0]

    def download(algorithm: str, megabytes: float, start_s: float) -> dict[str, Any]:
        workload = {"kind": "bulk", "bytes": f"{megabytes:g} MB"}
        start = duration(start_s + path.rtt_s / 2)
        return {**flow, "algorithm": algorithm, "workload": workload, "start": start}

    own = download(algorithm or t.subject.algorithm, megabytes, start_s)
    document["flow"] = [own, *([download(*rival)] if rival else [])]
    document.update(perturb=True, start_jitter="0 s")
    slowest = max(_completion_s(t, document, seed) for seed in range(1, RUNS + 1))
    t.expect(source, f"end of the slowest of {RUNS} downloads of {megabytes:g} MB, s", slowest, high=bound_s)


_EVENTS = "Reaction to network events"


@case("alone-20", "A simple 20 Mbit/s connection", _EVENTS)
def _alone(t: Trial) -> None:
    _download(t, "the buffer is a BDP, all runs end within 5 s", 10, 5, queue_s=0.08)


@case("alone-200", "A simple 200 Mbit/s connection", _EVENTS, paths=(_FAST,))
def _alone_fast(t: Trial) -> None:
    _download(t, "the buffer is a BDP, all runs end within 1.25 s", 20, 1.25, queue_s=0.04)


def _resumed(algorithm: str, window: float, rtt_s: float) -> str:
    """The text of the algorithm, with these saved parameters if its slow start is `careful-resume` without any."""
    if "saved_cwnd" in algorithm:
        return algorithm
    saved = f"saved_cwnd={window / MSS_BYTES:.0f}, saved_rtt={rtt_s}"
    if "careful-resume(" in algorithm:
        return algorithm.replace("careful-resume(", f"careful-resume({saved}, ")
    return algorithm.replace("careful-resume", f"careful-resume({saved})")


@case("satellite", "A geostationary satellite connection", _EVENTS, paths=(_SATELLITE,))
def _satellite(t: Trial) -> None:
    what = "the buffer is a BDP, a window of 18.75 MB is remembered, all runs end within 7.4 s"
    _download(t, what, 100, 7.4, queue_s=0.6, algorithm=_resumed(t.subject.algorithm, *_REMEMBERED))


@case("low-and-up", "Low and up", _EVENTS, paths=(_STEP,))
def _low(t: Trial) -> None:
    link = {**rate(5e6), **steps((2.5, rate(10e6)))}
    _download(t, "5 Mbit/s, and 10 Mbit/s after 2.5 s", 7, 7.9, **link)


@case("drop-and-back", "Drop and back", _EVENTS, paths=(_STEP,))
def _drop(t: Trial) -> None:
    link = steps((1.5, rate(5e6)), (3.5, rate(10e6)))
    _download(t, "10 Mbit/s, 5 Mbit/s after 1.5 s for 2 s", 7, 8.15, **link)


@case("black-hole", "Black hole", _EVENTS, paths=(_HOLE,))
def _hole(t: Trial) -> None:
    link = steps((2.0, rate(0)), (4.0, rate(_HOLE.rate_bps)))
    _download(t, "no capacity from 2 to 4 s", 10, 6.1, **link)


@case("short-to-long", "Short to long", _EVENTS, paths=(_ROUTE,))
def _long_route(t: Trial) -> None:
    link = steps((1.0, {"delay": duration(0.05)}))
    _download(t, "an RTT of 30 ms, and of 100 ms after 1 s", 20, 22, queue_s=0.1, **link)


_BAD = "Handling of high jitter environments"


@case("bad-wifi", "Bad Wi-Fi", _BAD, paths=(_WIFI,))
def _bad_wifi(t: Trial) -> None:
    _download(t, "a jitter of 7 ms; 4 MB of the specification, as 10 MB take 8 s", 4, 4.3, queue_s=0.25, **_JITTER)


@case("wifi-fade", "Wi-Fi fade", _BAD, paths=(_SHORT,))
def _fade(t: Trial) -> None:
    what = "20 Mbit/s and a jitter of 1 ms; from 1 to 3 s 2 Mbit/s and 12 ms"
    fair, faded = {**rate(20e6), "wifi_jitter": "1 ms"}, {**rate(2e6), "wifi_jitter": "12 ms"}
    link: dict[str, Any] = {**fair, **steps((1.0, faded), (3.0, fair))}
    _download(t, what, 10, 6.2, **link)


@case("suspension", "Wi-Fi suspension", _BAD, paths=(_PAUSES,))
def _suspension(t: Trial) -> None:
    link = {"repeat": "2 s", **steps((1.8, rate(0)))}
    _download(t, "no capacity in the last 200 ms of each 2 s", 10, 5.4, queue_s=0.02, **link)


def _with(rival: str, algorithm: str, bounds: tuple[float, float, float, float]) -> None:
    """The cases that exist for each rival: bounds of a short and a long download, of one with a late rival, and of one
    over bad Wi-Fi."""
    source = f"Competition with {'itself' if rival == 'C4' else rival}"
    name, (short, long, late, wifi) = f"with-{rival.lower()}", bounds

    def add(suffix: str, title: str, check: Callable[[Trial], None], path: Path = _SHORT) -> None:
        case(f"{name}-{suffix}", f"{title}, with {rival}", source, paths=(path,))(check)

    def both(t: Trial, megabytes: float, others: float, bound_s: float) -> None:
        _download(t, f"at the same time, {others:g} MB of {rival}", megabytes, bound_s, rival=(algorithm, others, 0))

    def last(t: Trial) -> None:
        _download(t, f"15 MB of {rival} from 1 s on", 10, late, rival=(algorithm, 15, 1))

    def crowded(t: Trial) -> None:
        more = {"start_s": 1.0, "queue_s": 0.25, **_JITTER}
        what = f"from 1 s on, after 10 MB of {rival}, a jitter of 7 ms"
        _download(t, what, 4, wifi, rival=(algorithm, 10, 0), **more)

    add("short", "Two short connections", lambda t: both(t, 5, 10, short))
    add("long", "Two long connections", lambda t: both(t, 20, 30, long))
    add("late", "Long background connection last", last, _LATE)
    add("wifi", "Bad Wi-Fi", crowded, _WIFI)


_with("C4", "c4", (6.7, 22.8, 22.2, 13))


@case("with-c4-first", "Short background connection first, with C4", "Competition with itself")
def _first(t: Trial) -> None:
    _download(t, "from 0.5 s on, after 10 MB of C4", 5, 8.15, start_s=0.5, rival=("c4", 10, 0))


@case("with-c4-last", "Short background connection last, with C4", "Competition with itself", paths=(_WIDE,))
def _last(t: Trial) -> None:
    _download(t, "20 MB of C4 from 0.5 s on", 10, 4.1, rival=("c4", 20, 0.5))


_with("Cubic", "cubic", (6.7, 22.2, 22, 11))
_with("BBR", "bbr3", (6.7, 23, 23, 13.5))


#: The streams of a call, by their names: audio, a video, and one that is stopped when it is 250 ms late.
_STREAMS: Mapping[str, Mapping[str, Any]] = {
    "audio": {"frame_rate": 50, "frame": "80 B", "priority": 2},
    "low video": {"frame_rate": 30, "frame": "3750 B", "first_frame": "37500 B", "group": 30, "priority": 4},
    "mid video": {
        "frame_rate": 30,
        "frame": "6250 B",
        "first_frame": "62500 B",
        "group": 30,
        "priority": 6,
        "stop_after": "250 ms",
    },
}
#: The sizes of the frames of the streams that are judged, bytes.
_JUDGED = {"audio": (80,), "low video": (3750, 37500)}
#: Time for the last frames of a call to arrive, s.
_REST_S = 5.0


def _frame_delays_s(t: Trial, document: Mapping[str, Any], seed: int, start_s: float) -> list[list[float]]:
    """The delays of the frames that were generated from ``start_s`` on, s, of each judged stream; infinite for those
    that did not arrive."""
    rows = [row for row in t.run(document, seed).records.rows("messages") if row["generated_ns"] >= start_s * 1e9]

    def delay_s(row: Mapping[str, Any]) -> float:
        return inf if row["delivered_ns"] is None else (row["delivered_ns"] - row["generated_ns"]) / 1e9

    return [[delay_s(row) for row in rows if row["size_bytes"] in sizes] for sizes in _JUDGED.values()]


def _call(
    t: Trial,
    source: str,
    bounds_s: tuple[float, float],
    *,
    start_s: float = 0.2,
    length_s: float = 5.0,
    **link: Any,
) -> None:
    """States the average and the longest delay of the frames of each judged stream, in the worst run."""
    path = t.path
    one_way = {
        **rate(path.rate_bps),
        "queue": {"kind": "droptail", "capacity": f"{path.rate_bps * 0.1 / 8:.0f} B"},
        **link,
    }
    document = t.scenario(length_s + _REST_S, link=one_way, reverse=one_way)
    workload = {"kind": "call", "streams": [dict(one) for one in _STREAMS.values()], "length": duration(length_s)}
    document["flow"] = [{**document["flow"][0], "workload": workload, "service": {"class": "call"}}]
    document.update(perturb=True, start_jitter="0 s")
    runs = [_frame_delays_s(t, document, seed, start_s) for seed in range(1, RUNS + 1)]
    for stream, delays in zip(_JUDGED, zip(*runs, strict=True), strict=True):
        averages = [sum(one) / len(one) for one in delays]
        text = f"delay of {stream} in the worst of {RUNS} calls, s"
        t.expect(source, f"average {text}", max(averages), high=bounds_s[0])
        t.expect(source, f"longest {text}", max(map(max, delays)), high=bounds_s[1])


_CALLS = "Handling of Multimedia Applications"


@case("call-fast", "Media on a high-speed connection", _CALLS, paths=(_MEDIA,))
def _call_fast(t: Trial) -> None:
    _call(t, "5 s, the average is at most 31 ms, the maximum 79 ms", (0.031, 0.079))


@case("call-slow", "Media on a 10 Mbit/s connection", _CALLS, paths=(_MEDIA_SLOW,))
def _call_slow(t: Trial) -> None:
    _call(t, "5 s, the average is at most 47 ms, the maximum 160 ms", (0.047, 0.16))


@case("call-long", "Media for 20 seconds", _CALLS, paths=(_MEDIA,))
def _call_long(t: Trial) -> None:
    _call(t, "20 s, the average is at most 33 ms, the maximum 80 ms", (0.033, 0.08), length_s=20)


@case("call-route", "Media over varying RTT", _CALLS, paths=(_MEDIA,))
def _call_route(t: Trial) -> None:
    what = "an RTT of 30 ms, and of 100 ms after 1 s; from 5 s on 110 and 120 ms"
    _call(t, what, (0.11, 0.12), start_s=5, length_s=10, **steps((1.0, {"delay": duration(0.05)})))


@case("call-fade", "Media over varying Wi-Fi", _CALLS, paths=(_MEDIA_FADE,))
def _call_fade(t: Trial) -> None:
    fair, faded = {**rate(20e6), "wifi_jitter": "1 ms"}, {**rate(2e6), "wifi_jitter": "12 ms"}
    what = "20 Mbit/s and a jitter of 1 ms, from 1 to 3 s 2 Mbit/s and 12 ms: 110 and 350 ms"
    link: dict[str, Any] = {**fair, **steps((1.0, faded), (3.0, fair))}
    _call(t, what, (0.11, 0.35), **link)


@case("call-suspension", "Media with Wi-Fi suspensions", _CALLS, paths=(_PAUSES,))
def _call_suspension(t: Trial) -> None:
    what = "no capacity in the last 200 ms of each 2 s: 23.6 and 202 ms"
    _call(t, what, (0.0236, 0.202), repeat="2 s", **steps((1.8, rate(0))))


@case("call-bad-wifi", "Media over bad Wi-Fi", _CALLS, paths=(_MEDIA_WIFI,))
def _call_bad_wifi(t: Trial) -> None:
    _call(t, "a jitter of 7 ms: 105 and 410 ms", (0.105, 0.41), **_JITTER)
