"""The CUBIC study: Khan, Shoaib, Sarfraz, "A Comprehensive Study of Modern and High Speed TCP-Variant in Linux Kernel:
TCP CUBIC"."""

from cwndlab.reproduce.cubic_study.growth import FIG1, FIG2
from cwndlab.reproduce.cubic_study.wired import FIG7, FIG9

EXPERIMENTS = (FIG1, FIG2, FIG7, FIG9)

__all__ = ["EXPERIMENTS"]
