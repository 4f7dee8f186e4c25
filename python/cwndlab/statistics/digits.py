"""How numbers are written for people: as many digits as their interval tells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cwndlab.statistics import Estimate

# Significant digits that a mean, and an end of an interval, have at most.
_MOST_OF_MEAN = 4
_MOST_OF_END = 6
# An interval narrower than this part of its ends is rounding.
_NEXT_TO_NOTHING = 1e-6


def number(value: float) -> str:
    """Three significant digits, whole numbers from 1000 on, and no exponent where people read it.

    >>> [number(value) for value in (0.0, 0.12345, 12.345, 1234.5, 0.0000123, math.nan)]
    ['0', '0.123', '12.3', '1234', '1.2e-05', '–']
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < 0.0005:
        return f"{value:.1e}"
    return f"{value:.{max(0, 2 - _scientific(value)[1])}f}"


def mean_and_half(mean: float, half: float | None) -> str:
    """``mean ± half``: the half with two digits up to 3.54 × 10ⁿ and with one above, as the Particle Data Group rounds,
    the mean as far. A half below the last digit of the mean is written as one of that digit: the interval is not
    narrower than the number.

    >>> mean_and_half(237.18, 1.08), mean_and_half(0.07372, 0.00402), mean_and_half(1776.3, 182.0)
    ('237.2 ± 1.1', '0.074 ± 0.004', '1780 ± 180')
    >>> mean_and_half(99.99996, 0.00004)
    '100.0 ± 0.1'
    """
    if not half:
        return number(mean)
    places = _places(mean, half, _MOST_OF_MEAN)
    return f"{_fixed(mean, places)} ± {_fixed(max(half, 10.0**-places), places)}"


def mean_with_interval(one: Estimate, factor: float = 1.0) -> str:
    """`mean_and_half` of an estimate; where all values are the same, that they are.

    >>> from cwndlab.statistics import estimate
    >>> mean_with_interval(estimate([1.0, 2.0, 3.0])), mean_with_interval(estimate([7.0, 7.0]), factor=100)
    ('2.0 ± 2.5', '700 (one result)')
    >>> mean_with_interval(estimate([40.0, 40.0]))
    '40 (one result)'
    """
    mean = one.mean * factor
    if one.is_constant:
        return f"{_exact(mean)} (one result)"
    return mean_and_half(mean, None if one.half is None else one.half * factor)


def _exact(value: float) -> str:
    """A number without an interval: whole ones, such as counts, without decimals."""
    return f"{value:.0f}" if value == round(value) else number(value)


def interval(one: Estimate, factor: float = 1.0) -> tuple[str, str, str]:
    """Mean, low and high with the same places; ends are empty if there is no interval. An end that is not zero is
    never written as zero, and ends that these places do not tell apart are rounded outwards.

    >>> from cwndlab.statistics import Estimate
    >>> interval(Estimate(100.00004, 100.00002, 100.00006, 5))
    ('100.000', '100.000', '100.001')
    """
    if one.low is None or one.high is None or one.half is None:
        return _exact(one.mean * factor), "", ""
    values = [value * factor for value in (one.mean, one.low, one.high)]
    largest = max(values, key=abs)
    half = max(one.half * factor, abs(largest) * _NEXT_TO_NOTHING)
    if half == 0:
        return number(0.0), number(0.0), number(0.0)
    places = _places(largest, half, _MOST_OF_END)
    mean, low, high = (_fixed(value, places) for value in values)
    if low == high:
        low, high = _outwards(values[1], math.floor, places), _outwards(values[2], math.ceil, places)
    return mean, low, high


def _outwards(value: float, rounded: Callable[[float], int], places: int) -> str:
    """An end of an interval rounded away from its mean."""
    steps = value * 10.0**places
    # A value that has these places is not moved by its binary form.
    whole = round(steps) if math.isclose(steps, round(steps), rel_tol=1e-9) else rounded(steps)
    return _fixed(whole * 10.0**-places, places)


def p_value(p: float | None) -> str:
    """A p-value; never zero.

    >>> [p_value(p) for p in (None, 0.0, 0.0004, 0.0213)]
    ['–', '< 0.001', '< 0.001', '0.021']
    """
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _scientific(value: float) -> tuple[float, int]:
    """Mantissa and exponent of three digits: rounded first, so that 0.0999999 has those of 0.1."""
    mantissa, exponent = f"{abs(value):.2e}".split("e")
    return float(mantissa), int(exponent)


def _places(mean: float, half: float, digits: int) -> int:
    """Decimal places that ``half`` tells, at most those of ``digits`` significant ones (one fewer below 1, where a zero
    leads); below zero if it is large."""
    mantissa, exponent = _scientific(half)
    places = (1 if mantissa < 3.55 else 0) - exponent
    size = _scientific(max(abs(mean), half))[1]
    return min(places, digits - 1 - size - (size < 0))


def _fixed(value: float, places: int) -> str:
    text = f"{round(value, places):.{max(0, places)}f}"
    if value != 0 and float(text) == 0:
        return f"{float(f'{value:.1g}'):g}"
    return text


# Beyond this an effect size tells only that the series do not overlap.
_LARGEST_EFFECT = 10.0


def effect_size(one: Estimate | None) -> str:
    """A standardised effect with its interval; beyond 10 only that it is larger.

    >>> from cwndlab.statistics import Estimate
    >>> [effect_size(Estimate(mean, mean - 1, mean + 1, 5)) for mean in (0.5, 9.5, -2050.0)]
    ['0.50 [-0.50, 1.50]', '9.50 [8.50, > 10]', '< -10']
    """

    def capped(value: float) -> str:
        if abs(value) <= _LARGEST_EFFECT:
            return f"{value:.2f}"
        return f"> {_LARGEST_EFFECT:g}" if value > 0 else f"< -{_LARGEST_EFFECT:g}"

    if one is None:
        return "–"
    if one.low is None or one.high is None or abs(one.mean) > _LARGEST_EFFECT:
        return capped(one.mean)
    return f"{one.mean:.2f} [{capped(one.low)}, {capped(one.high)}]"
