"""Pages of other commands at three widths, in both colours and printed; verdicts have colours and links."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import cwndlab
import pytest
from browser import Browser, chromium
from campaigns import Day, Server, asked, run
from cwndlab.cli.app import status
from cwndlab.export import export
from cwndlab.live import campaign
from cwndlab.saved import report

RESULTS = Path(__file__).resolve().parents[1] / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Wi-Fi cell, a suite, an audit, a campaign, and the site of the kept results."""
    place = tmp_path_factory.mktemp("layout")
    report(cwndlab.run(cwndlab.presets.load("wlan").with_(duration="3 s"), seed=1), place / "cell.html")
    words = ("suite", "rfc9438", "--algorithm", "cubic-8312", "--case", "reno-friendly")
    assert status([*words, "--report", str(place / "suite.html")]) == 1
    records = cwndlab.run(cwndlab.presets.load("single").with_(duration="5 s", packets=True), seed=1)
    log = export(records, "qlog", place / "log")[0]
    assert status(["audit", str(log), "--as", "reno", "--report", str(place / "audit.html")]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "_idle_ns", lambda to, port: 40e6)
        day = Day(datetime(2026, 11, 9, 12, tzinfo=UTC))
        run(asked(rounds=3, schedule="morning,evening,night"), place / "campaign", Server(), day)
    assert status(["report", str(place / "campaign"), "--report", str(place / "measurement.html")]) == 0
    site = place / "site"
    assert status(["reproduce", "--all", "--results", str(RESULTS), "--kept", "--out", str(site)]) == 0
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize(
    "page", ["cell", "suite", "audit", "measurement", "site/index", "site/appendix", "site/iot", "site/ccm-ss/fig12a"]
)
def test_nothing_is_cut_off_on_pages_of_other_commands(browser: Browser, folder: Path, page: str) -> None:
    for width in (1400, 1000, 390):
        for dark in (False, True):
            browser.open(folder / f"{page}.html", width=width, dark=dark)
            browser.assert_nothing_is_cut_off()


@pytest.mark.parametrize("page", ["cell", "audit", "measurement"])
def test_no_figure_of_other_pages_is_wider_than_paper(browser: Browser, folder: Path, page: str) -> None:
    """680 px are 180 mm: what A4 (210 mm) and US Letter (216 mm) have between margins of 14 mm."""
    browser.open(folder / f"{page}.html", width=1400)
    browser.say("dispatchEvent(new Event('beforeprint'))")
    widths = browser.say("[...document.querySelectorAll('.js-plotly-plot')].map(one => one._fullLayout.width)")
    assert widths
    assert max(widths) <= 680


def test_a_failed_statement_has_a_colour_and_a_link(browser: Browser, folder: Path) -> None:
    """What failed has a colour of its own, and leads to its figure."""
    browser.open(folder / "suite.html", width=1400)
    failed = "[...document.querySelectorAll('td')].filter(one => one.innerText.trim() === 'failed')"
    colours = browser.say(f"{failed}.map(one => getComputedStyle(one).color)")
    assert colours
    assert browser.say("getComputedStyle(document.body).color") not in colours
    links = "[...document.querySelectorAll('#statements-that-do-not-hold + div a')]"
    assert browser.say(f"{links}.map(one => document.querySelector(one.hash) !== null)") == [True]


def test_texts_of_an_audit_begin_at_the_left(browser: Browser, folder: Path) -> None:
    """Numbers end at the right of their column, sentences begin at its left."""
    browser.open(folder / "audit.html", width=1400)
    long = "[...document.querySelectorAll('main td')].filter(one => one.innerText.split(' ').length > 4)"
    aligned = browser.say(f"{long}.map(one => getComputedStyle(one).textAlign)")
    assert aligned
    assert set(aligned) <= {"left", "start"}
