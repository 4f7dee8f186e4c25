"""Makes what follows from the declared fields of a scenario: JSON Schemas, classes of Python, tables of docs/.

`docs/schema/*.json` and the modules of `MODULES` are whole files; the tables are blocks of `docs/canonical-form.md`
and `docs/scenario.md`. `make docs` writes them, `make check` compares them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.engine import declarations
from cwndlab.study.schemas import KINDS, of

__all__ = ["fields", "files", "queues", "workloads"]

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "docs" / "schema"
PACKAGE = ROOT / "python" / "cwndlab" / "scenario"
_WIDTH = 120


@dataclass(frozen=True)
class Family:
    """Plug-ins of one kind, whose classes stand in one module."""

    #: The choices that they are declared in; the first one's order is theirs.
    choices: tuple[str, ...]
    #: The class that theirs derive from, and what it says of itself.
    base: str
    doc: str
    #: The field of a scenario where they stand.
    field: str
    #: Fields of the base: name and type.
    common: tuple[tuple[str, str, str], ...] = ()


_CAPACITY = """How much may wait: ``"100 packets"``, ``"64 KiB"``, ``"20 ms"`` (of the link's rate), ``"0.5 bdp"``,
``"0.5 bdp(50 ms)"`` or ``"unlimited"``; each discipline has a default."""

#: The modules that are made: what they begin with, where the declarations are, and their families.
MODULES = {
    "queues": (
        "Queues and their disciplines, one class each.",
        "crates/network/src/aqm/",
        (Family(("queue",), "Queue", "What waits for a line.", "queue", (("capacity", "str", _CAPACITY),)),),
    ),
    "losses": (
        "Loss models of a wire, one class each.",
        "crates/network/src/loss/",
        (Family(("loss",), "Loss", "What a wire loses.", "loss"),),
    ),
    "routers": (
        "What a router does for schemes that ask it, one class each: the ``agents`` of a link.",
        "crates/network/src/router_assist/",
        (Family(("agent",), "Agent", "The router's half of a scheme.", "agents"),),
    ),
    "workloads": (
        "What flows send, and the distributions that sizes and times are drawn from, one class each.",
        "crates/traffic/src/",
        (
            Family(
                ("size_distribution", "time_distribution"),
                "Distribution",
                'What a size or a time is drawn from: ``size=LogNormal(median="12 kB", sigma=1.4)``.',
                "distribution",
            ),
            Family(("workload",), "Workload", "What a flow sends, and when.", "workload"),
        ),
    ),
}

_HEAD = '''"""{doc}

Made by ``tools/declared_files.py`` from the declarations in ``{declared}``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from cwndlab.scenario.tables import KINDS, Table

__all__ = [
{names}
]
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


def _choice_table(name: str, meaning: str) -> str:
    choice = _declared()["choices"][name]
    lines = [f"| `{choice['tag']}` | fields and defaults | {meaning} |", "|---|---|---|"]
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


def queues() -> str:
    """The disciplines, for docs/scenario.md."""
    return _choice_table("queue", "rule")


def workloads() -> str:
    """The workloads, for docs/scenario.md."""
    return _choice_table("workload", "meaning")


def _type(field: dict[str, Any]) -> str:
    """A field's type in Python, where the distributions of sizes and of times are one class."""
    return re.sub(r"\b(size|time)_distribution\b", "Distribution", field["python"])


def _parameters(fields: list[dict[str, Any]]) -> list[str]:
    if not fields:
        return []
    lines = ["", "    Parameters", "    ----------"]
    for field in fields:
        text = " ".join(field["doc"].split()).rstrip(".").replace("`", "``")
        default = _default(field).replace("`", "``")
        text += "." if default in ("required", "–") else f" (default: {default})."
        lines.append(f"    {field['name']}")
        text = text[0].upper() + text[1:]
        lines += textwrap.wrap(text, _WIDTH - 8, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return lines


def _class(word: str, table: dict[str, Any], family: Family) -> str:
    """A class: the first field may be given by position, unless others must be given and it need not."""
    common = {name for name, _, _ in family.common}
    own = [field for field in table["fields"] if field["name"] not in common]
    shared = [field for field in table["fields"] if field["name"] in common]
    optional = not any(field["required"] for field in own)
    first = own[:1] if own and not common and (own[0]["required"] or optional) else []
    head = "@dataclass(frozen=True)" if first else "@dataclass(frozen=True, kw_only=True)"
    lines = ["", "", head, f"class {table['python']}({family.base}):"]
    doc = table["doc"].replace("`", "``")
    lines += textwrap.wrap(f'"""{doc}', _WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
    lines += [*_parameters([*shared, *own]), '    """', "", f'    KIND: ClassVar[str] = "{word}"']
    for field in own:
        lines.append(f"    {field['name']}: {_type(field)}" + ("" if field["required"] else " | None = None"))
        if field in first and len(own) > 1:
            lines.append("    _: KW_ONLY")
    return "\n".join(lines)


def _base(family: Family, tag: str) -> str:
    lines = ["", "", "@dataclass(frozen=True)", f"class {family.base}(Table):"]
    lines += textwrap.wrap(f'"""{family.doc}', _WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
    if family.common:
        lines += ["", "    Parameters", "    ----------"]
        for name, _, doc in family.common:
            lines += [f"    {name}", *(f"        {line}" for line in doc.splitlines())]
    lines += ['    """', "", f'    FIELD: ClassVar[str] = "{family.field}"']
    if tag != "kind":
        lines.append(f'    TAG: ClassVar[str] = "{tag}"')
    lines += [f"    {name}: {kind} | None = None" for name, kind, _ in family.common]
    return "\n".join(lines)


def _fields_with(declared: dict[str, Any], choices: tuple[str, ...]) -> list[str]:
    """Names of the fields in which such a table may stand."""
    tables = [*declared["tables"].values()]
    tables += [table for choice in declared["choices"].values() for table in choice["tables"].values()]
    words = {field["name"] for table in tables for field in table["fields"] if any(c in field["kind"] for c in choices)}
    return sorted(words)


def _module(name: str) -> str:
    doc, place, families = MODULES[name]
    declared = _declared()
    names, body = [], []
    for family in families:
        choice = declared["choices"][family.choices[0]]
        names += [family.base, *(choice["tables"][word]["python"] for word in choice["order"])]
        body.append(_base(family, choice["tag"]))
        body += [_class(word, choice["tables"][word], family) for word in choice["order"]]
        if family.base == "Distribution":
            fields = ", ".join(f'"{one}"' for one in _fields_with(declared, family.choices))
            body.append(f"\n\nfor _field in ({fields}):\n    KINDS[_field] = KINDS[Distribution.FIELD]")
    head = _HEAD.replace("{doc}", doc).replace("{declared}", place)
    head = head.replace("{names}", "\n".join(f'    "{one}",' for one in sorted(names)))
    text = f"{head}{''.join(body)}\n\n\ndef __dir__() -> list[str]:\n    return __all__\n"
    ruff = [str(Path(sys.executable).parent / "ruff")]
    stdin = ["--stdin-filename", str(PACKAGE / f"{name}.py"), "-"]
    for command in (["check", "--fix", "--quiet", "--exit-zero", "--select", "F401,I"], ["format"]):
        text = subprocess.run(
            [*ruff, *command, *stdin], input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


def files() -> dict[Path, str]:
    """The content of every file that is made whole."""
    made = {
        SCHEMAS / f"{kind}.schema.json": json.dumps(of(kind), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        for kind in KINDS
    }
    made |= {PACKAGE / f"{name}.py": _module(name) for name in MODULES}
    return made
