"""The header of a study: what was run, for readers of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

__all__ = ["Header"]


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a study ran.

    Parameters
    ----------
    scenario
        The scenario before its fields varied, as plain values.
    seeds
        The seeds of each cell; with a stopping rule the first ones.
    columns
        The names of the labels.
    axes
        The labels of each axis: those that change together.
    kind
        ``"matrix"`` for `cwndlab.study.matrix`; else empty.
    compared
        The label whose values `cwndlab.compare` compared; empty for a sweep.
    title
        One line on what it shows.
    until
        The stopping rule.
    added
        The numbers of seeds that it added to cells, by their number; ``None`` while that is not known.
    start_s, end_s, warm_up
        The interval of the metrics.
    flows, against
        The flows that used the compared algorithms (``None``: all), and the algorithm of the others.
    metrics
        The compared metrics, if they are not the usual ones.
    further
        Metrics that were requested beside them.
    notes
        Remarks on how it was measured.
    engine, measure
        Versions of the engine and of the metrics.
    total, complete
        The number of runs, and whether all of them exist.

    Examples
    --------
    >>> Header(scenario={}, seeds=[1], columns=["algorithm"]).axes
    [['algorithm']]
    """

    scenario: Mapping[str, Any] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    columns: Sequence[str] = ()
    axes: Sequence[Sequence[str]] = ()
    kind: str = ""
    compared: str = ""
    title: str = ""
    until: str | None = None
    added: Mapping[str, int] | None = None
    start_s: float | None = None
    end_s: float | None = None
    warm_up: str | None = None
    flows: list[str] | None = None
    against: str | None = None
    metrics: list[str] | None = None
    further: Sequence[str] = ()
    notes: Sequence[str] = ()
    engine: str = ""
    measure: str = ""
    total: int = 0
    complete: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", list(self.seeds))
        if not self.axes:
            object.__setattr__(self, "axes", [[name] for name in self.columns])

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Header:
        """The header in a store's manifest; other keys are left out."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def as_dict(self) -> dict[str, Any]:
        """The header as plain values."""
        return asdict(self)
