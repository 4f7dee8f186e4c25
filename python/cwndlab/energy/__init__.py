"""Energy of devices: the power states of radios over a run, joule per delivered message, and batteries.

Energy is the sum over states of power × time, plus that of the transitions (:doc:`/energy`). The times follow from the
records of a run: airtimes of 802.11 stations, and the packets of devices over a cellular or an 802.15.4 radio.
"""

from cwndlab.energy.accounts import summary
from cwndlab.energy.batteries import BATTERIES, Battery, battery
from cwndlab.energy.cellular import CELLULAR, Cellular, cellular, paging_waits
from cwndlab.energy.hosts import HOSTS, Host, host
from cwndlab.energy.lowpan import LOWPAN, Lowpan, Mac, lowpan
from cwndlab.energy.power_save import PowerSave
from cwndlab.energy.rrc import Timers
from cwndlab.energy.wifi import WIFI, Wifi, sleep_waits, stations

__all__ = [
    "BATTERIES",
    "CELLULAR",
    "HOSTS",
    "LOWPAN",
    "WIFI",
    "Battery",
    "Cellular",
    "Host",
    "Lowpan",
    "Mac",
    "PowerSave",
    "Timers",
    "Wifi",
    "battery",
    "cellular",
    "host",
    "lowpan",
    "paging_waits",
    "sleep_waits",
    "stations",
    "summary",
]


def __dir__() -> list[str]:
    return __all__
