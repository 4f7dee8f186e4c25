"""The answer: tables that come back as they were, and files that say what is wrong with them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cwndlab
import generated
import polars as pl
import pytest
import records_doc
from cwndlab import Records, RecordsError, RunError, Scenario, ScenarioError
from cwndlab.engine import tables
from cwndlab.errors import ArgumentError
from cwndlab.records import TABLES
from cwndlab.scenario.media import Wlan

PAGE = Path(__file__).parents[1] / "docs" / "records.md"


@pytest.fixture
def records(scenario: Scenario) -> Records:
    return cwndlab.run(scenario.with_(packets=True), seed=7)


def test_every_table_is_a_frame(records: Records) -> None:
    for name in TABLES:
        frame = records.frame(name)
        assert isinstance(frame, pl.DataFrame)
        assert frame.equals(getattr(records, name))
        assert frame.to_dicts() == records.rows(name)
    assert records.runs.height == 1
    assert records.flows.height == 2
    assert records.samples.height > 0
    assert records.packets.height > 100


def test_the_tables_have_the_declared_columns(records: Records) -> None:
    """crates/records/src/rows.rs declares them; a class in Python has a property for each table."""
    types = {
        "uint8": pl.UInt8,
        "uint32": pl.UInt32,
        "uint64": pl.UInt64,
        "int64": pl.Int64,
        "float64": pl.Float64,
        "bool": pl.Boolean,
        "text": pl.String,
    }
    assert tuple(table["name"] for table in tables()) == TABLES
    for table in tables():
        schema = records.frame(table["name"]).schema
        assert schema == {column["name"]: types[column["type"]] for column in table["columns"]}


def test_the_documentation_of_the_columns_is_that_of_the_declarations() -> None:
    blocks = {block.name: block.body.strip() for block in generated.blocks([PAGE])}
    columns = {f"records {name}": records_doc.markdown(name) for name in TABLES}
    assert blocks == {**columns, "findings": records_doc.findings()}
    for table in tables():
        for column in table["columns"]:
            assert column["description"].endswith("."), (table["name"], column["name"])


def test_an_unknown_table_is_named(records: Records) -> None:
    with pytest.raises(ArgumentError, match="table: no table is called 'walks'\n  hint: did you mean 'links'"):
        records.rows("walks")
    with pytest.raises(ArgumentError, match="no table is called 'walks'"):
        records.frame("walks")


def test_differences_of_counters_may_be_negative(records: Records) -> None:
    """Unsigned columns would wrap around."""
    for name in TABLES:
        frame = records.frame(name)
        unsigned = [column for column in frame.columns if frame[column].dtype == pl.UInt64]
        assert unsigned == (["seed"] if name == "runs" else [])


def test_the_header_says_of_which_run(records: Records, scenario: Scenario) -> None:
    assert records.seed == 7
    assert records.version == cwndlab.version()
    assert records.scenario == scenario.with_(packets=True)
    assert records.scenario_hash == records.scenario.hash
    assert records.document == records.scenario.to_document()
    row = records.rows("runs")[0]
    assert row["scenario_hash"] == records.scenario_hash
    assert (row["seed"], row["engine"], row["version"]) == (7, "simulate", cwndlab.version())
    assert (row["duration_ns"], row["measure_from_ns"], row["sample_interval_ns"]) == (2_000_000_000, 0, 100_000_000)
    assert repr(records) == f"<Records of scenario {records.scenario_hash[:12]}, seed 7>"


#: The figures of a run with two flows and without transfers.
FIGURES = ("cwnd", "goodput", "rtt", "queue", "loss", "share", "phase", "overview", "cdf-rtt", "cdf-queue")


def test_a_run_draws_its_figures(records: Records) -> None:
    """The same figures as the functions of `cwndlab.plot`."""
    plot = cwndlab.plot
    for kind in plot.SERIES:
        assert records.plot(kind) == plot.series(records, kind)
    assert records.plot() == records.plot("cwnd")
    assert records.plot("share") == plot.share(records)
    assert records.plot("cdf-rtt") == plot.cdf(records, "rtt")
    assert all(records.plot(kind) is not None for kind in FIGURES)


def test_a_figure_without_data_or_of_another_name_is_refused(records: Records) -> None:
    with pytest.raises(ScenarioError) as raised:
        records.plot("spectrum")
    (fault,) = raised.value.faults
    assert (fault.where, fault.what) == ("kind", "no figure is called 'spectrum'")
    assert set(FIGURES) < set(fault.hint.removeprefix("there are ").split(", "))
    with pytest.raises(ScenarioError) as raised:
        records.plot("cdf-completion")
    assert str(raised.value) == (
        "kind: the run has no data for 'cdf-completion'\n  hint: it needs samples or transfers"
    )


def test_the_flow_table_of_a_notebook_has_the_numbers_of_the_frames(records: Records) -> None:
    """One row per flow; goodput and RTTs by the metrics and the totals, in the units of the headings."""
    html = records._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == 1 + 2
    goodput = cwndlab.metrics.goodput(records)["goodput_bps"]
    for row, rate in zip(records.rows("flows"), goodput, strict=True):
        losses = row["queue_drops"] + row["wire_losses"]
        numbers = [f"{rate / 1e6:.4g}", f"{row['mean_rtt_ns'] / 1e6:.4g}", f"{row['min_rtt_ns'] / 1e6:.4g}", losses]
        cells = [row["name"], row["algorithm"], *numbers, row["retransmitted_packets"], row["timeouts"]]
        assert "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" in html
    assert f"seed 7, 2 s (simulate, {cwndlab.version()})" in html


def test_the_flow_table_of_a_notebook_is_short_and_escaped(scenario: Scenario) -> None:
    many = scenario.with_({"title": "<i>", "flow[0].count": 30, "flow[0].name": "a&b"})
    html = cwndlab.run(many.with_(duration="100 ms"), seed=1)._repr_html_()
    assert "<caption>&lt;i&gt;, seed 1" in html
    assert "<td>a&amp;b-1</td>" in html
    assert html.count("<tr>") == 1 + 20 + 1
    assert "11 more flows" in html


def test_a_table_becomes_a_pandas_frame(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    for name in TABLES:
        frame = records.to_pandas(name)
        assert list(frame.columns) == records.frame(name).columns
        assert len(frame) == records.height(name)
    assert records.to_pandas("flows")["delivered_bytes"].tolist() == records.flows["delivered_bytes"].to_list()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RunError) as raised:
        records.to_pandas("flows")
    assert str(raised.value) == ("to_pandas: the module pandas is not installed\n  hint: pip install 'cwndlab[pandas]'")


def test_a_run_writes_its_page(records: Records, tmp_path: Path) -> None:
    records.report(tmp_path / "own.html")
    cwndlab.report(records, tmp_path / "other.html")
    assert (tmp_path / "own.html").read_bytes() == (tmp_path / "other.html").read_bytes()


#: What a run without a medium of 802.11 writes.
WRITTEN = [table["name"] for table in tables() if not table["optional"]]


def test_what_is_written_is_read_back(records: Records, tmp_path: Path) -> None:
    records.save(tmp_path / "out")
    files = [*(f"{name}.parquet" for name in WRITTEN), "SHA256SUMS"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(files)
    again = Records.read(tmp_path / "out")
    assert again.hash() == records.hash()
    assert again.scenario == records.scenario
    assert (again.seed, again.version, again.notes) == (records.seed, records.version, records.notes)
    for name in TABLES:
        assert again.frame(name).equals(records.frame(name))


def test_other_readers_of_parquet_see_the_same(records: Records, tmp_path: Path) -> None:
    records.save(tmp_path)
    for name in WRITTEN:
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(records.frame(name))
    metadata = pl.read_parquet_metadata(tmp_path / "flows.parquet")
    assert metadata["cwndlab.seed"] == "7"
    assert metadata["cwndlab.scenario_hash"] == records.scenario_hash
    assert Scenario.from_json(metadata["cwndlab.scenario"]) == records.scenario


def test_a_run_over_802_11_writes_its_stations(tmp_path: Path) -> None:
    """Rows at every sample, the last of which is the end: an access point and two stations, 20 instants."""
    flows = [cwndlab.Flow("cubic", rtt="20 ms"), cwndlab.Flow("cubic", rtt="20 ms", direction="upload")]
    scenario = Scenario(duration="2 s", wlan=Wlan(standard="802.11g"), flows=flows, sample_interval="100 ms")
    records = cwndlab.run(scenario, seed=1)
    records.save(tmp_path)
    stations = Records.read(tmp_path).stations
    assert stations.equals(records.stations)
    assert sorted(stations["station"].unique()) == ["ap", "sta0", "sta1"]
    assert stations.height == 3 * 20
    totals = stations.filter(pl.col("time_ns") == 2_000_000_000)
    assert (totals["attempts"] > totals["collisions"]).all()


def test_records_of_another_run_are_kept(records: Records, scenario: Scenario, tmp_path: Path) -> None:
    records.save(tmp_path)
    records.save(tmp_path)
    with pytest.raises(RecordsError) as told:
        cwndlab.run(scenario, seed=8).save(tmp_path)
    assert str(told.value) == (
        f"{tmp_path}: holds another run (scenario {records.scenario_hash[:12]}, seed 7, version {cwndlab.version()})\n"
        "  hint: name a folder that is empty or does not exist"
    )
    assert Records.read(tmp_path).hash() == records.hash()


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_truncated_file_is_named(records: Records, tmp_path: Path, kept: float) -> None:
    records.save(tmp_path)
    file = tmp_path / "events.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole)) if kept == 0.5 else int(kept)])
    with pytest.raises(RecordsError) as told:
        Records.read(tmp_path)
    (fault,) = told.value.faults
    assert fault.where == str(file)
    assert fault.what == "does not match its checksum in SHA256SUMS"
    assert fault.hint == "it was truncated, altered or belongs to another run; run again"


def test_a_flipped_bit_in_any_file_is_refused(
    records: Records, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Parquet notices only some: of 600 flipped bits 25 used to change values silently."""
    records.save(tmp_path)
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for count, at in enumerate(range(0, len(whole), max(1, len(whole) // 60))):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << count % 8)]) + whole[at + 1 :])
            with pytest.raises(RecordsError, match="checksum"):
                Records.read(tmp_path)
        file.write_bytes(whole)
    assert Records.read(tmp_path).hash() == records.hash()
    assert capfd.readouterr() == ("", "")


def test_sha256sum_checks_a_run(records: Records, tmp_path: Path) -> None:
    records.save(tmp_path)
    for line in (tmp_path / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordsError) as told:
        Records.read(tmp_path)
    assert str(told.value) == (
        f"{tmp_path / 'runs.parquet'}: there is no such file\n"
        "  hint: name a folder that `cwndlab run --out` has written"
    )


def test_a_foreign_parquet_file_is_told(records: Records, tmp_path: Path) -> None:
    records.save(tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "flows.parquet")
    with pytest.raises(RecordsError) as told:
        Records.read(tmp_path)
    assert str(told.value) == (
        f"{tmp_path / 'flows.parquet'}: was not written by cwndlab (its header has no 'cwndlab.schema_version')\n"
        "  hint: name a folder that `cwndlab run --out` has written"
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 16 kB, where this machine lets us make one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    try:
        mounted = os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a tmpfs needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_told_and_nothing_is_lost(records: Records, small_disk: Path) -> None:
    (small_disk / "mine").write_text("kept")
    out = small_disk / "out"
    with pytest.raises(RecordsError) as told:
        records.save(out)
    (fault,) = told.value.faults
    assert Path(fault.where).parent == out
    assert fault.what == "no space is left on the device"
    assert fault.hint == "free some space or name another folder; nothing of this run was kept there"
    assert [file.name for file in small_disk.iterdir()] == ["mine"]
    assert (small_disk / "mine").read_text() == "kept"
