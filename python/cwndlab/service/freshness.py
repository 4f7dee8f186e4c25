"""How long nothing arrives, and how old the newest is: silence, outages, age of information.

Times are arrays in nanoseconds, as in `cwndlab.service.delivery`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cwndlab.service.delivery import Times


def observed(generated_ns: Times, delivered_ns: Times, start_ns: float, end_ns: float) -> tuple[float, float] | None:
    """The part of an interval in which deliveries are expected: from its start, or from the first generation if that is
    later, to its end if the last message has not arrived, or else to the last delivery. ``None`` without a message.

    A flow that starts late or stops early is thus not silent, and one whose last message is under way is.

    >>> observed(np.array([2.0, 5.0]), np.array([3.0, 6.0]), 0, 10)
    (2.0, 6.0)
    >>> observed(np.array([2.0, 5.0]), np.array([3.0, np.inf]), 0, 10)
    (2.0, 10.0)
    """
    sent = generated_ns <= end_ns
    if not sent.any():
        return None
    last = delivered_ns[sent][np.argmax(generated_ns[sent])]
    until = float(end_ns) if last > end_ns else float(np.max(delivered_ns[sent & (delivered_ns <= end_ns)]))
    begin = max(float(start_ns), float(generated_ns.min()))
    return (begin, until) if until > begin else None


def longest_silence_s(delivered_ns: Times, begin_ns: float, until_ns: float) -> float:
    """The longest time between two deliveries within an interval, whose ends count as deliveries, s.

    By hand: deliveries at 3, 4 and 9 s between 2 and 12 s leave 1, 1, 5 and 3 s.

    >>> longest_silence_s(np.array([9e9, 3e9, 4e9, np.inf]), 2e9, 12e9)
    5.0
    """
    return float(np.max(np.diff(_instants(delivered_ns, begin_ns, until_ns)))) / 1e9


def outage_s(in_time_ns: Times, survival_ns: float, begin_ns: float, until_ns: float) -> float:
    """The time in outages within an interval, s: an outage begins the survival time after the last delivery in time,
    and ends with the next one. Availability = 1 − outages / length of the interval.

    Source: the survival time of 3GPP TS 22.104, the time that an application continues without an anticipated message;
    from secondary quotations.

    Parameters
    ----------
    in_time_ns
        The deliveries that met their deadline.

    Examples
    --------
    By hand: deliveries at 1, 2, 7 and 8 s between 0 and 10 s, survival time 2 s. The outage is from 4 to 7 s.

    >>> outage_s(np.array([1e9, 2e9, 7e9, 8e9]), 2e9, 0, 10e9)
    3.0
    """
    gaps = np.diff(_instants(in_time_ns, begin_ns, until_ns))
    return float(np.sum(np.maximum(gaps - survival_ns, 0))) / 1e9


def _instants(delivered_ns: Times, begin_ns: float, until_ns: float) -> Times:
    """The deliveries within an interval in ascending order, between its ends."""
    inside = delivered_ns[(delivered_ns >= begin_ns) & (delivered_ns <= until_ns)]
    return np.concatenate([[begin_ns], np.sort(inside), [until_ns]])


class Age(NamedTuple):
    """The age of information.

    Examples
    --------
    >>> Age(mean_s=2.0, peak_s=3.0).peak_s
    3.0
    """

    mean_s: float
    peak_s: float


def age_of_information(generated_ns: Times, delivered_ns: Times, until_ns: float | None = None) -> Age | None:
    """The age of the newest message that the receiver has: its mean over time, and its peak.

    Deliveries are taken in the order of arrival, without those that are not newer than one before. Between the
    deliveries i and i+1 at r, of messages generated at g, the age grows from rᵢ − gᵢ to rᵢ₊₁ − gᵢ, which is a peak: its
    area is (rᵢ₊₁ − rᵢ)((rᵢ − gᵢ) + (rᵢ₊₁ − gᵢ)) / 2. The mean is the area from the first delivery to ``until_ns``, by
    default the last delivery, over this time.

    Source: S. Kaul, R. Yates, M. Gruteser, "Real-time status: how often should one update?", INFOCOM 2012,
    doi:10.1109/INFCOM.2012.6195689.

    Parameters
    ----------
    until_ns
        The end of the time that counts, after the last delivery: the age grows until then.

    Returns
    -------
    Age
        In seconds; ``None`` with less than two instants.

    Examples
    --------
    By hand: a message every 2 s with a delay of 1 s. The age grows from 1 to 3 s, and in two more seconds from 1 to 3 s
    once more.

    >>> age_of_information(np.array([0.0, 2e9, 4e9]), np.array([1e9, 3e9, 5e9]))
    Age(mean_s=2.0, peak_s=3.0)
    >>> age_of_information(np.array([0.0, 2e9, 4e9]), np.array([1e9, 3e9, 5e9]), until_ns=7e9)
    Age(mean_s=2.0, peak_s=3.0)
    """
    order = np.lexsort((generated_ns, delivered_ns))
    r, g = delivered_ns[order], generated_ns[order]
    r, g = r[np.isfinite(r)], g[np.isfinite(r)]
    if not len(r):
        return None
    newer = np.concatenate([[True], g[1:] > np.maximum.accumulate(g)[:-1]])
    r, g = r[newer], g[newer]
    if until_ns is not None and until_ns > r[-1]:
        r, g = np.append(r, until_ns), np.append(g, until_ns)
    if len(r) < 2:
        return None
    first, peaks = r[:-1] - g[:-1], r[1:] - g[:-1]
    area = np.sum((r[1:] - r[:-1]) * (first + peaks) / 2)
    length = r[-1] - r[0]
    return Age(float(area / length) / 1e9 if length else float(first[0]) / 1e9, float(peaks.max()) / 1e9)
