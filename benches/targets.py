"""Targets in the tables of the benchmarks: a cell has its target, and says where the measurement misses it."""

from __future__ import annotations

import re

#: What a cell ends with where the target is missed.
MISSED = " (missed)"


def cell(target: str, measured: float) -> str:
    """The cell of a target such as ``≥ 9``, ``≤ 3``, ``< 1`` or ``0.8 to 1.2``, beside a measured value.

    >>> cell("≥ 9", 10.9), cell("≥ 500", 468.8), cell("0.8 to 1.2", 0.75), cell("", 1.0)
    ('≥ 9', '≥ 500 (missed)', '0.8 to 1.2 (missed)', '')
    """
    bound = re.fullmatch(r"([≥≤<]) ([0-9.]+)", target)
    span = re.fullmatch(r"([0-9.]+) to ([0-9.]+)", target)
    if span:
        is_met = float(span[1]) <= measured <= float(span[2])
    elif bound:
        limit = float(bound[2])
        is_met = {"≥": measured >= limit, "≤": measured <= limit, "<": measured < limit}[bound[1]]
    else:
        is_met = True
    return target + ("" if is_met else MISSED)
