"""Makes docs/algorithms/: a page per entry of the catalogue, with two pictures that the simulator makes.

`make docs` calls it; beside the pictures stands the digest of the hashes of the two runs that they draw.
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

mpl.rcParams["svg.hashsalt"] = "cwndlab"  # the same figure gives the same file

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "algorithms"
HASHES = ROOT / "known-answers" / "algorithm-hashes.json"
#: Raised by hand when the same runs are drawn in another way: all pictures are then stale.
FORM = 1
SEED = 1
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


class Run(NamedTuple):
    """A run that a page draws."""

    page: str
    """The page's name, without its ending."""
    picture: str
    """`window` or `share`."""
    text: str
    """The algorithm shown."""
    document: dict[str, Any]


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


def runs(entry: Algorithm) -> list[Run]:
    """The two runs of an entry's page, or none."""
    text = text_of(entry)
    if text is None:
        return []
    rivals = {"window": None, "share": "cubic"}
    return [Run(file_of(entry), picture, text, document(entry, text, rival)) for picture, rival in rivals.items()]


@cache
def _hashes() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(HASHES.read_text(encoding="utf-8"))
    return found


def digest(entry: Algorithm) -> str:
    """What the pictures of an entry are made from: the hashes of their runs, by known-answers/algorithm-hashes.json."""
    return sha256(json.dumps([FORM, _hashes().get(file_of(entry), {})]).encode()).hexdigest()[:16]


MARK = re.compile(r"<!-- output: pictures [^>]*?; from: (?P<digest>[0-9a-f]+) -->")


def digest_on_page(entry: Algorithm) -> str:
    """What the page says that its pictures are made from; empty where it says nothing."""
    try:
        found = MARK.search((FOLDER / f"{file_of(entry)}.md").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return found["digest"] if found else ""


def is_drawn(entry: Algorithm) -> bool:
    """Whether both pictures of an entry are there, made from the runs as they are."""
    pictures = [FOLDER / f"{run.page}-{run.picture}.svg" for run in runs(entry)]
    return digest_on_page(entry) == (digest(entry) if pictures else "") and all(file.is_file() for file in pictures)


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
    _save(figure, path)


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
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})


def _bullets(title: str, items: Iterator[str] | list[str]) -> list[str]:
    items = list(items)
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []


def page(entry: Algorithm, made_from: str) -> str:
    """The page of an entry, with pictures that are made from the runs of this digest."""
    text = text_of(entry)
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
            f"<!-- output: pictures {file_of(entry)}{made_from and f'; from: {made_from}'} -->",
            "",
            f"![Its window]({file_of(entry)}-window.svg)",
            "",
            f"![Its share beside CUBIC]({file_of(entry)}-share.svg)",
            "",
            "<!-- end -->",
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
        "`make docs` writes these pages from the entries of the catalogue; `cwndlab explain NAME` prints the same.",
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


def write_pages() -> None:
    """Writes index and pages; each page goes on saying what its pictures were made from."""
    entries = algorithms()
    for entry in entries:
        save(page(entry, digest_on_page(entry)), FOLDER / f"{file_of(entry)}.md")
    save(index(entries), FOLDER / "README.md")


def draw(names: Collection[str]) -> None:
    """Draws the pictures of the pages of these names, and says on each what they are made from."""
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
