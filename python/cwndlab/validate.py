"""Validation: the scenarios of a reference folder, run here with the senders that it means, held against its figures.

A reference folder holds ``reference.json`` (what its senders are in our words, tolerances, how rows are judged),
``scenarios.json``, ``<scenario>_summary.csv``, ``<scenario>_cuts.csv.gz`` and drop lists. Its own tolerances count,
widened to twice the spread of its runs where that is more.
"""

from __future__ import annotations

import csv
import gzip
import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError, ScenarioError

#: Columns of the answer, in the order in which they are printed.
COLUMNS = ("algorithm", "scenario", "quantity", "ours", "reference", "deviation", "tolerance", "holds")

#: How a reference's columns are scaled to the unit of the quantity.
_SCALES = {"_mbps": 1e6, "_ms": 1e-3}

#: Windows and round-trip times are means of samples this far apart, ns.
_MEANS_OF_NS = 100_000_000

#: The state of a sender that repairs a loss, and those above it.
_RECOVERY = 3

#: The first recoveries of a run, which the decrease factor leaves out (reference folders: "from the third cut").
_EARLY_CUTS = 2


@dataclass(frozen=True)
class Row:
    """One quantity of one algorithm in one scenario."""

    algorithm: str
    scenario: str
    quantity: str
    ours: float
    reference: float
    deviation: float
    tolerance: float
    holds: bool

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass
class Measured:
    """What one run gives: per quantity one value per flow (or one alone)."""

    values: dict[str, list[float]] = field(default_factory=dict)
    factors: list[float] = field(default_factory=list)


def bundled() -> list[Path]:
    """The reference folders that come with cwndlab."""
    here = Path(__file__).resolve()
    for base in (here.parent / "_known_answers", here.parents[2] / "known-answers"):
        folders = [base / kind for kind in ("ns2", "linux")]
        if all((folder / "reference.json").is_file() for folder in folders):
            return folders
    raise RecordsError(
        Fault("known-answers", "the bundled references are not installed", "name a folder: --reference DIR")
    )


class Reference:
    """A reference folder, read."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.about = self._json("reference.json")
        self.scenarios = self._json("scenarios.json")
        for key in ("kind", "senders", "tolerances", "columns", "profile"):
            if key not in self.about:
                raise RecordsError(
                    Fault(str(self.folder / "reference.json"), f"has no '{key}'", "see known-answers/README.md")
                )
        self.reworded = self._reword()

    def _reword(self) -> list[str]:
        """A reference of a kind that is bundled means the same peer: its senders are worded as the bundled one words
        them, with the peer's quirks by the names of our options. Answers what was worded anew."""
        home = next((folder for folder in bundled() if folder.name == self.about["kind"]), None)
        if home is None or home.resolve() == self.folder.resolve():
            return []
        ours = json.loads((home / "reference.json").read_text(encoding="utf-8"))
        changed = []
        for name, text in self.about["senders"].items():
            better = ours["senders"].get(name)
            if text is not None and better is not None and better != text:
                self.about["senders"][name] = better
                changed.append(f"{name}: '{text}' is run as '{better}'")
        for key in ("sender_stacks", "not_counted"):
            self.about[key] = {**ours.get(key, {}), **self.about.get(key, {})}
        return changed

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise RecordsError(
                Fault(str(path), f"cannot be read: {error.strerror}", "a folder with reference.json and scenarios.json")
            ) from None
        except ValueError as error:
            raise RecordsError(Fault(str(path), f"is no JSON: {error}", "")) from None
        return loaded

    def summary(self, scenario: str) -> list[dict[str, str]]:
        path = self.folder / f"{scenario}_summary.csv"
        if not path.is_file():
            raise RecordsError(Fault(str(path), "is missing", "every scenario has its summary"))
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def cuts(self, scenario: str) -> list[dict[str, str]]:
        path = self.folder / f"{scenario}_cuts.csv.gz"
        if not path.is_file():
            return []
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def drop_list(self, name: str, run: int) -> list[int]:
        with (self.folder / name).open(newline="", encoding="utf-8") as file:
            return [int(row["packet_index"]) for row in csv.DictReader(file) if int(row["rep"]) == run]

    # --- the scenario in our terms

    def document(self, name: str, text: str, algorithm: str, run: int) -> dict[str, Any]:
        """The scenario ``name`` as our document, for run number ``run``; ``text`` is the sender in our words."""
        spec = self.scenarios[name]
        bottleneck: dict[str, Any] = {
            "rate": f"{spec['bottleneck_rate_mbps']} Mbps",
            "queue": {"kind": "droptail", "capacity": f"{spec['buffer_packets']} packets"},
        }
        one_way = spec.get("bottleneck_one_way_delay_ms")
        if one_way is None:
            one_way = min(flow["rtt_ms"] for flow in spec["flows"]) / 2
        bottleneck["delay"] = f"{one_way} ms"
        if spec.get("drop_list"):
            payload = "payload" in self.about.get("drop_list_counts", "")
            indices = self.drop_list(spec["drop_list"], run)
            bottleneck["loss"] = {"kind": "list", "indices": indices, "counts": "payload" if payload else "all"}
        reverse: dict[str, Any] = {"queue": {"capacity": f"{spec.get('reverse_buffer_packets', 100000)} packets"}}
        if "reverse_rate_mbps" in spec and spec["reverse_rate_mbps"] is None:
            reverse = {"rate": "none"}
        dumbbell: dict[str, Any] = {"bottleneck": bottleneck, "reverse": reverse}
        if spec.get("access_rate_mbps"):
            dumbbell["access"] = {
                "rate": f"{spec['access_rate_mbps']} Mbps",
                "queue": {"capacity": f"{spec['access_queue_packets']} packets"},
            }
        transfers = spec.get("transfers")
        duration = spec["duration_s"] or transfers * 2.0
        flows = []
        for index, flow in enumerate(spec["flows"]):
            start = flow["start_s"] + run * (index + 1) * spec["start_jitter_s"]
            entry: dict[str, Any] = {
                "algorithm": text if flow["algorithm"] is None else self.about["senders"][flow["algorithm"]],
                "rtt": f"{flow['rtt_ms']} ms",
                "start": f"{start:.6f} s",
                "profile": self.about["profile"],
                "stack": self.stack(spec, algorithm),
            }
            if transfers:
                entry["workload"] = {
                    "kind": "transfers",
                    "bytes": f"{spec['transfer_bytes']} B",
                    "count": transfers,
                    "new_connection": True,
                }
            flows.append(entry)
        return {
            "schema_version": 1,
            "title": f"{self.about['kind']} {name} {algorithm} run {run}",
            "duration": f"{duration} s",
            "sample_interval": f"{self.about.get('events_sampled_s', 0.1)} s",
            "dumbbell": dumbbell,
            "flow": flows,
        }

    def stack(self, spec: dict[str, Any], algorithm: str = "") -> dict[str, Any]:
        """The values of the hosts; ``sender_stacks`` holds what the peer does otherwise for one of its senders."""
        ack = self.about["ack"]
        stack: dict[str, Any] = {
            "mss": f"{self.about['segment_bytes']} B",
            "header": f"{self.about['header_bytes']} B",
            "ack": f"{self.about['ack_bytes']} B",
            "initial_window": spec["initial_window_segments"],
            "min_rto": f"{spec['minimum_rto_s']} s",
            "ack_every": ack["every"],
            "quick_acks": ack["quick_segments"],
        }
        if ack["delay_s"] is not None:
            stack["ack_delay"] = f"{ack['delay_s']} s"
        if spec.get("initial_ssthresh_segments"):
            stack["initial_ssthresh"] = spec["initial_ssthresh_segments"]
        if spec.get("receive_window_segments"):
            stack["receive_window"] = f"{spec['receive_window_segments'] * self.about['segment_bytes']} B"
        stack.update(self.about.get("sender_stacks", {}).get(algorithm, {}))
        return stack

    def judged(self, algorithm: str, quantity: str) -> bool:
        """Whether the reference counts ``quantity`` for this sender at all."""
        return quantity not in self.about.get("not_counted", {}).get(algorithm, [])


# --- measuring


def measure(records: Any, spec: dict[str, Any], *, events_sampled: bool = False) -> Measured:
    """The quantities of one run, over the scenario's averaging interval.

    ``events_sampled``: congestion events are counted as entries into recovery that the samples show, as a reference does
    that could not see more; two between samples are one.
    """
    import polars as pl

    out = Measured()
    if spec["judge_as"] == "transfers":
        times = records.transfers.select((pl.col("end_ns") - pl.col("start_ns")) / 1e9).to_series()
        out.values["median_completion_s"] = [float(times.median())] if len(times) else [float("nan")]
        return out
    begin, end = spec["average_from_s"], spec["duration_s"]
    span = end - begin
    begin_ns, end_ns = round(begin * 1e9), round(end * 1e9)
    flows = records.flows
    samples = records.samples.filter(pl.col("time_ns").is_between(begin_ns, end_ns))
    for index, mss in zip(flows["flow"], flows["mss_bytes"], strict=True):
        one = samples.filter(pl.col("flow") == index).sort("time_ns")
        inside = one.filter((pl.col("time_ns") > begin_ns) & (pl.col("time_ns") % _MEANS_OF_NS == 0))
        delivered = float(one["delivered_bytes"][-1] - one["delivered_bytes"][0])
        events = float(one["congestion_events"][-1] - one["congestion_events"][0])
        if events_sampled:
            repairing = one["state"] >= _RECOVERY
            events = float((repairing & ~repairing.shift(1, fill_value=False)).sum())
        out.values.setdefault("goodput_bps", []).append(delivered * 8 / span)
        out.values.setdefault("mean_cwnd_segments", []).append(float(inside["cwnd_bytes"].mean()) / mss)
        out.values.setdefault("mean_rtt_s", []).append(float(inside["srtt_ns"].mean()) / 1e9)
        out.values.setdefault("congestion_events", []).append(events)
    link = int(records.links.filter(pl.col("name") == "bottleneck")["link"][0])
    queue = records.link_samples.filter((pl.col("link") == link) & pl.col("time_ns").is_between(begin_ns, end_ns)).sort(
        "time_ns"
    )
    waited = float(queue["queue_packet_ns"][-1] - queue["queue_packet_ns"][0])
    out.values["mean_queue_packets"] = [waited / 1e9 / span]
    sent = float(queue["sent_bytes"][-1] - queue["sent_bytes"][0])
    out.values["utilisation"] = [sent * 8 / span / (spec["bottleneck_rate_mbps"] * 1e6)]
    mss = int(flows["mss_bytes"][0])
    reductions = records.events.filter((pl.col("kind") == "recovery") & (pl.col("flow") == 0)).sort("time_ns")
    before, after = reductions["cwnd_before_bytes"].to_list(), reductions["cwnd_after_bytes"].to_list()
    # Tahoe goes to one segment; what the cut decided is ssthresh, which the next sample shows.
    thresholds = records.samples.filter(pl.col("flow") == 0).select("time_ns", "ssthresh_bytes").drop_nulls()
    later = (
        reductions.select("time_ns").join_asof(thresholds, on="time_ns", strategy="forward")["ssthresh_bytes"].to_list()
    )
    out.factors = [
        max(b, threshold or b) / a if b <= mss else b / a
        for a, b, threshold in zip(before, after, later, strict=True)
        if a > 0
    ][_EARLY_CUTS:]
    return out


# --- judging


@dataclass(frozen=True)
class _Pair:
    """Ours and theirs, one value per run."""

    quantity: str
    ours: list[float]
    theirs: list[float]


def _theirs(rows: list[dict[str, str]], column: str) -> list[list[float]]:
    """Values per flow, one per run."""
    scale = next((factor for end, factor in _SCALES.items() if end in column), 1.0)
    flows: dict[int, list[float]] = {}
    for row in rows:
        flows.setdefault(int(row.get("flow", 0) or 0), []).append(float(row[column]) * scale)
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
    left_out = reference.about.get("not_judged", [])
    for quantity in tolerances:
        if f"{quantity} of {algorithm}" in left_out:
            continue
        base = quantity.removesuffix("_sum").removesuffix("_each")
        if quantity == "decrease_factor":
            cuts = [
                row
                for row in reference.cuts(name)
                if row["algo"] == algorithm and row["flow"] == "0" and row["kind"] == "fast"
            ]
            factors = [float(row["ssthresh_after_seg"]) / float(row["cwnd_before_seg"]) for row in cuts][_EARLY_CUTS:]
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
        elif base in ("mean_queue_packets", "utilisation"):
            yield _Pair(quantity, ours[0], theirs[0])
        else:
            for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
                yield _Pair(f"{quantity}[{index}]" if len(ours) > 1 else quantity, mine, other)


def _tolerance(quantity: str, rule: dict[str, Any], spec: dict[str, Any], theirs: list[float]) -> float:
    """The allowed deviation in the quantity's own unit."""
    centre = abs(statistics.fmean(theirs))
    absolute = float(rule.get("absolute", 0.0))
    unit = rule.get("absolute_unit", "")
    if unit == "of the buffer":
        absolute *= spec["buffer_packets"]
    elif unit == "of the link rate":
        absolute *= spec["bottleneck_rate_mbps"] * 1e6
    spread = max(theirs) - min(theirs)
    return max(absolute, float(rule.get("relative", 0.0)) * centre, 2 * spread)


def _judge(reference: Reference, name: str, algorithm: str, runs: list[Measured]) -> Iterator[Row]:
    spec = reference.scenarios[name]
    tolerances = reference.about["tolerances"][spec["judge_as"]]
    for pair in _pairs(reference, name, algorithm, runs):
        rule = tolerances[pair.quantity.split("[")[0]]
        ours, theirs = statistics.fmean(pair.ours), statistics.fmean(pair.theirs)
        allowed = _tolerance(pair.quantity, rule, spec, pair.theirs)
        deviation = ours - theirs
        # A hair for the rounding of the published figures.
        yield Row(
            algorithm,
            f"{reference.about['kind']}/{name}",
            pair.quantity,
            ours,
            theirs,
            deviation,
            allowed,
            abs(deviation) <= allowed * (1 + 1e-9) + 1e-12,
        )


def _mixtures(reference: Reference, runnable: set[str], wanted: set[str] | None) -> list[str]:
    """Names of rows in which each flow has an algorithm of its own, all of which run here and one of which is wanted."""
    names = []
    for name, spec in reference.scenarios.items():
        parts = {flow["algorithm"] for flow in spec["flows"]}
        if parts <= runnable and (wanted is None or parts & wanted):
            names += [row["algo"] for row in reference.summary(name) if row["algo"] not in reference.about["senders"]]
    return list(dict.fromkeys(names))


def validate(
    folders: Iterable[Path | str] | None = None,
    *,
    algorithms: Iterable[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> tuple[list[Row], list[str]]:
    """Runs everything in the folders that can be run here.

    Returns the rows, and notes on what was left out and why. ``algorithms`` keeps only those of the reference's names.
    """
    from cwndlab.algorithms import canonical
    from cwndlab.run import run_many

    wanted = set(algorithms) if algorithms is not None else None
    notes: list[str] = []
    jobs: list[tuple[Any, int]] = []
    plan: list[tuple[Reference, str, str, list[int]]] = []
    for folder in folders if folders is not None else bundled():
        reference = Reference(Path(folder))
        kind = reference.about["kind"]
        notes += [f"{kind}: {change} (known-answers/{kind}/reference.json)" for change in reference.reworded]
        runnable: dict[str, str] = {}
        for algorithm, text in reference.about["senders"].items():
            try:
                if text is None:
                    raise ScenarioError(Fault("", "the reference says not to compare it"))
                canonical(text)
            except ScenarioError as error:
                if wanted is None or algorithm in wanted:
                    notes.append(f"{kind}: {algorithm} ({text}) is left out: {error.faults[0].what}")
                continue
            runnable[algorithm] = text
        chosen = {name: text for name, text in runnable.items() if wanted is None or name in wanted}
        chosen |= dict.fromkeys(_mixtures(reference, set(runnable), wanted), "")
        for algorithm, text in chosen.items():
            for name, spec in reference.scenarios.items():
                count = spec.get("runs", {}).get(algorithm, spec["repetitions"])
                if not any(row["algo"] == algorithm for row in reference.summary(name)):
                    continue
                numbers = []
                for run in range(count):
                    numbers.append(len(jobs))
                    jobs.append((reference.document(name, text, algorithm, run), run + 1))
                plan.append((reference, name, algorithm, numbers))
    done: dict[int, Measured] = {}
    specs = {
        number: (reference.scenarios[name], "events_sampled_s" in reference.about)
        for reference, name, _, numbers in plan
        for number in numbers
    }
    for index, records in run_many(jobs, workers=workers):
        spec, sampled = specs[index]
        done[index] = measure(records, spec, events_sampled=sampled)
        if progress is not None:
            progress(len(done), len(jobs))
    rows = [
        row
        for reference, name, algorithm, numbers in plan
        for row in _judge(reference, name, algorithm, [done[n] for n in numbers])
    ]
    return rows, notes


def shares(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Per reference and algorithm: how many quantities were judged, how many hold, and the share."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        held = counts.setdefault((row.scenario.split("/")[0], row.algorithm), [0, 0])
        held[0] += 1
        held[1] += row.holds
    return [
        {"reference": kind, "algorithm": name, "judged": n, "hold": k, "share": k / n}
        for (kind, name), (n, k) in counts.items()
    ]


def markdown(rows: list[Row], notes: list[str]) -> str:
    """The table of `docs/validity.md`."""
    lines = ["| reference | algorithm | judged | hold | share | not within tolerance |", "|---|---|---:|---:|---:|---|"]
    for share in shares(rows):
        off = [
            f"{row.scenario} {row.quantity}: {row.ours:.4g} for {row.reference:.4g} (±{row.tolerance:.2g})"
            for row in rows
            if row.algorithm == share["algorithm"]
            and row.scenario.startswith(f"{share['reference']}/")
            and not row.holds
        ]
        lines.append(
            f"| {share['reference']} | `{share['algorithm']}` | {share['judged']} | {share['hold']} | {share['share']:.0%} | {'; '.join(off) or '–'} |"
        )
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"
