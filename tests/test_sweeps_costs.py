"""The cost of a sweep before it runs."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cwndlab.study.calibration import Calibration, Line, samples, total
from cwndlab.study.result import Result
from cwndlab.study.sweeps import sweep
from cwndlab.study.sweeps.run import left
from small_sweeps import described, small_sweep

Called = tuple[int, str, str]
ROOT = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(described())
    return path


def test_a_dry_run_tells_runs_packets_and_time(file: Path, cli: Callable[..., Called]) -> None:
    out = file.parent / "out"
    status, printed, _ = cli("sweep", file, "--out", out, "--dry-run", "--format", "json", "--workers", "4")
    (told,) = json.loads(printed)
    assert status == 0
    assert (told["cells"], told["runs"], told["left"], told["workers"]) == (12, 24, 24, 4)
    assert not out.exists()
    cli("sweep", file, "--out", out)
    sent = Result.read(out).runs["packets"].sum()
    # Every cell is calibrated, and a run of half a second is its own calibration, with another seed.
    assert told["packets"] == pytest.approx(sent, rel=0.1)
    assert told["hours"] == pytest.approx(told["cpu_s"] / 4 / 3600)
    assert json.loads(cli("sweep", file, "--out", out, "--dry-run", "--format", "json")[1])[0]["left"] == 0


def test_a_dry_run_is_printed_for_papers_too(file: Path, cli: Callable[..., Called]) -> None:
    for form, line in (("markdown", "| runs | 24 |"), ("latex", "runs & 24 \\\\")):
        status, printed, _ = cli("sweep", file, "--out", file.parent / "out", "--dry-run", "--format", form)
        assert status == 0
        assert line in [" ".join(one.split()) for one in printed.splitlines()]


def test_costs_of_a_few_cells_tell_those_of_all() -> None:
    """On what 72 cells took on one machine: calibration runs of each cell, and the whole run."""
    with (ROOT / "tests" / "samples" / "sweep-costs.csv").open() as file:
        rows = list(csv.DictReader(file))
    sizes = [float(row["size"]) for row in rows]
    hashes = [hashlib.sha256(str(index).encode()).hexdigest() for index in range(len(rows))]

    def point(row: dict[str, str], which: str) -> Calibration:
        size, packets, cpu_ms = (float(row[f"{which}_{name}"]) for name in ("size", "packets", "cpu_ms"))
        return Calibration(size, packets, cpu_ms / 1e3)

    took = sum(float(row["packets"]) for row in rows), sum(float(row["cpu_ms"]) for row in rows) / 1e3
    for most, fewest, accuracy in ((24, 18, 0.2), (48, 24, 0.1), (72, 72, 0.05)):
        of = samples([row["algorithm"] for row in rows], sizes, hashes, most).tolist()
        assert fewest <= len(set(of)) <= most
        assert {rows[cell]["algorithm"] for cell in of} == {"cubic", "bbr1", "ledbat"}
        lines = {
            cell: Line.through(point(rows[cell], "half"), point(rows[cell], "whole"), sizes[cell]) for cell in set(of)
        }
        assert total(lines, of, sizes, [1] * len(rows)) == pytest.approx(took, rel=accuracy), most
        thrice = total(lines, of, sizes, [3] * len(rows))
        assert thrice == pytest.approx([3 * one for one in total(lines, of, sizes, [1] * len(rows))])


def test_a_line_through_two_runs_has_no_negative_part() -> None:
    # The shorter run took more, as on a machine with others: all is a run's, nothing a packet's.
    assert Line.through(Calibration(50, 20, 0.9), Calibration(100, 60, 0.7), 100) == (0.6, 0.7, 0.0)
    # It took nearly nothing: all is the packets', nothing a run's.
    assert Line.through(Calibration(50, 50, 0.0), Calibration(100, 60, 0.6), 100) == pytest.approx((0.6, 0.0, 0.01))
    # Nothing is sent.
    assert Line.through(Calibration(1, 0, 0.2), Calibration(2, 0, 0.2), 4) == (0.0, 0.2, 0.0)


def test_runs_that_are_left_are_counted_by_cell(tmp_path: Path) -> None:
    rate = "dumbbell.bottleneck.rate"
    sweep(small_sweep(product={rate: ["5 Mbps"]}, seeds=[1, 2]), out=tmp_path)
    cells, counts = left(small_sweep(product={rate: ["5 Mbps", "10 Mbps"]}, seeds=[1, 2, 3]), tmp_path)
    assert {cell.labels[rate]: count for cell, count in zip(cells, counts, strict=True)} == {"5 Mbps": 1, "10 Mbps": 3}
