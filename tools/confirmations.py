"""Finds of `cwndlab attack` between Linux kernels in virtual time (docs/attack.md).

`python tools/confirmations.py [--only NAME …] [--force]` searches for each pair of `PAIRS` and each goal, and repeats
the find between kernels. A row is written at once into known-answers/attack-confirmations.json; those that are there
are not measured again. `make docs ONLY=confirmations` makes the table. It takes `make linux`, and CWNDLAB_STACKS.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from cwndlab.files import save
from cwndlab.linux import release
from cwndlab.statistics import Estimate
from cwndlab.statistics.digits import mean_with_interval
from cwndlab.study.attack import attack
from cwndlab.study.attack.harms import Goal, is_attack

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "known-answers" / "attack-confirmations.json"
#: CUBIC and HyStart by the kernel's source; `cubic` is that of RFC 9438, with the standard slow start.
CUBIC = "cubic-linux+hystart-linux/rack"
#: Algorithms of which the library and the kernel have one of the same name, each with a baseline: chosen before any was
#: searched; then those with the kernel's CUBIC.
PAIRS = (
    *(("bbr1", "cubic"), ("reno", "cubic"), ("vegas", "cubic"), ("cubic", "reno"), ("bbr1", "reno")),
    *(("bbr1", CUBIC), ("reno", CUBIC), (CUBIC, "reno")),
)
#: The algorithms that follow the kernel's source; `vegas` is that of its authors.
OF_THE_KERNEL = ("reno", "bbr1", CUBIC)
#: Runs of each algorithm between kernels and in the simulator, with the same seeds.
RUNS = 20
#: A mean harm below this is no find, nor is one that does not exceed the harm without events: it is not repeated.
LEAST = 0.1


def rows() -> dict[str, dict[str, Any]]:
    """The measured rows by their names."""
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    return found


def measured(algorithm: str, against: str, goal: Goal, kernel: str) -> dict[str, Any]:
    """The find of a search, and the harm of its events between kernels."""
    start = time.process_time()
    found = attack(algorithm, against, goal=goal, receivers=False)
    row: dict[str, Any] = {
        "algorithm": algorithm,
        "against": against,
        "goal": goal,
        "events": [str(one) for one in found.events],
        "harm": vars(found.harm),
        "harm_without_events": found.quiet,
        "search_s": round(time.process_time() - start, 1),
        "kernel": kernel,
    }
    if not _is_find(row):
        return row
    confirmation = found.between_kernels(RUNS)
    harms = {"simulated": vars(confirmation.simulated), "between_kernels": vars(confirmation.harm)}
    return row | harms | {"confirms": confirmation.confirms}


def _is_find(row: dict[str, Any]) -> bool:
    harm = Estimate(**row["harm"])
    return harm.mean >= LEAST and is_attack(harm, row["harm_without_events"])


def markdown() -> str:
    """The table of docs/attack.md, and how many finds are confirmed."""
    found = rows()
    lines = [
        "| algorithm | in place of | goal | events | harm | between kernels | within 20 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found.values():
        confirmed = "yes" if row.get("confirms") else "no"
        shown = [_harm(row["between_kernels"]), confirmed] if _is_find(row) else ["no find", "–"]
        lines.append(
            f"| `{row['algorithm']}` | `{row['against']}` | {row['goal']} | {'; '.join(row['events']) or '–'} | "
            f"{_harm(row.get('simulated', row['harm']))} | {' | '.join(shown)} |"
        )
    finds = [row for row in found.values() if _is_find(row)]
    same = [row for row in finds if {row["algorithm"], row["against"]} <= set(OF_THE_KERNEL)]
    others = [row for row in finds if row not in same]
    events = max((len(row["events"]) for row in finds), default=0)
    longest = max((row["search_s"] for row in found.values()), default=0.0)
    kernels = ", ".join(sorted({row["kernel"] for row in finds}))
    summary = (
        f"{_confirmed(same)} finds are confirmed between kernels (Linux {kernels} in virtual time, {RUNS} runs of each "
        f"algorithm) where both algorithms follow the kernel's source, {_confirmed(others)} where one does not. "
        f"Finds have at most {events} events, and a search took at most {longest:.0f} s of CPU time."
    )
    return "\n".join([*lines, "", summary])


def _confirmed(finds: Sequence[dict[str, Any]]) -> str:
    return f"{sum(row['confirms'] for row in finds)} of {len(finds)}"


def _harm(one: dict[str, Any]) -> str:
    return mean_with_interval(Estimate(**one))


def main() -> None:
    """Measures what has no row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these rows, such as 'bbr1/cubic/delay'")
    parser.add_argument("--force", action="store_true", help="measure also those that have a row")
    arguments = parser.parse_args()
    names = {f"{algorithm}/{against}/{goal}" for algorithm, against in PAIRS for goal in get_args(Goal)}
    if unknown := set(arguments.only) - names:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    kernel = release()
    if kernel is None:
        parser.error("there is no cwndlab-stack-linux in CWNDLAB_STACKS or PATH: make linux")
    for algorithm, against in PAIRS:
        for goal in get_args(Goal):
            name = f"{algorithm}/{against}/{goal}"
            if (arguments.only and name not in arguments.only) or (name in rows() and not arguments.force):
                continue
            start = time.monotonic()
            row = measured(algorithm, against, goal, kernel)
            save(json.dumps(rows() | {name: row}, indent=1) + "\n", RESULTS)
            sys.stdout.write(f"{name}: {time.monotonic() - start:.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
