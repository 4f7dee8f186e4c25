"""Which flows compete: those whose data crosses the same bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_flows

if TYPE_CHECKING:
    import polars as pl

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
    return rivals(MeasuredRun(records))


def rivals(run: MeasuredRun) -> list[int]:
    """The flows that compete (`competing`)."""
    routes = [row["route"] for row in run.flow_rows]
    if len(routes) < 2:
        return []
    if not run.link_rows:
        return list(range(len(routes)))
    medium = media(run.records.document, [(link["link"], link["name"]) for link in run.link_rows])
    crossed = [{medium.get(int(link), int(link)) for link in route.split()} for route in routes]
    for bottleneck in run.bottlenecks:
        place = medium.get(bottleneck["link"], bottleneck["link"])
        found = [flow for flow, links_of_flow in enumerate(crossed) if place in links_of_flow]
        if len(found) > 1:
            return found
    return []


@of_flows("share", "%", 100.0, together="sum", competed_for=True)
def _share(run: MeasuredRun) -> Numbers:
    """Bytes delivered / bytes delivered to all flows that compete with this one."""
    mine = rivals(run)
    delivered, found = run.gained("delivered_bytes"), np.full(len(run.flow_rows), np.nan)
    if total := delivered[mine].sum():
        found[mine] = delivered[mine] / total
    return found


#: What only single flows have.
SHARE = (_share,)


def share(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``share`` = bytes delivered / bytes delivered to all flows that compete with it (`competing`), over the
    interval; null for a flow that competes with none, and where nothing was delivered.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.share(records, start_s=6)["share"].round(2).to_list()
    [0.94, 0.06]
    """
    return flow_table(MeasuredRun(records, start_s, end_s), SHARE)


def media(document: Mapping[str, Any], links: Sequence[tuple[int, str]]) -> dict[int, str]:
    """The 802.11 medium, or the direction of a cell, of each link, (index, name), that is on one."""
    if not any(document.get(kind) for kind in ("medium", "cell", "wlan")):
        return {}
    if document.get("wlan"):
        # Every route of a wireless LAN leads over its medium; wires join hosts to it.
        on = dict.fromkeys((name for _, name in links), "wlan")
    else:
        stations = {cell["name"]: cell["base_station"] for cell in document.get("cell", ())}
        groups = {node["name"]: node["count"] for node in document.get("node", ()) if "count" in node}
        every = [one for link in document.get("link", ()) for one in _members(link, groups)]
        on = dict(_media_of_graph(every, stations))
    return {index: on[name] for index, name in links if name in on}


def _members(link: Mapping[str, Any], groups: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """The links of which one stands for several: one for each node of a group, numbered from 1."""
    counts = [groups[link[end]] for end in ("from", "to") if link.get(end) in groups]
    if not counts:
        yield dict(link)
        return
    for number in range(1, counts[0] + 1):
        named = {end: f"{link[end]}-{number}" for end in ("from", "to") if link[end] in groups}
        yield {**link, **named, **({"name": f"{link['name']}-{number}"} if "name" in link else {})}


def _media_of_graph(links: Sequence[Mapping[str, Any]], stations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    stated = {(link.get("from"), link.get("to")) for link in links}
    for link in links:
        ends = link.get("from"), link.get("to")
        if link.get("medium"):
            ways = (str(link["medium"]),) * 2
        elif cell := link.get("cell"):
            down = ends[0] == stations.get(cell)
            ways = (f"{'down' if down else 'up'}link of {cell}", f"{'up' if down else 'down'}link of {cell}")
        else:
            continue
        yield link.get("name", f"{ends[0]}-{ends[1]}"), ways[0]
        # The other direction is called so whatever the name of the link is, unless it is a link of its own.
        if ends[::-1] not in stated:
            yield f"{ends[1]}-{ends[0]}", ways[1]
