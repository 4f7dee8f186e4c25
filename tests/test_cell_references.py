"""Cells beside ns-3: throughputs and shares of full downlink queues (known-answers/ns3-lte/cells.csv)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cwndlab.simulate import run

ROWS = Path(__file__).resolve().parents[1] / "known-answers" / "ns3-lte" / "cells.csv"
SCHEDULERS = {
    "PfFfMacScheduler": "proportional-fair",
    "RrFfMacScheduler": "round-robin",
    "TdMtFfMacScheduler": "max-rate",
}
DURATION_S = 5.0


def cells() -> list[pl.DataFrame]:
    """The rows of each cell of ns-3."""
    rows, found, at = pl.read_csv(ROWS), [], 0
    while at < len(rows):
        found.append(rows[at : at + rows["users"][at]])
        at += rows["users"][at]
    return found


def resource_blocks(cell: pl.DataFrame) -> int:
    """What ns-3 assigns of the bandwidth: whole groups (TS 36.213, table 7.1.6.1-1), and by round robin the same number
    of groups to each user."""
    bandwidth, users = int(cell["resource_blocks"][0]), int(cell["users"][0])
    size = {25: 2, 50: 3, 100: 4}[bandwidth]
    groups = bandwidth // size
    if cell["scheduler"][0] == "RrFfMacScheduler":
        groups -= groups % users
    return groups * size


def scenario(cell: pl.DataFrame) -> dict[str, Any]:
    """The cell as a scenario of ours: users at the SINR of ns-3, whose queues are never empty."""
    users = [(f"ue{n}", snr) for n, snr in enumerate(cell["sinr_db"])]
    workload = {"kind": "cbr", "rate": "90 Mbps", "packet": "1500 B"}
    return {
        "schema_version": 1,
        "duration": f"{DURATION_S} s",
        "cell": [
            {
                "name": "lte",
                "base_station": "enb",
                "resource_blocks": resource_blocks(cell),
                "scheduler": SCHEDULERS[cell["scheduler"][0]],
                "harq": {"probability": 0.0},
            }
        ],
        "link": [{"from": "enb", "to": name, "cell": "lte", "snr": snr} for name, snr in users],
        "flow": [{"transport": "udp", "from": "enb", "to": name, "workload": workload} for name, _ in users],
    }


def test_throughputs_are_within_five_per_cent_of_ns3_and_shares_within_one_twentieth() -> None:
    of_ns3 = cells()
    assert len(of_ns3) == 51
    for cell in of_ns3:
        records = run(scenario(cell), seed=1)
        links = records.links.filter(pl.col("name").str.starts_with("enb-"))
        ours, theirs = links["sent_bytes"] * 8 / DURATION_S, cell["throughput_bps"]
        label = f"{cell['scheduler'][0]}, {cell['resource_blocks'][0]} blocks, {cell['distance_m'].to_list()} m"
        for mine, other in zip(ours, theirs, strict=True):
            # A starved user is served until the first packets of the others arrive.
            assert mine == pytest.approx(other, rel=0.05, abs=5000), label
        assert (ours / ours.sum()).to_list() == pytest.approx((theirs / theirs.sum()).to_list(), abs=0.05), label
