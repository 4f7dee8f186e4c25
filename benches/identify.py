"""Identification of simulated senders: how often is the congestion control that ran the first of the ranking?

`python benches/identify.py [--classes N] [--paths N …] [--records NAME …] [--workers N]`. Each class (congestion
avoidance and slow start) sends over each path, with a seed per path; no threshold was chosen by these flows. The qlog
with windows and the captures without, at the sender and at the receiver, are identified. Open set: the ranking without
the algorithm that ran, and without its family. Prints Markdown; docs/identify.md has the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cwndlab
from cwndlab import Scenario
from cwndlab.validation.identify import Identification, Verdict

#: Congestion avoidances with their usual slow starts, and slow starts under Reno and CUBIC.
GROWTHS = (
    *("reno", "cubic", "cubic-8312", "cubic-linux", "cubic-ns2", "cubic-fit", "bic", "highspeed", "scalable", "htcp"),
    *("hybla", "westwood", "westwood-plus", "libra", "bbr1", "bbr3", "rcp-bbr", "copa", "ctcp", "vegas", "vegas-plus"),
    *("yeah", "fast", "fast-fit", "fusion", "hcc", "ledbat", "ledbat-pp", "tcp-fit", "veno", "illinois", "phcc"),
)
OTHER_STARTS = ("reno+limited", "reno+hystart", "reno+search", "cubic+standard", "cubic-linux+standard")
#: Algorithms that differ in constants or details.
FAMILIES = (
    {"cubic", "cubic-8312", "cubic-linux", "cubic-ns2", "cubic-fit"},
    {"vegas", "vegas-plus"},
    {"fast", "fast-fit"},
    {"ledbat", "ledbat-pp"},
    {"westwood", "westwood-plus"},
    {"bbr1", "bbr3", "rcp-bbr"},
    {"reno", "dctcp", "abe-ecn"},
)
#: Bottleneck rate, RTT, buffer, loss, seconds, seed.
PATHS = (
    ("2 Mbps", "30 ms", "1 bdp", 0.0, 20, 101),
    ("2 Mbps", "100 ms", "2 bdp", 0.0, 20, 102),
    ("3 Mbps", "200 ms", "1 bdp", 0.0, 20, 103),
    ("4 Mbps", "50 ms", "0.5 bdp", 0.0, 15, 104),
    ("4 Mbps", "80 ms", "4 bdp", 0.0, 15, 105),
    ("5 Mbps", "150 ms", "0.5 bdp", 0.0, 15, 106),
    ("6 Mbps", "60 ms", "1 bdp", 1e-3, 12, 107),
    ("6 Mbps", "120 ms", "1 bdp", 5e-4, 12, 108),
    ("8 Mbps", "90 ms", "1 bdp", 0.0, 10, 109),
    ("8 Mbps", "40 ms", "3 bdp", 2e-3, 10, 110),
)
SOURCES = {"qlog": "qlog", "senders": "capture at the sender", "receivers": "capture at the receiver"}
_SCENARIO = """
schema_version = 1
duration = "{duration} s"
packets = true
sample_interval = "10 ms"

[dumbbell]
bottleneck = {{ rate = "{rate}", delay = "5 ms", queue = {{ capacity = "{buffer}" }}{loss} }}

[[flow]]
algorithm = "{algorithm}"
rtt = "{rtt}"
"""


@dataclass(frozen=True)
class Row:
    """The identification of a flow by one of its records."""

    algorithm: str
    path: int
    source: str
    verdict: str
    #: Places of the algorithm that ran in the ranking, without ties before it; whether others are tied with the first.
    place: int
    tied: bool
    slow_start: bool
    #: Explained shares: of the first, without the algorithm that ran, and without its family.
    explained: float
    held_out: float
    family_held_out: float
    first: str
    cpu_s: float


def _flow(job: tuple[str, int, Sequence[str]]) -> list[Row]:
    algorithm, number, sources = job
    rate, rtt, buffer, loss, duration, seed = PATHS[number]
    lost = f', loss = {{ kind = "bernoulli", p = {loss} }}' if loss else ""
    fields = {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": lost, "duration": duration, "algorithm": algorithm}
    records = cwndlab.run(Scenario.from_toml(_SCENARIO.format(**fields)), seed=seed)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in sources:
            log = folder / f"{source}.pcapng"
            if source == "qlog":
                log = cwndlab.export.export(records, "qlog", folder / "qlog")[0]
            else:
                cwndlab.export.export(records, "pcap", log, at=source)
            began = time.process_time()
            result = cwndlab.identify(log)
            rows.append(_row(algorithm, number, source, result, time.process_time() - began))
    return rows


def _row(algorithm: str, path: int, source: str, result: Identification, cpu_s: float) -> Row:
    growth, _, slow_start = algorithm.partition("+")
    slow_start = slow_start or next(one.companion for one in cwndlab.algorithms() if one.name == growth)
    names = [one.growth for one in result.ranking]
    tied = growth in result.ties
    family = next((one for one in FAMILIES if growth in one), {growth})

    def without(names: Iterable[str]) -> float:
        return next(one.explained for one in result.ranking if one.growth not in names)

    return Row(
        algorithm=algorithm,
        path=path,
        source=source,
        verdict=str(result.verdict),
        place=1 if tied else names.index(growth) - len(result.ties) + 2,
        tied=tied and len(result.ties) > 1,
        slow_start=result.best.growth == growth and (not slow_start or slow_start in result.slow_starts),
        explained=result.best.explained,
        held_out=without({growth, *(result.ties if tied else ())}),
        family_held_out=without(family | {growth}),
        first=names[0],
        cpu_s=cpu_s,
    )


def auroc(known: Sequence[float], unknown: Sequence[float]) -> float:
    """The probability that a known flow has a larger share than an unknown one; half for equal shares."""
    pairs = ((one > other) + 0.5 * (one == other) for one in known for other in unknown)
    return sum(pairs) / (len(known) * len(unknown))


def _table(rows: list[Row]) -> list[str]:
    lines = [
        "| record | flows | undetermined | first | of these in a tie | first two | slow start too | AUROC, held out | "
        "family held out | CPU s, median | largest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for source in SOURCES:
        of = [one for one in rows if one.source == source]
        told = [one for one in of if one.verdict != Verdict.UNDETERMINED]
        if not told:
            continue
        known = [one.explained for one in told]
        cpu = sorted(one.cpu_s for one in of)
        shares = [
            sum(one.place == 1 for one in told),
            sum(one.tied for one in told),
            sum(one.place <= 2 for one in told),
            sum(one.slow_start for one in told),
        ]
        cells = [f"{100 * one / len(told):.1f} %" for one in shares]
        areas = [auroc(known, [getattr(one, name) for one in told]) for name in ("held_out", "family_held_out")]
        cells += [f"{one:.3f}" for one in areas]
        counts = f"{len(of)} | {len(of) - len(told)}"
        lines.append(
            f"| {SOURCES[source]} | {counts} | {' | '.join(cells)} | {cpu[len(cpu) // 2]:.1f} | {cpu[-1]:.1f} |"
        )
    return lines


def _mistakes(rows: list[Row]) -> list[str]:
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for one in rows:
        if one.place > 1 and one.verdict != Verdict.UNDETERMINED:
            found[one.source, one.algorithm][one.first] += 1
    lines = ["| record | ran | first instead (paths) |", "|---|---|---|"]
    for (source, algorithm), firsts in sorted(found.items()):
        names = ", ".join(f"{name} ({count})" for name, count in sorted(firsts.items()))
        lines.append(f"| {SOURCES[source]} | {algorithm} | {names} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    classes = [*GROWTHS, *OTHER_STARTS]
    parser.add_argument("--classes", type=int, default=len(classes))
    parser.add_argument("--paths", type=int, nargs="+", default=range(len(PATHS)))
    parser.add_argument("--records", nargs="+", choices=SOURCES, default=tuple(SOURCES))
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    jobs = [(algorithm, path, asked.records) for path in asked.paths for algorithm in classes[: asked.classes]]
    rows: list[Row] = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for number, of_flow in enumerate(pool.map(_flow, jobs), 1):
            rows += of_flow
            sys.stderr.write(f"\r{number} of {len(jobs)}")
    sys.stdout.write("\n".join(["", *_table(rows), "", *_mistakes(rows), ""]))


if __name__ == "__main__":
    main()
