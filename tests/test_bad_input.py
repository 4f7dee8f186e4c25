"""Bad input and output that cannot be written: where, what and a hint, the documented exit status, no traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import Scenario
from cwndlab.cli.progress import Stopped
from cwndlab.errors import Fault, OutputError
from cwndlab.export.qlog import _remarks
from cwndlab.records import key_of
from cwndlab.saved import report

Cli = Callable[..., tuple[int, str, str]]

SMALL = """\
schema_version = 1
duration = "1 s"
dumbbell = { bottleneck = { rate = "9 Mbps" } }
[[flow]]
algorithm = "reno"
rtt = "40 ms"
"""


@pytest.mark.parametrize("option", ["--out", "--report", "--save", "--figure", "-o", "--output"])
def test_an_empty_place_is_refused(
    cli: Cli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """As where a variable of the shell is not set: it would be the working directory."""
    monkeypatch.chdir(tmp_path)
    arguments = ("compare", path, "--algorithms", "cubic,reno", "--seed", 1, "--repetitions", 2)
    for words in ((option, ""), (f"{option}=",)):
        status, out, err = cli(*arguments, *words)
        assert (status, out, err) == (2, "", f"{option}: is empty\n  hint: name a file or folder\n")
    assert [file.name for file in tmp_path.iterdir()] == ["path.toml"]


def test_output_that_cannot_be_written_is_status_1(cli: Cli, path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "below"
    status, _, err = cli("run", path, "--seed", 1, "--out", below)
    assert (status, err.startswith(f"{below}: ")) == (1, True)
    pair = ("--algorithms", "cubic,reno", "--seed", 1, "--repetitions", 2)
    status, _, err = cli("compare", path, *pair, "--out", below)
    assert (status, str(below) in err, "cannot be written" in err) == (1, True, True)
    status, _, err = cli("compare", path, *pair, "--report", below)
    assert (status, "cannot be written" in err) == (1, True)


def test_an_argument_that_is_not_utf_8_is_told_unless_it_names_a_file(tmp_path: Path) -> None:
    """POSIX names are bytes, texts are not: Python has the byte FF as a surrogate (PEP 383)."""
    command = [sys.executable, "-m", "cwndlab"]
    hint = "is not UTF-8 text\n  hint: write it in UTF-8\n"
    cases: list[tuple[list[str | bytes], str]] = [
        (["run", "two-flows", "--set", b"title=\xff"], "title=\\xff"),
        (["explain", b"cub\xff"], "cub\\xff"),
        (["run", b"\xff.toml"], "\\xff.toml"),
    ]
    for arguments, shown in cases:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cwndlab: '{shown}' {hint}")
    place = os.fsencode(tmp_path) + b"/\xff.toml"
    scenario = cwndlab.presets.load("single").with_(duration="1 s")
    Path(os.fsdecode(place)).write_text(scenario.to_toml(), encoding="utf-8")
    out = os.fsencode(tmp_path) + b"/out\xff"
    subprocess.run([*command, "run", place, "--out", out], capture_output=True, check=True, timeout=120)
    assert (Path(os.fsdecode(out)) / "flows.parquet").exists()


@pytest.mark.parametrize("place", [".", "/"])
def test_a_folder_in_place_of_a_file_is_told(cli: Cli, path: Path, place: str) -> None:
    """EISDIR of rename(2); both names end in nothing that a file could be called."""
    told = f"{place}: cannot be written: Is a directory\n  hint: choose another place"
    with pytest.raises(cwndlab.errors.OutputError, match=re.escape(told)):
        cwndlab.files.save("", place)
    assert cli("run", path, "--report", place) == (1, "", f"{told}\n")
    what = f"--out: '{place}' has no name for the report\n  hint: write --out cwndlab-demo\n"
    assert cli("demo", "--out", place) == (2, "", what)


def never(*_: object, **__: object) -> None:
    raise AssertionError("it ran")


def test_places_are_looked_at_before_the_run(
    cli: Cli, path: Path, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of seed 1 are there: neither seed 2 nor an emulation of seed 1 may take their place."""
    kept = tmp_path / "kept"
    cwndlab.run(scenario, seed=1).save(kept)
    before = cwndlab.Records.read(kept).hash()
    monkeypatch.setattr(cwndlab, "run", never)
    monkeypatch.setattr(cwndlab.emulation, "become_root", never)
    holds = f"{kept}: holds another run (scenario {scenario.hash[:12]}, seed 1, version {cwndlab.version()})\n"
    for arguments in (
        ("run", path, "--seed", 2, "--out", kept),
        ("run", path, "--engine", "emulate", "--out", kept),
        ("emulate", path, "--out", kept, "--", "true"),
        ("emulate", path, "--calibrate", "--out", kept),
    ):
        assert cli(*arguments) == (2, "", f"{holds}  hint: name a folder that is empty or does not exist\n")
    for option in ("--report", "--pcap"):
        told = "/proc/x: cannot be written: No such file or directory\n  hint: choose another place\n"
        assert cli("run", path, option, "/proc/x") == (1, "", told)
    assert cli("run", path, "--out", path) == (
        2,
        "",
        f"{path}: is a file, not a folder\n  hint: name a folder that is empty or does not exist\n",
    )
    assert cwndlab.Records.read(kept).hash() == before


def test_which_run_a_folder_has_is_read_from_one_table(
    cli: Cli, path: Path, scenario: Scenario, tmp_path: Path
) -> None:
    """Whatever other tables hold; where this one is damaged, only a simulation may be what was there."""
    kept = tmp_path / "kept"
    cwndlab.run(scenario, seed=1).save(kept)
    runs = kept / "runs.parquet"
    whole = runs.read_bytes()
    (kept / "samples.parquet").write_bytes(b"")
    assert key_of(kept) == (scenario.hash, 1, cwndlab.version(), "simulate")
    assert cli("run", path, "--seed", 2, "--out", kept)[2].startswith(f"{kept}: holds another run (")
    for content in (b"", whole[:-9], b"PAR1"):
        runs.write_bytes(content)
        assert key_of(kept) is None
        told = f"{kept}: holds files of another run\n  hint: name a folder that is empty or does not exist\n"
        assert cli("emulate", path, "--out", kept, "--", "true") == (2, "", told)
    pl.DataFrame({"seed": [1]}).write_parquet(runs)
    assert (key_of(kept), key_of(tmp_path)) == (None, None)


def full(place: object) -> OutputError:
    return OutputError(Fault(str(place), "no space is left on the device", "name another folder"))


def test_every_file_that_cannot_be_written_is_told(
    cli: Cli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_what: object, place: object) -> None:
        raise full(place)

    monkeypatch.setattr(cwndlab.Records, "save", fails)
    monkeypatch.setattr(cwndlab, "report", fails)
    out, page = tmp_path / "out", tmp_path / "page.html"
    status, printed, err = cli("run", path, "--out", out, "--report", page)
    assert (status, printed.startswith("flow")) == (1, True)
    assert err.endswith(f"seed: 1\n{full(out)}\n{full(page)}\n")


class Broken:
    """A path that is stopped, and whose records do not fit on the disk."""

    flows, notes = ("a",), ()

    def __init__(self, stop: BaseException) -> None:
        self.records = SimpleNamespace(rows=lambda _table: [], save=self._save)
        self._stop = stop

    def __enter__(self) -> Broken:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def address(self, *_: object) -> str:
        raise self._stop

    def _save(self, place: Path) -> None:
        raise full(place)


@pytest.mark.parametrize(
    ("stop", "status", "told"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (Stopped("stopped before the command ended"), 130, "stopped before the command ended"),
        (cwndlab.RunError(Fault("emulate", "ended", "")), 1, "emulate: ended"),
    ],
)
def test_records_that_cannot_be_kept_do_not_replace_a_signal(
    cli: Cli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException, status: int, told: str
) -> None:
    """128 + SIGINT is 130."""
    monkeypatch.setattr(cwndlab.emulation, "become_root", lambda: None)
    monkeypatch.setattr(cwndlab.emulation, "EmulatedPath", lambda *_, **__: Broken(stop))
    ended, _, err = cli("emulate", path, "--out", tmp_path / "out", "--", "true")
    assert (ended, err.endswith(f"{full(tmp_path / 'out')}\n{told}\n")) == (status, True)


@pytest.mark.parametrize("option", ["--repetitions", "--at-most"])
def test_more_repetitions_than_could_ever_end_are_refused(cli: Cli, path: Path, option: str) -> None:
    status, _, err = cli("compare", path, "--algorithms", "cubic,reno", "--seed", 1, option, 10**12)
    assert status == 2
    assert err.startswith(f"{option}: '1000000000000' is not a whole number from ")


def test_json_that_is_nested_too_deeply_is_no_manifest(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    status, out, err = cli("report", tmp_path)
    assert (status, out) == (2, "")
    assert "manifest.json: is not a manifest of a study" in err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("raise SystemExit", "ended with SystemExit"),
        ("raise SystemExit(0)", "ended with SystemExit: 0"),
        ("1 / 0", "ended with ZeroDivisionError: division by zero"),
    ],
)
def test_a_sweep_in_python_that_fails_is_bad_input(cli: Cli, tmp_path: Path, line: str, what: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"import cwndlab\n{line}\n")
    assert cli("sweep", file) == (2, "", f"{file}, line 2: {what}\n  hint: `python {file}` shows details\n")


def test_a_terminal_without_unicode_gets_what_it_can_show() -> None:
    def listed(encoding: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "cwndlab", "list", *arguments]
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(command, capture_output=True, env=environment, check=False, timeout=120)

    for encoding in ("latin-1", "ascii"):
        done = listed(encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        data = listed(encoding, "--format", "json").stdout
        assert json.loads(data.decode(encoding)) == json.loads(listed("utf-8", "--format", "json").stdout)


def test_escape_sequences_in_names_do_not_reach_the_terminal(cli: Cli, path: Path) -> None:
    """ECMA-48, 5.4: ESC [ begins a control sequence; this one clears the screen."""
    path.write_text(path.read_text().replace('algorithm = "cubic"', 'algorithm = "cubic"\nname = "a\\u001b[2Jb"'))
    status, out, err = cli("run", path, "--seed", 1)
    assert (status, out) == (2, "")
    assert "\x1b" not in err
    assert "has a control character" in err
    _, out, err = cli("run", path, "--seed", 1, "--set", "flow[0].rtt=\x1b[2J")
    assert "\x1b" not in out + err


def test_a_name_does_not_end_the_data_of_a_page(scenario: cwndlab.Scenario, tmp_path: Path) -> None:
    """HTML, 13.2.5.20: within a script `<!--` and `<script` change how its end is found."""
    name = "a<!--<script>b</script>"
    records = cwndlab.run(scenario.with_({"flow[0].name": name}), seed=1)
    report(records, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert "<" not in data[1]
    json.loads(data[1])
    assert name not in page


def test_a_pipe_without_bound_is_left_out_of_qlog() -> None:
    """RFC 8259, section 6: JSON has no infinity, which CapStart notes where it finds no bound."""
    row = {"time_ns": 1, "flow": 0, "kind": "capstart", "cause": "", "cwnd_before_bytes": 1, "cwnd_after_bytes": 2}
    table = pl.DataFrame([row | {"pipe_segments": pipe} for pipe in (5.0, float("inf"), None)])
    records: Any = SimpleNamespace(events=table)
    remarks = [data for _, _, data in _remarks(records, 0, "tcp")]
    assert [data.get("pipe_segments") for data in remarks] == [5.0, None, None]
    json.dumps(remarks, allow_nan=False)


@pytest.mark.parametrize("listen", ["junk", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", ":8443", ""])
def test_an_address_that_is_none_is_bad_input(cli: Cli, tmp_path: Path, listen: str) -> None:
    status, out, err = cli("serve", "--listen", listen, "--state", tmp_path / "state")
    assert (status, out) == (2, "")
    assert err.startswith(f"--listen: '{listen}' is not an address and a port\n  hint: write ADDRESS:PORT")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("json", '"duration":', '"duration": "9 s", "duration":', "line 1, column 51: 'duration' is there twice"),
        ("json", '"rtt": "40 ms"', '"rtt": "40 ms", "count": 1e400', "this is not JSON: number out of range"),
        ("toml", 'rtt = "40 ms"', 'rtt = "40 ms"\ncount = nan', "from 1 to 1000000, got null, nan or inf"),
        ("toml", 'duration = "1 s"', "duration = 1979-05-27", "duration: expected a text, got a date"),
        ("toml", 'rtt = "40 ms"', f'rtt = "40 ms"\ncount = {10**20}', "this is not TOML: a number is out of range"),
    ],
)
def test_what_a_document_may_not_have_is_named(
    cli: Cli, tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    """RFC 8259, section 4, leaves open what the second of two equal keys means; TOML refuses it."""
    text = SMALL if name == "toml" else json.dumps(tomllib.loads(SMALL))
    assert old in text
    file = tmp_path / f"document.{name}"
    file.write_text(text.replace(old, new), encoding="utf-8")
    status, out, err = cli("run", file, "--seed", 1)
    assert (status, out) == (2, "")
    assert said in err
    file.write_text(f"\ufeff{text}", encoding="utf-8")
    assert cli("run", file, "--seed", 1)[0] == 0


def test_a_list_that_the_scenario_does_not_have_is_named(cli: Cli, path: Path) -> None:
    status, _, err = cli("run", path, "--seed", 1, "--set", "link[0].rate=3 Mbps")
    assert status == 2
    assert "link: the document has no such list\n  hint: it has dumbbell, duration, flow" in err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dumbbell.bottleneck.queue.capacity", "9223372036854775808 B"),
        ("dumbbell.bottleneck.rate", "9300000 Tbps"),
        ("dumbbell.access.rate", "18446744 Tbps"),
    ],
)
def test_quantities_beyond_the_columns_of_records_are_refused(cli: Cli, path: Path, field: str, value: str) -> None:
    """2⁶³ − 1 is the maximum of a signed column."""
    status, _, err = cli("run", path, "--seed", 1, "--set", f"{field}={value}")
    assert (status, f"{field}: '{value}' is too large" in err) == (2, True), err


def test_an_algorithm_that_does_not_exist_is_bad_input(cli: Cli) -> None:
    nobody = ("--rounds", 1, "--bytes", "1MB", "--token", "t" * 32, "--yes")
    for words in (
        ("kernel", "run", "--algorithm", "nope"),
        ("measure", "https://127.0.0.1:1", "--algorithms", "nope", *nobody),
    ):
        status, out, err = cli(*words)
        assert (status, out) == (2, ""), err
        assert "nope" in err


def test_a_path_with_an_algorithm_that_does_not_exist_is_bad_input(scenario: cwndlab.Scenario) -> None:
    from cwndlab.emulation import EmulatedPath

    with pytest.raises(cwndlab.ScenarioError, match="this kernel has no 'nope'"):
        EmulatedPath(scenario, seed=1, algorithm="nope").__enter__()
