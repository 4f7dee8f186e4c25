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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
#: 802.11ax in 20 MHz with a guard interval of 0.8 µs, Mbit/s, rounded up.
HE_MBPS = (9, 18, 26, 35, 52, 69, 78, 86, 104, 115, 129, 144)
#: A power at which no mode of 802.11ax has errors.
HE_DBM = -40
#: ns-3's lifetime of a frame, ms; cells without this field have 1000 s, so that no frame is dropped for its age.
LIFETIME_MS = 500
#: User priorities of the access categories (IEEE 802.11-2016, table 10-1).
PRIORITIES = {"background": 1, "best_effort": 0, "video": 5, "voice": 6}

Cell = dict[str, Any]
Power = tuple[int, int, float]


def wifi(name: str, powers: list[Power], flows: list[tuple[int, int]], **changes: Any) -> Cell:
    """A cell of 802.11: received powers in dBm between nodes that receive each other at all, and saturated flows."""
    cell: Cell = {"name": name, "standard": "802.11g", "rate_mbps": 24, "adaptation": "fixed", "rts": False}
    cell |= {"bytes": 1500, "seconds": 30, "powers": powers, "flows": flows} | changes
    if "mbps" in cell:
        return cell
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
    aged: Cell = {"standard": "802.11n", "mcs": 7, "lifetime_ms": LIFETIME_MS}
    for mcs in (3, 7):
        yield wifi(f"a-mpdu hidden mcs {mcs} with a lifetime", *to_one(2), **aged | {"mcs": mcs})
    yield wifi("a-mpdu hidden three with a lifetime", *to_one(3), **aged)
    powers, flows = to_one(3)
    yield wifi("a-mpdu hidden one of three with a lifetime", [*powers, (0, 1, -60)], flows, **aged)
    silent: Cell = {"standard": "802.11n", "mcs": 7, "requests": False}
    yield wifi("a-mpdu hidden mcs 7 without requests", *to_one(2), **silent)
    # A sender that starts while hidden ones are saturated sets up its BlockAck agreement seconds later, and sends
    # single frames until then. Here each sets it up before any of them is saturated.
    first: Cell = {"agreements": True}
    yield wifi("a-mpdu hidden three with a lifetime, agreed", *to_one(3), **aged, **first)
    yield wifi("a-mpdu hidden one of three with a lifetime, agreed", [*powers, (0, 1, -60)], flows, **aged, **first)
    yield wifi("a-mpdu hidden mcs 7 without requests, agreed", *to_one(2), **silent, **first)
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


def high_efficiency() -> Iterator[Cell]:
    """802.11ax: modes, guard intervals and widths of a link, with the window of 256 frames, and senders together.

    The power leaves no errors: in ns-3.37 receivers do not know that a frame has LDPC, and decode it with the error
    rates of BCC. It sends with 3.2 µs if the configuration has 1.6.
    """

    def ax(name: str, powers: list[Power], flows: list[tuple[int, int]], **changes: Any) -> Cell:
        given: Cell = {
            "standard": "802.11ax",
            "width": 20,
            "guard_interval": "0.8 us",
            "queue": 600,
            "seconds": 2,
        } | changes
        # 996 tones of 80 MHz are more than four times 242.
        rate = HE_MBPS[given["mcs"]] * given["width"] / 20 * 1.05
        return wifi(name, powers, flows, **given, mbps=math.ceil(1.1 * rate))

    for mcs in (0, 7, 11):
        yield ax(f"ax mcs {mcs}", *to_one(1, HE_DBM), mcs=mcs)
    yield ax("ax mcs 11 guard 3.2 us", *to_one(1, HE_DBM), mcs=11, guard_interval="3.2 us")
    for width in (40, 80, 160):
        yield ax(f"ax mcs 11 {width} MHz", *to_one(1, HE_DBM), mcs=11, width=width, seconds=1)
    yield ax("ax two senders 80 MHz", *to_one(2, HE_DBM, hear=True), mcs=7, width=80, seconds=2)
    yield ax("ax hidden", *to_one(2, HE_DBM), mcs=7, seconds=10, lifetime_ms=LIFETIME_MS)


def edca() -> Iterator[Cell]:
    """Access categories of stations that all receive each other, with the parameters of the standard.

    A station that holds a TXOP sets the NAV of others for all of it in ns-3 (multiple protection, 9.2.5.2).
    """
    mixes = {
        "voice and best effort": ["voice", "best_effort"],
        "video and best effort": ["video", "best_effort"],
        "best effort and background": ["best_effort", "background"],
        "one of each": ["voice", "video", "best_effort", "background"],
        "three video, three background": ["video"] * 3 + ["background"] * 3,
    }
    for standard in ("802.11n", "802.11g"):
        changes: Cell = {"standard": standard, "seconds": 5}
        changes |= {"mcs": 7} if standard == "802.11n" else {"rate_mbps": 54}
        for category in ("voice", "video"):
            yield wifi(f"edca {standard} {category}", *to_one(1, hear=True), categories=[category], **changes)
            name = f"edca {standard} {category} and best effort"
            yield wifi(name, *to_one(2, hear=True), categories=[category, "best_effort"], **changes)
    changes = {"standard": "802.11n", "mcs": 7, "seconds": 5}
    for name in ("one of each", "three video, three background"):
        categories = mixes[name]
        stars = to_one(len(categories), hear=True)
        yield wifi(f"edca 802.11n {name}", *stars, categories=categories, **changes)
    categories = ["voice", "best_effort"]
    yield wifi(
        "edca 802.11n voice and best effort rts", *to_one(2, hear=True), categories=categories, rts=True, **changes
    )
    agreed = changes | {"lifetime_ms": LIFETIME_MS, "agreements": True}
    yield wifi("edca 802.11n hidden video, agreed", *to_one(2), categories=["video"] * 2, **agreed)
    # Voice below its capacity ends its TXOPs early, by a CF-End.
    for offered in (5, 8):
        name = f"edca 802.11n two voice, two best effort at {offered} Mbps each"
        categories = ["voice", "voice", "best_effort", "best_effort"]
        yield wifi(name, *to_one(4, hear=True), categories=categories, mbps=offered, **changes)
    changes["txops"] = False
    for name, categories in mixes.items():
        stars = to_one(len(categories), hear=True)
        yield wifi(f"edca 802.11n {name} without TXOPs", *stars, categories=categories, **changes)


FAMILIES = {
    "hidden": hidden,
    "exposed": exposed,
    "aggregates": aggregates,
    "rates": rates,
    "ax": high_efficiency,
    "edca": edca,
}
MANAGERS = {
    ("ideal", "802.11g"): "ns3::IdealWifiManager",
    ("ideal", "802.11n"): "ns3::IdealWifiManager",
    ("minstrel", "802.11n"): "ns3::MinstrelHtWifiManager",
}
#: Control rates of MCS 0 to 11, Mbit/s (IEEE 802.11-2016, 10.7.6.5).
CONTROL = (6, 12, 12, 24, 24, 24, 24, 24, 24, 24, 24, 24)
#: Channels at 5 GHz by width, MHz.
CHANNELS = {20: 36, 40: 38, 80: 42, 160: 50}


def words(cell: Cell, seed: int) -> str:
    """The input of wifi.cc."""
    by_mcs = cell["standard"] != "802.11g"
    nodes = 1 + max(max(a, b) for a, b, _ in cell["powers"])
    lines = [f"standard {cell['standard'].removeprefix('802.11')}", f"nodes {nodes}", f"seed {seed}"]
    lines += ["from 2", f"until {2 + cell['seconds']}"]
    if cell["adaptation"] == "fixed":
        mbps = cell["rate_mbps"]
        control = CONTROL[cell["mcs"]] if by_mcs else max(rate for rate in (6, 12, 24) if rate <= mbps)
        kind = {"802.11n": "Ht", "802.11ax": "He"}.get(cell["standard"])
        lines.append("mode " + (f"{kind}Mcs{cell['mcs']}" if kind else f"ErpOfdmRate{mbps}Mbps"))
        lines.append(f"control {'' if kind == 'He' else 'Erp'}OfdmRate{control}Mbps")
    else:
        lines.append(f"manager {MANAGERS[cell['adaptation'], cell['standard']]}")
    if "categories" in cell:
        lines.append("categories")
    if not cell.get("txops", True):
        lines.append("no_txops")
    if cell.get("agreements", False):
        lines.append("agreements")
    if cell["rts"]:
        lines.append("rts_above 0")
    if not cell.get("aggregation", True):
        lines.append("ampdu 0")
    if "lifetime_ms" in cell:
        lines.append(f"default ns3::WifiMacQueue::MaxDelay {cell['lifetime_ms']}ms")
    if not cell.get("requests", True):
        lines.append("default ns3::QosTxop::UseExplicitBarAfterMissedBlockAck false")
    if "queue" in cell:
        lines.append(f"default ns3::WifiMacQueue::MaxSize {cell['queue']}p")
    if cell["standard"] == "802.11ax":
        width = cell["width"]
        guard_ns = round(1000 * float(cell["guard_interval"].removesuffix(" us")))
        lines += [f"channel {{{CHANNELS[width]},{width},BAND_5GHZ,0}}", "ampdu 6500631"]
        lines += [f"default ns3::HeConfiguration::GuardInterval {guard_ns}ns"]
        lines.append("default ns3::HeConfiguration::MpduBufferSize 256")
    lines += [f"power {a} {b} {dbm}" for a, b, dbm in cell["powers"]]
    priorities = [PRIORITIES[one] for one in cell.get("categories", ["best_effort"] * len(cell["flows"]))]
    flows = zip(cell["flows"], priorities, strict=True)
    lines += [f"flow {a} {b} {cell['bytes']} {cell['mbps'] * 1e6} {priority}" for (a, b), priority in flows]
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
                with ThreadPoolExecutor(max_workers=2) as pool:
                    rates = list(pool.map(partial(run, program, cell), SEEDS))
                known[cell["name"]] = cell | {"ns3_mbps": rates}
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
