"""What tests/conftest.py adds to pytest: the list of tests that may be skipped, and the group of one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from skips import Allowed, read

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "allowed-skips.toml"


def test_the_list_is_sound() -> None:
    assert read(LIST)


def test_an_entry_covers_its_tests_for_its_reason_at_its_place() -> None:
    entry = Allowed("tests/test_a.py::*", "no [a-z]+", "anywhere")
    assert entry.covers("tests/test_a.py::test_b[1-2]", "no cluster")
    assert not entry.covers("tests/test_a.py::test_b", "no cluster here")
    assert not entry.covers("tests/test_ab.py::test_b", "no cluster")
    as_root, not_as_root = (Allowed("*", ".*", where) for where in ("as root", "not as root"))
    assert as_root.covers("x", "y") is not not_as_root.covers("x", "y")


@pytest.mark.parametrize(
    ("reason", "rust", "status"),
    [
        ("SLURM is not here", "", 0),
        ("no chromium is installed", "", 1),
        ("SLURM is not here", "crates/units/src/lib.rs::a: it rains\n", 1),
    ],
)
def test_a_skip_of_python_or_rust_that_is_not_on_the_list_fails(
    tmp_path: Path, reason: str, rust: str, status: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_sweeps_cluster.py").write_text(
        f"import pytest\n\ndef test_a():\n    pytest.skip({reason!r})\n\ndef test_b():\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini"]
    command += ["-o", f"pythonpath={ROOT / 'tests'}", f"--allowed-skips={LIST}", "tests"]
    skipped = tmp_path / "skipped.txt"
    skipped.write_text(rust)
    environment = {**os.environ, "CWNDLAB_SKIPPED_TESTS": str(skipped)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stdout + done.stderr
    refused = rust.strip() or f"tests/test_sweeps_cluster.py::test_a: {reason}"
    assert (refused in done.stdout) is bool(status)


def test_what_the_machine_has_once_is_tested_by_one_process(tmp_path: Path) -> None:
    """Two processes that registered the same name with the kernel were in each other's way."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    append = "    with open('workers', 'a') as file:\n        file.write(f'{worker_id}\\n')\n"
    each = f"import pytest\n\n@pytest.mark.parametrize('n', range(8))\ndef test_a(worker_id, n):\n{append}"
    for name in ("kernel", "emulation", "quic"):
        (tmp_path / f"test_{name}.py").write_text(each)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini"]
    command += ["-n", "2", "-o", f"pythonpath={ROOT / 'tests'}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    workers = (tmp_path / "workers").read_text().split()
    assert len(workers) == 24
    assert len(set(workers)) == 1
