"""The Windows study: Ahsan et al., "Performance Evaluation of TCP Cubic, Compound TCP and NewReno under Windows 20H1,
via 802.11n Link to LTE Core Network".

What it did before it measured is `windows-lte/preflight` as far as a simulation shows it; on a real path `cwndlab
preflight` and `cwndlab measure` do the whole.
"""

from cwndlab.reproduction.windows_lte.download import FIG16, FIG17, TABLE1
from cwndlab.reproduction.windows_lte.growth import FIG2, FIG4
from cwndlab.reproduction.windows_lte.others import FIG1, RTT_FAIRNESS
from cwndlab.reproduction.windows_lte.preflight import PREFLIGHT

EXPERIMENTS = (TABLE1, FIG16, FIG17, RTT_FAIRNESS, FIG1, FIG2, FIG4, PREFLIGHT)

__all__ = ["EXPERIMENTS"]
