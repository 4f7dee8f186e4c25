#!/usr/bin/env python3
"""Runs cells of 802.11 and LTE in ns-3 and writes them with their results to known-answers/ns3-radio/cells.json.

Needs Debian's ns3, libns3-dev and g++. A cell that the file has already, with the same description, is not run again.

    python tools/ns3_radio/cells.py            # all cells
    python tools/ns3_radio/cells.py hidden     # one family
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "known-answers" / "ns3-radio" / "cells.json"
#: ns-3's noise floor: -101 dBm in 20 MHz and a noise figure of 7 dB.
NOISE_DBM = -94
SEEDS = (1, 2, 3)
MODULES = "wifi lte internet applications buildings point-to-point spectrum propagation antenna mobility network stats"
#: Mbit/s offered to a station that always has a frame: more than any mode here carries.
SATURATED = {"802.11g": 56, "802.11n": 67}

Cell = dict[str, Any]
Power = tuple[int, int, float]


def wifi(name: str, powers: list[Power], flows: list[tuple[int, int]], **changes: Any) -> Cell:
    """A cell of 802.11: received powers in dBm between nodes that receive each other at all, and saturated flows."""
    cell: Cell = {"name": name, "standard": "802.11g", "rate_mbps": 24, "adaptation": "fixed", "rts": False}
    cell |= {"bytes": 1500, "seconds": 30, "powers": powers, "flows": flows} | changes
    most = cell["rate_mbps"] if cell["standard"] == "802.11g" and cell["adaptation"] == "fixed" else math.inf
    return {"mbps": min(most, SATURATED[cell["standard"]])} | cell


def to_one(count: int, dbm: float = -60, *, hear: bool = False) -> tuple[list[Power], list[tuple[int, int]]]:
    """Senders to a receiver, which is the last node; `hear`: they receive each other too."""
    powers: list[Power] = [(one, count, dbm) for one in range(count)]
    if hear:
        powers += [(a, b, dbm) for a in range(count) for b in range(a)]
    return powers, [(one, count) for one in range(count)]


def hidden() -> Iterator[Cell]:
    """Senders that do not receive each other."""
    for rts in (False, True):
        with_rts = " rts" if rts else ""
        for mbps in (6, 24, 54):
            for size in (500, 1500):
                name = f"hidden two {mbps} Mbps {size} B{with_rts}"
                yield wifi(name, *to_one(2), rate_mbps=mbps, bytes=size, rts=rts)
        yield wifi(f"hidden three{with_rts}", *to_one(3), rts=rts)
        powers, flows = to_one(3)
        yield wifi(f"hidden one of three{with_rts}", [*powers, (0, 1, -60)], flows, rts=rts)
    for mbps in (24, 54):
        for dbm in (-65, -70, -75):
            name = f"hidden weaker {dbm} dBm {mbps} Mbps"
            yield wifi(name, [(0, 2, -60), (1, 2, dbm)], [(0, 2), (1, 2)], rate_mbps=mbps)
    for offered in (2, 4, 6):
        yield wifi(f"hidden two at {offered} Mbps each", *to_one(2), mbps=offered)


def exposed() -> Iterator[Cell]:
    """Pairs 0 to 2 and 1 to 3 that disturb each other in part."""
    pairs: list[Power] = [(0, 2, -60), (1, 3, -60)]
    flows = [(0, 2), (1, 3)]
    for mbps in (24, 54):
        yield wifi(f"exposed senders {mbps} Mbps", [*pairs, (0, 1, -70)], flows, rate_mbps=mbps)
        for dbm in (-80, -70):
            name = f"exposed receiver {dbm} dBm {mbps} Mbps"
            yield wifi(name, [*pairs, (0, 3, dbm)], flows, rate_mbps=mbps)
        all_of_them: list[Power] = [*pairs, (0, 1, -70), (0, 3, -70), (1, 2, -70), (2, 3, -70)]
        yield wifi(f"exposed all {mbps} Mbps", all_of_them, flows, rate_mbps=mbps)
    cells: list[Power] = [(0, 2, -60), (1, 2, -60), (0, 1, -60), (3, 5, -60), (4, 5, -60), (3, 4, -60)]
    four = [(0, 2), (1, 2), (3, 5), (4, 5)]
    yield wifi("exposed cells at a border", [*cells, (1, 3, -75)], four)
    yield wifi("exposed cells, receivers", [*cells, (2, 5, -75), (1, 5, -78), (3, 2, -78)], four)


def aggregates() -> Iterator[Cell]:
    """A-MPDU of 802.11n."""
    for mcs in (3, 7):
        for count in (1, 2, 5, 10):
            yield wifi(f"a-mpdu {count} mcs {mcs}", *to_one(count, hear=True), standard="802.11n", mcs=mcs)
    for size in (200, 500):
        yield wifi(f"a-mpdu {size} B", *to_one(1), standard="802.11n", mcs=7, bytes=size)
    for mcs, snr in ((7, 19.2), (7, 19.6), (7, 20.5), (4, 12.4), (4, 12.8)):
        name = f"a-mpdu mcs {mcs} at {snr} dB"
        yield wifi(name, *to_one(1, NOISE_DBM + snr), standard="802.11n", mcs=mcs)
    for mcs in (3, 7):
        yield wifi(f"a-mpdu hidden mcs {mcs} rts", *to_one(2), standard="802.11n", mcs=mcs, rts=True)
    yield wifi("a-mpdu hidden mcs 7", *to_one(2), standard="802.11n", mcs=7)
    for count in (1, 5):
        name = f"802.11n {count} without a-mpdu"
        yield wifi(name, *to_one(count, hear=True), standard="802.11n", mcs=7, aggregation=False)
    yield wifi("a-mpdu both directions", [(0, 1, -60)], [(0, 1), (1, 0)], standard="802.11n", mcs=7)


def rates() -> Iterator[Cell]:
    """Rate adaptation on a constant channel."""
    # Below 12 dB the power is below the threshold of a preamble, -82 dBm.
    for snr in (10, 13, 14, 16, 18, 20, 25):
        yield wifi(f"ideal 802.11g at {snr} dB", *to_one(1, NOISE_DBM + snr), adaptation="ideal")
    for adaptation in ("ideal", "minstrel"):
        for snr in (10, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26):
            name = f"{adaptation} 802.11n at {snr} dB"
            yield wifi(name, *to_one(1, NOISE_DBM + snr), standard="802.11n", adaptation=adaptation)
    near, far = NOISE_DBM + 26, NOISE_DBM + 14
    powers: list[Power] = [(0, 2, near), (1, 2, far), (0, 1, far)]
    for adaptation in ("ideal", "minstrel"):
        yield wifi(f"{adaptation} near and far", powers, [(0, 2), (1, 2)], standard="802.11n", adaptation=adaptation)


FAMILIES = {"hidden": hidden, "exposed": exposed, "aggregates": aggregates, "rates": rates}
MANAGERS = {
    ("ideal", "802.11g"): "ns3::IdealWifiManager",
    ("ideal", "802.11n"): "ns3::IdealWifiManager",
    ("minstrel", "802.11n"): "ns3::MinstrelHtWifiManager",
}
#: Control rates of HT MCS 0 to 7, Mbit/s (IEEE 802.11-2016, 10.7.6.5).
CONTROL = (6, 12, 12, 24, 24, 24, 24, 24)


def words(cell: Cell, seed: int) -> str:
    """The input of wifi.cc."""
    is_ht = cell["standard"] == "802.11n"
    nodes = 1 + max(max(a, b) for a, b, _ in cell["powers"])
    lines = [f"standard {'n' if is_ht else 'g'}", f"nodes {nodes}", f"seed {seed}"]
    lines += ["from 2", f"until {2 + cell['seconds']}"]
    if cell["adaptation"] == "fixed":
        mbps = cell["rate_mbps"]
        control = CONTROL[cell["mcs"]] if is_ht else max(rate for rate in (6, 12, 24) if rate <= mbps)
        lines.append("mode " + (f"HtMcs{cell['mcs']}" if is_ht else f"ErpOfdmRate{mbps}Mbps"))
        lines.append(f"control ErpOfdmRate{control}Mbps")
    else:
        lines.append(f"manager {MANAGERS[cell['adaptation'], cell['standard']]}")
    if cell["rts"]:
        lines.append("rts_above 0")
    if not cell.get("aggregation", True):
        lines.append("ampdu 0")
    lines += [f"power {a} {b} {dbm}" for a, b, dbm in cell["powers"]]
    lines += [f"flow {a} {b} {cell['bytes']} {cell['mbps'] * 1e6}" for a, b in cell["flows"]]
    return "\n".join(lines) + "\n"


def build(folder: Path) -> Path:
    """Compiles wifi.cc."""
    program = folder / "wifi"
    libraries = ["-Wl,--no-as-needed", *(f"-lns3-{one}" for one in [*MODULES.split(), "core"])]
    subprocess.run(["g++", "-O2", "-std=c++17", HERE / "wifi.cc", "-o", program, *libraries], check=True)
    return program


def run(program: Path, cell: Cell, seed: int) -> list[float]:
    """The throughput of each flow, Mbit/s of IP packets."""
    printed = subprocess.run([program], input=words(cell, seed), capture_output=True, text=True, check=True).stdout
    return [round(int(line) * 8 / cell["seconds"] / 1e6, 4) for line in printed.split()]


def main() -> None:
    """Runs the cells of the families named on the command line, or all."""
    known = {cell["name"]: cell for cell in json.loads(RESULTS.read_text())["cells"]} if RESULTS.exists() else {}
    chosen = sys.argv[1:] or list(FAMILIES)
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for family in chosen:
            for cell in json.loads(json.dumps([dict(family=family, **one) for one in FAMILIES[family]()])):
                old = known.get(cell["name"])
                if old is not None and {k: v for k, v in old.items() if k != "ns3_mbps"} == cell:
                    continue
                known[cell["name"]] = cell | {"ns3_mbps": [run(program, cell, seed) for seed in SEEDS]}
                sys.stdout.write(f"{cell['name']} {known[cell['name']]['ns3_mbps']}\n")
                sys.stdout.flush()
                write(known)


def write(cells: dict[str, Cell]) -> None:
    """One line per cell, in the order of the families."""
    order = [cell["name"] for family in FAMILIES.values() for cell in family()]
    lines = ",\n".join(json.dumps(cells[name]) for name in order if name in cells)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f'{{"simulator": "ns-3.37", "seeds": {len(SEEDS)}, "cells": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
