#!/usr/bin/env python3
"""Runs calls of video with Ericsson's SCReAM in virtual time and writes known-answers/scream.

Needs g++ and the sources of github.com/EricssonResearch/scream:

    python tools/scream/cells.py FOLDER_OF_THE_REPOSITORY
    python tools/scream/cells.py FOLDER_OF_THE_REPOSITORY --rules  # prints what single rules of the code do

It builds ``peer.cc`` twice: with the settings of the authors' simulator (``code``), and with the constants and rules of
draft-ietf-ccwg-rfc8298bis-screamv2 where the sources have others, and its options off (``draft``).
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from cwndlab.validation.references.media import SEEDS, WARM_UP_S, figures

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "known-answers" / "scream"
COMMIT = "c8f84c3"
SOURCES = ("ScreamTx.cpp", "ScreamV2Tx.cpp", "ScreamV2TxStream.cpp", "ScreamRx.cpp", "RtpQueue.cpp")
#: What the sources have otherwise than the draft, by file.
DRAFT = {
    "ScreamV2Tx.cpp": {
        "kMinCongestionBackOffInterval_ntp = 1966u": "kMinCongestionBackOffInterval_ntp = 1638u",
        "kPostCongestionDelayRtts = 200": "kPostCongestionDelayRtts = 100",
        "kMaxRelaxedPacingFactor = 5.0f": "kMaxRelaxedPacingFactor = 4.0f",
        "l4sAlpha(0.1f)": "l4sAlpha(0.0f)",
        # frame_size_dev of the encoder: the mean of positive deviations of a Laplace distribution of scale 0.15.
        "rateLeft /= 1.1f": "rateLeft /= 1.275f",
        "std::min(0.2f, sRtt + 0.001f)": "sRtt",
        # No packet is reordered: the draft's window of reordering stays at zero.
        "reorderTime(kReorderTime)": "reorderTime(0.0f)",
        "reorderTime_ntp(uint32_t(kReorderTime * sec2NtpScaleFactor + 0.5f))": "reorderTime_ntp(0)",
        "uint32_t tsDiffCorrection = (uint32_t)(65536.0f": "uint32_t tsDiffCorrection = (uint32_t)(0.0f",
        # One filter (RFC 6298) in place of two, and reactions to losses as often as to marks.
        "(7 * sRtt_ntp + sRttSh_ntp) / 8": "sRttSh_ntp",
        "isApplicationLimited && sRtt_ntp > sRttSh_ntp": "false",
        "lastLossEventT_ntp > sRtt_ntp": "lastLossEventT_ntp > std::min(1638u, sRtt_ntp)",
        # The backoff by delay is divided by the RTT once.
        "virtualL4sAlpha /= std::max(1.0f, float(sRtt_ntp)": "virtualL4sAlpha /= std::max(1.0f, 0.0f",
        # Options: scaling by jitter, clock drift, undershoot, filter of losses.
        "kLatencyDiffThreshold = 0.01f": "kLatencyDiffThreshold = 1e6f",
        "kQueueDelayMinSlowAvgUpdateRtts = 100": "kQueueDelayMinSlowAvgUpdateRtts = 100000",
        "kTotalAckedBitrateFraction = 0.8f": "kTotalAckedBitrateFraction = 0.0f",
        "lossRate > kLossRateThreshold ||": "true ||",
    },
    "ScreamV2TxStream.cpp": {
        "kRateAdjustGain1 = 0.2f": "kRateAdjustGain1 = 1.0f",
        "kRateAdjustGain2 = 1.0f/8": "kRateAdjustGain2 = 1.0f/16",
        "- framePeriod/2.0f": "- framePeriod/4.0f",
    },
}
#: Settings of the control: of the authors' simulator, and of the draft.
VARIANTS = {
    "code": {"head_room": 2.0, "increase": 0.05, "pacing_scale": 1.5, "adaptive_window": 1},
    "draft": {"head_room": 1.5, "increase": 0.02, "pacing_scale": 1.0, "adaptive_window": 0},
}


#: Rules of the code that the draft has not, or only as options, and what restores them in its build.
RULES = {
    "none": (),
    "growth is scaled by jitter: an option of the draft": ("kLatencyDiffThreshold",),
    "losses of less than 1 % do not count: an option": ("lossRate >",),
    "the back-off by delay is divided by RTT / 25 ms twice": ("virtualL4sAlpha",),
    "a second filter of the RTT": ("(7 * sRtt_ntp", "isApplicationLimited"),
    "a window of reordering of 30 ms, and of the time between frames": ("reorderTime", "uint32_t tsDiffCorrection"),
    "smaller back-off while the target is below the delivered rate: an option": ("kTotalAckedBitrateFraction",),
}
RULED = ("5 Mbit/s, 50 ms", "10 Mbit/s, 50 ms", "5 Mbit/s, 50 ms, queue of 30 ms", "5 Mbit/s, 50 ms, loss of 1 %")


def cell(name: str, rate: float | list[list[float]], rtt_ms: float, **changes: Any) -> dict[str, Any]:
    """A cell: rates in Mbit/s, one or steps of [s, rate]; a queue of 300 ms at the first of them."""
    rates = rate if isinstance(rate, list) else [[0, rate]]
    capacity = round(0.3 * rates[0][1] * 1e6 / 8 / 1028)
    made = {"name": name, "rates": rates, "rtt_ms": rtt_ms, "capacity": capacity, "mark_above": None, "loss": 0.0}
    return made | {"starts_s": [0], "max_mbps": 30, "until_s": 80} | changes


DOWN_UP: list[list[float]] = [[0, 10], [40, 4], [80, 10]]
CELLS = [
    cell("1 Mbit/s, 50 ms", 1, 50),
    cell("2 Mbit/s, 100 ms", 2, 100),
    cell("5 Mbit/s, 20 ms", 5, 20),
    cell("5 Mbit/s, 50 ms", 5, 50),
    cell("5 Mbit/s, 150 ms", 5, 150),
    cell("10 Mbit/s, 50 ms", 10, 50),
    cell("20 Mbit/s, 50 ms", 20, 50),
    cell("5 Mbit/s, 50 ms, queue of 30 ms", 5, 50, capacity=18),
    cell("5 Mbit/s, 50 ms, loss of 1 %", 5, 50, loss=0.01),
    cell("5 Mbit/s, 50 ms, loss of 5 %", 5, 50, loss=0.05),
    cell("5 Mbit/s, 50 ms, video of 1.5 Mbit/s", 5, 50, max_mbps=1.5),
    cell("10, 4, 10 Mbit/s, 50 ms", DOWN_UP, 50, until_s=120),
    cell("5, 1.5, 5 Mbit/s, 100 ms", [[0, 5], [40, 1.5], [80, 5]], 100, until_s=120),
    cell("two flows, 6 Mbit/s, 50 ms", 6, 50, starts_s=[0, 20], until_s=120),
    cell("L4S, 5 Mbit/s, 50 ms", 5, 50, mark_above=3),
    cell("L4S, 10 Mbit/s, 100 ms", 10, 100, mark_above=6),
    cell("L4S, 20 Mbit/s, 20 ms", 20, 20, mark_above=12),
    cell("L4S, 10, 4, 10 Mbit/s, 50 ms", DOWN_UP, 50, mark_above=6, until_s=120),
    cell("L4S, two flows, 10 Mbit/s, 50 ms", 10, 50, mark_above=6, starts_s=[0, 20], until_s=120),
]


def build(repository: Path, folder: Path, variant: str, restored: tuple[str, ...] = ()) -> Path:
    """Compiles peer.cc and a copy of the sources, with the draft's rules except for the restored ones if it asks so."""
    shutil.copytree(repository / "code", folder / variant)
    for name, changes in (DRAFT if variant == "draft" else {}).items():
        text = (folder / variant / name).read_text()
        for old, new in changes.items():
            if restored and old.startswith(restored):
                continue
            if old not in text:
                sys.exit(f"{name}: '{old}' is not there; the sources are not those of {COMMIT}")
            text = text.replace(old, new)
        (folder / variant / name).write_text(text)
    program = folder / f"peer-{variant}"
    sources = [folder / variant / name for name in SOURCES]
    flags = ["-O2", "-std=c++17", "-w", "-DIGNORE_PACKET", f"-I{folder / variant}"]
    subprocess.run(["g++", *flags, HERE / "peer.cc", *sources, "-o", program, "-pthread"], check=True)
    return program


def settings(one: dict[str, Any], variant: str, seed: int) -> str:
    """The standard input of peer.cc."""
    lines = [f"rate {at} {mbps}" for at, mbps in one["rates"]] + [f"flow {at}" for at in one["starts_s"]]
    lines += [f"delay {one['rtt_ms'] / 2000}", f"max_rate {one['max_mbps'] * 1e6}", f"until {one['until_s']}"]
    lines += [f"capacity {one['capacity']}", f"loss {one['loss']}", f"seed {seed}"]
    if one["mark_above"] is not None:
        lines.append(f"mark_above {one['mark_above']}")
    return "\n".join(lines + [f"{key} {value}" for key, value in VARIANTS[variant].items()]) + "\n"


def run(program: Path, given: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Packets and targets of a run."""
    printed = subprocess.run([program], input=given, capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    packets = "\n".join(line for line in lines if line[0] != "T")
    targets = "\n".join(line[2:] for line in lines if line[0] == "T")
    return (
        pl.read_csv(
            io.StringIO(packets), separator=" ", has_header=False, new_columns=["t", "flow", "queue_s", "bytes", "fate"]
        ),
        pl.read_csv(io.StringIO(targets), separator=" ", has_header=False, new_columns=["t", "flow", "target_bps"]),
    )


def series(packets: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """By flow and second: delivered rate, target, largest queueing delay, packets that did not arrive, marks."""
    keys = [pl.col("t").cast(pl.Int32).alias("second"), "flow"]
    delivered = pl.col("fate").is_in([0, 3])
    rows = packets.group_by(keys).agg(
        (pl.col("bytes").filter(delivered).sum() * 8 // 1000).alias("kbps"),
        (pl.col("queue_s").max() * 1000).round(1).alias("queue_ms"),
        (~delivered).sum().alias("missing"),
        (pl.col("fate") == 3).sum().alias("marked"),
    )
    targets = targets.group_by(keys).agg(
        (pl.col("target_bps").mean() / 1000).round(0).cast(pl.Int32).alias("target_kbps")
    )
    return rows.join(targets, on=["second", "flow"]).sort("flow", "second")


def rules(repository: Path) -> None:
    """Prints figures of the draft's build with one rule of the code restored."""
    sys.stdout.write("| rule of the code | rates, Mbit/s | delay p95, ms |\n|---|---|---|\n")
    for name, restored in RULES.items():
        with tempfile.TemporaryDirectory() as folder:
            program = build(repository, Path(folder), "draft", restored)
            runs = {
                one["name"]: figures(one, [run(program, settings(one, "draft", seed))[0] for seed in SEEDS])
                for one in CELLS
                if one["name"] in RULED
            }
        rates = ", ".join(f"{runs[one]['mbps'][0]:.2f}" for one in RULED)
        delays = ", ".join(f"{runs[one]['queue_ms']:.0f}" for one in RULED)
        sys.stdout.write(f"| {name} | {rates} | {delays} |\n")
        sys.stdout.flush()


def main() -> None:
    """Runs all cells, or those that show single rules."""
    if sys.argv[2:] == ["--rules"]:
        return rules(Path(sys.argv[1]))
    if len(sys.argv) != 2:
        sys.exit("usage: cells.py FOLDER_OF_THE_REPOSITORY [--rules]")
    found, rows = [dict(one) for one in CELLS], []
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS:
            program = build(Path(sys.argv[1]), Path(folder), variant)
            for one, result in zip(CELLS, found, strict=True):
                runs = [run(program, settings(one, variant, seed)) for seed in SEEDS]
                result[variant] = figures(one, [packets for packets, _ in runs])
                label = [pl.lit(one["name"]).alias("cell"), pl.lit(variant).alias("variant")]
                rows.append(series(*runs[0]).select(*label, pl.all()))
                sys.stdout.write(f"{variant} {one['name']} {json.dumps(result[variant])}\n")
                sys.stdout.flush()
    RESULTS.mkdir(exist_ok=True)
    head = {"implementation": f"github.com/EricssonResearch/scream@{COMMIT}", "seeds": len(SEEDS), "from_s": WARM_UP_S}
    lines = ",\n".join(json.dumps(one) for one in found)
    (RESULTS / "cells.json").write_text(f'{json.dumps(head)[:-1]}, "cells": [\n{lines}\n]}}\n')
    text = pl.concat(rows).write_csv().encode()
    (RESULTS / "series.csv.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
