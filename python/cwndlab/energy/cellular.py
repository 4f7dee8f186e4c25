"""Energy of cellular devices: the states of their connection to the network (RRC), and their packets.

A device that is idle and has a packet is promoted, sends and receives, and stays connected for a tail after its last
packet, in which it listens in cycles (DRX). Then it is idle and listens for paging, each cycle or each extended cycle
(eDRX), or it is asleep and cannot be reached until it wakes up (PSM). The simulator delivers packets without these
waits; `paging_waits` says what they would be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from cwndlab.energy.accounts import per_message, preset, table
from cwndlab.energy.hosts import Host, processor
from cwndlab.energy.rrc import Interval, State, Timers, Wait, certain_wait, connection, state_wait
from cwndlab.energy.traffic import End, Numbers, Traffic, devices

if TYPE_CHECKING:
    from cwndlab.records import Records


@dataclass(frozen=True, kw_only=True)
class Cellular:
    """A cellular radio: its power in each state, and the timers of its network.

    Parameters
    ----------
    name
        Its name here.
    promotion_s, promotion_w
        Time and power from idle to connected.
    listen_w, doze_w
        Connected with the receiver on, and off between two times of listening (DRX).
    send_w, receive_w
        While a packet is on the air.
    send_byte_j, receive_byte_j
        Per byte, in addition.
    paging_s, paging_w
        Time and power of one time of listening for paging.
    idle_w, sleep_w
        Idle between two times of paging, and asleep (PSM).
    timers
        The timers of its network.
    source
        Source of the numbers.

    Examples
    --------
    >>> CELLULAR["lte-phone"].timers.tail_s
    11.6
    """

    name: str
    promotion_s: float
    promotion_w: float
    listen_w: float
    doze_w: float
    send_w: float
    receive_w: float
    send_byte_j: float = 0.0
    receive_byte_j: float = 0.0
    paging_s: float
    paging_w: float
    idle_w: float
    sleep_w: float
    timers: Timers
    source: str

    def with_timers(self, **timers: float | None) -> Cellular:
        """The same radio in a network with other timers, by the names of `Timers`.

        Examples
        --------
        Extended cycles of 20.48 s, power saving mode a minute after the release, an update each day:

        >>> meter = CELLULAR["nb-iot"].with_timers(edrx_s=20.48, active_s=60, tau_s=86_400)
        >>> meter.timers.tail_s, meter.timers.active_s
        (20.0, 60)
        """
        changes: dict[str, Any] = dict(timers)
        return replace(self, timers=replace(self.timers, **changes))

    def on_share(self, state: str) -> float:
        """The share of a state in which the receiver is on."""
        timers = self.timers
        if state in ("short", "long"):
            return min(1.0, timers.on_s / (timers.short_s if state == "short" else timers.long_s))
        paging = min(1.0, self.paging_s / timers.paging_s)
        if state == "edrx" and timers.edrx_s is not None:
            return paging * min(1.0, timers.window_s / timers.edrx_s)
        return {"idle": paging, "psm": 0.0}.get(state, 1.0)

    def power_w(self, state: str) -> float:
        """The mean power of a state, without packets."""
        share = self.on_share(state)
        if state in ("promotion", "active"):
            return self.promotion_w if state == "promotion" else self.listen_w
        if state in ("short", "long"):
            return share * self.listen_w + (1 - share) * self.doze_w
        return self.sleep_w if state == "psm" else share * self.paging_w + (1 - share) * self.idle_w

    def connection_j(self, intervals: Sequence[Interval]) -> float:
        """The energy of the states of a connection, without packets.

        Examples
        --------
        >>> radio = CELLULAR["lte-phone"]
        >>> round(radio.connection_j([Interval("promotion", 0.0, 0.26)]), 4)
        0.3146
        """
        return sum(self.power_w(state) * (end - start) for state, start, end in intervals)

    def packets_j(self, traffic: Traffic) -> float:
        """The energy by which packets exceed listening."""
        sent = traffic.is_sent
        power = np.where(sent, self.send_w, self.receive_w) - self.listen_w
        per_byte = np.where(sent, self.send_byte_j, self.receive_byte_j)
        return float((power * traffic.air_s + per_byte * traffic.bytes).sum())


_HUANG = (
    "Huang et al., MobiSys 2012, secondary source: an LTE phone; 438 mW per Mbit/s sent and 52 received, on for 1 ms "
    "of 20 and 40 ms while connected, 43 ms of each 1.28 s while idle"
)


def _nb_iot(name: str, *, send_w: float, listen_w: float, doze_w: float, sleep_w: float, source: str) -> Cellular:
    """A radio of NB-IoT that listens at the same power in all states, and draws that of sleep between two pagings."""
    return Cellular(
        name=name,
        promotion_s=1.0,
        promotion_w=listen_w,
        listen_w=listen_w,
        doze_w=doze_w,
        send_w=send_w,
        receive_w=listen_w,
        paging_s=0.01,
        paging_w=listen_w,
        idle_w=sleep_w,
        sleep_w=sleep_w,
        timers=Timers(tail_s=20.0),
        source=f"{source}; the promotion of 1 s, the tail of 20 s, the cycles and paging for 10 ms are assumptions",
    )


# The longest delay of an ACK (RFC 1122, section 4.2.3.2), s.
_ANSWER_S = 0.5
#: Nordic, nRF9160 Product Specification, modem current consumption in band 20, at 3.7 V.
_NRF9160_V = 3.7
#: 18 µA with an eDRX cycle of 81.92 s and 6 µA with one of 655 s, each with one paging: charge of a paging, C, and
#: current between two, A.
_NRF9160_PAGING_C = (18e-6 - 6e-6) / (1 / 81.92 - 1 / 655.36)
_NRF9160_IDLE_A = 6e-6 - _NRF9160_PAGING_C / 655.36
#: Sending at 0 dBm, where the amplifier adds little: stands for listening, of which there is no number.
_NRF9160_LISTEN_W = 0.045 * _NRF9160_V

_NRF9160 = Cellular(
    name="lte-m",
    promotion_s=1.5,
    promotion_w=0.105 / 1.5,
    listen_w=_NRF9160_LISTEN_W,
    doze_w=0.021,
    send_w=0.105 * _NRF9160_V,
    receive_w=_NRF9160_LISTEN_W,
    paging_s=_NRF9160_PAGING_C * _NRF9160_V / _NRF9160_LISTEN_W,
    paging_w=_NRF9160_LISTEN_W,
    idle_w=_NRF9160_IDLE_A * _NRF9160_V,
    sleep_w=2.7e-6 * _NRF9160_V,
    # One paging in each extended cycle, as in the source: the shortest window of LTE-M (3GPP TS 24.008, 10.5.5.32).
    timers=Timers(tail_s=20.0, window_s=1.28),
    source="Nordic, nRF9160 Product Specification, Cat-M1, band 20, 3.7 V: 105 mA sending at 23 dBm, a tracking area "
    "update of 105 mJ in 1.5 s as the promotion, 18 and 6 µA in eDRX, 2.7 µA asleep; that listening takes as much as "
    "sending at 0 dBm (45 mA), 21 mW connected with the receiver off (Lauridsen et al., NB-IoT), the tail of 20 s and "
    "the cycles are assumptions",
)


#: Radios by name. But for LTE-M the numbers are from summaries of the sources, not from these themselves: a report that
#: depends on them needs the source, or a measurement.
CELLULAR = {
    one.name: one
    for one in (
        Cellular(
            name="lte-phone",
            promotion_s=0.26,
            promotion_w=1.21,
            listen_w=1.288,
            doze_w=1.06,
            send_w=1.288,
            receive_w=1.288,
            send_byte_j=8 * 0.438e-6,
            receive_byte_j=8 * 0.052e-6,
            paging_s=0.043,
            paging_w=0.59,
            idle_w=0.0,
            sleep_w=0.0,
            timers=Timers(tail_s=11.6, on_s=0.001, short_s=0.02, short_for_s=0.4, long_s=0.04),
            source=_HUANG,
        ),
        _nb_iot(
            "nb-iot",
            send_w=0.5,
            listen_w=0.09,
            doze_w=0.003,
            sleep_w=15e-6,
            source="3GPP TR 45.820, secondary source: 500 mW sending, 90 mW receiving, 3 mW light and 15 µW deep sleep",
        ),
        _nb_iot(
            "nb-iot-measured",
            send_w=0.716,
            listen_w=0.213,
            doze_w=0.021,
            sleep_w=13e-6,
            source="Lauridsen et al., VTC Spring 2018, secondary source: 716 mW sending, 213 mW receiving, 21 mW "
            "connected and not listening, 13 µW asleep",
        ),
        _NRF9160,
    )
}


def cellular(
    records: Records, radio: str | Cellular = "lte-phone", *, host: str | Host | None = None, end: End = "source"
) -> pl.DataFrame:
    """The energy of each device over a cellular radio, and what it costs per delivered message.

    Parameters
    ----------
    records
        A run that recorded its packets. A device is the source or the sink of flows; those of the same first or last
        link have one device. Its radio link is the slowest one of the route, whose rate gives the time on the air.
        Messages are those of flows that state a service level.
    radio
        A key of `CELLULAR`, or a radio of your own.
    host
        A key of `HOSTS`, or a host of your own; by default its processor costs nothing.
    end
        The end of the flows that is the device.

    Returns
    -------
    polars.DataFrame
        A row per device: ``device`` (the name of its link), ``promotions``, ``connected_s``, ``idle_s`` (paging),
        ``asleep_s`` (PSM), ``send_s``, ``receive_s``; ``radio_on_share`` and ``asleep_share`` of the time, the latter
        with the receiver off; ``reachable_share``, in which the network can page it or has it connected; ``energy_j``,
        ``host_j`` of it, ``power_w`` (the mean); ``messages`` (delivered), ``joules_per_message``,
        ``airtime_per_message_s``, ``joules_per_goodput_bit``; ``retransmission_share`` and ``keep_alive_share`` of the
        energy, which a device without these packets would save; ``wait_mean_s``, the mean of `paging_waits`. A value
        that does not exist is null.

    Raises
    ------
    ArgumentError
        There is no such radio or host, or the run did not record its packets.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Service
    >>> coap = cwndlab.scenario.workloads.Coap(period="20 s")
    >>> meter = cwndlab.Flow(transport="udp", rtt="60 ms", workload=coap, service=Service(deadline="5 s"))
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="1 Mbps", delay="30 ms"))
    >>> records = cwndlab.run(cwndlab.Scenario(duration="60 s", dumbbell=path, flows=[meter], packets=True), seed=1)
    >>> cwndlab.energy.cellular(records).select("messages", "promotions").rows()
    [(3, 3)]
    """
    one = preset("radio", "radio", radio, CELLULAR)
    spends = processor(host)
    return table(_row(records, traffic, one, spends) for traffic in devices(records, end))


def _states(traffic: Traffic, radio: Cellular) -> list[Interval]:
    activities = zip(traffic.begin_s.tolist(), traffic.end_s.tolist(), strict=True)
    return connection(activities, traffic.run_s, radio.timers, radio.promotion_s)


def _energy_j(traffic: Traffic, states: Sequence[Interval], radio: Cellular, host: Host) -> float:
    """The energy of a device in these states of its connection."""
    return radio.connection_j(states) + radio.packets_j(traffic) + host.packets_j(traffic)


def _row(records: Records, traffic: Traffic, radio: Cellular, host: Host) -> dict[str, Any]:
    states = _states(traffic, radio)
    times = dict.fromkeys(get_args(State), 0.0)
    for state, start, end in states:
        times[state] += end - start
    energy = _energy_j(traffic, states, radio, host)
    without = [traffic.where(~which) for which in (traffic.is_retransmission, traffic.is_keep_alive)]
    retransmissions, keep_alives = (1 - _energy_j(part, _states(part, radio), radio, host) / energy for part in without)
    on = sum(radio.on_share(state) * time for state, time in times.items()) / traffic.run_s
    send = float(traffic.air_s[traffic.is_sent].sum())
    receive = float(traffic.air_s[~traffic.is_sent].sum())
    waits = [wait.mean_s for _, _, wait in _waits(traffic, states, radio)]
    return {
        "device": traffic.link,
        "promotions": sum(state == "promotion" for state, _, _ in states),
        "connected_s": times["promotion"] + times["active"] + times["short"] + times["long"],
        "idle_s": times["idle"] + times["edrx"],
        "asleep_s": times["psm"],
        "send_s": send,
        "receive_s": receive,
        "radio_on_share": on,
        "asleep_share": 1 - on,
        "reachable_share": 1 - times["psm"] / traffic.run_s,
        "energy_j": energy,
        "host_j": host.packets_j(traffic),
        "power_w": energy / traffic.run_s,
        **per_message(records, traffic.flows, energy, send + receive),
        "retransmission_share": retransmissions,
        "keep_alive_share": keep_alives,
        "wait_mean_s": float(np.mean(waits)) if waits else None,
    }


def paging_waits(records: Records, radio: str | Cellular = "lte-phone", *, end: End = "source") -> pl.DataFrame:
    """How long each packet to a device would have waited for it to listen. The simulator did not delay it.

    The phase of cycles is not known, so that a wait is a distribution: uniform up to the time in which the receiver is
    off, or no wait if it is on. A packet to a sleeping device (PSM) waits until the device sends or updates its
    tracking area, infinitely where it does neither in the run. What the device sends within 0.5 s after a packet that
    it received, the longest delay of an ACK (RFC 1122, section 4.2.3.2), is an answer, for which it would not have
    woken; nor does it wake for a retransmission. The promotion follows. An exchange that began later for
    that would have had other states: these waits are those of single packets.

    Parameters
    ----------
    records, radio, end
        As for `cellular`.

    Returns
    -------
    polars.DataFrame
        A row per received packet: ``device``, ``time_s`` of its arrival, ``state`` that it finds, ``mean_s`` and
        ``max_s`` of the wait, and ``over_1s``, the probability that it exceeds a second.

    Raises
    ------
    ArgumentError
        There is no such radio, or the run did not record its packets.

    Examples
    --------
    The acknowledgement of a message finds a phone awake.

    >>> import cwndlab
    >>> coap = cwndlab.scenario.workloads.Coap(period="20 s", count=1)
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="1 Mbps", delay="30 ms"))
    >>> meter = cwndlab.Flow(transport="udp", rtt="60 ms", workload=coap)
    >>> records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[meter], packets=True), seed=1)
    >>> cwndlab.energy.paging_waits(records).select("state", "mean_s").rows()
    [('promotion', 0.0)]
    """
    one = preset("radio", "radio", radio, CELLULAR)
    rows = [
        (traffic.link, time, state, wait.mean_s, wait.max_s, wait.exceeds(1.0))
        for traffic in devices(records, end)
        for time, state, wait in _waits(traffic, _states(traffic, one), one)
    ]
    names = ("device", "time_s", "state", "mean_s", "max_s", "over_1s")
    kinds = (pl.String, pl.Float64, pl.String, pl.Float64, pl.Float64, pl.Float64)
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def _waits(traffic: Traffic, states: Sequence[Interval], radio: Cellular) -> list[tuple[float, State, Wait]]:
    """Arrival of each received packet, the state that it finds, and its wait."""
    timers = radio.timers
    ends = [one.end_s for one in states]
    received = traffic.begin_s[~traffic.is_sent].tolist()
    wakes = _own_s(traffic)
    result = []
    for begin in received:
        # A state that ends at the arrival is the one that it finds.
        state, start, _ = states[bisect_left(ends, begin)]
        wait = state_wait(state, timers)
        if state == "psm":
            update = np.inf if timers.tau_s is None else max(0.0, start - (timers.active_s or 0.0)) + timers.tau_s
            own = wakes[bisect_left(wakes, begin)] if wakes and wakes[-1] >= begin else np.inf
            wait = certain_wait(max(0.0, min(own, update) - begin))
        result.append((begin, state, wait))
    return result


def _own_s(traffic: Traffic) -> list[float]:
    """The times at which a device sends on its own: no answer to what it received, and no retransmission."""
    sent: Numbers = traffic.begin_s[traffic.is_sent & ~traffic.is_retransmission]
    received, end = (times[~traffic.is_sent] for times in (traffic.begin_s, traffic.end_s))
    if len(received):
        latest = np.searchsorted(received, sent, side="right") - 1
        sent = sent[(latest < 0) | (sent > end[latest] + _ANSWER_S)]
    return [float(time) for time in sent]
