"""The packets that each device of a run sends and receives over its radio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cwndlab.energy.accounts import duration_s, require_packets
from cwndlab.errors import chosen

if TYPE_CHECKING:
    from cwndlab.records import Records

Numbers: TypeAlias = "NDArray[np.float64]"
Flags: TypeAlias = "NDArray[np.bool_]"
#: The end of a flow that is the device.
End: TypeAlias = Literal["source", "sink"]

#: Kinds and a fate, as the table `packets` numbers them.
_DATA, _ACK = 0, 1
_DROPPED = 1
#: Payload of the keep-alives of a workload, and of their answers: PINGREQ and PINGRESP, an empty frame of AMQP, a
#: space, and ping and answer of XEP-0199.
_KEEP_ALIVES = {"mqtt": (2,), "amqp": (8,), "xmpp": (1, 80, 110)}
#: Overhead of a TLS record: header, explicit nonce and tag of AES-GCM (RFC 5288); header, type and tag (RFC 8446).
_RECORD = {"1.2": 29, "1.3": 22, "1.3-0rtt": 22}


@dataclass(frozen=True)
class Traffic:
    """The packets that a device sends and receives over its radio, in the order of their begin; arrays of one length.

    Parameters
    ----------
    link
        The link by which the device is attached.
    flows
        The indices of its flows.
    run_s
        The length of the run, s.
    is_sent
        Whether the device sends the packet; it receives all others.
    begin_s, end_s
        A sent packet: from its arrival in the queue of the radio to its departure. A received one: its time on the air.
        To the end of the run at most.
    air_s
        Bytes / rate of the radio link; zero where that has none.
    bytes, payload_bytes
        Size of the packet, and of its payload.
    is_tcp, is_retransmission, is_keep_alive
        Kinds of packets. Keep-alives are those of MQTT, AMQP and XMPP with their answers and the ACKs of both.
    """

    link: str
    flows: tuple[int, ...]
    run_s: float
    is_sent: Flags
    begin_s: Numbers
    end_s: Numbers
    air_s: Numbers
    bytes: Numbers
    payload_bytes: Numbers
    is_tcp: Flags
    is_retransmission: Flags
    is_keep_alive: Flags

    def where(self, which: Flags) -> Traffic:
        """Some of the packets."""
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        parts: dict[str, Any] = {name: value[which] for name, value in arrays.items()}
        return replace(self, **parts)


def devices(records: Records, end: End = "source") -> Iterator[Traffic]:
    """The traffic of each device of a run, in the order of their links.

    Flows with the same first link (of ``"source"``) or last link (of ``"sink"``) are those of one device. The radio
    link of a flow is the slowest one of its route, in each direction.

    Parameters
    ----------
    records
        A run that recorded its packets.
    end
        The end of the flows that is the device.

    Raises
    ------
    ArgumentError
        The run did not record its packets, or there is no such end.
    """
    chosen("end", "end", end, dict.fromkeys(("source", "sink")))
    require_packets("records", records)
    links = {row["link"]: row for row in records.links.iter_rows(named=True)}
    run_s = duration_s(records)
    by_link: dict[int, list[pl.DataFrame]] = {}
    packets = records.packets.partition_by("flow", as_dict=True)
    workloads = list(_workloads(records.document))
    for row in records.flows.iter_rows(named=True):
        forward = [int(link) for link in row["route"].split()]
        part = packets.get((row["flow"],))
        if part is None or not forward:
            continue
        attached = forward[0] if end == "source" else forward[-1]
        rows = _of_device(part, forward, links, end, run_s)
        keep_alives = _is_keep_alive(rows, workloads[row["flow"]], row["mss_bytes"])
        # Not `export.wire.is_udp`: 6LoWPAN compresses the headers of the profile; those of a hosted stack stay whole.
        by_link.setdefault(attached, []).append(rows.with_columns(keep_alive=keep_alives, tcp=row["profile"] != "udp"))
    for link, parts in sorted(by_link.items()):
        rows = pl.concat(parts).sort("begin", maintain_order=True)
        yield Traffic(
            links[link]["name"],
            tuple(sorted({int(flow) for part in parts for flow in part["flow"].unique()})),
            run_s,
            *(rows[name].to_numpy() for name in ("sent", "begin", "end", "air", "size_bytes", "payload_bytes")),
            *(rows[name].to_numpy() for name in ("tcp", "retransmission", "keep_alive")),
        )


def _of_device(
    part: pl.DataFrame, forward: list[int], links: Mapping[int, Mapping[str, Any]], end: End, run_s: float
) -> pl.DataFrame:
    """The packets of a flow at the radio links, with ``sent``, ``begin``, ``end`` and ``air`` in seconds."""
    first = pl.col("link").first().over("packet")
    is_forward = part.select(first == forward[0]).to_series()
    back = part.filter(~is_forward)
    longest = back.group_by("packet", maintain_order=True).agg("link").sort(pl.col("link").list.len()).tail(1)
    backward: list[int] = longest["link"].to_list()[0] if len(longest) else []
    parts = []
    directions = ((end == "source", part.filter(is_forward), forward), (end == "sink", back, backward))
    for is_sent, direction, route in directions:
        if not route:
            continue
        radio = min(route, key=lambda link: links[link]["rate_bps"] or np.inf)
        air = pl.col("size_bytes") * 8 / (links[radio]["rate_bps"] or np.inf)
        here = direction.filter(pl.col("link") == radio)
        if is_sent:
            here = here.filter(pl.col("fate") != _DROPPED)
            begin, until = pl.col("time_ns") / 1e9, pl.col("departure_ns").fill_null(int(run_s * 1e9)) / 1e9
        else:
            here = here.filter(pl.col("arrival_ns") <= int(run_s * 1e9))
            begin, until = pl.col("arrival_ns") / 1e9 - air, pl.col("arrival_ns") / 1e9
        times = {"begin": begin.clip(0), "end": until.clip(upper_bound=run_s), "air": air}
        parts.append(here.with_columns(sent=pl.lit(is_sent), **times))
    return pl.concat(parts).filter(pl.col("begin") < run_s)


def _workloads(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The workload of each flow."""
    for flow in document["flow"]:
        yield from [flow.get("workload", {})] * flow.get("count", 1)


def _is_keep_alive(rows: pl.DataFrame, workload: Mapping[str, Any], mss: int) -> pl.Series:
    """Which packets are keep-alives, or bare ACKs of keep-alives: an ACK has the number of the next segment."""
    record = _RECORD.get(workload.get("tls", ""), 0)
    sizes = [size + record for size in _KEEP_ALIVES.get(workload.get("kind", ""), ())]
    is_data = (pl.col("kind") == _DATA) & pl.col("payload_bytes").is_in(sizes)
    acked = {
        sent: rows.filter(is_data & (pl.col("sent") == sent)).select(pl.col("sequence_bytes") + mss).to_series()
        for sent in (True, False)
    }
    is_ack = pl.any_horizontal(
        (pl.col("kind") == _ACK) & (pl.col("sent") != sent) & pl.col("sequence_bytes").is_in(of.implode())
        for sent, of in acked.items()
    )
    return rows.select(is_data | is_ack).to_series()
