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
    """The age of information; the mean is ``None`` where nothing was delivered.

    Examples
    --------
    >>> Age(mean_s=2.0, peak_s=3.0).peak_s
    3.0
    """

    mean_s: float | None
    peak_s: float


def age_of_information(
    generated_ns: Times, delivered_ns: Times, until_ns: float | None = None, from_ns: float | None = None
) -> Age | None:
    """The age of the newest message that the receiver has: its mean over time, and its peak.

    Deliveries are taken in the order of arrival, without those that are not newer than one before. Between the
    deliveries i and i+1 at r, of messages generated at g, the age grows from rᵢ − gᵢ to rᵢ₊₁ − gᵢ, which is a peak: its
    area is (rᵢ₊₁ − rᵢ)((rᵢ − gᵢ) + (rᵢ₊₁ − gᵢ)) / 2. The mean is the area from the first delivery to ``until_ns``, by
    default the last delivery, over this time.

    Before the first delivery the receiver has nothing, and the age is at least the time since the first generation:
    this counts for the peak, until ``until_ns`` if nothing arrives.

    Source: S. Kaul, R. Yates, M. Gruteser, "Real-time status: how often should one update?", INFOCOM 2012,
    doi:10.1109/INFCOM.2012.6195689.

    Parameters
    ----------
    generated_ns, delivered_ns
        All messages of a flow, those before ``from_ns`` too: one of them is what the receiver has at ``from_ns``.
    until_ns
        The end of the time that counts: the age grows until then, and later deliveries are left out.
    from_ns
        The start of the time that counts; by default the first delivery.

    Returns
    -------
    Age
        In seconds; ``None`` with less than two instants.

    Examples
    --------
    By hand: a message every 2 s with a delay of 1 s. The age grows from 1 to 3 s, and in two more seconds from 1 to 3 s
    once more; from 2 s on, where it is 2 s, its mean is ((2 + 3) / 2 + 2 · 2) / 3 s.

    >>> generated, delivered = np.array([0.0, 2e9, 4e9]), np.array([1e9, 3e9, 5e9])
    >>> age_of_information(generated, delivered)
    Age(mean_s=2.0, peak_s=3.0)
    >>> age_of_information(generated, delivered, until_ns=7e9)
    Age(mean_s=2.0, peak_s=3.0)
    >>> age_of_information(generated, delivered, from_ns=2e9)
    Age(mean_s=2.1666666666666665, peak_s=3.0)
    """
    if not len(generated_ns):
        return None
    oldest, waited = float(generated_ns.min()), 0.0
    r, g = _renewals(generated_ns, delivered_ns, np.inf if until_ns is None else until_ns)
    before = 0 if from_ns is None else int(np.searchsorted(r, from_ns, side="right"))
    if before and from_ns is not None:
        r, g = np.append(from_ns, r[before:]), g[before - 1 :]
    elif len(r):
        waited = r[0] - oldest
    elif until_ns is not None:
        return Age(None, (until_ns - oldest) / 1e9)
    if until_ns is not None and len(r) and until_ns > r[-1]:
        r, g = np.append(r, until_ns), np.append(g, until_ns)
    if len(r) < 2:
        return None
    first, peaks = r[:-1] - g[:-1], r[1:] - g[:-1]
    area = np.sum((r[1:] - r[:-1]) * (first + peaks) / 2)
    length = r[-1] - r[0]
    mean = area / length if length else first[0]
    return Age(float(mean) / 1e9, float(max(waited, peaks.max())) / 1e9)


def _renewals(generated_ns: Times, delivered_ns: Times, until_ns: float) -> tuple[Times, Times]:
    """The times at which newer messages than all before were delivered, up to ``until_ns``, and their generations."""
    order = np.lexsort((generated_ns, delivered_ns))
    r, g = delivered_ns[order], generated_ns[order]
    known = np.isfinite(r) & (r <= until_ns)
    r, g = r[known], g[known]
    newer = np.append(True, g[1:] > np.maximum.accumulate(g)[:-1])[: len(g)]
    return r[newer], g[newer]
