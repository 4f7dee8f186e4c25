"""docs/glossary.md: one line for each term, and no name in it that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import cwndlab.scenario.stacks
import generated
import pytest
from cwndlab import metrics
from cwndlab.engine import tables

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "glossary.md").read_text(encoding="utf-8")
COLUMNS = {table["name"]: [column["name"] for column in table["columns"]] for table in tables()}


def rows(section: str) -> list[list[str]]:
    """The cells of each line of a section's table."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


SECTIONS = {part.splitlines()[0]: rows(part) for part in TEXT.split("\n## ")[1:]}


def names(pattern: str) -> list[str]:
    """What the last column of the tables names."""
    cells = [cells[3] for section in SECTIONS.values() for cells in section]
    return [name for cell in cells for name in re.findall(pattern, cell)]


@pytest.mark.parametrize("section", SECTIONS)
def test_terms_are_in_alphabetical_order_with_meaning_and_source(section: str) -> None:
    terms = [cells[0] for cells in SECTIONS[section]]
    keys = [term.strip("`").lower().replace("β", "beta").replace("δ", "delta") for term in terms]
    assert keys == sorted(keys)
    assert all(len(cells) == 4 and all(cells) for cells in SECTIONS[section])


def test_a_term_has_one_meaning() -> None:
    terms = [cells[0].lower() for section in SECTIONS.values() for cells in section]
    assert sorted(set(terms)) == sorted(terms)


def test_the_glossary_has_what_people_search_for() -> None:
    """Terms of textbooks and RFCs for what this laboratory shows, under which its pages are to be found."""
    words = TEXT.lower()
    for term in (
        *("bufferbloat", "incast", "congestion collapse", "head-of-line blocking", "tail drop", "starvation"),
        *("rtt unfairness", "long fat network", "latency under load", "bandwidth-delay product", "fairness"),
    ):
        assert term in words, term


def test_columns_of_the_glossary_are_in_the_records() -> None:
    used = names(rf"`((?:{'|'.join(COLUMNS)})\.\w+)`")
    assert len(used) > 60
    assert set(used) <= {f"{table}.{column}" for table, columns in COLUMNS.items() for column in columns}


def test_metrics_of_the_glossary_are_in_their_list() -> None:
    used = names(r"metric `([\w@]+)`")
    assert len(used) > 20
    assert [name for name in used if name.replace("@FLOW", "@0") not in metrics.COLUMNS] == []


def test_fields_of_the_stack_in_the_glossary_exist() -> None:
    known = {field.name for field in cwndlab.scenario.stacks.fields()}
    assert set(names(r"`stack\.(\w+)`")) <= known


def test_fields_of_a_scenario_in_the_glossary_are_on_its_page() -> None:
    page = (DOCS / "scenario.md").read_text(encoding="utf-8")
    used = names(r"`(?:flow|link|queue|medium|dumbbell)\.(\w+)`")
    assert len(used) > 30
    assert [name for name in used if not re.search(rf"[`{{ ]{name}[` =]", page)] == []


def test_every_column_and_every_metric_is_documented() -> None:
    """In the glossary, or in the generated table of the records or of the metrics."""
    bodies = {block.name: block.body for block in generated.blocks([DOCS / "records.md", DOCS / "python.md"])}
    for table, columns in COLUMNS.items():
        assert [name for name in columns if f"| `{name}` |" not in bodies[f"records {table}"]] == []
    shown = bodies["metrics"]
    assert [name for name in metrics.COLUMNS if f"| {name} |" not in shown and f"`{name}`" not in TEXT] == []
