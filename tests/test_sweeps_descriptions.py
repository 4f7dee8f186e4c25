"""Descriptions of sweeps: files, Python, and what is wrong with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.study import sweeps
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


def test_a_star_is_every_one_of_a_list() -> None:
    base = cwndlab.presets.load("two-flows")
    assert [flow.rtt for flow in base.with_({"flow[*].rtt": "70 ms"}).flows] == ["70 ms", "70 ms"]
    with pytest.raises(ScenarioError) as error:
        base.with_({"flows[*].rtt": "70 ms"})
    assert texts(error) == ["flows: no such field", "  hint: did you mean 'flow'?"]


QUEUE = "dumbbell.bottleneck.queue"
RATE = "dumbbell.bottleneck.rate"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"product": {f"{QUEUE}.capacity": ["10 packets", "200 packets"], QUEUE: [{"kind": "codel"}]}},
            f"{QUEUE}.capacity: '{QUEUE}.capacity' and '{QUEUE}' both set it",
        ),
        (
            {"product": {RATE: ["9 Mbps"], "dumbbell.bottleneck": [{"rate": "5 Mbps", "delay": "5 ms"}]}},
            f"{RATE}: '{RATE}' and 'dumbbell.bottleneck' both set it",
        ),
        (
            {"product": {"flow[up].rtt": ["20 ms", "100 ms"], "flow[0].rtt": ["30 ms"]}},
            "flow[0].rtt: 'flow[up].rtt' and 'flow[0].rtt' both set it",
        ),
        (
            {
                "alternatives": {"remedy": {"none": {}, "deep": {f"{QUEUE}.capacity": "500 packets"}}},
                "product": {QUEUE: [{"kind": "droptail", "capacity": "10 packets"}]},
            },
            f"{QUEUE}.capacity: 'remedy' and '{QUEUE}' both set it",
        ),
        (
            {"alternatives": {"rival": {"vegas": {"flow[+].algorithm": "vegas"}}}, "algorithms": ["reno"]},
            "flow[1].algorithm: 'rival' and 'algorithm' both set it",
        ),
    ],
)
def test_axes_that_set_a_field_under_two_names_are_an_error(given: dict[str, Any], told: str) -> None:
    """The label of the earlier axis would be that of a value that was not run."""
    base = cwndlab.presets.load("single").with_({"flow[0].name": "up"})
    with pytest.raises(ScenarioError) as error:
        sweeps.Sweep(base=base, **given).points()
    assert texts(error) == [f"{told}, so that one of the values would be lost", *texts(error)[1:]]


def test_an_axis_may_change_a_field_of_a_table_that_an_earlier_one_sets() -> None:
    """By hand: every pair of a discipline and a capacity."""
    product: dict[str, list[Any]] = {
        QUEUE: [{"kind": "droptail"}, {"kind": "codel"}],
        f"{QUEUE}.capacity": ["10 packets", "20 packets"],
    }
    points = sweeps.Sweep(base=cwndlab.presets.load("single"), product=product).points()
    queues = [json.loads(point.document)["dumbbell"]["bottleneck"]["queue"] for point in points]
    kinds = ["droptail", "droptail", "codel", "codel"]
    assert [(queue["kind"], queue["capacity"]) for queue in queues] == [
        *zip(kinds, ["10 packets", "20 packets"] * 2, strict=True)
    ]


def test_a_flow_that_an_alternative_adds_has_the_values_of_every_flow() -> None:
    """docs/sweeps.md: all flows use each of the algorithms in turn, and `flow[*].rtt` is the RTT of every flow."""
    asked = sweeps.Sweep(
        base=cwndlab.presets.load("single"),
        alternatives={"n": {"alone": {}, "rival": {"flow[+].start": "1 s"}}},
        algorithms=["reno", "vegas"],
        product={"flow[*].rtt": ["80 ms"]},
    )
    flows = [json.loads(asked.checked(index).document)["flow"] for index in range(4)]
    assert [[flow["algorithm"] for flow in one] for one in flows] == [
        ["reno"],
        ["vegas"],
        ["reno", "reno"],
        ["vegas", "vegas"],
    ]
    assert {flow["rtt"] for one in flows for flow in one} == {"80 ms"}


def test_changes_of_every_flow_reach_alternatives_with_a_scenario_of_their_own(tmp_path: Path) -> None:
    """`single` has one flow, `two-flows` two; in TOML by the table `set` and by `--set`, in Python by `--set`."""
    toml, python = tmp_path / "a.toml", tmp_path / "a.py"
    toml.write_text(
        '[sweep]\nbase = "two-flows"\n[sweep.set]\n"flow[*].rtt" = "60 ms"\n'
        '[sweep.alternatives.path.a]\n[sweep.alternatives.path.b]\nbase = "single"\n'
    )
    python.write_text(
        "import cwndlab\nsweep = cwndlab.Sweep(base=cwndlab.presets.load('two-flows'),"
        " alternatives={'path': {'a': {}, 'b': 'single'}})\n"
    )
    for file, changes, rtt in (
        (toml, (), "60 ms"),
        (toml, [("flow[*].rtt", "33 ms")], "33 ms"),
        (python, [("flow[*].rtt", "33 ms")], "33 ms"),
    ):
        documents = [json.loads(point.document) for point in sweeps.read(file, changes=changes).points()]
        assert [[flow["rtt"] for flow in one["flow"]] for one in documents] == [[rtt, rtt], [rtt]]


def test_a_base_in_json_takes_changes(tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(cwndlab.presets.load("single").to_json())
    file = tmp_path / "a.toml"
    file.write_text('[sweep]\nbase = "base.json"\n[sweep.set]\n"flow[0].rtt" = "30 ms"\n')
    assert sweeps.read(file).base == cwndlab.presets.load("single").with_({"flow[0].rtt": "30 ms"}, start_jitter="rtt")


def test_a_sweep_in_python_may_import_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_sweep.py").write_text("RATES = ['5 Mbps', '10 Mbps']\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "import cwndlab\nfrom beside_the_sweep import RATES\n"
        f"sweep = cwndlab.Sweep(base=cwndlab.presets.load('single'), product={{'{RATE}': RATES}})\n"
    )
    before = list(sys.path)
    assert len(sweeps.read(file)) == 2
    assert sys.path == before


def test_an_interval_outside_of_a_cells_run_is_told_before_the_first_run() -> None:
    """The metrics begin after 5 s, and one of the runs lasts 1 s."""
    asked = sweeps.Sweep(base=cwndlab.presets.load("single"), product={"duration": ["10 s", "1 s"]}, start_s=5.0)
    with pytest.raises(ScenarioError) as error:
        asked.study()
    assert texts(error)[0] == (
        "cell 1 (duration = 1 s): sweep.start_s, sweep.end_s: 5 s to 1 s is not an interval of the run"
    )
    whole = sweeps.Sweep(base=cwndlab.presets.load("single"), product={"duration": ["10 s"]}, start_s=5.0, end_s=10.0)
    assert len(whole.points()) == 1


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
            'seeds = 1\nuntil = "goodput_bps within 2 %"\nat_most = 1',
            "sweep.at_most: one run has no interval",
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
