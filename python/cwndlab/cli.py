"""The command line: arguments in, verbs called, data on standard output, the rest on standard error."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cwndlab import signals
from cwndlab.errors import AlgorithmError, Error, Fault, ScenarioError
from cwndlab.options import (
    MOST_REPETITIONS,
    AlgorithmsOption,
    FileOption,
    FormatOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    WorkersOption,
    classes_of,
    listed,
    scenario_of,
    whole,
)
from cwndlab.output import Format, Row, say, say_seed, write, write_rows
from cwndlab.progress import Stopped, several, stopped
from cwndlab.show import show_comparison, show_examined, show_run

if TYPE_CHECKING:
    from cwndlab.conformance import Examined
    from cwndlab.emulation import Datapath
    from cwndlab.own import Classes

app = typer.Typer(
    name="cwndlab",
    help="A laboratory for TCP congestion control.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        from cwndlab.run import version

        write(f"cwndlab {version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _cwndlab(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        write(context.get_help())


@app.command("list", epilog="Example: cwndlab list --kind slow-start")
def list_(
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only growth, slow-start, recovery, whole, router or mechanism.", metavar="KIND"),
    ] = None,
    aliases: Annotated[bool, typer.Option("--aliases", help="Only the names by which papers call things.")] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="The metrics instead.")] = False,
    format: FormatOption = Format.table,
) -> None:
    """List what there is, with sources, parameters, and other names."""
    from cwndlab.algorithms import algorithms, other_names

    if metrics:
        from cwndlab.metrics import listing

        write_rows(listing(), ("name", "title", "unit", "wanted"), format)
        return
    if aliases:
        write_rows(other_names(), ("alias", "means"), format)
        return

    kinds = sorted({entry.kind for entry in algorithms()})
    if kind is not None and kind not in kinds:
        raise ScenarioError(Fault("--kind", f"'{kind}' is no kind", f"there are {', '.join(kinds)}"))
    columns = ("name", "kind", "source", "confidence", "parameters")
    rows: list[dict[str, Any]] = []
    for entry in algorithms(kind):
        parameters: object = [parameter.as_dict() for parameter in entry.parameters]
        if format is not Format.json:
            parameters = " ".join(str(parameter) for parameter in entry.parameters)
        rows.append({column: getattr(entry, column) for column in columns} | {"parameters": parameters})
    write_rows(rows, columns, format, wrap=("source", "parameters"))
    if format is Format.table and kind is None:
        write("")
        write_rows(other_names(), ("alias", "means"), format)


@app.command(epilog="Example: cwndlab explain ccm-ss")
def explain(
    name: Annotated[str, typer.Argument(help="A name, or a text such as 'cubic+ccm-ss/sack'.", show_default=False)],
    format: FormatOption = Format.table,
) -> None:
    """Tell what an algorithm does and whence it is."""
    from cwndlab.algorithms import explain, meant_by

    if format is Format.table:
        write(explain(name))
        return
    rows = [entry.as_dict() for entry in meant_by(name)]
    write_rows(rows, tuple(rows[0]), format)


@app.command(epilog="Example: cwndlab schema scenario > scenario.schema.json")
def schema(
    kind: Annotated[
        str, typer.Argument(help="The kind of file: scenario, sweep or tune.", metavar="[scenario|sweep|tune]")
    ] = "scenario",
) -> None:
    """Print the JSON Schema of scenario, sweep or tune files, for editors."""
    import json

    from cwndlab.schemas import KINDS, of

    if kind not in KINDS:
        raise ScenarioError(Fault("KIND", f"'{kind}' has no schema", f"there are {', '.join(KINDS)}"))
    write(json.dumps(of(kind), indent=1, ensure_ascii=False, sort_keys=True))


@app.command(epilog="Example: cwndlab run path.toml --out out --set 'duration=5 s'")
def run(
    scenario: ScenarioArgument,
    seed: SeedOption = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the records (Parquet).", metavar="DIR", show_default=False),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option("--pcap", help="Packet capture at the senders (pcapng).", metavar="FILE", show_default=False),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="The simulator, real TCP between namespaces, or both.", metavar="simulate|emulate|both"
        ),
    ] = "simulate",
    accept_late: Annotated[
        bool, typer.Option("--accept-late", help="Keep an emulation whose deliveries were late.")
    ] = False,
    datapath: Annotated[
        str,
        typer.Option(
            "--datapath", help="Whose algorithms the kernel runs: its own, or ours.", metavar="kernel|cwndlab"
        ),
    ] = "kernel",
    set_: SetOption = None,
    algorithm_file: FileOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Run a scenario once; print its flows and links."""
    from cwndlab.run import run

    if engine not in ("simulate", "emulate", "both"):
        raise ScenarioError(Fault("--engine", f"'{engine}' is no engine", "write simulate, emulate or both"))
    if datapath not in ("kernel", "cwndlab"):
        raise ScenarioError(Fault("--datapath", f"'{datapath}' is no datapath", "write kernel or cwndlab"))
    if engine != "simulate" and pcap is not None:
        raise ScenarioError(Fault("--pcap", "the emulator does not write packets down", "leave one of the two out"))

    question = scenario_of(scenario, set_, algorithm_file)
    if pcap is not None:
        question = question.with_(packets=True)
    for note in question.notes:
        say(note)
    if engine == "simulate":
        records = run(question, seed=seed)
    else:
        from cwndlab.emulation import become_root, beside, emulate, stand_ins

        become_root()
        whose: Datapath = "cwndlab" if datapath == "cwndlab" else "kernel"
        records = emulate(question, seed=seed, accept_late=accept_late, datapath=whose)
        say(records.notes[-1])
    if out is not None:
        records.write(out)
    if engine == "both":
        simulated = run(question, seed=seed)
        rows = beside(simulated, records)
        write_rows(rows, tuple(rows[0]) if rows else (), format)
        for note in stand_ins(simulated, records):
            say(note)
        say_seed(seed)
        if out is not None:
            say(f"records: {out}")
        return
    if pcap is not None:
        from cwndlab.exports import export

        export(records, "pcap", pcap)
    show_run(records, format)
    if pcap is not None:
        say(f"packets: {pcap}")
    if out is not None:
        say(f"records: {out}")


@app.command(epilog="Example: cwndlab compare two-flows --algorithms cubic,reno")
def compare(
    scenario: ScenarioArgument,
    algorithms: Annotated[
        str,
        typer.Option("--algorithms", help="What every flow uses in turn, joined by commas.", metavar="A,B,C"),
    ],
    flows: Annotated[
        str | None,
        typer.Option(
            "--flows", help="Only these flows use it: names or indices.", metavar="NAME,…", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="The other flows over TCP use this.", metavar="ALGORITHM", show_default=False),
    ] = None,
    seed: SeedOption = 1,
    repetitions: Annotated[
        int,
        typer.Option(
            "--repetitions",
            help="Runs of each, seeds from N on.",
            metavar="N",
            parser=whole("--repetitions", 1, MOST_REPETITIONS),
        ),
    ] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for what was found.", metavar="DIR", show_default=False)
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML page with the pictures.", metavar="FILE", show_default=False)
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Repeat on until this holds.", metavar="'METRIC within X %'", show_default=False),
    ] = None,
    at_most: Annotated[
        int,
        typer.Option(
            "--at-most", help="Runs of each with --until.", metavar="N", parser=whole("--at-most", 2, MOST_REPETITIONS)
        ),
    ] = 50,
    warm_up: Annotated[
        str | None, typer.Option(help="What to leave out: mser, or a time.", metavar="mser|TIME", show_default=False)
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="What is judged; `list --metrics`.", metavar="A,B,C", show_default=False)
    ] = None,
    set_: SetOption = None,
    algorithm_file: FileOption = None,
    workers: WorkersOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Compare algorithms: means, intervals, differences."""
    question = scenario_of(scenario, set_, algorithm_file)
    from cwndlab.compare import compare, repeated
    from cwndlab.comparison import refuse

    names = listed(algorithms) or []
    if out is not None:
        refuse(out, repeated(question, repetitions if until is None else at_most))
    with several() as progress:
        found = compare(
            question,
            names,
            flows=listed(flows),
            against=against,
            repetitions=repetitions,
            seed=seed,
            workers=workers,
            progress=progress,
            until=until,
            at_most=at_most,
            warm_up=warm_up,
            metrics=listed(metrics),
        )
    # Saved before anything is printed: standard output may be closed by then.
    if out is not None:
        found.write(out)
    if report is not None:
        from cwndlab.report import report as draw

        draw(found, report)
    show_comparison(found, format)
    if out is not None:
        say(f"comparison: {out}")
    if report is not None:
        say(f"report: {report}")
    finished, total = len(found.rows), len(found.algorithms) * len(found.seeds)
    if finished < total:
        raise Stopped(stopped(finished, total, out))


@app.command(epilog="Example: cwndlab matrix --algorithms vegas,bbr1")
def matrix(
    algorithms: AlgorithmsOption = None,
    seed: SeedOption = 1,
    algorithm_file: FileOption = None,
    workers: WorkersOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Put every algorithm in the same settings, side by side."""
    from cwndlab.matrix import COLUMNS, matrix, summary

    classes = classes_of(algorithm_file)
    names = listed(algorithms) or (list(classes) if classes else None)
    _check(names or (), classes)
    with several() as progress:
        rows = list(matrix(names, seed=seed, workers=workers, progress=progress, classes=classes))
    say_seed(seed)
    if format is not Format.table:
        write_rows(rows, COLUMNS, format)
        return
    found = summary(rows)
    write_rows(found, tuple(found[0]), format)
    odd = [row for row in rows if row["odd"]]
    write("")
    columns = ("algorithm", "setting", "buffer_bdp", "loss", "utilisation", "share", "queue_ms", "odd")
    write_rows([{**row, **_rounded(row)} for row in odd], columns, format)


def _rounded(row: Row) -> dict[str, Any]:
    digits = {"utilisation": 3, "share": 3, "queue_ms": 1}
    return {name: None if row[name] is None else round(row[name], count) for name, count in digits.items()}


def _check(texts: Sequence[str], classes: Classes | None) -> None:
    """Raises with every algorithm that does not exist, before anything runs; ``classes`` are those of files."""
    from cwndlab.algorithms import canonical
    from cwndlab.run import described_classes

    document = described_classes(classes)
    faults: list[Fault] = []
    for text in texts:
        try:
            canonical(text, document)
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)


@app.command(epilog="Example: cwndlab check cubic+ccm-ss mine.py")
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Algorithms, such as 'cubic+ccm-ss', or Python with classes of your own.",
            metavar="NAME|FILE…",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every algorithm, and every slow start.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Thousands of ACKs instead of 10 million.")] = False,
    algorithm_file: FileOption = None,
    workers: WorkersOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Hold an algorithm against the rules that all keep."""
    from cwndlab.conformance import check_many, chosen

    texts, classes = chosen(names or (), everything=all_, files=algorithm_file or ())
    found: dict[int, Examined] = {}
    told = 0
    # Where a bar moves on the same terminal, rows in between would break it.
    early = format is Format.csv and not sys.stdout.isatty()
    stop: Stopped | None = None
    try:
        with several("algorithms") as progress:
            answers = check_many(texts, quick=quick, workers=workers, progress=progress, algorithms=classes)
            # Ctrl-C in this block stops what still runs, such as a class that loops for ever.
            with closing(answers):
                for index, examined in answers:
                    found[index] = examined
                    while early and told in found:
                        # An interrupt between the two would print the row twice.
                        with signals.postponed():
                            show_examined([found[told]], format, begins=told == 0)
                            told += 1
    except Stopped:
        stop = Stopped(f"stopped; {len(found)} of {len(texts)} algorithms were examined")
    show_examined([found[index] for index in sorted(found) if index >= told], format, begins=told == 0)
    for index in sorted(found):
        for note in found[index].notes:
            say(note)
    if stop is not None:
        raise stop
    if not all(examined.holds for examined in found.values()):
        raise typer.Exit(1)


@app.command(epilog="Example: cwndlab bench S1 S3")
def bench(
    scenarios: Annotated[
        list[str] | None, typer.Argument(help="S1, S2, S3, S4; all by default.", metavar="[S1 S2 S3 S4]")
    ] = None,
    overhead: Annotated[bool, typer.Option("--overhead", help="Measure what the command line adds, too.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Measure algorithms that are classes in Python.")] = False,
    format: FormatOption = Format.table,
) -> None:
    """Measure the engine's speed, without Python."""
    from cwndlab.bench import COLUMNS, OVERHEAD_COLUMNS, PYTHON_COLUMNS, SCENARIOS, bench, bench_python

    if python:
        write_rows(list(bench_python()), PYTHON_COLUMNS, format)
        return
    rows = list(bench(scenarios or SCENARIOS, overhead=overhead))
    write_rows(rows, OVERHEAD_COLUMNS if overhead else COLUMNS, format)


def _add_verbs() -> None:
    """Verbs that have a file of their own."""
    from cwndlab.verbs import (
        conform,
        emulate,
        export,
        kernel,
        measure,
        preflight,
        report,
        reproduce,
        serve,
        sweep,
        trace,
        tune,
        validate,
    )

    verbs = (
        report,
        export,
        sweep,
        reproduce,
        tune,
        trace,
        conform,
        emulate,
        kernel,
        measure,
        preflight,
        serve,
        validate,
    )
    for verb in verbs:
        verb.add(app)


_add_verbs()

# What typer answers for a ``KeyboardInterrupt``.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line; ends the process with 0, 1 (failed run), 2 (bad input), 130 or 143 (stopped)."""
    signals.install()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the terminal's encoding lacks is spelt out, as on standard error.
        sys.stdout.reconfigure(errors="backslashreplace")
    ended = status(arguments)
    if ended == signals.status():
        signals.leave(ended)
    sys.exit(ended)


#: Options whose value is a place to write to.
_PLACES = ("--out", "--report", "--pcap", "--state")


def _refuse_empty_places(arguments: Sequence[str]) -> None:
    """An empty text, such as of a variable that is not set, would be the working directory."""
    for option, value in pairwise([*arguments, "-"]):
        if option == "--":
            return
        if (option in _PLACES and not value) or option in [f"{place}=" for place in _PLACES]:
            raise ScenarioError(Fault(option.rstrip("="), "is empty", "name a file or folder"))


def status(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    if sys.stdout is None:
        _refuse_output()
    try:
        return _ended(arguments)
    except (BrokenPipeError, SystemExit) as gone:
        # typer makes SystemExit(1) of EPIPE.
        if isinstance(gone, SystemExit) and not isinstance(gone.__context__, BrokenPipeError):
            raise
        # What is left in the buffer must not fail again when the interpreter flushes it at its end.
        _discard_output()
        return UNREAD


def _ended(arguments: Sequence[str] | None) -> int:
    """The exit status, where somebody reads the output."""
    try:
        _refuse_empty_places(sys.argv[1:] if arguments is None else arguments)
        ended = app(arguments, prog_name="cwndlab", standalone_mode=False)
        sys.stdout.flush()
        if ended == _INTERRUPTED:
            say("stopped")
            return signals.status()
        return ended if isinstance(ended, int) else 0
    except Error as error:
        if isinstance(error, AlgorithmError) and error.__cause__ is not None:
            from traceback import format_exception

            say("".join(format_exception(error.__cause__)).rstrip("\n"))
        say(str(error))
        return error.exit_status
    except Stopped as stop:
        say(str(stop))
        return signals.status()
    except KeyboardInterrupt:
        say("stopped")
        return signals.status()
    except BrokenPipeError:
        raise
    except OSError as cause:
        if cause.errno == errno.EBADF:
            _discard_output()
        place = cause.filename or "standard output"
        say(str(Fault(str(place), f"failed ({cause.strerror})", "")))
        return 1
    except Exception as error:
        if signals.received():
            # A library was interrupted where it tells any failure as one of its own, such as an import.
            say("stopped")
            return signals.status()
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "cwndlab"
        what, _, near = message().rstrip(".").partition(". ")
        hint = near[:1].lower() + near[1:] if near else f"`{where} --help` shows an example"
        say(str(Fault(where, what[:1].lower() + what[1:], hint)))
        return 2


# As a shell reports a process that SIGPIPE ended: nobody reads its output.
UNREAD = 141


def _refuse_output() -> None:
    """Makes writing to a closed standard output (``>&-``) fail with EBADF, and keeps its descriptor from the files that
    the verb opens."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    if descriptor != 1:
        os.dup2(descriptor, 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
