"""The emulated part of a dossier: the selection of cells, runs that were late, and a cell between real kernels.

Where a test needs no kernel, the simulator stands for the emulator.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import write_class
from cwndlab import engine
from cwndlab.assessment import Dossier, emulated
from cwndlab.assessment.criteria import Measure, criteria, families
from cwndlab.assessment.selected import common, document, points, selection
from cwndlab.cli.app import status
from cwndlab.errors import Fault, RunError
from cwndlab.scenario.units import duration_s

#: A cell of which a run takes two seconds.
SMALL: dict[str, Any] = {
    "runs": 2,
    "change": {"duration": "2 s", "measure_from": "1 s"},
    "family": {"alone": {"cells": [["16 Mbps", "20 ms", "1 bdp"]]}},
}
RTT_ONLY = ["6.3"]
SELECTED = document(emulated.FILE)
Fake = Callable[..., tuple[Any, dict[str, Any]]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated, "document", lambda file: SMALL)
    # The machine is loaded by other tests: no margin of time is tested here.
    monkeypatch.setattr(emulated, "LATE_S", 1000.0)


def simulator(unreliable: Callable[[int, str], str | None]) -> Fake:
    """In place of `engine.emulate`: the simulator, with this lateness by seed and scenario."""

    def emulate(text: str, form: Any, seed: int, cancel: Any = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        return engine.run(text, form, seed, cancel), {"unreliable": unreliable(seed, text)}

    return emulate


def selected() -> list[tuple[str, cwndlab.Scenario]]:
    every = [one for one in families() if selection(SELECTED, one.name).cells]
    roles = {"assessed": "cubic"}
    chosen = [(one.name, point) for one in every for _, point in points(SELECTED, one, roles, "Linux")]
    return [(name, cwndlab.Scenario.from_json(point.document)) for name, point in chosen]


def test_at_least_12_rows_are_emulated() -> None:
    rows = [row for row in criteria() if any(selection(SELECTED, one.family).cells for one in row.measures)]
    assert len(rows) >= 12
    assert len({name for name, _ in selected()}) >= 12


def test_each_row_that_is_simulated_and_not_emulated_says_why() -> None:
    for row in criteria():
        for one in row.measures:
            chosen = selection(SELECTED, one.family)
            assert bool(chosen.cells) != bool(chosen.reason), one.family


def test_selected_cells_are_slow_and_short_enough_for_15_minutes() -> None:
    """Two at a time on each of two cores, with 3 s for the start and the calibration of a run; three algorithms, two in
    controls."""
    seconds = sum(
        (duration_s(_document(one)["duration"], "duration") + 3) * (2 if name.startswith("control-") else 3)
        for name, one in selected()
    )
    assert seconds * SELECTED["runs"] / 4 <= 15 * 60
    for name, one in selected():
        line = _document(one).get("dumbbell", {}).get("bottleneck", {})
        rate = line.get("rate", "0 Mbps")
        assert rate.endswith("kbps") or float(rate.removesuffix(" Mbps")) <= 50, name


def _document(one: cwndlab.Scenario) -> dict[str, Any]:
    return dict(json.loads(one.to_json()))


def test_algorithms_have_runs_of_their_own_also_where_two_are_the_same() -> None:
    """CUBIC in CUBIC's place is a placebo only if its runs are other ones than CUBIC's; kernels differ, too."""
    family = next(one for one in families() if one.name == "alone")
    roles = {"assessed": "cubic", "cubic": "cubic"}
    hashes = [
        point.hash for system in ("Linux 6.1", "Linux 6.2") for _, point in points(SELECTED, family, roles, system)
    ]
    assert len(set(hashes)) == len(hashes)
    assert hashes


def test_a_late_run_is_no_loss_of_its_algorithm() -> None:
    """Without the pairs of seed 2, which one algorithm has no run of."""
    measure = Measure("alone", "goodput_bps", "more", "")
    values = {"assessed": {0: {1: 5.0, 3: 6.0}}, "cubic": {0: {1: 5.0, 2: 9.0, 3: 6.0}}, "reno": {0: {1: 1.0, 3: 2.0}}}
    kept = common(lambda _: values)(measure)
    assert {name: list(one[0]) for name, one in kept.items()} == {name: [1, 3] for name in values}
    nothing = common(lambda _: {"assessed": {0: {1: 5.0}}, "cubic": {0: {2: 5.0}}})(measure)
    assert nothing == {"assessed": {}, "cubic": {}}


def test_late_runs_are_repeated_and_left_out_in_the_end(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    """A first attempt that is late does not count; a seed that is late three times is missing, for all algorithms."""
    tried: list[tuple[int, str]] = []

    def unreliable(seed: int, text: str) -> str | None:
        if '"title"' not in text:
            return None  # what the kernel has is tried
        tried.append((seed, text))
        count = tried.count((seed, text))
        second = seed > tried[0][0]
        return "late" if count == 1 or (second and "assessed" in text) else None

    monkeypatch.setattr(engine, "emulate", simulator(unreliable))
    dossier = cwndlab.assess("reno", quick=True, seeds=2, sections=RTT_ONLY, emulate=True, workers=1)
    assert [tried.count(one) for one in dict.fromkeys(tried)].count(3) == 1
    assert dossier.content["emulated"]["late"] == 1
    assert "1 emulated runs are left out" in " ".join(dossier.facts())
    against = dossier.rows[0]["measures"][0]["emulated"]["against"]
    # The same seed of the same simulation: Reno equals itself in the run that is left.
    assert (against["reno"]["runs"], against["reno"]["mean"]) == (1, 0.0)


def test_a_stopped_or_finished_dossier_does_not_emulate_again(
    monkeypatch: pytest.MonkeyPatch, small: None, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "emulate", simulator(lambda *_: None))
    first = cwndlab.assess("reno", quick=True, seeds=2, sections=RTT_ONLY, emulate=True, out=tmp_path)

    def refuse(text: str, *_: Any, **__: Any) -> Any:
        assert '"title"' not in text, "an emulated run is repeated"
        return None, {}

    monkeypatch.setattr(engine, "emulate", refuse)
    again = cwndlab.assess("reno", quick=True, seeds=2, sections=RTT_ONLY, emulate=True, out=tmp_path)
    assert again.to_json() == first.to_json()
    scenario = cwndlab.Scenario.load(tmp_path / "emulated" / "alone-0.toml")
    assert scenario.hash == first.content["emulated"]["families"]["alone"][0]["hash"]


def test_where_nothing_can_be_emulated_the_status_is_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise RunError(Fault("unshare", "a network namespace was refused (EPERM)", "run it as root"))

    monkeypatch.setattr(engine, "emulate", refused)
    command = ["assess", "reno", "--quick", "--section", "6.3", "--emulate"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cwndlab.emulation, "become_root", refused)
        assert status(command) == 2
    assert "unshare: a network namespace was refused (EPERM)" in capsys.readouterr().err
    monkeypatch.setattr(cwndlab.emulation, "become_root", lambda: None)
    assert status(command) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--emulate: unshare: a network namespace was refused (EPERM)" in shown.err


def test_an_algorithm_that_the_kernel_lacks_is_not_assessed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def lacks(*_: Any, **__: Any) -> Any:
        raise RunError(Fault("flow[0].algorithm", "this kernel has no 'cwndlab_vegas' for 'vegas'", ""))

    monkeypatch.setattr(engine, "emulate", lacks)
    dossier = cwndlab.assess("vegas", quick=True, seeds=2, sections=RTT_ONLY, emulate=True)
    words = "not assessed because this kernel has no 'cwndlab_vegas' for 'vegas'"
    assert dossier.finding("6.3", environment="emulated") == words
    assert dossier.rows[0]["environments"] == ["simulated"]
    assert words in dossier.markdown()
    file = write_class(tmp_path, cwnd="1000")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "emulate", None)
        custom = cwndlab.assess(str(file), quick=True, seeds=2, sections=RTT_ONLY, emulate=True)
    assert custom.finding("6.3", environment="emulated").endswith("a class in Python is no algorithm of a kernel")


def test_a_dossier_without_an_emulated_part_has_no_such_finding() -> None:
    content = {"rows": [{"section": "6.3", "measures": [{"against": {}}], "reason": ""}], "families": {}}
    with pytest.raises(cwndlab.ScenarioError, match="nothing was emulated"):
        Dossier(content).finding("6.3", environment="emulated")


def test_a_cell_between_real_kernels_is_in_the_row_of_the_simulated_ones(small: None, tmp_path: Path) -> None:
    """A path with a base RTT of 20 ms: no RTT of a kernel is below it."""
    try:
        dossier = cwndlab.assess("cubic", quick=True, seeds=2, sections=RTT_ONLY, emulate=True, out=tmp_path, workers=1)
    except cwndlab.ArgumentError as error:
        if "unshare" in str(error) or "/dev/net/tun" in str(error):
            pytest.skip(str(error))
        raise
    (row,) = dossier.rows
    assert row["environments"] == ["simulated", "emulated"]
    (measure,) = row["measures"]
    values = measure["emulated"]["raw"]
    assert set(values) == {"assessed", "cubic", "reno"}
    assert all(one["mean"] >= 20 for one in values.values())
    assert measure["emulated"]["against"]["cubic"]["runs"] == 2
    assert dossier.finding("6.3", environment="emulated").startswith(("as ", "better ", "worse ", "unresolved"))
    assert dossier.agreement("emulated")["all"] == 2
    text = (tmp_path / "dossier.md").read_text()
    assert "simulated, emulated" in text
    assert "## Emulated" in text
    assert "16 Mbps, 20 ms, 1 bdp" in (tmp_path / "dossier.html").read_text()
    read = cwndlab.load(tmp_path)
    assert isinstance(read, Dossier)
    assert read.table().rows == dossier.table().rows
    assert dossier.command().endswith("--emulate --seeds 2")
