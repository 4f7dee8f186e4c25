"""The engine beside ns-2 and ns-3 in one run: `make bench-peers`. Both come from Debian; the scripts are in peers/.

Each run of a peer is between two of cwndlab, so that the load of a shared machine meets both; CPU time of each process
is counted, start-up included, and the fastest run of each side counts, since others only add to it. ns-2's Sack1 grows
its window as Reno; it is shown beside cwndlab's CUBIC and beside cwndlab's Reno. A peer that is not here and cannot be
installed is left out, by name.

    python benches/peers.py                all
    python benches/peers.py S1 S4          some scenarios
    python benches/peers.py --quick        a tenth of each duration, once: to see that it works, not to be quoted
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benches" / "peers"
BUILD = ROOT / "build"
OURS = Path(sys.executable).with_name("cwndlab-bench")
SCENARIOS = {
    "S1": "n=2 bneck=250 access=500 rtt=100,190 buf=1042",
    "S2": "n=20 bneck=1000 access=1000 rtt=50 buf=833 gap=0.05",
    "S3": "n=200 rev=10 bneck=10000 access=1000 rtt=50 buf=8333 gap=0.002 perflow=0",
    "S4": "n=10 bneck=1.5 access=100 rtt=100 buf=50 gap=0.1",
}
DURATION_S = {"S1": 60, "S2": 20, "S3": 5, "S4": 150}
# What cwndlab runs in place of the scenario's CUBIC.
ALGORITHMS = {"CUBIC": None, "Reno": "reno+standard/sack"}


@dataclass(frozen=True)
class Peer:
    """A simulator with one of its senders."""

    simulator: str
    title: str
    """Of the sender."""
    sender: str
    """Its `cc`."""
    scenarios: tuple[str, ...]
    beside: tuple[str, ...]
    """What of cwndlab it is compared with, of `ALGORITHMS`."""
    durations_s: tuple[tuple[str, int], ...] = ()
    """Where they are others than `DURATION_S`."""

    @property
    def name(self) -> str:
        """Simulator and sender."""
        return f"{self.simulator} {self.title}"

    def duration_s(self, scenario: str) -> int:
        """How long it simulates."""
        return dict(self.durations_s).get(scenario, DURATION_S[scenario])

    def command(self, scenario: str, duration_s: float) -> list[str]:
        """A run."""
        words = [f"cc={self.sender}", *SCENARIOS[scenario].split(), f"dur={duration_s:g}"]
        if self.simulator == "ns-3":
            return [str(NS3_PROGRAM), *(f"--{word}" for word in words), "--sock=16000000"]
        return ["ns", str(PEERS / "dumbbell.tcl"), *words]


NS3_PROGRAM = BUILD / "dumbbell-ns3"
CUBIC = Peer("ns-2", "CUBIC", "linux-cubic", ("S1", "S2", "S3", "S4"), ("CUBIC",))
SACK1 = Peer("ns-2", "Sack1", "sack1", ("S1", "S2", "S3", "S4"), ("CUBIC", "Reno"))
# S1 and S2 are shorter than the others': ns-3 would take minutes, and its rate does not depend on the length. S3 would
# take it half an hour.
NS3 = Peer("ns-3", "TcpCubic", "TcpCubic", ("S1", "S2", "S4"), ("CUBIC",), (("S1", 12), ("S2", 4)))
# At least so many times the peer's packets per CPU second.
TARGETS = {
    ("S1", CUBIC): 9,
    ("S2", CUBIC): 9,
    ("S3", CUBIC): 45,
    ("S1", NS3): 500,
    ("S2", NS3): 500,
    ("S4", NS3): 500,
}


@dataclass(frozen=True)
class Row:
    """A line of the table: packets acknowledged per CPU second, of both."""

    scenario: str
    cwndlab: str
    peer: str
    ours: float
    theirs: float
    target: int | None

    @property
    def ratio(self) -> float:
        """How many times the peer's."""
        return self.ours / self.theirs

    def __str__(self) -> str:
        aim = f"≥ {self.target}" if self.target else "–"
        cells = (self.scenario, self.cwndlab, f"{self.ours / 1e6:.2f}", self.peer, f"{self.theirs / 1e6:.3f}")
        return "| " + " | ".join((*cells, f"{self.ratio:.1f}", aim)) + " |"


#: Runs of a peer; of cwndlab twice as many.
ROUNDS = {"S1": 3, "S2": 3, "S3": 1, "S4": 3}


def say(text: str) -> None:
    """A line at once."""
    print(text, flush=True)  # noqa: T201


def machine() -> str:
    """Processor, cores, and how many processes wanted them lately."""
    with Path("/proc/cpuinfo").open() as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    return f"{model or 'processor unknown'}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def there(program: str, packages: str) -> bool:
    """Whether a peer is here, or can be installed."""

    def found() -> bool:
        # Of ns-3 the headers: a folder called ns3 or ns3.37.
        return bool(shutil.which(program)) or (program == "ns3" and any(Path("/usr/include").glob("ns3*")))

    if not found() and os.geteuid() == 0:
        command = f"apt-get update -qq && apt-get install -y -qq {packages}"
        subprocess.run(command, shell=True, check=False, stdout=subprocess.DEVNULL)
    return found()


def peers() -> list[Peer]:
    """Those that can be run; the others are named."""
    BUILD.mkdir(exist_ok=True)
    found: list[Peer] = []
    for peer, program, packages in (
        (CUBIC, "ns", "ns2"),
        (SACK1, "ns", "ns2"),
        (NS3, "ns3", "ns3 libns3-dev g++ pkg-config"),
    ):
        if there(program, packages):
            found.append(peer)
        else:
            say(f"{peer.name} is left out: sudo apt-get install {packages}")
    if NS3 in found and not NS3_PROGRAM.exists():
        modules = "ns3-point-to-point ns3-applications ns3-nix-vector-routing"
        libraries = f"$(pkg-config --libs {modules} | tr ' ' '\\n' | grep '^-l')"
        build = f"g++ -O2 -std=c++17 {PEERS}/dumbbell.cc -o {NS3_PROGRAM} -Wl,--no-as-needed {libraries}"
        if subprocess.run(build, shell=True, check=False).returncode != 0:
            say("ns-3 TcpCubic is left out: peers/dumbbell.cc does not compile")
            found.remove(NS3)
    return found


def timed(command: list[str]) -> tuple[float, str]:
    """CPU time in seconds, and output. User and system time are added, since only their sum is exact: the kernel tells
    them apart by samples, and a run of S4 takes no ten milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.stdout + done.stderr


def theirs(peer: Peer, scenario: str, duration_s: float) -> float:
    """Packets acknowledged per CPU second of a peer, which tells them in its last line."""
    seconds, output = timed(peer.command(scenario, duration_s))
    found = re.findall(r"total.*?acked_pkts (\d+)", output)
    if not found:
        sys.exit(f"no packet count in: {output[-300:]}")
    return int(found[-1]) / seconds


def ours(scenario: Path) -> float:
    """Packets acknowledged per CPU second of cwndlab."""
    seconds, output = timed([str(OURS), "run", str(scenario), "1"])
    packets: int = json.loads(output)["packets"]
    return packets / seconds


def written(folder: Path, name: str, algorithm: str | None, duration_s: float) -> Path:
    """The scenario in a file, with this algorithm and duration."""
    text = (ROOT / "scenarios" / f"{name.lower()}.toml").read_text(encoding="utf-8")
    text = re.sub(r'^duration = ".*"', f'duration = "{duration_s:g} s"', text, flags=re.MULTILINE)
    if algorithm is not None:
        text = re.sub(r'^algorithm = ".*"', f'algorithm = "{algorithm}"', text, flags=re.MULTILINE)
    file = folder / f"{name}-{algorithm is None}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def rates(peer: Peer, name: str, folder: Path, quick: bool) -> tuple[dict[str, float], float]:
    """Packets per CPU second: of cwndlab by algorithm, and of the peer."""
    shorter = 10 if quick else 1
    files = {one: written(folder, name, ALGORITHMS[one], DURATION_S[name] / shorter) for one in peer.beside}
    mine, other = dict.fromkeys(peer.beside, 0.0), 0.0

    def measure() -> None:
        for one, file in files.items():
            mine[one] = max(mine[one], ours(file))

    for _ in range(1 if quick else ROUNDS[name]):
        measure()
        other = max(other, theirs(peer, name, peer.duration_s(name) / shorter))
        measure()
    return mine, other


def main(arguments: list[str]) -> None:
    """Prints the table and writes build/bench-peers.json."""
    quick = "--quick" in arguments
    names = [one for one in SCENARIOS if one in arguments or not set(arguments) - {"--quick"}]
    found = peers()
    say(machine())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for peer in (one for one in found if name in one.scenarios):
                mine, other = rates(peer, name, Path(folder), quick)
                for algorithm, value in mine.items():
                    rows.append(Row(name, algorithm, peer.name, value, other, TARGETS.get((name, peer))))
            say(f"{name} measured")
    say("\n| scenario | cwndlab | million packets per CPU s | peer | million packets per CPU s | ratio | target |")
    say("|---|---|---:|---|---:|---:|---:|")
    for row in rows:
        say(str(row))
    kept = {"machine": machine(), "quick": quick, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    (BUILD / "bench-peers.json").write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
