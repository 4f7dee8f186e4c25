"""Table 1 and Figures 16 and 17 of the Windows study: the throughput of a download."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import fmean

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Control, Greater, Kind, Order, RatioIn, Underspecified
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.windows_lte.path import ALGORITHMS, ASSUMPTIONS, measure, scenario, trace

#: Table 1: throughput of six runs, Mbit/s.
PUBLISHED = {
    "NewReno": (6.0, 5.5, 5.7, 5.3, 5.9, 5.2),
    "CTCP": (6.9, 6.8, 6.7, 7.0, 6.9, 6.2),
    "CUBIC": (7.7, 7.6, 7.6, 7.2, 7.1, 7.3),
}
#: The printed gains of CUBIC.
GAINS = {"CTCP": 0.097, "NewReno": 0.323}
_LOSSES = (0.0, 1e-4, 1e-3)
_RISING = ("CUBIC", "CTCP", "NewReno")


def _cases(size: Size) -> list[Case]:
    return [
        Case({"algorithm": name, "loss": loss}, scenario(text, loss=loss, duration_s=size.duration_s), measure, trace)
        for loss in _LOSSES
        for name, text in ALGORITHMS.items()
    ]


def _words(loss: float) -> str:
    return f"random loss {loss:g}" if loss else "no random loss"


def _kind(loss: float) -> Kind:
    """A path without random loss is the base; with it, another reading of what the study leaves out."""
    return "reading" if loss else "claim"


def room(other: Labels, gain: float) -> Control:
    """No gain over a side shows that leaves less of the LTE line than it takes."""
    words = f"no room for {gain:.1%} more on the LTE line beside {other['algorithm']}"
    return Control("lte_utilisation", other, -inf, 1 / (1 + gain), words)


def _faster(first: str, others: Sequence[str], loss: float, words: str, key: str) -> Claim:
    """As a share of what the line carries: where the slower side has all of it, nothing can be faster."""
    sides: list[Labels] = [{"algorithm": name, "loss": loss} for name in (first, *others)]
    title, headline = f"throughput, {first} / {' and '.join(others)}, {_words(loss)}", "" if loss else key
    return Claim(title, words, "delivered_share", sides, Greater(), kind=_kind(loss), headline=headline)


def _table1_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for loss in _LOSSES:
        words = "CUBIC 7.42, CTCP 6.75, NewReno 5.60 Mbit/s on average"
        claims.append(_faster("CUBIC", ("CTCP", "NewReno"), loss, words, "windows-lte:order"))
        words = "CTCP 6.75, NewReno 5.60 Mbit/s on average"
        claims.append(_faster("CTCP", ("NewReno",), loss, words, "windows-lte:ctcp"))
    capacity = Underspecified("the study does not explain its 11 Mbit/s, nor give the queue of the LTE cell")
    latency = Underspecified("the study announces latencies and prints none per algorithm")
    for name, runs in PUBLISHED.items():
        side: Labels = {"algorithm": name, "loss": 0.0}
        words = f"{fmean(runs):.2f} Mbit/s on average"
        claims.append(Claim(f"{name}: throughput, no random loss", words, "goodput_bps", [side], capacity))
        title, key = f"{name}: mean RTT, ms, no random loss", "windows-lte:latency"
        claims.append(Claim(title, "no value", "mean_rtt_ms", [side], latency, headline=key))
    sides: list[Labels] = [{"algorithm": name, "loss": 0.0} for name in _RISING]
    title, key, same = (
        "mean RTT, CUBIC / CTCP and NewReno, no random loss",
        "windows-lte:same-rtt",
        RatioIn(0.95, 1 / 0.95),
    )
    claims.append(Claim(title, "constant", "mean_rtt_ms", sides, same, headline=key))
    return claims


def _fig16_claims(size: Size) -> list[Claim]:
    del size
    sides: list[Labels] = [{"algorithm": name, "loss": 0.0} for name in _RISING]
    title = "order of throughputs, no random loss"
    return [Claim(title, "higher in every run", "goodput_bps", sides, Order(), kind="check")]


def _ratio_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for loss in _LOSSES:
        for other, gain in GAINS.items():
            sides: list[Labels] = [{"algorithm": name, "loss": loss} for name in ("CUBIC", other)]
            title, key = f"throughput, CUBIC / {other}, {_words(loss)}", "" if loss else "windows-lte:gains"
            words, gained, controls = f"+{100 * gain:.1f} %", Greater(1 + gain), [room(sides[1], gain)]
            what = _kind(loss)
            claims.append(Claim(title, words, "goodput_bps", sides, gained, kind=what, headline=key, controls=controls))
    return claims


def _graph(measured: Measured) -> list[Chart]:
    curves = []
    for name, runs in PUBLISHED.items():
        numbers = list(range(1, len(runs) + 1))
        curves.append(Curve(name, numbers, list(runs), panel="published", published=True))
        for loss in _LOSSES:
            found = measured.values("goodput_bps", algorithm=name, loss=loss)
            values = [value / 1e6 for value in found]
            curves.append(Curve(name, numbers[: len(values)], values, panel=_words(loss)))
    return [Chart("fig16", "Throughput of six runs", "run", "throughput, Mbit/s", curves)]


def _bars(measured: Measured, name: str) -> list[Chart]:
    shown = [_words(loss) for loss in _LOSSES]
    curves = []
    for algorithm in ALGORITHMS:
        found = [measured.estimate("goodput_bps", algorithm=algorithm, loss=loss) for loss in _LOSSES]
        curves.append(Curve.of(algorithm, shown, found, factor=1e-6, panel="measured"))
    for one, runs in PUBLISHED.items():
        curves.append(Curve(one, ["mean of six runs"], [fmean(runs)], panel="published", published=True))
    return [Chart(name, "Throughput of a download", "", "throughput, Mbit/s", curves, kind="bars")]


def _over_time(measured: Measured) -> list[Chart]:
    curves = []
    for loss in _LOSSES:
        for name in ALGORITHMS:
            line = measured.line("goodput", algorithm=name, loss=loss)
            curves.append(Curve(name, line.x, line.y, panel=_words(loss)))
    title = "Throughput over time, first run"
    return [*_bars(measured, "table1"), Chart("table1-time", title, "time, s", "throughput, Mbit/s", curves)]


def _tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for loss in _LOSSES:
        for name in ALGORITHMS:
            side = {"algorithm": name, "loss": loss}
            runs = [value / 1e6 for value in measured.values("goodput_bps", **side)][:6]
            rows.append([f"{name}, {_words(loss)}", *runs, fmean(runs)])
    rows += [[f"{name}, published", *runs, fmean(runs)] for name, runs in PUBLISHED.items()]
    width = min(len(row) for row in rows) - 2
    rows = [[row[0], *row[1 : width + 1], row[-1]] for row in rows]
    header = ("algorithm", *(f"run {number}" for number in range(1, width + 1)), "mean")
    return [Table("Throughput, Mbit/s", header, rows)]


def _why(measured: Measured) -> list[str]:
    sentences = []
    for loss in _LOSSES:
        for name in ALGORITHMS:
            side = {"algorithm": name, "loss": loss}
            queue, drops, lost, late, busy = (
                measured.estimate(metric, **side).mean
                for metric in ("lte_queue_packets", "lte_drops", "losses", "timeouts", "lte_utilisation")
            )
            sentences.append(
                f"{name}, {_words(loss)}: the LTE line is busy for {busy:.1%}, {queue:.0f} packets wait in its "
                "queue and "
                f"{drops:.0f} are dropped by it, {lost:.0f} are lost on the way, {late:.1f} timeouts a run."
            )
    return sentences


_QUICK, _FULL = Size(300.0, 6), Size(5000.0, 6)
TABLE1 = Experiment(
    "windows-lte/table1",
    "throughput of NewReno, CTCP and CUBIC over 802.11n and LTE",
    "Results, Table I",
    "Six downloads each of 5.1 GB over 802.11n and LTE from a server 252 ms away: CUBIC is the fastest, NewReno the "
    "slowest; the average RTTs can be assumed to be constant.",
    [
        *ASSUMPTIONS,
        "The text says that CUBIC is faster than the other two; that CTCP is faster than NewReno is in the table's "
        "numbers alone. RTTs are constant where they differ by at most 5 %: judged is the mean RTT of a download with "
        "its queueing. The study may mean the RTT of the idle path, which is the same here by construction.",
    ],
    _QUICK,
    _FULL,
    _cases,
    _table1_claims,
    _over_time,
    _tables,
    _why,
)
FIG16 = Experiment(
    "windows-lte/fig16",
    "the six runs as a graph",
    "Results, Fig. 16",
    "The throughputs of Table 1 by run.",
    [*ASSUMPTIONS, "These are the runs of Table I, which are judged there: their order here is a check."],
    _QUICK,
    _FULL,
    _cases,
    _fig16_claims,
    _graph,
    why=_why,
)
FIG17 = Experiment(
    "windows-lte/fig17",
    "the means as a chart: CUBIC over CTCP and over NewReno",
    "Results, Conclusion, Fig. 17",
    "CUBIC has 9.7 % more than CTCP and 32.3 % more than NewReno.",
    [*ASSUMPTIONS, "A gain counts as met within 20 % of itself; the table's own means give 9.9 and 32.4 %."],
    _QUICK,
    _FULL,
    _cases,
    _ratio_claims,
    lambda measured: _bars(measured, "fig17"),
    why=_why,
)
