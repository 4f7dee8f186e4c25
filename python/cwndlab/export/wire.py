"""What packets were on the wire: their ways through the network, and their bytes numbered as TCP numbers them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from cwndlab.errors import Fault, RecordsError

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Kinds of packets, as the table `packets` numbers them.
DATA, ACK, SYN, SYN_ACK = range(4)
#: Fates.
DROPPED, LOST, MARKED = 1, 2, 3


class Way(NamedTuple):
    """The links that a flow's packets cross one after the other: ``forward`` those of its sender."""

    flow: int
    forward: bool


def is_udp(flow: dict[str, Any]) -> bool:
    """Whether a row of the table `flows` is of datagrams: a hosted stack has a profile of its own, but no flow over TCP
    has a one-way delay.

    This is what is on the wire. Tables and metrics ask for the profile ``udp`` alone: a hosted stack has a window, RTTs
    and retransmissions, as flows over TCP have them.
    """
    return flow["profile"] == "udp" or flow["min_delay_ns"] is not None


class Wire:
    """The recorded packets of a run, in the order in which they reached each link.

    Raises ``RecordsError`` if none were recorded.
    """

    def __init__(self, records: Records) -> None:
        if not len(records.packets):
            raise RecordsError(
                Fault("packets", "no packet was recorded", "run again with `--set packets=true`, or with `--pcap`")
            )
        self.records = records
        self.links: list[str] = records.links["name"].to_list()
        self.flows: list[dict[str, Any]] = records.rows("flows")
        self.datagrams = frozenset(flow["flow"] for flow in self.flows if is_udp(flow))
        self.packets = self._directed(records.packets.sort("time_ns", "packet", maintain_order=True))

    def _directed(self, packets: pl.DataFrame) -> pl.DataFrame:
        """Adds whether a packet travels from its flow's sender to its receiver: its first link is on the flow's route.

        The kind does not tell it: both ends of a dialogue send data and ACKs, and both ends of UDP data. Only without a
        route, as of measured transfers, data are the sender's.
        """
        routes = {flow["flow"]: sorted({int(link) for link in flow["route"].split()}) for flow in self.flows}
        pairs = [(flow, link) for flow, links in routes.items() for link in links]
        schema = {"flow": packets.schema["flow"], "first": packets.schema["link"]}
        own = pl.DataFrame(pairs, schema=schema, orient="row").with_columns(forward=True)
        by_kind = pl.col("flow").is_in([flow for flow, links in routes.items() if not links])
        packets = packets.with_columns(pl.col("link").first().over("flow", "packet").alias("first"))
        packets = packets.join(own, on=["flow", "first"], how="left", maintain_order="left").drop("first")
        is_data = pl.col("kind").is_in([DATA, SYN])
        by_route = pl.col("forward").fill_null(value=False)
        return packets.with_columns(pl.when(by_kind).then(is_data).otherwise(by_route).alias("forward"))

    @cached_property
    def ways(self) -> dict[Way, list[int]]:
        """The links of each way, as far as any packet came."""
        crossed = self.packets.unique(["packet", "link"], keep="first", maintain_order=True)
        crossed = crossed.with_columns(pl.len().over("packet").alias("count"))
        longest = crossed.filter(pl.col("count") == pl.col("count").max().over("flow", "forward"))
        longest = longest.filter(pl.col("packet") == pl.col("packet").min().over("flow", "forward"))
        result: dict[Way, list[int]] = {}
        for flow, forward, link in longest.select("flow", "forward", "link").iter_rows():
            result.setdefault(Way(flow, forward), []).append(link)
        return result

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """The nodes that each link leads from and to: where one link of a way ends the next one begins, where a flow's
        data end its ACKs begin, and a link and its reverse, as their names tell, join the same two."""
        parent = list(range(2 * len(self.links)))

        def root(one: int) -> int:
            while parent[one] != one:
                parent[one] = parent[parent[one]]
                one = parent[one]
            return one

        def join(one: int, other: int) -> None:
            first, second = sorted((root(one), root(other)))
            parent[second] = first

        for way, links in self.ways.items():
            for before, after in pairwise(links):
                join(2 * before + 1, 2 * after)
            back = self.ways.get(Way(way.flow, not way.forward))
            if back:
                join(2 * links[-1] + 1, 2 * back[0])
        for link, name in enumerate(self.links):
            for other in _reverses(name):
                if other in self.links:
                    back_link = self.links.index(other)
                    join(2 * link, 2 * back_link + 1)
                    join(2 * link + 1, 2 * back_link)
        numbers: dict[int, int] = {}
        used = {link for links in self.ways.values() for link in links}
        for link in sorted(used):
            for end in (2 * link, 2 * link + 1):
                numbers.setdefault(root(end), len(numbers))
        return [(numbers.get(root(2 * link), 0), numbers.get(root(2 * link + 1), 0)) for link in range(len(self.links))]

    @cached_property
    def _short(self) -> dict[tuple[int, int, bool], tuple[list[int], list[int]]]:
        """Per flow, connection and direction the segments that are not full, and the bytes that all up to each lack."""
        sizes = {flow["flow"]: flow["mss_bytes"] for flow in self.flows}
        key = ("flow", "connection", "forward")
        data = self.packets.filter((pl.col("kind") == DATA) & (pl.col("payload_bytes") > 0)).unique(
            [*key, "sequence_bytes"], keep="first"
        )
        full = pl.col("flow").replace_strict(sizes, return_dtype=pl.Int64)
        data = data.with_columns((full - pl.col("payload_bytes")).alias("lack")).filter(pl.col("lack") > 0)
        result: dict[tuple[int, int, bool], tuple[list[int], list[int]]] = {}
        rows = data.sort(*key, "sequence_bytes")
        for *ends, start, lack in rows.select(*key, "sequence_bytes", "lack").iter_rows():
            starts, lacks = result.setdefault((ends[0], ends[1], ends[2]), ([], []))
            starts.append(start)
            lacks.append(lack + (lacks[-1] if lacks else 0))
        return result

    def byte(self, flow: int, connection: int, sequence_bytes: int, *, forward: bool = True) -> int:
        """The number of a payload byte within its connection and direction, from 0. The simulator numbers segments, and
        its byte numbers count each as full; those of transfers' ends are shorter."""
        starts, lacks = self._short.get((flow, connection, forward), ([], []))
        before = bisect_left(starts, sequence_bytes)
        return sequence_bytes - (lacks[before - 1] if before else 0)

    @cached_property
    def fates(self) -> dict[int, str]:
        """What became of the packets that were dropped or lost, in words."""
        gone = self.packets.filter(pl.col("fate").is_in([DROPPED, LOST]))
        result = {}
        for packet, link, fate, time, departure in gone.select(
            "packet", "link", "fate", "time_ns", "departure_ns"
        ).iter_rows():
            when = seconds(time if departure is None else departure)
            how = "dropped by the queue of" if fate == DROPPED else "lost on the wire of"
            result[packet] = f"{how} {self.links[link]} at {when} s"
        return result

    def rows(self, *conditions: pl.Expr, link: int | None = None) -> Iterator[dict[str, Any]]:
        """The recorded packets that meet all conditions, of one link or of all, as plain values."""
        table = self.packets if link is None else self.packets.filter(pl.col("link") == link)
        yield from (table.filter(*conditions) if conditions else table).iter_rows(named=True)


def _reverses(name: str) -> Iterator[str]:
    """What the link back is called: ``b-a`` of ``a-b``, ``hop1-reverse`` of ``hop1``."""
    yield f"{name}-reverse"
    for at, letter in enumerate(name):
        if letter == "-":
            yield f"{name[at + 1 :]}-{name[:at]}"


def seconds(time_ns: int) -> str:
    """A time with all its nanoseconds, without rounding."""
    return f"{time_ns // 10**9}.{time_ns % 10**9:09d}"
