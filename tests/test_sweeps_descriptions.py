"""Descriptions of sweeps: files, Python, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.study import sweeps
from cwndlab.study.fields import places
from small_sweeps import described

Called = tuple[int, str, str]
ROOT = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(described())
    return path


def texts(error: pytest.ExceptionInfo[cwndlab.Error]) -> list[str]:
    return str(error.value).splitlines()


def test_a_sweep_is_the_product_of_its_fields_and_zips(file: Path) -> None:
    asked = sweeps.read(file)
    assert len(asked) == 2 * 3 * 2
    assert asked.columns == ("algorithm", "dumbbell.bottleneck.rate", "@pair", "flow[0].rtt", "flow[1].rtt")
    pairs = {(cell.labels["@pair"], cell.labels["flow[0].rtt"], cell.labels["flow[1].rtt"]) for cell in asked.points()}
    assert pairs == {("near", "20 ms", "30 ms"), ("far", "40 ms", "60 ms")}
    document = json.loads(asked.checked(11).document)
    assert [flow["algorithm"] for flow in document["flow"]] == ["reno", "reno"]
    assert [flow["rtt"] for flow in document["flow"]] == ["40 ms", "60 ms"]
    assert document["dumbbell"]["bottleneck"]["rate"] == "20 Mbps"


def test_a_star_is_every_one_of_a_list(file: Path) -> None:
    assert places("flow[*].rtt", {"flow": [{}, {}]}) == ["flow[0].rtt", "flow[1].rtt"]
    with pytest.raises(ScenarioError) as error:
        places("flows[*].rtt", {"flow": [{}, {}]})
    assert texts(error) == ["flows[*].rtt: 'flows' is not a list", "  hint: did you mean 'flow'?"]


def test_a_field_that_does_not_exist_is_told_with_the_nearest_name(file: Path, cli: Callable[..., Called]) -> None:
    file.write_text(file.read_text().replace("bottleneck.rate", "botleneck.rate"))
    status, _, said = cli("sweep", file, "--out", file.parent / "out")
    assert status == 2
    assert said.splitlines() == ["dumbbell.botleneck: no such field", "  hint: did you mean 'bottleneck'?"]
    assert not (file.parent / "out").exists()


def test_faults_of_all_cells_are_told_with_the_cell(file: Path, cli: Callable[..., Called]) -> None:
    text = file.read_text().replace('"reno"]', '"renno"]').replace('"20 ms", "40 ms"', '"1 ms", "40 ms"')
    file.write_text(text)
    status, _, said = cli("sweep", file)
    assert status == 2
    wrong = [line for line in said.splitlines() if not line.startswith("  hint")]
    assert wrong[0].startswith("cell 0 (algorithm = cubic, dumbbell.bottleneck.rate = 5 Mbps, @pair = near, ")
    assert "and 5 more: flow[0].rtt" in wrong[0]
    assert any("no algorithm" in line and "'renno'" in line for line in wrong)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seeds = 2", "seeds = 0", "sweep.seeds: there is no seed, so nothing runs"),
        ("seeds = 2", "seed = 2", "sweep.seed: no such field"),
        ("seeds = 2", "seeds = [1, -1]", "sweep.seeds: '-1' is not a seed"),
        ('"30 ms", "60 ms"', '"30 ms"', "sweep.zip[0]: fields that change together need equal numbers of values"),
        (
            '["5 Mbps", "10 Mbps", "20 Mbps"]',
            '"5 Mbps"',
            'sweep.product."dumbbell.bottleneck.rate": is not a list of values',
        ),
        ("seeds = 2", 'seeds = 2\nbase = "s1"', "sweep.base: there is a scenario in the file, too"),
        (
            "seeds = 2",
            'seeds = 2\nuntil = "goodput within 2 %"\nat_most = 9',
            "sweep.until: no metric is called 'goodput'",
        ),
        (
            "seeds = 2",
            'seeds = 2\nuntil = "goodput_bps within 2 %"',
            "sweep.at_most: a cell whose interval stays wide would",
        ),
        ("[sweep]", "[sweeep]", "sweeep: no such field"),
        ("[sweep]", "[sweep", "is not TOML"),
    ],
)
def test_bad_files_are_told_where_and_what(
    file: Path, cli: Callable[..., Called], old: str, new: str, told: str
) -> None:
    file.write_text(file.read_text().replace(old, new))
    status, _, said = cli("sweep", file)
    assert status == 2
    assert told in said


def test_a_sweep_may_be_python(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import cwndlab\nfrom cwndlab import Sweep\n"
        "base = cwndlab.presets.load('single').with_(duration='1 s')\n"
        "sweep = Sweep(base=base, algorithms=['reno', 'cubic'], seeds=range(3))\n"
    )
    asked = sweeps.read(file, changes=[("duration", "2 s")])
    assert (len(asked), list(asked.seeds), asked.base.duration) == (2, [0, 1, 2], "2 s")
    file.write_text("sweep = 3")
    with pytest.raises(ScenarioError, match="has no 'sweep' that is a Sweep"):
        sweeps.read(file)


def test_examples_are_sound() -> None:
    assert len(sweeps.read(ROOT / "examples" / "sweep.toml").points()) == 36
    grid = sweeps.read(ROOT / "examples" / "ccm-ss-grid.py")
    # 5 bandwidths × 10 buffers × 32 RTT pairs × 2 modules, three times (docs of the paper's grid).
    assert (len(grid), len(grid) * len(grid.seeds)) == (5 * 10 * 32 * 2, 9600)
