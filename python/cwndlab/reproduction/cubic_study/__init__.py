"""The CUBIC study: Khan, Shoaib, Sarfraz, "A Comprehensive Study of Modern and High Speed TCP-Variant in Linux Kernel:
TCP CUBIC"."""

from cwndlab.reproduction.cubic_study.growth import FIG1, FIG2
from cwndlab.reproduction.cubic_study.wired import FIG7, FIG9
from cwndlab.reproduction.cubic_study.wireless import FIG11A, FIG11B

EXPERIMENTS = (FIG1, FIG2, FIG7, FIG9, FIG11A, FIG11B)

__all__ = ["EXPERIMENTS"]
