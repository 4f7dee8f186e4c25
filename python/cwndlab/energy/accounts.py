"""The parts that all radios share: checks of arguments, columns of the tables, and their means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from cwndlab.energy.batteries import BATTERIES
from cwndlab.errors import ArgumentError, chosen, parameter_fault

if TYPE_CHECKING:
    from cwndlab.records import Records

Preset = TypeVar("Preset")

_MEASURES = (
    "power_w",
    "radio_on_share",
    "asleep_share",
    "joules_per_message",
    "joules_per_goodput_bit",
    "airtime_per_message_s",
    "retransmission_share",
    "keep_alive_share",
    "wait_mean_s",
)


def preset(parameter: str, kind: str, value: str | Preset, known: Mapping[str, Preset]) -> Preset:
    """A preset by its name, or a value of one's own as it is."""
    return chosen(parameter, kind, value, known) if isinstance(value, str) else value


def require_packets(parameter: str, records: Records) -> None:
    """Raises `ArgumentError` at a parameter if the run did not record its packets."""
    if records.height("packets") == 0:
        raise ArgumentError(parameter_fault(parameter, "the run has no packets", hint="set packets = true"))


def duration_s(records: Records) -> float:
    """The length of a run, s."""
    return float(records.rows("runs")[0]["duration_ns"] / 1e9)


def check(values: object, above: Sequence[str] = (), least: Sequence[str] = (), shares: Sequence[str] = ()) -> None:
    """Raises `ArgumentError` with all fields that are out of range; a field that is ``None`` has no value."""
    given = {name: getattr(values, name) for name in (*above, *least, *shares)}
    wrong = {name: f"{value} is below 0" for name, value in given.items() if value is not None and not value >= 0}
    wrong |= {name: f"{given[name]} is not above 0" for name in above if given[name] == 0}
    wrong |= {name: f"{given[name]} is not between 0 and 1" for name in shares if not 0 <= given[name] <= 1}
    if wrong:
        raise ArgumentError(*(parameter_fault(name, what) for name, what in wrong.items()))


def per_message(records: Records, flows: Sequence[int], energy_j: float, air_s: float) -> dict[str, Any]:
    """``messages``, ``joules_per_message``, ``airtime_per_message_s`` and ``joules_per_goodput_bit`` of some flows."""
    messages = records.messages.filter(pl.col("flow").is_in(flows) & pl.col("delivered_ns").is_not_null()).height
    goodput = int(records.flows.filter(pl.col("flow").is_in(flows))["delivered_bytes"].sum())
    return {
        "messages": messages,
        "joules_per_message": energy_j / messages if messages else None,
        "airtime_per_message_s": air_s / messages if messages else None,
        "joules_per_goodput_bit": energy_j / (8 * goodput) if goodput else None,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a frame in which columns without values are floats."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))


def summary(devices: pl.DataFrame, battery: str | None = None) -> dict[str, float | None]:
    """The means over the devices of a table of this package, as `cwndlab.sweep` takes them for its ``measure``.

    Parameters
    ----------
    devices
        A table of `cellular`, `lowpan` or `stations`.
    battery
        A key of `BATTERIES`: adds ``lifetime_years`` by the mean power, and ``messages_per_battery``.

    Returns
    -------
    dict
        The mean of each measure that the table has, and ``None`` where no device has a value.

    Raises
    ------
    ArgumentError
        There is no such battery.

    Examples
    --------
    >>> import polars as pl
    >>> summary(pl.DataFrame({"power_w": [1e-3, 3e-3]}))
    {'power_w': 0.002}
    """
    means: dict[str, float | None] = {
        name: devices.select(pl.col(name).mean()).item() for name in _MEASURES if name in devices.columns
    }
    if battery is not None:
        cell = chosen("battery", "battery", battery, BATTERIES)
        power_w, message_j = means.get("power_w"), means.get("joules_per_message")
        means["lifetime_years"] = None if power_w is None else cell.lifetime_years(power_w)
        means["messages_per_battery"] = cell.messages(message_j) if message_j else None
    return means
