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


def measurement_page(found: Measurement) -> str:
    """Its tables, means, differences within rounds, the time of day, and the first complete round over time."""
    page, behind = Page(), _behind(found)
    means = [
        page.figure(
            bars(
                found.algorithms,
                [found.estimate(name, metric) for name in found.algorithms],
                COLUMNS[metric],
                [target for _, target in behind],
            ),
            f"bars-{metric}",
            opens=behind,
        )
        for metric in (found.judged() if found.rows else ())
    ]
    header, rows = found.differences()
    has_effects = bool(found.rows) and bool(found.effects())
    examples = found.examples if found.rows else {}
    return page.render(
        "measurement.html",
        title=f"Throughput from {found.question.url}",
        footer=f"seed {found.question.seed} · {len(found.rows)} transfers",
        commands=["cwndlab report DIR"],
        data=_packed(found),
        intro=_intro(found),
        campaign_notes=found.notes,
        rounds=table(
            f"Throughput of each transfer; means ± half of the 95 % interval, n = {len(found.seeds)} complete rounds",
            *found.table(),
            foot=1,
        )
        if found.rows
        else None,
        chart=page.figure(_graph(found), "rounds", opens=behind) if found.rows else None,
        means=_means(found) if found.rows else None,
        bars=means,
        differences=table("Differences within rounds; n counts the rounds", header, rows) if rows else None,
        method=found.method() if rows else "",
        day=table("Mean ± half of the 95 % interval by part of the day; n = rounds", *found.day())
        if has_effects
        else None,
        factors=table("Analysis of variance of the throughput", *found.factors()) if has_effects else None,
        factors_note=_FACTORS,
        over_time=over_time(page, examples, f"Over time, round {found.seeds[0]}", linked=False) if examples else None,
        notes=[f"{name}: {note}" for name, records in examples.items() for note in records.notes],
    )


def _intro(found: Measurement) -> str:
    spec = found.question
    return (
        f"{len(found.algorithms)} algorithms, each once in every round, in an order drawn by seed {spec.seed}: "
        f"{spec.size_bytes / 1e6:g} MB a transfer from {spec.url} over {spec.transport.upper()}. {len(found.seeds)} of "
        f"{spec.rounds} rounds are complete. The algorithm is the sender's, chosen for each connection. Throughput is "
        "payload over the time from the request to the last byte; a ± b is a mean with half of its 95 % interval "
        "(Student's t)."
    )


def _behind(found: Measurement) -> Links:
    """What the marks of an algorithm open: its transfers."""
    return [(name, f"#runs={at}") for at, name in enumerate(found.algorithms)]


def _means(found: Measurement) -> Table:
    """The table of means with the number of whole transfers of each algorithm."""
    header, rows = found.means()
    whole = [
        sum(row["algorithm"] == name and row["ended"] == "whole" for row in found.rows) for name in found.algorithms
    ]
    counted = [[*row[:2], str(n), *row[2:]] for row, n in zip(rows, whole, strict=True)]
    caption = "Mean ± half of the 95 % interval (Student's t) over n transfers"
    opens = [target for _, target in _behind(found)]
    return table(caption, [*header[:2], "n", *header[2:]], counted, opens=opens)


def _graph(found: Measurement) -> Figure:
    values = found.by_seed("goodput_bps")
    at = {(row["algorithm"], row["round"]): place for place, row in enumerate(found.rows)}
    curves = [
        Curve(name, [float(n) for n in values[name]], [rate / 1e6 for rate in values[name].values()])
        for name in found.algorithms
    ]
    opens = {("", name): [f"#run={at[name, n]}" for n in values[name]] for name in found.algorithms}
    return Chart("rounds", "Throughput of every round", "round", "throughput, Mbit/s", curves).figure(opens)


def _packed(found: Measurement) -> dict[str, Any]:
    """The transfers and, of those whose records there are, their time series."""
    if not found.rows:
        return {}
    fields = {name: [row[name] for row in found.rows] for name in ("algorithm", "round", "ended")}
    metrics = {name: [row.get(name) for row in found.rows] for name in found.judged()}
    groups = [
        Group(name, [at for at, row in enumerate(found.rows) if row["algorithm"] == name]) for name in found.algorithms
    ]
    series = []
    for at, row in enumerate(found.rows):
        place = None if found.folder is None else place_of(found.folder, row["round"], row["algorithm"])
        if place is not None and (place / "samples.parquet").is_file():
            series.append((at, partial(Records.read, place)))
    return packed(fields, metrics, groups, series)
