"""Generates the tables of docs/records.md from the engine's declarations (crates/records/src/rows.rs)."""

from __future__ import annotations

from cwndlab.engine import finding_codes, tables
from cwndlab.records import TABLES

__all__ = ["TABLES", "findings", "markdown"]


def findings() -> str:
    """The codes of findings: severity and condition."""
    lines = ["| code | severity | condition |", "|---|---|---|"]
    lines += [f"| `{row['code']}` | {row['severity']} | {row['condition'].rstrip('.')} |" for row in finding_codes()]
    return "\n".join(lines)


def markdown(table: str) -> str:
    """The columns of a table: name, type, unit, meaning."""
    declared = next(one for one in tables() if one["name"] == table)
    lines = ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in declared["columns"]:
        type_ = f"{column['type']}{' or null' if column['nullable'] else ''}"
        lines.append(f"| `{column['name']}` | {type_} | {column['unit']} | {column['description'].rstrip('.')} |")
    return "\n".join(lines)
