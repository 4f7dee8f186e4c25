"""Test cases of RFC 8867 for congestion controls of real-time media, evaluated by RFC 8868.

RFC 8867 describes paths and schedules, and what to expect in words, without limits. The limits here are this suite's
own and the same for every control: a share of what each flow could have, the ratio of two flows (RFC 8868: 0.333 to 3)
and the delay of frames (ITU-T G.114: 400 ms). Rates are means over the last half of each period.

Differences from the RFC: there is no audio flow, the jitter is a uniform draw in order, TCP uses CUBIC, short TCP flows
begin as a Poisson process of one per second (as ten sources with an idle time of 10 s do), and a source that resumes
begins with a new state. The wireless cases of RFC 8869 follow (`cwndlab.suites.rfc8869`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.suites import rfc8869
from cwndlab.suites.case import cases
from cwndlab.suites.media import LEAST_BPS, Rates, delay, fair, media, share
from cwndlab.suites.paths import Path
from cwndlab.suites.trial import Trial, duration, rate, steps

#: The queue of the reference path, s, and its jitter (section 4).
_QUEUE_S = 0.3
_JITTER_S = 0.03

_NEAR = Path("1 Mbit/s, 100 ms", 1e6, 0.1)
_FAR = Path("1 Mbit/s, 200 ms", 1e6, 0.2)
_TWO = Path("2 Mbit/s, 100 ms", 2e6, 0.1)
_DEEP = Path("2 Mbit/s, 100 ms, queue of 1 s", 2e6, 0.1)
_THREE = Path("3.5 Mbit/s, 100 ms", 3.5e6, 0.1)
_MIXED = Path("4 Mbit/s, 20 to 300 ms", 4e6, 0.02)

CASES, case = cases((_NEAR,))


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
) -> Rates:
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
    return Rates(t.run(document).records)


def _periods(changes: Sequence[tuple[float, float]], end_s: float) -> list[tuple[float, float, float]]:
    """Start, end and rate of each period."""
    ends = [*(at for at, _ in changes[1:]), end_s]
    return [(at, end, bps) for (at, bps), end in zip(changes, ends, strict=True)]


@case("variable-capacity", "Variable capacity with a single flow", "section 5.1", paths=(_NEAR, _FAR))
def _variable(t: Trial) -> None:
    source = "section 5.1: the rate follows the capacity"
    changes = [(0, 1e6), (40, 2.5e6), (60, 0.6e6), (80, 1e6)]
    run = _run(t, 100, [media(t, "1")], forward=changes)
    for start, end, bps in _periods(changes, 100):
        share(t, run, "1", start, end, bps, source)
        delay(t, run, "1", start, end, source)


@case("variable-multiple", "Variable capacity with multiple flows", "section 5.2", paths=(_TWO,))
def _multiple(t: Trial) -> None:
    source = "section 5.2: the rates follow the capacity, and are fair"
    changes = [(0, 4e6), (25, 2e6), (50, 3.5e6), (75, 1e6), (100, 2e6)]
    run = _run(t, 125, [media(t, "1"), media(t, "2")], forward=changes)
    for start, end, bps in _periods(changes, 125):
        share(t, run, "12", start, end, bps, source)
    fair(t, run, "12", 25, 50, source)
    fair(t, run, "12", 75, 100, source)


@case("congested-feedback", "Congested feedback link with bidirectional flows", "section 5.3")
def _feedback(t: Trial) -> None:
    source = "section 5.3: each direction follows its own capacity"
    forward, backward = [(0, 2e6), (20, 1e6), (40, 0.5e6), (60, 2e6)], [(0, 2e6), (35, 0.8e6), (70, 2e6)]
    flows = [media(t, "1"), media(t, "2", direction="reverse")]
    run = _run(t, 100, flows, forward=forward, backward=backward)
    for name, changes in (("1", forward), ("2", backward)):
        for start, end, bps in _periods(changes, 100):
            share(t, run, name, start, end, bps, source)


@case("competing-media", "Competing flows of the same control", "section 5.4", paths=(_THREE,))
def _competing(t: Trial) -> None:
    source = "section 5.4: the flows converge to a fair share"
    run = _run(t, 120, [media(t, name, start, 119) for name, start in (("1", 0), ("2", 20), ("3", 40))])
    share(t, run, "1", 0, 20, 3.5e6, source)
    share(t, run, "12", 20, 40, 3.5e6, source)
    share(t, run, "123", 40, 119, 3.5e6, source)
    fair(t, run, "123", 40, 119, source)


@case("rtt-fairness", "Round trip time fairness", "section 5.5", paths=(_MIXED,))
def _rtts(t: Trial) -> None:
    source = "section 5.5: the share depends little on the RTT"
    delays = (0.01, 0.025, 0.05, 0.1, 0.15)
    flows = [media(t, str(n), 10 * n, rtt=duration(2 * delay)) for n, delay in enumerate(delays)]
    run = _run(t, 300, flows, each_way_s=delays[0] / 2)
    share(t, run, "01234", 40, 300, 4e6, source)
    fair(t, run, "01234", 40, 300, source)


@case("long-tcp", "Media competing with a long TCP flow", "section 5.6", paths=(_TWO, _DEEP))
def _long(t: Trial) -> None:
    source = "section 5.6: the media flow does not starve"
    queue = 1.0 if t.path is _DEEP else _QUEUE_S
    run = _run(t, 120, [media(t, "1", 5, 119), _tcp(t, "tcp", 119)], queue_s=queue)
    for start, end in ((5, 60), (60, 119)):
        got = run.bps("1", start, end)
        t.expect(source, f"bit/s of the media flow from {start} to {end} s", got, 0.9 * LEAST_BPS, at=end)
    least = 0.1 * t.path.rate_bps
    t.expect(source, "bit/s of TCP from 60 to 119 s", run.bps("tcp", 60, 119), least, at=119)


@case("short-tcp", "Media competing with short TCP flows", "section 5.7", paths=(_TWO,))
def _short(t: Trial) -> None:
    source = "section 5.7: the media flows keep their least rate, and use what is free"
    size = {"kind": "uniform", "min": "30 kB", "max": "50 kB"}
    tcp = _tcp(t, "tcp", 300, workload={"kind": "arrivals", "per_second": 1.0, "size": size})
    run = _run(t, 300, [media(t, "1", 5), media(t, "2", 5), tcp])
    for name in "12":
        t.expect(source, f"bit/s of flow {name} from 5 s on", run.bps(name, 5, 300), 2 * LEAST_BPS, at=300)
    fair(t, run, "12", 5, 300, source)
    delay(t, run, "12", 5, 300, source)


@case("pause", "Media pause and resume", "section 5.8", paths=(_THREE,))
def _pause(t: Trial) -> None:
    source = "section 5.8: others use the share of a flow that pauses, and return it"
    run = _run(t, 120, [media(t, "1"), media(t, "2", 0, 40), media(t, "3"), media(t, "4", 60)])
    share(t, run, "123", 0, 40, 3.5e6, source)
    share(t, run, "13", 40, 60, 3.5e6, source)
    share(t, run, "134", 60, 120, 3.5e6, source)
    fair(t, run, "134", 60, 120, source)


CASES += rfc8869.CASES
