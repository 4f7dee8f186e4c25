"""Which seeded faults do the suites, the packetdrill scripts and the audit find? (`make faults`)

`python tools/measure_faults.py [--only NAME …] [--force]` takes each fault of tests/faults/faults.toml whose patch has
no row in known-answers/faults.json, or a row of suites or an audit that stated something else: it copies the sources to
build/faults/, applies the patch, builds the engine there, runs the suites and scripts with it, exports logs, and audits
them with the engine of this environment. The row is written at once, so that an interrupted measurement goes on where
it ended. The engine without a patch is the row `unpatched`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import seeded_faults
from cwndlab.errors import Error
from cwndlab.validation.audit import audit
from seeded_faults import ROOT, UNPATCHED, Row, SeededFault

WORK = ROOT / "build" / "faults"
TREE = WORK / "tree"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", WORK / "target"))
#: Sources that the engine and its Python package are built of.
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "python", "scenarios", "known-answers", "tools/fault_runs.py")
#: Limit of the suites with one fault, s: a fault may make a run endless.
LIMIT_S = 3600


def _tracked() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *SOURCES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def copy_file(source: Path, copy: Path) -> None:
    """Makes a copy equal to its source, and leaves an equal one as it is."""
    content = source.read_bytes()
    if not copy.exists() or copy.read_bytes() != content:
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)


def copy_sources() -> None:
    """Makes the copy equal to the sources. Equal files keep their times, so that a build is incremental."""
    names = _tracked()
    for name in names:
        copy_file(ROOT / name, TREE / name)
    kept = set(names)
    for crate in (TREE / "crates").iterdir():
        if not (ROOT / "crates" / crate.name).is_dir():
            shutil.rmtree(crate)
    for file in (*(TREE / "crates").rglob("*.rs"), *(TREE / "python").rglob("*.py")):
        if str(file.relative_to(TREE)) not in kept:
            file.unlink()


def apply(patch: Path, tree: Path = TREE) -> None:
    """Applies a patch to a copy."""
    # Without the limit git would take the copy for a part of this repository, where it ignores it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(WORK)}
    subprocess.run(["git", "apply", str(patch)], cwd=tree, env=environment, check=True)


def build() -> None:
    """Builds the engine of the copy, and puts it into the copy's package with its data."""
    profile = {"CARGO_PROFILE_DEV_OPT_LEVEL": "1", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TARGET_DIR": str(TARGET)}
    command = ["cargo", "build", "--locked", "--quiet", "--package", "cwndlab-python"]
    subprocess.run(command, cwd=TREE, env={**os.environ, **profile}, check=True, capture_output=True)
    package = TREE / "python" / "cwndlab"
    # A new file, since a process may have the earlier one open.
    (package / "_engine.abi3.so").unlink(missing_ok=True)
    shutil.copy(TARGET / "debug" / "lib_engine.so", package / "_engine.abi3.so")
    shutil.copytree(TREE / "scenarios", package / "_scenarios", dirs_exist_ok=True)


def runs(area: str | None, out: Path) -> dict[str, Any]:
    """Suites, scripts and logs with the engine of the copy."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    job = {
        "suites": _suites(area),
        "senders": _senders(area),
        "scripts": str(ROOT / "known-answers" / "packetdrill"),
    }
    (out / "job.json").write_text(json.dumps(job), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TREE / "python")}
    command = [sys.executable, str(TREE / "tools" / "fault_runs.py"), str(out / "job.json"), str(out)]
    subprocess.run(command, cwd=out, env=environment, check=True, timeout=LIMIT_S)
    done: dict[str, Any] = json.loads((out / "runs.json").read_text(encoding="utf-8"))
    return done


def _suites(area: str | None) -> list[list[Any]]:
    """The suites of an area; without one those of all areas, each on most of its paths."""
    if area is not None:
        return seeded_faults.SUITES[area]
    every = sorted((one for suites in seeded_faults.SUITES.values() for one in suites), key=lambda one: len(one[2]))
    return list({(suite, algorithm): [suite, algorithm, groups] for suite, algorithm, groups in every}.values())


def _senders(area: str | None) -> list[str]:
    return seeded_faults.OTHER_SENDERS if area is None else seeded_faults.SENDERS.get(area, seeded_faults.OTHER_SENDERS)


def audited(log: dict[str, str]) -> dict[str, Any]:
    """The audit of a log by the engine of this environment."""
    row: dict[str, Any] = {"sender": log["sender"], "scenario": log["scenario"], "departures": 0}
    if "error" in log:
        return {**row, "error": log["error"]}
    try:
        result = audit(log["log"], log["sender"])
    except Error as error:
        return {**row, "error": str(error)}
    row |= {"acks": result.acks, "explained": result.explained, "departures": result.departure_count}
    if result.first is not None:
        first = result.first
        row["first"] = {"kind": first.kind, "source": first.source, "time_ms": first.time_ms}
        row["first"] |= {"logged_bytes": first.logged_bytes, "reference_bytes": first.reference_bytes}
    return row


def without(found: list[dict[str, Any]], base: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The failures of suites without the cases that fail with the unpatched engine, too."""
    known = {(one["suite"], one["algorithm"]): {failed["case"] for failed in one["failed"]} for one in base}
    return [
        {**one, "failed": [row for row in one["failed"] if row["case"] not in known[one["suite"], one["algorithm"]]]}
        for one in found
    ]


def measure(fault: SeededFault | None, base: Row | None) -> Row:
    """The row of a fault; that of the unpatched engine without one."""
    copy_sources()
    if fault is not None:
        apply(fault.patch)
    build()
    out = WORK / "runs" / (fault.name if fault else UNPATCHED)
    done = runs(fault.area if fault else None, out)
    known = {one["script"] for one in base.scripts} if base else set()
    return Row(
        digest=fault.digest if fault else "",
        judges=seeded_faults.judges(fault.area if fault else None),
        suites=without(done["suites"], base.suites) if base else done["suites"],
        scripts=[one for one in done["scripts"] if one["script"] not in known],
        audits=[audited(log) for log in done["logs"]],
    )


def main() -> None:
    """Measures the faults whose patch has no row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these faults, or 'unpatched'")
    parser.add_argument("--force", action="store_true", help="measure also those that have a fresh row")
    arguments = parser.parse_args()
    listed: dict[str, SeededFault | None] = {UNPATCHED: None} | {one.name: one for one in seeded_faults.faults()}
    unknown = [name for name in arguments.only if name not in listed]
    if unknown:
        parser.error(f"no fault is called '{unknown[0]}'; tests/faults/faults.toml lists them")
    measured = seeded_faults.rows()
    for name, fault in listed.items():
        wanted = name in arguments.only if arguments.only else True
        row, area = measured.get(name), fault.area if fault else None
        fresh = row and row.digest == (fault.digest if fault else "") and not seeded_faults.stale(row, area)
        if not wanted or (fresh and not arguments.force):
            continue
        start = time.monotonic()
        measured[name] = measure(fault, measured.get(UNPATCHED) if fault else None)
        seeded_faults.save(measured)
        row = measured[name]
        suite, departure = row.by_suite, row.by_audit
        sys.stdout.write(
            f"{name}: {suite['suite'] + ' ' + suite['case'] if suite else 'no suite'}; {len(row.scripts)} scripts; "
            f"{departure['first']['kind'] if departure else 'no departure'}; {time.monotonic() - start:.0f} s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
