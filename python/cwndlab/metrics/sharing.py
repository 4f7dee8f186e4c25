"""Which flows compete: those whose data crosses the same bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def competing(records: Records, ranked: Sequence[int] | None = None) -> list[int]:
    """The flows whose data crosses the same bottleneck, by index.

    Parameters
    ----------
    records
        A run.
    ranked
        Its bottlenecks, the first one first, where the caller has them (`cwndlab.metrics.interval.bottlenecks`).

    Returns
    -------
    list of int
        The flows of the first bottleneck that the data of at least two flows crosses; empty where no two flows share
        one, as two flows in opposite directions. The links of one 802.11 medium count as one. Of a measurement, whose
        links are not known, all flows.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.competing(records)
    [0, 1]
    """
    routes = records.flows["route"].to_list()
    if len(routes) < 2:
        return []
    links = records.links.select("link", "name").rows()
    if not links:
        return list(range(len(routes)))
    order = interval.bottlenecks(records)["link"].to_list() if ranked is None else ranked
    return together(routes, media(records.document, links), order)


def together(routes: Sequence[str], medium: Mapping[int, str], order: Sequence[int]) -> list[int]:
    """`competing`, from the ``routes`` of the flows, the `media` of the links, and the bottlenecks in their
    ``order``."""
    crossed = [{medium.get(int(link), int(link)) for link in route.split()} for route in routes]
    for link in order:
        place = medium.get(link, link)
        found = [flow for flow, links_of_flow in enumerate(crossed) if place in links_of_flow]
        if len(found) > 1:
            return found
    return []


def share(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``share`` = bytes delivered / bytes delivered to all flows that compete with it (`competing`), over the
    interval; null for a flow that competes with none, and where nothing was delivered.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.share(records, start_s=6)["share"].round(2).to_list()
    [0.66, 0.34]
    """
    span = interval.bounds(records, start_s, end_s)
    rivals = pl.col("flow").is_in(competing(records))
    delivered = pl.col("delivered_bytes")
    total = delivered.filter(rivals).sum()
    part = pl.when(rivals & (total > 0)).then(delivered / total).alias("share")
    gained = interval.gains(records, ["delivered_bytes"], span)
    return records.flows.select("flow", "name", "algorithm").join(
        gained.select("flow", part), on="flow", how="left", maintain_order="left"
    )


def media(document: Mapping[str, Any], links: Sequence[tuple[int, str]]) -> dict[int, str]:
    """The 802.11 medium of each link, (index, name), that is on one."""
    if not document.get("medium") and not document.get("wlan"):
        return {}
    if document.get("wlan"):
        # Every route of a wireless LAN leads over its medium; wires join hosts to it.
        on = dict.fromkeys((name for _, name in links), "wlan")
    else:
        on = dict(_media_of_graph(document.get("link", ())))
    return {index: on[name] for index, name in links if name in on}


def _media_of_graph(links: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for link in links:
        if link.get("medium"):
            there, back = f"{link.get('from')}-{link.get('to')}", f"{link.get('to')}-{link.get('from')}"
            name = link.get("name", there)
            for one in (name, f"{name}-reverse", *([back] if "name" not in link else [])):
                yield one, str(link["medium"])
