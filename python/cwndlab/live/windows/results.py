"""The results file of a campaign on a Windows host, as a `Measurement`: its tables and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import parsed
from cwndlab.live.results import Measurement
from cwndlab.live.schedule import part_of, zone_of
from cwndlab.live.spec import CampaignSpec
from cwndlab.live.windows.plan import SCHEMA_VERSION, origin_of

_Row = dict[str, Any]
#: The fields of a line of each kind, and their types.
_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "plan": {
        "schema_version": int,
        "version": str,
        "build": int,
        "template": str,
        "direction": str,
        "url": str,
        "ecn": str,
        "seed": int,
        "rounds": int,
        "treatments": list,
    },
    "transfer": {
        "round": int,
        "position": int,
        "treatment": str,
        "provider": str,
        "autotuning": str,
        "applied_setting": str,
        "at": str,
        "ended": str,
        "bytes": int,
        "seconds": (int, float),
        "why": str,
    },
}
#: Fields that a line may lack, and their value then.
_OPTIONAL: dict[str, dict[str, Any]] = {"plan": {"size_bytes": 0, "simulated": False}, "transfer": {"capture": ""}}
#: Least and largest value of a complete transfer.
_SPANS = {"bytes": (1, 1e15), "seconds": (1e-6, 1e6)}


def is_results(text: str) -> bool:
    """Whether a text is a results file: its first line is an object with a ``kind``."""
    first = text.lstrip().partition("\n")[0]
    return first.startswith("{") and '"kind"' in first


@dataclass(frozen=True)
class Results:
    """A results file: its plan, its transfers as the script wrote them, and the campaign."""

    plan: _Row
    transfers: list[_Row]
    spec: CampaignSpec

    def row(self, transfer: Mapping[str, Any]) -> _Row:
        """A row of a `Measurement`."""
        return _transfer(transfer, self.spec)

    def notes(self) -> list[str]:
        """What the results cannot tell."""
        return _notes(self.plan, self.transfers, self.spec)

    def measurement(self) -> Measurement:
        """The tables and statistics."""
        made = Measurement(self.spec, [self.row(transfer) for transfer in self.transfers])
        made.notes = self.notes()
        return made


def measurement_of(text: str, file: str, *, zone: str = "") -> Measurement:
    """The tables and statistics of a results file: those of `read_results`, whose arguments and errors it has.

    Its rows have the server of the URL, a treatment in place of each algorithm, and goodput. A failed transfer has
    none, and its round is not compared.
    """
    return read_results(text, file, zone=zone).measurement()


def read_results(text: str, file: str, *, zone: str = "") -> Results:
    """The results of a campaign.

    Parameters
    ----------
    text
        The results file: a JSON object per line, the plan first.
    file
        Its name, for faults.
    zone
        The time zone of the parts of the day; empty: this machine's.

    Raises
    ------
    ScenarioError
        With every line that is none of such a file.
    """
    faults: list[Fault] = []
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    rows = [row for n, line in lines if (row := _line(line, f"{file}:{n}", faults)) is not None]
    if faults:
        raise ScenarioError(*faults)
    plans = [row for row in rows if row["kind"] == "plan"]
    if len(plans) != 1 or rows[0]["kind"] != "plan":
        what = f"has {len(plans)} plans; a results file begins with its only one"
        raise ScenarioError(Fault(file, what, "import the file as the script wrote it"))
    spec = _campaign(plans[0], file)
    transfers = rows[1:]
    faults += _misplaced(transfers, spec, file)
    if faults:
        raise ScenarioError(*faults)
    size = max((row["bytes"] for row in transfers), default=0)
    return Results(plans[0], transfers, replace(spec, size_bytes=size, zone=zone))


def _line(line: str, where: str, faults: list[Fault]) -> _Row | None:
    """A line as an object with the fields of its kind."""
    try:
        row = parsed(line)
    except ValueError as cause:
        faults.append(Fault(where, f"is not JSON: {cause}", "delete the line if the script was interrupted in it"))
        return None
    kind = row.get("kind") if isinstance(row, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        faults.append(Fault(where, "is neither a plan nor a transfer", "import the file as the script wrote it"))
        return None
    fine = True
    row = {**_OPTIONAL[kind], **row}
    for name, default in _OPTIONAL[kind].items():
        if type(row[name]) is not type(default):
            faults.append(Fault(f"{where}: {name}", f"{str(row[name])[:40]!r} is not {_NOUNS[type(default)]}", ""))
            fine = False
    for name, wanted in _FIELDS[kind].items():
        value = row.get(name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            shown = "is missing" if name not in row else f"{str(value)[:40]!r} is not {_NOUNS[wanted]}"
            faults.append(Fault(f"{where}: {name}", shown, "import the file as the script wrote it"))
            fine = False
    if fine and kind == "transfer":
        fine = _is_transfer(row, where, faults)
    return row if fine else None


_NOUNS: dict[Any, str] = {
    int: "a whole number",
    bool: "true or false",
    str: "a text",
    list: "a list",
    (int, float): "a number",
}


def _is_transfer(row: _Row, where: str, faults: list[Fault]) -> bool:
    """Whether the values of a transfer are possible."""
    before = len(faults)
    if row["ended"] not in ("complete", "failed"):
        faults.append(Fault(f"{where}: ended", f"'{row['ended'][:40]}' is none", "it is complete or failed"))
    elif row["ended"] == "complete":
        for name, (least, most) in _SPANS.items():
            if not least <= row[name] <= most:
                what = f"{str(row[name])[:40]} is not from {least:g} to {most:g}"
                faults.append(Fault(f"{where}: {name}", what, "delete the line"))
    try:
        moment = datetime.fromisoformat(row["at"])
        row["at"] = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        faults.append(Fault(f"{where}: at", f"'{row['at'][:40]}' is not a time", "write 2026-01-31T12:00:00Z"))
    return len(faults) == before


def _campaign(plan: _Row, file: str) -> CampaignSpec:
    """The plan as a campaign."""
    where = f"{file}: plan"
    if plan["schema_version"] != SCHEMA_VERSION:
        what = f"version {plan['schema_version']} of the file is not {SCHEMA_VERSION}"
        raise ScenarioError(Fault(f"{where}: schema_version", what, "import it with the cwndlab that wrote the script"))
    names = plan["treatments"]
    if not all(isinstance(name, str) for name in names):
        raise ScenarioError(
            Fault(f"{where}: treatments", "is not a list of names", "import the file as it was written")
        )
    try:
        origin = origin_of(plan["url"])
    except ValueError as cause:
        raise ScenarioError(Fault(f"{where}: url", str(cause), "write https://HOST/FILE")) from None
    try:
        return CampaignSpec((origin,), tuple(names), plan["rounds"], "now", 0, seed=plan["seed"])
    except ScenarioError as error:
        faults = [
            Fault(f"{where}: {fault.where.lstrip('-').lower()}", fault.what, fault.hint) for fault in error.faults
        ]
        raise ScenarioError(*faults) from None


def _misplaced(transfers: list[_Row], spec: CampaignSpec, file: str) -> list[Fault]:
    """Transfers that the plan does not have, or that are there twice."""
    faults = []
    seen: set[tuple[int, str]] = set()
    for row in transfers:
        key = (row["round"], row["treatment"])
        where = f"{file}: round {str(row['round'])[:20]}, {row['treatment'][:40]}"
        if row["kind"] != "transfer" or not 1 <= row["round"] <= spec.rounds or row["treatment"] not in spec.algorithms:
            faults.append(Fault(where, "is not in the plan", "import the file as the script wrote it"))
        elif key in seen:
            faults.append(Fault(where, "is there twice", "delete the line that does not count"))
        seen.add(key)
    return faults


def _transfer(row: Mapping[str, Any], spec: CampaignSpec) -> _Row:
    """A row of a `Measurement`."""
    complete = row["ended"] == "complete"
    return {
        "server": spec.servers[0],
        "round": row["round"],
        "algorithm": row["treatment"],
        "sender_algorithm": row["provider"],
        "at": row["at"].isoformat(),
        "part": part_of(row["at"], zone_of(spec.zone)),
        "ended": row["ended"],
        "why": row["why"],
        "duration_s": row["seconds"] if complete else None,
        "goodput_bps": row["bytes"] * 8 / row["seconds"] if complete else None,
        "received_bytes": row["bytes"] if complete else 0,
        "idle_rtt_ms": None,
        "loaded_rtt_ms": None,
        "autotuning": row["autotuning"],
        "applied_setting": row["applied_setting"],
    }


def _notes(plan: _Row, transfers: list[_Row], spec: CampaignSpec) -> list[str]:
    """What the results cannot tell."""
    notes = []
    if plan["simulated"]:
        notes.append(
            "simulated: a rehearsal by `cwndlab windows rehearse`, not measurements of a host; times are made up"
        )
    if plan["direction"] == "download":
        notes.append("downloads: the server's sender decides their congestion control, not the provider of this host")
    failed = [row for row in transfers if row["ended"] == "failed"]
    if failed:
        notes.append(f"{len(failed)} transfers failed, whose rounds are not compared; the first: {failed[0]['why']}")
    missing = spec.transfers - len(transfers)
    if missing > 0:
        notes.append(f"{missing} of {spec.transfers} transfers are missing")
    unseen = sum(not row["applied_setting"] for row in transfers)
    if unseen:
        notes.append(
            f"Windows did not report the template of {unseen} connections: the filter is not confirmed for them"
        )
    short = [row for row in transfers if row["ended"] == "complete" and row["seconds"] < 1]
    if short:
        notes.append(f"{len(short)} transfers took less than 1 s: slow start decides their rates")
    return notes
