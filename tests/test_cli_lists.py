"""`cwndlab list` and `cwndlab explain`."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import cwndlab

Cli = Callable[..., tuple[int, str, str]]


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


def test_explain_prints_the_file_of_a_preset(cli: Cli) -> None:
    """What a user of a wheel copies and changes: the file runs as it is printed. No preset hides an algorithm."""
    file = (cwndlab.presets.folder() / "clinic.toml").read_text(encoding="utf-8")
    assert cli("explain", "clinic") == (0, file, "")
    _, out, _ = cli("explain", "clinic", "--format", "json")
    assert json.loads(out) == cwndlab.presets.load("clinic").to_document()
    _, out, _ = cli("list", "--format", "json")
    assert not {row["name"] for row in json.loads(out)} & set(cwndlab.presets.names())


def test_explain_suggests_the_nearest_name(cli: Cli) -> None:
    assert cli("explain", "hystrat") == (
        2,
        "",
        "no algorithm is called 'hystrat'\n  hint: did you mean 'hystart'? `cwndlab list` shows them all\n",
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


def test_list_shows_the_names_by_which_papers_call_things(cli: Cli) -> None:
    _, out, _ = cli("list", "--aliases", "--format", "json")
    names = {row["alias"]: row["means"] for row in json.loads(out)}
    assert names["bbr"] == "bbr3"
    assert names["tcp-vegas"] == "vegas"
    assert names["sack-tcp"] == "reno+standard/sack"
    _, out, _ = cli("list")
    assert re.search(r"^hystart-cubic +cubic\+hystart$", out, re.MULTILINE)
