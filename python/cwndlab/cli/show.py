"""The tables that commands print: a run, a comparison, a sweep, reports of the conformance battery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cwndlab
from cwndlab.cli.console import (
    Format,
    Row,
    rounded,
    say,
    say_seed,
    visible,
    write,
    write_csv,
    write_json,
    write_rows,
    write_table,
)
from cwndlab.cli.findings import say_findings

if TYPE_CHECKING:
    from cwndlab.assessment import Dossier
    from cwndlab.records import Records
    from cwndlab.reproduction import Reproductions
    from cwndlab.study.attack import AttackResult, Confirmation
    from cwndlab.study.hosting import HostedRun, Verdict
    from cwndlab.study.rendering import Table
    from cwndlab.study.result import Result
    from cwndlab.study.tuning import TuningResult
    from cwndlab.suites import SuiteResult
    from cwndlab.validation.conformance import CheckReport

# Rows of a table for people.
_SHOWN_FLOWS = 40
_SHOWN_LINKS = 8
_SHOWN_FLOWS_OF_TRANSFERS = 8
#: Cells of a sweep beside its report.
SHOWN_CELLS = 20


def run_document(records: Records) -> dict[str, Any]:
    """A run for a program."""
    levels = _service(records)
    service = {} if levels is None else {"levels": levels.values}
    tables = {name: records.rows(name) for name in ("flows", "links", "findings")}
    return {"flows": tables["flows"], "links": tables["links"], **service, "findings": tables["findings"]}


def say_run(records: Records) -> None:
    """The findings and the seed of a run."""
    say_findings(records.rows("findings"))
    say_seed(records.seed)


def show_run(records: Records, format: Format) -> None:
    levels = _service(records)
    flows, links = records.rows("flows"), records.rows("links")
    match format:
        case Format.json:
            write_json(run_document(records))
        case Format.csv:
            write_csv(flows, tuple(flows[0]) if flows else ())
            write("")
            write_csv(links, tuple(links[0]) if links else ())
            if levels is not None:
                write("\n" + levels.to("csv"))
        case Format.table | Format.markdown | Format.latex:
            _flows_and_links(flows, links, format)
            _transfers(records, flows, format)
            if levels is not None:
                _further(levels, format)
    say_run(records)


def _service(records: Records) -> Table | None:
    """The service levels of a run; ``None``, and nothing is imported, if no flow requires any."""
    if not any("service" in flow for flow in records.document["flow"]):
        return None
    return cwndlab.study.tables.levels_of(cwndlab.service.levels(records))


def _further(table: Table, format: Format) -> None:
    """Prints a table of service levels or of the radio, if it has rows."""
    if table.rows:
        write("")
        write(visible(table.to(FORMS[format])))
        say(table.caption)


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:.2f} ms"


def _bytes(value: int) -> str:
    return f"{value / 1e6:.3f} MB" if value >= 1_000_000 else f"{value / 1e3:.1f} kB"


def write_cells(
    cells: Sequence[Sequence[object]], titles: Sequence[str], format: Format, *, right: Sequence[str] = ()
) -> None:
    """A table for people, or for a paper; columns in ``right`` are right-aligned."""
    if format is Format.table:
        write_table(cells, titles, right=right)
        return
    words = [title for title in titles if title not in right]
    table = cwndlab.study.rendering.Table("", titles, cells, labels=0, words=words)
    write(visible(table.to(FORMS[format])))


def _transfers(records: Records, flows: Sequence[Row], format: Format) -> None:
    """Completion times if a flow has more than one transfer: of all flows, then by flow."""
    if records.height("transfers") < 2:
        return
    import polars as pl

    frame = records.transfers.select("flow", "size_bytes", (pl.col("end_ns") - pl.col("start_ns")).alias("took"))
    indices = frame["flow"].unique(maintain_order=True)
    if len(indices) == frame.height:
        return
    shown = indices.head(_SHOWN_FLOWS_OF_TRANSFERS)
    parts = [(flows[index]["name"], frame.filter(pl.col("flow") == index)) for index in shown]
    if len(indices) > 1:
        parts.insert(0, ("all", frame))
    names = ("transfers", "count", "mean size", "mean", "median", "95 %", "99 %", "longest")
    cells = [
        (
            name,
            f"{part.height}",
            _bytes(int(part["size_bytes"].sum()) // part.height),
            _milliseconds(part["took"].mean()),  # type: ignore[arg-type]
            *(_milliseconds(part["took"].quantile(share, "linear")) for share in (0.5, 0.95, 0.99, 1.0)),
        )
        for name, part in parts
    ]
    write("")
    write_cells(cells, names, format, right=names[1:])


Columns = Mapping[str, Callable[[Row], str]]
_FLOWS: Columns = {
    "flow": lambda row: row["name"],
    "algorithm": lambda row: row["algorithm"],
    "delivered": lambda row: _bytes(row["delivered_bytes"]),
    "sent": lambda row: f"{row['sent_packets']}",
    "resent": lambda row: f"{row['retransmitted_packets']}",
    "timeouts": lambda row: f"{row['timeouts']}",
    "min rtt": lambda row: _milliseconds(row["min_rtt_ns"]),
    "mean rtt": lambda row: _milliseconds(row["mean_rtt_ns"]),
}
# Flows over UDP: no window and no RTT, but losses and delays one way.
_DATAGRAMS: Columns = {
    "flow": lambda row: row["name"],
    "delivered": lambda row: _bytes(row["delivered_bytes"]),
    "sent": lambda row: f"{row['sent_packets']}",
    "lost": lambda row: f"{row['queue_drops'] + row['wire_losses']}",
    "min delay": lambda row: _milliseconds(row["min_delay_ns"]),
    "mean delay": lambda row: _milliseconds(row["mean_delay_ns"]),
    "max delay": lambda row: _milliseconds(row["max_delay_ns"]),
}
_LINKS: Columns = {
    "link": lambda row: row["name"],
    "rate": lambda row: "–" if row["rate_bps"] is None else f"{row['rate_bps'] / 1e6:g} Mbit/s",
    "utilisation": lambda row: f"{row['utilisation']:.1%}",
    "mean queue": lambda row: f"{row['mean_queue_packets']:.1f}",
    "max queue": lambda row: f"{row['max_queue_packets']}",
    "dropped": lambda row: f"{row['dropped_packets']}",
    "lost": lambda row: f"{row['lost_packets']}",
    "marked": lambda row: f"{row['marked_packets']}",
}


def _write(rows: Sequence[Row], columns: Columns, format: Format) -> None:
    """Prints a table with left-aligned names."""
    right = [name for name in columns if name not in ("flow", "algorithm", "link")]
    write_cells([[cell(row) for cell in columns.values()] for row in rows], tuple(columns), format, right=right)


def _flows_and_links(flows: Sequence[Row], links: Sequence[Row], format: Format) -> None:
    hidden = {"flows": 0, "links": len(links) - _SHOWN_LINKS}
    # Not `export.wire.is_udp`: a hosted stack has the columns of flows over TCP, its congestion control and RTTs.
    for columns, is_datagrams in ((_FLOWS, False), (_DATAGRAMS, True)):
        rows = [row for row in flows if (row["profile"] == "udp") is is_datagrams]
        hidden["flows"] += max(len(rows) - _SHOWN_FLOWS, 0)
        if rows:
            _write(rows[:_SHOWN_FLOWS], columns, format)
            write("")
    # The links with the longest queues.
    busiest = sorted(links, key=lambda row: (-row["mean_queue_packets"], row["link"]))[:_SHOWN_LINKS]
    _write(sorted(busiest, key=lambda row: row["link"]), _LINKS, format)
    left_out = [f"{count} {what}" for what, count in hidden.items() if count > 0]
    if left_out:
        say(f"{' and '.join(left_out)} more with --format json")


def show_result(
    result: Result,
    format: Format,
    metrics: Sequence[str] | None = None,
    *,
    pivot: str | None = None,
    most: int | None = None,
) -> None:
    """Prints the means of a comparison, sweep or matrix; for `compare` also the differences, for a matrix the unusual
    cells. ``pivot`` names two fields over which the first metric is shown; ``most`` limits the cells for people."""
    tables = cwndlab.study.tables
    if not len(result.runs):
        say(f"{result.place}: no run has ended yet")
        return
    is_compared, is_table = bool(result.header.compared), format in FORMS
    if result.title and is_table and not is_compared:
        say(result.title)
    if result.unfinished and not is_compared:
        say(f"{result.place}: {result.unfinished}")
    if pivot is not None:
        table, note = tables.pivot(result, pivot, metrics)
        say_findings(result.finding_rows())
        if note:
            say(note)
        if is_table:
            say(table.caption)
            write(visible(table.to(FORMS[format])))
        else:
            values = table.values if format is Format.json else [rounded(row) for row in table.values]
            write_rows(values, table.header, format)
        return
    if format is Format.json:
        write_json(result.to_dict() if is_compared else result.table(metrics).values)
    elif format is Format.csv and is_compared:
        rows = result.entries()
        write_csv([rounded(row) for row in rows], tuple(rows[0]))
    else:
        _means(result, format, metrics, most)
    if is_table:
        _further(tables.levels(result), format)
        _further(tables.on_air(result), format)
        for one in tables.radio_or_control(result):
            say(f"{one.label}: {one.text}")
    if is_compared and is_table:
        _differences(result, format, metrics)
    elif result.header.kind == "matrix" and is_table:
        matrix = cwndlab.study.matrix
        write("\n" + visible(matrix.unusual(matrix.rows(result)).to(FORMS[format])))
    say_findings(result.finding_rows())
    if is_compared or result.header.kind == "matrix":
        say_seed(result.seeds[0], result.seeds[-1])


#: The forms of tables by format.
FORMS = {Format.table: "text", Format.markdown: "markdown", Format.latex: "latex"}


def _means(result: Result, format: Format, metrics: Sequence[str] | None, most: int | None) -> None:
    table = result.table(metrics)
    shown = table if most is None or format is Format.csv else replace(table, rows=table.rows[:most])
    write(visible(shown.to(FORMS.get(format, format.value))))
    if len(shown.rows) < len(table.rows):
        say(f"{len(table.rows) - len(shown.rows)} cells more with --format csv")


def _differences(result: Result, format: Format, metrics: Sequence[str] | None) -> None:
    table = cwndlab.study.tables.differences(result, result.shown if metrics is None else metrics)
    if table.rows:
        write("")
        write(visible(table.to(FORMS[format])))
        write("")
        say(result.method())
    for note in result.notes:
        say(note)


def _write_presented(table: Table, format: Format, *, wrap: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Prints a table of a result in any format; columns in ``wrap`` wrap in a terminal, programs get ``columns``."""
    if format is Format.table:
        numbers = [title for at, title in enumerate(table.header) if not table.is_text(at)]
        write_table(table.rows, table.header, right=numbers, wrap=wrap)
    elif format in FORMS:
        write(visible(table.to(FORMS[format])))
    else:
        write_rows(table.values, columns or tuple(table.values[0] if table.values else table.header), format)


def show_tuning(result: TuningResult, format: Format, *, trials: bool = False) -> None:
    """The verdicts and the range of good parameters; of an unfinished search, or with ``trials``, every trial."""
    tables = cwndlab.study.tuning.tables
    if trials or not result.complete:
        _write_presented(tables.trials(result), format)
    else:
        _write_presented(result.table(), format, wrap=("values",))
        if format is Format.table:
            write("")
            _write_presented(tables.landscape(result), format)
            for line in result.verdicts():
                say(line)
    say_findings(result.findings)


def show_attack(result: AttackResult, confirmations: Mapping[str, Confirmation], format: Format) -> None:
    """The finding in sentences, and what happened between the changes of the path."""
    if format is Format.json:
        write_json(result.as_dict() | {key: one.as_dict() for key, one in confirmations.items()})
        return
    if format is Format.table:
        for line in [*result.lines(), *map(str, confirmations.values())]:
            write(visible(line))
        write("")
    _write_presented(result.table(), format, wrap=("event",))
    if format is Format.table and (decisions := result.decisions()):
        write("")
        for line in ("largest reduction of the window between each two changes:", *decisions):
            write(visible(line))


def show_hosted(found: Sequence[HostedRun], verdicts: Sequence[Verdict], format: Format) -> None:
    """Runs of stacks, with verdicts if there are some."""
    _write_presented(cwndlab.study.hosting.table(found, verdicts), format, wrap=("detail",))


def show_dossier(dossier: Dossier, format: Format) -> None:
    """Findings by the criteria; for people also sentences."""
    if format is Format.json:
        write_json(dossier.content)
    elif format is Format.markdown:
        write(visible(dossier.markdown()))
    elif format is not Format.table:
        _write_presented(dossier.table(), format)
    else:
        write(visible(str(dossier.table())))
        for line in [*dossier.verdicts(), *dossier.facts()]:
            say(line)


def show_suite(result: SuiteResult, format: Format) -> None:
    """Cases by paths, then the statements that do not hold."""
    if format is not Format.table:
        write_json(result.as_dict()) if format is Format.json else _write_presented(result.table(), format)
        return
    write(visible(str(result.table())))
    for text in result.verdicts():
        write("\n" + visible(text))
    say(f"{result.algorithm}: {result.counts}")


def show_reproductions(result: Reproductions, format: Format, *, counts: bool = False) -> None:
    """Prints published and measured values with outcomes; for people also the counts of outcomes."""
    if format is Format.table and counts:
        _write_presented(result.counts(), format)
        return
    columns = cwndlab.reproduction.COLUMNS
    _write_presented(result.table(), format, wrap=("claim", "quantity", "published", "reason"), columns=columns)
    if format is Format.table:
        for sentence in result.verdicts()[1:]:
            say(sentence)


def show_check_reports(reports: Sequence[CheckReport], format: Format, *, begins: bool = True) -> None:
    """``begins`` is false for CSV below a header that is already printed."""
    rows = [rule.as_dict() for report in reports for rule in report.rules]
    if format is Format.csv:
        write_csv(rows, cwndlab.validation.conformance.COLUMNS, header=begins)
        return
    if format is Format.table and len(reports) > 1:
        summary = [
            {
                "algorithm": report.algorithm,
                "rules": len(report.rules),
                "broken": ", ".join(report.broken) or "none",
                "ns per ACK": report.ns_per_ack,
            }
            for report in reports
        ]
        write_rows(summary, tuple(summary[0]), format)
        rows = [row for row in rows if not row["holds"]]
        if rows:
            write("")
    if rows or format is not Format.table:
        write_rows(rows, cwndlab.validation.conformance.COLUMNS, format, wrap=("detail",))
