"""A rehearsal: the transfers of a plan in the simulator, with the files that the script would write on the host.

Each transfer is a run of a scenario whose first flow over TCP is the transfer. In an upload it has the library's
algorithm of the provider, and the TCP stack of Windows; in a download it keeps the algorithm of the scenario, as the
server decides, and the level of auto-tuning limits its receive window. Transfers of a round have the same seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cwndlab.errors import Fault, ScenarioError
from cwndlab.export import pcap
from cwndlab.files import json_text, save
from cwndlab.live.windows.plan import SCHEMA_VERSION, Plan
from cwndlab.live.windows.versions import AUTO_TUNING, VERSIONS
from cwndlab.records import Records
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.simulate import run

#: The largest window without scaling (RFC 9293, section 3.1).
_WINDOW = 65_535
_PROFILE = "windows-10-20h1"
_SECOND_NS = 1_000_000_000


class _Step(NamedTuple):
    """A transfer of the plan."""

    round: int
    position: int
    treatment: str
    at: datetime


def rehearse(
    plan: Plan,
    scenario: ScenarioLike,
    folder: Path,
    *,
    begins: datetime = datetime(2000, 1, 1, tzinfo=UTC),
    every: timedelta = timedelta(hours=4),
    progress: Callable[[str], object] = lambda text: None,
) -> list[Path]:
    """Simulates the transfers of a plan, and writes the results file and, if the plan has them, the captures.

    Parameters
    ----------
    plan
        The plan; its size is that of an upload, and a download has the size of the scenario's workload.
    scenario
        The path. Its first flow over TCP is the transfer; the others are other traffic.
    folder
        For the files, which must not exist.
    begins, every
        The start of the first round, and the time from one round to the next; both are made up, as the path has no time
        of day.
    progress
        Receives a line for each transfer.

    Returns
    -------
    list of Path
        The results file, then the captures.

    Raises
    ------
    ScenarioError
        If the scenario has no such flow, a download has no size, or the results file exists.
    """
    results = folder / f"{plan.name}.jsonl"
    if results.exists():
        raise ScenarioError(Fault(str(results), "exists", "name another folder by --out"))
    folder.mkdir(parents=True, exist_ok=True)
    flow, size_bytes = _transfer_flow(plan, scenario)
    lines: list[dict[str, Any]] = [_plan_line(plan, size_bytes)]
    files: list[Path] = []
    for step in _steps(plan, begins, every):
        records = run(_scenario_of(plan, scenario, flow, step, size_bytes), seed=plan.seed * 1_000_003 + step.round)
        row = _transfer_line(plan, step, records, flow, size_bytes)
        if plan.capture:
            row["capture"] = plan.capture_name(step.round, step.treatment)
            files.append(folder / row["capture"])
            _write_capture(records, flow, plan, step.at, files[-1])
        lines.append(row)
        progress(f"round {step.round} of {plan.rounds}: {step.treatment}: {row['ended']}")
    save("".join(json_text(line) + "\n" for line in lines), results)
    return [results, *files]


def _transfer_flow(plan: Plan, scenario: ScenarioLike) -> tuple[int, int]:
    """The position of the flow that is the transfer, and its size."""
    document = json.loads(scenario_of(scenario).to_json())
    over_tcp = [at for at, one in enumerate(document["flow"]) if one.get("transport", "tcp") == "tcp"]
    if not over_tcp:
        raise ScenarioError(Fault("--scenario", "has no flow over TCP", "its first flow over TCP is the transfer"))
    if plan.size_bytes is not None:
        return over_tcp[0], plan.size_bytes
    size = json.loads(scenario_of(scenario).canonical)["flow"][over_tcp[0]]["workload"].get("bytes_bytes")
    if size is None:
        what = "the download of its first flow has no size"
        hint = "write workload = { kind = 'bulk', bytes = '20 MB' }"
        raise ScenarioError(Fault("--scenario", what, hint))
    return over_tcp[0], int(size)


def _steps(plan: Plan, begins: datetime, every: timedelta) -> list[_Step]:
    """The transfers in the order of the script."""
    pause = timedelta(seconds=plan.timeout_s + plan.pause_s) / 10
    return [
        _Step(number, position, name, begins + every * (number - 1) + pause * (position - 1))
        for number in range(1, plan.rounds + 1)
        for position, name in enumerate(plan.campaign.order(number, plan.campaign.servers[0]), 1)
    ]


def _scenario_of(plan: Plan, scenario: ScenarioLike, flow: int, step: _Step, size_bytes: int) -> Any:
    """The scenario of a transfer."""
    provider, level = plan.treatments[step.treatment]
    changes: dict[str, Any] = {"packets": plan.capture}
    here = f"flow[{flow}]"
    if plan.direction == "upload":
        changes |= {
            f"{here}.algorithm": VERSIONS[plan.version].reference(provider),
            f"{here}.profile": _PROFILE,
            f"{here}.workload": {"kind": "bulk", "bytes": f"{size_bytes} B"},
        }
    elif level:
        scale = AUTO_TUNING[level]
        changes[f"{here}.stack.receive_window"] = f"{_WINDOW << (scale or 0)} B"
    return scenario_of(scenario).with_(changes)


def _plan_line(plan: Plan, size_bytes: int) -> dict[str, Any]:
    """The first line of the results file; the build is the first one of the version."""
    return {
        "kind": "plan",
        "schema_version": SCHEMA_VERSION,
        "version": plan.version,
        "build": VERSIONS[plan.version].builds[0],
        "template": plan.template,
        "direction": plan.direction,
        "url": plan.url,
        "size_bytes": size_bytes,
        "ecn": plan.ecn,
        "seed": plan.seed,
        "rounds": plan.rounds,
        "treatments": list(plan.treatments),
        "simulated": True,
    }


def _transfer_line(plan: Plan, step: _Step, records: Records, flow: int, size_bytes: int) -> dict[str, Any]:
    """The line of a transfer: its time is that from the end of the handshake to the last byte at the receiver."""
    provider, level = plan.treatments[step.treatment]
    row = {
        "kind": "transfer",
        "round": step.round,
        "position": step.position,
        "treatment": step.treatment,
        "provider": provider,
        "autotuning": level,
        "applied_setting": plan.template,
        "at": step.at.isoformat(),
        "ended": "failed",
        "bytes": 0,
        "seconds": 0,
        "why": "",
    }
    done = [one for one in records.rows("transfers") if one["flow"] == flow and one["end_ns"] is not None]
    events = [one["time_ns"] for one in records.rows("events") if one["flow"] == flow and one["kind"] == "established"]
    if not done or not events:
        return row | {"why": "not finished at the end of the scenario"}
    seconds = (done[0]["end_ns"] - events[0]) / _SECOND_NS
    if seconds > plan.timeout_s:
        return row | {"why": f"not finished after {plan.timeout_s:g} s"}
    return row | {"ended": "complete", "bytes": size_bytes, "seconds": seconds}


def _write_capture(records: Records, flow: int, plan: Plan, at: datetime, file: Path) -> None:
    """The packets at the host: the sender of an upload, the receiver of a download."""
    origin = round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * _SECOND_NS
    pcap.write_end(records, file, flow, sender=plan.direction == "upload", origin_ns=origin)
