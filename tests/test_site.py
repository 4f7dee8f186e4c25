"""The documentation site of `make site`: links, the API reference, the search index, and no use of a network."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import cwndlab
import pytest
from browser import chromium
from test_public_names import MODULES

ROOT = Path(__file__).parents[1]
#: The first test builds the site.
pytestmark = pytest.mark.timeout(1200)

#: Public classes and functions without an example in their docstring, by module and name, with the reason.
NO_EXAMPLE = {
    "custom": "values that the engine gives to an algorithm; docs/add-an-algorithm.md has a class that uses them",
    "emulation": "needs the rights to create network namespaces",
    "gym.rewards": "docs/gym.md has the formulas; tests/test_gym.py computes them by hand",
    "kernel": "needs root and a kernel with BTF",
    "live": "needs a remote host",
    "live.preflight": "needs a remote host, or the output of its programs",
    "errors": "the example of Error shows them",
    "scenario.losses": "generated from declarations; docs/scenario.md has examples of the same fields",
    "scenario.cells": "docs/scenario.md has examples of the same fields",
    "Dossier": "the command of docs/assess.md takes minutes; tests/test_assessment.py reads one",
    "Propagation": "docs/scenario.md has an example of the same fields",
    "scenario.media": "docs/scenario.md has examples of the same fields",
    "scenario.queues": "generated from declarations; docs/scenario.md has examples of the same fields",
    "scenario.routers": "generated from declarations; docs/scenario.md has examples of the same fields",
    "scenario.stacks": "generates docs/stack.md",
    "scenario.workloads": "generated from declarations; docs/scenario.md has examples of the same fields",
    "study.sweeps": "docs/sweeps.md and docs/tutorial.md run sweeps",
    "study.tuning": "takes minutes; docs/tuning.md has a file",
    "Algorithm": "what `algorithms` returns",
    "Chart": "what `plot.SERIES` holds",
    "Curve": "what `plot.CDFS` holds",
    "Decision": "what `Simulation.next_decision` returns",
    "Description": "what `traces.describe` returns",
    "Difference": "what `statistics.difference` returns",
    "Effect": "a verdict's word",
    "Episode": "what `Paths.sample` returns",
    "State": "what `Simulation.state` returns",
    "Sweep": "docs/sweeps.md describes it with the file of the same keys",
    "bench": "takes a minute",
    "compare": "the Python of docs/tutorial.md",
    "figures": "the Python of docs/reports.md",
    "report": "the Python of docs/tutorial.md",
    "reproduce": "takes minutes",
    "validate": "takes minutes",
    "run": "the example of Records",
    "version": "returns another text in each release",
}


class Page(HTMLParser):
    """Links, resources and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.resources.append(values.get("href", ""))
        elif "src" in values:
            self.resources.append(values["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed (requirements/lock.txt)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    places = ["--doctree-dir", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """The pages of Sphinx; those of rustdoc and of the playground are not ours."""
    files = [
        file for file in sorted(site.rglob("*.html")) if file.relative_to(site).parts[0] not in ("rust", "playground")
    ]
    return {file: Page(file.read_text(encoding="utf-8")) for file in files}


def test_every_document_is_a_page(pages: dict[Path, Page], site: Path) -> None:
    documents = {file.relative_to(ROOT / "docs").with_suffix("") for file in (ROOT / "docs").rglob("*.md")}
    built = {file.relative_to(site).with_suffix("") for file in pages}
    assert {str(name) for name in documents - built} == {str(name) for name in documents if name.name == "README"}


def test_every_link_leads_to_a_page_and_a_place_on_it(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, place = link.partition("#")
            target = (file.parent / unquote(path)).resolve() if path else file
            found = target in pages and (not place or unquote(place) in pages[target].ids)
            if not (found or (target not in pages and target.is_file())):
                broken.append(f"{file.name}: {link}")
    assert broken == []


def test_pages_use_no_network(pages: dict[Path, Page], site: Path) -> None:
    """Neither an element of a page nor a style sheet loads anything from elsewhere."""
    remote = [f"{file.name}: {one}" for file, page in pages.items() for one in page.resources if "//" in one]
    styles = [
        file.name for file in site.rglob("*.css") if re.search(r"(@import|url\()[\s\"']*(https?:)?//", file.read_text())
    ]
    assert remote + styles == []


def test_the_search_index_is_a_script_and_has_the_words_of_pages(site: Path) -> None:
    """Pages from a disk may load scripts and no JSON. Sphinx stores stems of words: `hystart`, `fair` of `fairness`."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    assert {"hystart", "uplink", "goodput", "jain", "bufferbloat", "incast", "starvat"} <= index["terms"].keys()
    assert {"howto-uplink", "tutorial", "algorithms/cubic", "api/metrics"} <= set(index["docnames"])
    assert "searchindex.js" in (site / "search.html").read_text(encoding="utf-8")


def test_the_search_finds_what_users_call_things(site: Path) -> None:
    """Stems of words, by the stemmer of the index: bufferbloat, fairness, LaTeX, Mahimahi, Wireshark."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    terms = index["terms"] | index["titleterms"]
    for word in ("bufferbloat", "fair", "latex", "mahimahi", "wireshark", "notebook", "window"):
        assert word in terms, word


def test_equations_are_mathematics(site: Path) -> None:
    """On the page of CUBIC, without a script: RFC 9438, figure 1, W(t) = C (t − K)³ + W_max."""
    page = (site / "algorithms" / "cubic.html").read_text(encoding="utf-8")
    assert '<div class="equations">' in page
    assert '<msub><mi>W</mi><mi mathvariant="normal">max</mi></msub>' in page


def test_search_works_from_a_disk(site: Path, tmp_path: Path) -> None:
    """In a browser, without a server."""
    with chromium(tmp_path) as browser:
        browser.ask("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q=uplink+delay")
        links = "[...document.querySelectorAll('#search-results li a')]"
        browser.wait(f"{links}.some(link => link.pathname.endsWith('/howto-uplink.html'))")
        assert browser.complaints == []


def public() -> Iterator[tuple[str, str, object]]:
    """Module, name and value of every public class, function and constant."""
    for path in ["", *MODULES]:
        module = reduce(getattr, path.split("."), cwndlab) if path else cwndlab
        for name in module.__all__:
            if not inspect.ismodule(value := getattr(module, name)):
                yield path, name, value


def test_every_public_name_is_in_the_api_reference(pages: dict[Path, Page]) -> None:
    ids = set().union(*(page.ids for file, page in pages.items() if file.parent.name == "api"))
    names = [f"cwndlab.{path}.{name}" if path else f"cwndlab.{name}" for path, name, _ in public()]
    assert len(names) > 200
    assert [name for name in names if name not in ids] == []


def test_public_classes_and_functions_have_an_example_or_a_reason() -> None:
    missing = []
    homes: dict[int, str] = {}
    for path, _, value in public():
        if path:
            homes.setdefault(id(value), path)
    for path, name, value in public():
        if not (inspect.isclass(value) or inspect.isroutine(value)) or ">>>" in (value.__doc__ or ""):
            continue
        reasons = {path, name, homes.get(id(value), "")} & NO_EXAMPLE.keys()
        if not reasons:
            missing.append(f"{path}.{name}")
    assert missing == []
    assert NO_EXAMPLE.keys() <= {*MODULES, *(name for _, name, _ in public())}
