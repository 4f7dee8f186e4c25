"""The results and captures of a campaign on a Windows host as a folder of `cwndlab measure`: records, journal, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError, ScenarioError
from cwndlab.live.campaign import Block, block_name
from cwndlab.live.results import Measurement
from cwndlab.live.store import Folder
from cwndlab.live.transfer_records import joined
from cwndlab.live.windows.captures import answer_of, audited, captured, measured
from cwndlab.live.windows.results import Results
from cwndlab.live.windows.versions import REFERENCES, VERSIONS

_Row = dict[str, Any]


def assigned(results: Results, captures: Sequence[Path], file: str) -> dict[str, Path]:
    """The captures by the name that the results file has for them; raises ``ScenarioError`` for others."""
    known = {row["capture"] for row in results.transfers} - {""}
    faults = []
    found: dict[str, Path] = {}
    for path in captures:
        if path.name not in known:
            what = f"is the capture of no transfer of {file}"
            faults.append(Fault(str(path), what, "give captures the names that the script gave them"))
        found[path.name] = path
    if faults:
        raise ScenarioError(*faults)
    return found


def measured_rows(results: Results, captures: Mapping[str, Path]) -> list[tuple[_Row, _Row | None]]:
    """The row of each transfer with what its capture shows, and that; uploads are compared with the library."""
    rows: list[tuple[_Row, _Row | None]] = []
    version, is_upload = VERSIONS.get(results.plan["version"]), results.plan["direction"] == "upload"
    for transfer in results.transfers:
        row = results.row(transfer)
        path = captures.get(transfer["capture"])
        if path is None or row["ended"] != "complete":
            rows.append((row, None))
            continue
        shown = captured(path)
        row |= measured(shown)
        if is_upload and version is not None and transfer["provider"] in REFERENCES:
            row |= audited(path, shown, version.reference(transfer["provider"]))
        rows.append((row, shown))
    return rows


def keep(
    results: Results,
    rows: Sequence[tuple[_Row, _Row | None]],
    folder: Path,
    inspections: Sequence[Mapping[str, Any]] = (),
) -> Measurement:
    """Writes the folder of a campaign. ``inspections`` are outputs of `cwndlab preflight`, of the path to the server.

    Raises ``RecordsError`` if the folder has a campaign already.
    """
    spec = results.spec
    with Folder(folder, spec) as kept:
        if kept.rows:
            raise RecordsError(Fault(str(folder), "has a campaign already", "name another folder by --out"))
        for text in results.notes():
            kept.add({"kind": "note", "text": text})
        begun: set[int] = set()
        for row, shown in rows:
            block = Block(row["round"], row["server"])
            if block.round not in begun:
                begun.add(block.round)
                order = [{"server": block.server, "algorithms": spec.order(*block)}]
                kept.add({"kind": "round", "round": block.round, "begins": row["at"], "slot": "", "order": order})
                for inspection in inspections if len(begun) == 1 else ():
                    kept.keep_preflight(block.server, datetime.fromisoformat(row["at"]), inspection)
            if row["ended"] != "complete":
                kept.add({"kind": "missing", **block._asdict(), "at": row["at"], "why": row["why"] or "it failed"})
                continue
            _keep_transfer(kept, results, block, row, shown)
    return Measurement.read(folder)


def _keep_transfer(kept: Folder, results: Results, block: Block, row: _Row, shown: _Row | None) -> None:
    """Keeps the records of a transfer, and its row."""
    spec, name = results.spec, row["algorithm"]
    version = VERSIONS.get(results.plan["version"])
    provider = row["sender_algorithm"]
    is_known = results.plan["direction"] == "upload" and version is not None and provider in REFERENCES
    algorithm = version.reference(provider) if is_known and version is not None else "unknown"
    began = datetime.fromisoformat(row["at"])
    started = round(began.timestamp() * 1e9) if shown is None else round(shown["origin_ms"] * 1e6)
    idle_ms = row["idle_rtt_ms"]
    records = joined(
        answer_of(row, shown, provider, started),
        algorithm=algorithm,
        name=f"{block_name(spec, block)}, {name}",
        size_bytes=row["received_bytes"],
        seed=spec.seed,
        idle_rtt_ns=None if idle_ms is None else idle_ms * 1e6,
        url=block.server,
    )
    kept.keep(block.round, block.server, name, records, {} if shown is None else shown)
    mark = f"{block.round}/{block.server}/{name}/{row['at']}"
    kept.add({"kind": "begin", "id": mark, **block._asdict(), "algorithm": name, "at": row["at"]})
    kept.add({"kind": "transfer", "id": mark, **row})
