"""How a window grows after one loss: landmarks of BIC and of CUBIC, which two papers sketch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Base RTT of BIC's and CUBIC's runs in seconds.
_RTT_S = 0.1


def window_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window over time."""
    table = metrics.flows_over_time(records, start_s=0.0)
    return {"cwnd": (table["time_s"].to_list(), table["cwnd_segments"].to_list())}


class _Window:
    """The window after the one recovery: seconds since its end, segments; ``before`` is that at the loss."""

    def __init__(self, records: Records) -> None:
        events = records.events.sort("time_ns")
        mss = int(records.flows["mss_bytes"][0])
        loss = events.filter(events["kind"] == "recovery").row(0, named=True)
        end = events.filter((events["kind"] == "recovered") & (events["time_ns"] > loss["time_ns"])).row(0, named=True)
        table = metrics.flows_over_time(records, start_s=0.0)
        table = table.filter(table["time_s"] > end["time_ns"] / 1e9 + _RTT_S)
        self.before = loss["cwnd_before_bytes"] / mss
        self.after = loss["cwnd_after_bytes"] / mss
        self.losses = len(events.filter(events["kind"] == "recovery"))
        self.time: list[float] = [time - end["time_ns"] / 1e9 for time in table["time_s"].to_list()]
        self.value: list[float] = [float(value) for value in table["cwnd_segments"].to_list()]

    def at(self, window: float) -> float:
        """When the window first reached so much; the last instant where it never did."""
        return next((time for time, value in zip(self.time, self.value, strict=True) if value >= window), self.time[-1])

    def slope(self, start_s: float, end_s: float) -> float:
        """Segments per round trip over the samples in [start_s, end_s]."""
        inside = [index for index, time in enumerate(self.time) if start_s <= time <= end_s]
        if len(inside) < 2:
            return 0.0
        first, last = inside[0], inside[-1]
        return (self.value[last] - self.value[first]) / (self.time[last] - self.time[first]) * _RTT_S

    def between(self, low: float, high: float) -> float:
        """The slope while the window rose from ``low`` to ``high``."""
        return self.slope(self.at(low), max(self.at(high), self.at(low) + _RTT_S))


@kept_as("cwndlab.reproduction.cubic_study.growth.measure_bic")
def measure_bic(records: Records) -> dict[str, float | None]:
    """Slopes in segments per round trip where BIC's phases are."""
    window = _Window(records)
    maximum = window.before
    # Linear while the old maximum is further away than Smax · B, which is 64 segments with either constants.
    end = window.at(maximum - 70)
    linear = window.slope(_RTT_S, end / 2)
    return {
        "losses": float(window.losses),
        "kept": window.after / window.before,
        "linear_slope": linear,
        "linear_change": window.slope(end / 2, end) / linear,
        "search_slope_ratio": window.between(maximum - 20, maximum - 6) / linear,
        "plateau_slope_ratio": window.between(maximum - 3, maximum + 3) / linear,
        "probing_slope_ratio": window.between(maximum + 8, maximum + 30)
        / max(window.between(maximum - 3, maximum + 3), 1e-9),
        "final_slope": window.slope(window.time[-1] - 1.0, window.time[-1]),
    }


@kept_as("cwndlab.reproduction.cubic_study.growth.measure_cubic")
def measure_cubic(records: Records) -> dict[str, float | None]:
    """Where the plateau is, and slopes in segments per round trip before, at and after it.

    K = ∛(W_max · (1 − β) / C) with C = 0.4 (RFC 9438, Eq. 2; the paper's Eq. 3 with the root over its quotient).
    """
    window = _Window(records)
    kept = window.after / window.before
    k = (window.before * (1 - kept) / 0.4) ** (1 / 3)
    at_k = min(range(len(window.time)), key=lambda index: abs(window.time[index] - k))
    first = window.slope(_RTT_S, 0.25 * k)
    plateau = window.slope(0.9 * k, 1.1 * k)
    return {
        "losses": float(window.losses),
        "kept": kept,
        "plateau_share": window.value[at_k] / window.before,
        "concave": window.slope(0.6 * k, 0.85 * k) / first,
        "plateau_slope_ratio": plateau / first,
        "convex": window.slope(1.7 * k, 2.0 * k) / window.slope(1.2 * k, 1.5 * k),
        "symmetry": window.slope(1.75 * k, 2.0 * k) / first,
    }
