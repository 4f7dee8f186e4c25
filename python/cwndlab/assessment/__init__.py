"""Dossiers by RFC 9743: an algorithm compared with CUBIC and with Reno in its place, a row per criterion."""

from cwndlab.assessment.dossier import Dossier
from cwndlab.assessment.runner import assess

__all__ = ["Dossier", "assess"]


def __dir__() -> list[str]:
    return __all__
