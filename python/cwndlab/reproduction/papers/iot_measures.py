"""What is measured of the runs of the IoT paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Ends of the spans from the start on over which throughput is taken.
SPANS_S = (25, 50, 75, 100, 125, 150)
#: What a start is: 20 round trips at 100 ms, up to the last sampling instant, which may be 100 ms earlier.
START_S = 2.0
#: Where the bands of β begin: less congested, steady, decrease.
_BANDS = {"less": 0.5, "steady": 0.8, "decrease": 0.9}
_HEADER_BYTES = 40


@kept_as("cwndlab.reproduction.iot.path.measure")
def measure_tcp(records: Records) -> dict[str, float | None]:
    """Throughput of the TCP flows together, also as a share of what their access links and the bottleneck carry; that
    of the first one, at its start and up to each of `SPANS_S`; the first one's share; timeouts, losses, queue; how
    often β stood in each band of the algorithm."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    tcp = ~pl.col("name").str.starts_with("background")
    ours = records.flows.filter(tcp)
    begin = float(ours["start_ns"].to_numpy().min()) / 1e9
    each = metrics.goodput(records, start_s=begin).filter(tcp)["goodput_bps"].to_list()
    fair = 1 / len(each)
    found: dict[str, float | None] = {
        "goodput_bps": sum(each),
        "delivered_share": sum(each) / _carried_bps(records, len(each), int(ours["mss_bytes"][0])),
        "first_bps": each[0],
        "share": each[0] / sum(each),
        "off_share": abs(each[0] / sum(each) - fair),
        "timeouts": float(ours["timeouts"].sum()),
        "drops": float(ours["queue_drops"].sum()),
        "background_drops": float(records.flows.filter(~tcp)["queue_drops"].sum()),
        "all_drops": float(records.flows["queue_drops"].sum()),
        "queue_packets": metrics.queue(records)["queue_packets"][0],
        "utilisation": metrics.utilisation(records, start_s=begin)["utilisation"][0],
        "unstamped": float((records.events["kind"] == "fallback").sum()),
        "goodput_2_bps": _first_bps(records, begin, begin + START_S),
    }
    for end in SPANS_S:
        within = begin + end <= duration
        found[f"goodput_{end}_bps"] = _first_bps(records, begin, begin + end) if within else None
    spans = [value for end in SPANS_S if (value := found[f"goodput_{end}_bps"]) is not None]
    first, third, last = (found[f"goodput_{end}_bps"] for end in (SPANS_S[0], SPANS_S[2], SPANS_S[-1]))
    found["late_ratio"] = None if not first or last is None else last / first
    found["last_half_ratio"] = None if not third or last is None else last / third
    found["spans_bps"] = sum(spans) / len(spans) if spans else None
    return found | _bands(records)


def _first_bps(records: Records, start_s: float, end_s: float) -> float | None:
    """Throughput of the first TCP flow in a span."""
    tcp = ~pl.col("name").str.starts_with("background")
    value: float | None = metrics.goodput(records, start_s=start_s, end_s=end_s).filter(tcp)["goodput_bps"][0]
    return value


def _carried_bps(records: Records, flows: int, mss: int) -> float:
    """The payload that so many flows can carry: their access links' or, where it is less, the bottleneck's."""
    rates = dict(records.links.select("name", "rate_bps").iter_rows())
    return float(min(rates["bottleneck"], flows * rates["s0-r1"])) * mss / (mss + _HEADER_BYTES)


def _bands(records: Records) -> dict[str, float | None]:
    """β of the first flow as the paper prints it, at the sampling instants: its largest value and shares of the
    time."""
    rtt = records.samples.filter((pl.col("flow") == 0) & pl.col("rtt_ns").is_not_null())["rtt_ns"]
    if not len(rtt):
        return dict.fromkeys(["beta_largest", *(f"beta_{name}" for name in (*_BANDS, "constant"))])
    beta = (rtt - rtt.cum_min()) / rtt.cum_max()
    largest: dict[str, float | None] = {"beta_largest": float(beta.to_numpy().max())}
    shares = {f"beta_{name}": float((beta >= bound).sum()) / len(beta) for name, bound in _BANDS.items()}
    return largest | shares | {"beta_constant": shares["beta_steady"] - shares["beta_decrease"]}


def first_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Throughput of the first flow over time, in kbit/s."""
    flows = metrics.flows_over_time(records, window_s=2.0, start_s=0.0).filter(pl.col("flow") == 0)
    return {"goodput": (flows["time_s"].to_list(), (flows["goodput_bps"] / 1e3).to_list())}


#: The bottleneck changes so often; "quickly" is within the first seconds after a change.
_PERIOD_S, _QUICK_S = 20, 5
#: By hand, bit/s: what an access link of 1 Mbit/s carries of payload.
_MOST_BPS = 1e6 * 1000 / 1040


def _spans(records: Records) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The first seconds after every rise, and after every fall."""
    end = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    starts = [float(at) for at in range(_PERIOD_S, int(end - _QUICK_S) + 1, _PERIOD_S)]
    spans = [(start, start + _QUICK_S) for start in starts]
    return spans[1::2], spans[::2]


def _mean_bps(records: Records, spans: Sequence[tuple[float, float]]) -> float:
    rates = [metrics.goodput(records, start_s=start, end_s=end)["goodput_bps"][0] for start, end in spans]
    return float(sum(rates)) / len(rates)


def _mean_drops(records: Records, spans: Sequence[tuple[float, float]]) -> float:
    losses = [metrics.loss(records, start_s=start, end_s=end) for start, end in spans]
    return float(sum(one["drops"][0] for one in losses)) / len(spans)


@kept_as("cwndlab.reproduction.iot.adapts.measure")
def measure_adaption(records: Records) -> dict[str, float | None]:
    """Throughput in the first 5 s after a rise of bandwidth or delay, over what the access link carries; the
    bottleneck's drops in the first 5 s after a fall; throughput over all, timeouts."""
    risen, fallen = _spans(records)
    return {
        "early_utilisation": _mean_bps(records, risen) / _MOST_BPS,
        "fallen_drops": _mean_drops(records, fallen),
        "goodput_bps": metrics.goodput(records)["goodput_bps"][0],
        "timeouts": float(records.flows["timeouts"].sum()),
    }


@kept_as("cwndlab.reproduction.iot.mqtt.measure_delay")
def measure_delay(records: Records) -> dict[str, float | None]:
    """Percentiles of the delivery delay of all messages, ms; the bulk flows' throughput; timeouts of the sensors."""
    sensor = pl.col("name").str.starts_with("sensor")
    names = records.flows.select("flow", "name")
    messages = records.transfers.join(names, on="flow").filter(sensor)
    delays = ((messages["end_ns"] - messages["start_ns"]) / 1e6).drop_nulls()
    found: dict[str, float | None] = {
        f"delay_p{percent}_ms": delays.quantile(percent / 100, "linear") for percent in (50, 95, 99)
    }
    bulk = metrics.goodput(records).filter(~sensor)["goodput_bps"]
    found["messages"] = float(len(delays))
    found["bulk_bps"] = float(bulk.sum()) if len(bulk) else None
    found["queue_packets"] = metrics.queue(records)["queue_packets"][0]
    found["sensor_timeouts"] = float(records.flows.filter(sensor)["timeouts"].sum())
    return found
