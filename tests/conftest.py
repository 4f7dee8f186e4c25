"""What several test files use."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import cwndlab
import hypothesis
import pytest
import skips


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--allowed-skips", type=Path, metavar="FILE", help="fail where a test is skipped that this list does not name"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.line(f"order of the tests: --randomly-seed={seed} repeats it")


def _stay(_number: int, _frame: FrameType | None) -> None:
    """As if the signal were ignored."""


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--allowed-skips")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(skips.Watch(skips.read(file)), "allowed-skips")
    # On a loaded machine an example takes any time; the test has its own limit.
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")
    # Hundreds of processes import this package: without its bytecode each of them compiles it again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A background job of a shell ignores SIGINT, and its children would inherit that. A handler of ours has the same
    # effect here and is not inherited: programs that tests start have default signals (execve(2)).
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _stay)


def pytest_collection_finish() -> None:
    # What is imported by now stays: a collection of garbage in a test, of which libraries ask for some, leaves it out.
    gc.freeze()


#: Tests of what a machine has once: names in the kernel's TCP, network namespaces, its processor's attention. One
#: process runs them, one after another, where several share the tests (pytest-xdist).
SYSTEM = frozenset(
    {
        "applications",
        "assessment_emulated",
        "conform",
        "emulation",
        "emulation_programs",
        "identify_url",
        "kernel",
        "kernel_classes",
        "measure_day",
        "measure_live",
        "measure_servers",
        "preflight_routes",
        "quic",
        "serve",
        "serve_abuse",
        "serve_classes",
        "serve_fetch",
        "signals",
        "validate_kernel",
    }
)


#: Files whose tests share what takes long to make: one process runs a file.
TOGETHER = frozenset(
    {
        "add_an_algorithm",
        "dist",
        "page_layout",
        "pages",
        "playground",
        "reproduce_pages",
        "seeded_faults",
        "site",
        "validate",
    }
)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Shares the tests one by one; those of `SYSTEM`, and those of a file of `TOGETHER`, go to one process together.

    ``--dist loadgroup`` is meant for this, and does nothing with pytest 9.2 (pytest-xdist's issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    def scope_of(nodeid: str) -> str:
        module = Path(nodeid.split("::")[0]).stem.removeprefix("test_")
        if module in SYSTEM:
            return "system"
        return module if module in TOGETHER else nodeid

    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = scope_of  # called once per test to find its group
    return scheduling


PATH = """\
schema_version = 1
duration = "2 s"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = { kind = "droptail", capacity = "1 bdp" } }

[[flow]]
algorithm = "cubic"
rtt = "40 ms"

[[flow]]
algorithm = "newreno"
rtt = "80 ms"
start = "500 ms"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A scenario of two flows on disk."""
    file = tmp_path / "path.toml"
    file.write_text(PATH)
    return file


@pytest.fixture
def scenario() -> cwndlab.Scenario:
    """The same scenario in Python."""
    queue = cwndlab.DropTail("1 bdp")
    return cwndlab.Scenario(
        duration="2 s",
        dumbbell=cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="10 ms", queue=queue)),
        flows=[
            cwndlab.Flow("cubic", rtt="40 ms"),
            cwndlab.Flow("newreno", rtt="80 ms", start="500 ms"),
        ],
    )


Called = tuple[int, str, str]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Calls the command line; gives exit status, standard output, standard error."""

    def call(*arguments: object) -> Called:
        from cwndlab.cli.app import status

        ended = status([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended, captured.out, captured.err

    return call
