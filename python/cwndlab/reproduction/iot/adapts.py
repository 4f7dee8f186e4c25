"""The IoT abstract's quick adaption to a change of bandwidth or delay, which the paper claims and never measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size
from cwndlab.reproduction.claims import Claim, Greater, Less
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.iot.path import (
    ALL,
    ASSUMPTIONS,
    PROPOSED,
    READINGS,
    VARIANTS,
    flow,
    kind,
    measure_over_time,
    scenario,
    variant,
)
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Changes come so often; "quickly" is within the first seconds after one.
_PERIOD_S, _QUICK_S = 20, 5
#: The delay of the bottleneck at the start, ms, and what it alternates between: the state that holds more comes first.
_CHANGES = {
    "bandwidth": (50.0, ({"rate": "1.5 Mbps"}, {"rate": "0.5 Mbps"})),
    "delay": (150.0, ({"delay": "150 ms"}, {"delay": "50 ms"})),
}
#: By hand, bit/s: what an access link of 1 Mbit/s carries of payload.
_MOST_BPS = 1e6 * 1000 / 1040


def _spans(records: Records) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The first seconds after every rise, and after every fall."""
    end = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    starts = [float(at) for at in range(_PERIOD_S, int(end - _QUICK_S) + 1, _PERIOD_S)]
    spans = [(start, start + _QUICK_S) for start in starts]
    return spans[1::2], spans[::2]


def _mean_bps(records: Records, spans: Sequence[tuple[float, float]]) -> float:
    rates = [metrics.goodput(records, start_s=start, end_s=end)["goodput_bps"][0] for start, end in spans]
    return float(sum(rates)) / len(rates)


def _mean_drops(records: Records, spans: Sequence[tuple[float, float]]) -> float:
    losses = [metrics.loss(records, start_s=start, end_s=end) for start, end in spans]
    return float(sum(one["drops"][0] for one in losses)) / len(spans)


def measure(records: Records) -> dict[str, float | None]:
    """Throughput in the first 5 s after a rise of bandwidth or delay, over what the access link carries; the
    bottleneck's drops in the first 5 s after a fall; throughput over all, timeouts."""
    risen, fallen = _spans(records)
    return {
        "early_utilisation": _mean_bps(records, risen) / _MOST_BPS,
        "fallen_drops": _mean_drops(records, fallen),
        "goodput_bps": metrics.goodput(records)["goodput_bps"][0],
        "timeouts": float(records.flows["timeouts"].sum()),
    }


def _cases(size: Size) -> list[Case]:
    cases = []
    for change, (delay_ms, states) in _CHANGES.items():
        times = range(_PERIOD_S, int(size.duration_s), _PERIOD_S)
        steps = [{"at": f"{at} s", **states[number % 2]} for number, at in enumerate(times, start=1)]
        for name in ALL:
            document = scenario(
                [flow(variant(name), 2 * delay_ms)], delay_ms=delay_ms, duration_s=size.duration_s, schedule=steps
            )
            cases.append(Case({"change": change, "variant": name}, document, measure, measure_over_time))
    return cases


def _claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for reading in READINGS:
        what = kind(reading)
        key = "iot:adapts" if what == "claim" else ""
        sides: list[Labels] = [{"variant": name} for name in (reading, *VARIANTS)]
        title = f"throughput in the first {_QUICK_S} s after a rise, {reading} / each competitor"
        words, each = "adapts quickly", "change"
        claims.append(Claim(title, words, "early_utilisation", sides, Greater(), kind=what, headline=key, each=each))
        title = f"drops in the first {_QUICK_S} s after the bandwidth fell, {reading} / each competitor"
        fallen = [{**side, "change": "bandwidth"} for side in sides]
        claims.append(Claim(title, words, "fallen_drops", fallen, Less(), kind=what, headline=key))
    return claims


def _charts(measured: Measured) -> list[Chart]:
    curves = []
    for change in _CHANGES:
        for name in (*VARIANTS, PROPOSED):
            line = measured.line("goodput", change=change, variant=name)
            curves.append(Curve(name, line.x, line.y, panel=change))
    title = "Throughput while the bottleneck changes, first repetition"
    return [Chart("adapts", title, "time, s", "throughput, kbit/s", curves)]


def _why(measured: Measured) -> list[str]:
    sentences = []
    for name in measured.points("variant"):
        after = [measured.estimate("early_utilisation", variant=name, change=change).mean for change in _CHANGES]
        drops = measured.estimate("fallen_drops", variant=name, change="bandwidth").mean
        sentences.append(
            f"{name}: {after[0]:.1%} of the access link in the first {_QUICK_S} s after the bandwidth rose and "
            f"{after[1]:.1%} after the delay did; {drops:.0f} drops in the first {_QUICK_S} s after the bandwidth fell."
        )
    return sentences


ADAPTS = Experiment(
    "iot/adapts",
    "one flow while the bottleneck's bandwidth or delay changes",
    "abstract, § 5",
    "The rate adapts quickly whenever the available bandwidth and the delay change; the paper has no run in which "
    "either does.",
    [
        *ASSUMPTIONS,
        f"The set-up is ours: one flow of the variant without background; every {_PERIOD_S} s the bottleneck falls "
        "from 1.5 to 0.5 Mbit/s or rises again, or its delay falls from 150 to 50 ms or rises again: after a rise the "
        "path holds more packets, and after a fall of the bandwidth too many are under way.",
        f"Quickly is within {_QUICK_S} s; the abstract does not say than what, so that it is judged against each "
        "competitor.",
    ],
    Size(100.0, 5),
    Size(300.0, 10),
    _cases,
    _claims,
    _charts,
    why=_why,
)
