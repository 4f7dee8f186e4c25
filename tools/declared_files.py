"""Makes what follows from the declared fields of a scenario: JSON Schemas, queue classes of Python, tables of docs/.

`docs/schema/*.json` and `python/cwndlab/queues.py` are whole files; the tables are blocks of `docs/canonical-form.md`
and `docs/scenario.md`. `make docs` writes them, `make check` compares them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from cwndlab.run import declarations
from cwndlab.schemas import KINDS, of

__all__ = ["fields", "files", "queues"]

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "docs" / "schema"
QUEUES = ROOT / "python" / "cwndlab" / "queues.py"
_WIDTH = 120

_HEAD = '''"""Queues and their disciplines, one class each.

Made by ``tools/declared_files.py`` from the declarations in ``crates/network/src/aqm/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cwndlab.tables import Table

__all__ = [
{names}
]


@dataclass(frozen=True)
class Queue(Table):
    """What waits for a line.

    Parameters
    ----------
    capacity
        How much may wait: ``"100 packets"``, ``"64 KiB"``, ``"20 ms"`` (of the link's rate), ``"0.5 bdp"``,
        ``"0.5 bdp(50 ms)"`` or ``"unlimited"``; each discipline has a default.
    """

    FIELD: ClassVar[str] = "queue"
    capacity: str | None = None
'''


def _declared() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(declarations())
    return found


def _default(field: dict[str, Any]) -> str:
    if field["required"]:
        return "required"
    if field["default"] is not None:
        return f"`{json.dumps(field['default'])}`"
    return field["absent"] or "–"


def _table(declared: dict[str, Any], tag: str | None = None) -> list[str]:
    lines = ["| field | canonical | accepts | default | meaning |", "|---|---|---|---|---|"]
    if tag is not None:
        lines.append(f"| `{tag}` | `{tag}` | this word | | chooses this table |")
    for field in declared["fields"]:
        cells = (
            f"`{field['name']}`",
            f"`{field['canonical']}`",
            field["accepts"],
            _default(field),
            " ".join(field["doc"].split()).rstrip("."),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def fields() -> str:
    """Every table of a scenario, for docs/canonical-form.md."""
    declared = _declared()
    lines: list[str] = []
    for name in sorted(declared["tables"], key=lambda name: (name != "scenario", name)):
        table = declared["tables"][name]
        lines += [f"### `{name}`", "", table["doc"], "", *_table(table), ""]
    for name, choice in sorted(declared["choices"].items()):
        for word in choice["order"]:
            table = choice["tables"][word]
            usual = " (where none is named)" if word == choice["default"] else ""
            lines += [f'### `{name}`: `{choice["tag"]} = "{word}"`{usual}', "", table["doc"], ""]
            lines += [*_table(table, choice["tag"]), ""]
    return "\n".join(lines)


def queues() -> str:
    """The disciplines, for docs/scenario.md."""
    choice = _declared()["choices"]["queue"]
    lines = ["| `kind` | fields and defaults | rule |", "|---|---|---|"]
    for word in choice["order"]:
        table = choice["tables"][word]
        parts = [
            f"`{one['name']} = {json.dumps(one['default'])}`"
            if one["default"] is not None
            else f"`{one['name']}` ({_default(one)})"
            for one in table["fields"]
        ]
        lines.append(f"| `{word}` | {', '.join(parts)} | {table['doc']} |")
    return "\n".join(lines)


def _class(word: str, table: dict[str, Any]) -> str:
    own = [field for field in table["fields"] if field["name"] != "capacity"]
    capacity = next(field for field in table["fields"] if field["name"] == "capacity")
    lines = ["", "", "@dataclass(frozen=True, kw_only=True)", f"class {table['python']}(Queue):"]
    lines += textwrap.wrap(f'"""{table["doc"]}', _WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
    lines += ["", "    Parameters", "    ----------"]
    for field in (capacity, *own):
        text = " ".join(field["doc"].split()).rstrip(".").replace("`", "``")
        text += "." if field["required"] else f" (default: {_default(field).replace('`', '``')})."
        lines.append(f"    {field['name']}")
        lines += textwrap.wrap(
            text[0].upper() + text[1:], _WIDTH - 8, initial_indent=" " * 8, subsequent_indent=" " * 8
        )
    lines += ['    """', "", f'    KIND: ClassVar[str] = "{word}"']
    for field in own:
        kind = field["python"]
        lines.append(f"    {field['name']}: {kind}" + ("" if field["required"] else " | None = None"))
    return "\n".join(lines)


def _queue_classes() -> str:
    choice = _declared()["choices"]["queue"]
    tables = [(word, choice["tables"][word]) for word in choice["order"]]
    names = sorted([*(table["python"] for _, table in tables), "Queue"])
    head = _HEAD.replace("{names}", "\n".join(f'    "{name}",' for name in names))
    body = "\n".join(_class(word, table) for word, table in tables)
    text = f"{head}{body}\n\n\ndef __dir__() -> list[str]:\n    return __all__\n"
    command = [str(Path(sys.executable).parent / "ruff"), "format", "--stdin-filename", str(QUEUES), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def files() -> dict[Path, str]:
    """The content of every file that is made whole."""
    made = {
        SCHEMAS / f"{kind}.schema.json": json.dumps(of(kind), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        for kind in KINDS
    }
    made[QUEUES] = _queue_classes()
    return made
