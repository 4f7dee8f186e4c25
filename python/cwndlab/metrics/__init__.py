"""Metrics: pure functions from records to small tables; one file each, the formula in its docstring.

Each takes ``records`` and, by keyword, the interval ``start_s`` to ``end_s`` in seconds of the run's clock (by default
from the scenario's ``measure_from`` to its end), and answers a polars frame whose columns carry their units. A value
that does not exist is null. What all share, and which link is the bottleneck, `cwndlab.metrics.interval` says.
"""

from cwndlab.metrics.aggressiveness import aggressiveness
from cwndlab.metrics.completion import completion, completion_by_size, total_completion
from cwndlab.metrics.convergence import convergence
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.datagrams import datagrams
from cwndlab.metrics.delta_fairness import delta_fairness
from cwndlab.metrics.distribution import distribution
from cwndlab.metrics.fairness import fairness, fairness_over_time, jain
from cwndlab.metrics.fill import fill
from cwndlab.metrics.friendliness import friendliness
from cwndlab.metrics.goodput import goodput, total_goodput
from cwndlab.metrics.harm import harm
from cwndlab.metrics.load_latency import load_latency
from cwndlab.metrics.loss import loss
from cwndlab.metrics.oscillation import oscillation
from cwndlab.metrics.over_time import flows_over_time, links_over_time
from cwndlab.metrics.power import power
from cwndlab.metrics.queue import queue
from cwndlab.metrics.queueing_delay import queueing_delay
from cwndlab.metrics.radio import radio
from cwndlab.metrics.responsiveness import responsiveness
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.rtt_fairness import rtt_fairness
from cwndlab.metrics.sharing import competing, share
from cwndlab.metrics.smoothness import smoothness
from cwndlab.metrics.summary import COLUMNS, listing, per_flow, per_link, summary
from cwndlab.metrics.throughput import throughput, total_throughput
from cwndlab.metrics.timeouts import timeouts
from cwndlab.metrics.utilisation import utilisation
from cwndlab.metrics.warm_up import warm_up

__all__ = [
    "COLUMNS",
    "aggressiveness",
    "competing",
    "completion",
    "completion_by_size",
    "convergence",
    "cwnd",
    "datagrams",
    "delta_fairness",
    "distribution",
    "fairness",
    "fairness_over_time",
    "fill",
    "flows_over_time",
    "friendliness",
    "goodput",
    "harm",
    "jain",
    "links_over_time",
    "listing",
    "load_latency",
    "loss",
    "oscillation",
    "per_flow",
    "per_link",
    "power",
    "queue",
    "queueing_delay",
    "radio",
    "responsiveness",
    "rtt",
    "rtt_fairness",
    "share",
    "smoothness",
    "summary",
    "throughput",
    "timeouts",
    "total_completion",
    "total_goodput",
    "total_throughput",
    "utilisation",
    "warm_up",
]


def __dir__() -> list[str]:
    return __all__
