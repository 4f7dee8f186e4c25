"""Tuning: what is asked, a search whose answer is known, a search that is killed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from custom_classes import Fixed
from cwndlab.catalogue import canonical
from cwndlab.errors import RecordsError, RunError, ScenarioError
from cwndlab.metrics import COLUMNS
from cwndlab.study import tuning
from cwndlab.study.tuning.expression import Expression, NoValue
from cwndlab.study.tuning.spec import Constraint

Called = tuple[int, str, str]
ROOT = Path(__file__).parents[1]

# Scalable TCP on a path that loses one packet in a hundred: what it gains per ACK and keeps at a loss decides.
FILE = """\
schema_version = 1
duration = "3 s"

[dumbbell]
bottleneck = { rate = "20 Mbps", delay = "5 ms", loss = { kind = "bernoulli", p = 0.01 } }

[[flow]]
algorithm = "scalable"
rtt = "40 ms"

[tune]
algorithm = "scalable"
maximise = "goodput_bps"
trials = 8
seed = 3

[tune.parameters]
b = { low = 0.05, high = 0.9 }

[tune.published]
b = 0.125

[tune.train]
seeds = 2

[tune.test]
seeds = [11, 12, 13]

[tune.test.product]
"flow[0].rtt" = ["30 ms", "60 ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_a_path_with_chance_losses_wants_a_small_decrease(file: Path) -> None:
    """Each loss costs the part b of the window whatever b is, and losses do not depend on it: the smaller the
    better."""
    found = tuning.tune(tuning.load(file), out=file.parent / "out")
    assert len(found.trials) == 8
    assert float(found.best["scalable.b"]) <= 0.125
    worst = min(found.trials, key=lambda row: row["score"])
    assert worst["scalable.b"] > 0.4
    # The default's score is 1: all are ratios to it.
    assert found.scores["train", "default"].mean == pytest.approx(1.0)
    assert found.scores["test", "default"].mean == pytest.approx(1.0)
    assert len(found.scores["test", "tuned"].by_seed) == 3
    table = found.table()
    assert len(table.rows) == len(tuning.tables.verdicts(found))
    assert table.header[-1] == "verdict"
    assert "tuned" in str(table)
    assert f">{found.scores['test', 'tuned'].mean:.6g}<" in found._repr_html_()


def test_terminal_page_and_notebook_show_the_same_of_a_search(
    file: Path, cli: Callable[..., tuple[int, str, str]]
) -> None:
    out, page = file.parent / "out", file.parent / "page.html"
    status, printed, err = cli("tune", file, "--out", out, "--trials", "3")
    assert status == 0, err
    loaded = cwndlab.load(out)
    assert isinstance(loaded, tuning.TuningResult)
    assert (loaded.complete, len(loaded.trials)) == (True, 3)
    assert cli("report", out, "--report", page)[:2] == (0, printed)
    assert cli("report", out, "--report", page, "--format", "latex")[1].startswith(loaded.table().to("latex"))
    words = printed.split()
    for row in loaded.table().rows:
        assert all(f">{word}<" in page.read_text() for word in row)
        assert all(f">{word}<" in loaded._repr_html_() for word in row)
        assert all(part in words for word in row for part in word.split())
    assert loaded.verdicts()[0] in page.read_text()
    assert loaded.verdicts()[0] in err
    (out / "tuning.json").write_text("{}")
    with pytest.raises(RecordsError, match=r"tuning\.json: is not the result of a search"):
        cwndlab.load(out)


def test_a_file_in_place_of_the_folder_is_refused(file: Path) -> None:
    with pytest.raises(RecordsError, match="is a file, not a folder"):
        tuning.tune(tuning.load(file), out=file)


def test_a_parameter_of_a_class_in_python_may_be_negative() -> None:
    """docs/tuning.md: its parameters have no range of their own."""
    base = cwndlab.presets.load("single").with_({"flow[*].algorithm": "fixed"}, algorithms={"fixed": Fixed})
    side = cwndlab.Sweep(base=base, seeds=[1])
    asked = tuning.Tuning(
        algorithm="fixed",
        objective="goodput_bps",
        parameters={"segments": {"low": -5, "high": 5}},
        train=side,
        test=side,
    )
    assert (asked.ranges["fixed.segments"].low, asked.ranges["fixed.segments"].high) == (-5.0, 5.0)


def test_the_same_seed_finds_the_same_and_another_search_is_refused(file: Path) -> None:
    one = tuning.tune(tuning.load(file), out=file.parent / "one")
    two = tuning.tune(tuning.load(file), out=file.parent / "two", trials=3)
    assert two.trials == one.trials[:3]
    # More trials go on where it was.
    two = tuning.tune(tuning.load(file), out=file.parent / "two")
    assert two.trials == one.trials
    file.write_text(FILE.replace("seed = 3", "seed = 4"))
    with pytest.raises(RecordsError, match="holds another tuning"):
        tuning.tune(tuning.load(file), out=file.parent / "two")


def test_a_folder_with_its_page_is_still_a_search(file: Path, cli: Callable[..., Called]) -> None:
    """More trials after `cwndlab report`, whose page and figures are beside the trials; a folder without any is not."""
    out = file.parent / "out"
    first = tuning.tune(tuning.load(file), out=out, trials=2)
    assert cli("report", out)[0] == 0
    (out / "figures").mkdir()
    assert (out / "report.html").is_file()
    more = tuning.tune(tuning.load(file), out=out, trials=3)
    assert (more.trials[:2], len(more.trials)) == (first.trials, 3)
    other = file.parent / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    with pytest.raises(RecordsError, match="holds something else"):
        tuning.tune(tuning.load(file), out=other, trials=1)


def test_a_search_that_was_killed_goes_on_as_if_it_had_not_been(file: Path) -> None:
    whole = tuning.tune(tuning.load(file), out=file.parent / "whole")
    out = file.parent / "out"
    command = [sys.executable, "-m", "cwndlab", "tune", str(file), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = out / "study.log"
    end = time.monotonic() + 60
    while not (log.exists() and log.read_bytes().count(b"\n") > 12) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert tuning.tune(tuning.load(file), out=out).trials == whole.trials


def test_a_log_that_was_cut_at_any_byte_is_resumed(file: Path) -> None:
    out = file.parent / "out"
    whole = tuning.tune(tuning.load(file), out=out, trials=3)
    log = out / "study.log"
    content = log.read_bytes()
    lines = [0]
    for line in content.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    # Within the first line and the last, before and after ends of lines, and between.
    cuts = {1, lines[1] - 1, lines[1], lines[2] + 3, lines[-2] + 1, lines[-1] - 1, *range(0, len(content), 397)}
    for cut in sorted(cuts):
        log.write_bytes(content[:cut])
        assert tuning.tune(tuning.load(file), out=out, trials=3).trials == whole.trials, cut


def test_trials_of_another_version_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = file.parent / "out"
    tuning.tune(tuning.load(file), out=out, trials=2)
    with monkeypatch.context() as other:
        other.setattr("cwndlab.study.tuning.search.engine_version", lambda: "9.9.9+0123")
        with pytest.raises(RecordsError, match=r"holds trials of cwndlab [0-9.]+\+[0-9a-f]+\n.*another folder"):
            tuning.tune(tuning.load(file), out=out, trials=3)
    with monkeypatch.context() as other:
        other.setattr("cwndlab.study.tuning.search.metrics_version", lambda: "none")
        with pytest.raises(RecordsError, match=r"holds trials of cwndlab .* with other metrics \("):
            tuning.tune(tuning.load(file), out=out, trials=3)
    assert len(tuning.tune(tuning.load(file), out=out, trials=3).trials) == 3


def test_constraints_are_kept(file: Path) -> None:
    """A window of 25 segments at most: the default's is larger, and what is best without the constraint has more."""
    free = tuning.tune(tuning.load(file), out=file.parent / "free")
    file.write_text(FILE.replace("trials = 8", 'trials = 8\nconstraints = ["mean_cwnd_segments <= 25"]'))
    bound = tuning.tune(tuning.load(file), out=file.parent / "bound")
    assert bound.scores["train", "default"].excess[0] > 0
    assert bound.scores["train", "tuned"].excess[0] <= 0
    assert float(bound.best["scalable.b"]) > float(free.best["scalable.b"])
    assert not all(row["feasible"] for row in bound.trials)
    file.write_text(FILE.replace("trials = 8", 'trials = 2\nconstraints = ["mean_cwnd_segments <= 0"]'))
    with pytest.raises(RunError, match="none of 2 trials satisfies the constraints"):
        tuning.tune(tuning.load(file), out=file.parent / "none")


def test_the_text_of_an_algorithm_takes_its_parameters(file: Path) -> None:
    asked = tuning.load(file)
    assert asked.default == {"scalable.b": 0.125}
    assert asked.text({"scalable.b": 0.25}) == "scalable(b=0.25)"
    file.write_text(
        FILE.replace('algorithm = "scalable"\nmax', 'algorithm = "cubic+ccm-ss(delay=full, mu=2)/sack"\nmax')
        .replace("b = { low = 0.05, high = 0.9 }", '"ccm-ss.mu" = {}\n"ccm-ss.bound" = {}')
        .replace("b = 0.125", "mu = 1.5")
    )
    asked = tuning.load(file)
    assert asked.default == {"ccm-ss.mu": 2.0, "ccm-ss.bound": "both"}
    ranges = asked.ranges
    # What `cwndlab explain ccm-ss` tells.
    assert (ranges["ccm-ss.mu"].low, ranges["ccm-ss.mu"].high) == (0.5, 10.0)
    assert ranges["ccm-ss.bound"].values == ("both", "lower", "none", "hold")
    text = asked.text({"ccm-ss.mu": 3.0, "ccm-ss.bound": "none"})
    assert text == "cubic+ccm-ss(delay=full, mu=3, bound=none)/sack"


def test_trials_are_listed_if_none_satisfies_the_constraints(file: Path, cli: Callable[..., Called]) -> None:
    file.write_text(FILE.replace("trials = 8", 'trials = 3\nconstraints = ["mean_cwnd_segments <= 0"]'))
    status, printed, said = cli("tune", file, "--out", file.parent / "none", "--list", "--format", "csv")
    assert (status, [line.rpartition(",")[2] for line in printed.split()]) == (1, ["feasible", *["False"] * 3])
    assert "none of 3 trials satisfies the constraints" in said


@pytest.mark.parametrize(
    ("algorithm", "default"),
    [
        ("cubic(beta=0.5)", 0.5),
        ("tcp-cubic(beta=0.5)", 0.5),
        ("cubic (beta=0.5)", 0.5),
        (" cubic( beta = 0.5 )", 0.5),
        ("cubic(beta=0.5,)", 0.5),
        ("cubic()", 0.7),
        ("cubic", 0.7),
    ],
)
def test_the_default_is_that_of_the_text_as_a_flow_reads_it(file: Path, algorithm: str, default: float) -> None:
    """RFC 9438 has β = 0.7."""
    assert canonical(algorithm).startswith("cubic(beta=0.5)+" if default == 0.5 else "cubic+")
    file.write_text(
        FILE.replace('algorithm = "scalable"\nmax', f'algorithm = "{algorithm}"\nmax')
        .replace("b = { low = 0.05, high = 0.9 }", "beta = {}")
        .replace("b = 0.125", "beta = 0.7")
    )
    asked = tuning.load(file)
    assert asked.default == {"cubic.beta": default}
    assert canonical(asked.text({"cubic.beta": 0.6})) == canonical("cubic(beta=0.6)")


CLASS = """
class Softer:
    def __init__(self, path, beta=0.8):
        self.beta, self.window = beta, path.initial_cwnd

    def on_ack(self, ack):
        self.window += 0.9 * ack.acked

    def on_congestion(self, event):
        self.window = max(1, self.window * self.beta)

    def cwnd(self):
        return self.window
"""


def test_a_folder_with_trials_of_another_class_is_refused(file: Path, cli: Callable[..., Called]) -> None:
    """Scores of different versions of a class are not comparable, although the base does not use it."""
    source = file.parent / "mine.py"
    source.write_text(CLASS)
    file.write_text(
        FILE.replace('algorithm = "scalable"\nmax', 'algorithm = "softer"\nmax')
        .replace("b = { low = 0.05", "beta = { low = 0.3")
        .replace("b = 0.125", "beta = 0.8")
        .replace("trials = 8", "trials = 2")
    )
    asked = ("tune", file, "--algorithm-file", source, "--out", file.parent / "out")
    assert cli(*asked)[0] == 0
    assert cli(*asked)[0] == 0
    source.write_text(CLASS.replace("0.9 *", "0.5 *"))
    status, _, said = cli(*asked)
    assert (status, "holds another tuning" in said) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("b = { low", "c = { low", "'scalable' has no such parameter"),
        ("b = { low = 0.05", "b = { low = 0.95", "from 0.95 to 0.9 is not a range"),
        ("b = { low = 0.05", "b = { lo = 0.05", 'tune.parameters."b".lo: no such field'),
        ("b = 0.125", "a = 0.1", "is not among the parameters"),
        ('"goodput_bps"', '"goodput"', "no metric is called 'goodput'"),
        ('"goodput_bps"', '"__import__(1)"', "is not arithmetic"),
        ('"goodput_bps"', '"abs(jain, 2)"', "'abs(jain, 2)' has 2 arguments\n  hint: write abs(a)"),
        ('"goodput_bps"', '"min(jain)"', "'min(jain)' has 1 arguments\n  hint: write min(a, b)"),
        ("maximise", "maximize", "needs exactly one objective"),
        ("trials = 8", "trials = 0", "tune.trials: '0' is not a whole number from 1 to 100,000"),
        ("trials = 8", "trials = 1000000000000", "'1000000000000' is not a whole number from 1 to 100,000"),
        ("trials = 8", 'trials = 8\nconstraints = ["timeouts"]', "'timeouts' is not a constraint"),
        ('algorithm = "scalable"\nmax', 'algorithm = "scalabel"\nmax', "no algorithm is called 'scalabel'"),
        ('"flow[0].rtt" =', '"flow[0].rt" =', "tune.test: flow[0].rt: no such field"),
        ("[tune.test]\nseeds", "[tune.tst]\nseeds", "tune.tst: no such field"),
    ],
)
def test_bad_tunings_are_told_where_and_what(
    file: Path, cli: Callable[..., Called], old: str, new: str, told: str
) -> None:
    assert old in FILE
    file.write_text(FILE.replace(old, new))
    status, _, said = cli("tune", file, "--out", file.parent / "out")
    assert status == 2
    assert told in said
    assert not (file.parent / "out").exists()


def test_expressions_are_arithmetic_over_metrics() -> None:
    row = {"goodput_bps": 8e6, "loss_ratio": 0.25, "convergence_s": None}

    def value(text: str) -> float:
        return Expression.parse(text, "here", list(COLUMNS))(row)

    assert value("goodput_bps / 1e6 - 10 * loss_ratio") == 5.5
    assert value("min(goodput_bps, 3) ** 2 + abs(-1)") == 10.0
    assert value("otherwise(convergence_s, 60) + 1") == 61.0
    for text in ("convergence_s", "1 / (loss_ratio - 0.25)", "sqrt(-1)", "log(0)"):
        with pytest.raises(NoValue):
            value(text)
    for text in ("goodput_bps.real", "goodput_bps if 1 else 2", "'a'", "max(1)", "True", "1 +", "open('x')"):
        with pytest.raises(ScenarioError):
            value(text)


def test_a_constraint_tells_how_far_a_run_is_beyond_it() -> None:
    assert Constraint.parse("timeouts <= 2", "here").excess({"timeouts": 5.0}) == 3.0
    assert Constraint.parse("jain >= 0.9", "here").excess({"jain": 0.8}) == pytest.approx(0.1)


def test_the_command_judges_on_what_was_held_back(file: Path, cli: Callable[..., Called]) -> None:
    out = file.parent / "out"
    status, printed, said = cli("tune", file, "--out", out, "--trials", 4, "--format", "json")
    assert (status, said) == (0, f"search: {out}\n")
    rows = json.loads(printed)
    assert [(row["scenarios"], row["parameters"]) for row in rows] == [
        ("training", "default, published"),
        ("training", "tuned"),
        ("held back", "default, published"),
        ("held back", "tuned"),
    ]
    for default, tuned in (rows[:2], rows[2:]):
        assert (default["against"], default["verdict"], default["score"]) == (None, None, pytest.approx(1.0))
        assert tuned["against"] == "default"
        assert tuned["difference"] == pytest.approx(tuned["score"] - default["score"])
        # The verdict is the interval's.
        if tuned["verdict"] == "not decided: one result":  # the best trial differs from the default in no seed
            assert (tuned["low"], tuned["high"]) == (None, None)
            continue
        assert tuned["verdict"] in {"higher", "lower", "no difference", "no relevant difference", "inconclusive"}
        assert tuned["low"] > 0 or tuned["verdict"] != "higher"
        assert tuned["high"] < 0 or tuned["verdict"] != "lower"
        assert tuned["low"] <= 0 <= tuned["high"] or tuned["verdict"] != "no difference"
    # The default is among the trials, so that the best of them is not worse where it was searched.
    assert rows[1]["score"] >= rows[0]["score"]
    status, printed, _ = cli("tune", file, "--out", out, "--trials", 4, "--list")
    assert len(printed.splitlines()) == 5


@pytest.mark.parametrize("name", ["tune-ccm-ss", "tune-iot"])
def test_examples_are_sound(name: str) -> None:
    asked = tuning.load(ROOT / "examples" / f"{name}.toml")
    assert set(asked.published) == set(asked.parameters)
    seen, held_back = ({cell.hash for cell in side.points()} for side in (asked.train, asked.test))
    assert not seen & held_back


def test_more_trials_by_option_than_a_file_may_have_are_refused(file: Path, cli: Callable[..., Called]) -> None:
    status, _, said = cli("tune", file, "--trials", "1000000000000", "--out", file.parent / "out")
    assert status == 2
    assert "tune.trials: '1000000000000' is not a whole number from 1 to 100,000" in said
    assert not (file.parent / "out").exists()


def test_scores_have_any_size_and_a_killed_process_may_leave_a_part(file: Path) -> None:
    """A goodput of several Gbit/s is feasible: before, 1e9 said that there is none. A part of the result's file is of a
    process that was killed while it saved."""
    fast = FILE.replace('rate = "20 Mbps"', 'rate = "5 Gbps"').replace('duration = "3 s"', 'duration = "100 ms"')
    fast = re.sub(r"maximise = .*", 'maximise = "goodput_bps"\nscale = "absolute"', fast).replace("p = 0.01", "p = 0.0")
    file.write_text(fast)
    out = file.parent / "out"
    found = tuning.tune(tuning.load(file), out=out, trials=2)
    assert all(row["feasible"] for row in found.trials), found.trials
    (out / ".tuning.json.123-456.partial").write_text("{")
    assert len(tuning.tune(tuning.load(file), out=out, trials=3).trials) == 3


@pytest.mark.parametrize("value", ["3", '"log"'])
def test_a_scale_is_one_of_two(value: str, file: Path) -> None:
    """The hint of a value of another kind is a value that is taken."""
    file.write_text(FILE.replace("trials = 8", f"trials = 8\nscale = {value}"))
    with pytest.raises(ScenarioError) as error:
        tuning.load(file)
    assert "relative" in str(error.value)
    assert 'write "log"' not in str(error.value)
