"""Speed of the engine compared with ns-2 and ns-3: `make bench-peers`. Both come from Debian; scripts are in peers/.

Each run of a peer is between two runs of cwndlab, so that the load of a shared machine affects both. The measure is the
CPU time of each process, start-up included, in the fastest run, because other processes only increase it. ns-2's Sack1
increases its window as Reno; it is compared with cwndlab's CUBIC and with cwndlab's Reno. A peer that is not installed
and cannot be installed is omitted, with a message.

    python benches/peers.py                all
    python benches/peers.py S1 S4          some scenarios
    python benches/peers.py --quick        a tenth of each duration, once: a test of the benchmark, not a result
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

from targets import cell

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
# Algorithms that cwndlab runs instead of the scenario's CUBIC.
ALGORITHMS = {"CUBIC": None, "Reno": "reno+standard/sack"}


@dataclass(frozen=True)
class Peer:
    """A simulator with one of its senders."""

    simulator: str
    title: str
    """Name of the sender."""
    sender: str
    """Value of the option `cc`."""
    scenarios: tuple[str, ...]
    beside: tuple[str, ...]
    """Names in `ALGORITHMS` of cwndlab's senders for the comparison."""
    durations_s: tuple[tuple[str, int], ...] = ()
    """Simulated durations that differ from `DURATION_S`."""

    @property
    def name(self) -> str:
        """Simulator and sender."""
        return f"{self.simulator} {self.title}"

    def duration_s(self, scenario: str) -> int:
        """Simulated duration of a scenario."""
        return dict(self.durations_s).get(scenario, DURATION_S[scenario])

    def command(self, scenario: str, duration_s: float) -> list[str]:
        """The command of a run."""
        options = [f"cc={self.sender}", *SCENARIOS[scenario].split(), f"dur={duration_s:g}"]
        if self.simulator == "ns-3":
            return [str(NS3_PROGRAM), *(f"--{option}" for option in options), "--sock=16000000"]
        return ["ns", str(PEERS / "dumbbell.tcl"), *options]


NS3_PROGRAM = BUILD / "dumbbell-ns3"
CUBIC = Peer("ns-2", "CUBIC", "linux-cubic", ("S1", "S2", "S3", "S4"), ("CUBIC",))
SACK1 = Peer("ns-2", "Sack1", "sack1", ("S1", "S2", "S3", "S4"), ("CUBIC", "Reno"))
# S1 and S2 are shorter than for the other peers: ns-3 would take minutes, and its packet rate does not depend on the
# duration. S3 would take half an hour.
NS3 = Peer("ns-3", "TcpCubic", "TcpCubic", ("S1", "S2", "S4"), ("CUBIC",), (("S1", 12), ("S2", 4)))
# Minimum ratios of packets per CPU second, cwndlab to peer.
TARGETS = {
    ("S1", CUBIC): 10,
    ("S2", CUBIC): 10,
    ("S3", CUBIC): 60,
    ("S1", NS3): 600,
    ("S2", NS3): 600,
    ("S4", NS3): 600,
}


@dataclass(frozen=True)
class Row:
    """A row of the table: packets acknowledged per CPU second of cwndlab and of the peer."""

    scenario: str
    cwndlab: str
    peer: str
    ours: float
    theirs: float
    target: int | None

    @property
    def ratio(self) -> float:
        """Ratio of cwndlab to the peer."""
        return self.ours / self.theirs

    def __str__(self) -> str:
        target = cell(f"≥ {self.target}", self.ratio) if self.target else "–"
        cells = (self.scenario, self.cwndlab, f"{self.ours / 1e6:.2f}", self.peer, f"{self.theirs / 1e6:.3f}")
        return "| " + " | ".join((*cells, f"{self.ratio:.1f}", target)) + " |"


#: Runs of a peer; cwndlab makes twice as many.
ROUNDS = {"S1": 3, "S2": 3, "S3": 1, "S4": 3}


def say(text: str) -> None:
    """Prints a line without buffering."""
    print(text, flush=True)  # noqa: T201


def machine() -> str:
    """Processor, number of cores, and load."""
    with Path("/proc/cpuinfo").open() as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    return f"{model or 'processor unknown'}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def is_available(program: str, packages: str) -> bool:
    """Whether a peer is installed; as root it is installed if it is missing."""

    def is_installed() -> bool:
        # ns-3 is identified by its headers: a folder ns3 or ns3.37.
        return bool(shutil.which(program)) or (program == "ns3" and any(Path("/usr/include").glob("ns3*")))

    if not is_installed() and os.geteuid() == 0:
        command = f"apt-get update -qq && apt-get install -y -qq {packages}"
        subprocess.run(command, shell=True, check=False, stdout=subprocess.DEVNULL)
    return is_installed()


def available_peers() -> list[Peer]:
    """The peers that can run. Prints a message for each of the others."""
    BUILD.mkdir(exist_ok=True)
    available: list[Peer] = []
    for peer, program, packages in (
        (CUBIC, "ns", "ns2"),
        (SACK1, "ns", "ns2"),
        (NS3, "ns3", "ns3 libns3-dev g++ pkg-config"),
    ):
        if is_available(program, packages):
            available.append(peer)
        else:
            say(f"{peer.name} is omitted: sudo apt-get install {packages}")
    if NS3 in available and not NS3_PROGRAM.exists():
        modules = "ns3-point-to-point ns3-applications ns3-nix-vector-routing"
        libraries = f"$(pkg-config --libs {modules} | tr ' ' '\\n' | grep '^-l')"
        build = f"g++ -O2 -std=c++17 {PEERS}/dumbbell.cc -o {NS3_PROGRAM} -Wl,--no-as-needed {libraries}"
        if subprocess.run(build, shell=True, check=False).returncode != 0:
            say("ns-3 TcpCubic is omitted: peers/dumbbell.cc does not compile")
            available.remove(NS3)
    return available


def timed(command: list[str]) -> tuple[float, str]:
    """CPU time in seconds, and output. User and system time are added, because only their sum is exact: the kernel
    divides it by samples, and a run of S4 takes less than ten milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.stdout + done.stderr


def peer_rate(peer: Peer, scenario: str, duration_s: float) -> float:
    """Packets acknowledged per CPU second of a peer, whose last line has the count."""
    seconds, output = timed(peer.command(scenario, duration_s))
    counts = re.findall(r"total.*?acked_pkts (\d+)", output)
    if not counts:
        sys.exit(f"no packet count in: {output[-300:]}")
    return int(counts[-1]) / seconds


def cwndlab_rate(scenario: Path) -> float:
    """Packets acknowledged per CPU second of cwndlab."""
    seconds, output = timed([str(OURS), "run", str(scenario), "1"])
    packets: int = json.loads(output)["packets"]
    return packets / seconds


def write_scenario(folder: Path, name: str, algorithm: str | None, duration_s: float) -> Path:
    """Writes the scenario with this algorithm and duration to a file."""
    text = (ROOT / "scenarios" / f"{name.lower()}.toml").read_text(encoding="utf-8")
    text = re.sub(r'^duration = ".*"', f'duration = "{duration_s:g} s"', text, flags=re.MULTILINE)
    if algorithm is not None:
        text = re.sub(r'^algorithm = ".*"', f'algorithm = "{algorithm}"', text, flags=re.MULTILINE)
    file = folder / f"{name}-{algorithm is None}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def rates(peer: Peer, name: str, folder: Path, quick: bool) -> tuple[dict[str, float], float]:
    """Packets per CPU second: of cwndlab by algorithm, and of the peer."""
    divisor = 10 if quick else 1
    files = {one: write_scenario(folder, name, ALGORITHMS[one], DURATION_S[name] / divisor) for one in peer.beside}
    ours, theirs = dict.fromkeys(peer.beside, 0.0), 0.0

    def measure() -> None:
        for one, file in files.items():
            ours[one] = max(ours[one], cwndlab_rate(file))

    for _ in range(1 if quick else ROUNDS[name]):
        measure()
        theirs = max(theirs, peer_rate(peer, name, peer.duration_s(name) / divisor))
        measure()
    return ours, theirs


def main(arguments: list[str]) -> None:
    """Prints the table and writes build/bench-peers.json."""
    quick = "--quick" in arguments
    names = [one for one in SCENARIOS if one in arguments or not set(arguments) - {"--quick"}]
    peers = available_peers()
    say(machine())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for peer in (one for one in peers if name in one.scenarios):
                ours, theirs = rates(peer, name, Path(folder), quick)
                for algorithm, value in ours.items():
                    rows.append(Row(name, algorithm, peer.name, value, theirs, TARGETS.get((name, peer))))
            say(f"{name} measured")
    say("\n| scenario | cwndlab | million packets per CPU s | peer | million packets per CPU s | ratio | target |")
    say("|---|---|---:|---|---:|---:|---:|")
    for row in rows:
        say(str(row))
    report = {"machine": machine(), "quick": quick, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    (BUILD / "bench-peers.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
