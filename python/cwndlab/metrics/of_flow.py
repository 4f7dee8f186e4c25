"""A metric of one flow: ``goodput_bps@long`` is the goodput of the flow called ``long``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.cwnd import CWND
from cwndlab.metrics.datagrams import DATAGRAMS
from cwndlab.metrics.goodput import GOODPUT
from cwndlab.metrics.rtt import RTT
from cwndlab.metrics.sharing import SHARE
from cwndlab.metrics.throughput import THROUGHPUT
from cwndlab.metrics.timeouts import TIMEOUTS

if TYPE_CHECKING:
    pass

#: Metrics that one flow has, by name.
METRICS = {one.name: one for one in (*GOODPUT, *THROUGHPUT, *RTT, *CWND, *TIMEOUTS, *SHARE, *DATAGRAMS)}
# Names that an error lists.
_MOST_NAMED = 20


class OfFlow(NamedTuple):
    """A metric of a flow, as ``METRIC@FLOW`` names it."""

    metric: str
    flow: str


def parse(name: str) -> OfFlow | None:
    """The two parts of ``METRIC@FLOW``; nothing where this is not a metric of one flow."""
    metric, at, flow = name.partition("@")
    return OfFlow(metric, flow) if at and flow and metric in METRICS else None


def groups(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """The flows of a scenario (plain values): by the name of each table ``[[flow]]``, the names that its flows have in
    the records. A table with a ``count`` has several, ``name-1`` and so on."""
    found = {}
    for index, flow in enumerate(document["flow"]):
        name, count = flow.get("name", f"flow{index}"), flow.get("count", 1)
        found[name] = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    return found


def members(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The flows of a scenario (plain values) by their index in the records: table and name of each."""
    return [(table, name) for table, names in groups(document).items() for name in names]


def resolve(document: Mapping[str, Any], flow: str | int) -> str:
    """The table ``[[flow]]`` that ``flow`` means: its name, or the name or index of its only flow.

    Raises
    ------
    ScenarioError
        There is no such flow, or it is one of several of a ``count``, which have one algorithm.
    """
    tables = groups(document)
    if str(flow) in tables:
        return str(flow)
    at = flow_index(document, flow, where="flows")
    table, name = members(document)[at]
    if (count := len(tables[table])) == 1:
        return table
    what = f"flow {at} ('{name}') is one of {count} of the table '{table}', which have one algorithm"
    raise ScenarioError(Fault("flows", what, f"name '{table}', or give the flow a table [[flow]] of its own"))


def flow_index(document: Mapping[str, Any], flow: str | int, *, where: str = "flow") -> int:
    """The index in the records of the flow that ``flow`` means: its name or its index, or the name of a table with one
    flow.

    Raises
    ------
    ScenarioError
        There is no such flow; ``where`` is the parameter of the error.

    Examples
    --------
    >>> document = {"flow": [{"name": "web", "count": 2}, {"name": "call"}]}
    >>> [flow_index(document, one) for one in ("web-2", "call", 2)]
    [1, 2, 2]
    """
    known = [name for _, name in members(document)]
    if str(flow) in known:
        return known.index(str(flow))
    if str(flow).isascii() and str(flow).isdecimal() and int(flow) < len(known):
        return int(flow)
    names = list(dict.fromkeys([*groups(document), *known]))
    there = ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )
    raise ScenarioError(Fault(where, f"no flow is called '{flow}'", f"there are {there}"))


def is_flow(document: Mapping[str, Any], flow: str) -> bool:
    """Whether ``METRIC@FLOW`` may name it: a table, or a flow by its name or index."""
    tables = groups(document)
    count = sum(map(len, tables.values()))
    return flow in tables or any(flow in names for names in tables.values()) or flow in map(str, range(count))


def value_of(run: MeasuredRun, wanted: OfFlow) -> float | None:
    """The value of a metric of the flows that ``wanted`` names: a table ``[[flow]]``, or a flow by its name or index in
    the records. Of several flows rates, counts and shares are added up, the others averaged, and ``min_rtt_ms`` is the
    smallest. Null where the run has no such flow or the flow no such value."""
    known = groups(run.records.document)
    names = known.get(wanted.flow, [wanted.flow])
    if wanted.flow not in known and wanted.flow.isdecimal():
        names = [name for index, (_, name) in enumerate(members(run.records.document)) if str(index) == wanted.flow]
    mine = [row["flow"] for row in run.flow_rows if row["name"] in names]
    return METRICS[wanted.metric].value(run, mine)


def flow_metrics(document: Mapping[str, Any], flows: Sequence[str] | None) -> list[str]:
    """Goodput and share of each table of flows over TCP in a scenario; none where all flows are compared."""
    if flows is None:
        return []
    tables = zip(groups(document), document["flow"], strict=True)
    names = [name for name, flow in tables if flow.get("transport") != "udp"]
    return [f"{metric}@{name}" for metric in ("goodput_bps", "share") for name in names]
