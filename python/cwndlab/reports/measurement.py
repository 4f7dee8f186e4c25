"""The page of a campaign on a real path."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cwndlab.live.store import place_of
from cwndlab.metrics import COLUMNS
from cwndlab.plot import Chart, Curve, Figure, bars
from cwndlab.records import Records
from cwndlab.reports.page import Links, Page
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import over_time
from cwndlab.reports.tables import Table, table

if TYPE_CHECKING:
    from cwndlab.live.results import Measurement

_FACTORS = (
    "Analysis of variance of the throughput. Algorithms, and whether their differences depend on the part of the day, "
    "are tested against the rest within rounds; parts of the day against the rounds within a part."
)


def measurement_page(measurement: Measurement) -> str:
    """Its tables, means, differences within rounds, the time of day, and the first complete round over time."""
    page, behind = Page(), _behind(measurement)
    means = [
        page.figure(
            bars(
                measurement.algorithms,
                [measurement.estimate(name, metric) for name in measurement.algorithms],
                COLUMNS[metric],
                [target for _, target in behind],
            ),
            f"bars-{metric}",
            opens=behind,
        )
        for metric in (measurement.judged() if measurement.rows else ())
    ]
    header, rows = measurement.differences()
    has_effects = bool(measurement.rows) and bool(measurement.effects())
    examples = measurement.examples if measurement.rows else {}
    return page.render(
        "measurement.html",
        title=f"Throughput from {measurement.question.url}",
        footer=f"seed {measurement.question.seed} · {len(measurement.rows)} transfers",
        commands=["cwndlab report DIR"],
        data=_packed(measurement),
        intro=_intro(measurement),
        campaign_notes=measurement.notes,
        rounds=table(
            f"Throughput of each transfer; mean ± half of the 95 % interval, n = {len(measurement.seeds)} rounds",
            *measurement.table(),
            foot=1,
        )
        if measurement.rows
        else None,
        chart=page.figure(_graph(measurement), "rounds", opens=behind) if measurement.rows else None,
        means=_means(measurement) if measurement.rows else None,
        bars=means,
        differences=table("Differences within rounds; n counts the rounds", header, rows) if rows else None,
        method=measurement.method() if rows else "",
        day=table("Mean ± half of the 95 % interval by part of the day; n = rounds", *measurement.day())
        if has_effects
        else None,
        factors=table("Analysis of variance of the throughput", *measurement.factors()) if has_effects else None,
        factors_note=_FACTORS,
        over_time=over_time(page, examples, f"Over time, round {measurement.seeds[0]}", linked=False)
        if examples
        else None,
        notes=[f"{name}: {note}" for name, records in examples.items() for note in records.notes],
    )


def _intro(measurement: Measurement) -> str:
    spec = measurement.question
    return (
        f"{len(measurement.algorithms)} algorithms, each once in every round, in an order drawn by seed {spec.seed}: "
        f"{spec.size_bytes / 1e6:g} MB a transfer from {spec.url} over {spec.transport.upper()}. "
        f"{len(measurement.seeds)} of {spec.rounds} rounds are complete. The algorithm is the sender's, chosen for "
        "each connection. Throughput is payload over the time from the request to the last byte; a ± b is a mean with "
        "half of its 95 % interval (Student's t)."
    )


def _behind(measurement: Measurement) -> Links:
    """What the marks of an algorithm open: its transfers."""
    return [(name, f"#runs={at}") for at, name in enumerate(measurement.algorithms)]


def _means(measurement: Measurement) -> Table:
    """The table of means with the number of complete transfers of each algorithm."""
    header, rows = measurement.means()
    complete = [
        sum(row["algorithm"] == name and row["ended"] == "complete" for row in measurement.rows)
        for name in measurement.algorithms
    ]
    counted = [[*row[:2], str(n), *row[2:]] for row, n in zip(rows, complete, strict=True)]
    caption = "Mean ± half of the 95 % interval (Student's t) over n transfers"
    opens = [target for _, target in _behind(measurement)]
    return table(caption, [*header[:2], "n", *header[2:]], counted, opens=opens)


def _graph(measurement: Measurement) -> Figure:
    values = measurement.by_seed("goodput_bps")
    at = {(row["algorithm"], row["round"]): place for place, row in enumerate(measurement.rows)}
    curves = [
        Curve(name, [float(n) for n in values[name]], [rate / 1e6 for rate in values[name].values()])
        for name in measurement.algorithms
    ]
    opens = {("", name): [f"#run={at[name, n]}" for n in values[name]] for name in measurement.algorithms}
    return Chart("rounds", "Throughput of every round", "round", "throughput, Mbit/s", curves).figure(opens)


def _packed(measurement: Measurement) -> dict[str, Any]:
    """The transfers and, of those whose records there are, their time series."""
    if not measurement.rows:
        return {}
    fields = {name: [row[name] for row in measurement.rows] for name in ("algorithm", "round", "ended")}
    metrics = {name: [row.get(name) for row in measurement.rows] for name in measurement.judged()}
    groups = [
        Group(name, [at for at, row in enumerate(measurement.rows) if row["algorithm"] == name])
        for name in measurement.algorithms
    ]
    series = []
    for at, row in enumerate(measurement.rows):
        place = None if measurement.folder is None else place_of(measurement.folder, row["round"], row["algorithm"])
        if place is not None and (place / "samples.parquet").is_file():
            series.append((at, partial(Records.read, place)))
    return packed(fields, metrics, groups, series)
