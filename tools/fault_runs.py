"""Runs suites and packetdrill scripts, and exports logs, with the engine of the path: for tools/measure_faults.py.

`python tools/fault_runs.py JOB OUT` reads a job as JSON, `{"suites": [[suite, algorithm, groups of paths], …],
"senders": [algorithm, …], "scripts": folder}`. It writes `runs.json`, and a qlog for each sender and scenario, into the
folder OUT.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cwndlab import Scenario, export, run, suites
from cwndlab.errors import Error
from cwndlab.suites import packetdrill

_PATH = """
schema_version = 1
duration = "10 s"
packets = true
sample_interval = "10 ms"

[dumbbell]
bottleneck = {{ rate = "20 Mbps", delay = "5 ms", queue = {{ capacity = "1 bdp" }}{link} }}

[[flow]]
algorithm = "{algorithm}"
rtt = "40 ms"
{flow}
"""

#: The scenarios of the logs: what differs from a bulk transfer that fills a queue of one bandwidth-delay product.
SCENARIOS: dict[str, dict[str, str]] = {
    "clean": {},
    "lossy": {"link": ', loss = { kind = "bernoulli", p = 1e-3 }'},
    "application-limited": {"flow": 'workload = { kind = "transfers", bytes = "20 kB", gap = "50 ms" }'},
    "idle": {"flow": 'workload = { kind = "on-off", on = "1 s", off = "1.5 s" }'},
    "reordering": {"link": ', jitter = { spread = "10 ms", reorder = true }'},
    "outage": {"link": ', schedule = [{ at = "3 s", loss = 1.0 }, { at = "5 s", loss = 0.0 }]'},
}


def _failures(suite: str, algorithm: str, groups: list[list[str]]) -> list[dict[str, Any]]:
    """The failures on the first group of paths that has some."""
    found = (_failures_on(suite, algorithm, paths) for paths in groups)
    return next((one for one in found if one), [])


def _failures_on(suite: str, algorithm: str, paths: list[str]) -> list[dict[str, Any]]:
    """The first statement that does not hold of each case that fails, and the number of paths on which the case fails.

    An engine that stops with an error is one failure.
    """
    try:
        result = suites.run(suite, algorithm, paths=paths)
    except Error as error:
        return [{"case": "", "path": "", "statement": f"the engine stops: {error}", "source": "", "paths": 1}]
    found: dict[str, dict[str, Any]] = {}
    for outcome in result.outcomes:
        if outcome.verdict is not suites.Verdict.FAILED:
            continue
        first = next(one for one in outcome.failures if not one.contradicts)
        row = found.setdefault(
            outcome.case.name,
            {
                "case": outcome.case.name,
                "path": outcome.path.name,
                "statement": first.text,
                "source": first.source,
                "expected": first.expected,
                "got": first.got,
                "paths": 0,
            },
        )
        row["paths"] += 1
    return list(found.values())


def _scripts(folder: str) -> list[dict[str, Any]]:
    """The packetdrill scripts that fail, with their first difference."""
    results = (packetdrill.run(file) for file in packetdrill.scripts([folder]))
    failed = [one for one in results if one.verdict is packetdrill.Verdict.FAILED]
    return [
        {"script": Path(one.script).name, "line": one.line, "expected": one.expected, "got": one.got} for one in failed
    ]


def _logs(algorithm: str, out: Path) -> list[dict[str, str]]:
    """Exports the log of a sender in each scenario; returns the names of the files, or why there is none."""
    made = []
    for name, parts in SCENARIOS.items():
        text = _PATH.format(algorithm=algorithm, link=parts.get("link", ""), flow=parts.get("flow", ""))
        row = {"sender": algorithm, "scenario": name}
        try:
            records = run(Scenario.from_toml(text), seed=1)
            (log,) = export.export(records, "qlog", out / f"{algorithm}-{name}")
        except Error as error:
            made.append({**row, "error": str(error)})
        else:
            made.append({**row, "log": str(log)})
    return made


def main(job: Path, out: Path) -> None:
    """Runs a job."""
    wanted = json.loads(job.read_text(encoding="utf-8"))
    done = {
        "suites": [
            {"suite": suite, "algorithm": algorithm, "failed": _failures(suite, algorithm, groups)}
            for suite, algorithm, groups in wanted["suites"]
        ],
        "scripts": _scripts(wanted["scripts"]),
        "logs": [row for sender in wanted["senders"] for row in _logs(sender, out)],
    }
    (out / "runs.json").write_text(json.dumps(done, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
