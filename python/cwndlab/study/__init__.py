"""Studies: comparisons, sweeps, searches of parameters, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study import benchmark as benchmark
    from cwndlab.study import compare as compare
    from cwndlab.study import comparison as comparison
    from cwndlab.study import journal as journal
    from cwndlab.study import lock as lock
    from cwndlab.study import matrix as matrix
    from cwndlab.study import schemas as schemas
    from cwndlab.study import sweeps, tuning

__all__ = ["sweeps", "tuning"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        modules=("benchmark", "compare", "comparison", "journal", "lock", "matrix", "schemas", "sweeps", "tuning"),
        names={},
        public=__all__,
    )
