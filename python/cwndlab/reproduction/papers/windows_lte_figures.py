"""Charts and tables of the Windows study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from cwndlab.live.preflight.channels import milliwatts
from cwndlab.live.preflight.tcp import windows_settings
from cwndlab.live.preflight.wifi import frequency_of
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Table
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.papers.windows_lte_paths import PROFILE

Losses = Sequence[Mapping[str, Any]]
Runs = Mapping[str, Sequence[float]]


def runs_chart(measured: Measured, published: Runs, losses: Losses) -> list[Chart]:
    """Figure 16: the throughput of each run."""
    curves = []
    for name, runs in published.items():
        numbers = list(range(1, len(runs) + 1))
        curves.append(Curve(name, numbers, list(runs), panel="published", published=True))
        for loss in losses:
            found = measured.values("goodput_bps", algorithm=name, loss=loss["name"])
            values = [value / 1e6 for value in found]
            curves.append(Curve(name, numbers[: len(values)], values, panel=loss["words"]))
    return [Chart("fig16", "Throughput of six runs", "run", "throughput, Mbit/s", curves)]


def bars(measured: Measured, name: str, published: Runs, losses: Losses) -> list[Chart]:
    """Table 1 and Figure 17: mean throughputs."""
    shown = [loss["words"] for loss in losses]
    curves = []
    for algorithm in published:
        found = [measured.estimate("goodput_bps", algorithm=algorithm, loss=loss["name"]) for loss in losses]
        curves.append(Curve.of(algorithm, shown, found, factor=1e-6, panel="measured"))
    for algorithm, runs in published.items():
        curves.append(Curve(algorithm, ["mean of six runs"], [fmean(runs)], panel="published", published=True))
    return [Chart(name, "Throughput of a download", "", "throughput, Mbit/s", curves, kind="bars")]


def over_time(measured: Measured, losses: Losses) -> list[Chart]:
    """Table 1: throughput over time."""
    curves = []
    for loss in losses:
        for name in measured.points("algorithm"):
            line = measured.line("goodput", algorithm=name, loss=loss["name"])
            curves.append(Curve(name, line.x, line.y, panel=loss["words"]))
    title = "Throughput over time, first run"
    return [Chart("table1-time", title, "time, s", "throughput, Mbit/s", curves)]


def runs_table(measured: Measured, published: Runs, losses: Losses) -> list[Table]:
    """Table 1: the runs, as many of each as there are."""
    rows: list[Sequence[str | float | None]] = []
    for loss in losses:
        for name in published:
            side = {"algorithm": name, "loss": loss["name"]}
            runs = [value / 1e6 for value in measured.values("goodput_bps", **side)][:6]
            rows.append([f"{name}, {loss['words']}", *runs, fmean(runs)])
    rows += [[f"{name}, published", *runs, fmean(runs)] for name, runs in published.items()]
    width = min(len(row) for row in rows) - 2
    rows = [[row[0], *row[1 : width + 1], row[-1]] for row in rows]
    header = ("algorithm", *(f"run {number}" for number in range(1, width + 1)), "mean")
    return [Table("Throughput, Mbit/s", header, rows)]


def window(measured: Measured, name: str, end_s: float) -> list[Chart]:
    """Figures 2 and 4: the window up to a time."""
    line = measured.line("cwnd", algorithm="CUBIC")
    points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x <= end_s]
    curve = Curve("CUBIC", [x for x, _ in points], [y for _, y in points])
    return [Chart(name, "Window of one CUBIC flow, one loss", "time, s", "cwnd, segments", [curve])]


# Before the measurement.

#: The study's table of its "Internet" template, in the form in which Get-NetTCPSetting prints it.
SETTINGS = """\
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
DynamicPortRangeNumberOfPorts : 16384
AutomaticUseCustom            : Disabled
NonSackRttResiliency          : Disabled
ForceWS                       : Enabled
MaxSynRetransmissions         : 4
AutoReusePortRangeStartPort   : 0
AutoReusePortRangeNumberOfPorts : 0
"""
#: Its network at 2.4 GHz, its hops to the server, and its pings, ms.
CHANNEL, LEVEL_DBM, HOPS = 1, -57.0, 17
#: Its other figures of the same route: hops of Table I, RTT at the head of Methodology, ms.
HOPS_IN_TABLE, RTT_IN_TEXT_MS = 16, 200.0


def preflight_tables(measured: Measured, pings: Mapping[str, float]) -> list[Table]:
    """What the study printed before it measured, as `cwndlab preflight` reads it."""
    del measured
    settings, _ = windows_settings(SETTINGS)
    rows: list[Sequence[str | float | None]] = [
        (one.name, one.value, f"{one.field} = {one.stack}" if one.field else "", one.note) for one in settings
    ]
    wifi: list[Sequence[str | float | None]] = [
        ("channel", CHANNEL),
        ("centre, MHz", frequency_of(CHANNEL)),
        ("width, MHz", 20),
        ("RSSI, dBm", LEVEL_DBM),
        ("received power, nW", milliwatts(LEVEL_DBM) * 1e6),
    ]
    route: list[Sequence[str | float | None]] = [
        ("hops, Fig. 13", HOPS),
        ("hops, Table I", HOPS_IN_TABLE),
        ("RTT, Methodology, ms", RTT_IN_TEXT_MS),
    ]
    route += [(f"ping, {name}, ms", value) for name, value in pings.items()]
    return [
        Table(f"TCP settings as published, and in profile {PROFILE}", ("setting", "value", "profile", "note"), rows),
        Table("Wi-Fi as published", ("quantity", "value"), wifi),
        Table("Route as published", ("quantity", "value"), route),
    ]


def round_trips(measured: Measured, pings: Mapping[str, float]) -> list[Chart]:
    """The pings of the study beside the round trips of a flow."""
    names = list(pings)
    found = [measured.estimate(f"{name}_rtt_ms", algorithm="CUBIC") for name in ("min", "mean")]
    curves = [
        Curve("pings of the study", names, list(pings.values()), panel="published", published=True),
        Curve.of("one flow of CUBIC", ["min", "mean"], found, panel="measured"),
    ]
    return [Chart("preflight", "Round trips", "", "RTT, ms", curves, kind="bars")]
