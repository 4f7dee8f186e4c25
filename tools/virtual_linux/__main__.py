"""`python -m virtual_linux run|compare`: random paths over the virtual Linux, and the simulator on the same paths."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path as File

from cwndlab.errors import Error

from virtual_linux import comparison, runs
from virtual_linux.paths import ALGORITHMS, random_path

BUILD = runs.ROOT / "build" / "virtual-linux"


def positive(text: str) -> int:
    """A whole number above zero."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above zero")
    return value


def algorithms(text: str) -> list[str]:
    """Names of congestion controls, joined by commas."""
    names = text.split(",")
    for name in names:
        if name not in ALGORITHMS:
            raise argparse.ArgumentTypeError(f"'{name}' is not among {', '.join(ALGORITHMS)}")
    return names


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE of a kernel setting."""
    name, sign, value = text.partition("=")
    if not sign or not name.startswith("net."):
        raise argparse.ArgumentTypeError(f"'{text}' is not a setting; write net.ipv4.tcp_comp_sack_nr=0")
    return name, value


def arguments() -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m virtual_linux", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="transfers over random paths; a second call resumes")
    run.add_argument("--seed", type=int, default=1, help="seed of the paths (default: %(default)s)")
    run.add_argument("--paths", type=positive, default=20, metavar="N", help="number of paths (default: %(default)s)")
    run.add_argument("--only", metavar="NAMES", help="these paths alone, joined by commas: 1-3 is path 3 of seed 1")
    run.add_argument(
        "--repetitions", type=positive, default=1, metavar="N", help="runs of each path (default: %(default)s)"
    )
    run.add_argument("--algorithms", type=algorithms, default=list(ALGORITHMS), metavar="A,B", help="default: all")
    run.add_argument("--seconds", type=float, default=60.0, help="duration of a transfer (default: %(default)s)")
    run.add_argument("--workers", type=positive, metavar="N", help="runs in parallel (default: one per core)")
    run.add_argument(
        "--set", type=setting, action="append", default=[], metavar="NAME=VALUE", help="kernel setting of both hosts"
    )
    compare = commands.add_parser("compare", help="the simulator on the same paths")
    compare.add_argument(
        "--seeds", type=positive, default=20, metavar="N", help="simulations of each path (default: %(default)s)"
    )
    compare.add_argument(
        "--worst", type=positive, default=10, metavar="N", help="deviations to list (default: %(default)s)"
    )
    for command in (run, compare):
        command.add_argument("--out", type=File, default=BUILD / "runs.jsonl", help="results (default: %(default)s)")
    return parser.parse_args()


def main() -> int:
    """The command; returns its exit status."""
    given = arguments()
    if given.command == "compare":
        rows = runs.read(given.out)
        if not rows:
            sys.stderr.write(f"{given.out}: no results; `python -m virtual_linux run` makes them\n")
            return 2
        for row in comparison.impossible(rows):
            sys.stderr.write(f"beyond what the path allows: {json.dumps(row)}\n")
        sys.stdout.write(comparison.report(comparison.compare(rows, range(1, given.seeds + 1)), worst=given.worst))
        return 0
    paths = [random_path(given.seed, index) for index in range(given.paths)]
    if given.only:
        names = given.only.split(",")
        if unknown := [name for name in names if name not in {path.name for path in paths}]:
            sys.stderr.write(f"--only: {', '.join(unknown)} is not among {paths[0].name} to {paths[-1].name}\n")
            return 2
        paths = [path for path in paths if path.name in names]
    runs.campaign(
        given.out,
        paths,
        algorithms=given.algorithms,
        repetitions=given.repetitions,
        seconds=given.seconds,
        settings=dict(given.set),
        workers=given.workers,
        say=lambda line: sys.stderr.write(f"{line}\n") and None,
    )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (runs.VirtualLinuxError, Error) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
