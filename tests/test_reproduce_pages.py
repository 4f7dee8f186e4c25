"""The pages of the papers, from the kept results."""

from __future__ import annotations

from pathlib import Path

import pytest
from cwndlab.reproduction import PAPERS
from cwndlab.reproduction.paper_page import CLASSES, index_page
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.standing import standings

ROOT = Path(__file__).parents[1]
#: Figures that have kept rows and are cheap to draw.
_DRAWN = ("phcc/fig12a", "iot/fig7", "ccm-ss/claim18", "cubic-study/fig7", "windows-lte/table1")


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
    write_index(folder)
    return folder


def test_what_controls_object_to_stands_on_the_index_the_page_and_in_the_documentation(site: Path) -> None:
    """One row of the kept results of which a control is known to have something: with ten repetitions the chief claim
    of the IoT paper is inconclusive, and it holds with twice as many."""
    (one,) = standings(ROOT / "results", "iot/fig5")
    assert one.reproduction is not None
    (finding,) = [each for each in one.reproduction.findings if each.headline == "iot:throughput"]
    assert finding.printed is not None
    assert (finding.printed[0], finding.printed[1], finding.outcome, finding.n) == (10, "inconclusive", "holds", 20)
    text = "repetitions: inconclusive with the paper's 10, holds with 20"
    assert finding.objections == [text]
    assert text in (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    (other,) = standings(ROOT / "results", "iot/fig7")
    assert other.reproduction is not None
    texts = [text for each in other.reproduction.findings if each.kind == "claim" for text in each.objections]
    assert texts
    pages = [_plain((site / name).read_text(encoding="utf-8")) for name in ("index.html", "iot.html")]
    assert any(all(text in page for page in pages) for text in texts)


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
