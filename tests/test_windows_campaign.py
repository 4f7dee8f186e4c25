"""A campaign of a Windows host from plan to page, on a path in the simulator: `windows plan`, `rehearse`, `import`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import RecordsError, ScenarioError
from cwndlab.live import windows
from cwndlab.live.results import Measurement
from cwndlab.live.windows.captures import audited, captured
from cwndlab.live.windows.plan import plan_of

Cli = Callable[..., tuple[int, str, str]]
BASE: dict[str, Any] = {
    "url": "https://host.example/put",
    "algorithms": ("cubic", "newreno"),
    "version": "windows-10-20h1",
    "prefix": "192.0.2.0/24",
    "rounds": 2,
    "size_bytes": 4_000_000,
    "capture": True,
}
#: 20 Mbit/s with a base RTT of 40 ms, and a queue of a third of the BDP, so that each transfer has losses.
PATH = cwndlab.Scenario(
    duration="20 s",
    start_jitter="1 s",
    dumbbell=cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="20 Mbit/s", queue=cwndlab.DropTail("22 packets"))),
    flows=[cwndlab.Flow("reno", name="transfer", rtt="40 ms", workload=cwndlab.scenario.workloads.Bulk(bytes="4 MB"))],
)


def plan(**changes: Any) -> windows.Plan:
    return windows.Plan(**BASE | changes)


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return windows.rehearse(plan(), PATH, tmp_path_factory.mktemp("rehearsal"))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"autotuning": ("normal", "disabled"), "capture": False},
        {"autotuning": ("restricted",), "ecn": "enabled", "remote_port": 8443, "seed": 7, "name": "x"},
        {"direction": "download", "size_bytes": None, "template": "Internet", "prefix": ""},
        {"version": "server-2022", "algorithms": ("ledbat", "cubic")},
    ],
)
def test_a_script_has_its_whole_plan(changes: dict[str, Any]) -> None:
    made = plan(**changes)
    assert plan_of(made.script(), "f") == made


@pytest.mark.parametrize(
    ("given", "hour"), [("2000-01-01T08:00", 8), ("2000-01-01T08:00+05:00", 3), ("2000-01-01T08:00Z", 8)]
)
def test_the_start_of_a_rehearsal_may_have_an_offset(
    given: str, hour: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ISO 8601: 08:00+05:00 is 03:00 in UTC; without an offset it is UTC."""
    script, began = tmp_path / "plan.ps1", list[datetime]()
    script.write_text(plan().script(), encoding="utf-8")

    def rehearsed(*_: object, begins: datetime, **__: object) -> list[Path]:
        began.append(begins)
        return [tmp_path / "results.csv"]

    monkeypatch.setattr(windows, "rehearse", rehearsed)
    from cwndlab.cli.app import status

    assert status(["windows", "rehearse", str(script), "--begins", given]) == 0
    assert began == [datetime(2000, 1, 1, hour, tzinfo=UTC)]


def test_a_script_that_was_changed_is_not_rehearsed() -> None:
    script = plan().script()
    with pytest.raises(ScenarioError, match="differs from what this cwndlab writes"):
        plan_of(script.replace("Start-Sleep", "Start-Nothing"), "f")
    with pytest.raises(ScenarioError, match="is no script"):
        plan_of("Write-Host 'hello'", "f")


def test_a_rehearsal_has_the_transfers_of_the_script_and_their_captures(rehearsal: list[Path]) -> None:
    results, *captures = rehearsal
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    order = [(number, name) for number in (1, 2) for name in plan().campaign.order(number, "https://host.example")]
    assert [(row["round"], row["treatment"]) for row in lines[1:]] == order
    assert [row["capture"] for row in lines[1:]] == [path.name for path in captures]
    # By hand: 1448 of 1500 bytes are payload, so that 4 MB take at least 4 · 8 / 19.31 = 1.66 s.
    assert all(1.66 < row["seconds"] < 3 for row in lines[1:])
    assert "simulated" in " ".join(windows.measurement_of(results.read_text(), "f").notes)


def test_a_capture_shows_what_the_sender_did(rehearsal: list[Path]) -> None:
    """The simulator's own counts: bytes, retransmissions, and the RTT of the handshake, which is the base RTT and the
    serialisation of two packets of 60 bytes or less (0.05 ms at 20 Mbit/s)."""
    results, first, *_ = rehearsal
    row = json.loads(results.read_text().splitlines()[1])
    scenario = PATH.with_(
        {
            "flow[0].algorithm": windows.VERSIONS["windows-10-20h1"].reference(row["provider"]),
            "flow[0].profile": "windows-10-20h1",
        }
    )
    flow = cwndlab.run(scenario, seed=1_000_004).rows("flows")[0]
    shown = captured(first)
    last = dict(zip(shown["columns"], shown["rows"][-1], strict=True))
    assert last["acked_bytes"] == 4_000_000
    assert last["sent_packets"] == flow["sent_packets"]
    assert last["retransmitted_packets"] == flow["retransmitted_packets"] > 0
    assert 0 <= shown["established_ns"] - shown["opened_ns"] - 40_000_000 < 100_000


def test_the_provider_of_a_capture_is_told_from_others(rehearsal: list[Path]) -> None:
    """The sender is the library's own CUBIC: nearly all decisive ACKs agree with it, and fewer with NewReno."""
    file = next(path for path in rehearsal[1:] if "001-cubic" in path.name)
    shown = captured(file)
    own, other = (audited(file, shown, name) for name in ("cubic+hystart-pp", "reno+hystart-pp"))
    assert own["audit_share"] is None or own["audit_share"] > 0.95
    assert (own["audit_share"] or 1) >= (other["audit_share"] or 0)


def test_captures_become_records_a_campaign_and_a_page(rehearsal: list[Path], cli: Cli, tmp_path: Path) -> None:
    folder, survey = tmp_path / "campaign", tmp_path / "survey.json"
    survey.write_text(
        json.dumps({"host": "host.example", "rtt": [], "route": [], "networks": [], "tcp": [], "unknown": []})
    )
    (rehearsal[0].parent / "campaign.ps1").write_text("not read")
    status, out, err = cli("windows", "import", rehearsal[0].parent, survey, "--out", folder, "--zone", "UTC")
    assert (status, "not contradicted" in out) == (0, True), err
    kept = Measurement.read(folder)
    assert [(row["round"], row["algorithm"]) for row in kept.rows] == [
        (number, name) for number in (1, 2) for name in ("cubic", "newreno")
    ]
    assert all(
        row["retransmitted_packets"] > 0 and row["idle_rtt_ms"] == pytest.approx(40, abs=0.1) for row in kept.rows
    )
    assert len(kept.preflight) == 1
    records = kept.examples["cubic"]
    samples = records.rows("samples")
    assert samples[-1]["delivered_bytes"] == 4_000_000
    assert max(row["in_flight_bytes"] or 0 for row in samples) > 22 * 1448
    page = (folder / "report.html").read_text()
    assert "The senders beside the library" in page
    assert "simulated: a rehearsal" in page
    assert cli("report", folder)[0] == 0
    with pytest.raises(RecordsError, match="has a campaign already"):
        windows.import_files(rehearsal, out=folder, zone="UTC")


def test_captures_without_their_results_are_refused(rehearsal: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="belongs to no results file"):
        windows.import_files(rehearsal[1:])
    stray = tmp_path / "stray.pcapng"
    stray.write_bytes(rehearsal[1].read_bytes())
    with pytest.raises(ScenarioError, match="is the capture of no transfer"):
        windows.import_files([rehearsal[0], stray])


def test_a_download_has_the_window_of_its_auto_tuning(tmp_path: Path) -> None:
    """By hand: without scaling 65,535 bytes per RTT of 40 ms are 13.1 Mbit/s; the line carries 20."""
    made = plan(
        direction="download", size_bytes=None, autotuning=("disabled", "normal"), algorithms=("cubic",), rounds=1
    )
    results, *captures = windows.rehearse(made, PATH, tmp_path)
    rates = {
        row["autotuning"]: row["bytes"] * 8 / row["seconds"] / 1e6
        for row in map(json.loads, results.read_text().splitlines()[1:])
    }
    assert rates["disabled"] < 13.2
    assert rates["normal"] > 13.5
    # The capture is that of the receiver: it is not compared with an algorithm.
    imported = windows.import_files([results, *captures])
    assert imported.results is not None
    assert all("reference" not in row for row in imported.results.rows)


def test_a_transfer_that_does_not_end_is_a_failure(tmp_path: Path) -> None:
    slow = PATH.with_({"dumbbell.bottleneck.rate": "1 Mbps"})
    made = plan(rounds=1, capture=False)
    results = windows.rehearse(made, slow, tmp_path)
    measurement = windows.import_files(results, out=tmp_path / "kept").results
    assert measurement is not None
    assert not measurement.rows
    assert any("not finished at the end of the scenario" in note for note in measurement.notes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"version": "windows-11"}, "'ledbat' is not a provider of a template in Windows 11"),
        ({"template": "DatacenterCustom"}, "'ledbat' stays slow on the template DatacenterCustom"),
    ],
)
def test_ledbat_is_set_where_windows_has_it(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ScenarioError, match=fault):
        plan(**{"algorithms": ("ledbat",), "version": "server-2019"} | changes)
