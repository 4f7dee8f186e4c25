"""Comparisons over a field of the scenario in place of the algorithm."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import Fault, OutputError, ScenarioError
from cwndlab.reproduction import run
from cwndlab.study.result import Result
from cwndlab.study.store import Store

Called = tuple[int, str, str]
KIND = "dumbbell.bottleneck.queue.kind"


def test_queues_are_compared_with_intervals_and_differences(
    cli: Callable[..., Called], path: Path, tmp_path: Path
) -> None:
    """Each run is that of the scenario with this queue, on the same seeds; CoDel's queue is the shorter one."""
    out, page = tmp_path / "out", tmp_path / "page.html"
    arguments = ("compare", path, "--over", f"{KIND}=droptail,codel", "--repetitions", 3)
    status, printed, said = cli(*arguments, "--format", "json", "--out", out, "--report", page)
    assert status == 0, said
    found = json.loads(printed)
    assert (found["compared"], found["algorithms"]) == (KIND, ["droptail", "codel"])
    result = Result.read(out)
    assert result.is_comparison
    for row in result.runs.iter_rows(named=True):
        scenario = result.scenario.with_({KIND: row[KIND]})
        goodput = cwndlab.metrics.summary(cwndlab.run(scenario, seed=row["seed"]), metrics=["goodput_bps"])
        assert row["goodput_bps"] == goodput["goodput_bps"]
    assert result.difference("codel", "queue_ms").paired.mean < 0  # type: ignore[union-attr]
    text = page.read_text(encoding="utf-8")
    assert "<title>droptail and codel</title>" in text
    assert f"--over {KIND}=droptail,codel" in text.replace("&#39;", "").replace("&#34;", "")
    status, table, _ = cli(*arguments)
    assert (status, table.split()[0]) == (0, "goodput")
    assert table.splitlines()[1].split()[0] == "kind"


def test_tables_are_compared_by_the_parts_that_differ(cli: Callable[..., Called], path: Path) -> None:
    values = '{ kind = "droptail", capacity = "1 bdp" },{ kind = "droptail", capacity = "4 bdp" }'
    status, printed, said = cli(
        "compare", path, "--over", f"dumbbell.bottleneck.queue={values}", "--repetitions", 2, "--format", "json"
    )
    assert status == 0, said
    assert json.loads(printed)["algorithms"] == ["1 bdp", "4 bdp"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "cwndlab compare: there is nothing to compare"),
        (["--over", "flow[0].rtt"], "--over: 'flow[0].rtt' does not name a field and its values"),
        (
            ["--over", "flow[0].rtt=20 ms", "--algorithms", "reno"],
            "--algorithms: there is a field to compare by --over, too",
        ),
        (["--over", "flow[0].rtt=20 ms", "--against", "reno"], "--against: there is a field to compare by --over, too"),
        (["--over", f"{KIND}=droptail,codell"], "dumbbell.bottleneck.queue.kind: "),
        (["--over", "flo[*].rtt=20 ms,40 ms"], "flo: no such field\n  hint: did you mean 'flow'?"),
    ],
)
def test_what_cannot_be_compared_is_named(
    cli: Callable[..., Called], path: Path, arguments: list[str], message: str
) -> None:
    status, out, said = cli("compare", path, *arguments, "--repetitions", 2)
    assert (status, out) == (2, "")
    assert said.startswith(message), said


def test_several_fields_are_a_sweep(scenario: cwndlab.Scenario) -> None:
    with pytest.raises(ScenarioError, match="over: there are 2 fields with values"):
        cwndlab.compare(scenario, over={"flow[0].rtt": ["20 ms"], "flow[1].rtt": ["20 ms"]})


def test_flows_are_a_field_of_with_(scenario: cwndlab.Scenario) -> None:
    """As of the constructor: by objects."""
    flows = [cwndlab.Flow("reno", rtt="20 ms")]
    assert scenario.with_(flows=flows) == scenario.with_({"flow": [{"algorithm": "reno", "rtt": "20 ms"}]})
    assert [flow.algorithm for flow in scenario.with_(flows=flows).flows] == ["reno"]


FIXED = """\
class Fixed:
    def __init__(self, path):
        pass

    def on_ack(self, ack):
        pass

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return 8.0
"""


def test_a_file_stands_for_its_classes_among_algorithms(cli: Callable[..., Called], path: Path, tmp_path: Path) -> None:
    file = tmp_path / "fixed.py"
    file.write_text(FIXED)
    status, printed, said = cli("compare", path, "--algorithms", f"reno,{file}", "--repetitions", 2, "--format", "json")
    assert status == 0, said
    assert json.loads(printed)["algorithms"] == ["reno", "fixed"]
    again = ("compare", path, "--algorithms", f"reno,{file}", "--algorithm-file", file, "--repetitions", 2)
    assert cli(*again, "--format", "json")[:2] == (0, printed)


def test_a_group_of_commands_alone_lists_them(cli: Callable[..., Called]) -> None:
    for group in ("suite", "trace", "kernel"):
        status, printed, said = cli(group)
        assert (status, said) == (0, ""), group
        assert f"cwndlab {group}" in printed


def test_a_column_of_a_pipe_is_cut_at_no_width(capsys: pytest.CaptureFixture[str]) -> None:
    """A script's name of 100 characters leaves 20 of 120: the verdict stands in full, and the reason is wrapped."""
    from cwndlab.cli.console import write_table

    row = ("a" * 100, "not applicable", "one reason of several words " * 4)
    write_table([row], ("script", "verdict", "reasons"), wrap=("reasons",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["a" * 100, "not", "applicable"]


def test_one_file_may_be_written_twice_at_once(tmp_path: Path) -> None:
    from threading import Thread

    from cwndlab.files import atomic_write

    with atomic_write(tmp_path / "file") as first:
        first.write(b"first")
        other = Thread(target=lambda: cwndlab.files.save("second", tmp_path / "file"))
        other.start()
        other.join()
        assert (tmp_path / "file").read_text() == "second"
    assert (tmp_path / "file").read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_one_error_without_a_traceback(
    cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page of an experiment cannot be written, and then neither can the rows of its runs."""
    full = OutputError(Fault("rows.parquet", "cannot be written: No space left on device", "make room"))

    def no_page(*_: object) -> None:
        raise OutputError(Fault("page.html", "cannot be written: No space left on device", "make room"))

    close = Store.close

    def no_rows(store: Store) -> None:
        close(store)
        raise full

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    monkeypatch.setattr(Store, "close", no_rows)
    monkeypatch.setattr(run, "write_experiment", no_page)
    status, _, said = cli("reproduce", "cubic-study/fig1", "--quick", "--out", tmp_path)
    gc.collect()
    assert (status, "No space left on device" in said, "Traceback" in said) == (1, True, False)
    assert ignored == []
