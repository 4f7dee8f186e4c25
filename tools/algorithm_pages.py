"""Generates docs/algorithms/: a page per entry of the catalogue, with figures of two simulated runs.

`make docs` calls it. A page has the digest of the hashes of the two runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import cwndlab
import matplotlib as mpl
import polars as pl
from cwndlab.catalogue import Algorithm, algorithms, other_names
from cwndlab.files import atomic_write, save
from cwndlab.plot.palette import colour
from cwndlab.simulate import run_jobs
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "cwndlab"  # equal figures give equal files

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "algorithms"
HASHES = ROOT / "known-answers" / "algorithm-hashes.json"
#: Increased by hand when the same runs are drawn in another way: all figures are then stale.
FORM = 1
SEED = 1
#: Duration of a run, and start of the search for an epoch.
DURATION_S, SETTLED_S = 60, 20
#: Maximum duration that a figure shows.
MAX_SHOWN_S = 20
#: Points of a line.
POINTS = 400
KINDS = {
    "growth": "Congestion avoidance",
    "whole": "Whole algorithms, with their own slow start",
    "slow-start": "Slow start",
    "recovery": "Recovery",
    "router": "Router-assisted",
    "mechanism": "Mechanisms of the transport",
}


class Run(NamedTuple):
    """A run of a page."""

    page: str
    """The name of the page, without its suffix."""
    picture: str
    """`window` or `share`."""
    text: str
    """The algorithm shown."""
    document: dict[str, Any]


def text_of(entry: Algorithm) -> str | None:
    """The text of an algorithm that demonstrates the entry; none for entries that a flow cannot select."""
    match entry.kind:
        case "slow-start":
            return f"cubic+{entry.name}"
        case "recovery":
            return f"reno+standard/{entry.name}"
        case "mechanism":
            return None
    return None if entry.name == "sirens" else entry.name


def document(entry: Algorithm, text: str, rival: str | None) -> dict[str, Any]:
    """The scenario: 20 Mbit/s, 40 ms, a drop-tail queue of one BDP, and the router agents that the entry needs."""
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


def runs(entry: Algorithm) -> list[Run]:
    """The two runs of an entry's page; none for entries without figures."""
    text = text_of(entry)
    if text is None:
        return []
    rivals = {"window": None, "share": "cubic"}
    return [Run(file_of(entry), picture, text, document(entry, text, rival)) for picture, rival in rivals.items()]


@cache
def _hashes() -> Mapping[str, Mapping[str, str]]:
    hashes: dict[str, dict[str, str]] = json.loads(HASHES.read_text(encoding="utf-8"))
    return hashes


def digest(entry: Algorithm) -> str:
    """The digest of the hashes of an entry's runs in known-answers/algorithm-hashes.json."""
    return sha256(json.dumps([FORM, _hashes().get(file_of(entry), {})]).encode()).hexdigest()[:16]


MARK = re.compile(r"<!-- output: pictures [^>]*?; from: (?P<digest>[0-9a-f]+) -->")


def digest_on_page(entry: Algorithm) -> str:
    """The digest on the page of an entry; empty if there is none."""
    try:
        mark = MARK.search((FOLDER / f"{file_of(entry)}.md").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return mark["digest"] if mark else ""


def is_drawn(entry: Algorithm) -> bool:
    """Whether both figures of an entry exist and show the current runs."""
    pictures = [FOLDER / f"{run.page}-{run.picture}.svg" for run in runs(entry)]
    return digest_on_page(entry) == (digest(entry) if pictures else "") and all(file.is_file() for file in pictures)


def epoch(records: cwndlab.Records, kind: str) -> tuple[float, float]:
    """The shown interval, s: from one reduction to the next; for a slow start, from the start of the flow."""
    if kind == "slow-start":
        ends = records.events.filter(pl.col("kind").is_in(["slow-start-exit", "recovery", "timeout"]))["time_ns"]
        first = ends.to_list()[0] / 1e9 if len(ends) else 2.0
        return 0.0, max(1.0, 2.5 * first)
    cuts = records.events.filter(pl.col("kind").is_in(["recovery", "timeout", "ecn"]) & (pl.col("flow") == 0))
    times = [time / 1e9 for time in cuts["time_ns"].to_list() if time / 1e9 > SETTLED_S]
    if len(times) >= 2:
        margin = 0.05 * (times[1] - times[0])
        return times[0] - margin, min(times[1] + 3 * margin, times[0] + MAX_SHOWN_S)
    return SETTLED_S, SETTLED_S + MAX_SHOWN_S


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
    """Draws the window of a single flow over one epoch."""
    low, high = epoch(records, entry.kind)
    rows = records.samples.filter((pl.col("flow") == 0) & (pl.col("time_ns") / 1e9).is_between(low, high))
    mss = int(records.flows["mss_bytes"][0])
    figure, axes = _axes(f"{text} alone: 20 Mbit/s, 40 ms, buffer 1 BDP (67 packets)", "cwnd, segments")
    times, values = _thin((rows["time_ns"] / 1e9).to_list(), (rows["cwnd_bytes"] / mss).to_list())
    axes.plot(times, values, color=colour(0), linewidth=1.2)
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0)
    _save(figure, path)


def draw_share(text: str, records: cwndlab.Records, path: Path) -> None:
    """Draws the goodput in competition with one CUBIC flow."""
    over = cwndlab.metrics.flows_over_time(records, window_s=1.0)
    figure, axes = _axes(f"{text} beside cubic on the same path", "goodput, Mbit/s")
    for flow, label in ((0, text), (1, "cubic")):
        rows = over.filter(pl.col("flow") == flow)
        axes.plot(rows["time_s"], rows["goodput_bps"] / 1e6, color=colour(flow), linewidth=1.2, label=label)
    axes.set_xlim(0, DURATION_S)
    axes.set_ylim(0, 24)  # the rate is 20, the rest is for the legend
    axes.legend(fontsize=7, frameon=False, loc="upper right", ncols=2)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})


def _bullets(title: str, items: Iterator[str] | list[str]) -> list[str]:
    items = list(items)
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []


def page(entry: Algorithm, made_from: str) -> str:
    """The page of an entry, with this digest of its figures."""
    text = text_of(entry)
    also = [name["alias"] for name in other_names() if name["means"] == entry.name]
    year = "" if str(entry.year) in entry.source else f" ({entry.year})"
    lines = [f"# {entry.name}", "", f"**{entry.title}**, {entry.kind}. Source: {entry.source}{year}."]
    lines[-1] += f" Confidence: {entry.confidence}" + (" — reconstructed." if entry.confidence == "low" else ".")
    if also:
        lines[-1] += f" Also called {', '.join(f'`{name}`' for name in also)}."
    lines += ["", entry.summary, ""]
    if entry.companion:
        lines += [f"Default slow start: `{entry.companion}`.", ""]
    if text is not None:
        lines += [
            f"<!-- output: pictures {file_of(entry)}{made_from and f'; from: {made_from}'} -->",
            "",
            f"![Congestion window]({file_of(entry)}-window.svg)",
            "",
            f"![Goodput beside CUBIC]({file_of(entry)}-share.svg)",
            "",
            "<!-- end -->",
            "",
        ]
    if entry.parameters:
        lines += ["## Parameters", "", "| name | default | range | meaning |", "|---|---|---|---|"]
        for one in entry.parameters:
            unit = f" {one.unit}" if one.unit else ""
            default = str(one).partition("=")[2]
            domain = one.domain.replace("|", "\\|")
            lines.append(f"| `{one.name}` | {default} | {domain}{unit if not one.words else ''} | {one.doc} |")
        lines.append("")
    model_based = ["model-based: it may increase an unused window"] if entry.model_based else []
    lines += _bullets("Needs", [*entry.needs, *model_based])
    lines += _bullets("Incompatible with", [f"`{name}`: {reason}" for name, reason in entry.incompatible])
    lines += _bullets("Choices where the source is ambiguous", list(entry.choices))
    lines += _bullets("Pitfalls", list(entry.pitfalls))
    lines += _bullets("Over QUIC", list(entry.quic))
    return "\n".join(lines).rstrip() + "\n"


def index(entries: tuple[Algorithm, ...]) -> str:
    """The index of the pages."""
    lines = [
        "# Algorithms",
        "",
        "`make docs` generates these pages from the entries of the catalogue; `cwndlab explain NAME` prints the same.",
        "",
    ]
    for kind, title in KINDS.items():
        lines += [f"## {title}", "", "| name | title | source | confidence |", "|---|---|---|---|"]
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
    """The name of an entry's page, which is unique although entries of two kinds may have the same name."""
    return f"recovery-{entry.name}" if entry.kind == "recovery" else entry.name


def write_pages() -> None:
    """Writes index and pages. Each page keeps the digest of its figures."""
    entries = algorithms()
    for entry in entries:
        save(page(entry, digest_on_page(entry)), FOLDER / f"{file_of(entry)}.md")
    save(index(entries), FOLDER / "README.md")


def draw(names: Collection[str]) -> None:
    """Draws the figures of these pages, and writes their digests."""
    entries = {file_of(entry): entry for entry in algorithms() if file_of(entry) in names}
    shown = [run for entry in entries.values() for run in runs(entry)]
    left = {name: len(runs(entry)) for name, entry in entries.items()}
    for number, records in run_jobs([(run.document, SEED) for run in shown]):
        run = shown[number]
        path = FOLDER / f"{run.page}-{run.picture}.svg"
        if run.picture == "window":
            draw_window(entries[run.page], run.text, records, path)
        else:
            draw_share(run.text, records, path)
        left[run.page] -= 1
        if left[run.page] == 0:
            save(page(entries[run.page], digest(entries[run.page])), FOLDER / f"{run.page}.md")
