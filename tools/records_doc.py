"""Makes the tables of docs/records.md from crates/records/src/rows.rs: name, type and comment of each field."""

from __future__ import annotations

import re
from pathlib import Path

ROWS = Path(__file__).resolve().parents[1] / "crates" / "records" / "src" / "rows.rs"
#: The row of each table. `runs` is not among them: its row is made from the header.
TABLES = {
    "flows": "FlowRow",
    "links": "LinkRow",
    "samples": "SampleRow",
    "link_samples": "LinkSampleRow",
    "events": "EventRow",
    "transfers": "TransferRow",
    "packets": "PacketRow",
    "stations": "StationRow",
    "lateness": "LatenessRow",
    "calibration": "CalibrationRow",
}
#: How Arrow has it; 64-bit counters are signed there.
TYPES = {
    "u64": "int64",
    "u32": "uint32",
    "u8": "uint8",
    "f64": "float64",
    "bool": "bool",
    "String": "text",
    "&'static str": "text",
}
FIELD = re.compile(r"(?P<comment>(?:^    ///.*\n)+)^    pub (?P<name>\w+): (?P<type>[^,\n]+),$", re.MULTILINE)


def rows(table: str) -> list[tuple[str, str, str]]:
    """Column, type and meaning."""
    source = ROWS.read_text(encoding="utf-8")
    struct = re.search(rf"^pub struct {TABLES[table]} {{\n(.*?)^}}$", source, re.MULTILINE | re.DOTALL)
    if struct is None:
        raise LookupError(f"rows.rs has no {TABLES[table]}")
    found = []
    for field in FIELD.finditer(struct[1]):
        comment = " ".join(line.strip().removeprefix("///").strip() for line in field["comment"].splitlines())
        inner = re.fullmatch(r"Option<(.*)>", field["type"])
        type_ = f"{TYPES[inner[1]]} or null" if inner else TYPES[field["type"]]
        found.append((field["name"], type_, comment.replace("`None`", "null").rstrip(".")))
    return found


def markdown(table: str) -> str:
    """The table of a table."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {type_} | {meaning} |" for name, type_, meaning in rows(table))])
