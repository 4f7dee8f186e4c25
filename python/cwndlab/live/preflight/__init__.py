"""What can be found out of a path and of its ends before anything is measured: route, RTT, Wi-Fi, the stack's settings.

Nothing here needs root. Properties that cannot be determined are listed with their reason.
"""

from cwndlab.live.preflight.captured import decoded, read
from cwndlab.live.preflight.channels import CANDIDATES, Choice, least_overlapped
from cwndlab.live.preflight.neighbourhood import neighbourhood_scenario
from cwndlab.live.preflight.route import Hop, parse_route, trace
from cwndlab.live.preflight.rtt import Rtts, ping, tcp_connects
from cwndlab.live.preflight.surveying import Survey, Target, survey
from cwndlab.live.preflight.tcp import Setting, linux_settings, profile_of, windows_settings
from cwndlab.live.preflight.wifi import Network, parse_networks

__all__ = [
    "CANDIDATES",
    "Choice",
    "Hop",
    "Network",
    "Rtts",
    "Setting",
    "Survey",
    "Target",
    "decoded",
    "least_overlapped",
    "linux_settings",
    "neighbourhood_scenario",
    "parse_networks",
    "parse_route",
    "ping",
    "profile_of",
    "read",
    "survey",
    "tcp_connects",
    "trace",
    "windows_settings",
]


def __dir__() -> list[str]:
    return __all__
