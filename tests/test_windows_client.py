"""The measuring client for Windows, cross-compiled and run by Wine against `cwndlab serve`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from serving import TOKEN, running_server

ROOT = Path(__file__).resolve().parents[1]
WINE = shutil.which("wine64") or "/usr/lib/wine/wine64"
BUILD_S, RUN_S = 900, 120

pytestmark = pytest.mark.timeout(BUILD_S + 2 * RUN_S)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    if not Path(WINE).is_file():
        pytest.skip("there is no Wine: apt-get install wine64")
    built = subprocess.run(
        [ROOT / "tools" / "windows_client.sh", folder, "quick"],
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if built.stderr.startswith("make: "):
        pytest.skip(built.stderr.strip())
    assert built.returncode == 0, built.stderr
    missing: list[str | Path] = [
        "-shared",
        "-o",
        folder / "bcryptprimitives.dll",
        ROOT / "tools" / "bcryptprimitives.c",
        "-ladvapi32",
    ]
    subprocess.run(["x86_64-w64-mingw32-gcc", *missing], check=True, timeout=RUN_S)
    return folder / "cwndlab-measure.exe"


def _run(client: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"WINEPREFIX": str(client.parent / "prefix"), "WINEDEBUG": "-all"}
    command = [WINE, str(client), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_S, check=False)


def test_the_client_measures_a_server(client: Path) -> None:
    """Every transfer is complete, by the algorithm that was asked for, and its times are in order. Over TCP: sockets
    of Wine 8 lack an option that QUIC takes (WSAEOPNOTSUPP)."""
    with running_server() as server:
        where = (f"https://{server.address}", "--token", TOKEN, "--trust", server.fingerprint)
        done = _run(client, *where, "--algorithms", "cubic,reno", "--bytes", "300000", "--pause", "0")
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["requested"] for one in results] == ["cubic", "reno"]
    for one in results:
        assert (one["ended"], one["received_bytes"], one["arrivals"][-1][1]) == ("complete", 300_000, 300_000)
        assert one["sender"]["ended"] == "complete"
        names = ("lookup_ns", "connect_ns", "handshake_ns", "first_byte_ns", "last_byte_ns")
        times = [one[name] for name in names]
        assert times == sorted(times)


def test_an_unknown_option_ends_the_client_with_status_2(client: Path) -> None:
    done = _run(client, "--nonsense")
    assert done.returncode == 2
    assert "invalid option '--nonsense'" in done.stderr
