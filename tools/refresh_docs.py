"""Refreshes the blocks between `<!-- output: … -->` and `<!-- end -->` in README.md and docs/: runs what they name.

`python tools/refresh_docs.py [NAME …]` refreshes only blocks whose name contains one of the words. `make docs`
refreshes all but `bench-peers`, which needs ns-2 and ns-3 and takes minutes: name it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
FILES = ("README.md", "docs/validity.md", "docs/performance.md", "docs/reproductions.md")
BLOCK = re.compile(r"(<!-- output: (?P<name>[^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def _text(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip("\n")


def _machine() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "?",
    )
    return f"{model}, {len(re.findall('processor', Path('/proc/cpuinfo').read_text()))} cores, shared"


def _validity() -> str:
    from cwndlab.validate import markdown, validate

    rows, notes = validate()
    return markdown(rows, notes)


def _profile() -> str:
    out = ROOT / "build" / "callgrind.out"
    out.parent.mkdir(exist_ok=True)
    program = str(BIN / "cwndlab-bench")
    _text("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "run", "scenarios/s1.toml")
    listing = _text("callgrind_annotate", "--threshold=100", str(out))
    counts: dict[str, int] = {}
    total = 0
    for line in listing.splitlines():
        found = re.match(r"\s*([\d,]+) \([^)]*\)\s+(\S+?):", line)
        if not found:
            continue
        count = int(found[1].replace(",", ""))
        total += count
        place = re.sub(r".*/library/.*", "the standard library (inlined: slices, vectors, options)", found[2])
        place = re.sub(r"^.*?(crates/[a-z]+)/.*?([a-z_]+)\.rs$", r"\1: \2", place)
        counts[place] = counts.get(place, 0) + count
    rows = sorted(counts.items(), key=lambda item: -item[1])[:14]
    lines = ["| where | share of instructions |", "|---|---:|"]
    return "\n".join([*lines, *(f"| {name} | {count / total:.1%} |" for name, count in rows)])


def _reproductions() -> str:
    import csv
    import io

    text = _text(str(BIN / "cwndlab"), "reproduce", "ccm-ss", "--quick", "--format", "csv")
    lines = [
        "| id | quantity | published | measured | 95 % interval | verdict | reason |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for row in csv.DictReader(io.StringIO(text)):
        measured, low, high = (f"{float(row[key]):.3g}" if row[key] else "–" for key in ("measured", "low", "high"))
        interval = "–" if low == "–" else f"{low} … {high}"
        cells = (row["id"], row["quantity"], row["published"], measured, interval, row["verdict"], row["reason"])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


MAKERS: dict[str, Callable[[], str]] = {
    "validate": _validity,
    "bench": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/engine.py')}",
    "bench-peers": lambda: f"{_machine()}\n\n" + _text(sys.executable, "benches/peers.py").split("\n\n", 1)[1],
    "overhead": lambda: (
        f"`cwndlab bench --overhead`:\n\n```\n{_text(str(BIN / 'cwndlab'), 'bench', '--overhead')}\n```"
    ),
    "profile": _profile,
    "reproduce ccm-ss --quick": _reproductions,
}


def main(words: list[str]) -> None:
    """Refreshes the blocks."""
    for file in FILES:
        path = ROOT / file
        if not path.exists():
            continue

        def refresh(block: re.Match[str]) -> str:
            name = block["name"]
            wanted = (
                any(word == name or (word in name and word not in MAKERS) for word in words)
                if words
                else name != "bench-peers"
            )
            if not wanted:
                return block[0]
            if name in MAKERS:
                body = MAKERS[name]()
            else:
                command = name.split(" ")
                # The first table; what follows is in the report.
                first = _text(str(ROOT / command[0]), *command[1:]).split("\n\n")[0]
                body = "\n".join(f"    {line}".rstrip() for line in [f"$ {name}", "", *first.splitlines()])
            return f"{block[1]}\n{body.strip(chr(10))}\n\n{block[3]}"

        path.write_text(BLOCK.sub(refresh, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
