"""The Windows study: Ahsan et al., "Performance Evaluation of TCP Cubic, Compound TCP and NewReno under Windows 20H1,
via 802.11n Link to LTE Core Network"."""

from cwndlab.reproduce.windows_lte.growth import FIG2, FIG4

EXPERIMENTS = (FIG2, FIG4)

__all__ = ["EXPERIMENTS"]
