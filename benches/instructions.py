"""Cost of a packet: instructions and cache lines by stage, from callgrind. `make bench-instructions` prints it.

    python benches/instructions.py              runs the scenarios under callgrind and prints the tables
    python benches/instructions.py --check      fails if a scenario takes more than 2 % above the committed table
    python benches/instructions.py --update     writes the committed table and its block in docs/performance.md
    python benches/instructions.py --committed  prints the committed table, without a run

`--program PATH` selects another program than the installed `cwndlab-bench`. The counts do not depend on the machine's
load or on its caches: callgrind counts instructions and simulates caches of a declared size. They depend on the
compiler, whose version is in the committed table. With another compiler `--check` prints a message instead of a
comparison.

An instruction belongs to the stage of the innermost function that `STAGES` names, in the stack of inlined functions at
its address and in the stacks of its callers. The code that forwards packets over links (`LINKS`) is part of several
stages: there the first function outside of it that a stage names in `carries` determines the stage.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("cwndlab-bench")
COMMITTED = ROOT / "benches" / "instructions.toml"
TOOLS = ("valgrind", "llvm-symbolizer")
#: Growth of a scenario's instructions per packet above which `--check` fails.
TOLERANCE = 0.02
#: Maximum share of instructions without a stage.
MOST_OTHER = 0.05
OTHER = "other"

#: The simulated caches: size, ways, bytes of a line. The last one represents the second level of a core.
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
#: Number of callers that callgrind distinguishes. Callers further out are resolved in proportion to the counted calls.
CALLERS = 4


@dataclass(frozen=True)
class Measured:
    """A measured scenario."""

    name: str
    file: Path
    duration: str
    """Simulated duration, which replaces that of the file."""
    perturb: bool = False
    """The seed perturbs the run, as in studies."""


#: The durations are long enough that slow start does not dominate, and take two minutes on one core.
SCENARIOS = (
    Measured("S1", ROOT / "scenarios" / "s1.toml", "8 s"),
    Measured("S2", ROOT / "scenarios" / "s2.toml", "6 s"),
    Measured("S2-perturbed", ROOT / "scenarios" / "s2.toml", "6 s", perturb=True),
    Measured("S3", ROOT / "scenarios" / "s3.toml", "1.3 s"),
    Measured("S4", ROOT / "scenarios" / "s4.toml", "150 s"),
    Measured("Wi-Fi", ROOT / "benches" / "scenarios" / "wifi.toml", "10 s"),
)


@dataclass(frozen=True)
class Stage:
    """A stage of a packet's processing. Patterns are matched against the beginning of `crate/file:function`."""

    name: str
    code: str
    """Functions of this stage. Functions that they call belong to it unless another stage names them."""
    floor: int
    """Estimated minimum of instructions per packet in S2."""
    why: str
    carries: str = ""
    """Functions for which links forward packets in this stage."""


STAGES = (
    Stage(
        "segment built",
        r"transport/(sender/transmit|send_buffer|pacer|tso):|simulator/packet_sink:(data|syn)$",
        42,
        "8 compare the window with what is in flight, 8 count, 12 note when it was sent and what was delivered then, "
        "14 write a packet of 32 bytes",
    ),
    Stage(
        "links from the sender",
        "",
        32,
        "one line: 4 find the link, 8 compute the departure, 12 add to its queue and take off what has left, 8 count",
        carries=r"simulator/packet_sink:(data|syn)$",
    ),
    Stage(
        "links behind an event",
        "",
        57,
        "one line for a packet, half a one for its ACK, 32 a line; behind each a link that only delays, 6 a link",
        carries=r"simulator/engine:(on_arrival|on_agenda_event|deliver_ahead|run)$",
    ),
    Stage(
        "media and queues with a server",
        r"network/(wifi|aqm)|path/(wifi|aqm_links):|path/network:serve",
        0,
        "S2 has none",
    ),
    Stage(
        "receiver",
        r"transport/(receiver|reassembly|delayed_ack|receive_window):(?!(send|next|next_plain)_ack$)|"
        r"simulator/connection:deliver_data$",
        26,
        "6 read the packet, 4 find it in order, 6 count, 4 compute the window, 6 decide whether an ACK is due",
    ),
    Stage(
        "ACK",
        r"transport/receiver:(send|next|next_plain)_ack$|simulator/packet_sink:(ack|plain_ack|syn_ack)$",
        12,
        "half an ACK: 14 write a packet of 32 bytes, 6 compute the window, 4 count",
    ),
    Stage(
        "links from the receiver",
        "",
        16,
        "one line for the ACK of two packets, 32 a line",
        r"simulator/packet_sink:(ack|plain_ack|syn_ack)$",
    ),
    Stage(
        "sender's ACK processing",
        r"transport/(sender|recovery)/|simulator/connection:deliver_(syn_)?ack$",
        50,
        "half an ACK: 10 read and check it, 15 sample the RTT, 20 sample the rate, 15 set the window; then 20 take a "
        "segment off the scoreboard",
    ),
    Stage(
        "congestion control",
        r"(algorithms|control)/",
        25,
        "half an ACK: 10 for two dynamic calls, 40 for CUBIC's curve",
    ),
    Stage(
        "timers",
        r"transport/(tcb/timing|timers):|simulator/simulation:arm|simulator/(engine|connection):(on_timer|due)$",
        16,
        "half an ACK: 12 restart the retransmission timer, 4 compare it with its entry; 8 for the receiver's timer",
    ),
    Stage(
        "wires",
        r"path/wires:|network/chunked_fifos:",
        24,
        "1.5 arrivals: 8 add a packet of 32 bytes to a FIFO, 8 take it off",
    ),
    Stage(
        "agenda",
        r"path/(agenda|arrivals|ties):",
        38,
        "1.5 arrivals: 7 store the next time, 18 compare it on 6 levels of a tree over 64 links",
    ),
    Stage(
        "event loop",
        r"simulator/engine:(on_arrival|on_agenda_event|deliver_ahead|run|check)$|simulator/run_ahead:|"
        r"simulator/connection:deliver$",
        20,
        "1.5 events: 4 compare with the end and the next sample, 9 find the connection or the route",
    ),
    Stage(
        "sampling",
        r"simulator/(sampler|end_samples):|records/stall:",
        2,
        "rows are written by the interval, not by the packet",
        r"simulator/sampler:",
    ),
    Stage(
        "start and end",
        r"simulator/(engine|bin/.*):|(scenario|config|records)/",
        0,
        "once a run",
        carries=r"simulator/(engine:(?!on_arrival$|on_agenda_event$|deliver_ahead$|run$)|bin/)",
    ),
)

#: The code that forwards packets over links, in all stages.
LINKS = r"network/|path/(network|routes|losses|link_fusion|taps):"

Vector = tuple[int, ...]
"""Instructions, and with simulated caches the line misses of the first and of the second level."""


def _added(one: Vector, other: Vector) -> Vector:
    return tuple(map(int.__add__, one, other))


@dataclass
class Profile:
    """The output of callgrind: costs by context, which is a function with its callers."""

    costs: dict[str, dict[int, Vector]] = field(default_factory=lambda: defaultdict(dict))
    """By context and address; addresses outside of the program are 0."""
    calls: dict[str, dict[tuple[str, int], int]] = field(default_factory=lambda: defaultdict(dict))
    """Instructions of a call, by the called context, the calling context and the address of the call."""

    def addresses(self) -> set[int]:
        """All addresses in the program."""
        called = {address for sites in self.calls.values() for _, address in sites}
        return (called | {address for costs in self.costs.values() for address in costs}) - {0}


def _events(names: list[str]) -> list[list[int]]:
    """The columns whose sums are the numbers of a vector."""
    columns = {name: index for index, name in enumerate(names)}
    groups = [["Ir"], ["D1mr", "D1mw"], ["DLmr", "DLmw"]] if "D1mr" in columns else [["Ir"]]
    return [[columns[name] for name in group] for group in groups]


def read(lines: Iterable[str], program: str) -> Profile:
    """Reads callgrind's output with `--dump-instr=yes`. Addresses are recorded for the object `program` only."""
    profile = Profile()
    names: dict[str, str] = {}
    objects: dict[str, str] = {}
    groups: list[list[int]] = []
    here = ""
    context, called, address, is_call = "", "", 0, False

    def named(text: str) -> str:
        number, _, name = text.partition(" ")
        return names.setdefault(number, name)

    for line in lines:
        text = line.rstrip("\n")
        key, equals, value = text.partition("=")
        if not equals:
            if text.startswith("events: "):
                groups = _events(text.split()[1:])
            if not text or text[0] not in "0123456789+-*":
                continue
            position, _, *costs = text.split()
            if position != "*":
                # A number is decimal unless it begins with 0x.
                address = (address if position[0] in "+-" else 0) + int(position, 0)
            counts = [int(cost) for cost in costs]
            vector = tuple(sum(counts[column] for column in group if column < len(counts)) for group in groups)
            inside = address if here == program else 0
            if is_call:
                sites = profile.calls[called]
                sites[context, inside] = sites.get((context, inside), 0) + vector[0]
                is_call = False
            else:
                own = profile.costs[context]
                own[inside] = _added(own[inside], vector) if inside in own else vector
        elif key in ("ob", "cob"):
            number, _, path = value.partition(" ")
            objects.setdefault(number, Path(path).name)
            if key == "ob":
                here = objects[number]
        elif key == "fn":
            context = named(value)
        elif key == "cfn":
            called = named(value)
        elif key == "calls":
            is_call = True
    return profile


Stack = tuple[str, ...]
"""The stack of inlined functions, the innermost first, each as `crate/file:function`."""


def _function(name: str) -> str:
    """The last part of a function's name, without generic arguments and hashes."""
    name = re.sub(r"( \(\.llvm\..*|::h[0-9a-f]{16}.*)$", "", name)
    return re.sub(r"(?<=[\w}])<.*>$", "", name).rsplit("::", 1)[-1]


def stacks(program: Path, addresses: Iterable[int]) -> dict[int, Stack]:
    """The stack at each address, without functions from outside of crates/."""
    ordered = sorted(addresses)
    query = "".join(f"{address:#x}\n" for address in ordered)
    command = ["llvm-symbolizer", f"--obj={program}", "--inlines", "--demangle", "--output-style=LLVM"]
    output = subprocess.run(command, input=query, capture_output=True, text=True, check=True).stdout
    stack_at: dict[int, Stack] = {}
    for address, block in zip(ordered, output.strip("\n").split("\n\n"), strict=True):
        lines = block.split("\n")
        pairs = zip(lines[::2], lines[1::2], strict=False)
        places = ((name, re.search(r"(?:^|/)crates/([\w/-]+?)/src/(.+?)\.rs:", place)) for name, place in pairs)
        stack_at[address] = tuple(f"{place[1]}/{place[2]}:{_function(name)}" for name, place in places if place)
    return stack_at


State = Literal["any", "on a link"]


@cache
def _step(frame: str, state: State) -> tuple[str | None, State]:
    """The stage of a function, or none with the state for its caller."""
    for stage in STAGES:
        pattern = stage.code if state == "any" else stage.carries
        if pattern and re.match(pattern, frame):
            return stage.name, state
    return None, "on a link" if re.match(LINKS, frame) else state


def _walk(stack: Stack, state: State) -> tuple[str | None, State]:
    """The stage of a stack, or none with the state for its caller."""
    for frame in stack:
        stage, state = _step(frame, state)
        if stage is not None:
            return stage, state
    return None, state


class Attribution:
    """Attributes every cost of a profile to a stage."""

    def __init__(self, profile: Profile, stack_at: dict[int, Stack]) -> None:
        self._profile = profile
        self._stack_at = stack_at
        self._known: dict[tuple[str, State], dict[str, float]] = {}

    def shares(self, context: str, address: int, state: State = "any") -> dict[str, float]:
        """The stages of a context's cost at an address, and their shares."""
        stage, further = _walk(self._stack_at.get(address, ()), state)
        return {stage: 1.0} if stage else self._outside(context, further)

    def _outside(self, context: str, state: State) -> dict[str, float]:
        """The stages if the stack at the address has none: those of the callers, in proportion to their costs."""
        if (context, state) not in self._known:
            # The result for recursive calls.
            self._known[context, state] = {OTHER: 1.0}
            sites = self._profile.calls.get(context, {})
            total = sum(sites.values())
            shares: dict[str, float] = defaultdict(float)
            for (caller, address), cost in sites.items():
                for name, share in self.shares(caller, address, state).items():
                    shares[name] += share * cost / total
            self._known[context, state] = shares or {OTHER: 1.0}
        return self._known[context, state]

    def by_stage(self) -> dict[str, tuple[float, ...]]:
        """Costs by stage."""
        sums: dict[str, list[float]] = {}
        for context, costs in self._profile.costs.items():
            for address, vector in costs.items():
                for name, share in self.shares(context, address).items():
                    row = sums.setdefault(name, [0.0] * len(vector))
                    for index, count in enumerate(vector):
                        row[index] += share * count
        return {name: tuple(row) for name, row in sums.items()}

    def unnamed(self) -> str:
        """The most expensive stacks without a stage, a line each."""
        sums: dict[str, float] = defaultdict(float)
        for context, costs in self._profile.costs.items():
            for address, vector in costs.items():
                share = self.shares(context, address).get(OTHER, 0.0)
                sums[" < ".join((*self._stack_at.get(address, ()), context))] += share * vector[0]
        worst = sorted(sums.items(), key=lambda item: -item[1])[:20]
        return "\n".join(f"{count:14,.0f}  {stack}" for stack, count in worst if count)


@dataclass(frozen=True)
class Cost:
    """The cost per packet of a scenario."""

    simulated: str
    packets: int
    stages: dict[str, tuple[float, ...]]
    """Instructions, line misses of the first and of the second level."""

    def total(self, column: int = 0) -> float:
        """The sum over all stages."""
        return sum(row[column] for row in self.stages.values())

    def other(self) -> float:
        """The share of instructions without a stage."""
        return self.stages.get(OTHER, (0.0,))[0] / self.total()


def _run(program: Path, one: Measured, folder: Path, *, caches: bool) -> tuple[int, Path]:
    """Runs a scenario under callgrind; returns the number of packets delivered and callgrind's output.

    File names and environment are the same everywhere, because they change the addresses of the stack.
    """
    text, cut = re.subn(r'(?m)^duration = ".*"', f'duration = "{one.duration}"', one.file.read_text(encoding="utf-8"))
    if cut != 1:
        raise SystemExit(f"{one.file}: exactly one line must set the duration")
    (folder / "scenario.toml").write_text("perturb = true\n" * one.perturb + text, encoding="utf-8")
    out = folder / "callgrind.out"
    options = ["--tool=callgrind", "--dump-instr=yes", f"--separate-callers={CALLERS}", f"--callgrind-out-file={out}"]
    command = [
        "valgrind",
        "-q",
        *options,
        *(CACHES if caches else ()),
        f"./{program.name}",
        "run",
        "scenario.toml",
        "1",
    ]
    done = subprocess.run(
        [shutil.which(command[0]) or command[0], *command[1:]], cwd=folder, env={}, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{one.name}: {' '.join(command)} failed: {done.stderr.strip()}")
    return int(json.loads(done.stdout.splitlines()[-1])["packets"]), out


def measure(program: Path, *, caches: bool) -> dict[str, Cost]:
    """The costs of all scenarios. Without simulated caches it takes a third of the time and gives no line misses."""
    measured: dict[str, Cost] = {}
    stack_at: dict[int, Stack] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "program"
        shutil.copy(program, copy)
        for one in SCENARIOS:
            packets, out = _run(copy, one, folder, caches=caches)
            with out.open(encoding="utf-8") as lines:
                profile = read(lines, copy.name)
            stack_at |= stacks(copy, profile.addresses() - stack_at.keys())
            attribution = Attribution(profile, stack_at)
            sums = attribution.by_stage()
            cost = Cost(one.duration, packets, {name: tuple(n / packets for n in row) for name, row in sums.items()})
            if cost.other() > MOST_OTHER:
                raise SystemExit(
                    f"{one.name}: {cost.other():.1%} of the instructions have no stage; STAGES in "
                    f"{Path(__file__).relative_to(ROOT)} needs a rule for the first of these:\n{attribution.unnamed()}"
                )
            measured[one.name] = cost
    # Otherwise a function that moved to another file would be attributed to the stage of its callers.
    used = {stage for cost in measured.values() for stage in cost.stages}
    if unused := [stage.name for stage in STAGES if stage.name not in used]:
        raise SystemExit(f"{Path(__file__).relative_to(ROOT)}: no function of the program is in {', '.join(unused)}")
    return measured


@dataclass(frozen=True)
class Table:
    """The committed table: costs, compiler, valgrind and machine."""

    rustc: str
    valgrind: str
    machine: str
    costs: dict[str, Cost]

    def toml(self) -> str:
        """The table as TOML."""
        names = [stage.name for stage in STAGES] + [OTHER]
        lines = [
            "# Cost of a packet; `python benches/instructions.py --update` writes this file.",
            "# Per stage and packet: instructions, line misses of the first level of caches, and of the second level.",
            f'rustc = "{self.rustc}"',
            f'valgrind = "{self.valgrind}"',
            f'machine = "{self.machine}"',
        ]
        for name, cost in self.costs.items():
            lines += [
                "",
                f"[{name}]",
                f'simulated = "{cost.simulated}"',
                f"packets = {cost.packets}",
                f"[{name}.stages]",
            ]
            for stage in names:
                row = cost.stages.get(stage, (0.0, 0.0, 0.0))
                lines.append(f'"{stage}" = [{row[0]:.1f}, {row[1]:.3f}, {row[2]:.3f}]')
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """The block of docs/performance.md."""
        totals = _table(
            ["scenario", "simulated", "packets", "instructions", "lines", "lines, second level"],
            (
                [name, cost.simulated, f"{cost.packets:,}", f"{cost.total():,.0f}"]
                + [f"{cost.total(column):.2f}" for column in (1, 2)]
                for name, cost in self.costs.items()
            ),
            text=2,
        )
        return f"rustc {self.rustc}, {self.valgrind}, {self.machine}; per packet:\n\n{totals}\n\n{self._stages()}"

    def _stages(self) -> str:
        usual, large = self.costs["S2"], self.costs["S3"]
        nothing = (0.0, 0.0, 0.0)
        rows = []
        for stage in STAGES:
            one, other = usual.stages.get(stage.name, nothing), large.stages.get(stage.name, nothing)
            rows.append([stage.name, f"{one[0]:,.0f}", str(stage.floor), *_lines(one, other), stage.why])
        one, other = usual.stages.get(OTHER, nothing), large.stages.get(OTHER, nothing)
        rows.append([OTHER, f"{one[0]:,.0f}", "0", *_lines(one, other), ""])
        sums = [tuple(cost.total(column) for column in range(3)) for cost in (usual, large)]
        floor = sum(stage.floor for stage in STAGES)
        rows.append(["all", f"{sums[0][0]:,.0f}", str(floor), *_lines(*sums), ""])
        head = ["stage", "S2: instructions", "floor", "S2: lines", "S3: instructions", "S3: lines", "S3: second level"]
        return _table([*head, "the floor"], rows, text=1, last=True)


def _lines(usual: tuple[float, ...], large: tuple[float, ...]) -> list[str]:
    return [f"{usual[1]:.2f}", f"{large[0]:,.0f}", f"{large[1]:.2f}", f"{large[2]:.2f}"]


def _table(head: list[str], rows: Iterable[list[str]], *, text: int, last: bool = False) -> str:
    """A Markdown table. The first ``text`` columns are text, with ``last`` also the last column."""
    rule = ["---"] * text + ["---:"] * (len(head) - text)
    if last:
        rule[-1] = "---"
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def committed(file: Path = COMMITTED) -> Table:
    """The committed table."""
    document: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    versions = {key: str(document.pop(key)) for key in ("rustc", "valgrind", "machine")}
    costs = {
        name: Cost(one["simulated"], one["packets"], {stage: tuple(row) for stage, row in one["stages"].items()})
        for name, one in document.items()
    }
    return Table(**versions, costs=costs)


def rustc_of(program: Path) -> str:
    """The version of the compiler, which the program contains."""
    version = re.search(rb"rustc version ([^\0()]+\([^\0()]*\))", program.read_bytes())
    return version[1].decode() if version else "unknown"


def lacking(program: Path) -> list[str]:
    """Missing prerequisites of a measurement."""
    return [tool for tool in TOOLS if shutil.which(tool) is None] + ([] if program.is_file() else [str(program)])


def unlike(program: Path, table: Table) -> str | None:
    """The reason why the program's counts cannot be compared with the table; none if they can."""
    built, expected = (rustc_of(program), platform.machine()), (table.rustc, table.machine)
    if built == expected:
        return None
    return (
        f"the program was built by rustc {' for '.join(built)}, the committed table by rustc {' for '.join(expected)}"
    )


def faults(costs: dict[str, Cost], before: dict[str, Cost]) -> Iterator[str]:
    """The scenarios that exceed the tolerance, a line each."""
    for name, cost in costs.items():
        old = before.get(name)
        if old is None or old.simulated != cost.simulated:
            yield f"{name}: the committed table has no entry with a duration of {cost.simulated}"
            continue
        growth = cost.total() / old.total() - 1
        if growth <= TOLERANCE:
            continue
        grown = {stage: row[0] - old.stages.get(stage, (0.0,))[0] for stage, row in cost.stages.items()}
        largest = sorted((item for item in grown.items() if item[1] >= 0.5), key=lambda item: -item[1])[:4]
        stages = ", ".join(f"{stage} +{increase:.0f}" for stage, increase in largest)
        yield (
            f"{name}: {cost.total():,.0f} instructions per packet, {growth:.1%} above the committed {old.total():,.0f} "
            f"(limit {TOLERANCE:.0%}): {stages}"
        )


def check(program: Path) -> list[str]:
    """Measures without caches and compares with the committed table."""
    return list(faults(measure(program, caches=False), committed().costs))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _checked(program: Path) -> int:
    if reason := unlike(program, committed()):
        _say(f"not compared: {reason}")
        return 0
    messages = check(program)
    for message in messages:
        _say(message)
    if messages:
        _say("if the change is intended: python benches/instructions.py --update")
    return 1 if messages else 0


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    modes = parser.add_mutually_exclusive_group()
    for mode in ("check", "update", "committed"):
        modes.add_argument(f"--{mode}", action="store_true")
    options = parser.parse_args(arguments)
    if options.committed:
        _say(committed().markdown())
        return 0
    program: Path = options.program.absolute()
    if missing := lacking(program):
        _say(f"missing: {', '.join(missing)}")
        return 1
    if options.check:
        return _checked(program)
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    costs = measure(program, caches=True)
    table = Table(rustc_of(program), valgrind, platform.machine(), costs)
    _say(table.markdown())
    if options.update:
        COMMITTED.write_text(table.toml(), encoding="utf-8")
        return subprocess.run([sys.executable, ROOT / "tools" / "refresh_docs.py", "instructions"]).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
