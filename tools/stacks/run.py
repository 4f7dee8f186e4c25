"""Transfers with other stacks over the emulator, and the audits of their logs. `make stacks`.

The senders are the programs of this folder; quinn receives for all senders of QUIC. The result is
known-answers/stacks.json: a row for each stack, algorithm and path. README.md describes it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULT = ROOT / "known-answers" / "stacks.json"
PORT = 4433
#: A transfer that takes longer has failed, seconds.
LIMIT_S = 240
#: The loop of docs/audit.md, which writes the windows of the kernel.
SAMPLES = "while sleep 0.01; do date +%s.%N; ss -tinmO dst {address}; done > {file}"


def scenario(path: dict[str, Any]) -> dict[str, Any]:
    """The network of a path."""
    bottleneck: dict[str, Any] = {"rate": path["rate"], "delay": "2 ms", "queue": {"capacity": "1 bdp"}}
    if path["loss"]:
        bottleneck["loss"] = {"kind": "bernoulli", "p": path["loss"]}
    return {
        "schema_version": 1,
        "duration": "10 s",
        "dumbbell": {"bottleneck": bottleneck},
        "flow": [{"algorithm": "cubic", "rtt": path["rtt"]}],
    }


class Programs:
    """The senders and receivers. ``folder`` has the compiled programs, ``python`` is that with aioquic."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python

    def receiver(self, stack: str, address: str, certificate: Path) -> list[str]:
        """The command of the receiver."""
        if stack == "linux":
            return [sys.executable, str(HERE / "tcp.py"), "receive", address, str(PORT)]
        return [str(self.folder / "stack-quinn"), "receive", f"{address}:{PORT}", str(certificate)]

    def sender(self, run: dict[str, Any], path: dict[str, Any], files: dict[str, Path], address: str) -> list[str]:
        """The command of the sender."""
        stack, algorithm, pauses = run["stack"], run["algorithm"], str(path["pauses"])
        size = str(round(path["megabytes"] * 1e6))
        if stack == "linux":
            return [sys.executable, str(HERE / "tcp.py"), "send", address, str(PORT), algorithm, size, pauses]
        words = [f"{address}:{PORT}", str(files["certificate"]), algorithm, size, pauses, str(files["log"])]
        if stack == "aioquic":
            return [self.python, str(HERE / "aioquic_sender.py"), *words]
        program = str(self.folder / f"stack-{stack}")
        return [program, "send", *words] if stack == "quinn" else [program, *words]


@contextmanager
def recorded(path: Any, stack: str, files: dict[str, Path], address: str) -> Iterator[None]:
    """Captures the packets and samples the windows of the kernel's TCP meanwhile."""
    if stack != "linux":
        yield
        return
    capture = ["dumpcap", "-q", "-i", "any", "-s", "120", "-f", "tcp", "-w", str(files["log"])]
    loop = SAMPLES.format(address=address, file=shlex.quote(str(files["samples"])))
    programs = [path.popen("sender", capture, stderr=subprocess.DEVNULL), path.popen("sender", ["sh", "-c", loop])]
    # dumpcap has no sign of its readiness but the file that it opens.
    until = time.monotonic() + 10
    while not files["log"].exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    try:
        yield
    finally:
        time.sleep(0.5)
        for program in reversed(programs):
            program.terminate()
            program.wait()


def of_run(run: dict[str, Any], name: str, out: Path) -> dict[str, Path]:
    """The files of a run over the path ``name``."""
    stem = f"{run['stack']}-{run['algorithm']}-{name}"
    suffix = {"linux": "pcapng", "aioquic": "qlog"}.get(run["stack"], "sqlog")
    return {"log": out / f"{stem}.{suffix}", "certificate": out / "certificate.pem", "samples": out / f"{stem}.ss.txt"}


def transfer(run: dict[str, Any], path: dict[str, Any], name: str, programs: Programs, out: Path) -> dict[str, Path]:
    """Runs a transfer; returns its files."""
    from cwndlab.emulation import EmulatedPath

    stack = run["stack"]
    files = of_run(run, name, out)
    for file in files.values():
        file.unlink(missing_ok=True)
    # The sender selects its congestion control itself.
    with EmulatedPath(scenario(path), seed=1, late_s=0.01, algorithm="program") as between:
        address = between.address("receiver")
        between.serve("receiver", programs.receiver(stack, address, files["certificate"]))
        with recorded(between, stack, files, address):
            sender = between.popen("sender", programs.sender(run, path, files, address))
            if sender.wait(LIMIT_S) != 0:
                sys.exit(f"{files['log'].name}: the sender failed")
    return files


def row(run: dict[str, Any], name: str, files: dict[str, Path]) -> dict[str, Any]:
    """The audit of a log as a row of the result."""
    from cwndlab.validation.audit import audit

    samples = files["samples"] if run["stack"] == "linux" else None
    result = audit(files["log"], run["reference"], samples=samples)
    first = result.first
    return {
        "stack": run["stack"],
        "version": run.get("version") or platform.release().split("-")[0],
        "algorithm": run["algorithm"],
        "reference": result.algorithm,
        "path": name,
        "acks": result.acks,
        "explained": result.explained,
        "decisive": result.decisive,
        "decisive_explained": result.decisive_explained,
        "unjudged": result.unjudged,
        "first": first and {"kind": first.kind, "time_ms": round(first.time_ms), "source": first.source},
        "kinds": {one.kind: [one.departures, one.acks] for one in result.groups},
    }


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, default=HERE / "target" / "release", help="the compiled senders")
    parser.add_argument("--python", default=sys.executable, help="a Python with aioquic")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "stacks", help="folder of the logs")
    parser.add_argument("--only", default="", help="STACK or STACK/ALGORITHM or STACK/ALGORITHM/PATH")
    parser.add_argument("--audit-only", action="store_true", help="audit the logs that are there")
    return parser.parse_args()


def main() -> None:
    """Runs the transfers and writes the result."""
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    plan = tomllib.loads((HERE / "runs.toml").read_text(encoding="utf-8"))
    programs = Programs(options.programs, options.python)
    before = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"rows": []}
    rows = {(one["stack"], one["algorithm"], one["path"]): one for one in before["rows"]}
    for run in plan["run"]:
        for name, path in plan["paths"].items():
            key = (run["stack"], run["algorithm"], name)
            if not f"{'/'.join(key)}/".startswith(f"{options.only}/" if options.only else ""):
                continue
            if options.audit_only:
                files = of_run(run, name, options.out)
            else:
                files = transfer(run, path, name, programs, options.out)
            rows[key] = row(run, name, files)
            one = rows[key]
            share = one["decisive_explained"] / one["decisive"] if one["decisive"] else float("nan")
            sys.stdout.write(f"{'/'.join(key)}: {share:.2%} of {one['decisive']} decisive ACKs, {one['kinds']}\n")
            sys.stdout.flush()
    order = [(run["stack"], run["algorithm"], name) for run in plan["run"] for name in plan["paths"]]
    machine = f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"
    value = {
        "command": "make stacks",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine,
        "rows": [rows[key] for key in order if key in rows],
    }
    RESULT.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
