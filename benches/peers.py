"""The engine beside ns-2 and ns-3 in one run: `make bench-peers`. Both come from Debian; the scripts are in peers/.

Runs alternate, so that the noise of a shared machine meets all alike; user time of each process is counted.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benches" / "peers"
BUILD = ROOT / "build"
NS2 = {
    "S1": "cc=linux-cubic n=2 bneck=250 access=500 rtt=100,190 buf=1042 dur=60",
    "S2": "cc=linux-cubic n=20 bneck=1000 access=1000 rtt=50 buf=833 gap=0.05 dur=20",
    "S3": "cc=linux-cubic n=200 rev=10 bneck=10000 access=1000 rtt=50 buf=8333 gap=0.002 dur=5 perflow=0",
    "S4": "cc=linux-cubic n=10 bneck=1.5 access=100 rtt=100 buf=50 gap=0.1 dur=150",
}
# Shorter than S1 and S2: ns-3 would take minutes, and its rate does not depend on the length.
NS3 = {
    "S1": "--cc=TcpCubic --n=2 --bneck=250 --access=500 --rtt=100,190 --buf=1042 --dur=12 --sock=16000000",
    "S2": "--cc=TcpCubic --n=20 --bneck=1000 --access=1000 --rtt=50 --buf=833 --gap=0.05 --dur=4 --sock=16000000",
}
TARGETS = {("S1", "ns-2"): 6, ("S2", "ns-2"): 6, ("S3", "ns-2"): 30, ("S1", "ns-3"): 250, ("S2", "ns-3"): 250}


def say(text: str) -> None:
    """A line at once."""
    print(text, flush=True)  # noqa: T201


def need(program: str, packages: str) -> None:
    """Installs a peer where that is possible."""
    if shutil.which(program) or (program == "ns3" and Path("/usr/include/ns3.37").exists()):
        return
    if os.geteuid() != 0:
        sys.exit(f"{program} is missing: sudo apt-get install {packages}")
    subprocess.run(
        "apt-get update -qq && apt-get install -y -qq " + packages, shell=True, check=True, stdout=subprocess.DEVNULL
    )


def timed(command: list[str]) -> tuple[float, str]:
    """User time and output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout + done.stderr


def acked(output: str) -> int:
    """Packets acknowledged, from a peer's last line."""
    found = re.findall(r"total.*?acked_pkts (\d+)", output)
    if not found:
        sys.exit(f"no packet count in: {output[-300:]}")
    return int(found[-1])


def main() -> None:
    """Prints the table and writes build/bench-peers.json."""
    BUILD.mkdir(exist_ok=True)
    need("ns", "ns2")
    need("ns3", "ns3 libns3-dev g++ pkg-config")
    program = BUILD / "dumbbell-ns3"
    if not program.exists():
        modules = "ns3-point-to-point ns3-applications ns3-nix-vector-routing"
        libraries = f"$(pkg-config --libs {modules} | tr ' ' '\\n' | grep '^-l')"
        subprocess.run(
            f"g++ -O2 -std=c++17 {PEERS}/dumbbell.cc -o {program} -Wl,--no-as-needed {libraries}",
            shell=True,
            check=True,
        )
    ours = Path(sys.executable).with_name("cwndlab-bench")
    rates: dict[tuple[str, str], list[float]] = {}
    for name in NS2:
        rounds = 1 if name == "S3" else 3
        for _ in range(rounds):
            # Ours beside each run of a peer, thrice, since it takes a fraction of a second.
            for _ in range(3):
                seconds, output = timed([str(ours), "run", str(ROOT / "scenarios" / f"{name.lower()}.toml"), "1"])
                rates.setdefault((name, "cwndlab"), []).append(json.loads(output)["packets"] / seconds)
            seconds, output = timed(["ns", str(PEERS / "dumbbell.tcl"), *NS2[name].split()])
            rates.setdefault((name, "ns-2"), []).append(acked(output) / seconds)
        if name in NS3:
            seconds, output = timed([str(program), *NS3[name].split()])
            rates.setdefault((name, "ns-3"), []).append(acked(output) / seconds)
        say(f"{name} measured")
    rows = []
    say("\n| scenario | peer | cwndlab, million packets per CPU s | peer | ratio | target |")
    say("|---|---|---:|---:|---:|---:|")
    for (name, peer), values in rates.items():
        if peer == "cwndlab":
            continue
        mine, theirs = statistics.median(rates[name, "cwndlab"]), statistics.median(values)
        target = TARGETS.get((name, peer))
        rows.append(
            {"scenario": name, "peer": peer, "ours": mine, "theirs": theirs, "ratio": mine / theirs, "target": target}
        )
        aim = f"≥ {target}" if target else "–"
        say(f"| {name} | {peer} | {mine / 1e6:.2f} | {theirs / 1e6:.3f} | {mine / theirs:.1f} | {aim} |")
    (BUILD / "bench-peers.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
