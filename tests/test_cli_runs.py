"""`cwndlab run`, `compare` and `report`: data on standard output, messages that help, exit statuses."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cwndlab
import pytest
from cwndlab import Records, Scenario

Cli = Callable[..., tuple[int, str, str]]


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
            ("--set", "flow[0].rtt=nan", "--set", "duration=-inf"),
            "flow[0].rtt: 'nan' is not a finite number\n"
            "  hint: write a number, a text with its unit such as '50 ms', or a text in quotes: '\"nan\"'\n"
            "duration: '-inf' is not a finite number\n"
            "  hint: write a number, a text with its unit such as '50 ms', or a text in quotes: '\"-inf\"'\n",
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


def test_a_text_that_is_a_float_of_toml_is_written_in_quotes(cli: Cli, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("run", path, "--set", 'title="nan"', "--set", "duration=100 ms", "--out", out)[0] == 0
    assert Records.read(out).scenario.title == "nan"


@pytest.mark.parametrize(
    ("format", "rule", "line"),
    [
        ("markdown", "|:--|:--|--:|--:|--:|--:|--:|--:|", "| flow0 | cubic+hystart-pp/rack |"),
        ("latex", r"\begin{tabular}{llrrrrrr}", "flow0 & cubic+hystart-pp/rack &"),
    ],
)
def test_a_report_prints_a_run_for_papers(
    cli: Cli, scenario: Scenario, tmp_path: Path, format: str, rule: str, line: str
) -> None:
    """Two columns of words and six of numbers, then the links."""
    cwndlab.run(scenario, seed=1).save(tmp_path)
    status, out, _ = cli("report", tmp_path, "--format", format)
    assert status == 0
    assert rule in out.splitlines()
    assert [one for one in out.splitlines() if one.startswith(line)] != []
    assert len([one for one in out.splitlines() if one.startswith(("| bottleneck |", "bottleneck &"))]) == 1


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


def test_the_seed_is_1_unless_another_is_named_and_is_told(cli: Cli, path: Path) -> None:
    _, printed, err = cli("run", path, "--format", "json")
    assert err == "seed: 1\n"
    assert cli("run", path, "--format", "json", "--seed", 1)[1] == printed
    assert cli("run", path, "--format", "json", "--seed", 2)[1:] != (printed, err)
    _, printed, err = cli("compare", path, "--algorithms", "reno", "--repetitions", 2, "--format", "json")
    assert (json.loads(printed)["seeds"], err) == ([1, 2], "seeds: 1 to 2\n")
    assert cli("trace", "make", "lte-driving", "--duration", 1)[2] == "seed: 1\n"


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


def test_every_flow_is_changed(cli: Cli) -> None:
    status, out, _ = cli("run", "two-flows", "--format", "json", "--set", "flow[*].rtt=70 ms", "--set", "duration=6 s")
    assert status == 0
    assert [flow["base_rtt_ns"] for flow in json.loads(out)["flows"]] == [70_000_000] * 2


def test_every_flow_is_also_one_that_was_added(cli: Cli) -> None:
    changes = ("--set", "flow[+].start=0 s", "--set", "flow[*].rtt=80 ms", "--set", "duration=1 s")
    status, out, _ = cli("run", "single", "--format", "json", *changes)
    assert status == 0
    assert [flow["base_rtt_ns"] for flow in json.loads(out)["flows"]] == [80_000_000] * 2


def test_run_writes_the_page_of_the_run(cli: Cli, tmp_path: Path) -> None:
    status, _, err = cli("run", "single", "--seed", 1, "--report", tmp_path / "page.html")
    assert (status, f"report: {tmp_path / 'page.html'}" in err) == (0, True)
    assert "<h1>A run of cubic</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
