"""The command line: data on standard output, messages that help, exit statuses, no traceback."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import cwndlab
import pytest
from cwndlab import Records, Scenario
from cwndlab.cli.app import app
from cwndlab.cli.options import SHARED
from cwndlab.reproduction import Finding, Reproduction, Reproductions, find
from cwndlab.reproduction.measured import Measured
from cwndlab.validation.peers import Row
from programs import END_S, finish, start, wait_until_ready
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

Cli = Callable[..., tuple[int, str, str]]
#: Columns of a summary in the list of commands: click shortens it by "..." where a terminal of 80 has no room.
SUMMARY = 55


def commands(
    group: TyperGroup, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], TyperCommand | TyperGroup]]:
    """Every command and subcommand with its words."""
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        yield (*path, name), command
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))


PROGRAM = get_command(app)
assert isinstance(PROGRAM, TyperGroup)
COMMANDS = dict(commands(PROGRAM))
GROUPS = [words for words, command in COMMANDS.items() if isinstance(command, TyperGroup)]


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in GROUPS], ids=" ".join)
def test_every_command_shows_an_example(cli: Cli, words: tuple[str, ...]) -> None:
    status, out, err = cli(*words, "--help")
    assert (status, err) == (0, "")
    assert f"Example: cwndlab {' '.join(words)}" in out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_summaries_of_commands_are_printed_in_full(cli: Cli, words: tuple[str, ...]) -> None:
    summary = (COMMANDS[words].help or "").partition("\n\n")[0]
    assert 0 < len(summary) <= SUMMARY
    listed = " ".join(cli(*words[:-1], "--help")[1].split())
    assert f" {words[-1]} {summary}" in listed


def test_the_help_lists_the_commands_in_groups(cli: Cli) -> None:
    """Each command stands in one of them."""
    lists = cli("--help")[1].split("\n\n")[3:]
    titles = [text.partition(":")[0].strip() for text in lists]
    assert titles == ["Simulate", "Study", "Judge", "Real networks", "Files"]
    listed = [line.split()[0] for text in lists for line in text.strip().splitlines()[1:]]
    assert sorted(listed) == sorted(words[0] for words in COMMANDS if len(words) == 1)


def test_an_option_that_several_commands_have_is_declared_once() -> None:
    """By its name and what it takes: `SHARED` in cli/options.py has those of more than one command."""
    declared: dict[tuple[str, str], list[str]] = {}
    for file in sorted((Path(cwndlab.__file__).parent / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.arg) and node.annotation is not None:
                takes = re.search(r"Option\('([^']*)'", ast.unparse(node.annotation))
                declared.setdefault((node.arg, takes[1] if takes else ""), []).append(file.name)
    declared = {one: files for one, files in declared.items() if one[1]}
    assert ("wifi", "FILE") in declared
    assert {one: files for one, files in declared.items() if len(files) > 1} == {}
    assert [name for name, takes in declared if name in SHARED and SHARED[name][0] == takes] == []


def test_without_a_command_help_is_shown(cli: Cli) -> None:
    status, out, _ = cli()
    assert status == 0
    assert all(f"\n  {words[0]} " in out for words in COMMANDS)
    assert cli("--help")[1] == out
    assert cli("--version") == (0, f"cwndlab {cwndlab.version()}\n", "")


def test_list_has_stable_keys(cli: Cli) -> None:
    status, out, err = cli("list", "--format", "json")
    assert (status, err) == (0, "")
    rows = json.loads(out)
    assert {tuple(row) for row in rows} == {("name", "kind", "source", "confidence", "parameters")}
    names = {(row["name"], row["kind"]) for row in rows}
    assert {("cubic", "growth"), ("ccm-ss", "slow-start"), ("rack", "recovery"), ("reno", "recovery")} <= names
    (ccm_ss,) = (row for row in rows if row["name"] == "ccm-ss")
    mu, _, delay, *_ = ccm_ss["parameters"]
    assert list(mu) == ["name", "unit", "default", "low", "high", "doc"]
    assert (mu["name"], mu["default"], mu["low"], mu["high"]) == ("mu", 1.5, 0.5, 10)
    assert list(delay) == ["name", "unit", "default", "words", "doc"]


def test_list_as_table_and_csv(cli: Cli) -> None:
    _, out, _ = cli("list")
    assert out.splitlines()[0].split() == ["name", "kind", "source", "confidence", "parameters"]
    assert max(len(line) for line in out.splitlines()) <= 120
    _, out, _ = cli("list", "--kind", "slow-start", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["kind"] for row in rows} == {"slow-start"}
    _, out, _ = cli("list", "--format", "csv")
    kinds = sorted({row["kind"] for row in csv.DictReader(io.StringIO(out))})
    assert {"growth", "mechanism", "recovery", "slow-start", "whole"} <= set(kinds)
    assert cli("list", "--kind", "walk") == (
        2,
        "",
        f"--kind: no kind is called 'walk'\n  hint: there are {', '.join(kinds)}\n",
    )


def test_mechanisms_are_told_and_refused_as_algorithms(cli: Cli) -> None:
    _, out, _ = cli("list", "--kind", "mechanism", "--format", "csv")
    assert [row["name"] for row in csv.DictReader(io.StringIO(out))] == ["prr", "rto", "undo", "ecn-classic"]
    _, out, _ = cli("explain", "prr")
    assert out.startswith("prr — Proportional rate reduction (mechanism)\nsource: RFC 6937; RFC 9937")
    assert "stack.prr=rfc9937  (rfc6937 | rfc9937)" in out
    assert cli("run", "single", "--seed", "1", "--set", "flow[0].algorithm=prr")[::2] == (
        2,
        "flow[0].algorithm: 'prr' is a mechanism of the transport, not a congestion-avoidance algorithm\n"
        "  hint: write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'\n",
    )


def test_explain_tells_source_and_parameters(cli: Cli) -> None:
    _, out, _ = cli("explain", "ccm-ss")
    assert out.startswith("ccm-ss — ")
    assert "source: Ahmad et al., IEEE Access 2018" in out
    assert "  mu=1.5  (0.5 … 10)\n" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_explain_resolves_aliases_and_whole_texts(cli: Cli) -> None:
    assert cli("explain", "hstcp")[1].startswith("hstcp means highspeed\n\nhighspeed — ")
    assert cli("explain", "newreno")[1].startswith("newreno means reno+standard/newreno, or the recovery below\n")
    _, out, _ = cli("explain", "cubic+ccm-ss(mu=2)/sack")
    assert [line.split(" — ")[0] for line in out.splitlines() if " — " in line] == ["cubic", "ccm-ss", "sack"]
    status, out, _ = cli("explain", "rack", "--format", "json")
    assert status == 0
    assert [row["name"] for row in json.loads(out)] == ["rack"]


def test_explain_suggests_the_nearest_name(cli: Cli) -> None:
    assert cli("explain", "hystrat") == (
        2,
        "",
        "no algorithm is called 'hystrat'\n  hint: did you mean 'hystart'? `cwndlab list` shows them all\n",
    )


def test_demo_compares_six_algorithms_and_draws_a_report(cli: Cli, tmp_path: Path) -> None:
    status, out, err = cli("demo", "--quick", "--out", tmp_path / "first")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[2:8]] == [
        "cubic+hystart",
        "cubic+ccm-ss",
        "reno",
        "highspeed",
        "bic",
        "ctcp",
    ]
    assert err.endswith(f"comparison: {tmp_path / 'first'}\nreport: {tmp_path / 'first.html'}\n")
    assert len(json.loads((tmp_path / "first" / "comparison.json").read_text())["seeds"]) == 2
    page = (tmp_path / "first.html").read_text(encoding="utf-8")
    assert len(page) > 100_000
    assert "<title>cubic+hystart, cubic+ccm-ss, reno, highspeed, bic and ctcp<" in page
    assert "Six congestion controls on a path of 250 Mbit/s" in page
    # Four metrics for each of five algorithms, in sentences that a reader finishes.
    kept = json.loads((tmp_path / "first" / "comparison.json").read_text())
    assert kept["metrics"] == ["goodput_bps", "jain", "p95_queue_ms", "loss_ratio"]


def test_run_prints_flows_and_links(cli: Cli, path: Path, scenario: Scenario) -> None:
    status, out, err = cli("run", path, "--seed", 1, "--format", "json")
    assert (status, err) == (0, "seed: 1\n")
    printed = json.loads(out)
    records = cwndlab.run(scenario, seed=1)
    assert printed == {table: records.rows(table) for table in ("flows", "links", "findings")}
    _, out, _ = cli("run", path, "--seed", 1, "--format", "csv")
    flows, links = (list(csv.DictReader(io.StringIO(part))) for part in out.split("\n\n"))
    assert [row["algorithm"] for row in flows] == ["cubic+hystart-pp/rack", "reno+standard/newreno"]
    assert links[0]["name"] == "bottleneck"
    _, out, _ = cli("run", path, "--seed", 1)
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "flow"
    assert lines[1].startswith("flow0  cubic+hystart-pp/rack ")
    assert any(line.startswith("bottleneck ") for line in lines)


def test_run_writes_records(cli: Cli, path: Path, scenario: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, _, err = cli("run", path, "--seed", 3, "--out", out, "--set", "duration=1 s", "--set", "flow[0].rtt=50 ms")
    assert (status, err) == (0, f"2 links more with --format json\nseed: 3\nrecords: {out}\n")
    records = Records.read(out)
    assert records.scenario == scenario.with_({"flow[0].rtt": "50 ms"}, duration="1 s")
    assert records.seed == 3
    status, printed, err = cli("run", path, "--seed", 4, "--out", out)
    assert (status, printed) == (2, "")
    assert err == (
        f"{out}: holds another run (scenario {records.scenario_hash[:12]}, seed 3, version {cwndlab.version()})\n"
        "  hint: name a folder that is empty or does not exist\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seed", "x"), "--seed: 'x' is not a whole number from 0 on\n  hint: write --seed 1\n"),
        (("--seed", -1), "--seed: '-1' is not a whole number from 0 on\n  hint: write --seed 1\n"),
        (
            ("--seed", 1, "--set", "duration"),
            "--set: 'duration' has no '='\n  hint: write --set 'flow[0].rtt=50 ms'\n",
        ),
        (
            ("--seed", 1, "--format", "xml"),
            "--format: 'xml' is not a format\n  hint: write table, json or csv\n",
        ),
        (
            ("--seed", 1, "--set", "flow[0].algorithm=cubik"),
            "flow[0].algorithm: no algorithm is called 'cubik'\n"
            "  hint: did you mean 'cubic'? `cwndlab list` shows them all\n",
        ),
    ],
)
def test_bad_arguments_are_told(cli: Cli, path: Path, arguments: tuple[object, ...], message: str) -> None:
    assert cli("run", path, *arguments) == (2, "", message)


def test_an_unknown_verb_is_told(cli: Cli) -> None:
    assert cli("rum") == (2, "", "cwndlab: no such command 'rum'\n  hint: did you mean 'run'?\n")


def test_files_that_cannot_be_read_are_told(cli: Cli, tmp_path: Path) -> None:
    hint = "\n  hint: name a scenario in TOML\n"
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for file, what in [
        (tmp_path / "missing.toml", "there is no such file"),
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "binary", "is not UTF-8 text (byte 0)"),
    ]:
        assert cli("run", file, "--seed", 1) == (2, "", f"{file}: {what}{hint}")


def test_a_preset_is_found_by_its_name(cli: Cli) -> None:
    status, out, _ = cli("run", "two-flows", "--seed", 1, "--set", "duration=1 s", "--format", "json")
    assert status == 0
    assert len(json.loads(out)["flows"]) == 2
    status, out, err = cli("run", "two-flow", "--seed", 1)
    assert (status, out) == (2, "")
    assert err.startswith("two-flow: there is no preset and no file of this name\n  hint: did you mean 'two-flows'?")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(cli: Cli, path: Path) -> None:
    path.chmod(0)
    assert cli("run", path, "--seed", 1) == (
        2,
        "",
        f"{path}: cannot be read (Permission denied)\n  hint: name a scenario in TOML\n",
    )


def test_a_reader_who_leaves_is_no_fault() -> None:
    process = start("list", "--format", "json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=END_S) == 141  # 128 + SIGPIPE, as a shell reports `yes | true`
    process.stderr.close()


def test_results_are_saved_although_nobody_reads_the_output(path: Path, tmp_path: Path) -> None:
    """The reader has gone before anything is printed; then standard output is closed from the start."""
    runs = [
        ("run", path, "--out", "run"),
        ("compare", path, "--algorithms", "cubic,reno", "--repetitions", 2, "--out", "out", "--report", "page.html"),
        ("report", "out", "--report", "again.html", "--figures", "svg"),
    ]
    for number, (arguments, files) in enumerate(
        zip(
            runs,
            (["run/flows.parquet"], ["out/comparison.json", "page.html"], ["again.html", "out/figures"]),
            strict=True,
        )
    ):
        process = start(*arguments, stdout=subprocess.PIPE, cwd=tmp_path)
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=120)
        assert (process.returncode, "Traceback" in err) == (141, False), (number, err)
        assert [file for file in files if not (tmp_path / file).exists()] == []


def test_a_closed_standard_output_is_told(path: Path, tmp_path: Path) -> None:
    """As `ls >&-`; no file that the verb opens takes the descriptor's place."""
    command = f"exec {sys.executable} -m cwndlab run {path} --out {tmp_path / 'out'} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.splitlines()[-1] == "standard output: failed (Bad file descriptor)"
    assert done.returncode == 1
    assert Records.read(tmp_path / "out").seed == 1


def test_the_seed_is_1_unless_another_is_named_and_is_told(cli: Cli, path: Path) -> None:
    _, printed, err = cli("run", path, "--format", "json")
    assert err == "seed: 1\n"
    assert cli("run", path, "--format", "json", "--seed", 1)[1] == printed
    assert cli("run", path, "--format", "json", "--seed", 2)[1:] != (printed, err)
    _, printed, err = cli("compare", path, "--algorithms", "reno", "--repetitions", 2, "--format", "json")
    assert (json.loads(printed)["seeds"], err) == ([1, 2], "seeds: 1 to 2\n")
    assert cli("trace", "make", "lte-driving", "--duration", 1)[2] == "seed: 1\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_does_not_fit_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        process = start("list", "--format", "json", stdout=full)
        _, err = finish(process)
    assert (process.returncode, err) == (1, "standard output: failed (No space left on device)\n")


def test_ctrl_c_ends_with_130(path: Path) -> None:
    process = start("run", path, "--seed", 1, "--set", "duration=1000000 s")
    wait_until_ready(process)
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    assert (process.returncode, out, err) == (130, "", "stopped\n")


def test_compare_prints_writes_and_reports(cli: Cli, path: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    arguments = ("compare", path, "--algorithms", "cubic+ccm-ss(mu=2, beta=0.3),reno", "--seed", 5, "--repetitions", 3)
    status, printed, err = cli(*arguments, "--out", out, "--report", page, "--format", "json")
    assert (status, err) == (0, f"seeds: 5 to 7\ncomparison: {out}\nreport: {page}\n")
    found = json.loads(printed)
    assert found["algorithms"] == ["cubic+ccm-ss(mu=2, beta=0.3)", "reno"]
    assert found["seeds"] == [5, 6, 7]
    assert len(found["rows"]) == 6
    assert json.loads((out / "comparison.json").read_text()) == found
    assert page.read_text().startswith("<!doctype html>")
    status, table, _ = cli("report", out)
    assert status == 0
    assert table == cli(*arguments)[1]
    assert (out / "report.html").exists()


def test_compare_repeats_until_and_says_how_it_tests(cli: Cli, path: Path) -> None:
    arguments = ("compare", path, "--algorithms", "cubic,reno", "--seed", 1, "--repetitions", 2)
    rule = ("--until", "jain within 40 %", "--at-most", 4, "--warm-up", "1 s", "--metrics", "jain,p95_queue_ms")
    status, table, err = cli(*arguments, *rule)
    assert status == 0
    assert "p (Holm)" in table
    assert "warm-up: the time before 1 s is left out\n" in err
    assert "until jain within 40 %, at most 4: stopped after " in err
    assert "Paired t-test over equal seeds; p after Holm's correction for the 2 comparisons evaluated here." in err
    assert cli(*arguments, "--until", "speed") == (
        2,
        "",
        "--until: 'speed' is not a stopping rule\n  hint: write --until 'goodput_bps within 2 %'\n",
    )


def test_list_has_the_metrics(cli: Cli) -> None:
    status, out, _ = cli("list", "--metrics", "--format", "json")
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out)}
    goodput = {"name": "goodput_bps", "title": "goodput", "unit": "Mbit/s", "wanted": "more"}
    formula = "8 × payload delivered in order for the first time / time"
    assert rows["goodput_bps"] == goodput | {"formula": formula, "source": "RFC 5166, section 2.1.1"}
    assert rows["p99_queue_ms"]["wanted"] == "less"


def test_list_has_the_bundled_scenarios(cli: Cli) -> None:
    """Titles from the files: two-flows has one, and single only the comment at its top."""
    status, out, _ = cli("list", "--presets", "--format", "json")
    assert status == 0
    rows = {row["name"]: row["title"] for row in json.loads(out)}
    assert list(rows) == cwndlab.presets.names()
    assert rows["two-flows"] == "CUBIC and Reno share a bottleneck"
    assert rows["single"] == "One CUBIC flow alone for a second: the smallest thing to run"
    assert all(rows.values())


def test_report_draws_a_run(cli: Cli, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, printed, _ = cli("run", path, "--seed", 1, "--out", out)
    status, again, err = cli("report", out, "--figures", "svg")
    assert (status, again) == (0, printed)
    assert (out / "report.html").exists()
    assert all(Path(line.removeprefix("figure: ")).exists() for line in err.splitlines() if line.startswith("figure: "))
    assert {file.suffix for file in (out / "figures").iterdir()} == {".svg"}


def test_compare_keeps_what_is_finished(cli: Cli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def interrupted() -> Iterator[Callable[[int, int], None]]:
        def progress(done: int, total: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        yield progress

    monkeypatch.setattr("cwndlab.cli.commands.compare.progress_bar", interrupted)
    out = tmp_path / "out"
    arguments = ("--algorithms", "cubic,reno", "--repetitions", 3, "--seed", 1, "--workers", 1, "--out", out)
    status, printed, err = cli("compare", path, *arguments, "--format", "json")
    assert status == 130
    assert err.splitlines()[-1] == f"stopped; 3 of 6 runs finished are kept in {out}"
    assert len(json.loads(printed)["rows"]) == 3
    assert json.loads((out / "comparison.json").read_text()) == json.loads(printed)


SAYS_THAT_IT_RUNS = """
class Mine:
    def __init__(self, path):
        self.w = path.initial_cwnd
        print("runs", flush=True)

    def on_ack(self, ack):
        pass

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return self.w
"""


def test_compare_stops_at_once(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SAYS_THAT_IT_RUNS)
    endless = ("--set", "duration=1000000 s", "--repetitions", 3, "--seed", 1)
    process = start("compare", path, "--algorithms", "mine,reno", "--algorithm-file", tmp_path / "mine.py", *endless)
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    assert process.returncode == 130
    assert set(out.splitlines()) <= {"runs"}
    assert err == "stopped; 0 of 6 runs finished\n"


def test_reproduce_lists_and_judges(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = cli("reproduce", "--list", "--format", "json")
    assert status == 0
    assert {tuple(row) for row in json.loads(out)} == {("id", "title")}
    assert "ccm-ss/fig14" in {row["id"] for row in json.loads(out)}
    hint = "\n  hint: `cwndlab reproduce --list` lists the experiments\n"
    assert cli("reproduce") == (2, "", f"cwndlab reproduce: no paper is named{hint}")
    assert cli("reproduce", "ccm-ss", "--all") == (
        2,
        "",
        f"cwndlab reproduce: 'ccm-ss' and --all exclude each other{hint}",
    )

    def outcomes(target: str, **options: object) -> Reproductions:
        assert (target, options["quick"], options["seed"], options["out"]) == ("ccm-ss", True, 1, None)
        finding = Finding("ccm-ss/fig14", "ratio", "0.5", 0.75, 0.7, 0.8, "holds at another size", "because")
        (one,) = find("ccm-ss/fig14")
        done = Reproduction(one, True, 1, (), Measured(one.quick, ()), [finding], 1.0)
        return Reproductions((done,), stopped=True)

    monkeypatch.setattr(cwndlab, "reproduce", outcomes)
    status, out, err = cli("reproduce", "ccm-ss", "--quick", "--format", "json")
    assert (status, err) == (130, "seed: 1\nstopped after 1 experiments, whose findings are above\n")
    keys = ["id", "quantity", "published", "measured", "low", "high", "measured_is", "outcome", "reason"]
    assert [list(row) for row in json.loads(out)] == [
        [
            *(*keys, "beside", "beside_is", "kind", "headline", "parts", "n", "differing", "printed", "controls"),
            *("expected", "claimed", "margin"),
        ]
    ]


def test_validate_has_stable_keys(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row("reno", "ns2", "a", "goodput_bps", None, 1.0, 2.0, 0.5)]
    monkeypatch.setattr(cwndlab, "validate", lambda *_, **__: (rows, ["x is left out"]))
    status, out, err = cli("validate", "--format", "json")
    assert (status, err) == (0, "x is left out\n")
    keys = ["algorithm", "scenario", "quantity", "ours", "reference", "deviation", "tolerance", "holds"]
    assert [list(row) for row in json.loads(out)] == [keys]
    _, out, _ = cli("validate")
    assert out.splitlines()[-1].split() == ["reno", "1", "0", "0"]


def test_bench_names_its_scenarios(cli: Cli) -> None:
    assert cli("bench", "S9") == (
        2,
        "",
        "bench: no scenario is called 'S9'\n  hint: there are S1, S2, S3, S4\n",
    )


@pytest.mark.parametrize("overhead", [False, True])
def test_bench_prints_its_rows(cli: Cli, overhead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "cwndlab-bench"
    program.write_text("""#!/bin/sh\necho '{"packets": 1000, "cpu_s": 0.5, "peak_rss_mb": 3.25}'\n""")
    program.chmod(0o755)
    module = import_module("cwndlab.study.benchmark")
    monkeypatch.setattr(module, "_program", lambda: program)
    monkeypatch.setattr(module, "_command_line", lambda path: (0.75, 40.0))
    status, out, err = cli("bench", "S4", "--format", "json", *(["--overhead"] if overhead else []))
    row = {"scenario": "S4", "packets": 1000, "cpu_s": 0.5, "packets_per_cpu_s": 2000, "peak_rss_mb": 3.25}
    added = {"cli_cpu_s": 0.75, "cli_peak_rss_mb": 40.0} if overhead else {}
    assert (status, json.loads(out), err) == (0, [row | added], "")


def test_bench_without_its_program_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(import_module("cwndlab.study.benchmark"), "ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli("bench", "S4") == (
        1,
        "",
        "bench: the program 'cwndlab-bench' was not found\n  hint: build it with `make build`\n",
    )


_TRANSFERS = """
from cwndlab.cli.console import say
from cwndlab.cli.progress import transfer_bar
with transfer_bar() as received:
    for name in ("cubic", "reno"):
        received(name, 1_000_000, 4_000_000)
        received(name, 4_000_000, 4_000_000)
        say(f"{name} is done")
"""


def on_a_terminal(code: str, **environment: str) -> str:
    """What a program writes to a terminal as its standard error."""
    ours, theirs = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, env=known | {"TERM": "xterm", "COLUMNS": "60"} | environment
    )
    os.close(theirs)
    written = b""
    # Linux reports the end of the other side as an error (EIO).
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            written += chunk
    os.close(ours)
    assert process.wait(timeout=END_S) == 0
    return written.decode()


def test_a_bar_of_transfers_is_as_wide_as_the_terminal_and_is_erased() -> None:
    """CSI 2K erases a line, SGR sets a colour (ECMA-48, 8.3.41 and 8.3.117)."""
    written = on_a_terminal(_TRANSFERS, NO_COLOR="1")
    assert "4.0/4.0 MB" in written
    assert re.findall(r"\x1b\[[0-9;]*m", written) == []
    lines = [re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", written)]
    assert max(map(len, lines)) <= 60
    assert [line for line in lines if line.endswith("is done")] == ["cubic is done", "reno is done"]
    assert written.endswith("\x1b[2K")
    assert re.search(r"\x1b\[[0-9;]+m", on_a_terminal(_TRANSFERS)) is not None


def test_without_a_terminal_there_is_no_bar() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRANSFERS],
        capture_output=True,
        text=True,
        env=os.environ | {"FORCE_COLOR": "1"},
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "cubic is done\nreno is done\n")


HEAVY = ("polars", "numpy", "scipy", "plotly", "matplotlib", "pyarrow")


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["run", "PATH", "--seed", "1"]])
def test_what_draws_is_not_imported_before_it_is_needed(arguments: list[str], path: Path) -> None:
    arguments = [str(path) if argument == "PATH" else argument for argument in arguments]
    code = (
        "import sys, cwndlab.cli.app\n"
        f"status = cwndlab.cli.app.status({arguments!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "print(status, loaded, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"


def test_matrix_prints_rows_and_refuses_what_is_unknown(cli: Cli) -> None:
    status, out, _ = cli("matrix", "--algorithms", "vegas", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (status, len(rows)) == (0, 45)
    assert {row["algorithm"] for row in rows} == {"vegas"}
    status, out, err = cli("matrix", "--algorithms", "vegas,vega")
    assert (status, out) == (2, "")
    assert err == "no algorithm is called 'vega'\n  hint: did you mean 'vegas'? `cwndlab list` shows them all\n"


def test_list_shows_the_names_by_which_papers_call_things(cli: Cli) -> None:
    _, out, _ = cli("list", "--aliases", "--format", "json")
    names = {row["alias"]: row["means"] for row in json.loads(out)}
    assert names["bbr"] == "bbr3"
    assert names["tcp-vegas"] == "vegas"
    assert names["sack-tcp"] == "reno+standard/sack"
    _, out, _ = cli("list")
    assert re.search(r"^hystart-cubic +cubic\+hystart$", out, re.MULTILINE)


COUNTED = """\
schema_version = 1
duration = "1 s"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "10 ms" }

[[flow]]
name = "web"
algorithm = "cubic"
rtt = "40 ms"
count = 2

[[flow]]
algorithm = "cubic"
rtt = "40 ms"
"""


def test_an_index_is_that_of_a_flow_in_the_records_everywhere(cli: Cli, tmp_path: Path) -> None:
    """Flows 0 and 1 are web-1 and web-2, flow 2 is flow1: in `debug`, in `--flows` and in metrics."""
    file = tmp_path / "counted.toml"
    file.write_text(COUNTED)
    names = cwndlab.run(cwndlab.Scenario.load(file), seed=1).flows["name"].to_list()
    assert names == ["web-1", "web-2", "flow1"]
    for index, name in enumerate(names):
        by_index = cli("debug", file, "--at", "500 ms", "--flow", index)
        assert by_index[0] == 0
        assert cli("debug", file, "--at", "500 ms", "--flow", name) == by_index
    compare = ("compare", file, "--algorithms", "reno,vegas", "--repetitions", 2)
    status, out, err = cli(*compare, "--flows", "2", "--format", "json")
    assert (status, json.loads(out)["flows"]) == (0, ["flow1"]), err
    for flow in ("0", "web-1"):
        assert cli(*compare, "--flows", flow)[::2] == (
            2,
            "flows: flow 0 ('web-1') is one of 2 of the table 'web', which have one algorithm\n"
            "  hint: name 'web', or give the flow a table [[flow]] of its own\n",
        )
    status, out, err = cli(*compare, "--metrics", "goodput_bps@1,goodput_bps@web-2,goodput_bps@web", "--format", "json")
    assert status == 0, err
    for row in json.loads(out)["rows"]:
        assert row["goodput_bps@1"] == row["goodput_bps@web-2"] < row["goodput_bps@web"]
    file.write_text(COUNTED[: COUNTED.rindex("[[flow]]")])
    assert cli(*compare, "--flows", "web", "--against", "bic")[::2] == (
        2,
        "against: no flow over TCP is left to use it: all 2 flows of the table 'web' use the compared "
        "algorithms\n  hint: give one flow a table [[flow]] of its own\n",
    )


def test_compare_asks_for_coexistence(cli: Cli, path: Path) -> None:
    arguments = ("compare", path, "--algorithms", "cubic,vegas", "--repetitions", 2, "--set", "duration=1 s")
    status, out, err = cli(*arguments, "--flows", "1", "--against", "bic", "--format", "json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["flows"], found["against"]) == (["flow1"], "bic")
    assert {"goodput_bps@flow0", "share@flow1"} <= found["rows"][0].keys()
    _, table, _ = cli(*arguments, "--against", "bic")
    assert "goodput of flow0" in " ".join(table.split())
    status, _, err = cli(*arguments, "--flows", "9")
    assert (status, err) == (2, "flows: no flow is called '9'\n  hint: there are flow0, flow1\n")


def test_a_flow_is_added(cli: Cli, path: Path) -> None:
    """A copy of the last one, with what is set."""
    added = ("--set", "flow[+].algorithm=vegas", "--set", "flow[2].rtt=30 ms", "--set", "duration=1 s")
    status, out, _ = cli("run", path, "--format", "json", *added)
    assert status == 0
    assert [flow["algorithm"] for flow in json.loads(out)["flows"]][2] == "vegas+vegas-ss/rack"
    assert json.loads(out)["flows"][2]["base_rtt_ns"] == 30_000_000


def test_matrix_takes_classes(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Still:\n"
        "    def __init__(self, path, w=20.0): self.w = w\n"
        "    def on_ack(self, ack): pass\n"
        "    def on_congestion(self, event): pass\n"
        "    def cwnd(self): return self.w\n"
    )
    module = import_module("cwndlab.study.matrix")
    monkeypatch.setattr(module, "SETTINGS", module.SETTINGS[:1])
    monkeypatch.setattr(module, "BUFFERS", (1.0,))
    monkeypatch.setattr(module, "LOSSES", (0.0,))
    monkeypatch.setattr(module, "_DURATION_S", 25)
    status, out, err = cli("matrix", "--algorithm-file", file, "--format", "json")
    assert (status, [row["algorithm"] for row in json.loads(out)]) == (0, ["still"]), err
    status, out, err = cli("matrix", "--algorithms", "still(w=5),renoo,vega", "--algorithm-file", file)
    assert (status, out, err.count("no algorithm is called")) == (2, "", 2)


def test_run_writes_the_page_of_the_run(cli: Cli, tmp_path: Path) -> None:
    status, _, err = cli("run", "single", "--seed", 1, "--report", tmp_path / "page.html")
    assert (status, f"report: {tmp_path / 'page.html'}" in err) == (0, True)
    assert "<h1>A run of cubic</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
