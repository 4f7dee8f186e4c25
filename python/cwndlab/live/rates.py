"""The unit in which rates are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class RateUnit(NamedTuple):
    """The unit of the rates of a campaign: that of its largest one."""

    name: str
    factor: float
    """From bit/s to the unit."""

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]]) -> RateUnit:
        """The unit of the transfers' throughput.

        >>> [RateUnit.of([{"goodput_bps": rate}]).name for rate in (6.6e9, 8e7, 4e4)]
        ['Gbit/s', 'Mbit/s', 'kbit/s']
        """
        largest = max((row.get("goodput_bps") or 0.0 for row in rows), default=0.0)
        if largest >= 1e9:
            return cls("Gbit/s", 1e-9)
        return cls("Mbit/s", 1e-6) if largest >= 1e6 or largest == 0.0 else cls("kbit/s", 1e-3)

    def text(self, rate_bps: float) -> str:
        """A rate with its unit.

        >>> RateUnit("Gbit/s", 1e-9).text(6.6e9)
        '6.60 Gbit/s'
        """
        return f"{rate_bps * self.factor:.2f} {self.name}"
