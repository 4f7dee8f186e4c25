"""How numbers are written for people: as many digits as their interval tells."""

from __future__ import annotations

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

    >>> [number(value) for value in (0.0, 0.12345, 12.345, 1234.5, 0.0000123)]
    ['0', '0.123', '12.3', '1234', '1.2e-05']
    """
    if value == 0:
        return "0"
    if abs(value) < 0.0005:
        return f"{value:.1e}"
    return f"{value:.{max(0, 2 - _scientific(value)[1])}f}"


def mean_and_half(mean: float, half: float | None) -> str:
    """``mean ± half``: the half with two digits where it begins with 1, 2 or 3 and with one else, the mean as far.

    >>> mean_and_half(237.18, 1.08), mean_and_half(0.07372, 0.00402), mean_and_half(1776.3, 182.0)
    ('237.2 ± 1.1', '0.074 ± 0.004', '1780 ± 180')

    A half that these places cannot show is below their last one:

    >>> mean_and_half(100.0, 0.00004)
    '100.0 ± <0.1'
    """
    if half is None:
        return number(mean)
    if half == 0:
        return f"{mean:.{_MOST_OF_MEAN}g} ± 0"
    places = _places(mean, half, _MOST_OF_MEAN)
    if half < 0.5 * 10.0**-places:
        return f"{_fixed(mean, places)} ± <{10.0**-places:.{max(0, places)}f}"
    return f"{_fixed(mean, places)} ± {_fixed(half, places)}"


def interval(one: Estimate, factor: float = 1.0) -> tuple[str, str, str]:
    """Mean, low and high with the same places; ends are empty where there is no interval. An end that is not zero is
    never written as zero."""
    if one.low is None or one.high is None or one.half is None:
        return number(one.mean * factor), "", ""
    values = [value * factor for value in (one.mean, one.low, one.high)]
    largest = max(values, key=abs)
    if one.half * factor <= abs(largest) * _NEXT_TO_NOTHING:
        mean, low, high = (number(value) for value in values)
    else:
        places = _places(largest, one.half * factor, _MOST_OF_END)
        mean, low, high = (_fixed(value, places) for value in values)
    return mean, low, high


def _scientific(value: float) -> tuple[float, int]:
    """Mantissa and exponent of three digits: rounded first, so that 0.0999999 has those of 0.1."""
    mantissa, exponent = f"{abs(value):.2e}".split("e")
    return float(mantissa), int(exponent)


def _places(mean: float, half: float, digits: int) -> int:
    """Decimal places that ``half`` tells, at most those of ``digits`` significant ones (one fewer below 1, where a zero
    leads); below zero where it is large."""
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
