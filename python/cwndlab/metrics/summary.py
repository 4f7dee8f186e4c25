"""The metrics of a run side by side: one row per flow, one per bottleneck, and one number each for comparisons."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import ArgumentError, Parameter, parameter_fault, unknown_metric
from cwndlab.metrics.aggressiveness import AGGRESSIVENESS
from cwndlab.metrics.completion import COMPLETION, COMPLETION_BY_SIZE, completion
from cwndlab.metrics.convergence import CONVERGENCE
from cwndlab.metrics.core import MeasuredRun, Metric, flow_table, link_table
from cwndlab.metrics.cwnd import CWND
from cwndlab.metrics.datagrams import DATAGRAMS, datagrams
from cwndlab.metrics.delta_fairness import DELTA_FAIRNESS
from cwndlab.metrics.fairness import FAIRNESS
from cwndlab.metrics.fill import FILL
from cwndlab.metrics.goodput import GOODPUT
from cwndlab.metrics.load_latency import LOAD_LATENCY
from cwndlab.metrics.loss import LOSS, drops, wire_losses
from cwndlab.metrics.of_flow import METRICS, parse, value_of
from cwndlab.metrics.oscillation import OSCILLATION
from cwndlab.metrics.power import POWER
from cwndlab.metrics.queue import QUEUE
from cwndlab.metrics.queueing_delay import QUEUEING_DELAY
from cwndlab.metrics.responsiveness import RESPONSIVENESS
from cwndlab.metrics.rtt import RTT
from cwndlab.metrics.rtt_fairness import RTT_FAIRNESS
from cwndlab.metrics.sharing import SHARE
from cwndlab.metrics.smoothness import SMOOTHNESS
from cwndlab.metrics.throughput import THROUGHPUT
from cwndlab.metrics.timeouts import TIMEOUTS
from cwndlab.metrics.utilisation import UTILISATION

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


class Columns(dict[str, Metric]):
    """The metrics by their names. ``METRIC@FLOW``, a metric of one flow (`cwndlab.metrics.of_flow`), is in
    it for any flow, and in none of its lists."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and parse(name) is not None)

    def __missing__(self, name: str) -> Metric:
        one = parse(name)
        if one is None:
            raise KeyError(name)
        base = METRICS[one.metric]
        direction = 0 if base.competed_for else base.direction
        flow = f"flow {one.flow}" if one.flow.isdecimal() else one.flow
        return replace(base, title=f"{base.title.removesuffix(' of UDP')} of {flow}", direction=direction)


# Sums over columns, which cost less than a short run.
_CHEAP = (
    *GOODPUT,
    *THROUGHPUT,
    *UTILISATION,
    *LOSS,
    *FAIRNESS,
    *QUEUE,
    *RTT,
    *CWND,
    *TIMEOUTS,
    *CONVERGENCE,
    *COMPLETION,
)
_FURTHER = (
    *COMPLETION_BY_SIZE,
    *QUEUEING_DELAY,
    *LOAD_LATENCY,
    *POWER,
    *FILL,
    *DELTA_FAIRNESS,
    *RTT_FAIRNESS,
    *AGGRESSIVENESS,
    *RESPONSIVENESS,
    *SMOOTHNESS,
    *OSCILLATION,
    *DATAGRAMS,
)
#: What `summary` answers.
COLUMNS: Columns = Columns((one.name, one) for one in (*_CHEAP, *_FURTHER))
#: The metrics that every row of a study has.
NAMES = tuple(one.name for one in _CHEAP)
#: What only single flows have.
FLOW_COLUMNS = {one.name: one for one in SHARE}


def requested(metrics: str | Iterable[str], parameter: str = "metrics") -> list[str]:
    """The names that an argument means, which is one or several; raises ``ArgumentError`` where it is neither.

    >>> requested("jain"), requested(["jain", "queue_ms"])
    (['jain'], ['jain', 'queue_ms'])
    """
    if isinstance(metrics, str):
        return [metrics]
    if not isinstance(metrics, Iterable):
        what = f"'{metrics}' is not a list of metrics"
        raise ArgumentError(parameter_fault(parameter, what, example=["goodput_bps", "jain"]))
    return list(metrics)


def known(metrics: str | Iterable[str], parameter: str = "metrics") -> list[str]:
    """The names of `requested`; raises ``ArgumentError`` with each one that is not a metric."""
    names = requested(metrics, parameter)
    faults = [unknown_metric(Parameter(parameter), name, COLUMNS) for name in names if name not in COLUMNS]
    if faults:
        raise ArgumentError(*faults)
    return names


@cache
def metrics_version() -> str:
    """Changes whenever a formula does: the head of the SHA-256 of this package's files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def per_flow(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per flow: `goodput`, `share`, `throughput`, `rtt`, `cwnd`, `timeouts`; `datagrams` where there are flows
    over UDP, and `completion` where there are transfers.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> table = cwndlab.metrics.per_flow(records)
    >>> table.select("name", "retransmitted_packets", "timeouts").rows()
    [('flow0', 551, 0), ('flow1', 7, 0)]
    """
    run = MeasuredRun(records, start_s, end_s)
    found = flow_table(run, (*GOODPUT, *SHARE, *THROUGHPUT, *RTT, *CWND, *TIMEOUTS[::-1]))
    for table in (run.table(datagrams), run.table(completion)):
        if len(table):
            found = found.join(table.drop("name", "algorithm"), on="flow", how="left", maintain_order="left")
    return found


def per_link(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per bottleneck, the first one first: `utilisation`, `queue`, `loss`.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> table = cwndlab.metrics.per_link(records)
    >>> table.select("link", "drops").row(0)
    ('bottleneck', 234)
    """
    return link_table(MeasuredRun(records, start_s, end_s), (*UTILISATION, *QUEUE[::-1], drops, *LOSS, wire_losses))


def summary(
    records: Records,
    metrics: str | Collection[str] | None = None,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
) -> dict[str, float | None]:
    """One number per metric of `COLUMNS`, or of ``metrics``, one name or several, which computes no others: goodput,
    throughput and completion of all flows together; sums over flows of timeouts, retransmissions, congestion events;
    the minimum of the flows' minimum RTTs; means over flows of what else a flow has; the first bottleneck's values.

    ``metrics`` may name those of single flows, ``METRIC@FLOW``, with the name or index of a flow in the records, or the
    name of a table ``[[flow]]``: of its flows rates, counts and shares are added up, the others averaged, and
    ``min_rtt_ms`` is the smallest. Null where there is none.
    Raises ``ArgumentError`` for names that are not metrics.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> values = cwndlab.metrics.summary(records, ["utilisation", "timeouts"])
    >>> round(values["utilisation"], 2), values["timeouts"]
    (0.93, 0.0)
    """
    run = MeasuredRun(records, start_s, end_s)
    found: dict[str, float | None] = {}
    for name in COLUMNS if metrics is None else known(metrics):
        single = parse(name)
        found[name] = COLUMNS[name].value(run) if single is None else value_of(run, single)
    return found


_OF_FLOWS = {"mean": "mean over flows", "sum": "sum over flows", "min": "smallest of the flows"}


def listing() -> list[dict[str, object]]:
    """Every metric of `COLUMNS`: ``name``, ``title``, ``unit`` as it is shown, what is ``wanted`` (more, less, or
    neither), ``formula`` and ``source``; then the metrics of single flows, as ``METRIC@FLOW``.

    Examples
    --------
    >>> import cwndlab
    >>> goodput = cwndlab.metrics.listing()[0]
    >>> goodput["name"], goodput["unit"], goodput["wanted"], goodput["source"]
    ('goodput_bps', 'Mbit/s', 'more', 'RFC 5166, section 2.1.1')
    """
    wanted = {1: "more", -1: "less", 0: None}
    named = [*COLUMNS.items(), *((f"{name}@FLOW", COLUMNS[f"{name}@FLOW"]) for name in METRICS)]

    def formula(name: str, one: Metric) -> str:
        is_of_flows = one.flows is not None and one.one is None and "@" not in name
        return f"{one.formula}; {_OF_FLOWS[one.together]}" if is_of_flows else one.formula

    return [
        {
            "name": name,
            "title": one.title,
            "unit": one.unit,
            "wanted": wanted[one.direction],
            "formula": formula(name, one),
            "source": one.source,
        }
        for name, one in named
    ]
