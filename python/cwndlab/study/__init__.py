"""Studies: comparisons, sweeps, searches of parameters, and what they share.

A study (`cwndlab.study.spec`) is points × seeds, each point a scenario with labels. An executor
(`cwndlab.study.executor`) runs what its store (`cwndlab.study.store`) lacks; the rows are a `Result`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study import benchmark as benchmark
    from cwndlab.study import cluster as cluster
    from cwndlab.study import fields as fields
    from cwndlab.study import findings as findings
    from cwndlab.study import matrix as matrix
    from cwndlab.study import schemas as schemas
    from cwndlab.study import sweeps, tuning
    from cwndlab.study import tables as tables

__all__ = ["sweeps", "tuning"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(__name__, {}, public=__all__)
