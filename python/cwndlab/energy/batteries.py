"""Batteries: how long they last, and how many messages they send."""

from __future__ import annotations

from dataclasses import dataclass

from cwndlab.errors import chosen

#: The share of the nominal capacity that a device can use before the voltage is too low.
USABLE = 0.8
#: Self-discharge of a primary cell, share of the usable capacity per year.
SELF_DISCHARGE = 0.01
_YEAR_S = 365.25 * 86_400


@dataclass(frozen=True)
class Battery:
    """A battery.

    Parameters
    ----------
    name
        Its name here.
    joules
        Nominal capacity × nominal voltage, J.

    Examples
    --------
    Two AA cells of 2.5 Ah at 3 V, and a mean power of 1 mW: 21.6 kJ / (31,558 + 216) J per year.

    >>> round(battery("2-aa").lifetime_years(1e-3), 2)
    0.68
    """

    name: str
    joules: float

    def lifetime_years(self, power_w: float) -> float:
        """Years until the usable capacity is spent at this mean power, W, and by self-discharge."""
        usable = USABLE * self.joules
        return usable / (power_w * _YEAR_S + SELF_DISCHARGE * usable)

    def messages(self, joules_per_message: float) -> float:
        """The number of messages that the usable capacity sends at this energy per message, J."""
        return USABLE * self.joules / joules_per_message


#: Capacity × voltage of usual sizes: CR2032 230 mAh at 3 V, two AA of 2.5 Ah at 3 V, AA of lithium thionyl chloride
#: 2.6 Ah at 3.6 V, 18650 3 Ah at 3.7 V, a phone 4.5 Ah at 3.85 V; brands differ by a tenth. 5 Wh is the battery of
#: 3GPP TR 45.820.
BATTERIES = {
    one.name: one
    for one in (
        Battery("cr2032", 0.230 * 3600 * 3.0),
        Battery("2-aa", 2.5 * 3600 * 3.0),
        Battery("aa-lithium", 2.6 * 3600 * 3.6),
        Battery("18650", 3.0 * 3600 * 3.7),
        Battery("phone", 4.5 * 3600 * 3.85),
        Battery("5-wh", 5.0 * 3600),
    )
}


def battery(name: str) -> Battery:
    """The battery of this name.

    Parameters
    ----------
    name
        A key of `BATTERIES`.

    Raises
    ------
    ArgumentError
        There is no such battery.

    Examples
    --------
    >>> battery("cr2032").joules
    2484.0
    """
    return chosen("name", "battery", name, BATTERIES)
