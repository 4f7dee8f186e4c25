"""What a run delivered to each class of flows: the numbers from which service levels are judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cwndlab.metrics.interval import asked, run_of
from cwndlab.service.delivery import Flags, Times, apdex, decided, delays_ns, in_time, nearest_rank
from cwndlab.service.emodel import voice
from cwndlab.service.frames import freezes, late_share
from cwndlab.service.freshness import age_of_information, longest_silence_s, observed, outage_s
from cwndlab.service.requirement import Requirement, requirements
from cwndlab.service.variation import delay_variation_s, interarrival_jitter_s
from cwndlab.service.video import VideoCodec, stream_rate, video_mos

if TYPE_CHECKING:
    from cwndlab.records import Records

Row = dict[str, Any]


class Messages(NamedTuple):
    """The messages of a flow; times in ns, infinite for what never happened, and sizes."""

    generated_ns: Times
    delivered_ns: Times
    size_bytes: Times

    @property
    def delays(self) -> Times:
        """Delivery − generation, ns."""
        return delays_ns(self.generated_ns, self.delivered_ns)

    def of(self, chosen: Flags) -> Messages:
        """Some of the messages: without a copy, if all are chosen."""
        return self if chosen.all() else Messages(*(values[chosen] for values in self))


class Window(NamedTuple):
    """The interval that is measured, and the end of the run; ns."""

    start_ns: float
    end_ns: float
    run_end_ns: float

    @classmethod
    def of(cls, records: Records, start_s: float | None = None, end_s: float | None = None) -> Window:
        """By default from ``measure_from`` to the end of the run."""
        span = asked(records, start_s, end_s)
        return cls(float(span.start_ns), float(span.end_ns), float(run_of(records)["duration_ns"]))

    def generated(self, messages: Messages) -> Messages:
        """The messages that were generated within the interval."""
        return messages.of((messages.generated_ns >= self.start_ns) & (messages.generated_ns < self.end_ns))


def by_flow(records: Records) -> dict[int, Messages]:
    """The messages of each flow of a run, by the flow's index, in the order of their generation.

    Those of a flow are views of one array for each column, because a run may have millions of messages.
    """
    frame = records.frame("messages")
    flows, numbers = frame["flow"].to_numpy(), frame["message"].to_numpy()
    order = slice(None) if _is_ascending(flows, numbers) else np.lexsort((numbers, flows))
    found, counts = np.unique(flows[order], return_counts=True)
    values = [
        frame[name].cast(pl.Float64).fill_null(np.inf).to_numpy()[order]
        for name in ("generated_ns", "delivered_ns", "size_bytes")
    ]
    ends = np.cumsum(counts)
    return {
        int(flow): Messages(*(column[end - count : end] for column in values))
        for flow, count, end in zip(found, counts, ends, strict=True)
    }


def _is_ascending(flows: NDArray[Any], numbers: NDArray[Any]) -> bool:
    """Whether rows are sorted by flow, and within a flow by number."""
    same = flows[1:] == flows[:-1]
    return bool(np.all((flows[1:] > flows[:-1]) | same & (numbers[1:] > numbers[:-1])))


_NONE = Messages(*(np.array([], dtype=float),) * 3)


def measured(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> list[Row]:
    """The numbers of each class of flows that a run has, for `judge`.

    Parameters
    ----------
    records
        A run. A flow belongs to a class if its scenario has a table ``service``; the messages are those of the table
        ``messages`` that were generated within the interval.
    start_s, end_s
        The interval, in seconds of the run's clock.

    Returns
    -------
    list of dict
        A row per class: ``class``, ``requirement`` (the fields of `Requirement`), ``flows``, ``messages``;
        ``decided`` and ``in_time``, the numbers of messages whose deadline is not after the end of the run, and of
        those that met it; ``loss_decided`` and ``lost`` by the lifetime; ``p50_delay_s`` and ``p99_delay_s`` of the
        messages that are decided by the lifetime, lost ones counted as infinite, or without one of the delivered
        ones; ``silence_s``, the longest silence of any flow; ``outage_s`` and ``observed_s`` over all flows;
        ``apdex``, the numbers of satisfied, tolerating and frustrated messages whose 4 T is not after the end of the
        run; ``age_mean_s``, the mean over flows, ``None`` if one delivered nothing, and ``age_peak_s``, the highest
        one; ``jitter_s``, the mean over flows, and ``ipdv_s`` of the messages that the percentiles of the delay have,
        the largest one, ``None`` if that of a flow does not exist. Values that do not exist are ``None``.

    Raises
    ------
    ArgumentError, ScenarioError
        The interval is none, or not one of the run.

    Examples
    --------
    No flow of this run requires anything.

    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> measured(cwndlab.run(scenario, seed=1))
    []
    """
    window, required = Window.of(records, start_s, end_s), requirements(records.document)
    if not required:
        return []
    messages = by_flow(records)
    classes: dict[Requirement, list[Messages]] = {}
    for flow, one in required.items():
        classes.setdefault(one, []).append(messages.get(flow, _NONE))
    return [_measured(one, flows, window) for one, flows in classes.items()]


def _measured(required: Requirement, flows: Sequence[Messages], window: Window) -> Row:
    inside = [window.generated(one) for one in flows]
    every = Messages(*(np.concatenate(times) for times in zip(*inside, strict=True)))
    row: Row = {"class": required.name, "requirement": required.as_dict(), "flows": len(flows)}
    row["messages"] = len(every.generated_ns)
    row |= _counts(("decided", "in_time"), every, required.deadline_ns, window)
    row |= _counts(("loss_decided", "arrived"), every, required.lost_after_ns, window)
    arrived = row.pop("arrived")
    row["lost"] = None if arrived is None else row["loss_decided"] - arrived
    row |= _percentiles(every, required, window)
    row |= _over_time(required, flows, window)
    if required.apdex_ns is None:
        row["apdex"] = None
    else:
        known = decided(every.generated_ns, 4 * required.apdex_ns, window.run_end_ns)
        row["apdex"] = list(apdex(every.delays[known], required.apdex_ns))
    return row | _ages(flows, window) | _variations(required, inside, window)


def _counts(names: tuple[str, str], messages: Messages, limit_ns: int | None, window: Window) -> Row:
    """The numbers of decided messages, and of those that were delivered within a limit."""
    if limit_ns is None:
        return dict.fromkeys(names)
    known = messages.of(decided(messages.generated_ns, limit_ns, window.run_end_ns))
    return {names[0]: len(known.delays), names[1]: int(in_time(known.delays, limit_ns).sum())}


def _known_delays(messages: Messages, required: Requirement, window: Window) -> Times:
    """The delays of decided messages, infinite for lost ones; of delivered messages without a limit."""
    limit = required.lost_after_ns
    if limit is None:
        return messages.delays[np.isfinite(messages.delays)]
    delays = messages.delays[decided(messages.generated_ns, limit, window.run_end_ns)]
    return np.where(delays <= limit, delays, np.inf) if required.lifetime_ns is not None else delays


def _percentiles(messages: Messages, required: Requirement, window: Window) -> Row:
    delays = _known_delays(messages, required, window)
    return {f"p{percent}_delay_s": _seconds(nearest_rank(delays, percent)) for percent in (50, 99)}


def _over_time(required: Requirement, flows: Sequence[Messages], window: Window) -> Row:
    """Silence and outages."""
    silences, outages, lengths = [], 0.0, 0.0
    for one in flows:
        span = observed(one.generated_ns, one.delivered_ns, window.start_ns, window.end_ns)
        if span is None:
            continue
        silences.append(longest_silence_s(one.delivered_ns, *span))
        if required.survival_ns is not None:
            limit = np.inf if required.deadline_ns is None else required.deadline_ns
            outages += outage_s(one.delivered_ns[in_time(one.delays, limit)], required.survival_ns, *span)
            lengths += (span[1] - span[0]) / 1e9
    is_known = bool(lengths)
    outage = {"outage_s": outages if is_known else None, "observed_s": lengths if is_known else None}
    return {"silence_s": max(silences, default=None), **outage}


def _ages(flows: Sequence[Messages], window: Window) -> Row:
    """Age of information, from what a flow's receiver has at the start of the interval."""
    ages = []
    for one in flows:
        span = observed(one.generated_ns, one.delivered_ns, window.start_ns, window.end_ns)
        age = None if span is None else age_of_information(one.generated_ns, one.delivered_ns, span[1], span[0])
        ages += [] if age is None else [age]
    return {
        "age_mean_s": _mean([age.mean_s for age in ages]),
        "age_peak_s": max((age.peak_s for age in ages), default=None),
    }


def _variations(required: Requirement, flows: Sequence[Messages], window: Window) -> Row:
    """Jitter and variation of the delay; the largest variation is unknown if that of a flow does not exist."""
    jitters = [interarrival_jitter_s(one.generated_ns, one.delivered_ns) for one in flows]
    delays = [_known_delays(one, required, window) for one in flows]
    variations = [delay_variation_s(one) for one in delays if len(one)]
    return {
        "jitter_s": _mean([one for one in jitters if one is not None]),
        "ipdv_s": None if None in variations else max((one for one in variations if one is not None), default=None),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of values that all exist."""
    return float(np.mean([value for value in values if value is not None])) if values and None not in values else None


def _seconds(value: float | None) -> float | None:
    return None if value is None else value / 1e9


def requires(documents: Iterable[str]) -> bool:
    """Whether a flow of some scenario, as JSON, has a table ``service``; raises as `requirements` does."""
    return any('"service"' in text and requirements(json.loads(text)) for text in documents)


@cache
def service_version() -> str:
    """Changes whenever a formula does: the head of the SHA-256 of this package's files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def voice_quality(records: Records, codec: str = "g711-plc", *, packet_ms: float = 20.0) -> pl.DataFrame:
    """The voice quality of each flow with a playout, by the E-model.

    Parameters
    ----------
    records
        A run.
    codec, packet_ms
        As in `voice`.

    Returns
    -------
    polars.DataFrame
        A row per flow whose ``service`` has ``playout`` and that has packets: ``flow``, ``class``, ``loss``,
        ``burst_ratio``, ``delay_ms``, ``rating``, ``mos`` (`Voice`). Packets whose playout is after the end of the run
        are left out.

    Examples
    --------
    No flow of this run has a playout.

    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> voice_quality(cwndlab.run(scenario, seed=1)).columns[2:]
    ['loss', 'burst_ratio', 'delay_ms', 'rating', 'mos']
    """
    rows = [
        {"flow": flow, "class": name, **vars(quality)}
        for flow, name, one, playout in _played(records)
        if (quality := voice(one.delays, playout, codec, packet_ms=packet_ms)) is not None
    ]
    numbers = dict.fromkeys(("loss", "burst_ratio", "delay_ms", "rating", "mos"), pl.Float64)
    return pl.DataFrame(rows, schema={"flow": pl.UInt32, "class": pl.String, **numbers})


def video_quality(records: Records, codec: str | VideoCodec = "h264-vga") -> pl.DataFrame:
    """Late frames, freezes and the score of each flow with a playout.

    Parameters
    ----------
    records
        A run.
    codec
        As in `video_mos`.

    Returns
    -------
    polars.DataFrame
        A row per flow whose ``service`` has ``playout`` and that has frames: ``flow``, ``class``, ``late``, the share
        of frames that are lost or late; ``freezes`` and ``frozen_s``, of a receiver that renders a frame at its
        playout and leaves out lost and late ones; ``bitrate_kbps`` and ``frame_rate`` of the frames that were
        generated; ``mos`` of these two, with ``late`` as the share of lost packets, which is smaller where a frame of
        several packets lost one of them. Frames whose playout is after the end of the run are left out; of one frame
        there is no rate.

    Examples
    --------
    No flow of this run has a playout.

    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> video_quality(cwndlab.run(scenario, seed=1)).columns
    ['flow', 'class', 'late', 'freezes', 'frozen_s', 'bitrate_kbps', 'frame_rate', 'mos']
    """
    rows = []
    for flow, name, one, playout in _played(records):
        if (late := late_share(one.delays, playout)) is not None:
            rendered = one.generated_ns[in_time(one.delays, playout)] + playout
            found, stream = freezes(rendered), stream_rate(one.generated_ns, one.size_bytes)
            rows.append(
                {"flow": flow, "class": name, "late": late, "freezes": found.number, "frozen_s": found.total_s}
                | ({} if stream is None else stream._asdict() | {"mos": video_mos(*stream, 100 * late, codec)})
            )
    floats = dict.fromkeys(("frozen_s", "bitrate_kbps", "frame_rate", "mos"), pl.Float64)
    schema = {"flow": pl.UInt32, "class": pl.String, "late": pl.Float64, "freezes": pl.Int64, **floats}
    return pl.DataFrame(rows, schema=schema)


def _played(records: Records) -> Iterable[tuple[int, str, Messages, int]]:
    """The flows with a playout: index, class, decided messages, and the playout in ns."""
    required: Mapping[int, Requirement] = requirements(records.document)
    if all(one.playout_ns is None for one in required.values()):
        return
    window, messages = Window.of(records), by_flow(records)
    for flow, one in required.items():
        if one.playout_ns is not None and flow in messages:
            inside = window.generated(messages[flow])
            known = inside.of(decided(inside.generated_ns, one.playout_ns, window.run_end_ns))
            yield flow, one.name, known, one.playout_ns
