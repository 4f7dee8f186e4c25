"""Loss models of a wire, one class each.

Made by ``tools/declared_files.py`` from the declarations in ``crates/network/src/loss/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cwndlab.tables import Table

__all__ = [
    "Bernoulli",
    "GilbertElliott",
    "Loss",
    "LossList",
]


@dataclass(frozen=True)
class Loss(Table):
    """A loss model of a wire."""

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
    """Bursts of losses: a Markov chain of a good and a bad state with one transition before each packet (Gilbert
    1960, Elliott 1963).

    Parameters
    ----------
    p
        Probability of the transition from the good to the bad state.
    r
        Probability of the transition from the bad to the good state.
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
        Indices of the lost packets, from 0, ascending (default: the indices in ``file``).
    counts
        Packets to which the indices apply (default: ``"all"``).
    file
        CSV file with a header line, in place of ``indices``.
    column
        Column of the indices in ``file`` (default: ``packet_index``).
    where
        Required values of other columns: ``{ link = "r1-r2" }``.
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
