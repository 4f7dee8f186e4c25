"""Protocol stacks of others in virtual time: runs over a path, and a verdict against a baseline."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, Parameter, ScenarioError, text_of
from cwndlab.files import json_text, own_name, parsed, save
from cwndlab.metrics.goodput import goodput
from cwndlab.records import Records
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.simulate import run
from cwndlab.study.rendering import Table
from cwndlab.study.stack_statements import Statement, cells_of

#: Gives the share of the decisive ACKs of a log that a reference explains.
Audit = Callable[[Path], float | None]

#: The path by default. Its flow is replaced.
PATH: Mapping[str, Any] = {
    "schema_version": 1,
    "duration": "30 s",
    "dumbbell": {"bottleneck": {"rate": "10 Mbps", "delay": "10 ms", "queue": {"capacity": "1 bdp"}}},
    "flow": [{"algorithm": "cubic", "rtt": "40 ms"}],
}
#: By how much a value may be worse than in the baseline: a share of it, and an absolute difference that does not count.
#: The bad direction is their sign.
LIMITS: Mapping[str, tuple[float, float]] = {
    "goodput_bps": (-0.05, 0.0),
    "mean_rtt_ms": (0.10, 0.5),
    "lost_ratio": (0.25, 0.002),
    "explained": (0.0, -0.05),
}
#: The version of baseline files.
_FORMAT = 2
#: The variable with the folder in which senders write logs.
_LOGS = "CWNDLAB_STACK_LOGS"


@dataclass(frozen=True)
class HostedRun:
    """A stack on a path, in one or several equal runs.

    ``holds`` is whether the statement of a cell (`cwndlab.study.stack_statements`) holds, ``found`` what its packets
    or samples show, and ``explained`` the share of the decisive ACKs that the reference of an audit explains.
    """

    cell: str
    stack: str
    controller: str
    goodput_bps: float
    rival_bps: float | None
    mean_rtt_ms: float | None
    lost_ratio: float
    hash: str
    packets: int
    runs: int
    equal_runs: int
    cpu_s: float
    stack_share: float | None
    holds: bool | None = None
    found: str = ""
    explained: float | None = None

    @property
    def packets_per_cpu_s(self) -> float | None:
        """Datagrams of the stack's sender per second of processor time of engine and stacks, without their ACKs."""
        return self.packets * self.runs / self.cpu_s if self.cpu_s > 0 else None

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        return {**asdict(self), "packets_per_cpu_s": self.packets_per_cpu_s}


def document(
    scenario: ScenarioLike,
    stack: str,
    controller: str = "",
    *,
    options: str = "",
    against: str | None = None,
    rate: str | None = None,
) -> dict[str, Any]:
    """A scenario whose first flow is a transfer by a stack, and ``against`` the algorithm of the others over TCP, of
    which one is added if there is none."""
    changed = scenario_of(scenario).document
    first = changed["flow"][0]
    workload = {"kind": "hosted", "stack": stack}
    given = (("controller", controller), ("options", options), ("rate", rate))
    workload |= {key: value for key, value in given if value}
    if options:
        workload["peer_options"] = options
    kept = {key: value for key, value in first.items() if key not in ("algorithm", "profile", "stack", "control")}
    changed["flow"][0] = {**kept, "transport": "udp", "workload": workload}
    if against is not None:
        others = changed["flow"][1:]
        if all(map(_is_over_udp, others)):
            others.append({**first, "name": "beside"})
        changed["flow"][1:] = [one if _is_over_udp(one) else {**one, "algorithm": against} for one in others]
    return changed


def _is_over_udp(flow: Mapping[str, Any]) -> bool:
    """Whether it has no congestion control of TCP."""
    return flow.get("transport") == "udp"


def host(
    stack: str,
    controllers: Sequence[str] = ("",),
    *,
    scenario: ScenarioLike = PATH,
    options: str = "",
    against: str | None = None,
    seed: int = 1,
    repeat: int = 1,
    cell: str = "path",
    rate: str | None = None,
    statement: Statement | None = None,
    audits: Sequence[Audit | None] = (),
    logs: Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[HostedRun]:
    """Runs a stack in the simulator, in virtual time.

    Parameters
    ----------
    stack
        Its program is ``cwndlab-stack-STACK``, in a folder of ``CWNDLAB_STACKS`` or ``PATH``.
    controllers
        Congestion controls, as the stack calls them; the empty text is its default.
    scenario
        The path. Its first flow becomes a transfer by the stack.
    options
        Options that only the stack interprets.
    against
        The algorithm of a flow beside it.
    seed, repeat
        Seed of the runs, and how often each is run: `HostedRun.equal_runs` counts those with the bits of the first.
    cell
        Name of the path in the result.
    rate
        The rate at which the sender's application writes; without one, as much as can be sent.
    statement
        What the records are to show.
    audits
        One for each of ``controllers``: gives the share of the decisive ACKs of a sender's log that a reference
        explains (`cwndlab.validation.audit.audit`); ``None``: no audit.
    logs
        A folder for the logs of the senders, as far as their stacks write some.
    progress
        Is called with the number of finished runs and that of all runs.

    Returns
    -------
    list of HostedRun
        One per congestion control.

    Raises
    ------
    RunError
        If the stack's program is missing, ends, or breaks the protocol.
    """
    found = []
    for at, controller in enumerate(controllers):
        described = scenario_of(document(scenario, stack, controller, options=options, against=against, rate=rate))
        audit = audits[at] if at < len(audits) else None
        before, hashes = os.times(), []
        with tempfile.TemporaryDirectory() as temporary:
            for number in range(repeat):
                with _logging(Path(temporary) if (audit or logs) and number == 0 else None):
                    records = run(described, seed=seed)
                hashes.append(records.hash())
                if progress is not None:
                    progress(at * repeat + number + 1, len(controllers) * repeat)
            one = _measured(cell, records, hashes, before, os.times())
            written = sorted(Path(temporary).iterdir())
            if audit is not None:
                one = replace(one, explained=_explained(one, written, audit))
            if logs is not None:
                _keep(written, logs, own_name(f"{stack}-{controller or one.controller}-{cell.replace(' ', '-')}"))
        if statement is not None:
            holds, text = statement(records)
            one = replace(one, holds=holds, found=text)
        found.append(one)
    return found


@contextmanager
def _logging(folder: Path | None) -> Iterator[None]:
    """Senders write their logs to a folder, or nowhere."""
    before = os.environ.pop(_LOGS, None)
    if folder is not None:
        os.environ[_LOGS] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_LOGS, None)
        if before is not None:
            os.environ[_LOGS] = before


def _explained(one: HostedRun, written: Sequence[Path], audit: Audit) -> float | None:
    if not written:
        what = f"{one.stack} writes no log that can be audited"
        raise ScenarioError(Fault("--as", what, "docs/host.md says which stacks do, and how"))
    return audit(written[0])


def _keep(written: Sequence[Path], folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in written:
        before = [one for one in written[: written.index(file)] if one.suffix == file.suffix]
        shutil.copyfile(file, folder / f"{name}{f'-{len(before) + 1}' if before else ''}{file.suffix}")


def _measured(
    cell: str, records: Records, hashes: Sequence[str], before: os.times_result, after: os.times_result
) -> HostedRun:
    own = after.user + after.system - before.user - before.system
    stacks = after.children_user + after.children_system - before.children_user - before.children_system
    flow = records.flows.row(0, named=True)
    rates = goodput(records)["goodput_bps"]
    return HostedRun(
        cell=cell,
        stack=flow["profile"],
        controller=flow["algorithm"],
        goodput_bps=rates[0],
        rival_bps=rates[1] if len(rates) > 1 else None,
        mean_rtt_ms=None if flow["mean_rtt_ns"] is None else flow["mean_rtt_ns"] / 1e6,
        lost_ratio=flow["retransmitted_packets"] / max(flow["sent_packets"], 1),
        hash=hashes[0],
        packets=flow["sent_packets"],
        runs=len(hashes),
        equal_runs=hashes.count(hashes[0]),
        cpu_s=own + stacks,
        stack_share=stacks / (own + stacks) if own + stacks > 0 else None,
    )


def check_cells(
    stack: str,
    controllers: Sequence[str] = ("",),
    *,
    scenario: ScenarioLike = PATH,
    options: str = "",
    seed: int = 1,
    audits: Sequence[Audit | None] = (),
    logs: Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[HostedRun]:
    """Runs a stack in the cells of a verdict, twice each."""
    base, found = scenario_of(scenario), []
    cells = cells_of(base)
    for at, cell in enumerate(cells):
        found += host(
            stack,
            controllers,
            scenario=base.with_(dict(cell.changes)),
            options=options,
            against=cell.against,
            seed=seed,
            repeat=2,
            cell=cell.name,
            rate=cell.rate,
            statement=cell.statement,
            audits=audits if cell.is_audited else (),
            logs=logs,
            progress=None,
        )
        if progress is not None:
            progress(at + 1, len(cells))
    return found


@dataclass(frozen=True)
class Verdict:
    """A cell beside the baseline: ``same`` bits, ``changed`` within the limits, ``degraded``, ``unequal`` runs of one
    seed, or ``new``, without a baseline. A statement that held and an audit that explains less degrade it, too."""

    run: HostedRun
    word: str
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the verdict does not fail a check."""
        return self.word in ("same", "changed", "new")

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        return {**self.run.as_dict(), "verdict": self.word, "detail": self.detail}


def judge(found: Sequence[HostedRun], baseline: Mapping[str, Any] | None) -> list[Verdict]:
    """Each run beside that of its cell and congestion control in a baseline that `read_baseline` returned. Raises
    ``ScenarioError`` if that is of another stack; another version of the same one is what it is for."""
    rows = (baseline or {}).get("cells", ())
    others = {row["stack"] for row in rows}
    names = {other.partition(" ")[0] for other in others}
    for one in found:
        if names and one.stack.partition(" ")[0] not in names:
            what = f"is of {', '.join(sorted(others))}, not of {one.stack}"
            raise ScenarioError(Fault(Parameter("baseline"), what, "write one of this stack with --save"))
    known = {(row["cell"], row["controller"]): row for row in rows}
    return [_verdict(one, known.get((one.cell, one.controller))) for one in found]


def _verdict(one: HostedRun, known: Mapping[str, Any] | None) -> Verdict:
    if one.equal_runs < one.runs:
        return Verdict(one, "unequal", f"{one.equal_runs} of {one.runs} runs of one seed have the same bits")
    if known is None:
        return Verdict(one, "new")
    if one.hash == known["hash"]:
        return Verdict(one, "same")
    degraded, changes = False, []
    for name, (share, least) in LIMITS.items():
        before, now = known[name], getattr(one, name)
        if before is None or now is None or before == now:
            continue
        changes.append(f"{name} {before:.4g} → {now:.4g}")
        beyond = abs(now - before) > max(abs(share * before), abs(least))
        degraded |= beyond and (now > before) == (share + least > 0)
    if known["holds"] and one.holds is False:
        degraded = True
        changes.append(f"no longer holds: {one.found}")
    return Verdict(one, "degraded" if degraded else "changed", ", ".join(changes))


def save_baseline(path: Path, found: Sequence[HostedRun]) -> None:
    """Writes what `judge` compares."""
    names = ("cell", "stack", "controller", "hash", "holds", *LIMITS)
    rows = [{name: getattr(one, name) for name in names} for one in found]
    save(json_text({"format": _FORMAT, "cells": rows}, indent=2) + "\n", path)


def read_baseline(path: Path) -> dict[str, Any]:
    """Reads a file of `save_baseline`. Raises ``ScenarioError``."""
    try:
        read = parsed(text_of(path, "`cwndlab host STACK --save FILE` writes one"))
    except ValueError as error:
        raise ScenarioError(Fault(str(path), f"is not JSON: {error}", "")) from None
    names = {"cell", "stack", "controller", "hash", "holds", *LIMITS}
    content: dict[str, Any] = read if isinstance(read, dict) and read.get("format") == _FORMAT else {}
    rows = content.get("cells")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and names <= row.keys() for row in rows):
        raise ScenarioError(Fault(str(path), "is not a baseline of this version", "write it again with --save"))
    return content


def table(found: Sequence[HostedRun], verdicts: Sequence[Verdict] = ()) -> Table:
    """The runs, with verdicts if there are some."""
    header = ["path", "stack", "control", "Mbit/s", "beside", "mean RTT ms", "lost %", "equal", "packets/CPU s", "own"]
    rows = []
    for one in found:
        rows.append(
            [
                one.cell,
                one.stack,
                one.controller,
                _digits(one.goodput_bps / 1e6),
                _digits(None if one.rival_bps is None else one.rival_bps / 1e6),
                _digits(one.mean_rtt_ms),
                _digits(100 * one.lost_ratio),
                f"{one.equal_runs} of {one.runs}",
                _digits(one.packets_per_cpu_s, 0),
                "–" if one.stack_share is None else f"{one.stack_share:.0%}",
            ]
        )
    values = [one.as_dict() for one in (verdicts or found)]
    if any(one.explained is not None for one in found):
        header.append("explained %")
        for row, one in zip(rows, found, strict=True):
            row.append(_digits(None if one.explained is None else 100 * one.explained, 1))
    if verdicts:
        header += ["verdict", "statement", "detail"]
        for row, verdict in zip(rows, verdicts, strict=True):
            word = {True: "holds", False: "fails", None: "–"}[verdict.run.holds]
            row += [verdict.word, word, "; ".join(text for text in (verdict.detail, verdict.run.found) if text)]
    return Table("stacks in virtual time", tuple(header), rows, 3, values, words=("verdict", "statement", "detail"))


def _digits(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
