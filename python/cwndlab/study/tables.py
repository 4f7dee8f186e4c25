"""Results as tables: the same in a terminal, in a notebook and on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import ArgumentError, Fault, ScenarioError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.core import Metric
from cwndlab.metrics.margins import verdict_of
from cwndlab.service.judgement import Level
from cwndlab.statistics import Decision, Difference, Estimate, estimate
from cwndlab.statistics.digits import effect_size, interval, mean_with_interval, number, p_value
from cwndlab.study.axes import Axis, short
from cwndlab.study.cells import Cells, unmeasured
from cwndlab.study.matrix import digest
from cwndlab.study.matrix import rows as rows_of_matrix
from cwndlab.study.rendering import Table
from cwndlab.study.result import Result
from cwndlab.study.spec import Row

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Sentence",
    "by_cell",
    "chosen",
    "column",
    "differences",
    "levels",
    "levels_of",
    "means",
    "on_air",
    "pairs",
    "pivot",
    "pivot_axes",
    "radio_or_control",
    "verdicts",
    "words_of",
]

#: The maximum number of cells with differences.
_MOST_COMPARED = 60


def chosen(result: Result, metrics: Sequence[str] | None) -> list[str]:
    """The metrics of a table; raises if the runs lack one."""
    names = list(dict.fromkeys(result.shown if metrics is None else metrics))
    known = [name for name in result.metrics if result.runs[name].dtype.is_numeric()]
    faults = [unmeasured(name, known or list(COLUMNS)) for name in names if name not in known]
    if faults and len(result.runs):
        raise ArgumentError(*faults)
    return names


def means(result: Result, metrics: Sequence[str] | None = None) -> Table:
    """A row per cell that has runs: its values on each axis, and for each metric the mean ± half of its 95 % interval.
    A column counts the runs if cells have different numbers of them. A matrix has a row per algorithm."""
    if metrics is None and result.header.kind == "matrix":
        return digest(rows_of_matrix(result))
    names, rows = chosen(result, metrics), by_cell(result, metrics)
    axes = result.axes
    counts = [row["runs"] for row in rows]
    varies = len(set(counts)) > 1
    titles = short([axis.name for axis in axes]) if axes else ["scenario"]
    header = [*titles, *(["n"] if varies else []), *(_title(name) for name in names)]
    cells = []
    for row in rows:
        words = [axis.text_of(row) for axis in axes] or [result.title or result.scenario.title or "scenario"]
        count = [str(row["runs"])] if varies else []
        cells.append([*words, *count, *(_value(row, name) for name in names)])
    many = f"; n = {counts[0]} run{'s' if counts[0] > 1 else ''} of each" if counts and not varies else ""
    caption = f"Mean ± half of the 95 % interval (Student's t){many}"
    return Table(caption, header, cells, max(1, len(axes)), rows)


def by_cell(result: Result, metrics: Sequence[str] | None = None) -> list[Row]:
    """One row per cell that has a run, for programs: ``cell``, its labels, ``runs``, and ``findings``, the number of
    runs by code. Each metric has its mean, ``_low`` and ``_high`` of the 95 % interval, and ``_n``, the number of
    values. The metrics are by default `Result.shown`."""
    names, rows = chosen(result, metrics), []
    for part in result.runs.partition_by("cell", maintain_order=True):
        first = part.row(0, named=True)
        row: Row = {"cell": first["cell"], **{name: first[name] for name in result.columns}, "runs": len(part)}
        for metric in names:
            one = estimate(part[metric].drop_nulls().to_list())
            row |= {metric: one.mean if one.n else None, f"{metric}_low": one.low, f"{metric}_high": one.high}
            row[f"{metric}_n"] = one.n
        found = {(one["code"], one["seed"]) for one in result.findings_of(first["cell"])}
        codes = [code for code, _ in sorted(found)]
        row["findings"] = {code: codes.count(code) for code in dict.fromkeys(codes)}
        rows.append(row)
    return rows


def column(metric: str) -> Metric:
    """The presentation of a column of runs; a measure of the sweep's own function has its name."""
    return COLUMNS[metric] if metric in COLUMNS else Metric(metric, metric, "")


def _title(metric: str) -> str:
    """A metric's title, and its unit in a second line."""
    return f"{column(metric).title}\n{column(metric).unit}".strip()


def _value(row: Row, metric: str) -> str:
    """Mean ± half of the interval, and the number of values if some runs have none."""
    mean, low, high, n = (row[f"{metric}{end}"] for end in ("", "_low", "_high", "_n"))
    if mean is None:
        return "–"
    # Several values lack an interval only if they are all the same.
    written = mean_with_interval(Estimate(mean, low, high, n, low is None and n > 1), column(metric).factor)
    return written if n == row["runs"] else f"{written} ({n} of {row['runs']})"


def differences(result: Result, metrics: Sequence[str] | None = None) -> Table:
    """The paired differences from the first compared value, within each group of the other axes; the last cell of a row
    is the verdict. There are none for very many cells."""
    titles = ("metric", "difference", "95 % interval", "p (Holm)", "Welch p", "effect", "n", "verdict")
    others = [axis for axis in result.axes if axis is not result.axis(result.compared)]
    base = result.axis(result.compared).texts[0] if result.axes else ""
    header = [*short([axis.name for axis in others]), f"minus {base}", *titles]
    rows: list[list[Any]] = []
    compared = result.comparisons() if len(result.points) <= _MOST_COMPARED else {}
    named = {label: (*group, name) for group, members in result.groups.items() for name, label in members.items()}
    for (label, metric), (delta, adjusted) in compared.items():
        if metrics is not None and metric not in metrics:
            continue
        mean, low, high = interval(delta.paired, column(metric).factor)
        written = [f"{low} … {high}" if low else "–", p_value(adjusted), p_value(delta.welch_p)]
        verdict = verdict_of(metric, delta, adjusted)
        rows.append(
            [*named[label], column(metric).heading, mean, *written, effect_size(delta.effect), pairs(delta), verdict]
        )
    return Table(f"Paired differences from {base}; n counts the pairs", header, rows, len(others) + 2)


def pairs(delta: Difference) -> str:
    """The number of pairs, and the number that differ if some do not."""
    count = delta.paired.n
    return str(count) if delta.differing == count else f"{delta.differing} of {count} differ"


#: The columns of a table of service levels: title, column, factor to the unit of the title, and the column of the
#: requirement without which it is left out.
_LEVELS = (
    ("in time\n%", "in_time", 100.0, "deadline_s"),
    ("p99 delay\ns", "p99_delay_s", 1.0, "p99_delay_s"),
    ("lost\n%", "lost", 100.0, "loss_limit"),
    ("longest silence\ns", "silence_s", 1.0, "gap_s"),
    ("highest age\ns", "age_peak_s", 1.0, "age_limit_s"),
    ("availability\n%", "availability", 100.0, "availability_limit"),
    ("Apdex", "apdex", 1.0, "apdex_s"),
)
#: Requirements in words.
_REQUIRED = (
    ("loss_limit", 100.0, "lost ≤ {} %"),
    ("gap_s", 1.0, "silence ≤ {} s"),
    ("age_limit_s", 1.0, "age ≤ {} s"),
    ("availability_limit", 100.0, "available ≥ {} %"),
    ("apdex_s", 1.0, "Apdex of {} s"),
)


def words_of(result: Result) -> dict[int, list[str]]:
    """The values of the axes of each cell, as tables show them."""
    axes = result.axes
    cells = result.points["cell"].to_list()
    texts = [dict(zip(axis.rows, axis.texts, strict=True)) for axis in axes]
    values = [result.points.select(axis.columns).rows() for axis in axes]
    return {
        cell: [one[value] for one, value in zip(texts, row, strict=True)]
        for cell, row in zip(cells, zip(*values, strict=True) if axes else [()] * len(cells), strict=True)
    }


def levels(result: Result) -> Table:
    """A row per class of flows and cell: what the class requires, what it got, and the verdict; without rows if no flow
    has a table ``service``."""
    words = words_of(result)
    frame = result.levels()
    return levels_of(frame, short([axis.name for axis in result.axes]), [words[cell] for cell in frame["cell"]])


#: The columns of a table of 802.11 stations: title, column of `cwndlab.metrics.radio`, factor to the unit of the title.
_ON_AIR = (
    ("lost on the air\n%", "lost_on_air", 100.0),
    ("lost in its queue\n%", "lost_in_queue", 100.0),
    ("wait of a packet\nms", "wait_ms", 1.0),
    ("by the radio\nms", "radio_ms", 1.0),
    ("its airtime\nms", "air_ms", 1.0),
    ("failed transmissions\n%", "failed", 100.0),
    ("by hidden stations\n%", "hidden", 100.0),
    ("by the same slot\n%", "same_slot", 100.0),
    ("by noise\n%", "noise", 100.0),
    ("others sensed\n% of the time", "others", 100.0),
)


def _air_of_cells(result: Result) -> list[tuple[int, list[Row]]]:
    """By cell, what each run says of the station that sends most on the first medium."""
    parts = result.runs.partition_by("cell", maintain_order=True) if "air" in result.runs.columns else []
    found = [(part["cell"][0], [row for row in map(json.loads, part["air"].drop_nulls()) if row]) for part in parts]
    return [(cell, rows) for cell, rows in found if rows]


def on_air(result: Result) -> Table:
    """A row per cell: what the station that sends most on the first medium lost on the air, with the causes, and what
    it lost in its queue, where the congestion control is to blame; without rows if no medium has a channel."""
    words, rows, cells = words_of(result), [], []
    for cell, found in _air_of_cells(result):
        stations = dict.fromkeys(row["station"] for row in found)
        values = {name: _over_runs(found, name) for _, name, _ in _ON_AIR}
        written = [_described(values[name], factor) for _, name, factor in _ON_AIR]
        cells.append([*words[cell], ", ".join(stations), *written])
        rows.append({"cell": cell, **{name: one.mean for name, one in values.items()}})
    titles = short([axis.name for axis in result.axes])
    caption = "The station that sends most on the first medium: what the radio lost, and what its queue did"
    return Table(caption, [*titles, "station", *(title for title, _, _ in _ON_AIR)], cells, len(titles) + 1, rows)


def _over_runs(rows: Sequence[Row], name: str) -> Estimate:
    """Mean and interval of a column."""
    return estimate([row[name] for row in rows if row.get(name) is not None])


#: Below this share of lost packets there is no loss to speak of.
_LEAST_LOSS = 0.001


def radio_or_control(result: Result) -> list[Sentence]:
    """A sentence for each cell: how much of the loss and of the delay at the station that sends most on the first
    medium is the radio's, and how much its queue's, which the congestion control fills. A cause is named if the
    interval of its share is above one half."""
    words, made = words_of(result), []
    for cell, every in _air_of_cells(result):
        # Null where the station had no packet in the interval.
        found = [row for row in every if row["lost_on_air"] is not None and row["lost_in_queue"] is not None]
        if not found:
            continue
        lost = _over_runs([{"lost": row["lost_on_air"] + row["lost_in_queue"]} for row in found], "lost")
        waits = [row for row in found if row["wait_ms"] and row["radio_ms"] is not None]
        shares = {
            "loss": _over_runs(found, "lost_by_radio") if lost.mean >= _LEAST_LOSS else None,
            "delay": estimate([row["radio_ms"] / row["wait_ms"] for row in waits]) if waits else None,
        }
        parts = [f"{number(100 * lost.mean)} % of the packets are lost"]
        if (share := shares["loss"]) is not None and share.n:
            parts[0] += f", {number(100 * share.mean)} % of these by the radio{_main_cause(found)}"
        if (share := shares["delay"]) is not None and share.n:
            wait = _over_runs(waits, "wait_ms")
            parts.append(f"a packet waits {number(wait.mean)} ms, {number(100 * share.mean)} % of it for the radio")
        causes = {name: _cause(share) for name, share in shares.items() if share is not None and share.n}
        text = f"{'; '.join(parts)}. {_blame(causes)}" + (" (One run.)" if len(found) == 1 else "")
        made.append(Sentence(", ".join([*words[cell], found[0]["station"]]), text))
    return made


def _cause(share: Estimate) -> str:
    """Whose share of the radio this is."""
    low, high = (share.mean, share.mean) if share.low is None or share.high is None else (share.low, share.high)
    return "the radio" if low > 0.5 else "the congestion control" if high < 0.5 else "either"


def _main_cause(rows: Sequence[Row]) -> str:
    """The most frequent cause of failed transmissions, in brackets."""
    causes = {"hidden stations": "hidden", "stations in the same slot": "same_slot", "noise": "noise"}
    shares = {words: _over_runs(rows, name).mean for words, name in causes.items() if _over_runs(rows, name).n}
    most = max(shares, key=lambda words: shares[words], default="")
    return f" (most failures by {most})" if most and shares[most] > 0 else ""


def _blame(causes: Mapping[str, str]) -> str:
    """The causes in a sentence.

    >>> _blame({"loss": "the radio", "delay": "the congestion control"})
    'To blame: the radio for the loss, the congestion control for the delay.'
    >>> _blame({"loss": "either", "delay": "the radio"})
    'To blame: the radio for the delay; undecided for the loss.'
    """
    named = [f"{cause} for the {what}" for what, cause in causes.items() if cause != "either"]
    if len(set(causes.values())) == 1 and named and len(causes) > 1:
        named = [f"{next(iter(causes.values()))} for both"]
    open_ = [f"undecided for the {what}" for what, cause in causes.items() if cause == "either"]
    said = [f"To blame: {', '.join(named)}"] if named else []
    sentence = "; ".join([*said, *open_])
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else "Nothing to blame."


def _described(one: Estimate, factor: float) -> str:
    """Mean ± half of the interval, or the mean where all runs have the same value."""
    if one.n == 0:
        return "–"
    return number(one.mean * factor) if one.low is None else mean_with_interval(one, factor)


def levels_of(frame: pl.DataFrame, titles: Sequence[str] = (), words: Sequence[Sequence[str]] = ()) -> Table:
    """The table of a frame of service levels (`cwndlab.service.levels`); measures that no class
    requires are left out.

    Parameters
    ----------
    titles, words
        The titles of further labels, and their values in each row.
    """
    rows = frame.to_dicts()
    labels = words or [()] * len(rows)
    shown = [one for one in _LEVELS if any(row[one[3]] is not None for row in rows)]
    counts = {row["runs"] for row in rows}
    header = ["class", *titles, "requires", "verdict", "runs that missed", *(["n"] if len(counts) > 1 else [])]
    header += ["messages", "decided", *(title for title, _, _, _ in shown)]
    cells = [
        [
            row["class"],
            *names,
            _required(row),
            _level_verdict(row),
            f"{row['missed_runs']} of {row['judged_runs']}" if row["judged_runs"] else "–",
            *([str(row["runs"])] if len(counts) > 1 else []),
            *("–" if row[name] is None else str(row[name]) for name in ("messages", "decided")),
            *("–" if row[limit] is None else _level(row, name, factor) for _, name, factor, limit in shown),
        ]
        for row, names in zip(rows, labels, strict=True)
    ]
    many = f"; n = {min(counts)} run{'s' if min(counts) > 1 else ''} of each" if len(counts) == 1 else ""
    caption = f"Service levels of decided messages, shares with their 95 % intervals{many}"
    return Table(caption, header, cells, 2 + len(titles), rows)


def _required(row: Row) -> str:
    """What a class requires."""
    deadline = row["deadline_s"]
    words = [] if deadline is None else [f"{100 * row['within']:g} % within {deadline:g} s"]
    words += [text.format(f"{row[name] * factor:g}") for name, factor, text in _REQUIRED if row[name] is not None]
    return ", ".join(words) or "–"


def _level(row: Row, name: str, factor: float) -> str:
    """A value of a service level, with its interval if it has one."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if row[name] is None:
        return "–"
    if low is None or high is None:
        return number(row[name] * factor)
    mean, *ends = interval(Estimate(row[name], low, high, row["runs"]), factor)
    return f"{mean} [{ends[0]}, {ends[1]}]"


def _level_verdict(row: Row) -> str:
    if row["verdict"] is None:
        return "–"
    named = row["verdict"] if row["verdict"] == Level.MET.value else f"{row['verdict']}: {row['requirements']}"
    return f"{named} (one run)" if row["runs"] == 1 else named


class Sentence(NamedTuple):
    """The name of a cell and a sentence about its differences from the base."""

    label: str
    text: str


def verdicts(result: Result) -> list[Sentence]:
    """A sentence for each cell compared with a base: what the intervals of its paired differences show."""
    judged = result.comparisons() if len(result.points) <= _MOST_COMPARED else {}
    made = []
    for label in dict.fromkeys(label for label, _ in judged):
        by_metric = {metric: test for (name, metric), test in judged.items() if name == label}
        made.append(Sentence(label, _sentence(by_metric, len(result.seeds))))
    return made


def _sentence(tests: Mapping[str, tuple[Difference, float | None]], runs: int) -> str:
    shown: list[str] = []
    equal: list[str] = []
    open_: list[str] = []
    copies: list[str] = []
    single: list[str] = []
    for metric, (delta, adjusted) in tests.items():
        title, verdict = _title(metric).partition("\n")[0], verdict_of(metric, delta, adjusted)
        if verdict.decision is Decision.ONE_RESULT:
            copies.append(title)
        elif verdict.decision is Decision.NO_INTERVAL:
            single.append(title)
        elif not verdict.is_difference:
            (equal if verdict.is_equivalence else open_).append(title)
        else:
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column(metric).factor))
            low, high = ends if verdict.decision is Decision.HIGHER else reversed(ends)
            unit = _title(metric).partition("\n")[2]
            unit = {"": "", "%": " points"}.get(unit, f" {unit}")
            valuation = f", {verdict.valuation}" if verdict.valuation else ""
            shown.append(f"{title} {verdict.decision.value} by {mean}{unit} ({low} to {high}){valuation}")
    if len(single) == len(tests):
        return "one repetition, so nothing is decided."
    sentence = f"{'; '.join(shown) or 'no relevant difference is shown'}."
    sentence += f" No relevant difference: {', '.join(equal)}." if equal else ""
    sentence += f" Inconclusive: {', '.join(open_)}." if open_ else ""
    sentence += f" One repetition, so nothing is decided: {', '.join(single)}." if single else ""
    return sentence + (f" {runs} runs, one result: {', '.join(copies)}." if copies else "")


def pivot_axes(cells: Cells, over: str) -> tuple[Axis, Axis]:
    """The axes that ``over`` of `pivot` names; raises if they are not two."""
    down, comma, across = (part.strip() for part in over.partition(","))
    if not comma:
        raise ScenarioError(Fault("--pivot", f"'{over}' does not name two fields", "write --pivot rate,rtt"))
    vertical, horizontal = (cells.axis(name, parameter="pivot") for name in (down, across))
    if vertical is horizontal and down != across:
        what = f"'{down}' and '{across}' change together"
        raise ScenarioError(Fault("--pivot", what, "name fields that change independently"))
    return vertical, horizontal


def pivot(result: Result, over: str, metrics: Sequence[str] | None = None) -> tuple[Table, str]:
    """The first metric over two axes, and the axes over which its values are means. The latter is empty if each value
    is of one cell; it then has an interval. The values for programs are in the unit of the metric's name.

    Parameters
    ----------
    over
        The names of two axes, of their labels or of ends of these, separated by a comma: down and across.
    """
    vertical, horizontal = pivot_axes(result, over)
    metric, rows = chosen(result, metrics)[0], by_cell(result, metrics)
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((vertical.text_of(row), horizontal.text_of(row)), []).append(row)

    def mean(up: str, side: str) -> float | None:
        there = [row[metric] for row in found.get((up, side), ()) if row[metric] is not None]
        return sum(there) / len(there) if there else None

    def written(up: str, side: str) -> str:
        value, cells = mean(up, side), found.get((up, side), ())
        if value is None:
            return "–"
        return _value(cells[0], metric) if len(cells) == 1 else number(value * column(metric).factor)

    cells = [[up, *(written(up, side) for side in horizontal.texts)] for up in vertical.texts]
    names = short([axis.name for axis in result.axes])
    called = dict(zip([axis.name for axis in result.axes], names, strict=True))
    rest = [axis for axis in result.axes if axis not in (vertical, horizontal) and len(axis.texts) > 1]
    means_over = ", ".join(f"{len(axis.texts)} values of {called[axis.name]}" for axis in rest)
    corner = f"{called[vertical.name]} \\ {called[horizontal.name]}"
    values = [{corner: up} | {side: mean(up, side) for side in horizontal.texts} for up in vertical.texts]
    table = Table(column(metric).heading, [corner, *horizontal.texts], cells, 1, values)
    return table, f"each value is a mean over {means_over}" if means_over else ""
