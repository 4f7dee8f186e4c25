"""Tuning: a search for an algorithm's parameters, evaluated on held-out scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study.tuning import expression as expression
    from cwndlab.study.tuning import search as search
    from cwndlab.study.tuning import spec as spec
    from cwndlab.study.tuning import tables as tables
    from cwndlab.study.tuning.search import TuningResult, tune
    from cwndlab.study.tuning.spec import Range, Tuning, load

__all__ = ["Range", "Tuning", "TuningResult", "load", "tune"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {"search": ("TuningResult", "tune"), "spec": ("Range", "Tuning", "load")},
        public=__all__,
    )
