"""Runs of kernels over random paths: one JSON line for each transfer, in a file where a second call resumes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from virtual_linux.paths import Path

if TYPE_CHECKING:
    from cwndlab.records import Records

ROOT = File(__file__).resolve().parents[2]

#: A result: a line of the file.
Row = dict[str, Any]
#: Fields of a result that say what was run.
KEY = ("path", "repetition", "seconds", "settings", "algorithm")


class VirtualLinuxError(Exception):
    """A file of results that cannot be read, or has those of another kernel; the message says why."""


def measured(records: Records) -> dict[str, float]:
    """Goodput, mean smoothed RTT and retransmissions of the flow of a run, of kernels or of the simulator."""
    from cwndlab import metrics

    return {
        "goodput_bps": round(metrics.goodput(records)["goodput_bps"][0]),
        "mean_srtt_s": round(statistics.fmean(records.samples["srtt_ns"].drop_nulls()) / 1e9, 7),
        "retransmissions": records.flows["retransmitted_packets"][0],
    }


def read(file: File) -> list[Row]:
    """The results of a file; none where it does not exist."""
    if not file.is_file():
        return []
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise VirtualLinuxError(f"{file}, line {number}: {error}; remove this line") from None
    return rows


def _key(row: Row) -> str:
    return json.dumps([row[name] for name in KEY], sort_keys=True)


def campaign(
    file: File,
    paths: Sequence[Path],
    *,
    algorithms: Sequence[str],
    repetitions: int,
    seconds: float,
    settings: dict[str, str],
    workers: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Runs what the file does not have yet.

    Parameters
    ----------
    file
        Results: a line for each transfer, appended when it has ended.
    paths
        The paths.
    algorithms
        Congestion controls by the kernel's names.
    repetitions
        Runs of each path, with the seeds from 1 on, which vary what is below measurement (`perturb`).
    seconds
        Duration of a transfer in virtual time.
    settings
        Kernel settings of both hosts.
    workers
        Runs in parallel, each with two kernels; one per core by default.
    say
        Called with a line for each run.

    Raises
    ------
    VirtualLinuxError
        Where the file has a line that cannot be read, or results of another kernel than the stack's.
    """
    from cwndlab.linux import release
    from cwndlab.simulate import run_jobs

    rows = read(file)
    if rows and (built := release()) is not None and (others := {row["kernel"] for row in rows} - {built}):
        what = f"has results of Linux {', '.join(sorted(others))}, and the stack is Linux {built}"
        raise VirtualLinuxError(f"{file}: {what}; name another file")
    have = {_key(row) for row in rows}
    todo = []
    for repetition in range(1, repetitions + 1):
        for path in paths:
            for algorithm in algorithms:
                about = {"path": asdict(path), "repetition": repetition, "seconds": seconds, "settings": settings}
                about |= {"algorithm": algorithm}
                if _key(about) not in have:
                    todo.append((path, about))
    file.parent.mkdir(parents=True, exist_ok=True)
    jobs = [
        (path.hosted(about["algorithm"], seconds, settings), about["repetition"])  # type: ignore[arg-type]
        for path, about in todo
    ]
    with file.open("a", encoding="utf-8") as out:
        for index, records in run_jobs(jobs, workers=workers):  # type: ignore[arg-type]
            path, about = todo[index]
            found = measured(records)
            kernel = records.flows["profile"][0].removeprefix("Linux ")
            out.write(f"{json.dumps({'kernel': kernel} | about | found)}\n")
            out.flush()
            say(_summary(path, about | found))


def _summary(path: Path, row: Row) -> str:
    return (
        f"{path.text()}, run {row['repetition']}: {row['algorithm']} {row['goodput_bps'] / 1e6:.2f} Mbit/s "
        f"{row['mean_srtt_s'] * 1e3:.1f} ms {row['retransmissions']} retransmissions"
    )
