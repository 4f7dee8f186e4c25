"""Runs experiments and gathers their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cwndlab.reproduce.catalogue import find
from cwndlab.reproduce.claims import Finding

#: Columns of the answer.
COLUMNS = ("id", "quantity", "published", "measured", "low", "high", "verdict", "reason")


def reproduce(
    target: str,
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[Finding]:
    """The findings of ``PAPER`` or ``PAPER/FIGURE``, in the size of the paper or, ``quick``, in minutes.

    Both sizes use the same code; durations, repetitions and grid points differ.
    """
    from cwndlab.reproduce import ccm_ss
    from cwndlab.reproduce.table1 import table1

    figures = {**ccm_ss.FIGURES, "table1": table1}
    size = ccm_ss.QUICK if quick else ccm_ss.FULL
    for name in find(target):
        figure = figures[name.split("/")[1]]
        yield from figure(size, seed=seed, workers=workers, progress=progress)
