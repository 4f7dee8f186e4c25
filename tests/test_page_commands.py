"""The command that the page of a comparison gives for itself makes the same runs, or there is none."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import Fixed, write_class
from cwndlab.assessment.dossier import Dossier
from cwndlab.reports.charts import Asked
from cwndlab.reports.sections import again
from cwndlab.study.commands import again_compared
from cwndlab.study.compare import compare
from cwndlab.study.result import Result
from cwndlab.study.sweeps import Sweep

Called = tuple[int, str, str]
LOSS = "dumbbell.bottleneck.loss.p"


def scenario(**changes: Any) -> cwndlab.Scenario:
    """Two named flows for a second, with random losses."""
    flows = [cwndlab.Flow("reno", rtt="40 ms", name="long"), cwndlab.Flow("reno", rtt="20 ms", name="short")]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    made = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    return made.with_({"dumbbell.bottleneck.loss": {"kind": "bernoulli", "p": 0.01}} | changes)


def repeated(result: Result, folder: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> Result:
    """The result of the command on a result's page, which reads the scenario that the page shows."""
    words = again_compared(result)
    assert words is not None
    monkeypatch.chdir(folder)
    (folder / "scenario.toml").write_text(result.scenario.to_toml())
    status, _, err = cli(*words[1:], "--out", "again")
    assert status == 0, err
    return Result.read(folder / "again")


@pytest.mark.parametrize(
    "asked",
    [
        {
            "algorithms": ["cubic", "cubic(beta=0.5, c=0.2)"],
            "flows": ["long"],
            "against": "vegas",
            "seeds": range(7, 10),
        },
        {"algorithms": ["cubic"], "warm_up": "mser", "seeds": 2},
        {"algorithms": ["cubic"], "warm_up": "250 ms", "metrics": ["p95_queue_ms"], "seeds": 2},
        {"algorithms": ["cubic"], "start_s": 0.1234567, "seeds": 2},
        # Three repetitions are fewer than the first look of the command's own, which is after ten.
        {"algorithms": ["cubic", "reno"], "until": "goodput_bps within 0.01 %", "at_most": 5, "seeds": 3},
        {"over": {LOSS: [0.01234567, 0.01234569]}, "seeds": 2},
        {"over": {"dumbbell.bottleneck.queue.capacity": ["1 bdp", "20 packets"]}, "seeds": 2},
    ],
)
def test_the_command_of_a_page_makes_the_same_runs(
    asked: dict[str, Any], tmp_path: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = compare(scenario(), **asked)
    found = repeated(result, tmp_path, cli, monkeypatch)
    names = ["wall_s", "host"]
    assert found.runs.drop(names, strict=False).equals(result.runs.drop(names, strict=False))
    assert found.labels == result.labels


def test_a_class_comes_with_its_file(
    tmp_path: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (kind,) = cwndlab.custom.load(write_class(tmp_path)).values()
    result = compare(scenario(), [kind, "reno"], seeds=2)
    assert repeated(result, tmp_path, cli, monkeypatch).runs["key"].to_list() == result.runs["key"].to_list()


@pytest.mark.parametrize(
    "asked",
    [
        {"algorithms": ["cubic"], "end_s": 0.5},
        {"algorithms": ["cubic"], "seeds": [3, 10, 20]},
        {"algorithms": {"slow": Fixed}},
        {"alternatives": {"algorithm": {"slow": {"flow[0].algorithm": "cubic", "flow[0].rtt": "80 ms"}}}},
        {"alternatives": {"remedy": {"none": {}, "longer": {"flow[0].rtt": "80 ms"}}}},
    ],
)
def test_what_no_command_can_say_is_read_from_its_folder(asked: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: dict[str, Any] = {"seeds": 2, "out": out} | asked
    result = compare(scenario(), **given)
    assert again_compared(result) is None
    cwndlab.report(result, tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text())
    assert f"cwndlab report {shlex.quote(str(out))}" in page
    assert "cwndlab compare" not in page


def test_a_zip_of_fields_has_no_command() -> None:
    axis: dict[str, Any] = {LOSS: [0.01, 0.02], "flow[0].rtt": ["20 ms", "30 ms"]}
    assert again_compared(compare(Sweep(base=scenario(), zip=[axis], seeds=[1, 2]))) is None


def test_a_threshold_is_written_with_all_of_its_digits(tmp_path: Path) -> None:
    result = compare(scenario(), ["cubic"], seeds=1, out=tmp_path)
    (command,) = again(result, Asked(marks={"goodput_bps": 1234567.0, "queue_ms": 0.12345678}))
    assert command.endswith("--threshold goodput_bps=1234567 --threshold queue_ms=0.12345678")


def test_the_command_of_a_dossier_names_its_campaigns() -> None:
    content: dict[str, Any] = {"file": None, "algorithm": "reno", "sections": [], "size": "quick", "perturbed": True}
    campaigns = [{"folder": "my campaign"}, {"folder": "other"}]
    dossier = Dossier(content | {"seeds": 3, "live": campaigns})
    assert "cwndlab assess reno --quick --live 'my campaign' --live other" in dossier.command()
