"""The seeded faults of tests/faults/, and the table of what found them, from known-answers/faults.json.

tools/measure_faults.py writes that file; `make docs` makes the table of docs/suites.md of it.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import suite_statements

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "faults"
RESULTS = ROOT / "known-answers" / "faults.json"

#: All paths of a suite.
_ALL: list[list[str]] = [[]]
#: Paths of `bbr-draft`; those of the second group take a minute and run where those of the first one find nothing.
_BBR_PATHS = [
    [f"{rate}, {rtt}" for rate in ("64 kbit/s", "10 Mbit/s") for rtt in ("0.5 ms", "40 ms", "1 s")],
    ["10 Gbit/s, 0.5 ms", "1 Gbit/s, 40 ms", "1 Gbit/s, 1 s"],
]

_TRANSPORT = [[name, "reno", _ALL] for name in ("rfc5681", "rfc6298", "rfc6675", "rfc8985", "rfc9937")]
_CUBIC = [["rfc9438", "cubic", _ALL]]
_HYSTART = [["rfc9406", "cubic", _ALL]]
_BBR = [["bbr-draft", "bbr3", _BBR_PATHS]]
_BBR_BRIEFLY = [["bbr-draft", "bbr3", _BBR_PATHS[:1]]]

#: The suites that run on a fault, by its area: name, algorithm, groups of paths. Those of its source are first.
SUITES: dict[str, list[list[Any]]] = {
    "CUBIC": _CUBIC,
    "HyStart++": [*_HYSTART, *_CUBIC],
    "BBR": _BBR,
    "PRR": [*_TRANSPORT[-1:], ["rfc9937", "cubic", _ALL], *_TRANSPORT[:-1], *_CUBIC],
    "RTO": [*_TRANSPORT[1:2], *_TRANSPORT[:1], *_TRANSPORT[2:], *_CUBIC, *_BBR_BRIEFLY],
    "RACK and SACK": [*_TRANSPORT[2:4], *_TRANSPORT[:2], *_TRANSPORT[4:], *_CUBIC, *_BBR_BRIEFLY],
    "window validation": [*_TRANSPORT, *_CUBIC, *_BBR_BRIEFLY],
    "pacing": [*_TRANSPORT, *_CUBIC, *_HYSTART, *_BBR_BRIEFLY],
}

#: The senders whose logs are audited, by area. A log does not determine the windows of `bbr3` (docs/audit.md).
SENDERS: dict[str, list[str]] = {"BBR": [], "HyStart++": ["cubic"], "CUBIC": ["cubic"]}
OTHER_SENDERS = ["cubic", "reno"]

#: The engine without a fault: each of its rows must be without failures.
UNPATCHED = "unpatched"


@dataclass(frozen=True)
class SeededFault:
    """A fault: a patch of the sources, and what it breaks."""

    name: str
    area: str
    what: str
    source: str
    thread: str = ""
    """A public thread about a stack that had the fault."""
    unseen_by_suites: str = ""
    """Why no suite finds it; empty for one that is found."""
    unseen_by_audit: str = ""
    """Why the audit does not find it; empty for one that is found."""

    @property
    def patch(self) -> Path:
        """The patch."""
        return FOLDER / f"{self.name}.patch"

    @property
    def digest(self) -> str:
        """SHA-256 of the patch, hexadecimal."""
        return sha256(self.patch.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Row:
    """What found a fault."""

    digest: str
    """That of the patch."""
    judges: dict[str, str] = field(default_factory=dict)
    """The digests of the suites and of the audit that were measured, by name (tools/suite_statements.py)."""
    suites: list[dict[str, Any]] = field(default_factory=list)
    scripts: list[dict[str, Any]] = field(default_factory=list)
    audits: list[dict[str, Any]] = field(default_factory=list)

    @property
    def by_suite(self) -> dict[str, Any] | None:
        """The first statement of a suite that does not hold, with its suite and algorithm."""
        found = ({**one, **failed} for one in self.suites for failed in one["failed"])
        return next(found, None)

    @property
    def by_audit(self) -> dict[str, Any] | None:
        """The audit of the first scenario with a departure."""
        return next((one for one in self.audits if one.get("first")), None)


def faults() -> list[SeededFault]:
    """The entries of tests/faults/faults.toml, in their order."""
    document = tomllib.loads((FOLDER / "faults.toml").read_text(encoding="utf-8"))
    return [SeededFault(name=name, **entry) for name, entry in document.items()]


def judges(area: str | None) -> dict[str, str]:
    """The present digests of what judges the faults of an area, or the engine without one."""
    chosen = [one for name, suites in SUITES.items() if area in (None, name) for one in suites]
    digests = {name: suite_statements.of_suite(name) for name in dict.fromkeys(one[0] for one in chosen)}
    is_audited = area is None or SENDERS.get(area, OTHER_SENDERS)
    return {**digests, "audit": suite_statements.of_audit()} if is_audited else digests


def stale(row: Row, area: str | None) -> str:
    """What a row was measured with that states something else today, and what to run; empty for a fresh row."""
    today = judges(area)
    changed = [name for name in {**row.judges, **today} if row.judges.get(name) != today.get(name)]
    return f"{', '.join(changed)} changed since the measurement: run `make faults`" if changed else ""


def rows() -> dict[str, Row]:
    """The measured rows by name of the fault, and that of the unpatched engine; empty before the first measurement."""
    if not RESULTS.exists():
        return {}
    return {name: Row(**row) for name, row in json.loads(RESULTS.read_text(encoding="utf-8")).items()}


def save(measured: dict[str, Row]) -> None:
    """Writes the rows in the order of the list."""
    order = [UNPATCHED, *(one.name for one in faults())]
    plain = {name: vars(measured[name]) for name in order if name in measured}
    RESULTS.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _of_suite(fault: SeededFault, row: Row) -> str:
    first = row.by_suite
    if first is None:
        return f"*missed*: {fault.unseen_by_suites}"
    return _cell(f"`{first['suite']}`, `{first['case']}`: {first['statement']} ({first['source']})")


def _of_audit(fault: SeededFault, row: Row) -> str:
    audit = row.by_audit
    if not row.audits:
        return "–"
    if audit is None:
        return f"*missed*: {fault.unseen_by_audit}"
    return _cell(f"{audit['scenario']}: `{audit['first']['kind']}`, {audit['first']['source']}")


def _of_scripts(row: Row) -> str:
    return ", ".join(f"`{one['script']}`" for one in row.scripts[:2]) + (" …" if len(row.scripts) > 2 else "")


def _rates(measured: list[Row]) -> str:
    count = len(measured)
    suites = sum(row.by_suite is not None for row in measured)
    scripts = sum(bool(row.scripts) for row in measured)
    audits = sum(row.by_audit is not None for row in measured)
    audited = sum(bool(row.audits) for row in measured)
    either = sum(bool(row.by_suite or row.scripts or row.by_audit) for row in measured)
    return (
        f"Of {count} faults, the suites find {suites}, the packetdrill scripts {scripts}, "
        f"the audit {audits} of the {audited} without BBR, and one of the three {either}."
    )


def _alarms(row: Row) -> str:
    suites = sum(len(one["failed"]) for one in row.suites)
    ran = ", ".join(f"`{one['suite']}` with `{one['algorithm']}`" for one in row.suites)
    audits = [one for one in row.audits if one["departures"]]
    logs = ", ".join(dict.fromkeys(f"`{one['sender']}`" for one in row.audits))
    return (
        f"False alarms of the engine without a fault: {suites} cases of the suites ({ran}), "
        f"{len(row.scripts)} scripts, {len(audits)} of {len(row.audits)} audited logs ({logs})."
    )


def cells(fault: SeededFault, row: Row) -> tuple[str, ...]:
    """The cells of a fault in the table."""
    source = f"[{fault.source}]({fault.thread})" if fault.thread else fault.source
    head = (f"`{fault.name}`: {fault.what}", source)
    return (*head, _of_suite(fault, row), _of_scripts(row), _of_audit(fault, row))


def markdown() -> str:
    """The section: rates, false alarms, and a row for each fault."""
    measured = rows()
    table = [
        "| fault | source | first statement of a suite that fails | scripts that fail | first departure of an audit |",
        "|---|---|---|---|---|",
    ]
    table += [f"| {' | '.join(cells(one, measured[one.name]))} |" for one in faults()]
    listed = [measured[one.name] for one in faults()]
    return "\n\n".join([_rates(listed), _alarms(measured[UNPATCHED]), "\n".join(table)])
