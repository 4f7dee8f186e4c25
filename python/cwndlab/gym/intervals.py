"""Monitor intervals: what a flow measured between two decisions, for many flows at once."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab import engine

__all__ = ["MEASURED", "Array", "Intervals"]

#: An array of numbers.
Array: TypeAlias = NDArray[np.float64]

#: The number of measured values of an interval, which precede those that are computed from them.
MEASURED = 10


class Intervals:
    """The last interval of each of n flows, as arrays of length n by the names of its measurements.

    Amounts are in segments, times in seconds, rates in segments per second; NaN where nothing was measured. The
    arrays are views of ``values``, so that they show what the engine wrote last.

    Parameters
    ----------
    values
        An array of shape (n, number of fields), whose columns are those of ``engine.interval_fields()``.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym.intervals import Intervals
    >>> measured = [0.1, 12, 9, 1, 0.06, 0.0, 0.06, 0.05, 10, np.nan]
    >>> intervals = Intervals(np.array([[*measured, 90.0, 0.1, 90.0, 0.06]]))
    >>> intervals.throughput, intervals.loss_ratio
    (array([90.]), array([0.1]))
    """

    def __init__(self, values: Array) -> None:
        fields = engine.interval_fields()

        def column(name: str) -> Array:
            view: Array = values[:, fields.index(name)]
            return view

        #: All of them, a row for each flow.
        self.values = values
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
        self.throughput = column("throughput")
        #: Lost segments of those acknowledged or lost.
        self.loss_ratio = column("loss_ratio")
        #: Greatest throughput of an interval of the connection so far, segments/s.
        self.largest_throughput = column("largest_throughput")
        #: Least mean RTT of an interval of the connection so far, s; infinite before the first sample.
        self.least_rtt_mean = column("least_rtt_mean")
