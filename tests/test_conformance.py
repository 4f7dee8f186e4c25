"""The conformance battery from Python: what it finds, and how the command line says it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import cwndlab
import pytest
from cwndlab.conformance import Examined, Rule, check_many, chosen

Cli = Callable[..., tuple[int, str, str]]

#: Every rule of docs/conformance.md, in their order.
RULES = [
    "one-segment",
    "bounded",
    "unused-window",
    "recovery",
    "same-windows",
    "congestion",
    "backs-off",
    "restart",
    "undo",
    "imposed",
    "comes-back",
    "pacing",
    "trace",
    "no-panic",
    "cost",
]


def test_an_algorithm_of_the_catalogue_keeps_every_rule() -> None:
    found = cwndlab.check("cubic+ccm-ss", quick=True)
    assert (found.algorithm, found.holds, found.broken) == ("cubic+ccm-ss", True, ())
    assert [rule.rule for rule in found.rules] == RULES
    assert {rule.algorithm for rule in found.rules} == {"cubic+ccm-ss"}
    assert found.ns_per_ack is not None
    assert found.ns_per_ack > 0


def test_the_page_explains_every_rule() -> None:
    page = (Path(__file__).parents[1] / "docs" / "conformance.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == RULES


def test_all_means_every_growth_and_every_slow_start() -> None:
    texts = chosen((), everything=True)
    assert len(texts) == len(set(texts))
    kinds = {kind: {entry.name for entry in cwndlab.algorithms(kind)} for kind in ("growth", "whole", "slow-start")}
    parts = [text.partition("(")[0].partition("+") for text in texts]
    routers = {entry.name for entry in cwndlab.algorithms("router")}
    assert {growth for growth, _, _ in parts} - routers == kinds["growth"] | kinds["whole"]
    assert {start for _, _, start in parts if start} == kinds["slow-start"]


def test_several_are_examined_on_threads() -> None:
    found = dict(check_many(["reno", "bic", "scalable"], quick=True, workers=2))
    assert [found[index].algorithm for index in range(3)] == ["reno+standard", "bic+standard", "scalable+standard"]
    assert all(examined.holds for examined in found.values())


def test_an_unknown_name_is_refused_before_anything_runs(cli: Cli) -> None:
    hint = "  hint: did you mean 'cubic'? `cwndlab list` shows them all\n"
    assert cli("check", "reno", "cubik") == (2, "", f"no algorithm is called 'cubik'\n{hint}")
    assert cli("check") == (
        2,
        "",
        "check: no algorithm is named\n  hint: write `cwndlab check cubic`, or `--all`\n",
    )


def test_check_prints_rows(cli: Cli) -> None:
    status, out, err = cli("check", "reno", "--quick", "--format", "json")
    assert (status, err) == (0, "")
    rows = json.loads(out)
    assert {tuple(row) for row in rows} == {("algorithm", "rule", "holds", "detail")}
    assert [row["rule"] for row in rows] == RULES
    assert all(row["holds"] is True for row in rows)
    _, out, _ = cli("check", "reno", "--quick", "--format", "csv")
    assert [row["rule"] for row in csv.DictReader(io.StringIO(out))] == RULES
    _, out, _ = cli("check", "reno", "--quick")
    assert out.splitlines()[0].split() == ["algorithm", "rule", "holds", "detail"]
    _, out, _ = cli("check", "reno", "bic", "--quick")
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["reno+standard", "15", "none"],
        ["bic+standard", "15", "none"],
    ]


def test_a_rule_that_fails_is_exit_status_1(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(texts: list[str], **_: object) -> Iterator[tuple[int, Examined]]:
        for index, text in enumerate(texts):
            fails = Rule(algorithm=text, rule="undo", holds=False, detail="course 'undo', event 7 at 1 s: because")
            holds = Rule(algorithm=text, rule="trace", holds=True, detail="12 answers")
            yield index, Examined(algorithm=text, rules=(fails, holds), ns_per_ack=None)

    monkeypatch.setattr(import_module("cwndlab.conformance"), "check_many", many)
    status, out, err = cli("check", "reno")
    assert (status, err) == (1, "")
    assert "undo   no     course 'undo', event 7 at 1 s: because" in out
    status, out, _ = cli("check", "reno", "bic")
    assert status == 1
    assert [line.split() for line in out.splitlines()[1:3]] == [
        ["reno+standard", "2", "undo", "–"],
        ["bic+standard", "2", "undo", "–"],
    ]
    assert out.count("because") == 2


def test_a_check_that_is_stopped_shows_what_it_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(texts: list[str], **_: object) -> Iterator[tuple[int, Examined]]:
        rule = Rule(algorithm=texts[0], rule="undo", holds=True, detail="12 answers")
        yield 0, Examined(algorithm=texts[0], rules=(rule,), ns_per_ack=12.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("cwndlab.conformance"), "check_many", many)
    status, out, err = cli("check", "reno", "bic", "--format", "json")
    assert (status, err) == (130, "stopped; 1 of 2 algorithms were examined\n")
    assert [row["algorithm"] for row in json.loads(out)] == ["reno+standard"]
