"""`cwndlab demo`, `reproduce`, `validate`, `bench` and `matrix`."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import cwndlab
import pytest
from cwndlab.reproduction import Finding, Reproduction, Reproductions, find
from cwndlab.reproduction.measured import Measured
from cwndlab.validation.peers import Row

Cli = Callable[..., tuple[int, str, str]]


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


def test_matrix_prints_rows_and_refuses_what_is_unknown(cli: Cli) -> None:
    status, out, _ = cli("matrix", "--algorithms", "vegas", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (status, len(rows)) == (0, 45)
    assert {row["algorithm"] for row in rows} == {"vegas"}
    status, out, err = cli("matrix", "--algorithms", "vegas,vega")
    assert (status, out) == (2, "")
    assert err == "no algorithm is called 'vega'\n  hint: did you mean 'vegas'? `cwndlab list` shows them all\n"


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
