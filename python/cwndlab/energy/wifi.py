"""Energy of 802.11 stations, always on or in power save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from cwndlab.energy.accounts import duration_s, per_message, preset, require_packets, table
from cwndlab.energy.hosts import Host, processor
from cwndlab.energy.power_save import PowerSave, Sleep, sleep
from cwndlab.errors import ArgumentError, parameter_fault

if TYPE_CHECKING:
    from cwndlab.records import Records


@dataclass(frozen=True)
class Wifi:
    """The power of an 802.11 radio in its states, W.

    Parameters
    ----------
    name
        Its name here.
    send_w, receive_w, idle_w, sleep_w
        While it sends; while it hears a frame, whoever is addressed; while it listens to a silent medium; asleep.
    beacon_awake_s
        Time awake for a beacon, in which it listens.
    source
        Source of the numbers.

    Examples
    --------
    >>> WIFI["ns-3"].send_w
    1.14
    """

    name: str
    send_w: float
    receive_w: float
    idle_w: float
    sleep_w: float
    beacon_awake_s: float
    source: str


def _fitted(name: str, dtim_1_ma: float, dtim_3_ma: float) -> Wifi:
    """An ESP32 of 129 mA awake whose mean current in power save, asleep + beacon / DTIM, is the measured one."""
    beacon_ma = 1.5 * (dtim_1_ma - dtim_3_ma)
    asleep_ma = dtim_1_ma - beacon_ma
    awake = 129 * 3.3e-3
    return Wifi(
        name,
        awake,
        awake,
        awake,
        asleep_ma * 3.3e-3,
        0.1024 * beacon_ma / (129 - asleep_ma),
        "an ESP32 without power save, measured: 129 mA at 3.3 V (esp32-mqtt-sntp); asleep fitted to "
        f"{dtim_1_ma} and {dtim_3_ma} mA at DTIM 1 and 3 (ESP-IDF, low power mode in Wi-Fi scenarios)",
    )


#: Radios by name. A radio without power save draws nearly the same in all states. ``esp32`` sleeps with its processor
#: on (modem sleep), ``esp32-light-sleep`` without.
WIFI = {
    one.name: one
    for one in (
        Wifi(
            "ns-3",
            1.14,
            0.939,
            0.819,
            0.099,
            736e-6,
            "defaults of WifiRadioEnergyModel in ns-3: 380, 313, 273 and 33 mA at 3 V; a beacon of 68 B at 1 Mbit/s",
        ),
        _fitted("esp32", 31.12, 28.81),
        _fitted("esp32-light-sleep", 3.34, 2.33),
    )
}


class _Station(NamedTuple):
    """A station of a run: its totals, and its links."""

    medium: str
    name: str
    totals: Mapping[str, Any]
    own_s: float
    """Airtime of the frames to it: the packets to it have the mean airtime of those of their sender."""
    others_s: float
    """Airtime of all other frames of other stations."""
    up: list[int]
    down: list[int]
    flows: list[int]


def stations(
    records: Records,
    radio: str | Wifi = "ns-3",
    *,
    power_save: PowerSave | None = None,
    host: str | Host | None = None,
) -> pl.DataFrame:
    """The energy of each 802.11 station of a run, and what it costs per delivered message.

    A station sends for its own airtime, responses to its frames included, hears all other stations of its medium while
    it is awake, and listens for the rest. Messages are those of the flows that begin or end at the station and state a
    service level.

    Parameters
    ----------
    records
        A run with an 802.11 medium; for ``power_save`` one that recorded its packets.
    radio
        A key of `WIFI`, or a radio of your own.
    power_save
        How all stations but the access points sleep; by default they are always on.
    host
        A key of `HOSTS`, or a host of your own; by default its processor costs nothing.

    Returns
    -------
    polars.DataFrame
        A row per station: ``medium``, ``station``, ``send_s``, ``receive_s``, ``idle_s``, ``sleep_s``, ``beacons``
        (scheduled wake-ups, with TWT service periods), ``radio_on_share`` and ``asleep_share`` of the time;
        ``energy_j``, ``host_j`` of it, ``power_w`` (the mean), ``messages`` (delivered), ``joules_per_message``,
        ``airtime_per_message_s``, ``joules_per_goodput_bit``; ``retransmission_share``, the part of the energy by which
        failed transmissions exceed listening or sleep, each as long as the mean one; ``wait_mean_s``, the mean of
        `sleep_waits`. A value that does not exist is null.

    Raises
    ------
    ArgumentError
        There is no such radio or host; with ``power_save``, the run did not record its packets or a medium has no
        access point.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("wlan").with_(duration="2 s"), seed=1)
    >>> table = cwndlab.energy.stations(records, "esp32")
    >>> table["power_w"].round(4).unique().to_list()
    [0.4257]
    """
    one = preset("radio", "radio", radio, WIFI)
    spends = processor(host)
    members = list(_stations(records))
    sleeping = {} if power_save is None else _sleeping(records, members, power_save, one)
    packets = dict(records.links.select("link", "sent_packets").iter_rows())
    sizes = dict(records.links.select("link", "sent_bytes").iter_rows())
    rows = []
    for station in members:
        sent, received = (sum(packets[link] for link in links) for links in (station.up, station.down))
        size = sum(sizes[link] for link in (*station.up, *station.down))
        host_j = spends.joules(sent=sent, received=received, size=size)
        rows.append(_row(records, station, one, sleeping.get((station.medium, station.name)), host_j))
    return table(rows)


def _row(records: Records, station: _Station, radio: Wifi, asleep: Sleep | None, host_j: float) -> dict[str, Any]:
    run_s, totals = duration_s(records), station.totals
    send = totals["airtime_ns"] / 1e9
    awake = run_s if asleep is None else min(run_s, max(asleep.awake_s, send))
    # Airtimes of frames that collided overlap. Frames to other stations are heard for the share of the time awake.
    receive = min(station.own_s + station.others_s * awake / run_s, awake - send)
    idle, quiet = awake - send - receive, run_s - awake
    energy = radio.send_w * send + radio.receive_w * receive + radio.idle_w * idle + radio.sleep_w * quiet + host_j
    failed = totals["failures"] / totals["attempts"] if totals["attempts"] else 0.0
    rest_w = radio.idle_w if asleep is None else radio.sleep_w
    waits = np.array([]) if asleep is None else asleep.waits_s
    return {
        "medium": station.medium,
        "station": station.name,
        "send_s": send,
        "receive_s": receive,
        "idle_s": idle,
        "sleep_s": quiet,
        "beacons": 0 if asleep is None else asleep.wakes,
        "radio_on_share": awake / run_s,
        "asleep_share": quiet / run_s,
        "energy_j": energy,
        "host_j": host_j,
        "power_w": energy / run_s,
        **per_message(records, station.flows, energy, send),
        "retransmission_share": failed * send * (radio.send_w - rest_w) / energy,
        "wait_mean_s": float(np.mean(waits)) if len(waits) else None,
    }


def sleep_waits(records: Records, power_save: PowerSave, radio: str | Wifi = "ns-3") -> pl.DataFrame:
    """How long each frame to a sleeping station would have waited at the access point. The simulator did not delay it.

    Frames that follow because of another one, such as the answer of a server, keep the times of the run: the waits are
    those of single frames.

    Parameters
    ----------
    records, power_save, radio
        As for `stations`.

    Returns
    -------
    polars.DataFrame
        A row per packet to a station: ``medium``, ``station``, ``wait_s``; none where no medium is of 802.11.

    Raises
    ------
    ArgumentError
        As `stations`.

    Examples
    --------
    Downloads at full rate keep the stations awake; with beacons of 102.4 ms no wait is longer than that.

    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("wlan").with_(duration="1 s", packets=True), seed=1)
    >>> waits = cwndlab.energy.sleep_waits(records, cwndlab.energy.PowerSave())["wait_s"]
    >>> 0 < waits.max() <= 0.1024
    True
    """
    one = preset("radio", "radio", radio, WIFI)
    parts = [
        pl.DataFrame({"wait_s": asleep.waits_s}).select(medium=pl.lit(medium), station=pl.lit(station), wait_s="wait_s")
        for (medium, station), asleep in _sleeping(records, list(_stations(records)), power_save, one).items()
    ]
    schema = {"medium": pl.String, "station": pl.String, "wait_s": pl.Float64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def _stations(records: Records) -> Iterator[_Station]:
    """Every station of the run."""
    last = records.stations.sort("time_ns").group_by("medium", "station", maintain_order=True).last()
    link_of = dict(records.links.select("name", "link").iter_rows())
    packets = dict(records.links.select("link", "sent_packets").iter_rows())
    named = _named(records.document)

    def between(one: str, other: str) -> list[int]:
        return [link_of[name] for name in (f"{one}-{other}", *named.get((one, other), ())) if name in link_of]

    def sent(one: str, other: str) -> int:
        return sum(packets[link] for link in between(one, other))

    flows = records.flows.select("flow", "route").iter_rows()
    routes = [(flow, [int(link) for link in route.split()]) for flow, route in flows]
    for (medium,), part in last.partition_by("medium", as_dict=True, maintain_order=True).items():
        air_s = {name: air / 1e9 for name, air in part.select("station", "airtime_ns").iter_rows()}
        for row in part.iter_rows(named=True):
            name = row["station"]
            up = [link for other in air_s for link in between(name, other)]
            down = [link for other in air_s for link in between(other, name)]
            own_s = sum(
                air * sent(other, name) / max(1, sum(sent(other, to) for to in air_s)) for other, air in air_s.items()
            )
            others_s = sum(air_s.values()) - air_s[name] - own_s
            own = [flow for flow, route in routes if route and (route[0] in up or route[-1] in down)]
            yield _Station(str(medium), name, row, own_s, others_s, up, down, own)


def _named(document: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """The names that the document gives to links of media, by their ends; the other direction of a link, and a link
    without a name, are called ``FROM-TO``. A link at a node with a count stands for several (docs/scenario.md)."""
    counts = {node["name"]: node["count"] for node in document.get("node", ()) if "count" in node}
    named: dict[tuple[str, str], list[str]] = {}
    for link in document.get("link", ()):
        if "name" not in link or "medium" not in link:
            continue
        ends, name = (link["from"], link["to"]), link["name"]
        count = next((counts[end] for end in ends if end in counts), 0)
        named.setdefault(ends, []).extend([] if count else [name])
        for n in range(1, count + 1):
            one, other = (f"{end}-{n}" if end in counts else end for end in ends)
            named.setdefault((one, other), []).append(f"{name}-{n}")
    return named


def _sleeping(
    records: Records, members: Sequence[_Station], save: PowerSave, radio: Wifi
) -> dict[tuple[str, str], Sleep]:
    """The sleep of every station that is no access point."""
    require_packets("power_save", records)
    points = {one["name"]: one.get("access_point") for one in records.document.get("medium", ())}
    run_s = duration_s(records)
    packets = records.packets.filter(pl.col("departure_ns").is_not_null()).sort("time_ns")
    times = packets.select("link", begin=pl.col("time_ns") / 1e9, end=pl.col("departure_ns") / 1e9)
    result = {}
    for station in members:
        point = points.get(station.medium, "ap")
        if point is None:
            what = f"the medium '{station.medium}' has no access point"
            raise ArgumentError(parameter_fault("power_save", what, hint="state access_point of the medium"))
        if station.name != point:
            sent, received = (
                list(times.filter(pl.col("link").is_in(links)).select("begin", "end").iter_rows())
                for links in (station.up, station.down)
            )
            result[station.medium, station.name] = sleep(sent, received, run_s, save, radio.beacon_awake_s)
    return result
