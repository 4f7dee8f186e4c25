"""The page of a campaign on a real path."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from cwndlab.live.preflight import route, rtt
from cwndlab.live.store import transfer_folder
from cwndlab.metrics import COLUMNS
from cwndlab.plot import Chart, Curve, Figure, bars
from cwndlab.records import Records
from cwndlab.reports.page import Links, Page
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import over_time
from cwndlab.reports.tables import Table, table
from cwndlab.statistics.digits import number

if TYPE_CHECKING:
    from cwndlab.live.results import Measurement

_FACTORS = (
    "Analysis of variance of the throughput. Algorithms, and the dependence of their differences on the part of the "
    "day, are tested against the rest within rounds; parts of the day against the rounds within a part. These p are "
    "not corrected."
)
_AUDITS = (
    "The sender's bytes in flight in its captures beside algorithms of the library: decisive ACKs, the share of them "
    "that do not contradict the algorithm (range over captures), and the kinds of departures"
)
_FACTORS_OF_SERVERS = (
    " Over all servers, the server takes the place of the part of the day: it is tested against its rounds, algorithms "
    "and their dependence on the server against the rest within rounds."
)


def measurement_page(measurement: Measurement) -> str:
    """The page: tables, means, differences within rounds, the time of day, and the first complete round over time."""
    page, behind = Page(), _behind(measurement)
    servers = measurement.servers
    means = [
        page.figure(
            bars(
                list(measurement.series),
                [measurement.estimate(label, metric) for label in measurement.series],
                COLUMNS[metric],
                [target for _, target in behind],
            ),
            f"bars-{metric}",
            opens=behind,
        )
        for metric in (measurement.judged() if measurement.rows else ())
    ]
    header, rows = measurement.differences()
    has_effects = bool(measurement.rows) and bool(measurement.analyses())
    examples = measurement.examples if measurement.rows else {}
    return page.render(
        "measurement.html",
        title=f"Throughput from {', '.join(measurement.question.servers)}",
        footer=f"seed {measurement.question.seed} · {len(measurement.rows)} transfers",
        commands=["cwndlab report DIR"],
        run_findings=measurement.finding_rows(),
        data=_packed(measurement),
        intro=_intro(measurement),
        campaign_notes=measurement.notes,
        rounds=table(
            f"Throughput of each transfer; mean ± half of the 95 % interval, n = {_counts(measurement)}",
            *measurement.table(),
            foot=len(measurement.mean_rows()),
        )
        if measurement.rows
        else None,
        chart=page.figure(_graph(measurement), "rounds", opens=behind) if measurement.rows else None,
        means=_means(measurement) if measurement.rows else None,
        bars=means,
        differences=table(_differences(measurement), header, rows) if rows else None,
        method=measurement.method() if rows else "",
        audits=table(_AUDITS, *measurement.audits()) if measurement.audits()[1] else None,
        day=table("Mean ± half of the 95 % interval by part of the day; n = rounds", *measurement.day())
        if has_effects and measurement.day()[1]
        else None,
        factors=table("Analysis of variance of the throughput", *measurement.factors()) if has_effects else None,
        factors_note=_FACTORS + (_FACTORS_OF_SERVERS if len(servers) > 1 else ""),
        over_time=over_time(page, examples, _over_time(measurement), linked=False) if examples else None,
        preflight=[_preflight(one) for one in measurement.preflight],
        notes=[f"{name}: {note}" for name, records in examples.items() for note in records.notes],
    )


#: Tables of the inspection: key, caption, columns.
_INSPECTED = (
    ("rtt", "Round trips without load", rtt.COLUMNS),
    ("route", "Route", route.COLUMNS),
    ("networks", "Wi-Fi networks in range", ("associated", "ssid", "channel", "band", "signal_dbm")),
    ("tcp", "TCP settings of the client", ("name", "value", "note")),
)


def _counts(measurement: Measurement) -> str:
    """The number of complete rounds of each server."""
    counts = [len(one.rounds) for one in measurement.servers]
    return f"{' and '.join(map(str, counts))} rounds" if len(counts) < 3 else f"{', '.join(map(str, counts))} rounds"


def _differences(measurement: Measurement) -> str:
    """The caption of the differences."""
    if len(measurement.servers) == 1:
        return "Differences within rounds; n counts the rounds"
    return "Differences within rounds of each server, and over all servers; n counts the rounds of these servers"


def _over_time(measurement: Measurement) -> str:
    """The heading of the examples: the first complete round of each server."""
    first = [(one.label, one.rounds[0]) for one in measurement.servers if one.rounds]
    if len(measurement.servers) == 1:
        return f"Over time, round {first[0][1]}"
    return "Over time, " + ", ".join(f"round {number} of {label}" for label, number in first)


def _preflight(document: dict[str, Any]) -> dict[str, Any]:
    """The inspection of the path: an introduction, tables, and what is unknown."""
    tables = []
    for key, caption, columns in _INSPECTED:
        rows = [[_text(row.get(column)) for column in columns] for row in document.get(key) or ()]
        if rows:
            tables.append(table(caption, [_title(column) for column in columns], rows))
    where = f"{document.get('host')} ({document.get('address') or 'without an address'})"
    intro = f"The path from this client to {where}, inspected at {_utc(document['at'])}, before the first transfer."
    unknown = [f"{one['what']}: {one['why']}" for one in document["unknown"]]
    return {"intro": intro, "tables": tables, "notes": [*document.get("notes", ()), *unknown]}


def _utc(text: str) -> str:
    """A time in readable form.

    >>> _utc("2026-11-24T01:04:05.678+01:00")
    '2026-11-24 00:04 UTC'
    """
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _title(column: str) -> str:
    """The title of a column, with its unit on a separate line.

    >>> _title("min_ms"), _title("signal_dbm"), _title("address")
    ('min\\nms', 'signal\\ndBm', 'address')
    """
    name, _, unit = column.rpartition("_")
    return f"{name}\n{ {'ms': 'ms', 'dbm': 'dBm'}[unit] }" if unit in ("ms", "dbm") else column


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)


def _intro(measurement: Measurement) -> str:
    spec = measurement.question
    if len(spec.servers) == 1:
        plan = f"each once in every round, in an order drawn by seed {spec.seed}"
        complete = f"{len(measurement.servers[0].rounds)} of {spec.rounds} rounds are complete."
    else:
        plan = (
            f"each once in every round from each of {len(spec.servers)} servers, in orders of servers and of "
            f"algorithms drawn by seed {spec.seed}"
        )
        counts = ", ".join(f"{len(one.rounds)} of {one.label}" for one in measurement.servers)
        complete = f"Complete rounds of {spec.rounds}: {counts}."
    return (
        f"{len(measurement.algorithms)} algorithms, {plan}: "
        f"{spec.size_bytes / 1e6:g} MB a transfer from {', '.join(spec.servers)} over {spec.transport.upper()}. "
        f"{complete} The algorithm is the sender's, chosen for "
        "each connection. Throughput is payload over the time from the request to the last byte; a ± b is a mean with "
        "half of its 95 % interval (Student's t)."
    )


def _behind(measurement: Measurement) -> Links:
    """The links of a series' marks: its transfers."""
    return [(label, f"#runs={at}") for at, label in enumerate(measurement.series)]


def _means(measurement: Measurement) -> Table:
    """The table of means with the number of complete transfers of each algorithm."""
    header, rows = measurement.means()
    complete = [
        sum(row["algorithm"] == name and row["ended"] == "complete" for row in one.rows)
        for one, name in measurement.series.values()
    ]
    at = header.index("sender") + 1
    counted = [[*row[:at], str(n), *row[at:]] for row, n in zip(rows, complete, strict=True)]
    caption = "Mean ± half of the 95 % interval (Student's t) over n transfers"
    opens = [target for _, target in _behind(measurement)]
    return table(caption, [*header[:at], "n", *header[at:]], counted, opens=opens)


def _graph(measurement: Measurement) -> Figure:
    values = measurement.by_seed("goodput_bps")
    at = {(row["server"], row["algorithm"], row["round"]): place for place, row in enumerate(measurement.rows)}
    curves, opens = [], {}
    for label, (one, name) in measurement.series.items():
        # Each of several servers has a panel; an algorithm has the same colour in all of them.
        panel = one.label if len(measurement.servers) > 1 else ""
        rates = values[label]
        shown = [rate * measurement.unit.factor for rate in rates.values()]
        curves.append(Curve(name, [float(n) for n in rates], shown, panel=panel))
        opens[panel, name] = [f"#run={at[one.server, name, n]}" for n in rates]
    title, y_title = "Throughput of every round", f"throughput, {measurement.unit.name}"
    return Chart("rounds", title, "round", y_title, curves, whole_x=True).figure(opens)


def _packed(measurement: Measurement) -> dict[str, Any]:
    """The transfers, and the time series of those with records."""
    if not measurement.rows:
        return {}
    names = (
        ("algorithm", "round", "ended") if len(measurement.servers) == 1 else ("server", "algorithm", "round", "ended")
    )
    fields = {name: [row[name] for row in measurement.rows] for name in names}
    metrics = {name: [row.get(name) for row in measurement.rows] for name in measurement.judged()}
    groups = [
        Group(label, [at for at, row in enumerate(measurement.rows) if (row["server"], row["algorithm"]) == key])
        for label, key in ((label, (one.server, name)) for label, (one, name) in measurement.series.items())
    ]
    series = []
    for at, row in enumerate(measurement.rows):
        if measurement.folder is None:
            break
        where = row["round"], row["server"], row["algorithm"]
        place = transfer_folder(measurement.folder, measurement.question, *where)
        if (place / "samples.parquet").is_file():
            series.append((at, partial(Records.read, place)))
    return packed(fields, metrics, groups, series)
