"""Energy of 802.15.4 radios at 2.4 GHz (250 kbit/s) that carry the packets of a run as frames of 6LoWPAN.

No medium here is 802.15.4: the packets of a flow over any line are divided into frames, and each frame is charged with
its channel access, its time on the air and its acknowledgement. Queueing and collisions are those of the line.

Sources: IEEE 802.15.4-2006, secondary sources (constants of ns-2's ``wpan`` and of Linux); RFC 4944 (fragments),
RFC 6282 (compression of headers), both from memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from cwndlab.energy.accounts import check, per_message, preset, table
from cwndlab.energy.hosts import Host, processor
from cwndlab.energy.intervals import union
from cwndlab.energy.traffic import End, Traffic, devices
from cwndlab.errors import ArgumentError, parameter_fault

if TYPE_CHECKING:
    from cwndlab.records import Records

#: A byte at 250 kbit/s; preamble, delimiter and length before each frame; the largest frame.
BYTE_S, PREFIX_BYTES, MAX_FRAME_BYTES = 32e-6, 6, 127
#: An acknowledgement, as a frame; 12 symbols between receiving and sending; 8 symbols of clear-channel assessment.
ACK_BYTES, TURNAROUND_S, CCA_S = 5, 192e-6, 128e-6
#: 20 symbols; 54 symbols.
BACKOFF_S, ACK_WAIT_S = 320e-6, 864e-6
#: macMinBE, macMaxBE, macMaxCSMABackoffs, macMaxFrameRetries.
_MIN_BE, _MAX_BE, _BACKOFFS, _RETRIES = 3, 5, 4, 3
#: The largest header of TCP.
_MOST_TRANSPORT_BYTES = 60
#: IPv6 and UDP uncompressed: offsets of fragments count these bytes.
_IPV6_BYTES, _UDP_BYTES, _IPV4_BYTES = 40, 8, 20


@dataclass(frozen=True)
class Lowpan:
    """The power of an 802.15.4 radio in its states, W.

    Parameters
    ----------
    name
        Its name here.
    send_w, receive_w, sleep_w
        While it sends; while it listens or receives; asleep, with a timer running.
    source
        Source of the numbers.

    Examples
    --------
    The largest frame is 133 B on the air, 4.256 ms, 82 µJ:

    >>> round(1e6 * LOWPAN["nrf52840"].send_w * airtime_s(127), 1)
    81.7
    """

    name: str
    send_w: float
    receive_w: float
    sleep_w: float
    source: str


#: Radios by name, at 3 V and 0 dBm with the DC/DC converter.
LOWPAN = {
    one.name: one
    for one in (
        Lowpan(
            "nrf52840",
            3 * 6.40e-3,
            3 * 6.53e-3,
            3 * 3.16e-6,
            "Nordic, nRF52840 product specification: 6.40 mA sending, 6.53 mA receiving at 250 kbit/s; asleep 3.16 µA "
            "with all memory retained, secondary source",
        ),
        Lowpan(
            "cc2340r2",
            3 * 5.1e-3,
            3 * 5.3e-3,
            3 * 0.71e-6,
            "TI SWRS282: 5.1 mA sending, 5.3 mA receiving, both with Bluetooth LE at 1 Mbit/s, since the table has no "
            "other; 0.71 µA in standby",
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Mac:
    """Sizes of headers, and what happens on the channel.

    Parameters
    ----------
    mac_bytes, security_bytes
        Header and check sequence of a frame: 2 + 1 + 2 + 2 + 2 + 2 bytes with short addresses in one network. Header
        and tag of its security; with 802.15.4 security about 10.
    ipv6_bytes, udp_bytes
        Compressed headers (RFC 6282): IPv6 in 7 bytes over several hops with short addresses, 2 at best; UDP in 7 with
        full ports and checksum, 4 at best. A header of TCP is not compressed.
    busy
        Probability that a clear-channel assessment finds the channel busy.
    frame_error
        Probability that a transmission is not acknowledged.
    listen_s
        Time for which the device listens after it has sent a packet with payload, unless one comes earlier; by default
        ACK_TIMEOUT of CoAP (RFC 7252).
    always_on
        Whether it listens all the time, as a router does.

    Raises
    ------
    ArgumentError
        A value is out of range, or the headers with those of TCP do not fit into a frame.

    Examples
    --------
    >>> Mac().frames(64)
    [89]
    """

    mac_bytes: int = 11
    security_bytes: int = 0
    ipv6_bytes: int = 7
    udp_bytes: int = 7
    busy: float = 0.0
    frame_error: float = 0.0
    listen_s: float = 2.0
    always_on: bool = False

    def __post_init__(self) -> None:
        sizes = ("mac_bytes", "security_bytes", "ipv6_bytes", "udp_bytes")
        check(self, least=(*sizes, "listen_s"), shares=("busy", "frame_error"))
        headers = self.mac_bytes + self.security_bytes + self.ipv6_bytes + _MOST_TRANSPORT_BYTES
        if headers + 4 > MAX_FRAME_BYTES:
            raise ArgumentError(parameter_fault("mac", f"headers of {headers} B do not fit into a frame"))

    def frames(self, payload_bytes: int, transport_bytes: int | None = None) -> list[int]:
        """The sizes of the frames of a packet, with headers.

        Parameters
        ----------
        payload_bytes
            Payload of UDP or TCP.
        transport_bytes
            The header of TCP; by default UDP.

        Examples
        --------
        200 B of UDP payload. FRAG1 has 4 and FRAGN 5 bytes, and all fragments but the last carry multiples of 8 bytes:
        96, then the remaining 104.

        >>> Mac().frames(200)
        [125, 120]
        """
        header = self.ipv6_bytes + (self.udp_bytes if transport_bytes is None else transport_bytes)
        overhead = self.mac_bytes + self.security_bytes
        room = MAX_FRAME_BYTES - overhead
        if header + payload_bytes <= room:
            return [overhead + header + payload_bytes]
        plain = _IPV6_BYTES + (_UDP_BYTES if transport_bytes is None else transport_bytes)
        # The first offset is that of the uncompressed datagram.
        first = (plain + room - 4 - header) // 8 * 8 - plain
        sizes, left = [overhead + 4 + header + first], payload_bytes - first
        most = (room - 5) // 8 * 8
        while left > 0:
            sizes.append(overhead + 5 + min(left, most))
            left -= most
        return sizes


class Access(NamedTuple):
    """Mean times of one frame with its retries, s."""

    backoff_s: float
    listen_s: float
    send_s: float


def airtime_s(frame_bytes: float) -> float:
    """The time on the air of a frame, its preamble included.

    Examples
    --------
    >>> round(airtime_s(127), 9)
    0.004256
    """
    return (PREFIX_BYTES + frame_bytes) * BYTE_S


def access(frame_bytes: float, mac: Mac) -> Access:
    """The mean times for sending a frame: unslotted CSMA/CA, the frame, and its acknowledgement.

    The k-th back-off is uniform in 0 … 2^min(3 + k, 5) − 1 units of 320 µs, at most five; a frame for which the channel
    is busy after all of them is given up. A transmission without acknowledgement waits for 864 µs and is repeated three
    times at most. The radio listens during assessments,
    turnarounds and acknowledgements, and is off during back-offs.

    Examples
    --------
    On a free channel: 3.5 units of back-off; assessment, two turnarounds and 11 B of acknowledgement.

    >>> mean = access(127, Mac())
    >>> [round(1e3 * time, 3) for time in mean]
    [1.12, 0.864, 4.256]
    """
    reached = [mac.busy**k for k in range(_BACKOFFS + 1)]
    units = [(2 ** min(_MIN_BE + k, _MAX_BE) - 1) / 2 for k in range(_BACKOFFS + 1)]
    gets_through = 1 - mac.busy ** (_BACKOFFS + 1)
    # An attempt follows a transmission that failed, not a channel that stayed busy.
    attempts = sum((gets_through * mac.frame_error) ** k for k in range(_RETRIES + 1))
    failed = mac.frame_error
    answer = (1 - failed) * (TURNAROUND_S + airtime_s(ACK_BYTES)) + failed * ACK_WAIT_S
    listen = CCA_S * sum(reached) + gets_through * (TURNAROUND_S + answer)
    backoff = BACKOFF_S * sum(share * unit for share, unit in zip(reached, units, strict=True))
    return Access(attempts * backoff, attempts * listen, attempts * gets_through * airtime_s(frame_bytes))


def lowpan(
    records: Records,
    radio: str | Lowpan = "nrf52840",
    *,
    mac: Mac | None = None,
    host: str | Host | None = None,
    end: End = "source",
) -> pl.DataFrame:
    """The energy of each device over an 802.15.4 radio, and what it costs per delivered message.

    Parameters
    ----------
    records
        A run that recorded its packets. A device is the source or the sink of flows; those of the same first or last
        link have one device. Messages are those of flows that state a service level.
    radio
        A key of `LOWPAN`, or a radio of your own.
    mac
        Headers and channel; by default `Mac`.
    host
        A key of `HOSTS`, or a host of your own; by default its processor costs nothing.
    end
        The end of the flows that is the device.

    Returns
    -------
    polars.DataFrame
        A row per device: ``device`` (the name of its link), ``frames`` (sent and received, without retries and
        acknowledgements), ``send_s``, ``listen_s``, ``sleep_s``; ``radio_on_share`` and ``asleep_share`` of the time;
        ``energy_j``, ``host_j`` of it, ``power_w`` (the mean); ``messages`` (delivered), ``joules_per_message``,
        ``airtime_per_message_s`` (of frames and acknowledgements), ``joules_per_goodput_bit``;
        ``retransmission_share`` and ``keep_alive_share`` of the energy, which a device without these packets would
        save. A value that does not exist is null.

    Raises
    ------
    ArgumentError
        There is no such radio or host, the run did not record its packets, or the radio has no time for them.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Service
    >>> coap = cwndlab.scenario.workloads.Coap(period="20 s", payload="64 B")
    >>> meter = cwndlab.Flow(transport="udp", rtt="60 ms", workload=coap, service=Service(deadline="5 s"))
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="250 kbps", delay="30 ms"))
    >>> records = cwndlab.run(cwndlab.Scenario(duration="59 s", dumbbell=path, flows=[meter], packets=True), seed=1)
    >>> cwndlab.energy.lowpan(records).select("messages", "frames").rows()
    [(3, 6)]
    """
    one = preset("radio", "radio", radio, LOWPAN)
    layers, spends = mac or Mac(), processor(host)
    return table(_row(records, traffic, one, layers, spends) for traffic in devices(records, end))


class _Spent(NamedTuple):
    """Frames, times and energy of a device in a run; ``air_s`` is that of frames and acknowledgements."""

    frames: int
    send_s: float
    listen_s: float
    sleep_s: float
    air_s: float
    energy_j: float


def _spent(traffic: Traffic, radio: Lowpan, mac: Mac, host: Host) -> _Spent:
    send = listen = air = 0.0
    count = 0
    columns = (traffic.is_sent, traffic.is_tcp, traffic.bytes, traffic.payload_bytes)
    kinds = Counter(zip(*(column.tolist() for column in columns), strict=True))
    for (is_sent, is_tcp, size, payload), packets in kinds.items():
        header = min(_MOST_TRANSPORT_BYTES, size - payload - _IPV4_BYTES) if is_tcp else None
        frames = mac.frames(payload, header)
        count += packets * len(frames)
        for frame in frames:
            mean = access(frame, mac)
            # A receiver hears the frame with its retries, and acknowledges the one that arrives.
            send += packets * (mean.send_s if is_sent else airtime_s(ACK_BYTES))
            listen += packets * (mean.listen_s if is_sent else mean.send_s + TURNAROUND_S)
            air += packets * (mean.send_s + airtime_s(ACK_BYTES))
    if send + listen > traffic.run_s:
        what = f"the frames of '{traffic.link}' take {send + listen:.3g} s in a run of {traffic.run_s:.3g} s"
        hint = "no link of the radio may be faster than 250 kbit/s"
        raise ArgumentError(parameter_fault("records", what, hint=hint))
    waiting = _listening_s(traffic, mac)
    listen = traffic.run_s - send if mac.always_on else min(listen + waiting, traffic.run_s - send)
    quiet = max(0.0, traffic.run_s - send - listen)
    energy = radio.send_w * send + radio.receive_w * listen + radio.sleep_w * quiet + host.packets_j(traffic)
    return _Spent(count, send, listen, quiet, air, energy)


def _listening_s(traffic: Traffic, mac: Mac) -> float:
    """The time in which the device waits for an answer: after a packet with payload, until it receives the next one."""
    received = traffic.begin_s[~traffic.is_sent]
    intervals: list[tuple[float, float]] = []
    for end in traffic.end_s[traffic.is_sent & (traffic.payload_bytes > 0)].tolist():
        until = min(end + mac.listen_s, traffic.run_s)
        later = int(np.searchsorted(received, end))
        intervals.append((end, min(until, received[later]) if later < len(received) else until))
    return sum(end - begin for begin, end in union(intervals))


def _row(records: Records, traffic: Traffic, radio: Lowpan, mac: Mac, host: Host) -> dict[str, Any]:
    spent = _spent(traffic, radio, mac, host)
    energy, on = spent.energy_j, (spent.send_s + spent.listen_s) / traffic.run_s
    without = [traffic.where(~which) for which in (traffic.is_retransmission, traffic.is_keep_alive)]
    retransmissions, keep_alives = (1 - _spent(part, radio, mac, host).energy_j / energy for part in without)
    return {
        "device": traffic.link,
        "frames": spent.frames,
        "send_s": spent.send_s,
        "listen_s": spent.listen_s,
        "sleep_s": spent.sleep_s,
        "radio_on_share": on,
        "asleep_share": 1 - on,
        "energy_j": energy,
        "host_j": host.packets_j(traffic),
        "power_w": energy / traffic.run_s,
        **per_message(records, traffic.flows, energy, spent.air_s),
        "retransmission_share": retransmissions,
        "keep_alive_share": keep_alives,
    }
