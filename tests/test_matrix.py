"""The matrix: what its rows are, and what it calls odd."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.study import matrix as module
from cwndlab.study.matrix import BUFFERS, COLUMNS, LOSSES, SETTINGS, digest, document, everything, matrix
from cwndlab.study.matrix import _anomalies as anomalies
from cwndlab.study.result import Result


@pytest.fixture(scope="module")
def found() -> Result:
    return matrix(["reno", "vegas"])


@pytest.fixture
def rows(found: Result) -> list[dict[str, Any]]:
    return module.rows(found)


def test_every_cell_is_there_once_and_in_order(rows: list[dict[str, Any]]) -> None:
    cells = [(row["algorithm"], row["setting"], row["buffer_bdp"], row["loss"]) for row in rows]
    one = [(setting.name, buffer, loss) for setting in SETTINGS for buffer in BUFFERS for loss in LOSSES]
    assert cells == [(name, *cell) for name in ("reno", "vegas") for cell in one]
    assert all(tuple(row) == COLUMNS for row in rows)


def test_what_is_known_of_reno_and_vegas_is_seen(rows: list[dict[str, Any]]) -> None:
    """A BDP keeps a halving flow busy (Appenzeller et al., 2004); shares go with 1/RTT² at small buffers (Lakshman,
    Madhow, 1997); Vegas keeps a few segments and gives way to Reno in deep buffers (Mo et al., 1999)."""
    at = {(row["algorithm"], row["setting"], row["buffer_bdp"], row["loss"]): row for row in rows}
    assert at["reno", "equal", 1.0, 0.0]["utilisation"] > 0.99
    assert at["reno", "equal", 1.0, 0.0]["jain"] > 0.95
    assert at["reno", "20 and 200 ms", 0.1, 0.0]["share"] > 0.9
    assert at["reno", "equal", 1.0, 1e-2]["utilisation"] < 0.5
    assert at["vegas", "equal", 4.0, 0.0]["queue_ms"] < 10 < at["reno", "equal", 4.0, 0.0]["queue_ms"]
    assert at["vegas", "beside reno", 4.0, 0.0]["share"] < 0.1


def test_the_same_seed_gives_the_same_rows(rows: list[dict[str, Any]]) -> None:
    assert module.rows(matrix(["vegas"], workers=1)) == rows[45:]


def test_a_saved_matrix_has_the_same_rows_in_terminal_page_and_notebook(
    found: Result, tmp_path: Path, cli: Callable[..., tuple[int, str, str]]
) -> None:
    found.save(tmp_path / "out")
    loaded = cwndlab.load(tmp_path / "out")
    assert isinstance(loaded, Result)
    table, unusual = loaded.table(), module.unusual(module.rows(loaded))
    assert [row[0] for row in table.rows] == ["reno", "vegas"]
    assert len(unusual.rows) > 3
    assert (table, list(table.values)) == (found.table(), module.rows(found))
    status, out, err = cli("report", tmp_path / "out", "--report", tmp_path / "page.html")
    assert (status, out) == (0, f"{table}\n\n{unusual}\n"), err
    page, notebook = (tmp_path / "page.html").read_text(), loaded._repr_html_()
    assert all(f">{word}<" in page for one in (table, unusual) for row in one.rows for word in row if word)
    assert all(f">{word}<" in notebook for row in table.rows for word in row)
    assert "heat" in page


def test_a_matrix_resumes_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTINGS", SETTINGS[:1])
    monkeypatch.setattr(module, "BUFFERS", (0.1,))
    monkeypatch.setattr(module, "_DURATION_S", 25)
    first = matrix(["reno"], out=tmp_path)
    again = matrix(["reno", "cubic"], out=tmp_path)
    assert (first.outcome.ran, again.outcome.resumed, again.outcome.ran) == (3, 3, 3)
    assert module.rows(again)[:3] == module.rows(first)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"utilisation": 0.49}, ["fills less than half of a clean path"]),
        ({"utilisation": 0.49, "loss": 1e-2}, []),
        ({"share": 0.04}, ["the first flow starves"]),
        ({"share": 0.96}, ["the second flow starves"]),
        ({"share": None}, ["nothing arrives"]),
        ({"queue_ms": 100.0, "min_queue_ms": 81.0}, ["standing queue"]),
        ({"queue_ms": 100.0, "min_queue_ms": 60.0}, []),
        ({"queue_ms": 10.0, "min_queue_ms": 9.0}, []),
    ],
)
def test_anomalies_are_starvation_idle_paths_and_standing_queues(change: dict[str, Any], expected: list[str]) -> None:
    plain = {"utilisation": 1.0, "share": 0.5, "loss": 0.0, "queue_ms": 20.0, "min_queue_ms": 1.0}
    assert list(anomalies({**plain, **change})) == expected


def test_routers_have_the_agent_that_a_flow_asks() -> None:
    assert document("rcp", SETTINGS[0], 1.0, 0.0)["dumbbell"]["bottleneck"]["agents"] == ["rcp"]
    assert document("cubic", SETTINGS[0], 1.0, 0.0)["dumbbell"]["bottleneck"]["agents"] == []


def test_a_line_sums_up_an_algorithm() -> None:
    """Rows whose values say of which cell they are; the line is read off by hand."""

    def row(name: str, setting: str, buffer: float, loss: float) -> dict[str, Any]:
        at = 10 * [one.name for one in SETTINGS].index(setting) + 3 * BUFFERS.index(buffer) + LOSSES.index(loss)
        values = {"utilisation": at / 100, "share": at / 100, "jain": at / 100, "queue_ms": at, "drop_ratio": at / 1e4}
        anomalies = "standing queue" if setting == "equal" and loss == 0.0 else ""
        return {
            "algorithm": name,
            "setting": setting,
            "buffer_bdp": buffer,
            "loss": loss,
            "anomalies": anomalies,
            **values,
        }

    cells = [(setting.name, buffer, loss) for setting in SETTINGS for buffer in BUFFERS for loss in LOSSES]
    made = digest([row(name, *cell) for name in ("vegas", "reno") for cell in cells])
    line = {
        "utilisation %": "0/3/6",
        "at loss 1e-4/1e-2 %": "4/5",
        "jain": "0.03",
        "late comer": "0.13",
        "20 of 20+200 ms %": "20/23/26",
        "beside cubic %": "30/33/36",
        "beside reno %": "40/43/46",
        "queue ms": "0/3/6",
        "drops %": "0.00/0.03/0.06",
        "anomalies": "3",
    }
    assert made.header == ["algorithm", *line]
    assert made.rows == [["vegas", *line.values()], ["reno", *line.values()]]


def test_everything_can_send() -> None:
    names = everything()
    assert {"cubic", "bbr3", "rcp", "phcc"} <= set(names)
    assert not {"sirens", "prr", "hystart", "tahoe"} & set(names)
