"""What several test files use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest

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
        from cwndlab.cli import status

        ended = status([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended, captured.out, captured.err

    return call
