"""Variation of delay: the jitter of RTP and the delay variation of ITU-T Y.1541.

Times are arrays in nanoseconds, as in `cwndlab.service.delivery`.
"""

from __future__ import annotations

import numpy as np

from cwndlab.service.delivery import Times, nearest_rank


def interarrival_jitter_s(generated_ns: Times, delivered_ns: Times) -> float | None:
    """The interarrival jitter J after the last delivery, s: in the order of arrival, J += (abs(D) − J) / 16, where D is
    the difference of the delays of two successive messages and J is zero before the first one.

    Source: RFC 3550, section 6.4.1 and the code of appendix A.8. `cwndlab.metrics.datagrams` has its mean over the
    sampling instants of a run.

    Returns
    -------
    float
        ``None`` with fewer than two deliveries.

    Examples
    --------
    By hand: delays of 0, 16 and 16 ms. J is 1 ms after the second message and 15/16 ms after the third.

    >>> interarrival_jitter_s(np.array([0.0, 20e6, 40e6]), np.array([0.0, 36e6, 56e6]))
    0.0009375
    """
    order = np.argsort(delivered_ns, kind="stable")
    transit = (delivered_ns - generated_ns)[order]
    transit = transit[np.isfinite(transit)]
    if len(transit) < 2:
        return None
    jitter = 0.0
    for difference in np.abs(np.diff(transit)).tolist():
        jitter += (difference - jitter) / 16
    return jitter / 1e9


def delay_variation_s(delays: Times, percent: float = 99.9) -> float | None:
    """IPDV: a high percentile of the delay − its minimum, s, by nearest rank.

    Source: ITU-T Y.1541, whose objective is an upper bound on the 1 − 10⁻³ quantile of the delay − its minimum; from
    secondary quotations.

    Returns
    -------
    float
        ``None`` where the percentile does not exist (`nearest_rank`).

    Examples
    --------
    >>> delay_variation_s(np.array([10e6, 12e6, 60e6]))
    0.05
    """
    high = nearest_rank(delays, percent)
    return None if high is None else float(high - delays.min()) / 1e9
