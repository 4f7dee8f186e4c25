"""Rows of the papers that are known to be wrong: the reasons stand wherever their outcomes do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cwndlab.reproduction import PAPERS, experiments
from cwndlab.reproduction.doubts import doubt, doubts, doubts_of
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.multiverse import copy
from cwndlab.reproduction.paper_page import CLASSES, index_page
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.standing import standings

ROOT = Path(__file__).parents[1]
#: Figures with a doubted row of a claim, cheap to draw: they have kept rows at full size.
_DRAWN = ("phcc/fig12a", "iot/fig7", "ccm-ss/table4", "cubic-study/fig7", "windows-lte/table1")


def _plain(text: str) -> str:
    """Text of a page without the entities that a template writes."""
    for entity, letter in (("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&#34;", '"')):
        text = text.replace(entity, letter)
    return text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of some experiments, of the papers and the index, from the kept results."""
    folder = tmp_path_factory.mktemp("site")
    for id in _DRAWN:
        (one,) = standings(ROOT / "results", id)
        assert one.reproduction is not None
        write_experiment(one.reproduction, folder)
    copy(ROOT / "results", folder)
    write_index(folder)
    return folder


def _rows() -> Iterator[str]:
    for one in experiments():
        for size in (one.quick, one.full):
            yield from (f"{one.id}: {claim.quantity}" for claim in one.claims(size))


def test_every_doubt_names_rows_that_exist() -> None:
    known = {headline.key for headline in headlines()} | set(_rows())
    named = [row for one in doubts() for row in one.rows]
    assert [row for row in named if row not in known] == []
    assert all(one.reason.endswith(".") for one in doubts())


def test_a_row_has_all_its_reasons_and_others_have_none() -> None:
    assert len(doubts_of("windows-lte:gains")) == 3  # stopped connections, a base that cannot discriminate, the size
    assert doubt("phcc:queue") == ""
    assert doubt("phcc:fairness").startswith("in doubt: Reno, FAST")


def test_every_reason_stands_on_the_page_of_its_paper_on_the_index_and_in_the_documentation(site: Path) -> None:
    index = _plain((site / "index.html").read_text(encoding="utf-8"))
    docs = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    for one in doubts():
        papers = {row.partition(":")[0] for row in one.rows if "/" not in row}
        assert papers, one
        assert one.reason in index, one.rows
        assert one.reason in docs, one.rows
        for paper in papers:
            assert one.reason in _plain((site / f"{paper}.html").read_text(encoding="utf-8")), one.rows


@pytest.mark.parametrize("id", _DRAWN)
def test_every_reason_stands_beside_its_row_on_the_page_of_the_experiment_and_in_the_appendix(
    site: Path, id: str
) -> None:
    rows = {f"{id}: {claim.quantity}" for one in experiments() if one.id == id for claim in one.claims(one.full)}
    reasons = [one.reason for one in doubts() if rows & set(one.rows)]
    assert reasons
    for page in (f"{id}.html", "appendix.html"):
        text = _plain((site / page).read_text(encoding="utf-8"))
        assert all(reason in text for reason in reasons), page


def test_deviations_from_print_stand_on_the_page_of_the_paper_and_in_the_documentation(site: Path) -> None:
    docs = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert sum(bool(paper.deviations) for paper in PAPERS.values()) == 4
    for name, paper in PAPERS.items():
        page = _plain((site / f"{name}.html").read_text(encoding="utf-8"))
        for sentence in paper.deviations:
            assert sentence in page, name
            assert sentence in docs, name


def test_a_claim_that_holds_at_another_size_is_not_green() -> None:
    assert CLASSES["holds"] == "good"
    assert CLASSES["holds at another size"] == "open"


def test_a_site_says_how_many_papers_it_has(site: Path) -> None:
    assert "<title>Five papers, run again" in (site / "index.html").read_text(encoding="utf-8")
    assert "<title>Two papers, run again" in index_page({"phcc": [], "iot": []})
    assert "<title>One paper, run again" in index_page({"phcc": []})
