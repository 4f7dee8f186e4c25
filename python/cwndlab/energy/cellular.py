"""Energy of cellular devices: the states of their connection to the network (RRC) over the messages of a flow.

A device that is idle and has a message is promoted, sends and receives, and stays connected for a tail after its last
activity; then it is idle, or asleep where it has power saving mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cwndlab.errors import chosen

if TYPE_CHECKING:
    from cwndlab.records import Records


@dataclass(frozen=True)
class Cellular:
    """The power of a cellular radio in its states.

    Parameters
    ----------
    name
        Its name here.
    promotion_s, promotion_w
        Time and power from idle to connected.
    active_w
        While a message is under way.
    tail_s, tail_w
        Time and power after the last activity, still connected.
    idle_w
        Mean power while idle, paging included.
    source
        Whence the numbers are.

    Examples
    --------
    >>> CELLULAR["lte-phone"].tail_s
    11.6
    """

    name: str
    promotion_s: float
    promotion_w: float
    active_w: float
    tail_s: float
    tail_w: float
    idle_w: float
    source: str


#: Radios by name. The numbers are from summaries of the sources, not from these themselves: a report that depends on
#: them needs the source, or a measurement.
CELLULAR = {
    one.name: one
    for one in (
        Cellular(
            "lte-phone",
            0.26,
            1.21,
            1.29,
            11.6,
            1.06,
            0.59 * 0.043 / 1.28,
            "Huang et al., MobiSys 2012, secondary source: an LTE phone; idle is 43 ms of each 1.28 s at 0.59 W",
        ),
        Cellular(
            "nb-iot",
            1.0,
            0.09,
            0.5,
            20.0,
            0.003,
            15e-6,
            "3GPP TR 45.820, secondary source: 500 mW sending, 90 mW receiving, 3 mW light and 15 µW deep sleep; the "
            "promotion of 1 s at the power of receiving and the tail of 20 s are assumptions",
        ),
    )
}


def connected_times(
    starts_s: NDArray[np.float64], ends_s: NDArray[np.float64], end_s: float, tail_s: float
) -> tuple[float, float, int]:
    """The times in which a device is active and in its tail, s, and the number of promotions.

    Parameters
    ----------
    starts_s, ends_s
        Start and end of each activity, s, in the order of their starts; activities may overlap.
    end_s
        End of the run, at which all states end.
    tail_s
        Length of the tail.

    Examples
    --------
    By hand: activities of 1 s at 0, 5 and 30 s with a tail of 10 s, up to 60 s. The second one falls into the first
    tail, of which 4 s had passed; the next tails are whole; the third activity needs a promotion.

    >>> connected_times(np.array([0.0, 5.0, 30.0]), np.array([1.0, 6.0, 31.0]), 60.0, 10.0)
    (3.0, 24.0, 2)
    """
    active = tail = 0.0
    promotions = 0
    until = -np.inf  # end of the activity so far
    for start, end in zip(starts_s.tolist(), np.minimum(ends_s, end_s).tolist(), strict=True):
        if start >= end_s:
            break
        if start > until + tail_s:
            tail += tail_s if promotions else 0.0
            promotions += 1
            active += end - start
        elif start > until:
            tail += start - until
            active += end - start
        else:
            active += max(0.0, end - until)
        until = max(until, end)
    if promotions:
        tail += min(tail_s, end_s - until)
    return active, tail, promotions


def cellular(records: Records, radio: str = "lte-phone") -> pl.DataFrame:
    """The energy of each flow's device over a cellular radio, and what it costs per delivered message.

    The device is active from the generation of a message to its delivery, or to the end of the run if that did not
    happen. One device has one flow: flows of one device would share promotions and tails.

    Parameters
    ----------
    records
        A run with flows that state a service level, whose messages are recorded.
    radio
        A key of `CELLULAR`.

    Returns
    -------
    polars.DataFrame
        A row per flow with messages: ``name``, ``active_s``, ``tail_s``, ``idle_s``, ``promotions``, ``energy_j``,
        ``power_w`` (the mean), ``messages`` (delivered), ``joules_per_message`` (null without any).

    Raises
    ------
    ArgumentError
        There is no such radio.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Service
    >>> coap = cwndlab.scenario.workloads.Coap(period="20 s")
    >>> meter = cwndlab.Flow(transport="udp", rtt="60 ms", workload=coap, service=Service(deadline="5 s"))
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="1 Mbps", delay="30 ms"))
    >>> records = cwndlab.run(cwndlab.Scenario(duration="60 s", dumbbell=path, flows=[meter]), seed=1)
    >>> cwndlab.energy.cellular(records).select("messages", "promotions").rows()
    [(3, 3)]
    """
    powers = chosen("radio", "radio", radio, CELLULAR)
    end_s = records.rows("runs")[0]["duration_ns"] / 1e9
    names = records.flows["name"].to_list()
    rows: list[dict[str, Any]] = []
    for (flow,), part in records.messages.sort("flow", "message").partition_by("flow", as_dict=True).items():
        starts = part["generated_ns"].to_numpy() / 1e9
        ends = part["delivered_ns"].cast(pl.Float64).fill_null(np.inf).to_numpy() / 1e9
        active, tail, promotions = connected_times(starts, ends, end_s, powers.tail_s)
        promoted = promotions * powers.promotion_s
        idle = max(0.0, end_s - active - tail - promoted)
        energy = powers.promotion_w * promoted + powers.active_w * active + powers.tail_w * tail + powers.idle_w * idle
        count = part["delivered_ns"].is_not_null().sum()
        rows.append(
            {
                "name": names[int(flow)],
                "active_s": active,
                "tail_s": tail,
                "idle_s": idle,
                "promotions": promotions,
                "energy_j": energy,
                "power_w": energy / end_s,
                "messages": count,
                "joules_per_message": energy / count if count else None,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"joules_per_message": pl.Float64})
