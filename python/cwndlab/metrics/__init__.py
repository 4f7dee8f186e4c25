"""Metrics: pure functions from records to small tables; one file each, the formula in its docstring.

Each takes ``records`` and, by keyword, the interval ``start_s`` to ``end_s`` in seconds of the run's clock (by default
from the scenario's ``measure_from`` to its end), and answers a polars frame whose columns carry their units. A value
that does not exist is null. What all share, and which link is the bottleneck, `cwndlab.metrics.window` says.
"""

from cwndlab.metrics.completion import completion, total_completion
from cwndlab.metrics.convergence import convergence
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.distribution import distribution
from cwndlab.metrics.fairness import fairness, fairness_over_time, jain
from cwndlab.metrics.friendliness import friendliness
from cwndlab.metrics.goodput import goodput, total_goodput
from cwndlab.metrics.loss import loss
from cwndlab.metrics.over_time import flows_over_time, links_over_time
from cwndlab.metrics.queue import queue
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.summary import COLUMNS, per_flow, per_link, summary
from cwndlab.metrics.throughput import throughput
from cwndlab.metrics.timeouts import timeouts
from cwndlab.metrics.utilisation import utilisation

__all__ = [
    "COLUMNS",
    "completion",
    "convergence",
    "cwnd",
    "distribution",
    "fairness",
    "fairness_over_time",
    "flows_over_time",
    "friendliness",
    "goodput",
    "jain",
    "links_over_time",
    "loss",
    "per_flow",
    "per_link",
    "queue",
    "rtt",
    "summary",
    "throughput",
    "timeouts",
    "total_completion",
    "total_goodput",
    "utilisation",
]
