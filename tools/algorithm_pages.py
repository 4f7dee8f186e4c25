"""Writes docs/algorithms/: a page per entry of the catalogue, with two pictures that the simulator makes.

`python tools/algorithm_pages.py [NAME …]` writes all pages, or those named; the index always.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cwndlab
import matplotlib as mpl
import polars as pl
from cwndlab.algorithms import Algorithm, algorithms, other_names
from cwndlab.plots.palette import colour
from cwndlab.run import run_jobs
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "cwndlab"  # the same figure gives the same file

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "algorithms"
#: Seconds of a run, and from which on an epoch is looked for.
DURATION_S, SETTLED_S = 60, 20
#: The longest piece that is drawn where nothing is lost.
LONGEST_S = 20
#: Points of a line.
POINTS = 400
KINDS = {
    "growth": "Growth in congestion avoidance",
    "whole": "Whole algorithms, which own their start",
    "slow-start": "Slow start",
    "recovery": "Recovery",
    "router": "Router-assisted",
    "mechanism": "Mechanisms of the transport",
}


def text_of(entry: Algorithm) -> str | None:
    """The algorithm that shows the entry; nothing for what is no choice of a flow."""
    match entry.kind:
        case "slow-start":
            return f"cubic+{entry.name}"
        case "recovery":
            return f"reno+standard/{entry.name}"
        case "mechanism":
            return None
    return None if entry.name == "sirens" else entry.name


def document(entry: Algorithm, text: str, rival: str | None) -> dict[str, Any]:
    """20 Mbit/s, 40 ms, a BDP of drop-tail; routers have the agents that it needs."""
    queue: dict[str, Any] = {"capacity": "1 bdp"}
    if "ecn" in entry.needs:
        queue |= {"kind": "step-ecn", "mark_above": 20}
    flows = [{"algorithm": text, "rtt": "40 ms"}]
    if rival is not None:
        flows.append({"algorithm": rival, "rtt": "40 ms", "start": "0.1 s"})
    return {
        "schema_version": 1,
        "duration": f"{DURATION_S} s",
        "sample_interval": "20 ms",
        "dumbbell": {
            "bottleneck": {"rate": "20 Mbps", "delay": "10 ms", "queue": queue, "agents": entry.agents},
            "access": {"rate": "200 Mbps"},
        },
        "flow": flows,
    }


def epoch(records: cwndlab.Records, kind: str) -> tuple[float, float]:
    """From one reduction to the next, in seconds; a slow start is drawn from the start."""
    if kind == "slow-start":
        ends = records.events.filter(pl.col("kind").is_in(["slow-start-exit", "recovery", "timeout"]))["time_ns"]
        first = ends.to_list()[0] / 1e9 if len(ends) else 2.0
        return 0.0, max(1.0, 2.5 * first)
    cuts = records.events.filter(pl.col("kind").is_in(["recovery", "timeout", "ecn"]) & (pl.col("flow") == 0))
    times = [time / 1e9 for time in cuts["time_ns"].to_list() if time / 1e9 > SETTLED_S]
    if len(times) >= 2:
        margin = 0.05 * (times[1] - times[0])
        return times[0] - margin, min(times[1] + 3 * margin, times[0] + LONGEST_S)
    return SETTLED_S, SETTLED_S + LONGEST_S


def _axes(title: str, axis: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("time, s", fontsize=8)
    axes.set_ylabel(axis, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _thin(times: list[float], values: list[float]) -> tuple[list[float], list[float]]:
    step = max(1, len(times) // POINTS)
    return times[::step], values[::step]


def draw_window(entry: Algorithm, text: str, records: cwndlab.Records, path: Path) -> None:
    """The window alone on the path, over one epoch."""
    low, high = epoch(records, entry.kind)
    rows = records.samples.filter((pl.col("flow") == 0) & (pl.col("time_ns") / 1e9).is_between(low, high))
    mss = int(records.flows["mss_bytes"][0])
    figure, axes = _axes(f"{text} alone: 20 Mbit/s, 40 ms, buffer 1 BDP (67 packets)", "cwnd, segments")
    times, values = _thin((rows["time_ns"] / 1e9).to_list(), (rows["cwnd_bytes"] / mss).to_list())
    axes.plot(times, values, color=colour(0), linewidth=1.2)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0)
    figure.savefig(path, format="svg", metadata={"Date": None})


def draw_share(text: str, records: cwndlab.Records, path: Path) -> None:
    """Goodput beside one CUBIC."""
    over = cwndlab.metrics.flows_over_time(records, window_s=1.0)
    figure, axes = _axes(f"{text} beside cubic on the same path", "goodput, Mbit/s")
    for flow, label in ((0, text), (1, "cubic")):
        rows = over.filter(pl.col("flow") == flow)
        axes.plot(rows["time_s"], rows["goodput_bps"] / 1e6, color=colour(flow), linewidth=1.2, label=label)
    axes.set_xlim(0, DURATION_S)
    axes.set_ylim(0, 24)  # the line carries 20: room for the legend
    axes.legend(fontsize=7, frameon=False, loc="upper right", ncols=2)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _bullets(title: str, items: Iterator[str] | list[str]) -> list[str]:
    items = list(items)
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []


def page(entry: Algorithm, text: str | None) -> str:
    """The page of an entry."""
    also = [name["alias"] for name in other_names() if name["means"] == entry.name]
    year = "" if str(entry.year) in entry.source else f" ({entry.year})"
    lines = [f"# {entry.name}", "", f"**{entry.title}**, {entry.kind}. Source: {entry.source}{year}."]
    lines[-1] += f" Confidence: {entry.confidence}" + (" — our reconstruction." if entry.confidence == "low" else ".")
    if also:
        lines[-1] += f" Also called {', '.join(f'`{name}`' for name in also)}."
    lines += ["", entry.summary, ""]
    if entry.companion:
        lines += [f"Comes with the slow start `{entry.companion}` where none is named.", ""]
    if text is not None:
        lines += [
            f"![Its window]({file_of(entry)}-window.svg)",
            "",
            f"![Its share beside CUBIC]({file_of(entry)}-share.svg)",
            "",
        ]
    if entry.parameters:
        lines += ["## Parameters", "", "| name | default | may be | meaning |", "|---|---|---|---|"]
        for one in entry.parameters:
            unit = f" {one.unit}" if one.unit else ""
            default = str(one).partition("=")[2]
            domain = one.domain.replace("|", "\\|")
            lines.append(f"| `{one.name}` | {default} | {domain}{unit if not one.words else ''} | {one.doc} |")
        lines.append("")
    needs = list(entry.needs) + (["model-based: it may grow while it has nothing to send"] if entry.model_based else [])
    lines += _bullets("Needs", needs)
    lines += _bullets("Does not go with", [f"`{name}`: {reason}" for name, reason in entry.refuses])
    lines += _bullets("Where the source is ambiguous, and what is chosen", list(entry.choices))
    lines += _bullets("Beware", list(entry.pitfalls))
    lines += _bullets("Over QUIC", list(entry.quic))
    return "\n".join(lines).rstrip() + "\n"


def index(entries: tuple[Algorithm, ...]) -> str:
    """The index."""
    lines = [
        "# Algorithms",
        "",
        "Made by `tools/algorithm_pages.py` from the entries; `cwndlab explain NAME` prints the same.",
        "",
    ]
    for kind, title in KINDS.items():
        lines += [f"## {title}", "", "| name | is | source | confidence |", "|---|---|---|---|"]
        for entry in entries:
            if entry.kind == kind:
                lines.append(
                    f"| [`{entry.name}`]({file_of(entry)}.md) | {entry.title} | {entry.source} | {entry.confidence} |"
                )
        lines.append("")
    lines += ["## Other names", "", "| alias | means |", "|---|---|"]
    lines += [f"| `{name['alias']}` | `{name['means']}` |" for name in other_names()]
    return "\n".join(lines) + "\n"


def file_of(entry: Algorithm) -> str:
    """The page's name; two kinds may share the entry's."""
    return f"recovery-{entry.name}" if entry.kind == "recovery" else entry.name


def main(names: list[str]) -> None:
    """Runs and writes."""
    entries = algorithms()
    chosen = [entry for entry in entries if not names or entry.name in names]
    FOLDER.mkdir(exist_ok=True)
    shown = [(entry, text) for entry in chosen if (text := text_of(entry)) is not None]
    jobs = [(document(entry, text, rival), 1) for entry, text in shown for rival in (None, "cubic")]
    for number, records in run_jobs(jobs):
        entry, text = shown[number // 2]
        if number % 2 == 0:
            draw_window(entry, text, records, FOLDER / f"{file_of(entry)}-window.svg")
        else:
            draw_share(text, records, FOLDER / f"{file_of(entry)}-share.svg")
    for entry in chosen:
        (FOLDER / f"{file_of(entry)}.md").write_text(page(entry, text_of(entry)), encoding="utf-8")
    (FOLDER / "README.md").write_text(index(entries), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
