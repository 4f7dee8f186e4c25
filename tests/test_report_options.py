"""The options of `cwndlab report` and of the figures of other commands: what they have no use for is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ArgumentError
from cwndlab.saved import figures
from cwndlab.study.compare import compare

Called = tuple[int, str, str]


def scenario(first: str = "long") -> cwndlab.Scenario:
    """Two flows for half a second."""
    flows = [cwndlab.Flow("reno", rtt="40 ms", name=first), cwndlab.Flow("reno", rtt="20 ms", name="other")]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    return cwndlab.Scenario(duration="500 ms", dumbbell=path, flows=flows)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with two runs and a comparison."""
    for seed in (1, 2):
        cwndlab.run(scenario(), seed=seed).save(tmp_path / f"q{seed}")
    compare(scenario(), ["reno", "cubic"], seeds=2, out=tmp_path / "compared")
    return tmp_path


def test_a_run_beside_something_else_is_told_by_its_folder(place: Path, cli: Callable[..., Called]) -> None:
    status, out, err = cli("report", place / "q1", place / "compared")
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == f"{place / 'compared'}: holds no single run"
    several: list[Any] = [cwndlab.load(place / name) for name in ("q1", "compared")]
    with pytest.raises(cwndlab.RecordsError, match="holds no single run"):
        cwndlab.report(several, place / "page.html")


def test_several_runs_are_one_document(place: Path, cli: Callable[..., Called]) -> None:
    status, out, err = cli("report", place / "q1", place / "q2", "--format", "json")
    assert status == 0, err
    both = json.loads(out)
    assert both == [json.loads(cli("report", place / f"q{seed}", "--format", "json")[1]) for seed in (1, 2)]
    assert [line for line in err.splitlines() if line.startswith("seed")] == ["seed: 1", "seed: 2"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--x", "rtt"), ("--by", "algorithm"), ("--metrics", "zzz"), ("--series", "2"), ("--threshold", "queue_ms=20")],
)
@pytest.mark.parametrize("folders", [["q1"], ["q1", "q2"]])
def test_what_runs_do_not_have_is_refused(
    option: str, value: str, folders: list[str], place: Path, cli: Callable[..., Called]
) -> None:
    status, out, err = cli("report", *(place / name for name in folders), option, value)
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == f"{option}: is of a comparison or a sweep, not of a run"
    assert cli("report", place / "compared", "--metrics", "jain", "--threshold", "queue_ms=20")[0] == 0


def test_figures_of_a_run_have_no_metrics(place: Path) -> None:
    with pytest.raises(ArgumentError, match="metrics: is of a comparison"):
        figures(place / "q1", place / "figures", metrics=["jain"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--figure", "x.bmp"], "--figure: 'bmp' is not a format of figures"),
        (["--figure", "x.svg", "--style", "odd"], "--style: 'odd' is not a style"),
        (["--style", "odd"], "--style: 'odd' is not a style"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_told_before_anything_runs(
    given: list[str], said: str, place: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_run(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(cwndlab, "compare", no_run)
    status, out, err = cli("compare", "single", "--algorithms", "cubic", *given)
    assert (status, out, err.splitlines()[0]) == (2, "", said)
    status, out, err = cli("report", place / "compared", *given)
    assert (status, out, err.splitlines()[0]) == (2, "", said)


def test_a_flow_may_have_a_name_that_no_file_has(tmp_path: Path) -> None:
    result = compare(scenario("up/down"), ["reno", "cubic"], flows=["up/down"], seeds=1)
    files = {file.name for file in figures(result, tmp_path, metrics=["goodput_bps@up/down", "goodput_bps@other"])}
    assert "goodput_bps@other.png" in files
    (own,) = (name for name in files if name.startswith("goodput_bps_up_down"))
    assert (tmp_path / own).is_file()
