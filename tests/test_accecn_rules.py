"""The table of rules of Accurate ECN names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def rows() -> list[list[str]]:
    """The rows of the table of rules: section, rule, test, note."""
    text = (ROOT / "docs/accecn.md").read_text()
    lines = text.split("## Rules", 1)[1].split("\n## ", 1)[0].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return table[2:]


def rust_tests() -> set[str]:
    """The names of all tests of the crates."""
    found: set[str] = set()
    for path in (ROOT / "crates").rglob("*.rs"):
        found.update(re.findall(r"#\[test\]\s+fn (\w+)", path.read_text()))
    return found


def test_every_named_test_exists() -> None:
    known = rust_tests()
    named = {name for row in rows() for name in re.findall(r"`(\w+_\w+_\w+)`", f"{row[2]} {row[3]}")}
    assert len(named) > 20
    assert named - known == set()


def test_a_rule_without_a_test_says_why() -> None:
    for section, rule, test, note in rows():
        assert re.fullmatch(r"3(\.\d+)+", section), rule
        assert test == "–" or re.fullmatch(r"`\w+`", test), rule
        assert test != "–" or note, rule
