"""Test cases of RFC 8867 for congestion controls of real-time media, evaluated by RFC 8868.

RFC 8867 describes paths and schedules, and what to expect in words, without limits. The limits here are this suite's
own and the same for every control: a share of what each flow could have, the ratio of two flows (RFC 8868: 0.333 to 3)
and the delay of frames (ITU-T G.114: 400 ms). Rates are means over the last half of each period.

Differences from the RFC: there is no audio flow, the jitter is a uniform draw in order, TCP uses CUBIC, short TCP flows
begin as a Poisson process of one per second (as ten sources with an idle time of 10 s do), and a source that resumes
begins with a new state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cwndlab.records import Records
from cwndlab.suites.case import cases
from cwndlab.suites.paths import Path
from cwndlab.suites.trial import Trial, duration, rate, steps

#: The queue of the reference path, s, and its jitter (section 4).
_QUEUE_S = 0.3
_JITTER_S = 0.03
#: Rates of the media (section 4.3).
_LEAST_BPS, _MOST_BPS = 150e3, 1.5e6
#: Least share of what a flow could have, and the most of the rate of a line that it may send.
_SHARE = 0.5
#: Longest delay of 95 % of the frames without competing TCP, s.
_DELAY_S = 0.4
#: Ratio of the rates of two flows (RFC 8868).
_RATIO = (1 / 3, 3.0)

_NEAR = Path("1 Mbit/s, 100 ms", 1e6, 0.1)
_FAR = Path("1 Mbit/s, 200 ms", 1e6, 0.2)
_TWO = Path("2 Mbit/s, 100 ms", 2e6, 0.1)
_DEEP = Path("2 Mbit/s, 100 ms, queue of 1 s", 2e6, 0.1)
_THREE = Path("3.5 Mbit/s, 100 ms", 3.5e6, 0.1)
_MIXED = Path("4 Mbit/s, 20 to 300 ms", 4e6, 0.02)

CASES, case = cases((_NEAR,))


@dataclass(frozen=True)
class _Rates:
    """Rates and delays of the flows of a run, by their names."""

    records: Records

    def bps(self, name: str, start_s: float, end_s: float) -> float:
        """The mean rate at which the payload of a flow arrived."""
        flow = self._flow(name)
        rows = self.records.samples.filter((pl.col("flow") == flow) & (pl.col("time_ns") <= round(end_s * 1e9)))
        inside = rows.filter(pl.col("time_ns") >= round(start_s * 1e9))["delivered_bytes"]
        gained = int(inside[-1]) - int(inside[0]) if len(inside) else 0
        return 8 * gained / (end_s - start_s)

    def late_s(self, name: str, start_s: float, end_s: float) -> float:
        """The 95th percentile of the time from the encoding of a frame to its arrival."""
        start = pl.col("start_ns")
        inside = (pl.col("flow") == self._flow(name)) & (start >= round(start_s * 1e9)) & (start < round(end_s * 1e9))
        delays = self.records.transfers.filter(inside).select(pl.col("end_ns") - start).to_series()
        late = delays.quantile(0.95, "nearest")
        return float("inf") if late is None else float(late) / 1e9

    def _flow(self, name: str) -> int:
        return int(self.records.flows.filter(pl.col("name") == name)["flow"][0])


def _media(t: Trial, name: str, start_s: float = 0.0, stop_s: float | None = None, **more: Any) -> dict[str, Any]:
    """A media flow of the control under test."""
    workload = {"kind": "adaptive-video", "control": t.subject.algorithm}
    if stop_s is not None:
        more["stop"] = duration(stop_s)
    rtt = duration(t.path.rtt_s)
    return {"name": name, "transport": "udp", "rtt": rtt, "start": duration(start_s), "workload": workload, **more}


def _tcp(t: Trial, name: str, stop_s: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "algorithm": "cubic", "rtt": duration(t.path.rtt_s), "stop": duration(stop_s), **more}


def _run(
    t: Trial,
    duration_s: float,
    flows: Sequence[Mapping[str, Any]],
    *,
    forward: Sequence[tuple[float, float]] = (),
    backward: Sequence[tuple[float, float]] = (),
    queue_s: float = _QUEUE_S,
    each_way_s: float | None = None,
) -> _Rates:
    """A run with steps of the rate in each direction: time and rate, bit/s."""
    each_way = t.path.rtt_s / 2 if each_way_s is None else each_way_s
    queue = {"kind": "droptail", "capacity": f"{t.path.rate_bps * queue_s / 8:.0f} B"}

    def link(changes: Sequence[tuple[float, float]]) -> dict[str, Any]:
        first = changes[0][1] if changes else t.path.rate_bps
        made = {**rate(first), "delay": duration(each_way), "queue": queue}
        made["jitter"] = {"spread": duration(_JITTER_S)}
        return {**made, **steps(*((at, rate(bps)) for at, bps in changes[1:]))}

    document = {
        "schema_version": 1,
        "duration": duration(duration_s),
        "sample_interval": "200 ms",
        "dumbbell": {"bottleneck": link(forward), "reverse": link(backward)},
        "flow": [dict(one) for one in flows],
    }
    return _Rates(t.run(document).records)


def _share(t: Trial, run: _Rates, names: str, start_s: float, end_s: float, bps: float, source: str) -> None:
    """States that each of these flows has its part of ``bps`` in the last half of a period."""
    half = (start_s + end_s) / 2
    fair = min(bps / len(names), _MOST_BPS)
    for name in names:
        text = f"rate of flow {name} from {half:g} to {end_s:g} s over {fair / 1e6:.3g} Mbit/s"
        t.expect(source, text, run.bps(name, half, end_s) / fair, _SHARE, at=end_s)


def _delay(t: Trial, run: _Rates, names: str, start_s: float, end_s: float, source: str) -> None:
    """States that the frames of these flows arrive in time in the last half of a period."""
    half = (start_s + end_s) / 2
    for name in names:
        late = run.late_s(name, half, end_s)
        t.expect(source, f"95 % of the delays of frames of {name} from {half:g} to {end_s:g} s, s", late, high=_DELAY_S)


def _fair(t: Trial, run: _Rates, names: str, start_s: float, end_s: float, source: str) -> None:
    """States the largest ratio of two flows in the last half of a period."""
    rates = [run.bps(name, (start_s + end_s) / 2, end_s) for name in names]
    ratio = max(rates) / max(min(rates), 1.0)
    text = f"largest ratio of two flows until {end_s:g} s"
    t.expect(f"{source}; RFC 8868: ratio of rates", text, ratio, *_RATIO, at=end_s)


def _periods(changes: Sequence[tuple[float, float]], end_s: float) -> list[tuple[float, float, float]]:
    """Start, end and rate of each period."""
    ends = [*(at for at, _ in changes[1:]), end_s]
    return [(at, end, bps) for (at, bps), end in zip(changes, ends, strict=True)]


@case("variable-capacity", "Variable capacity with a single flow", "section 5.1", paths=(_NEAR, _FAR))
def _variable(t: Trial) -> None:
    source = "section 5.1: the rate follows the capacity"
    changes = [(0, 1e6), (40, 2.5e6), (60, 0.6e6), (80, 1e6)]
    run = _run(t, 100, [_media(t, "1")], forward=changes)
    for start, end, bps in _periods(changes, 100):
        _share(t, run, "1", start, end, bps, source)
        _delay(t, run, "1", start, end, source)


@case("variable-multiple", "Variable capacity with multiple flows", "section 5.2", paths=(_TWO,))
def _multiple(t: Trial) -> None:
    source = "section 5.2: the rates follow the capacity, and are fair"
    changes = [(0, 4e6), (25, 2e6), (50, 3.5e6), (75, 1e6), (100, 2e6)]
    run = _run(t, 125, [_media(t, "1"), _media(t, "2")], forward=changes)
    for start, end, bps in _periods(changes, 125):
        _share(t, run, "12", start, end, bps, source)
    _fair(t, run, "12", 25, 50, source)
    _fair(t, run, "12", 75, 100, source)


@case("congested-feedback", "Congested feedback link with bidirectional flows", "section 5.3")
def _feedback(t: Trial) -> None:
    source = "section 5.3: each direction follows its own capacity"
    forward, backward = [(0, 2e6), (20, 1e6), (40, 0.5e6), (60, 2e6)], [(0, 2e6), (35, 0.8e6), (70, 2e6)]
    flows = [_media(t, "1"), _media(t, "2", direction="reverse")]
    run = _run(t, 100, flows, forward=forward, backward=backward)
    for name, changes in (("1", forward), ("2", backward)):
        for start, end, bps in _periods(changes, 100):
            _share(t, run, name, start, end, bps, source)


@case("competing-media", "Competing flows of the same control", "section 5.4", paths=(_THREE,))
def _competing(t: Trial) -> None:
    source = "section 5.4: the flows converge to a fair share"
    run = _run(t, 120, [_media(t, name, start, 119) for name, start in (("1", 0), ("2", 20), ("3", 40))])
    _share(t, run, "1", 0, 20, 3.5e6, source)
    _share(t, run, "12", 20, 40, 3.5e6, source)
    _share(t, run, "123", 40, 119, 3.5e6, source)
    _fair(t, run, "123", 40, 119, source)


@case("rtt-fairness", "Round trip time fairness", "section 5.5", paths=(_MIXED,))
def _rtts(t: Trial) -> None:
    source = "section 5.5: the share depends little on the RTT"
    delays = (0.01, 0.025, 0.05, 0.1, 0.15)
    flows = [_media(t, str(n), 10 * n, rtt=duration(2 * delay)) for n, delay in enumerate(delays)]
    run = _run(t, 300, flows, each_way_s=delays[0] / 2)
    _share(t, run, "01234", 40, 300, 4e6, source)
    _fair(t, run, "01234", 40, 300, source)


@case("long-tcp", "Media competing with a long TCP flow", "section 5.6", paths=(_TWO, _DEEP))
def _long(t: Trial) -> None:
    source = "section 5.6: the media flow does not starve"
    queue = 1.0 if t.path is _DEEP else _QUEUE_S
    run = _run(t, 120, [_media(t, "1", 5, 119), _tcp(t, "tcp", 119)], queue_s=queue)
    for start, end in ((5, 60), (60, 119)):
        got = run.bps("1", start, end)
        t.expect(source, f"bit/s of the media flow from {start} to {end} s", got, 0.9 * _LEAST_BPS, at=end)
    least = 0.1 * t.path.rate_bps
    t.expect(source, "bit/s of TCP from 60 to 119 s", run.bps("tcp", 60, 119), least, at=119)


@case("short-tcp", "Media competing with short TCP flows", "section 5.7", paths=(_TWO,))
def _short(t: Trial) -> None:
    source = "section 5.7: the media flows keep their least rate, and use what is free"
    size = {"kind": "uniform", "min": "30 kB", "max": "50 kB"}
    tcp = _tcp(t, "tcp", 300, workload={"kind": "arrivals", "per_second": 1.0, "size": size})
    run = _run(t, 300, [_media(t, "1", 5), _media(t, "2", 5), tcp])
    for name in "12":
        t.expect(source, f"bit/s of flow {name} from 5 s on", run.bps(name, 5, 300), 2 * _LEAST_BPS, at=300)
    _fair(t, run, "12", 5, 300, source)
    _delay(t, run, "12", 5, 300, source)


@case("pause", "Media pause and resume", "section 5.8", paths=(_THREE,))
def _pause(t: Trial) -> None:
    source = "section 5.8: others use the share of a flow that pauses, and return it"
    run = _run(t, 120, [_media(t, "1"), _media(t, "2", 0, 40), _media(t, "3"), _media(t, "4", 60)])
    _share(t, run, "123", 0, 40, 3.5e6, source)
    _share(t, run, "13", 40, 60, 3.5e6, source)
    _share(t, run, "134", 60, 120, 3.5e6, source)
    _fair(t, run, "134", 60, 120, source)
