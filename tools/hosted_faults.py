"""The seeded faults of tests/faults/ in a hosted stack: cwndlab's algorithms over quinn (docs/host.md).

`python tools/hosted_faults.py [--only NAME …] [--force]` takes each fault whose patch changes an algorithm: it builds
the stack with the patch in build/faults/hosted, and runs it with the engine of this environment over the paths of
`scenarios`. The statements of `cwndlab host --check` judge the packets, an audit and an identification the logs. The
row is written at once into known-answers/hosted-faults.json; `make docs ONLY=faults` makes the table of docs/host.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure_faults
import seeded_faults
from cwndlab import Scenario, identify
from cwndlab.errors import Error
from cwndlab.study.hosting import host
from cwndlab.study.stack_statements import Cell, cells_of
from cwndlab.validation.audit import audit
from seeded_faults import ROOT, UNPATCHED, SeededFault

STACK = "cwndlab"
WORK = ROOT / "build" / "faults" / "hosted"
TREE, PROGRAMS = WORK / "tree", WORK / "bin"
#: Sources of the stack.
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "tools/stacks")
RESULTS = ROOT / "known-answers" / "hosted-faults.json"
#: One datagram for each call of the controller, of a constant size, so that a log names packets exactly; the numbers
#: that BBR draws are those of an audit.
OPTIONS = "mtu=1452,mtud=0,gso=1,control-seed=0"
#: The senders, by the area of a fault.
SENDERS = {"CUBIC": "cubic", "HyStart++": "cubic", "BBR": "bbr3"}
#: A share of explained ACKs that is lower by so much is a finding, as in `cwndlab host --check`.
LOWER = 0.05
#: The paths whose logs are identified.
IDENTIFIED = ("alone", "lossy")

PATH = """
schema_version = 1
duration = "8 s"

[dumbbell]
bottleneck = { rate = "20 Mbps", delay = "1 ms", queue = { capacity = "1 bdp" } }

[[flow]]
algorithm = "cubic"
rtt = "40 ms"
"""

_LINK = "dumbbell.bottleneck"


def scenarios() -> list[Cell]:
    """The cells of `cwndlab host --check` with one flow, and paths that reach other parts of an algorithm."""
    path = Scenario.from_toml(PATH)
    thin = {
        f"{_LINK}.rate": "500 kbps",
        f"{_LINK}.queue.capacity": "2 pkt",
        f"{_LINK}.loss": {"kind": "bernoulli", "p": 0.02},
    }
    # Losses; then the application is slower than the line; then the window fills without a loss.
    slower = [{"at": at, "rate": rate} for at, rate in (("500 ms", "4 Mbps"), ("2 s", "20 Mbps"), ("5 s", "7 Mbps"))]
    # A window of hundreds of segments, whose growth depends on the time since the reduction and not on the ACKs.
    long = {"duration": "16 s", f"{_LINK}.rate": "50 Mbps", "flow[0].rtt": "100 ms"}
    away = [{"at": "4 s", "loss": 1.0}, {"at": "6 s", "loss": 0.0}]
    later = [{"at": at, "rate": rate} for at, rate in (("500 ms", "6 Mbps"), ("5 s", "50 Mbps"), ("9 s", "6 Mbps"))]
    # A rate that grows by 12 % in a round trip of 80 ms: by a quarter in two of them, and by a third in three.
    rising = [{"at": f"{20 * step} ms", "rate": f"{4000 * 1.12 ** (step / 4):.0f} kbps"} for step in range(60)]
    burst = {"kind": "list", "indices": list(range(100, 110)), "counts": "payload"}
    return [
        *(one for one in cells_of(path) if one.against is None),
        Cell("lossy", {f"{_LINK}.loss": {"kind": "bernoulli", "p": 1e-3}}),
        Cell("deep queue", {f"{_LINK}.queue.capacity": "4 bdp"}),
        Cell("jitter", {f"{_LINK}.jitter": {"spread": "10 ms"}}),
        Cell("limited in between", {f"{_LINK}.schedule": slower}, rate="8 Mbps"),
        Cell("idle", {"flow[0].rtt": "4 ms"}, rate="5 Mbps"),
        Cell("thin", thin),
        Cell("long, outage", {**long, f"{_LINK}.schedule": away}),
        Cell("long, limited in between", {**long, "duration": "18 s", f"{_LINK}.schedule": later}, rate="8 Mbps"),
        Cell("single packets", {"flow[0].rtt": "4 ms"}, rate="1 Mbps"),
        Cell("rising rate", {f"{_LINK}.schedule": rising, f"{_LINK}.queue.capacity": "3 bdp"}),
        Cell("a burst of losses", {f"{_LINK}.loss": burst}),
    ]


def applicable() -> list[SeededFault]:
    """The faults whose patches change algorithms only: others lie in cwndlab's TCP, in whose place quinn stands."""
    return [one for one in seeded_faults.faults() if one.area in SENDERS]


def copy_sources() -> None:
    """Makes the copy equal to the sources; equal files keep their times, so that a build is incremental."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *SOURCES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            measure_faults.copy_file(ROOT / name, TREE / name)


def build(fault: SeededFault | None) -> None:
    """Builds the stack with a fault, or without one."""
    copy_sources()
    if fault is not None:
        measure_faults.apply(fault.patch, TREE)
    manifest = TREE / "tools" / "stacks" / "hosted" / "Cargo.toml"
    target = Path(os.environ.get("CARGO_TARGET_DIR", WORK / "target"))
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(manifest)]
    command += ["--target-dir", str(target), "--package", f"cwndlab-stack-{STACK}"]
    # Compiled again for each fault, and a small part of what a run computes.
    for crate in ("algorithms", "control", "quic"):
        command += ["--config", f"profile.release.package.cwndlab-{crate}.opt-level=1"]
    subprocess.run(command, env={**os.environ, "CARGO_PROFILE_RELEASE_INCREMENTAL": "true"}, check=True)
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    program = PROGRAMS / f"cwndlab-stack-{STACK}"
    program.unlink(missing_ok=True)
    shutil.copy(target / "release" / program.name, program)


def measured(sender: str) -> Iterator[dict[str, Any]]:
    """What the judges say about each path."""
    base = Scenario.from_toml(PATH)
    os.environ["CWNDLAB_STACKS"] = str(PROGRAMS)
    for cell in scenarios():
        with tempfile.TemporaryDirectory() as folder:
            (found,) = host(
                STACK,
                [sender],
                scenario=base.with_(dict(cell.changes)),
                options=OPTIONS,
                rate=cell.rate,
                statement=cell.statement,
                logs=Path(folder),
            )
            (log,) = Path(folder).iterdir()
            row: dict[str, Any] = {"path": cell.name, "hash": found.hash, "holds": found.holds, "found": found.found}
            row["audit"] = audited(log, sender)
            if cell.name in IDENTIFIED:
                row["identified"] = identified(log)
        yield row


def audited(log: Path, sender: str) -> dict[str, Any]:
    """The audit of a log."""
    try:
        result = audit(log, sender)
    except Error as error:
        return {"error": str(error)}
    kinds = {one.kind: one.departures for one in result.groups}
    row: dict[str, Any] = {"acks": result.acks, "decisive": result.decisive, "share": result.share, "kinds": kinds}
    if result.first is not None:
        row["first"] = {"kind": result.first.kind, "source": result.first.source, "time_ms": result.first.time_ms}
    return row


def identified(log: Path) -> dict[str, Any]:
    """The identification of a log."""
    result = identify(log)
    best = result.best
    row: dict[str, Any] = {"verdict": str(result.verdict), "first": best.algorithm, "ties": list(result.ties)}
    parameters = {one.name: one.value for one in result.parameters}
    return row | {"explained": best.explained, "misfit": best.misfit, "parameters": parameters}


def rows() -> dict[str, Any]:
    """The measured rows: of the stack without a fault by sender, and of each fault by its name."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def save(measured_rows: dict[str, Any]) -> None:
    """Writes the rows in the order of the list."""
    order = [f"{UNPATCHED} {sender}" for sender in dict.fromkeys(SENDERS.values())] + [one.name for one in applicable()]
    plain = {name: measured_rows[name] for name in order if name in measured_rows}
    RESULTS.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


#: What was measured on a path.
OnPath = dict[str, Any]


def by_statement(path: OnPath, base: OnPath) -> str:
    """The statement that fails with the fault alone; empty if none does."""
    return str(path["found"]) if path["holds"] is False and base["holds"] is not False else ""


def by_audit(path: OnPath, base: OnPath) -> str:
    """The departures that the stack without the fault does not have, or the share that falls; empty without any."""
    found, known = path["audit"], base["audit"]
    kinds = [kind for kind in found.get("kinds", {}) if kind not in known.get("kinds", {})]
    if kinds:
        return ", ".join(f"`{kind}`" for kind in kinds[:2])
    shares = (known.get("share"), found.get("share"))
    if None not in shares and shares[1] < shares[0] - LOWER:
        return f"{100 * shares[1]:.0f} % in place of {100 * shares[0]:.0f} %"
    return ""


def by_identification(path: OnPath, base: OnPath) -> str:
    """What the identification says in place of that of the stack without the fault; empty if the same."""
    found, known = path.get("identified"), base.get("identified")
    if not found or not known:
        return ""
    if found["verdict"] in ("unknown", "undetermined") and found["verdict"] != known["verdict"]:
        return str(found["verdict"])
    if found["first"] != known["first"]:
        return f"`{found['first']}`"
    return "a variant" if found["misfit"] > 1 >= known["misfit"] else ""


JUDGES = (by_statement, by_audit, by_identification)


def findings(name: str, measured_rows: dict[str, Any]) -> list[tuple[str, str]]:
    """What each judge finds first of a fault, with the path; pairs of empty texts if it finds nothing."""
    row = measured_rows[name]
    base = {one["path"]: one for one in measured_rows[f"{UNPATCHED} {row['sender']}"]["paths"]}
    found = []
    for judge in JUDGES:
        told = ((one["path"], judge(one, base[one["path"]])) for one in row["paths"])
        found.append(next((pair for pair in told if pair[1]), ("", "")))
    return found


def has_no_effect(name: str, measured_rows: dict[str, Any]) -> bool:
    """Whether the runs with the fault have the bits of those without."""
    row = measured_rows[name]
    base = {one["path"]: one["hash"] for one in measured_rows[f"{UNPATCHED} {row['sender']}"]["paths"]}
    return all(one["hash"] == base[one["path"]] for one in row["paths"])


def markdown() -> str:
    """The section: rates, false alarms, and a row for each fault."""
    done = rows()
    listed = {one.name: findings(one.name, done) for one in applicable() if one.name in done}
    counts = [sum(bool(found[at][1]) for found in listed.values()) for at in range(len(JUDGES))]
    either = sum(any(text for _, text in found) for found in listed.values())
    silent = [name for name in listed if has_no_effect(name, done)]
    others = len(seeded_faults.faults()) - len(applicable())
    lines = [
        f"Of {len(listed)} faults, statements on packets find {counts[0]}, the audit {counts[1]}, the identification "
        f"{counts[2]}, and one of the three {either}; {len(silent)} change no bit of these runs. {others} other faults "
        "lie in cwndlab's TCP, in whose place a stack has its own transport.",
        *(_alarms(sender, done) for sender in dict.fromkeys(SENDERS.values()) if f"{UNPATCHED} {sender}" in done),
        "\n".join(
            [
                "| fault | statement on packets | audit | identification |",
                "|---|---|---|---|",
                *(_line(name, found, name in silent) for name, found in listed.items()),
            ]
        ),
    ]
    return "\n\n".join(lines)


def _alarms(sender: str, done: dict[str, Any]) -> str:
    paths = done[f"{UNPATCHED} {sender}"]["paths"]
    fails = sum(one["holds"] is False for one in paths)
    departures = [one["path"] for one in paths if one["audit"].get("kinds")]
    named = f" ({', '.join(departures)})" if departures else ""
    return (
        f"Without a fault, `{sender}`: {fails} statements fail, and {len(departures)} of {len(paths)} audits have "
        f"departures{named}."
    )


def _line(name: str, found: list[tuple[str, str]], is_silent: bool) -> str:
    cells = [f"{path}: {text}" if text else "–" for path, text in found]
    if is_silent:
        cells = ["*no bit changes*", "–", "–"]
    return f"| `{name}` | {' | '.join(cells)} |"


def main() -> None:
    """Measures the faults whose patch has no row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these faults, or 'unpatched'")
    parser.add_argument("--force", action="store_true", help="measure also those that have a row of this patch")
    arguments = parser.parse_args()
    jobs: list[tuple[str, str, SeededFault | None]] = [
        (f"{UNPATCHED} {sender}", sender, None) for sender in dict.fromkeys(SENDERS.values())
    ]
    jobs += [(one.name, SENDERS[one.area], one) for one in applicable()]
    done = rows()
    for name, sender, fault in jobs:
        digest = fault.digest if fault else ""
        is_wanted = not arguments.only or name.split()[0] in arguments.only
        if not is_wanted or (name in done and done[name]["digest"] == digest and not arguments.force):
            continue
        start = time.monotonic()
        build(fault)
        row = {"digest": digest, "sender": sender, "paths": list(measured(sender))}
        done = rows() | {name: row}
        save(done)
        sys.stdout.write(f"{name}: {time.monotonic() - start:.0f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
