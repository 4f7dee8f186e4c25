"""Flows of media in the cases of suites, and statements on their rates and delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cwndlab.records import Records
from cwndlab.suites.trial import Trial, duration

#: Rates of the media (RFC 8867, section 4.3).
LEAST_BPS, MOST_BPS = 150e3, 1.5e6
#: Least share of what a flow could have.
SHARE = 0.5
#: Longest delay of 95 % of the frames without competing TCP, s (ITU-T G.114).
DELAY_S = 0.4
#: Ratio of the rates of two flows (RFC 8868).
RATIO = (1 / 3, 3.0)


@dataclass(frozen=True)
class Rates:
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


def media(t: Trial, name: str, start_s: float = 0.0, stop_s: float | None = None, **more: Any) -> dict[str, Any]:
    """A media flow of the control under test."""
    workload = {"kind": "adaptive-video", "control": t.subject.algorithm}
    if stop_s is not None:
        more["stop"] = duration(stop_s)
    rtt = duration(t.path.rtt_s)
    return {"name": name, "transport": "udp", "rtt": rtt, "start": duration(start_s), "workload": workload, **more}


def share(t: Trial, run: Rates, names: Sequence[str], start_s: float, end_s: float, bps: float, source: str) -> None:
    """States that each of these flows has its part of ``bps`` in the last half of a period."""
    half = (start_s + end_s) / 2
    fair = min(bps / len(names), MOST_BPS)
    for name in names:
        text = f"rate of flow {name} from {half:g} to {end_s:g} s over {fair / 1e6:.3g} Mbit/s"
        t.expect(source, text, run.bps(name, half, end_s) / fair, SHARE, at=end_s)


def delay(t: Trial, run: Rates, names: Sequence[str], start_s: float, end_s: float, source: str) -> None:
    """States that the frames of these flows arrive in time in the last half of a period."""
    half = (start_s + end_s) / 2
    for name in names:
        late = run.late_s(name, half, end_s)
        t.expect(source, f"95 % of the delays of frames of {name} from {half:g} to {end_s:g} s, s", late, high=DELAY_S)


def fair(t: Trial, run: Rates, names: Sequence[str], start_s: float, end_s: float, source: str) -> None:
    """States the largest ratio of two flows in the last half of a period."""
    rates = [run.bps(name, (start_s + end_s) / 2, end_s) for name in names]
    ratio = max(rates) / max(min(rates), 1.0)
    text = f"largest ratio of two flows until {end_s:g} s"
    t.expect(f"{source}; RFC 8868: ratio of rates", text, ratio, *RATIO, at=end_s)
