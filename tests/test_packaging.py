"""The systemd unit and the container file of `cwndlab serve`."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cwndlab.engine import fetch
from serving import TOKEN, TOKENS, printed_rows, skip_without_ipv6

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "packaging" / "cwndlab-serve.service"
CONTAINER = ROOT / "packaging" / "Containerfile"
PROGRAM = "/opt/cwndlab/bin/cwndlab"


def settings() -> dict[str, list[str]]:
    """The values of the unit by their names."""
    result: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            result.setdefault(name, []).append(value)
    return result


def instructions() -> list[list[str]]:
    """The words of each instruction of the container file."""
    text = CONTAINER.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is installed here: systemd-analyze checks that it exists."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    place = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    assert text.count(PROGRAM) == 1
    place.write_text(text.replace(PROGRAM, sys.executable), encoding="utf-8")
    return place


def analyzed(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_systemd_accepts_the_unit(unit: Path) -> None:
    done = analyzed("verify", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_is_hardened(unit: Path) -> None:
    """systemd rates the exposure of a service from 0 to 100: 10 and more is "OK", 50 "MEDIUM", 90 "UNSAFE"."""
    done = analyzed("security", "--offline=yes", "--threshold=20", unit)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_of_the_unit_serves_and_ends_with_its_status(tmp_path: Path) -> None:
    skip_without_ipv6()
    (tmp_path / "tokens").write_text(TOKENS, encoding="utf-8")
    [text] = settings()["ExecStart"]
    text = text.replace("%d", str(tmp_path)).replace("%S", str(tmp_path / "state"))
    program, *words = shlex.split(text.replace("[::]:8443", "[::]:0"))
    assert program == PROGRAM
    command = [sys.executable, "-m", "cwndlab", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            rows = printed_rows(process)
            assert not any(name.startswith("token") for name in rows)  # no token in the journal of the system
            port = rows["listening"].rpartition(":")[2]
            for transport in ("tcp", "quic"):
                result = fetch(
                    f"https://[::1]:{port}",
                    token=TOKEN,
                    algorithm="newreno",
                    size_bytes=1000,
                    trust=rows["fingerprint"],
                    transport=transport,
                )
                assert result["ended"] == "complete"
            process.send_signal(signal.SIGTERM)
            assert str(process.wait(timeout=60)) in settings()["SuccessExitStatus"]
        finally:
            process.kill()
    # The certificate survives a restart, in the only folder that the unit may write.
    assert settings()["StateDirectory"] == ["cwndlab"]
    assert (tmp_path / "state" / "cwndlab" / "certificate.pem").is_file()


def test_the_unit_allows_the_descriptors_of_the_default_limits() -> None:
    """`cwndlab serve --list-limits`: connections + waiting + unproven, and 64 for the process."""
    listed = subprocess.run(
        [sys.executable, "-m", "cwndlab", "serve", "--list-limits", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    defaults = {row["limit"]: row["default"] for row in json.loads(listed.stdout)}
    needed = sum(float(str(defaults[name]).replace(",", "")) for name in ("connections", "waiting", "unproven")) + 64
    assert int(settings()["LimitNOFILE"][0]) >= needed


def test_everything_that_the_container_file_copies_exists() -> None:
    copied = [words[1:-1] for words in instructions() if words[0] == "COPY" and not words[1].startswith("--from")]
    sources = [one for sources in copied for one in sources]
    assert sources
    assert [one for one in sources if not (ROOT / one).exists()] == []
    # Every crate of the workspace, and what the package for Python names, is among them.
    members = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["members"]
    assert {member.split("/")[0] for member in members} <= set(sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["readme"] in sources
    needed = {entry["path"].split("/")[0] for entry in project["tool"]["maturin"]["include"] if "format" in entry}
    assert needed <= set(sources)
    assert {path.name for path in ROOT.glob("LICENSE-*")} <= set(sources)


def test_the_container_starts_the_server_without_privileges() -> None:
    words = {one[0]: one[1:] for one in instructions()}
    program, command, *options = json.loads(" ".join(words["ENTRYPOINT"]))
    assert (program, command) == ("cwndlab", "serve")
    # The same options as the unit has; the tokens are an argument of the run.
    unit = shlex.split(settings()["ExecStart"][0])
    assert options[: options.index("--state")] == unit[2 : unit.index("--token")]
    assert options[-1] == words["VOLUME"][0]
    assert int(words["USER"][0]) > 0
    assert words["EXPOSE"] == ["8443/tcp", "8443/udp"]
    assert words["STOPSIGNAL"] == ["SIGTERM"]


def test_hadolint_has_no_objection() -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, str(CONTAINER)], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
