"""Energy of devices: the power states of radios over a run, joule per delivered message, and batteries.

Energy is the sum over states of power × time, plus that of the transitions (:doc:`/energy`). The times follow from the
records of a run: airtimes of 802.11 stations, and the messages of flows over a cellular radio.
"""

from cwndlab.energy.batteries import BATTERIES, Battery, battery
from cwndlab.energy.cellular import CELLULAR, Cellular, cellular, connected_times
from cwndlab.energy.wifi import WIFI, Wifi, stations

__all__ = [
    "BATTERIES",
    "CELLULAR",
    "WIFI",
    "Battery",
    "Cellular",
    "Wifi",
    "battery",
    "cellular",
    "connected_times",
    "stations",
]


def __dir__() -> list[str]:
    return __all__
