"""Identification of simulated senders: how often is the congestion control that ran the first of the ranking?

`python benches/identify.py [--classes N] [--paths N …] [--records NAME …] [--workers N]`. Each class (congestion
avoidance and slow start) sends over each path, with a seed per path; no threshold was chosen by these flows. The qlog
with windows and the captures without, at the sender and at the receiver, are identified. Open set: the ranking without
the algorithm that ran, and without its family. Prints Markdown; docs/identify.md has the table.

`--kernel` identifies the kernel's own algorithms by captures of their TCP over emulated paths, as root, in wall-clock
time: 20 to 30 s for each.

`--linux` identifies the congestion controls of Linux in virtual time (`make linux`) over the same twenty paths, by
captures at the sender; `--linux --slow` over six slow ones, as those of Nebby (Mishra et al., SIGCOMM 2024): packets of
100 bytes, over a line of Mahimahi, which sends 1504 bytes at once. On these the method was developed. `--linux
--no-sack` has four others, whose receivers have no SACK, for a test.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import cwndlab
from cwndlab import Scenario
from cwndlab.catalogue import KERNEL_ALGORITHMS
from cwndlab.validation.identify import Explanation, Identification, Verdict

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
    {"bbr1", "bbr2-s2n", "bbr2-quiche", "bbr3", "rcp-bbr"},
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
    # Added when every rule of the method was in place; none was changed after them.
    ("1 Mbps", "60 ms", "2 bdp", 0.0, 40, 111),
    ("2 Mbps", "160 ms", "1 bdp", 5e-4, 30, 112),
    ("3 Mbps", "45 ms", "1.5 bdp", 0.0, 20, 113),
    ("3 Mbps", "120 ms", "0.4 bdp", 0.0, 25, 114),
    ("4 Mbps", "25 ms", "2 bdp", 1e-3, 20, 115),
    ("5 Mbps", "70 ms", "0.7 bdp", 0.0, 20, 116),
    ("5 Mbps", "180 ms", "2 bdp", 0.0, 25, 117),
    ("7 Mbps", "100 ms", "1 bdp", 1e-3, 15, 118),
    ("9 Mbps", "50 ms", "1 bdp", 0.0, 12, 119),
    ("10 Mbps", "130 ms", "0.6 bdp", 0.0, 15, 120),
)
#: The same for the kernel's algorithms.
KERNEL_PATHS = (
    ("5 Mbps", "60 ms", "1 bdp", 0.0, 25, 201),
    ("8 Mbps", "30 ms", "2 bdp", 0.0, 20, 202),
    ("4 Mbps", "120 ms", "1 bdp", 5e-4, 30, 203),
)
#: Slow paths: time to the receiver, ms; rate, kbit/s; buffer, times the BDP; whether the receiver has SACK; seed.
SLOW_PATHS = (
    (20, 180, 2, True, 800),
    (40, 250, 2, True, 801),
    (30, 350, 2, True, 802),
    (70, 420, 2, True, 803),
    (25, 250, 1, False, 804),
    (55, 350, 2, False, 805),
)
#: Slow paths for a test alone, with the same fields.
NO_SACK_PATHS = (
    (18, 320, 3, False, 810),
    (45, 200, 2, False, 811),
    (62, 260, 2, False, 812),
    (85, 380, 1, False, 813),
)
#: Congestion controls of Linux that the catalogue does not have.
_FOREIGN = ("cdg", "lp", "nv")
_HOSTED = """
schema_version = 1
duration = "{duration} s"

[dumbbell]
bottleneck = {{ rate = "{rate}", delay = "5 ms", queue = {{ capacity = "{buffer}" }}{loss} }}

[[flow]]
transport = "udp"
rtt = "{rtt}"
workload = {{ kind = "hosted", stack = "linux", controller = "{algorithm}" }}
"""
_SLOW = """
schema_version = 1
duration = "30 s"

[dumbbell]
bottleneck = {{ trace = {trace}, delay = "{bottleneck} ms", queue = {{ capacity = "{buffer} B" }} }}

[[flow]]
transport = "udp"
rtt = "{rtt} ms"

[flow.workload]
kind = "hosted"
stack = "linux"
controller = "{algorithm}"
options = "mtu=72,net.ipv4.route.min_adv_mss=40,net.ipv4.tcp_min_snd_mss=48"
peer_options = "mtu=72,net.ipv4.route.min_adv_mss=40,net.ipv4.tcp_min_snd_mss=48,net.ipv4.tcp_sack={sack}"
"""
_MISFITS = ("misfit", "misfit_held_out", "misfit_family_held_out")
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
    #: The same for the misfits.
    misfit: float
    misfit_held_out: float
    misfit_family_held_out: float
    first: str
    cpu_s: float


def _scenario(path: tuple[str, str, str, float, int, int], algorithm: str, text: str = _SCENARIO) -> Scenario:
    rate, rtt, buffer, loss, duration, _ = path
    lost = f', loss = {{ kind = "bernoulli", p = {loss} }}' if loss else ""
    fields = {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": lost, "duration": duration, "algorithm": algorithm}
    return Scenario.from_toml(text.format(**fields))


def _flow(job: tuple[str, int, Sequence[str]]) -> list[Row]:
    algorithm, number, sources = job
    *_, seed = path = PATHS[number]
    records = cwndlab.run(_scenario(path, algorithm), seed=seed)
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
    growth, slow_start = (one.partition("(")[0] for one in algorithm.partition("+")[::2])
    slow_start = slow_start or next(one.companion for one in cwndlab.algorithms() if one.name == growth)
    names = [one.growth for one in result.ranking]
    tied = growth in result.ties
    family = next((one for one in FAMILIES if growth in one), {growth})

    def without(names: Iterable[str]) -> Explanation:
        return next(one for one in result.ranking if one.growth not in names)

    held_out = without({growth, *(result.ties if tied else ())})
    family_held_out = without(family | {growth})
    return Row(
        algorithm=algorithm,
        path=path,
        source=source,
        verdict=str(result.verdict),
        place=1 if tied else names.index(growth) - len(result.ties) + 2,
        tied=tied and len(result.ties) > 1,
        slow_start=result.best.growth == growth and (not slow_start or slow_start in result.slow_starts),
        explained=result.best.explained,
        held_out=held_out.explained,
        family_held_out=family_held_out.explained,
        misfit=result.best.misfit,
        misfit_held_out=held_out.misfit,
        misfit_family_held_out=family_held_out.misfit,
        first=names[0],
        cpu_s=cpu_s,
    )


def auroc(known: Sequence[float], unknown: Sequence[float]) -> float:
    """The probability that a known flow has a larger share than an unknown one; half for equal shares."""
    pairs = ((one > other) + 0.5 * (one == other) for one in known for other in unknown)
    return sum(pairs) / (len(known) * len(unknown))


def _table(rows: list[Row]) -> list[str]:
    lines = [
        "| record | flows | undetermined | first | of these in a tie | first two | slow start too | CPU s, median | "
        "largest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for source, of, told in _by_source(rows):
        cpu = sorted(one.cpu_s for one in of)
        shares = [
            sum(one.place == 1 for one in told),
            sum(one.tied for one in told),
            sum(one.place <= 2 for one in told),
            sum(one.slow_start for one in told),
        ]
        cells = [f"{100 * one / len(told):.1f} %" for one in shares]
        counts = f"{len(of)} | {len(of) - len(told)}"
        lines.append(f"| {source} | {counts} | {' | '.join(cells)} | {cpu[len(cpu) // 2]:.1f} | {cpu[-1]:.1f} |")
    return lines


def _open_set(rows: list[Row]) -> list[str]:
    """How well the explained share and the misfit separate flows from the same flows without their algorithm."""
    lines = [
        "| record | AUROC of the explained share, held out | family held out | AUROC of the misfit, held out | "
        "family held out | misfit above 1, in the catalogue | held out | family held out |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for source, _, told in _by_source(rows):
        known = [one.explained for one in told]
        cells = [
            f"{auroc(known, [getattr(one, name) for one in told]):.3f}" for name in ("held_out", "family_held_out")
        ]
        misfits = [[getattr(one, name) for one in told] for name in _MISFITS]
        cells += [f"{auroc(without, misfits[0]):.3f}" for without in misfits[1:]]
        cells += [f"{100 * sum(one > 1 for one in of) / len(told):.1f} %" for of in misfits]
        lines.append(f"| {source} | {' | '.join(cells)} |")
    return lines


def _by_source(rows: list[Row]) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """The rows of each kind of record, and those with a verdict."""
    for source, name in SOURCES.items():
        of = [one for one in rows if one.source == source]
        told = [one for one in of if one.verdict != Verdict.UNDETERMINED]
        if told:
            yield name, of, told


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


def _kernel(paths: Iterable[int]) -> list[str]:
    """A row for each algorithm of the kernel, path and capture. Algorithms without an equivalent are not sent."""
    from kernel_capture import available, captured

    lines = [
        f"Linux {os.uname().release}:",
        "",
        "| kernel | path | capture | verdict | first | explained | place of the kernel's |",
        "|---|---|---|---|---|---:|---:|",
    ]
    for number in paths:
        *shape, loss, duration, seed = path = KERNEL_PATHS[number]
        place = f"{', '.join(shape)}, {loss:g} lost"
        for control in sorted(KERNEL_ALGORITHMS.keys() & set(available())):
            equivalent = KERNEL_ALGORITHMS[control]
            scenario = _scenario(path, equivalent).with_({"packets": False})
            with tempfile.TemporaryDirectory() as name:
                files = captured(scenario, control, duration_s=duration, seed=seed, folder=Path(name))
                for source, file in files.items():
                    result = cwndlab.identify(file)
                    row = _row(equivalent, number, source, result, 0.0)
                    best = result.best
                    cells = [
                        control,
                        place,
                        SOURCES[source],
                        row.verdict,
                        best.label,
                        f"{100 * best.explained:.1f} %",
                    ]
                    lines.append(f"| {' | '.join(cells)} | {row.place} |")
                    sys.stderr.write(f"{lines[-1]}\n")
    return lines


def _slow(path: tuple[int, int, int, bool, int], control: str) -> Scenario:
    """A slow path. Times are of one way; 5 ms of it are before the line."""
    delay, rate, bdps, sack, _ = path
    chances = rate // 12  # of 1500 bytes, per second
    times = "\\n".join(str(1000 * one // chances) for one in range(1, chances + 1))
    fields = {
        "trace": f'{{ text = "{times}", bytes = 1504 }}',
        "bottleneck": delay - 5,
        "buffer": delay * rate * bdps // 4,
        "rtt": 2 * delay,
        "algorithm": control,
        "sack": int(sack),
    }
    return Scenario.from_toml(_SLOW.format(**fields))


def _linux_flow(job: tuple[str, int, Scenario, int]) -> Row | tuple[str, Identification]:
    """The row of a congestion control of Linux; of one that the catalogue does not have, its identification."""
    control, number, scenario, seed = job
    with tempfile.TemporaryDirectory() as name:
        os.environ["CWNDLAB_STACK_LOGS"] = name
        cwndlab.run(scenario, seed=seed)
        (log,) = Path(name).glob("*.pcap")
        began = time.process_time()
        result = cwndlab.identify(log)
        cpu_s = time.process_time() - began
    if control in _FOREIGN:
        return control, result
    return replace(_row(KERNEL_ALGORITHMS[control], number, "senders", result, cpu_s), algorithm=control)


def _linux_jobs(asked: argparse.Namespace) -> list[tuple[str, int, Scenario, int]]:
    """Each congestion control of Linux over each path: its name, the number of the path, the scenario, the seed."""
    controls = (*KERNEL_ALGORITHMS, *_FOREIGN)
    if asked.slow or asked.no_sack:
        slow = NO_SACK_PATHS if asked.no_sack else SLOW_PATHS
        return [(one, number, _slow(path, one), path[-1]) for number, path in enumerate(slow) for one in controls]
    return [
        (one, number, _scenario(PATHS[number], one, _HOSTED), PATHS[number][-1])
        for number in asked.paths
        for one in controls
    ]


def _linux(jobs: Sequence[tuple[str, int, Scenario, int]], workers: int) -> list[str]:
    """How often the congestion controls of Linux in virtual time are the first of the ranking."""
    rows: list[Row] = []
    foreign: list[tuple[str, Identification]] = []
    with ProcessPoolExecutor(workers) as pool:
        for number, one in enumerate(pool.map(_linux_flow, jobs), 1):
            if isinstance(one, Row):
                rows.append(one)
            else:
                foreign.append(one)
            sys.stderr.write(f"\r{number} of {len(jobs)}")
    lines = [
        "| Linux | flows | undetermined | first | of these in a tie | first two | explained, median | least | "
        "the others |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for control in KERNEL_ALGORITHMS:
        lines.append(_linux_row(f"`{control}`", [one for one in rows if one.algorithm == control]))
    lines.append(_linux_row("all", rows))
    cpu = sorted(one.cpu_s for one in rows)
    lines += ["", f"CPU s: {cpu[len(cpu) // 2]:.1f} in the median, {cpu[-1]:.1f} at most.", ""]
    lines += ["| not in the catalogue | verdicts | nearest |", "|---|---|---|"]
    for control in _FOREIGN:
        of = [result for name, result in foreign if name == control]
        verdicts = Counter(str(result.verdict) for result in of)
        nearest = Counter(result.best.growth for result in of)
        cells = [", ".join(f"{name} {count}" for name, count in one.most_common()) for one in (verdicts, nearest)]
        lines.append(f"| `{control}` | {' | '.join(cells)} |")
    return lines


def _linux_row(name: str, rows: Sequence[Row]) -> str:
    told = [one for one in rows if one.verdict != Verdict.UNDETERMINED]
    explained = sorted(one.explained for one in told)
    others = Counter(one.first for one in told if one.place > 1) if name != "all" else Counter()
    counts = [
        len(rows),
        len(rows) - len(told),
        sum(one.place == 1 for one in told),
        sum(one.tied for one in told),
        sum(one.place <= 2 for one in told),
    ]
    shares = [f"{100 * one:.1f} %" for one in (explained[len(explained) // 2], explained[0])] if told else ["–", "–"]
    wrong = ", ".join(f"{one} {count}" for one, count in others.most_common())
    return f"| {name} | {' | '.join(map(str, counts))} | {' | '.join(shares)} | {wrong} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    classes = [*GROWTHS, *OTHER_STARTS]
    parser.add_argument("--classes", type=int, default=len(classes))
    parser.add_argument("--paths", type=int, nargs="+", default=range(len(PATHS)))
    parser.add_argument("--records", nargs="+", choices=SOURCES, default=tuple(SOURCES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--linux", action="store_true")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--no-sack", action="store_true")
    asked = parser.parse_args()
    if (asked.slow or asked.no_sack) and (not asked.linux or asked.paths != range(len(PATHS))):
        parser.error("--slow and --no-sack go with --linux, and without --paths")
    if asked.linux:
        sys.stdout.write("\n".join([*_linux(_linux_jobs(asked), asked.workers), ""]))
        return
    if asked.kernel:
        sys.stdout.write("\n".join([*_kernel(range(len(KERNEL_PATHS))), ""]))
        return
    jobs = [(algorithm, path, asked.records) for path in asked.paths for algorithm in classes[: asked.classes]]
    rows: list[Row] = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for number, of_flow in enumerate(pool.map(_flow, jobs), 1):
            rows += of_flow
            sys.stderr.write(f"\r{number} of {len(jobs)}")
    sys.stdout.write("\n".join(["", *_table(rows), "", *_open_set(rows), "", *_mistakes(rows), ""]))


if __name__ == "__main__":
    main()
