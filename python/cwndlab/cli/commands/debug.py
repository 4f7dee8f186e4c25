"""``cwndlab debug``: a moment of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed, write, write_json, write_rows, write_table
from cwndlab.cli.options import Argument, Option, command, scenario_of
from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.validation.debugger import Divergence, LostPacket, Moment, Occupancy, Place, Snapshot, View

#: Recovery states of the transport, as Linux numbers them.
_STATES = ("open", "disorder", "CWR", "recovery", "loss")


def debug(
    scenario: Annotated[Path, Argument("SCENARIO|RECORDS", "A scenario, a preset, or a folder of records.")],
    at: Annotated[str, Option("TIME", "Time of the run, such as 12.4s.")] = "",
    next_: Annotated[
        str | None,
        Option(
            "EVENT", "The first such event from --at on: reduction, loss, timeout, phase, … (docs/debug.md lists them)."
        ),
    ] = None,
    previous: Annotated[str | None, Option("EVENT", "The last such event before --at, by default of the run.")] = None,
    flow: Annotated[str, Option("NAME|N", "The flow, by its name or index.")] = "0",
    against: Annotated[
        str | None,
        Option(
            "ALGORITHM|FILE|RECORDS",
            "An algorithm, a Python or Rust file with one, or records: the first difference from --at on.",
        ),
    ] = None,
    tolerance: Annotated[
        int, Option("BYTES", "Windows of --against that differ by no more are equal, bytes.", least=0)
    ] = 0,
    context: Annotated[int, Option("N", "Events before and after.", least=0, most=1000)] = 3,
    seed: int = 1,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    format: Format = Format.table,
) -> None:
    """Show an event of a run, and the state around it.

    The run is repeated up to a moment: a time (--at) or an event of some kind (--next, --previous). With --against
    ALGORITHM, both algorithms receive the events of the flow; the output shows the first event after which their
    windows or rates differ. With --against RECORDS, it shows where the sampled windows of the two runs begin to differ.
    """
    is_algorithm = against is not None and not Path(against).is_dir()
    other, classes = cwndlab.custom.selected_one(str(against) if is_algorithm else "", algorithm_file or ())
    described, seed = _run_of(scenario, set_, classes, seed)
    debugger = cwndlab.validation.debugger
    at_s = cwndlab.scenario.units.duration_s(at, "at") if at else None
    chosen = [one for one in (next_, previous, against) if one is not None]
    if len(chosen) > 1:
        what = "--next, --previous and --against search for different events"
        raise ScenarioError(Fault("cwndlab debug", what, "leave out all but one"))
    if at_s is None and not chosen:
        hint = "write --at 12.4s, --next reduction, or --against cubic for a first difference"
        raise ScenarioError(Fault("--at", "is missing", hint))
    if against is None:
        view = debugger.look(described, at_s=at_s, next=next_, previous=previous, flow=flow, seed=seed, context=context)
        _show_view(view, format)
    elif not is_algorithm:
        _show_runs(described, seed, Path(against), flow, context, format)
    else:
        found = debugger.divergence(
            described, other, from_s=at_s or 0.0, flow=flow, seed=seed, tolerance_bytes=tolerance, algorithms=classes
        )
        _show_divergence(found, other, format)
    say_seed(seed)


def _run_of(
    name: Path, set_: Sequence[str] | None, classes: Mapping[str, type], seed: int
) -> tuple[cwndlab.Scenario, int]:
    """The scenario and the seed, read from the records if the name is a folder."""
    if not name.is_dir():
        return scenario_of(name, set_, classes), seed
    if set_:
        raise ScenarioError(Fault("--set", "does not apply to records", "name the scenario in place of the folder"))
    records = cwndlab.Records.read(name)
    if records.version != cwndlab.version():
        say(f"{name}: written by version {records.version}; version {cwndlab.version()} may give a different run")
    return records.scenario, records.seed


def _show_runs(mine: cwndlab.Scenario, seed: int, other: Path, flow: str, context: int, format: Format) -> None:
    """The moments at which the windows of two runs begin to differ."""
    debugger = cwndlab.validation.debugger
    second = cwndlab.Records.read(other)
    between = debugger.first_difference(cwndlab.run(mine, seed=seed), second, flow)
    equal_s, different_s = between or (0.0, None)
    if different_s is None:
        of_flow = cwndlab.metrics.of_flow
        name = of_flow.members(second.document)[of_flow.flow_index(second.document, flow)][1]
        end = "" if between is None else f" up to {equal_s:g} s, where those of one run end"
        say(f"the samples of {name} have equal windows in both runs{end}")
        return
    say(f"the windows are equal up to {equal_s:g} s and differ at {different_s:g} s, in samples")
    views = [
        debugger.look(one, at_s=equal_s, flow=flow, seed=number, context=context)
        for one, number in ((mine, seed), (second.scenario, second.seed))
    ]
    if format is Format.json:
        write_json([asdict(view) for view in views])
        return
    for title, view in zip(("this run", str(other)), views, strict=True):
        write(f"\n{title}")
        _show_view(view, format)


def _show_view(view: View, format: Format) -> None:
    if format is not Format.table:
        _write_data(asdict(view), format, view.moment)
        return
    if view.moment is None:
        say(f"{view.flow}: no such event")
        return
    write(f"{view.flow}, {view.algorithm}")
    for line in view.earlier:
        write(f"  {_place_in_time(line.number, line.time_ns)}  {line.event}: cwnd {_bytes(line.cwnd_bytes)}")
    _show_moment(view.moment, {"before": view.moment.before, "after": view.moment.after}, view)
    for moment in view.later:
        cwnd = _bytes(moment.after.cwnd_bytes)
        write(f"  {_place_in_time(moment.number, moment.time_ns)}  {moment.event}: cwnd {cwnd}")


def _show_divergence(found: Divergence | None, against: str, format: Format) -> None:
    if format is not Format.table:
        _write_data(None if found is None else asdict(found), format, None if found is None else found.moment)
        return
    if found is None:
        say(f"{against}: the same windows and rates up to the end")
        return
    states = {
        "before": found.moment.before,
        "after": found.moment.after,
        f"{against}, before": found.before,
        f"{against}, after": found.after,
    }
    _show_moment(found.moment, states, found)
    _show_places(found.places, f"{against}: ")


def _write_data(value: Any, format: Format, moment: Moment | None) -> None:
    if format is Format.json:
        write_json(value)
        return
    rows = [] if moment is None else _rows({"before": moment.before, "after": moment.after})
    write_rows(rows, ("value", "before", "after"), format)


def _show_moment(moment: Moment, states: Mapping[str, Snapshot], found: View | Divergence) -> None:
    transport = found.transport
    write(f"> {_place_in_time(moment.number, moment.time_ns)}  {moment.event}")
    write("")
    given = {name: value for name, value in moment.fields.items() if value not in (None, False, 0)}
    write("    " + ", ".join(_field(name, value) for name, value in given.items()))
    write("")
    rows = [{column: _cell(str(row["value"]), value) for column, value in row.items()} for row in _rows(states)]
    write_rows(rows, ("value", *states), Format.table)
    if (before := transport.get("before")) and (after := transport.get("after")):
        write("")
        names = [name for name in before if before[name] is not None or after[name] is not None]
        cells = [
            {"transport": name, "before": _cell(name, before[name]), "after": _cell(name, after[name])}
            for name in names
        ]
        write_rows(cells, ("transport", "before", "after"), Format.table)
    write("")
    if found.lost_packet is not None:
        _show_lost_packet(found.lost_packet)
    elif moment.event.startswith("congestion"):
        write(f"lost packet: none ({found.no_lost_packet})\n")
    if moment.returned is not None:
        write(f"event: {moment.returned['kind']} ({moment.returned['reason']})")
    _show_places(moment.places)
    write("")


def _show_lost_packet(one: LostPacket) -> None:
    what = "a retransmission" if one.retransmission else "the segment"
    write(
        f"{what} at byte {one.sequence_bytes:,}, sent at {one.sent_ns / 1e9:.6f} s, was {one.fate} at {one.link} "
        f"at {one.time_ns / 1e9:.6f} s"
    )
    since = "marked since the previous congestion event" if one.fate == "marked" else "missing at the event"
    write(f"segments of this connection {since}: {one.count:,}")
    if one.queue_packets is not None:
        limits = [f"{one.capacity_packets:,} packets" if one.capacity_packets is not None else ""]
        limits += [_bytes(one.capacity_bytes) if one.capacity_bytes is not None else ""]
        limit = " or ".join(filter(None, limits)) or "unlimited"
        write(f"queue of {one.link} then: {one.queue_packets:,} packets, {_bytes(one.queue_bytes or 0)}; limit {limit}")
    write("")
    titles = ("flow", "packets at the link", "bytes", "cwnd", "in flight", "srtt", "state")
    write_table([_occupancy(flow) for flow in one.flows], titles, right=titles[1:-1])
    write("")


def _occupancy(flow: Occupancy) -> list[str]:
    """A flow's row beside a drop."""
    cells = [flow.name, f"{flow.packets:,}", f"{flow.bytes:,}"]
    if flow.transport is None:
        return [*cells, "–", "–", "–", "not started"]
    cwnd, in_flight, srtt_ns, state = (
        flow.transport[name] for name in ("cwnd_bytes", "in_flight_bytes", "srtt_ns", "state")
    )
    bytes_ = ("–" if value is None else f"{value:,}" for value in (cwnd, in_flight))
    return [*cells, *bytes_, "–" if srtt_ns is None else f"{srtt_ns / 1e6:.1f} ms", _STATES[state]]


def _show_places(places: Sequence[Place], owner: str = "") -> None:
    for place in places:
        write(f"{owner}{place.entry}: {place.method} in {place.file}:{place.line}")
        for line, comment in place.references:
            write(f"  line {line}: {comment}")


def _rows(states: Mapping[str, Snapshot]) -> list[dict[str, object]]:
    """A row per value of the states; None where a state lacks it."""
    columns = {name: _values(state) for name, state in states.items()}
    names = dict.fromkeys(name for values in columns.values() for name in values)
    return [{"value": name} | {column: values.get(name) for column, values in columns.items()} for name in names]


def _values(state: Snapshot) -> dict[str, object]:
    plain = asdict(state)
    values: dict[str, object] = plain.pop("values")
    return plain | values


def _cell(name: str, value: object) -> str:
    if name == "state" and isinstance(value, int):
        return _STATES[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    return (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str("–" if value is None else value)
    )


def _field(name: str, value: object) -> str:
    """A reported value without its unit's suffix: ``rtt 61.2 ms``."""
    if isinstance(value, int) and not isinstance(value, bool):
        if name.endswith("_ns"):
            return f"{name.removesuffix('_ns')} {value / 1e6:g} ms"
        if name.endswith("_bytes"):
            return f"{name.removesuffix('_bytes')} {_bytes(value)}"
        if name.endswith("_bps"):
            return f"{name.removesuffix('_bps')} {value / 1e6:.4g} Mbit/s"
    return name if value is True else f"{name} {value}"


def _bytes(count: int) -> str:
    return f"{count:,} B"


def _place_in_time(number: int, time_ns: int) -> str:
    return f"{time_ns / 1e9:.6f} s  event {number:,}"


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, debug, "debug two-flows --at 4s --flow 1")
