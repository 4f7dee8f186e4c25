"""Validation against ns-2, ns-3 and Linux: the scenarios of a reference folder run in the simulator.

The folder has the tolerances (`cwndlab.validation.references`); those of ns-2 and Linux are at least twice the spread of
the reference's runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.catalogue import canonical
from cwndlab.errors import ArgumentError, Fault, Parameter, ScenarioError, unknown_name
from cwndlab.simulate import run_jobs
from cwndlab.validation.references import wifi
from cwndlab.validation.references.measure import EARLY_CUTS, Measured, measure
from cwndlab.validation.references.reference import Reference, bundled

#: Columns of the answer, in the order in which they are printed.
COLUMNS = ("algorithm", "scenario", "quantity", "ours", "reference", "deviation", "tolerance", "holds")

#: How a reference's columns are scaled to the unit of the quantity.
_SCALES = {"_mbps": 1e6, "_ms": 1e-3}

#: Quantities of the bottleneck, of which there is one for all flows.
_OF_THE_LINK = ("mean_queue_packets", "utilisation", "drops_per_event", "marks")

#: A tolerance is widened to this many times the spread of the reference's runs, unless the reference says otherwise.
_SPREADS = 2.0


@dataclass(frozen=True)
class Row:
    """One quantity of one algorithm in one scenario."""

    algorithm: str
    kind: str
    """The reference: ``ns2``, ``ns3``, ``linux``, or ``ns3-wifi``."""
    name: str
    """Its scenario."""
    quantity: str
    flow: int | None
    """Of a quantity that each of two or more flows has."""
    ours: float
    reference: float
    tolerance: float

    @property
    def deviation(self) -> float:
        """Our value less the reference's."""
        return self.ours - self.reference

    @property
    def holds(self) -> bool:
        """The deviation is within the tolerance, and the rounding of published figures."""
        return abs(self.deviation) <= self.tolerance * (1 + 1e-9) + 1e-12

    @property
    def scenario(self) -> str:
        """The reference and its scenario."""
        return f"{self.kind}/{self.name}"

    @property
    def label(self) -> str:
        """The quantity, and the flow where there are two or more."""
        return self.quantity if self.flow is None else f"{self.quantity}[{self.flow}]"

    def as_dict(self) -> dict[str, Any]:
        """The columns of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS} | {"quantity": self.label}


# --- judging


@dataclass(frozen=True)
class _Pair:
    """Ours and theirs, one value per run."""

    quantity: str
    ours: list[float]
    theirs: list[float]
    flow: int | None = None


def _theirs(rows: list[dict[str, str]], column: str) -> list[list[float]]:
    """Values per flow, one per run; ``a / b`` is the ratio of two columns, 0 where both are."""
    name, _, below = column.partition(" / ")
    scale = next((factor for end, factor in _SCALES.items() if end in name), 1.0)
    flows: dict[int, list[float]] = {}
    for row in rows:
        value = float(row[name]) * scale
        if below and value:
            value = value / float(row[below]) if float(row[below]) else float("inf")
        flows.setdefault(int(row.get("flow", 0) or 0), []).append(value)
    return [flows[index] for index in sorted(flows)]


def _pairs(reference: Reference, name: str, algorithm: str, runs: list[Measured]) -> Iterator[_Pair]:
    spec = reference.scenarios[name]
    rows = [row for row in reference.summary(name) if row["algo"] == algorithm]
    tolerances = reference.about["tolerances"][spec["judge_as"]]
    columns = reference.about["columns"]
    if spec["judge_as"] == "transfers":
        yield _Pair(
            "median_completion_s",
            [run.values["median_completion_s"][0] for run in runs],
            [float(row["p50_fct_ms"]) / 1e3 for row in rows],
        )
        return
    for quantity in tolerances:
        if not reference.judged(algorithm, quantity):
            continue
        base = quantity.removesuffix("_sum").removesuffix("_each")
        if quantity == "decrease_factor":
            cuts = [
                row
                for row in reference.cuts(name)
                if row["algo"] == algorithm and row["flow"] == "0" and row["kind"] == "fast"
            ]
            factors = [float(row["ssthresh_after_seg"]) / float(row["cwnd_before_seg"]) for row in cuts][EARLY_CUTS:]
            if factors and runs[0].factors:
                yield _Pair(quantity, [statistics.median(runs[0].factors)], [statistics.median(factors)])
            continue
        if base not in columns or not reference.judged(algorithm, base):
            continue
        theirs = _theirs(rows, columns[base])
        ours = [[run.values[base][flow] for run in runs] for flow in range(len(runs[0].values[base]))]
        if quantity.endswith("_sum"):
            yield _Pair(
                quantity,
                [sum(values) for values in zip(*ours, strict=True)],
                [sum(values) for values in zip(*theirs, strict=True)],
            )
        elif base in _OF_THE_LINK:
            yield _Pair(quantity, ours[0], theirs[0])
        else:
            for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
                yield _Pair(quantity, mine, other, index if len(ours) > 1 else None)


def _tolerance(rule: dict[str, Any], spec: dict[str, Any], theirs: list[float], spreads: float) -> float:
    """The allowed deviation in the quantity's own unit, at least ``spreads`` times the spread of the reference's runs."""
    centre = abs(statistics.fmean(theirs))
    absolute = float(rule.get("absolute", 0.0))
    unit = rule.get("absolute_unit", "")
    if unit == "of the buffer":
        absolute *= spec["buffer_packets"]
    elif unit == "of the link rate":
        absolute *= spec["bottleneck_rate_mbps"] * 1e6
    spread = max(theirs) - min(theirs)
    return max(absolute, float(rule.get("relative", 0.0)) * centre, spreads * spread)


def _judge(reference: Reference, name: str, algorithm: str, runs: list[Measured]) -> Iterator[Row]:
    spec = reference.scenarios[name]
    tolerances = reference.about["tolerances"][spec["judge_as"]]
    for pair in _pairs(reference, name, algorithm, runs):
        ours, theirs = statistics.fmean(pair.ours), statistics.fmean(pair.theirs)
        spreads = float(reference.about.get("spreads", _SPREADS))
        allowed = _tolerance(tolerances[pair.quantity], spec, pair.theirs, spreads)
        yield Row(algorithm, reference.kind, name, pair.quantity, pair.flow, ours, theirs, allowed)


def _judge_cell(reference: Reference, case: wifi.Case, runs: list[dict[str, float]]) -> Iterator[Row]:
    """The quantities of a Wi-Fi cell, means over its runs."""
    rows = [wifi.theirs(row) for row in case.rows]
    for quantity, rule in reference.about["tolerances"][case.judge_as].items():
        ours = statistics.fmean(run[quantity] for run in runs)
        centre = statistics.fmean(row[quantity] for row in rows)
        allowed = max(float(rule.get("absolute", 0.0)), float(rule.get("relative", 0.0)) * abs(centre))
        yield Row(case.algorithm, f"{reference.kind}-wifi", case.label, quantity, None, ours, centre, allowed)


def _mixtures(reference: Reference, runnable: set[str], wanted: set[str] | None) -> list[str]:
    """Names of rows in which each flow has an algorithm of its own, all of which run here and one of which is wanted."""
    names = []
    for name, spec in reference.scenarios.items():
        parts = {flow["algorithm"] for flow in spec["flows"]}
        if parts <= runnable and (wanted is None or parts & wanted):
            names += [row["algo"] for row in reference.summary(name) if row["algo"] not in reference.about["senders"]]
    return list(dict.fromkeys(names))


def _waiting(reference: Reference) -> list[str]:
    """What of the folder waits for a part of cwndlab that is not there, one note per reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in reference.waiting.items():
        reasons.setdefault(reason, []).append(name)
    return [f"{reference.kind}: {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _refuse_unknown(references: Iterable[Reference], wanted: Iterable[str]) -> None:
    """Raises if no reference has an algorithm of a name."""
    names = [name for one in references for name in (*one.about["senders"], *(case.algorithm for case in one.cells))]
    known = list(dict.fromkeys(names))
    where = Parameter("algorithms")
    faults = [unknown_name(where, "algorithm of the references", name, known) for name in wanted if name not in known]
    if faults:
        raise ArgumentError(*faults)


def validate(
    folders: Iterable[Path | str] | None = None,
    *,
    algorithms: Iterable[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> tuple[list[Row], list[str]]:
    """Runs everything in the folders that can be run here.

    Returns the rows, and notes on what was left out and why. ``algorithms`` keeps only those of the reference's names.

    Raises
    ------
    ScenarioError
        No reference has an algorithm of one of the names, or nothing in the folders can be run.
    """
    references = [Reference(Path(folder)) for folder in (folders if folders is not None else bundled())]
    wanted = set(algorithms) if algorithms is not None else None
    _refuse_unknown(references, sorted(wanted or ()))
    notes: list[str] = []
    jobs: list[tuple[Any, int]] = []
    plan: list[tuple[Reference, str, str, list[int]]] = []
    cells: list[tuple[Reference, wifi.Case, list[int]]] = []
    for reference in references:
        kind = reference.kind
        notes += [f"{kind}: {change} (known-answers/{kind}/reference.json)" for change in reference.reworded]
        if wanted is None:
            notes += _waiting(reference)
        runnable: dict[str, str] = {}
        for algorithm, text in reference.about["senders"].items():
            try:
                if text is None:
                    raise ScenarioError(
                        Fault("", reference.untrusted(algorithm, "") or "the reference excludes it from comparison")
                    )
                canonical(text)
            except ScenarioError as error:
                if wanted is None or algorithm in wanted:
                    words = f" ({text})" if text else ""
                    notes.append(f"{kind}: {algorithm}{words} is left out: {error.faults[0].what}")
                continue
            runnable[algorithm] = text
        chosen = {name: text for name, text in runnable.items() if wanted is None or name in wanted}
        chosen |= dict.fromkeys(_mixtures(reference, set(runnable), wanted), "")
        for algorithm, text in chosen.items():
            for name, spec in reference.scenarios.items():
                count = spec.get("runs", {}).get(algorithm, spec["repetitions"])
                if not any(row["algo"] == algorithm for row in reference.summary(name)):
                    continue
                if reason := reference.untrusted(algorithm, name):
                    notes.append(f"{kind}: {algorithm} in {name} is left out: {reason}")
                    continue
                numbers = []
                for run in range(count):
                    numbers.append(len(jobs))
                    jobs.append((reference.document(name, text, algorithm, run), run + 1))
                plan.append((reference, name, algorithm, numbers))
        for case in reference.cells:
            if wanted is None or case.algorithm in wanted:
                numbers = list(range(len(jobs), len(jobs) + len(case.documents)))
                jobs += [(document, run + 1) for run, document in enumerate(case.documents)]
                cells.append((reference, case, numbers))
        for name in reference.untried if wanted is None else ():
            notes.append(f"{kind}: {name} is left out: {reference.untrusted('wifi', name)}")
    if not jobs:
        raise ScenarioError(Fault("validate", "there is nothing to judge", "; ".join(notes)))
    done: dict[int, Measured] = {}
    cell_values: dict[int, dict[str, float]] = {}
    specs = {
        number: (reference.scenarios[name], "events_sampled_s" in reference.about)
        for reference, name, _, numbers in plan
        for number in numbers
    }
    spans = {number: case.span_s for _, case, numbers in cells for number in numbers}
    for index, records in run_jobs(jobs, workers=workers):
        if index in spans:
            cell_values[index] = wifi.measure(records, *spans[index])
        else:
            spec, sampled = specs[index]
            done[index] = measure(records, spec, events_sampled=sampled)
        if progress is not None:
            progress(len(done) + len(cell_values), len(jobs))
    rows = [
        row
        for reference, name, algorithm, numbers in plan
        for row in _judge(reference, name, algorithm, [done[n] for n in numbers])
    ]
    for reference, case, numbers in cells:
        rows += _judge_cell(reference, case, [cell_values[number] for number in numbers])
    return rows, notes


def shares(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Per reference and algorithm: how many quantities were judged, how many hold, and the share."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        judged = counts.setdefault((row.kind, row.algorithm), [0, 0])
        judged[0] += 1
        judged[1] += row.holds
    return [
        {"reference": kind, "algorithm": name, "judged": n, "hold": k, "share": k / n}
        for (kind, name), (n, k) in counts.items()
    ]


def markdown(rows: list[Row], notes: list[str]) -> str:
    """The table of `docs/validity.md`."""
    lines = ["| reference | algorithm | judged | hold | share | not within tolerance |", "|---|---|---:|---:|---:|---|"]
    for share in shares(rows):
        off = [
            f"{row.scenario} {row.label}: {row.ours:.4g} for {row.reference:.4g} (±{row.tolerance:.2g})"
            for row in rows
            if (row.kind, row.algorithm) == (share["reference"], share["algorithm"]) and not row.holds
        ]
        lines.append(
            f"| {share['reference']} | `{share['algorithm']}` | {share['judged']} | {share['hold']} | {share['share']:.0%} | {'; '.join(off) or '–'} |"
        )
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"
