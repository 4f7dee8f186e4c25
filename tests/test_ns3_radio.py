"""Cells of 802.11 whose stations do not all receive each other, beside ns-3 3.37 (`known-answers/ns3-radio`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cwndlab.validation.references.radio import SHARE, THROUGHPUT, deviations, document

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "known-answers" / "ns3-radio" / "cells.json").read_text()
)["cells"]

#: Where we differ, and why.
KNOWN = {
    "a-mpdu hidden mcs 7": "shares of 30 s vary from seed to seed: in ns-3 from 0.1 to 0.3",
    "a-mpdu hidden mcs 7 rts": "shares of 30 s vary from seed to seed: in ns-3 from 0.3 to 0.5",
    "a-mpdu hidden one of three with a lifetime": "in ns-3 the third starts without a BlockAck agreement",
    "a-mpdu hidden mcs 7 without requests": "ns-3 counts failures across BlockAcks, and asks after the last",
    "a-mpdu hidden mcs 7 without requests, agreed": "ns-3 counts failures across BlockAcks, and asks after the last",
    "ideal 802.11n at 19 dB": "the error rate of MCS 6 there is 2 % by the three points of our table",
    "edca 802.11n voice and best effort rts": "ns-3 sends an RTS before each frame of a TXOP",
    "edca 802.11n three video, three background": "ns-3 senses a frame 4 us after its start",
    "edca 802.11n hidden video, agreed": "ns-3 senses a frame 4 us after its start",
}
#: Where the shares differ by chance, so that the sum must agree.
VARYING = ["a-mpdu hidden mcs 7", "a-mpdu hidden mcs 7 rts", "a-mpdu hidden one of three with a lifetime"]


@pytest.mark.parametrize("family", ["hidden", "exposed", "aggregates", "rates", "ax", "edca"])
def test_throughputs_and_shares_are_those_of_ns3(family: str) -> None:
    """Throughput within 5 %, shares within 0.05: the mean of three seeds of 30 s on both sides."""
    found = deviations(cell for cell in CELLS if cell["family"] == family)
    apart = {one.name: (one.throughput, one.share) for one in found if not one.agrees and one.name not in KNOWN}
    assert apart == {}
    sums = {one.name: one.throughput for one in found if one.name in VARYING}
    assert all(abs(sum_) <= THROUGHPUT for sum_ in sums.values()), sums
    assert len(found) >= 9


def test_the_cells_are_at_least_sixty_and_all_have_results() -> None:
    assert len(CELLS) >= 60
    assert all(len(cell["ns3_mbps"]) == 3 for cell in CELLS)
    assert (THROUGHPUT, SHARE) == (0.05, 0.05)


def test_a_cell_states_the_power_between_every_two_nodes() -> None:
    """By hand: three nodes have three pairs, of which the hidden one has ns-3's least power."""
    cell = next(cell for cell in CELLS if cell["name"] == "hidden two 24 Mbps 1500 B")
    powers = {(one["from"], one["to"]): one["dbm"] for one in document(cell, 1)["received"]}
    assert powers == {("n0", "n1"): -150, ("n0", "n2"): -60, ("n1", "n2"): -60}
