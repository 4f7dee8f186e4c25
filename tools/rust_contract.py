"""The contract of an algorithm in Rust for docs/add-an-algorithm.md: traits and reports, from crates/control."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["example", "traits"]

SOURCES = Path(__file__).resolve().parents[1] / "crates" / "control" / "src"
#: The traits in the order of the page, with their files.
TRAITS = {"CongestionAvoidance": "parts.rs", "SlowStart": "parts.rs", "CongestionControl": "contract.rs"}
#: What the methods receive and return, with their files.
STRUCTS = {
    "Path": "contract.rs",
    "Saved": "contract.rs",
    "Ack": "contract.rs",
    "DeliveryRate": "contract.rs",
    "Congestion": "contract.rs",
    "Window": "contract.rs",
    "Sent": "contract.rs",
    "Step": "parts.rs",
    "Exit": "parts.rs",
    "State": "state.rs",
}


def _body(name: str, file: str, kind: str) -> str:
    """What is between the braces of an item."""
    text = (SOURCES / file).read_text(encoding="utf-8")
    found = re.search(rf"^pub {kind} {name}\b[^{{]*\{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{file} has no {kind} {name}"
    return found[1]


def _doc(lines: str) -> str:
    """The first paragraph of a documentation comment, with links as their text."""
    bare = [line.strip().removeprefix("///").strip() for line in lines.strip().splitlines()]
    text = " ".join(bare[: bare.index("")] if "" in bare else bare)
    text = re.sub(r"\[(`?[^\]]+`?)\](\([^)]*\))?", r"\1", text)
    return text.replace("|", "\\|")


def traits() -> str:
    """A block of Rust with the methods of each trait, required ones first, and a table for each report."""
    parts = []
    for name, file in TRAITS.items():
        methods = re.findall(
            r"((?: {4}///[^\n]*\n)+) {4}(fn [^;{]+?)\s*(;|\{)", _body(name, file, "trait"), re.DOTALL | re.MULTILINE
        )
        parts += [f"**`{name}`**", "", "| method | required | called, returns |", "|---|---|---|"]
        for doc, signature, end in methods:
            shown = re.sub(r"\b_(\w+):", r"\1:", " ".join(signature.split()))
            parts.append(f"| `{shown}` | {'yes' if end == ';' else ''} | {_doc(doc)} |")
        parts.append("")
    for name, file in STRUCTS.items():
        fields = re.findall(r"((?: {4}///[^\n]*\n)+) {4}pub (\w+): ([^\n]+),\n", _body(name, file, "struct"))
        parts += [f"**`{name}`**", "", "| field | type | meaning |", "|---|---|---|"]
        parts += [f"| `{field}` | `{kind}` | {_doc(doc)} |" for doc, field, kind in fields]
        parts.append("")
    return "\n".join(parts).rstrip()


def example() -> str:
    """The whole algorithm in the documentation of the crate, which `cargo test` compiles and runs."""
    lines = (SOURCES / "lib.rs").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!"))
    found = re.search(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, "the documentation of crates/control has no example"
    return f"```rust\n{found[1]}```"
