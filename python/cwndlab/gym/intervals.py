"""Monitor intervals: what a flow measured between two decisions, for many flows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Intervals"]

#: An array of numbers.
Array: TypeAlias = NDArray[np.float64]


class Intervals:
    """The last interval of each of n flows, as arrays of length n by the names of its measurements.

    Amounts are in segments, times in seconds, rates in segments per second; NaN where nothing was measured. The
    arrays are views of ``reports``, so that they show what the engine wrote last. `update` computes the derived ones.

    Parameters
    ----------
    fields
        Names of the columns of ``reports``.
    reports
        An array of shape (n, number of fields).

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym.intervals import Intervals
    >>> fields = ("duration", "sent", "acked", "lost", "rtt_mean", "srtt", "min_rtt", "rtt_slope")
    >>> fields += ("cwnd", "pacing_rate")
    >>> row = [0.1, 12, 9, 1, 0.06, 0.06, 0.05, 0.0, 10, np.nan]
    >>> intervals = Intervals(fields, np.array([row]))
    >>> intervals.update()
    >>> intervals.throughput, intervals.loss_ratio
    (array([90.]), array([0.1]))
    """

    def __init__(self, fields: Sequence[str], reports: Array) -> None:
        def column(name: str) -> Array:
            view: Array = reports[:, fields.index(name)]
            return view

        count = len(reports)
        #: Length of the interval, s.
        self.duration = column("duration")
        #: Segments sent.
        self.sent = column("sent")
        #: Segments acknowledged.
        self.acked = column("acked")
        #: Segments declared lost.
        self.lost = column("lost")
        #: Mean of the RTT samples of the interval, s.
        self.rtt_mean = column("rtt_mean")
        #: Slope of the RTT over time by least squares, s/s.
        self.rtt_slope = column("rtt_slope")
        #: Smoothed RTT of the connection (RFC 6298), s.
        self.srtt = column("srtt")
        #: Least RTT of the connection, s.
        self.min_rtt = column("min_rtt")
        #: Congestion window, segments.
        self.cwnd = column("cwnd")
        #: Pacing rate, segments/s.
        self.pacing_rate = column("pacing_rate")
        #: Acknowledged segments per second of the interval.
        self.throughput = np.zeros(count)
        #: Lost segments of those acknowledged or lost.
        self.loss_ratio = np.zeros(count)
        #: Greatest throughput of an interval of the connection so far, segments/s.
        self.largest_throughput = np.zeros(count)
        #: Least mean RTT of an interval of the connection so far, s; infinite before the first sample.
        self.least_rtt_mean = np.full(count, np.inf)

    def update(self) -> None:
        """Computes ``throughput``, ``loss_ratio`` and the extremes of the connection from new reports."""
        self.throughput[:] = 0
        np.divide(self.acked, self.duration, out=self.throughput, where=self.duration > 0)
        ended = self.acked + self.lost
        self.loss_ratio[:] = 0
        np.divide(self.lost, ended, out=self.loss_ratio, where=ended > 0)
        np.maximum(self.largest_throughput, self.throughput, out=self.largest_throughput)
        np.fmin(self.least_rtt_mean, self.rtt_mean, out=self.least_rtt_mean)

    def restart(self, row: int) -> None:
        """Forgets the extremes of a flow whose connection begins anew."""
        self.largest_throughput[row] = 0
        self.least_rtt_mean[row] = np.inf
