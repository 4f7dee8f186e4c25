"""Beyond the IoT paper: its motive, which it never measures. Sensors that publish by MQTT beside bulk flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from cwndlab import metrics
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Less
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.iot.path import ALL, ASSUMPTIONS, PROPOSED, VARIANTS, flow, scenario, variant
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

_RTT_MS, _SENSORS, _PERIOD_S = 100.0, 200, 10
#: Bulk flows beside them.
_BULK = (0, 2)
_PERCENTILES = (50, 95, 99)


def measure_delay(records: Records) -> dict[str, float | None]:
    """Percentiles of the delivery delay of all messages, ms; the bulk flows' throughput; timeouts of the sensors."""
    sensor = pl.col("name").str.starts_with("sensor")
    names = records.flows.select("flow", "name")
    messages = records.transfers.join(names, on="flow").filter(sensor)
    delays = ((messages["end_ns"] - messages["start_ns"]) / 1e6).drop_nulls()
    found: dict[str, float | None] = {
        f"delay_p{percent}_ms": delays.quantile(percent / 100, "linear") for percent in _PERCENTILES
    }
    bulk = metrics.goodput(records).filter(~sensor)["goodput_bps"]
    found["messages"] = float(len(delays))
    found["bulk_bps"] = float(bulk.sum()) if len(bulk) else None
    found["queue_packets"] = metrics.queue(records)["queue_packets"][0]
    found["sensor_timeouts"] = float(records.flows.filter(sensor)["timeouts"].sum())
    return found


def _cases(size: Size) -> list[Case]:
    cases = []
    for name in ALL:
        for bulk in _BULK:
            sensors = flow(variant(name), _RTT_MS, _SENSORS) | {
                "name": "sensor",
                "start_jitter": f"{_PERIOD_S} s",
                "workload": {"kind": "mqtt", "qos": 1, "period": f"{_PERIOD_S} s", "jitter": "1 s"},
            }
            flows = [sensors] + ([flow(variant(name), _RTT_MS, bulk) | {"name": "bulk"}] if bulk else [])
            document = scenario(flows, delay_ms=_RTT_MS / 2, duration_s=size.duration_s)
            cases.append(Case({"variant": name, "bulk_flows": bulk}, document, measure_delay))
    return cases


def _claims(size: Size) -> list[Claim]:
    del size
    sides: list[Labels] = [{"variant": one, "bulk_flows": _BULK[-1]} for one in (PROPOSED, *VARIANTS)]
    return [
        Claim(
            f"delivery delay, {percent}th percentile, {PROPOSED} / each competitor",
            "suits MQTT",
            f"delay_p{percent}_ms",
            sides,
            Less(),
            kind="beyond",
            headline="iot:mqtt",
        )
        for percent in _PERCENTILES[1:]
    ]


def _charts(measured: Measured) -> list[Chart]:
    curves = []
    for bulk in _BULK:
        for percent in _PERCENTILES:
            found = [measured.estimate(f"delay_p{percent}_ms", variant=name, bulk_flows=bulk) for name in ALL]
            panel = f"beside {bulk} bulk flows" if bulk else "alone"
            curves.append(Curve.of(f"{percent} %", ALL, found, panel=panel))
    title = "Delivery delay of MQTT messages, percentiles"
    return [Chart("mqtt", title, "variant of sensors and bulk flows", "delay, ms", curves, kind="bars")]


def _tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for bulk in _BULK:
        for name in ALL:
            at = {"variant": name, "bulk_flows": bulk}
            delays = [measured.estimate(f"delay_p{percent}_ms", **at).mean for percent in _PERCENTILES]
            late, queue = (measured.estimate(metric, **at).mean for metric in ("sensor_timeouts", "queue_packets"))
            rate = measured.estimate("bulk_bps", **at)
            rows.append([f"{name}, {bulk} bulk", *delays, late, queue, rate.mean / 1e3 if rate.n else None])
    header = (
        "variant",
        *(f"{percent} %, ms" for percent in _PERCENTILES),
        "timeouts",
        "queue, packets",
        "bulk, kbit/s",
    )
    return [Table("Delivery delay", header, rows)]


def _why(measured: Measured) -> list[str]:
    sentences = []
    for name in ALL:
        at = {"variant": name, "bulk_flows": _BULK[-1]}
        queue, late = (measured.estimate(metric, **at).mean for metric in ("queue_packets", "sensor_timeouts"))
        messages = measured.estimate("messages", **at).mean
        sentences.append(
            f"{name}: {queue:.1f} packets wait on average, and {late:.0f} timeouts of sensors meet {messages:.0f} "
            "messages."
        )
    return sentences


MQTT = Experiment(
    "iot/mqtt",
    "delivery delay of MQTT messages of 200 sensors beside bulk flows",
    "§ 5 (beyond the paper)",
    "Sensors are the paper's motive; it measures none.",
    [
        *ASSUMPTIONS,
        f"{_SENSORS} sensors publish messages of 128 to 1024 bytes with QoS 1 every {_PERIOD_S} s, each over a "
        "connection "
        "that stays open, at 50 ms of delay and 50 packets; sensors and bulk flows have the same variant.",
        "A message's delay is from its publication to the arrival of its last byte.",
    ],
    Size(60.0, 3),
    Size(600.0, 10),
    _cases,
    _claims,
    _charts,
    _tables,
    _why,
)
