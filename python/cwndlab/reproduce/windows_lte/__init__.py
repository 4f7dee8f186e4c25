"""The Windows study: Ahsan et al., "Performance Evaluation of TCP Cubic, Compound TCP and NewReno under Windows 20H1,
via 802.11n Link to LTE Core Network".

What it did before it measured (`preflight`: networks, channels, route, stack) is a live measurement of two hosts, not a
simulation, and no experiment here.
"""

from cwndlab.reproduce.windows_lte.download import FIG16, FIG17, TABLE1
from cwndlab.reproduce.windows_lte.growth import FIG2, FIG4

EXPERIMENTS = (TABLE1, FIG16, FIG17, FIG2, FIG4)

__all__ = ["EXPERIMENTS"]
