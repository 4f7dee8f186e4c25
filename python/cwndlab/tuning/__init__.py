"""Tuning: a search for an algorithm's parameters, judged on scenarios that it has not seen."""

from cwndlab.tuning.question import Range, Tuning, load
from cwndlab.tuning.search import Found, tune

__all__ = ["Found", "Range", "Tuning", "load", "tune"]


def __dir__() -> list[str]:
    return __all__
