"""What the Windows study looked at before it measured: networks and channels, route, RTT, the stack's settings.

`cwndlab preflight` does it on a real path. Here is what the study printed, read by the same code, and what of it a
simulation of its path can show: the settings of the stack, and the round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.live.preflight.channels import milliwatts
from cwndlab.live.preflight.tcp import windows_settings
from cwndlab.live.preflight.wifi import frequency_of
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Size, Table
from cwndlab.reproduction.claims import Claim, Landmark, Shape, Underspecified
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.windows_lte.path import ASSUMPTIONS, PROFILE, RTT_MS, scenario

if TYPE_CHECKING:
    from cwndlab.records import Records
    from cwndlab.reproduction.measured import Measured

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
PINGS_MS = {"min": 177.0, "mean": 252.0, "max": 468.0}
_SIDE = {"algorithm": "CUBIC"}


def measure(records: Records) -> dict[str, float | None]:
    """Segments of the first flight, and the smallest and the mean RTT."""
    data = records.packets.filter((pl.col("kind") == 0) & (pl.col("link") == pl.col("link").min()))
    flow = records.flows.row(0, named=True)
    start = data["sent_ns"].min()
    flight = data.filter(pl.col("sent_ns") < start + flow["base_rtt_ns"] // 2)
    return {
        "first_flight_segments": float(len(flight)),
        "min_rtt_ms": flow["min_rtt_ns"] / 1e6,
        "mean_rtt_ms": flow["mean_rtt_ns"] / 1e6,
    }


def _cases(size: Size) -> list[Case]:
    document = scenario("cubic", loss=0.0, duration_s=size.duration_s) | {"packets": True}
    return [Case(_SIDE, document, measure)]


def _claims(size: Size) -> list[Claim]:
    del size
    own = Underspecified("networks, hops and pings are of the study's own place and hour")
    window = Shape([Landmark("10 segments", "first_flight_segments", 10, 10)])
    path = Shape([Landmark("252 ms and the queues of its own first flight", "min_rtt_ms", RTT_MS, 1.02 * RTT_MS)])
    return [
        Claim("initial window", "10 segments", "", [_SIDE], window, kind="check"),
        Claim("RTT of the unloaded path", "252 ms on average", "", [_SIDE], path, kind="check"),
        Claim("RTT of the pings, ms", "177 to 468 ms", "mean_rtt_ms", [_SIDE], own, kind="check"),
    ]


def _tables(measured: Measured) -> list[Table]:
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
    route += [(f"ping, {name}, ms", value) for name, value in PINGS_MS.items()]
    return [
        Table(f"TCP settings as published, and in profile {PROFILE}", ("setting", "value", "profile", "note"), rows),
        Table("Wi-Fi as published", ("quantity", "value"), wifi),
        Table("Route as published", ("quantity", "value"), route),
    ]


def _chart(measured: Measured) -> list[Chart]:
    names = list(PINGS_MS)
    found = [measured.estimate(f"{name}_rtt_ms", **_SIDE) for name in ("min", "mean")]
    curves = [
        Curve("pings of the study", names, list(PINGS_MS.values()), panel="published", published=True),
        Curve.of("one flow of CUBIC", ["min", "mean"], found, panel="measured"),
    ]
    return [Chart("preflight", "Round trips", "", "RTT, ms", curves, kind="bars")]


_SIZE = Size(5.0, 1)
PREFLIGHT = Experiment(
    "windows-lte/preflight",
    "networks, route, RTT and the stack's settings before the measurement",
    "Methodology, Figs. 5 to 15",
    "Networks in range are listed and the channel with the least overlap is taken (1, at -57 dBm); the route to the "
    "server has 17 hops, its pings take 177 to 468 ms; the template Internet of Windows 20H1 is printed.",
    [
        *ASSUMPTIONS,
        "The study's tables are shown as `cwndlab preflight` reads them; a claim is what a simulation can hold: that "
        "the path and the stack of the other experiments are the published ones.",
    ],
    _SIZE,
    _SIZE,
    _cases,
    _claims,
    _chart,
    _tables,
)
