"""Skipped tests of Python and Rust against the list of those that may be skipped:
``pytest --allowed-skips tests/allowed-skips.toml``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

#: Bits of ``CapEff`` in proc_pid_status(5): linux/capability.h.
CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 12, 21, 38, 39


def _has(*capabilities: int) -> bool:
    status = Path("/proc/self/status")
    if not status.exists():
        return False
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read_text(encoding="ascii"), re.MULTILINE)
    return effective is not None and all(int(effective[1], 16) >> bit & 1 for bit in capabilities)


#: The places that the list can name, and whether this is one.
PLACES: dict[str, Callable[[], bool]] = {
    "anywhere": lambda: True,
    "as root": lambda: os.geteuid() == 0,
    "not as root": lambda: os.geteuid() != 0,
    "without network namespaces": lambda: not (_has(CAP_NET_ADMIN, CAP_SYS_ADMIN) and Path("/dev/net/tun").exists()),
    "without struct_ops": lambda: (
        not (_has(CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN) and Path("/sys/kernel/btf/vmlinux").exists())
    ),
    "where no wheel is built": lambda: not os.environ.get("CWNDLAB_REQUIRE_WHEEL"),
    "where /dev/net/tun is not for all": lambda: (
        not Path("/dev/net/tun").exists() or not Path("/dev/net/tun").stat().st_mode & 0o002
    ),
}


@dataclass(frozen=True)
class Allowed:
    """An entry of the list: which tests may be skipped for which reason at which place."""

    tests: str
    reason: str
    where: str

    def covers(self, test: str, reason: str) -> bool:
        """Whether this entry allows that ``test`` is skipped here for ``reason``."""
        named = fnmatchcase(test.split("[")[0], self.tests)
        return named and re.fullmatch(self.reason, reason, re.DOTALL) is not None and PLACES[self.where]()


def read(file: Path) -> list[Allowed]:
    """The entries of a list.

    Every entry has ``tests`` (a pattern), ``reason`` (a regular expression), ``where`` (one of `PLACES`) and ``why``.
    """
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["skip"]
    for entry in entries:
        if set(entry) != {"tests", "reason", "where", "why"} or entry["where"] not in PLACES:
            raise pytest.UsageError(f"{file}: {entry} is not an entry; places are {', '.join(PLACES)}")
    return [Allowed(entry["tests"], entry["reason"], entry["where"]) for entry in entries]


def of_rust() -> list[tuple[str, str]]:
    """The skipped tests of Rust and their reasons: the lines of the file that ``CWNDLAB_SKIPPED_TESTS`` names, which
    ``skip_test`` of crates/linux writes."""
    file = Path(os.environ.get("CWNDLAB_SKIPPED_TESTS", ""))
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = (re.fullmatch(r"(\S+): (.*)", line) for line in dict.fromkeys(lines))
    return [(one[1], one[2]) for one in found if one is not None]


class Watch:
    """Collects the skips of a session, and those of Rust, and fails it where one is not allowed."""

    def __init__(self, allowed: list[Allowed]) -> None:
        self._allowed = allowed
        self.refused: list[str] = []
        for test, reason in of_rust():
            self._judge(test, reason)

    def _judge(self, test: str, reason: str) -> None:
        if not any(one.covers(test, reason) for one in self._allowed):
            self.refused.append(f"{test}: {reason}")

    def _look(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.outcome != "skipped" or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self._judge(report.nodeid, reason.removeprefix("Skipped: "))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.refused and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.refused:
            terminalreporter.section("skips that are not allowed here", red=True)
            for line in self.refused:
                terminalreporter.line(line)
