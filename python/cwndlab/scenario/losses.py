"""Loss models of a wire, one class each.

Made by ``tools/declared_files.py`` from the declarations in ``crates/network/src/loss/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cwndlab.scenario.tables import Table

__all__ = [
    "Bernoulli",
    "GilbertElliott",
    "Loss",
    "LossList",
]


@dataclass(frozen=True)
class Loss(Table):
    """What a wire loses."""

    FIELD: ClassVar[str] = "loss"


@dataclass(frozen=True)
class Bernoulli(Loss):
    """Each packet is lost with the same probability.

    Parameters
    ----------
    p
        Loss probability.
    """

    KIND: ClassVar[str] = "bernoulli"
    p: float


@dataclass(frozen=True)
class GilbertElliott(Loss):
    """Losses in bursts: a chain of a good and a bad state, which may change before each packet (Gilbert 1960,
    Elliott 1963).

    Parameters
    ----------
    p
        Probability of a change from the good state to the bad one.
    r
        Probability of a change from the bad state to the good one.
    loss_bad
        Loss probability in the bad state (default: ``1.0``).
    loss_good
        Loss probability in the good state (default: ``0.0``).
    """

    KIND: ClassVar[str] = "gilbert-elliott"
    p: float
    _: KW_ONLY
    r: float
    loss_bad: float | None = None
    loss_good: float | None = None


@dataclass(frozen=True)
class LossList(Loss):
    """The packets with these indices are lost.

    Parameters
    ----------
    indices
        Indices of the lost packets, from 0, ascending (default: those in ``file``).
    counts
        Which packets count (default: ``"all"``).
    file
        A CSV file with a header line, read in place of ``indices``.
    column
        Its column of indices (default: ``packet_index``).
    where
        Values that other columns of a row must have: ``{ link = "r1-r2" }``.
    """

    KIND: ClassVar[str] = "list"
    indices: Sequence[int] | None = None
    _: KW_ONLY
    counts: Literal["all", "payload"] | None = None
    file: str | None = None
    column: str | None = None
    where: object | None = None


def __dir__() -> list[str]:
    return __all__
