"""Files that results are kept in: names, damaged content, a second result in the same folder."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from cwndlab import suites
from cwndlab.errors import RecordsError
from cwndlab.files import own_name, slug
from cwndlab.reproduction.catalogue import experiments, spaces
from cwndlab.reproduction.multiverse.kept import is_perturbed, path_of
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.study.hosting import _keep
from cwndlab.suites import SuiteResult
from hypothesis import given
from hypothesis import strategies as st


@given(st.sets(st.text(max_size=12), min_size=2, max_size=8))
def test_different_texts_have_different_names(texts: set[str]) -> None:
    """Letters, digits and a few signs only, so that every file system takes them, also one that does not tell upper
    from lower case."""
    names = {own_name(text).casefold() for text in texts}
    assert len(names) == len(texts)
    assert all(re.fullmatch(r"[a-z0-9_+=][a-z0-9_.+=-]*", name) and not name.endswith(".") for name in names)


@pytest.mark.parametrize("text", ["", ".", "..", "con", "nul.txt", "Reno", "a.", "-a", ".a"])
def test_texts_that_are_no_names_have_one(text: str) -> None:
    assert own_name(text) != text
    assert Path(own_name(text)).name == own_name(text)


def test_flows_with_similar_names_have_a_log_each(tmp_path: Path) -> None:
    link = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="5 ms"))
    flows = [cwndlab.Flow("reno", rtt="20 ms", name=name) for name in ("a/b", "a b")]
    records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=link, flows=flows), seed=1)
    assert len(set(cwndlab.export.export(records, "qlog", tmp_path))) == len(list(tmp_path.iterdir())) == 2


def test_logs_of_one_stack_are_all_kept(tmp_path: Path) -> None:
    """Of two logs with one suffix, the second has a number."""
    logs = [tmp_path / name for name in ("one.sqlog", "two.sqlog", "three.pcap")]
    for log in logs:
        log.write_text(log.stem)
    _keep(logs, tmp_path / "kept", own_name("linux-reno+standard/rack-alone"))
    assert sorted(file.read_text() for file in (tmp_path / "kept").iterdir()) == ["one", "three", "two"]


def test_a_second_suite_replaces_the_first_one(tmp_path: Path) -> None:
    for algorithm in ("reno", "cubic"):
        suites.run("rfc9937", cases=["exit"], keep=True, algorithm=algorithm).save(tmp_path)
    kept = SuiteResult.read(tmp_path)
    trace = kept.outcomes[0].trace
    assert trace is not None
    assert (kept.algorithm, trace.records.flows["algorithm"][0].partition("+")[0]) == ("cubic", "cubic")
    suites.run("rfc9937", cases=["exit"], algorithm="reno").save(tmp_path)
    assert [one.trace for one in SuiteResult.read(tmp_path).outcomes] == [None]


def test_the_folders_of_a_suite_are_different() -> None:
    for suite in suites.SUITES.values():
        folders = [(slug(case.name), slug(path.name)) for case in suite.cases for path in case.paths]
        assert len(set(folders)) == len(folders), suite.name


@pytest.mark.parametrize("content", ["[]", "null", "{}", '"text"'])
def test_an_outcome_that_is_none_is_left_out(tmp_path: Path, content: str) -> None:
    one = experiments()[0]
    file = tmp_path / one.paper / one.figure / "outcome.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert outcomes(tmp_path) == []


@pytest.mark.parametrize("damage", ["bits", "list", "empty object"])
def test_damaged_universes_are_named(tmp_path: Path, damage: str) -> None:
    space = spaces()[0]
    path = path_of(tmp_path, space)
    path.parent.mkdir(parents=True)
    content = bytearray(gzip.compress(json.dumps({"list": [], "empty object": {}}.get(damage, [1] * 500)).encode()))
    if damage == "bits":
        content[15] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(RecordsError, match="delete it, and run it again"):
        is_perturbed(tmp_path, space)


def test_a_report_of_a_dossier_prints_its_findings(cli: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    cwndlab.assess("reno", quick=True, sections=["5.1.1"], seeds=2, out=tmp_path)
    status, printed, said = cli("report", tmp_path)
    assert status == 0, said
    assert "5.1.1" in printed
    assert (tmp_path / "report.html").is_file()
