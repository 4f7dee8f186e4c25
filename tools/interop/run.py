"""Compares workloads with the programs of their protocols. `make interop`.

The result is known-answers/interop.json, of which `table.py` makes the tables of docs/interop.md. Parts: the cases of
each protocol, `loss` (retransmissions of CoAP) and `service` (deadlines over three paths). With ``--simulated`` the
workloads of the cases run again beside the kept numbers of the programs, which are not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cwndlab
from interop import amqp, coap, dicom, hl7, loss, mqtt, rest, service, xmpp
from interop.case import TOOLS, Case, python
from interop.comparison import again, beyond, row
from interop.session import modelled, real

RESULT = Path(TOOLS).parent / "known-answers" / "interop.json"
CASES: list[Case] = [case for module in (coap, mqtt, amqp, xmpp, dicom, hl7, rest) for case in module.CASES]
PATH = {"rate": "10 Mbps", "rtt": "100 ms"}


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of packages of PyPI and of Debian."""
    listed = subprocess.run([python(), "-m", "pip", "list", "--format", "json"], capture_output=True, check=True).stdout
    found = {one["name"].lower(): one["version"] for one in json.loads(listed)}
    for name in names:
        if name not in found:
            command = ["dpkg-query", "--showformat", "${Version}", "--show", name]
            found[name] = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: found[name] for name in names}


def compared(case: Case) -> dict[str, Any]:
    """The row of a case."""
    programs, spent = real(case, PATH)
    one = row(case.name, programs, modelled(case, PATH), spent)
    large = ", ".join(f"{key} {one['quantities'][key][2]:+.1%}" for key in beyond(one))
    sys.stdout.write(f"{case.name}: {large or 'within 5 %'}\n")
    sys.stdout.flush()
    return one | {"programs": versions(case.programs)}


def simulate_again(only: str) -> None:
    """Runs the workloads of cases again and writes the result."""
    value = json.loads(RESULT.read_text(encoding="utf-8"))
    named = {case.name: case for case in CASES if case.name.startswith(only)}
    value["cases"] = [
        again(kept, modelled(named[kept["case"]], PATH)) if kept["case"] in named else kept for kept in value["cases"]
    ]
    for one in value["cases"]:
        large = ", ".join(f"{key} {one['quantities'][key][2]:+.1%}" for key in beyond(one))
        sys.stdout.write(f"{one['case']}: {large or 'within 5 %'}\n")
    RESULT.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Runs the parts and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the part whose name begins with this")
    parser.add_argument("--simulated", action="store_true", help="run the workloads alone")
    arguments = parser.parse_args()
    only = arguments.only
    if arguments.simulated:
        simulate_again(only)
        return
    if missing := [name for name in ("tshark", "dumpcap") if shutil.which(name) is None]:
        sys.exit(f"{', '.join(missing)} is not installed")
    value: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    kept = {one["case"]: one for one in value.get("cases", [])}
    kept |= {case.name: compared(case) for case in CASES if case.name.startswith(only)}
    cases = [kept[case.name] for case in CASES if case.name in kept]
    timeouts = value.get("timeouts")
    if "loss".startswith(only):
        timeouts = {"programs": asdict(loss.real()), "simulated": asdict(loss.modelled())}
    kept_paths = {one["path"]: one for one in value.get("service", [])}
    if "service".startswith(only):
        own_ms = service.own_time_ms()
        sys.stdout.write(f"own time of the programs: {own_ms:.2f} ms\n")
        for name, path in service.PATHS.items():
            kept_paths[name] = service.row(name, path, own_ms)
            sys.stdout.write(f"{name}: {kept_paths[name]['agree']}\n")
            sys.stdout.flush()
    value = {
        "command": "make interop",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}, cwndlab {cwndlab.__version__}",
        "path": PATH,
        "cases": cases,
        "timeouts": timeouts,
        "loss": {"rate": loss.RATE, "rtt": loss.RTT, "loss": loss.LOSS, "flows": loss.FLOWS},
        "service": [kept_paths[name] for name in service.PATHS if name in kept_paths],
    }
    RESULT.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
