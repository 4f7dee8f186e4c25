"""Energy of 802.11 stations that are always on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import chosen

if TYPE_CHECKING:
    from cwndlab.records import Records


@dataclass(frozen=True)
class Wifi:
    """The power of an 802.11 radio in its states, W.

    Parameters
    ----------
    name
        Its name here.
    send_w, receive_w, idle_w
        While it sends; while it hears a frame, whoever is addressed; while it listens to a silent medium.
    source
        Whence the numbers are.

    Examples
    --------
    >>> WIFI["ns-3"].send_w
    1.14
    """

    name: str
    send_w: float
    receive_w: float
    idle_w: float
    source: str


#: Radios by name. A radio without power save draws nearly the same in all states.
WIFI = {
    one.name: one
    for one in (
        Wifi("ns-3", 1.14, 0.939, 0.819, "defaults of WifiRadioEnergyModel in ns-3: 380, 313 and 273 mA at 3 V"),
        Wifi(
            "esp32", 0.4257, 0.4257, 0.4257, "an ESP32 without power save, measured: 129 mA at 3.3 V (esp32-mqtt-sntp)"
        ),
    )
}


def stations(records: Records, radio: str = "ns-3") -> pl.DataFrame:
    """The energy of each 802.11 station of a run, and what it costs per delivered message.

    A station sends for its own airtime, responses to its frames included, hears all other stations of its medium, and
    listens for the rest of the run. Messages are those of the flows that begin or end at the station and state a
    service level.

    Parameters
    ----------
    records
        A run with an 802.11 medium.
    radio
        A key of `WIFI`.

    Returns
    -------
    polars.DataFrame
        A row per station: ``medium``, ``station``, ``send_s``, ``receive_s``, ``idle_s``, ``energy_j``, ``power_w``
        (the mean), ``messages`` (delivered), ``joules_per_message``, ``airtime_per_message_s``; the last two are null
        without messages.

    Raises
    ------
    ArgumentError
        There is no such radio.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("wlan").with_(duration="2 s"), seed=1)
    >>> table = cwndlab.energy.stations(records, "esp32")
    >>> table["power_w"].round(4).unique().to_list()
    [0.4257]
    """
    powers = chosen("radio", "radio", radio, WIFI)
    run_s = records.rows("runs")[0]["duration_ns"] / 1e9
    last = records.stations.sort("time_ns").group_by("medium", "station", maintain_order=True).last()
    messages = _messages_by_station(records, last["station"].to_list())
    rows = []
    for row in last.iter_rows(named=True):
        heard = last.filter((pl.col("medium") == row["medium"]) & (pl.col("station") != row["station"]))
        send, receive = row["airtime_ns"] / 1e9, float(heard["airtime_ns"].sum()) / 1e9
        # Airtimes of frames that collided overlap.
        receive = min(receive, run_s - send)
        idle = run_s - send - receive
        energy = powers.send_w * send + powers.receive_w * receive + powers.idle_w * idle
        count = messages.get(row["station"], 0)
        rows.append(
            {
                "medium": row["medium"],
                "station": row["station"],
                "send_s": send,
                "receive_s": receive,
                "idle_s": idle,
                "energy_j": energy,
                "power_w": energy / run_s,
                "messages": count,
                "joules_per_message": energy / count if count else None,
                "airtime_per_message_s": send / count if count else None,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"joules_per_message": pl.Float64, "airtime_per_message_s": pl.Float64})


def _messages_by_station(records: Records, stations: list[str]) -> dict[str, int]:
    """Delivered messages of the flows whose first or last link is that of a station; links are named ``FROM-TO``."""
    delivered = records.messages.filter(pl.col("delivered_ns").is_not_null()).group_by("flow").len()
    counts = dict(delivered.iter_rows())
    names = records.links["name"].to_list()
    found: dict[str, int] = {}
    for row in records.flows.iter_rows(named=True):
        route = [names[int(link)] for link in row["route"].split()]
        # The access point is at one end of each such link, the device at the other.
        ends = (one for one in stations if route[0].startswith(f"{one}-") or route[-1].endswith(f"-{one}"))
        for station in ends if route else ():
            found[station] = found.get(station, 0) + counts.get(row["flow"], 0)
    return found
