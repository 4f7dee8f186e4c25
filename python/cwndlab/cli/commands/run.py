"""``cwndlab run``: one run of a scenario."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli import places
from cwndlab.cli.console import Format, Row, say, say_seed, write_rows, write_table
from cwndlab.cli.findings import judge, say_findings
from cwndlab.cli.options import Option, classes_of, command, scenario_of
from cwndlab.cli.show import show_run
from cwndlab.errors import Error, Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.emulation import Datapath

#: Algorithms whose report schedules are explained.
_SCHEDULES = 4


def run(
    scenario: Path,
    seed: int = 1,
    out: Annotated[Path | None, "Folder for the records (Parquet); with both engines, one folder each."] = None,
    report: Annotated[Path | None, "HTML page with figures; both engines side by side."] = None,
    pcap: Annotated[Path | None, Option("FILE", "Packet capture at the senders (pcapng).")] = None,
    engine: Annotated[
        str,
        Option(
            "simulate|emulate|both|linux",
            "The simulator, real TCP between namespaces, both, or Linux kernels in virtual time.",
            noun="an engine",
        ),
    ] = "simulate",
    accept_late: Annotated[bool, "Keep an emulation with late deliveries."] = False,
    datapath: Annotated[
        str, Option("kernel|cwndlab", "The algorithms in the kernel: its own, or cwndlab's.", noun="a datapath")
    ] = "kernel",
    perturb: bool | None = None,
    threads: Annotated[
        int, Option("N", "Threads of the run, which do not change it; for thousands of flows.", least=1, most=1024)
    ] = 1,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Run a scenario once; print its flows and links."""
    if engine != "simulate" and pcap is not None:
        raise ScenarioError(Fault("--pcap", "only the simulator captures packets", "leave out one of the two"))

    described = scenario_of(scenario, set_, classes_of(algorithm_file)).perturbed(perturb)
    if pcap is not None:
        described = described.with_(packets=True)
    if engine == "linux":
        described = cwndlab.scenario.like.scenario_of(cwndlab.linux.with_kernels(described.document))
    engines = ("simulate", "emulate") if engine == "both" else ("emulate" if engine == "emulate" else "simulate",)
    folders = {} if out is None else {name: out / name if len(engines) > 1 else out for name in engines}
    _check_places(folders, report, pcap, described, seed)
    runs: dict[str, cwndlab.Records] = {}
    if "emulate" in engines:
        cwndlab.emulation.become_root()
    if "simulate" in engines:
        runs["simulate"] = _simulate(described, seed, threads)
    if "emulate" in engines:
        whose: Datapath = "cwndlab" if datapath == "cwndlab" else "kernel"
        runs["emulate"] = cwndlab.emulation.emulate(described, seed=seed, accept_late=accept_late, datapath=whose)
        if whose == "cwndlab":
            _say_schedules(described)
    written, failures = _written(runs, folders, report, pcap)
    _show(runs, format)
    for line in written:
        say(line)
    if failures:
        raise type(failures[0])(*(fault for failure in failures for fault in failure.faults))
    judge([row for records in runs.values() for row in records.rows("findings")], strict)


def _written(
    runs: Mapping[str, cwndlab.Records], folders: Mapping[str, Path], report: Path | None, pcap: Path | None
) -> tuple[list[str], list[Error]]:
    """Writes every file that can be written; a line for each, and the errors of the others."""
    every = list(runs.values())
    files: list[tuple[str, Callable[[], object]]] = []
    if pcap is not None:
        files.append((f"packets: {pcap}", lambda: cwndlab.export.export(every[0], "pcap", pcap)))
    files += [(f"records: {folder}", partial(runs[name].save, folder)) for name, folder in folders.items()]
    if report is not None:
        files.append((f"report: {report}", lambda: cwndlab.report(every if len(every) > 1 else every[0], report)))
    written, failures = [], []
    for line, write in files:
        try:
            write()
            written.append(line)
        except Error as error:
            failures.append(error)
    return written, failures


def _check_places(
    folders: Mapping[str, Path], report: Path | None, pcap: Path | None, scenario: cwndlab.Scenario, seed: int
) -> None:
    for engine, folder in folders.items():
        places.check_records(folder, scenario, seed, engine)
    places.check_file(report)
    places.check_file(pcap)


def _show(runs: Mapping[str, cwndlab.Records], format: Format) -> None:
    if len(runs) > 1:
        _show_both(runs["simulate"], runs["emulate"], format)
    else:
        (records,) = runs.values()
        show_run(records, format)


def _simulate(described: cwndlab.Scenario, seed: int, threads: int) -> cwndlab.Records:
    with warnings.catch_warnings(record=True) as caught:
        records = cwndlab.run(described, seed=seed, threads=threads)
    for one in caught:
        say(f"note: {one.message}")
    return records


def _show_both(simulated: cwndlab.Records, emulated: cwndlab.Records, format: Format) -> None:
    _show_deviations(cwndlab.emulation.deviations(simulated, emulated), format)
    for one in cwndlab.emulation.substitutions(simulated, emulated):
        say(
            f"{one.flow}: the simulator used {one.simulated}, the kernel its own {one.kernel}: "
            f"write the latter, or --datapath cwndlab, to compare the same algorithm"
        )
    say_findings(emulated.rows("findings"))
    say_seed(emulated.seed)


#: Title with the displayed unit of each quantity, and the factor to this unit.
_SHOWN = {
    "goodput_bps": ("goodput, Mbit/s", 1e-6),
    "mean_rtt_ns": ("mean RTT, ms", 1e-6),
    "min_rtt_ns": ("min RTT, ms", 1e-6),
}


def _show_deviations(rows: Sequence[Row], format: Format) -> None:
    """Prints the simulator beside the kernel: in readable units for people, unchanged for programs."""
    if format is not Format.table:
        write_rows(rows, tuple(rows[0]) if rows else (), format)
        return
    cells = []
    for row in rows:
        heading, factor = _SHOWN.get(row["quantity"], (row["quantity"].replace("_", " "), 1.0))
        values = (_value(row[name], factor) for name in ("simulated", "kernel"))
        deviation = "–" if row["deviation"] is None else f"{100 * row['deviation']:+.1f} %"
        cells.append([row["flow"], heading, *values, deviation])
    algorithms = {row["flow"]: (row["simulated_algorithm"], row["kernel_algorithm"]) for row in rows}
    for flow, (simulated, kernel) in algorithms.items():
        say(f"{flow}: simulator {simulated}, kernel {kernel}")
    titles = ("flow", "quantity", "simulator", "kernel", "deviation")
    write_table(cells, titles, right=titles[2:])


def _value(value: float | None, factor: float) -> str:
    if value is None:
        return "–"
    if factor == 1.0:
        return f"{value:,}"
    return f"{value * factor:.4g}" if abs(value * factor) < 1e4 else f"{value * factor:,.0f}"


def _say_schedules(scenario: cwndlab.Scenario) -> None:
    """Prints what the report schedule of the kernel changes for each algorithm of the catalogue."""
    flows = scenario.document["flow"]
    texts = [flow["algorithm"].partition("/")[0] for flow in flows if flow.get("algorithm")]  # without the recovery
    described = scenario.document.get("algorithms", {})
    known = [text for text in dict.fromkeys(texts) if cwndlab.custom.base_name(text) not in described]
    for text in known[:_SCHEDULES]:
        say(cwndlab.validation.report_schedule.sentence(text))
    if len(known) > _SCHEDULES:
        say(f"`cwndlab kernel reports NAME` shows this for the other {len(known) - _SCHEDULES} algorithms")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, run, "run path.toml --out out --set 'duration=5 s'")
