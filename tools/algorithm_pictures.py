"""Draws the pictures of an algorithm's page: window with phases and events, states, and the share beside CUBIC."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import cwndlab
import matplotlib as mpl
import matplotlib.patches
import polars as pl
from cwndlab.files import atomic_write
from cwndlab.plot.palette import colour
from matplotlib.axes import Axes
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "cwndlab"  # equal figures give equal files

#: Duration of a run, and start of the search for an epoch.
DURATION_S, SETTLED_S = 60, 20
#: Maximum duration of an epoch that a figure shows.
MAX_SHOWN_S = 20
#: Points of a line.
POINTS = 400
#: The values of BBR's variable `state`, as docs/suites.md lists them.
BBR_STATES = ("Startup", "Drain", "ProbeBW Down", "ProbeBW Cruise", "ProbeBW Refill", "ProbeBW Up", "ProbeRTT")
#: The named value that the pictures need in addition to the records of a run.
NAMED = {"named_values": {"names": ["state"], "on_change": ["state"]}}
#: What an event of the table `events` does to the state; `recovered` returns.
_ENTERED = {
    "established": "slow start",
    "css-enter": "conservative slow start",
    "css-leave": "slow start",
    "slow-start-exit": "congestion avoidance",
    "recovery": "fast recovery",
    "timeout": "RTO recovery",
}
#: Events that the window has a mark for, with the names of the field.
_MARKED = {
    "css-enter": "CSS",
    "css-leave": "CSS ends",
    "slow-start-exit": "slow start ends",
    "recovery": "loss",
    "timeout": "RTO",
    "ecn": "ECN mark",
    "probe-rtt": "ProbeRTT",
    "idle-restart": "idle",
    "undo": "undo",
    "mode": "mode",
    "ssthresh": "ssthresh set",
    "careful-resume": "resume",
    "drain": "drain",
}
_COLOURS = {
    "slow start": "#D9EEF7",
    "Startup": "#D9EEF7",
    "conservative slow start": "#B7DDEB",
    "fast recovery": "#FBE3D6",
    "Drain": "#FBE3D6",
    "RTO recovery": "#F6C3BB",
    "ProbeRTT": "#F6C3BB",
    "ProbeBW Up": "#E3F1D5",
    "ProbeBW Down": "#FFF2CC",
    "ProbeBW Refill": "#EFE6F5",
}

Step = tuple[float, str, str]
"""A state that was entered: time in seconds, the state, the event that caused it."""


def states(records: cwndlab.Records) -> list[Step]:
    """The states of the first flow in their order: of BBR's variable where there is one, else by the events."""
    events = records.events.filter(pl.col("flow") == 0).sort("time_ns").select("time_ns", "kind", "cause").rows()
    own = records.named_values.filter((pl.col("flow") == 0) & (pl.col("name") == "state")).sort("time_ns")
    if own.height:
        reasons = {time: cause for time, _, cause in events if cause}
        rows = own.select("time_ns", "value").rows()
        return [(time / 1e9, BBR_STATES[int(value)], reasons.get(time, "")) for time, value in rows]
    samples = records.samples.filter(pl.col("flow") == 0)
    above = samples.filter(pl.col("cwnd_bytes") >= pl.col("ssthresh_bytes"))["time_ns"].to_list()
    steps: list[Step] = []
    after_timeout = False
    for time, kind, cause in events:
        state = _ENTERED.get(kind)
        if kind == "recovered":
            state = "slow start" if after_timeout and not _reached(above, time) else "congestion avoidance"
        if kind == "slow-start-exit" and steps and steps[-1][1] == "fast recovery":
            continue  # the loss that ended slow start
        if state is None:
            continue
        after_timeout = kind == "timeout" or (after_timeout and kind != "slow-start-exit")
        if kind == "recovery" and steps and steps[-1][0] == time / 1e9:
            steps.pop()  # the same loss ended slow start
        steps.append((time / 1e9, state, "" if kind == "established" else _reason(kind, cause)))
    return steps


def _reached(above: list[int], time: int) -> bool:
    """Whether the window is not below the threshold at the next sample."""
    return any(0 <= one - time < 100_000_000 for one in above)


def _reason(kind: str, cause: str) -> str:
    """What an event is called at an arrow: the cause, or the event where it has none."""
    if kind in ("recovery", "recovered"):
        return "loss" if kind == "recovery" else "recovered"
    return "RTO" if kind == "timeout" else cause or _MARKED.get(kind, kind)


def epoch(records: cwndlab.Records) -> tuple[float, float]:
    """The shown interval, s: from one reduction to the next."""
    cuts = records.events.filter(pl.col("kind").is_in(["recovery", "timeout", "ecn"]) & (pl.col("flow") == 0))
    times = [time / 1e9 for time in cuts["time_ns"].to_list() if time / 1e9 > SETTLED_S]
    if len(times) >= 2:
        length = max(times[1] - times[0], 1.0)
        return times[0] - 0.05 * length, min(times[0] + 1.15 * length, times[0] + MAX_SHOWN_S)
    return SETTLED_S, SETTLED_S + MAX_SHOWN_S


def beginning(records: cwndlab.Records) -> tuple[float, float]:
    """The shown interval of slow start, s."""
    ends = records.events.filter(pl.col("kind").is_in(["slow-start-exit", "recovery", "timeout"]))["time_ns"]
    first = ends.to_list()[0] / 1e9 if len(ends) else 2.0
    return 0.0, min(max(1.0, 2.5 * first), DURATION_S)


def _styled(axes: Axes, title: str, axis: str) -> None:
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("time, s", fontsize=8)
    axes.set_ylabel(axis, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _thin(times: list[float], values: list[float]) -> tuple[list[float], list[float]]:
    step = max(1, len(times) // POINTS)
    return times[::step], values[::step]


def _panel(axes: Axes, records: cwndlab.Records, steps: list[Step], span: tuple[float, float]) -> set[str]:
    """Draws the window within a span, with its states as areas and its events as marks; gives the states drawn."""
    low, high = span
    rows = records.samples.filter((pl.col("flow") == 0) & (pl.col("time_ns") / 1e9).is_between(low, high))
    mss = int(records.flows["mss_bytes"][0])
    times, values = _thin((rows["time_ns"] / 1e9).to_list(), (rows["cwnd_bytes"] / mss).to_list())
    axes.plot(times, values, color=colour(0), linewidth=1.2)
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.25 * max(values, default=1.0))
    shown = set()
    for (start, state, _), (end, _, _) in pairwise([*steps, (float(DURATION_S), "", "")]):
        if start < high and end > low and state in _COLOURS:
            axes.axvspan(max(start, low), min(end, high), color=_COLOURS[state], linewidth=0)
            shown.add(state)
    named = Counter[str]()
    events = records.events.filter(pl.col("flow") == 0).sort("time_ns").select("time_ns", "kind", "cause").rows()
    for time, kind, cause in events:
        at = time / 1e9
        if kind in _MARKED and low <= at <= high:
            axes.axvline(at, color="#555555", linewidth=0.6, linestyle=":")
            label = _MARKED[kind] + (f": {cause}" if cause and kind != "recovery" else "")
            if not named[label] and sum(named.values()) < 4:
                level = 1.23 - 0.09 * (sum(named.values()) % 3)
                side = "left" if at < low + 0.6 * (high - low) else "right"
                text = f" {label}" if side == "left" else f"{label} "
                axes.text(at, level * max(values, default=1.0), text, fontsize=7, ha=side, va="top")
                named[label] += 1
    return shown


def draw_window(kind: str, text: str, records: cwndlab.Records, path: Path) -> None:
    """Draws the window of a single flow: its start and, except for a slow start, one epoch."""
    steps = states(records)
    spans = {"the start": beginning(records)}
    if kind != "slow-start":
        spans["one epoch"] = epoch(records)
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    shown: set[str] = set()
    for number, (name, span) in enumerate(spans.items(), start=1):
        axes = figure.add_subplot(1, len(spans), number)
        shown |= _panel(axes, records, steps, span)
        _styled(axes, name, "cwnd, segments" if number == 1 else "")
    patches = [mpl.patches.Patch(color=_COLOURS[state], label=state) for state in _COLOURS if state in shown]
    if patches:
        figure.legend(handles=patches, fontsize=7, frameon=False, loc="outside lower center", ncols=len(patches))
    figure.suptitle(f"{text} alone: 20 Mbit/s, 40 ms, buffer 1 BDP (67 packets)", fontsize=9)
    save_figure(figure, path)


def _places(names: list[str]) -> dict[str, tuple[float, float]]:
    """Places of the states: in a row up to three, else on an ellipse."""
    if len(names) <= 3:
        return {name: (2.6 * place, 0.0) for place, name in enumerate(names)}
    turn = 2 * pi / len(names)
    return {name: (-2.9 * cos(turn * place), 1.9 * sin(turn * place)) for place, name in enumerate(names)}


def draw_states(text: str, records: cwndlab.Records, path: Path) -> None:
    """Draws the states that the first flow went through, with the events that led from one to another and how often."""
    steps = states(records)
    arrows: dict[tuple[str, str], Counter[str]] = {}
    for (_, before, _), (_, after, reason) in pairwise(steps):
        arrows.setdefault((before, after), Counter())[reason] += 1
    order = list(dict.fromkeys(state for _, state, _ in steps))
    place = _places(order)
    figure = Figure(figsize=(7.6, 3.9 if len(place) > 3 else 1.9), layout="constrained")
    axes = figure.add_subplot()
    for (before, after), reasons in arrows.items():
        (x0, y0), (x1, y1) = place[before], place[after]
        label = ", ".join(f"{reason} {count}×".strip() for reason, count in reasons.items())
        if before == after:
            axes.annotate(f"{label} (again)", (x0, y0 - 0.42), fontsize=7, ha="center", va="top")
            continue
        apart = abs(order.index(before) - order.index(after))
        curve = 0.25 if len(order) <= 4 or apart in (1, len(order) - 1) else 0.42
        style = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={-curve}", "color": "#555555", "linewidth": 0.9}
        axes.annotate("", (x1, y1), (x0, y0), arrowprops={**style, "shrinkA": 18, "shrinkB": 18})
        bend = curve / 2
        middle = ((x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        axes.text(*middle, label, fontsize=7, ha="center", va="center", bbox=box, zorder=5)
    for state, (x, y) in place.items():
        box = {"boxstyle": "round,pad=0.45", "facecolor": _COLOURS.get(state, "#F2F2F2"), "edgecolor": "#555555"}
        words = state.replace("conservative slow", "conservative\nslow").replace("congestion ", "congestion\n")
        axes.text(x, y, words, fontsize=8, ha="center", va="center", bbox=box)
    xs, ys = zip(*place.values(), strict=True)
    axes.set_xlim(min(xs) - 1.3, max(xs) + 1.3)
    axes.set_ylim(min(ys) - 0.8, max(ys) + 0.8)
    axes.set_axis_off()
    title = f"{text}: states in {DURATION_S} s of this run, and how often each change was made"
    axes.set_title(title, fontsize=9, loc="left")
    save_figure(figure, path)


def draw_share(text: str, records: cwndlab.Records, path: Path) -> None:
    """Draws the goodput in competition with one CUBIC flow."""
    over = cwndlab.metrics.flows_over_time(records, window_s=1.0)
    figure = Figure(figsize=(7.6, 2.7), layout="constrained")
    axes = figure.add_subplot()
    _styled(axes, f"{text} beside cubic on the same path", "goodput, Mbit/s")
    labels = (text, "cubic") if text != "cubic" else ("cubic, starts first", "cubic, starts 0.1 s later")
    for flow, label in enumerate(labels):
        rows = over.filter(pl.col("flow") == flow)
        style: dict[str, Any] = {"linewidth": 1.2, "linestyle": "-" if flow == 0 else (0, (5, 1.5))}
        axes.plot(rows["time_s"], rows["goodput_bps"] / 1e6, color=colour(flow), label=label, **style)
    axes.set_xlim(0, DURATION_S)
    axes.set_ylim(0, 24)  # the rate is 20, the rest is for the legend
    axes.legend(fontsize=7, frameon=False, loc="upper right", ncols=2)
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure without a date."""
    with atomic_write(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
