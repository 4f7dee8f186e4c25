"""Utilisation: bits that left the bottleneck over what it could carry (RFC 5166, section 2.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, Numbers, link_table, of_links

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_links("utilisation", "%", 100.0, direction=1, source="RFC 5166, section 2.1.1")
def _utilisation(run: MeasuredRun) -> Numbers:
    """Bytes that left the bottleneck / bytes that it could have carried."""
    constant = run.of_links("rate_bps") * run.span.seconds / 8
    counted = ~np.isnan(run.of_links("carriable_bytes"))
    carriable = np.where(counted, run.link_gained("carriable_bytes"), constant)
    share = np.divide(run.link_gained("sent_bytes"), carriable, out=np.zeros(len(carriable)), where=carriable > 0)
    return np.minimum(share, 1.0)


UTILISATION = (_utilisation,)


def utilisation(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first (`cwndlab.metrics.interval` says which): ``utilisation`` = bytes sent / bytes
    that the line could have carried, which is rate × time, or, where the rate varies (trace, token bucket, schedule),
    what the engine counts.

    A packet counts where its last bit leaves, so that an interval may count up to one packet more than its time
    carries: 1 is the largest value.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.utilisation(records).filter(link="bottleneck")["utilisation"].round(2).to_list()
    [0.93]
    """
    return link_table(MeasuredRun(records, start_s, end_s), UTILISATION)
