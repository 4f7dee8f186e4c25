"""The numbers of a finding as text."""

from __future__ import annotations

import math

from cwndlab.reproduction.claims import Finding
from cwndlab.statistics.digits import number, p_value


def shown(finding: Finding) -> tuple[str, str]:
    """The measured value and its interval, with as many digits as the interval determines, and with so many next to 1
    that 0.9985 is not written as 1."""
    if finding.measured is None:
        return "–", "–"
    if finding.measured_is == "p":
        return p_value(finding.measured), "–"
    if finding.low is None or finding.high is None:
        return number(finding.measured), "–"
    half = (finding.high - finding.low) / 2
    if half == 0:
        return number(finding.measured), "–"
    values = (finding.measured, finding.low, finding.high)
    places = min(4, max(0, 1 - math.floor(math.log10(half))))
    mean, low, high = (_near_one(value, places) or f"{value:.{places}f}" for value in values)
    if low == high:  # not narrower than the digits
        unit = 10**places
        low, high = (
            f"{math.floor(finding.low * unit) / unit:.{places}f}",
            f"{math.ceil(finding.high * unit) / unit:.{places}f}",
        )
    return mean, f"{low} … {high}"


def _near_one(value: float, places: int = 2) -> str | None:
    """Four decimals of a value that ``places`` decimals would round to 1 and four do not."""
    text = f"{value:.4f}"
    return text if f"{value:.{places}f}" == f"{1:.{places}f}" and text != "1.0000" else None
