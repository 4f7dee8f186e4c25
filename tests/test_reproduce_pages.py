"""The pages of the papers, from the kept results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, chromium
from cwndlab.plot.palette import ALL_COLOURS
from cwndlab.reproduction import PAPERS as FILES
from cwndlab.reproduction.assessments import assessments
from cwndlab.reproduction.claims import OUTCOMES, Finding
from cwndlab.reproduction.forest import COLOURS, SIGNS, forest, mark, surprise
from cwndlab.reproduction.multiverse import Cell, Multiverse, spaces
from cwndlab.reproduction.multiverse.robustness import robustness
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.paper_page import CLASSES, index_page
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.standing import standings
from cwndlab.reproduction.summary import measured

ROOT = Path(__file__).parents[1]
#: Figures that have kept rows and are cheap to draw.
_DRAWN = ("phcc/fig12a", "phcc/table1", "iot/fig5", "ccm-ss/claim18", "cubic-study/fig7", "windows-lte/table1")

#: The papers, without our own experiments.
PAPERS = {name: one for name, one in FILES.items() if one.kind == "claim"}


def _plain(text: str) -> str:
    """Text of a page without the entities that a template writes."""
    for entity, letter in (("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&#34;", '"')):
        text = text.replace(entity, letter)
    return text


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


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
    text = "↻ repetitions: inconclusive with 10, holds with 20"
    assert finding.objections == [text]
    assert text in (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    index, page = (_plain((site / name).read_text(encoding="utf-8")) for name in ("index.html", "iot.html"))
    assert text in page
    assert text not in index, "more repetitions are nothing against an outcome"
    texts = [text for each in one.reproduction.findings if each.kind == "claim" for text in each.objections]
    assert any(text.startswith("✗") and text in page and text in index for text in texts)


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


def test_our_own_experiments_stand_after_the_papers() -> None:
    """By name they would stand between two papers."""
    keys = {name: FILES[name].headlines[0].key for name in ("windows-lte", "clinic", "ccm-ss")}
    kept = [{"findings": [replace(_finding(1.2, 1.1, 1.3), headline=key).as_dict()]} for key in keys.values()]
    assert list(assessments(kept, [])) == ["ccm-ss", "windows-lte", "clinic"]


def test_a_p_value_says_that_it_is_one() -> None:
    """It stands in a lane among ratios."""
    assert measured(_finding(0.996, None, None, measured_is="p")) == "p = 0.996"
    assert measured(_finding(0.979, 0.969, 0.989, measured_is="value")) == "0.979 [0.969 … 0.989]"
    assert measured(_finding(0.5, None, None, measured_is="landmarks")) == "0.500 landmarks"


def _finding(measured: float | None, low: float | None, high: float | None, **more: Any) -> Finding:
    return Finding("p/f", "q", "w", measured, low, high, more.pop("outcome", "holds"), "", **more)


def test_a_comparison_and_a_value_have_one_axis() -> None:
    """A ratio is where it is; a utilisation of 0.13 beside a published 0.94 is at 0.14; a range is at its end."""
    ratio = mark(_finding(1.2, 1.1, 1.3, claimed=(1.01, None), margin=(0.99, 1.01), expected=1.3))
    assert ratio is not None
    assert (ratio.measured, ratio.published, list(ratio.claimed)) == (1.2, 1.3, [1.01, None])
    value = mark(_finding(0.13, 0.1, 0.15, measured_is="value", claimed=(0.92, 0.96), expected=0.94))
    assert value is not None
    assert value.measured == pytest.approx(0.13 / 0.94)
    assert value.published == 1.0
    ranged = mark(_finding(0.5, 0.4, 0.6, measured_is="value", claimed=(None, 0.25)))
    assert ranged is not None
    assert (ranged.measured, list(ranged.claimed)) == (2.0, [None, 1.0])
    for one in (_finding(0.01, None, None, measured_is="p"), _finding(None, None, None, claimed=(1.0, None))):
        assert mark(one) is None


def test_every_headline_has_a_lane_with_its_sentence_and_a_mark_or_words(site: Path) -> None:
    known = assessments(outcomes(site), [])
    assert len(known) == len(PAPERS)
    for name, mine in known.items():
        figure = forest(name, mine, {})
        (panel,) = figure.panels
        lanes = list(panel.y.categories or ())
        assert len(lanes) == len(mine) == len(panel.opens)
        for lane, one in zip(reversed(lanes), mine, strict=True):
            assert lane.startswith(one.headline.claim)
            assert "not run" in lane if one.base is None else one.base.outcome in lane
        marked = {int(y) for series in panel.series if series.label in OUTCOMES for y in series.y if y is not None}
        told = {words.place for words in panel.words}
        assert marked | told == set(range(len(lanes)))
        assert not marked & told
        assert "a ratio of 1" in figure.sentence()
        figure.save(site / f"{name}.svg")
        assert {band.place for band in panel.bands} == marked
        assert panel.x is not None
        assert panel.x.ends is not None
        low, high = panel.x.ends
        for series in panel.series:
            assert all(low <= float(x) <= high for x in series.x), "what is beyond the axis is drawn at its end"


def test_what_is_beyond_the_axis_has_an_arrow(site: Path) -> None:
    mine = assessments(outcomes(site), [])["phcc"]
    (one,) = (each for each in mine if each.headline.key == "phcc:utilisation")
    assert one.base is not None
    far = [replace(each, measured=0.001, low=0.0, high=0.002) for each in one.base.findings]
    series = forest("phcc", [replace(one, base=replace(one.base, findings=far))], {}).panels[0].series
    (arrow,) = (each for each in series if each.sign == "left")
    assert list(arrow.x) == [0.1]


def test_universes_stand_beside_the_claims_that_have_them(site: Path) -> None:
    """Bars of 100 %, in the colours of the outcomes; a claim without universes says so."""
    (space, *_) = spaces("windows-lte")
    claims = space.claims(space.base)
    cells = [
        [Cell(space.base, Finding("w", one.quantity, "", 1.0, 0.9, 1.1, outcome, "")) for outcome in OUTCOMES]
        for one in claims
    ]
    universes = Multiverse(space, True, 1, [space.base] * len(OUTCOMES), robustness(space, claims, cells), 7, (3, 8))
    mine = assessments(outcomes(site), [universes])["windows-lte"]
    left, right = forest("windows-lte", mine, {}).panels
    assert right.y == left.y
    with_bars = {band.place for band in right.bands}
    for place in with_bars:
        spans = [span for band in right.bands if band.place == place for span in band.spans]
        assert spans[0][0] == 0
        assert spans[-1][1] == pytest.approx(100)
    assert with_bars | {words.place for words in right.words} == set(range(len(mine)))
    assert {band.position for band in right.bands} <= set(COLOURS.values())


def test_colours_of_outcomes_are_those_of_the_palette_and_differ(site: Path) -> None:
    assert all(0 <= position < len(ALL_COLOURS) for position in COLOURS.values())
    assert len({(COLOURS[outcome], SIGNS[outcome]) for outcome in OUTCOMES}) == len(OUTCOMES)
    told = [SIGNS[outcome] for outcome in ("holds", "no effect", "opposite", "inconclusive")]
    assert len(set(told)) == len(told), "also without colours"


def test_the_most_surprising_finding_is_the_one_farthest_from_its_claim(site: Path) -> None:
    found = surprise(assessments(outcomes(site), [])["phcc"])
    assert found is not None
    # The first flow of Fig. 12(a) uses 12 % of the line where the paper has all of it.
    assert (found.id, found.outcome, [*(found.claimed or ())]) == ("phcc/fig12a", "opposite", [0.9, None])
    assert surprise([]) is None


def test_links_of_index_and_papers_exist(site: Path) -> None:
    for name in ("index", *PAPERS):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        body = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        places = re.findall(r'(?:href|src)="([^"]+)"', body)
        places += [f"#{anchor}" for anchor in re.findall(r'"name":"#([^"]+)"', text)]
        for address in places:
            path, _, anchor = address.partition("#")
            target = site / path if path else site / f"{name}.html"
            assert target.exists(), (name, address)
            if anchor and target.suffix == ".html":
                assert f'id="{anchor}"' in target.read_text(encoding="utf-8"), (name, address)


def test_an_experiment_without_rows_says_what_is_missing(site: Path) -> None:
    """The chief claims of Fig. 9 need 18 hours of CPU."""
    write_index(site, {"cubic-study/fig9": "0 of 150 full-size runs, 18.14 CPU hours left"})
    page = (site / "cubic-study.html").read_text(encoding="utf-8")
    said = "not run: fig9 has 0 of 150 full-size runs, 18.14 CPU hours left"
    assert page.count(said) >= 4, "in the table and in the lanes"


def test_a_click_on_a_lane_opens_the_evidence_and_nothing_is_cut_off(browser: Browser, site: Path) -> None:
    for width in (1400, 1000, 390):
        for dark in (False, True):
            for name in ("index", "iot"):
                browser.open(site / f"{name}.html", width=width, dark=dark)
                browser.assert_nothing_is_cut_off()
    browser.open(site / "iot.html", width=1400)
    browser.say("document.querySelector('.annotation-text-g').scrollIntoView({block: 'center'})")
    box = "document.querySelector('.annotation-text-g').getBoundingClientRect()"
    browser.click(browser.say(f"{box}.left + 40"), browser.say(f"{box}.top + {box}.height / 2"))
    browser.wait("location.hash.length > 1")
    assert browser.say("document.getElementById(location.hash.slice(1)).tagName") == "H3"


#: How far the names of lanes are below the bar of the lane above, in pixels; a bar ends 0.2 below its lane.
_CLEARANCE = """(() => {
    const div = document.querySelector('.chart'), axis = div._fullLayout.yaxis;
    const pixel = value => div.getBoundingClientRect().top + axis._offset + axis.l2p(value);
    const names = div.layout.annotations.map((one, at) => [one, at]).filter(([one]) => one.align === 'left');
    const text = at => div.querySelector(`.annotation[data-index="${at}"] .annotation-text-g`);
    const boxes = names.map(([one, at]) => [one.y, text(at)]);
    const last = Math.max(...boxes.map(([y]) => y));
    const gaps = boxes.filter(([y]) => y < last).map(([y, box]) =>
        box.getBoundingClientRect().top - pixel(Math.floor(y) + 0.8));
    return Math.min(...gaps);
})()"""


@pytest.mark.parametrize("width", [1400, 390])
def test_names_of_several_lines_do_not_reach_the_bar_of_the_lane_above(
    browser: Browser, site: Path, width: int
) -> None:
    """Of the six pages this one has the longest name: five lines at 390 pixels."""
    browser.open(site / "iot.html", width=width)
    assert browser.say(_CLEARANCE) > 1
