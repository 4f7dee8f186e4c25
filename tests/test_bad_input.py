"""Bad input and output that cannot be written: where, what and a hint, the documented exit status, no traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import cwndlab
import polars as pl
import pytest
from cwndlab.export.qlog import _remarks
from cwndlab.saved import report

Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("option", ["--out", "--report"])
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
    remarks = [data for _, _, data in _remarks(SimpleNamespace(events=table), 0)]  # type: ignore[arg-type]
    assert [data.get("pipe_segments") for data in remarks] == [5.0, None, None]
    json.dumps(remarks, allow_nan=False)


@pytest.mark.parametrize("listen", ["junk", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", ":8443", ""])
def test_an_address_that_is_none_is_bad_input(cli: Cli, tmp_path: Path, listen: str) -> None:
    status, out, err = cli("serve", "--listen", listen, "--state", tmp_path / "state")
    assert (status, out) == (2, "")
    assert err.startswith(f"--listen: '{listen}' is not an address and a port\n  hint: write ADDRESS:PORT")


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
