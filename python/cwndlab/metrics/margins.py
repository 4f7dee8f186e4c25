"""Margins of relevance: the largest difference of each metric that makes no practical difference.

They are fixed before anything is measured, in this one place, and are the same for every comparison and reproduction.
An effect is *shown* where its interval excludes zero and its mean lies beyond the margin; its absence is shown where
the interval lies within the margin (equivalence: D. Lakens, Soc. Psychol. Personal. Sci. 8(4), 2017, 355).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from cwndlab.metrics.summary import COLUMNS
from cwndlab.statistics import Difference, Verdict, verdict


@dataclass(frozen=True)
class Margin:
    """A margin as a share of the reference value, and as an amount in the metric's own unit: the larger one counts."""

    share: float
    amount: float = 0.0
    reason: str = ""
    ceiling: float | None = None
    """The largest value that the metric can have, where there is one."""

    def around(self, reference: float) -> float:
        """The margin about a reference value, in the metric's own unit."""
        return max(self.share * abs(reference), self.amount)


#: Margins by name; the first pattern that matches the whole name counts.
MARGINS: tuple[tuple[str, Margin], ...] = (
    (
        r"jain.*|fair_throughout",
        Margin(0.0, 0.02, "two flows at 57:43 have an index of 0.98, which users do not tell from equal", 1.0),
    ),
    (
        r"utilisation|early_utilisation|goodput_share|delivered_share|upload_share",
        Margin(0.01, 0.0, "1 % of a line is less than headers take", 1.0),
    ),
    (r"(first_|off_)?share", Margin(0.0, 0.02, "as for Jain's index: two points of the line", 1.0)),
    (r"late_ratio|last_half_ratio", Margin(0.01, 0.0, "ratios of rates, as for these")),
    (r".*_bps(_per_user)?|.*_per_user", Margin(0.01, 0.0, "1 % of the rate is less than headers take")),
    (
        r"((datagram_)?loss_ratio|drops?(_per_s)?|.*_drops|lte_drops|losses|retransmitted_(packets|ratio))(_\d+)?",
        Margin(0.10, 0.0, "throughput goes with the root of the loss ratio: 10 % of it are 5 % of a rate"),
    ),
    (r"timeouts|congestion_events|recoveries|.*_timeouts", Margin(0.10, 0.5, "less than one event in two runs")),
    (r".*queue_packets", Margin(0.10, 1.0, "one packet")),
    (r".*(queue|latency|delay|jitter)(_p\d+)?_ms|delay_p\d+_ms", Margin(0.10, 1.0, "below 1 ms nobody notices")),
    (r".*rtt_ms|base_error_ms", Margin(0.05, 1.0, "below 1 ms nobody notices")),
    (r".*_s", Margin(0.10, 0.0, "times to converge, fill and complete vary by more between starts")),
    (r"score", Margin(0.01, 0.0, "objectives of tunings are mostly rates")),
    (r"cov_.*|rest_cv", Margin(0.10, 0.005, "half a point of a coefficient of variation")),
)
#: Any other name.
_OTHERS = Margin(0.10, 0.0, "no convention: 10 %")


@cache
def margin(metric: str) -> Margin:
    """The margin of a metric by its name; 10 % for names that no pattern covers. ``share@long`` has that of ``share``.

    >>> margin("goodput_bps").around(100e6), margin("jain").around(0.7), margin("mean_rtt_ms").around(10.0)
    (1000000.0, 0.02, 1.0)
    """
    name = metric.partition("@")[0]
    return next((one for pattern, one in MARGINS if re.fullmatch(pattern, name)), _OTHERS)


def verdict_of(metric: str, delta: Difference, adjusted_p: float | None) -> Verdict:
    """The verdict on a difference of a metric (`cwndlab.statistics.verdict`), by the metric's direction and margin."""
    direction = COLUMNS[metric].direction if metric in COLUMNS else 0
    return verdict(delta.paired, adjusted_p, direction, margin=margin(metric).around(delta.reference))
