"""Utilisation: bits that left the bottleneck over what it could carry (RFC 5166, section 2.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


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
    span = interval.bounds(records, start_s, end_s)
    counted = pl.col("carriable_bytes")
    varies = records.links.filter(counted.is_not_null())["name"].implode()
    carriable = pl.when(pl.col("name").is_in(varies)).then(counted).otherwise(pl.col("rate_bps") * span.seconds / 8)
    share = pl.when(carriable > 0).then((pl.col("sent_bytes") / carriable).clip(0.0, 1.0)).otherwise(0.0)
    return interval.link_gains(records, ["sent_bytes", "carriable_bytes"], span).select(
        pl.col("name").alias("link"), share.alias("utilisation")
    )
