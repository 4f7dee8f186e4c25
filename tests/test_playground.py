"""The playground in browsers: records of the native engine, every preset drawn, no complaint, memory that returns."""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import random
import re
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from browser import Browser, chromium
from cwndlab import engine
from firefox import Firefox, firefox

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "playground"
pytestmark = [
    pytest.mark.skipif(not (FOLDER / "index.html").is_file(), reason="build/playground is missing (make playground)"),
    pytest.mark.timeout(1800),
]

PICTURES = sorted((ROOT / "docs" / "algorithms").glob("*-window.svg"))
#: Random scenarios whose records are compared.
SCENARIOS = 1000
#: At most, gzipped and without the library of the plots.
MOST_BYTES = 600_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        one.open(FOLDER / "index.html")
        yield one


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("fox")) as one:
        one.open((FOLDER / "index.html").as_uri())
        yield one


#: Numbers of colours in each plot. Copies are read: a browser complains of a plot that is read again and again.
COLOURS = """[...document.querySelectorAll('#plots canvas')].map(canvas => {
    const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    return new Set(new Uint32Array(data.buffer)).size;
})"""


def data() -> dict[str, Any]:
    """What the page was made from."""
    text = (FOLDER / "data.js").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(json.loads(text.removeprefix("var CWNDLAB_DATA = ").rstrip().removesuffix(";")))
    return found


def random_scenario(chance: random.Random) -> dict[str, Any]:
    """A dumbbell with some of everything: any discipline, loss, jitter, algorithm, slow start, recovery, workload."""
    entries = {
        kind: [one.name for one in cwndlab.algorithms() if one.kind == kind] for kind in ("growth", "slow-start")
    }
    whole = [one.name for one in cwndlab.algorithms() if one.kind == "whole" and one.name != "iotcc"]
    rate = 10 ** chance.uniform(5.5, 7.7)
    queue: dict[str, Any] = {
        "kind": chance.choice(("droptail", "red", "ared", "codel", "pie", "fq", "fq-codel", "blue"))
    }
    if chance.random() < 0.7:
        queue["capacity"] = f"{chance.randrange(5, 200)} packets"
    if queue["kind"] in ("codel", "red", "pie"):
        queue["ecn"] = chance.random() < 0.5
    link: dict[str, Any] = {"rate": f"{round(rate)} bps", "delay": f"{chance.randrange(1, 20)} ms", "queue": queue}
    if chance.random() < 0.3:
        link["loss"] = {"kind": "bernoulli", "p": chance.uniform(1e-4, 0.02)}
    if chance.random() < 0.2:
        link["jitter"] = {"spread": f"{chance.randrange(1, 4)} ms", "reorder": chance.random() < 0.5}
    flows = []
    for _ in range(chance.randrange(1, 4)):
        algorithm = chance.choice(whole)
        if chance.random() < 0.7:
            recovery = chance.choice(("", "/sack", "/newreno", "/rack"))
            algorithm = chance.choice(entries["growth"]) + recovery
        flow: dict[str, Any] = {"algorithm": algorithm, "rtt": f"{chance.randrange(40, 200)} ms"}
        flow["start"] = f"{chance.randrange(0, 1000)} ms"
        if chance.random() < 0.4:
            flow["stack"] = {"ecn": "classic"}
        if chance.random() < 0.3:
            flow["workload"] = {"kind": "transfers", "bytes": f"{chance.randrange(5, 200)} kB", "gap": "50 ms"}
        flows.append(flow)
    return {
        "schema_version": 1,
        "duration": f"{chance.randrange(1, 4)} s",
        "dumbbell": {"bottleneck": link},
        "flow": flows,
    }


@pytest.fixture(scope="module")
def scenarios() -> list[tuple[str, int, str]]:
    """Scenarios, seeds, and the hashes of the native engine's records."""
    chance = random.Random(20)
    found: list[tuple[str, int, str]] = []
    while len(found) < SCENARIOS:
        text = json.dumps(random_scenario(chance))
        try:
            engine.check(text, "json")
        except cwndlab.ScenarioError:
            continue  # such as an algorithm that cannot be combined with a recovery
        seed = chance.randrange(1, 10**6)
        found.append((text, seed, engine.run(text, "json", seed).hash()))
    assert len({one for *_, one in found}) == SCENARIOS, "two of the scenarios are the same run"
    return found


def hashes(one: Browser | Firefox, asked: list[tuple[str, int]]) -> list[str]:
    """The hashes of the page's engine, in order."""
    script = """(async () => {
        const found = [];
        for (const [scenario, seed] of %s) {
            const run = await cwndlab.engine.ask({ do: 'run', scenario, seed });
            found.push(run.hash);
        }
        return found;
    })()"""
    result: list[str] = one.say(script % json.dumps(asked))
    return result


@pytest.mark.parametrize("name", ["browser", "fox"])
def test_random_scenarios_have_the_records_of_the_native_engine(
    name: str, request: pytest.FixtureRequest, scenarios: list[tuple[str, int, str]]
) -> None:
    """The hash covers every value of all tables (docs/records.md)."""
    one = request.getfixturevalue(name)
    for first in range(0, SCENARIOS, 100):
        part = scenarios[first : first + 100]
        assert hashes(one, [(text, seed) for text, seed, _ in part]) == [expected for *_, expected in part]
    assert one.complaints == []


def test_known_answers_are_those_of_the_page(browser: Browser) -> None:
    """`known-answers/record-hashes.json` was computed on other machines, too."""
    known = json.loads((ROOT / "known-answers" / "record-hashes.json").read_text(encoding="utf-8"))
    presets = {one["id"].removeprefix("scenario-"): one["document"] for one in data()["presets"]}
    shown = [name for name in known if name in presets]
    assert len(shown) >= 10
    asked = [
        (json.dumps({**presets[name], "duration": known[name]["duration"]}), known[name]["seed"]) for name in shown
    ]
    assert hashes(browser, asked) == [known[name]["hash"] for name in shown]


@pytest.mark.parametrize("name", ["browser", "fox"])
def test_every_preset_is_drawn_without_complaint(name: str, request: pytest.FixtureRequest) -> None:
    one = request.getfixturevalue(name)
    one.complaints.clear()
    names = [preset["id"] for preset in data()["presets"]]
    for preset in names if name == "browser" else names[::5]:
        before = one.say("cwndlab.runs")
        one.say(
            f"(preset => (cwndlab.load(preset, preset), 0))(cwndlab.data.presets.find(one => one.id === '{preset}'))"
        )
        one.wait(f"cwndlab.runs > {before}")
        drawn = one.say(COLOURS)
        assert len(drawn) == 4, preset
        # Axes alone have a dozen shades; a curve adds its own.
        assert all(colours > 20 for colours in drawn), (preset, drawn)
        assert one.say("document.getElementById('faults').textContent") == "", preset
    assert one.complaints == []


def test_the_catalogue_is_that_of_the_package(browser: Browser) -> None:
    found = browser.say("cwndlab.engine.ask({ do: 'catalogue' })")
    assert [one["name"] for one in found["algorithms"]] == [one.name for one in cwndlab.algorithms()]
    for one, entry in zip(found["algorithms"], cwndlab.algorithms(), strict=True):
        for name in ("title", "kind", "source", "year", "summary", "companion"):
            assert one[name] == getattr(entry, name), (entry.name, name)
        parameters = [{**asdict(parameter), "words": list(parameter.words)} for parameter in entry.parameters]
        assert one["parameters"] == parameters, entry.name
    assert found["aliases"] == dict(engine.aliases())
    assert found["version"] == cwndlab.version()


def test_columns_arrive_in_the_page_as_they_are(browser: Browser) -> None:
    """Text and numbers of a table, against the native engine."""
    document = {
        "schema_version": 1,
        "duration": "20 s",
        "dumbbell": {"bottleneck": {"rate": "20 Mbps", "delay": "10 ms", "queue": {"capacity": "1 bdp"}}},
        "flow": [{"algorithm": "reno", "rtt": "40 ms"}],
    }
    script = f"cwndlab.engine.ask({{ do: 'run', scenario: JSON.stringify({json.dumps(document)}), seed: 1 }})"
    events = (
        f"{script}.then(run => Object.fromEntries(Object.entries(run.tables.events.columns)"
        ".map(([name, column]) => [name, column.texts ?? [...column.numbers].map(value => value || 0)])))"
    )
    table = browser.say(events)
    native = cwndlab.run(cwndlab.Scenario.from_json(json.dumps(document)), seed=1).events
    assert table["kind"] == native["kind"].to_list()
    assert table["time_ns"] == native["time_ns"].to_list()
    assert table["cwnd_after_bytes"] == native["cwnd_after_bytes"].to_list()
    assert table["kind"].count("recovery") >= 2


def test_memory_returns_after_500_runs(browser: Browser) -> None:
    """The memory of a module never shrinks; after the first runs it does not grow either."""
    document = next(one["document"] for one in data()["presets"] if one["id"] == "bufferbloat")
    script = """(async () => {
        const sizes = [];
        for (let seed = 1; seed <= 500; seed += 1) {
            const scenario = JSON.stringify(%s);
            sizes.push((await cwndlab.engine.ask({ do: 'run', scenario, seed })).memory_bytes);
        }
        return [sizes[19], sizes[499], cwndlab.engine.workers];
    })()"""
    workers = browser.say("cwndlab.engine.workers")
    early, late, workers_after = browser.say(script % json.dumps({**document, "duration": "2 s"}))
    assert late <= early + 2**20
    assert workers_after == workers, "a module was made anew"


def test_a_stale_run_is_cancelled(browser: Browser) -> None:
    """A long run gives way to a newer one, whose records are its own."""
    long = {
        "schema_version": 1,
        "duration": "1000 s",
        "dumbbell": {"bottleneck": {"rate": "500 Mbps", "delay": "10 ms"}},
        "flow": [{"algorithm": "reno", "rtt": "40 ms"}],
    }
    short = {**long, "duration": "1 s"}
    script = """(async () => {
        const [long, short] = %s.map(one => JSON.stringify(one));
        const first = cwndlab.engine.ask({ do: 'run', scenario: long, seed: 1 }).then(() => 'ended', () => 'stale');
        const second = (await cwndlab.engine.ask({ do: 'run', scenario: short, seed: 1 })).hash;
        return [await first, second];
    })()"""
    first, second = browser.say(script % json.dumps([long, short]))
    assert first == "stale"
    assert second == engine.run(json.dumps(short), "json", 1).hash()


def test_the_address_holds_the_scenario(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    browser.say(
        "(document.querySelector('#form input[type=range]').value = 150,"
        " document.querySelector('#form input[type=range]').dispatchEvent(new Event('input')), 0)"
    )
    browser.wait("location.hash.startsWith('#s=')")
    shown = browser.say("[JSON.stringify(cwndlab.document), cwndlab.seed, location.href]")
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=shown[2])
    browser.wait("document.documentElement?.dataset.ready === 'yes'")
    assert browser.say("[JSON.stringify(cwndlab.document), cwndlab.seed, location.href]") == shown


#: Types a text into the field of the seed; the field and the seed that runs then.
SEED = """(text => {
    const field = () => {
        const label = [...document.querySelectorAll('#form label')].find(one => one.textContent === 'seed');
        return document.getElementById(label.htmlFor);
    };
    field().value = text;
    field().dispatchEvent(new Event('change'));
    return [field().value || field().placeholder, cwndlab.seed];
})(TEXT)"""


def test_the_field_of_the_seed_shows_the_seed_that_runs(browser: Browser) -> None:
    """A number of JSON is exact up to 2⁵³ − 1 (RFC 8259, section 6): the address takes no larger one."""
    for text, seed in (("7", 7), ("", 1), ("9007199254740993", 2**53 - 1), ("-3", 0), ("words", 1), ("0", 0)):
        assert browser.say(SEED.replace("TEXT", json.dumps(text))) == [str(seed), seed]


def test_a_notice_of_an_address_goes_with_its_scenario(browser: Browser) -> None:
    status = "document.getElementById('status').textContent"
    browser.say("(location.hash = '#s=nonsense', 0)")
    browser.wait(f"{status}.startsWith('The address holds no scenario')")
    browser.say("(location.hash = '#preset=single', 0)")
    browser.wait(f"{status} !== '' && !{status}.startsWith('The address')")


def test_an_address_that_cannot_be_read_is_said_to_be_so(browser: Browser) -> None:
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=f"{(FOLDER / 'index.html').as_uri()}#s=nonsense")
    browser.wait("document.getElementById('status')?.textContent.includes('no scenario that can be read')")


def address(document: str, seed: int = 1) -> str:
    """The address of a document in JSON, as the page writes it: RFC 1951 in base64url (RFC 4648)."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(f'{{"d":{document},"s":{seed}}}'.encode()) + packer.flush()
    letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"{(FOLDER / 'index.html').as_uri()}#s={letters}"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"a":' * 20_000 + "1" + "}" * 20_000, "no scenario that can be read"),
        ('{"title":{"toString":1},"flow":[{"algorithm":"cubic"}],"duration":"1 s"}', ""),
        ('{"title":{},"dumbbell":[],"wlan":{},"flow":{}}', ""),
        ('{"dumbbell":{"bottleneck":{"rate":{}}},"flow":[1,null,[]]}', ""),
    ],
)
def test_an_address_with_an_odd_document_is_answered(browser: Browser, document: str, said: str) -> None:
    """The message is that of the address, or the engine's faults; the engine itself has started."""
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=address(document))
    browser.wait("document.getElementById('version')?.textContent !== ''")
    shown = "document.getElementById('status').textContent + document.getElementById('faults').textContent"
    browser.wait(f"!/Starting/.test({shown}) && ({shown}).trim() !== ''")
    text = browser.say(shown)
    assert said in text
    assert "cannot be started" not in text


def test_many_flows_are_answered(browser: Browser) -> None:
    """The form has some of them, and a run that takes long says how large it is."""
    flows = [{"algorithm": "reno", "rtt": "40 ms"}] * 2000
    bottleneck = {"rate": "1 Gbps", "delay": "10 ms"}
    document = {"duration": "60 s", "dumbbell": {"bottleneck": bottleneck}, "flow": flows}
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=address(json.dumps({"schema_version": 1, **document})))
    browser.wait("document.getElementById('status')?.textContent.includes('2,000 flows, 60 s')")
    assert browser.say("document.querySelectorAll('fieldset.flow').length") == 20
    assert "1980 further flows" in browser.say("document.getElementById('form').textContent")


def test_a_search_finds_presets_of_all_groups(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    options = "[...document.querySelectorAll('#preset option')].map(one => one.value).filter(Boolean)"
    groups = {one["group"] for one in data()["presets"]}
    assert set(browser.say("[...document.querySelectorAll('#group option')].map(one => one.value)")) == groups
    lessons = [one["id"] for one in data()["presets"] if one["group"] == "Lessons"]
    assert browser.say(options) == lessons
    browser.say(
        "(document.getElementById('search').value = 'BBR  short',"
        " document.getElementById('search').dispatchEvent(new Event('input')), 0)"
    )
    expected = [
        one["id"]
        for one in data()["presets"]
        if all(
            word in " ".join((one["title"], one["about"], one["group"], one["id"])).lower() for word in ("bbr", "short")
        )
    ]
    assert browser.say(options) == expected
    assert 0 < len(expected) < len(data()["presets"])


def test_the_explanation_of_a_lesson_stays_when_its_scenario_is_changed(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    lesson = next(one for one in data()["presets"] if one["id"] == "bufferbloat")
    browser.say("(cwndlab.change(['duration'], '7 s'), 0)")
    browser.wait("location.hash.startsWith('#s=')")
    about = "document.getElementById('about')?.textContent"
    assert browser.say(about) == lesson["about"]
    there = browser.say("location.href")
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=there)
    browser.wait("document.documentElement?.dataset.ready === 'yes'")
    assert (browser.say(about), browser.say("cwndlab.document.duration")) == (lesson["about"], "7 s")
    # Applied as text it is still the lesson; a scenario with another title is not.
    browser.say("(document.getElementById('edit-toml').open = true, 0)")
    browser.wait("document.getElementById('toml').value.includes('schema_version')")
    for title, shown in (("Bufferbloat", lesson["about"]), ("Mine", "Mine")):
        before = browser.say("cwndlab.runs")
        browser.say(
            "(document.getElementById('toml').value ="
            f" document.getElementById('toml').value.replace('title = \"Bufferbloat\"', 'title = \"{title}\"'),"
            " document.getElementById('apply-toml').click(), 0)"
        )
        browser.wait(f"cwndlab.runs > {before}")
        assert browser.say(about) == shown


def test_copies_run_as_they_are(browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TOML gives the same scenario, the Python program the same hash."""
    browser.open(FOLDER / "index.html")
    texts = {}
    for kind in ("toml", "python", "command"):
        browser.say(
            f"(document.getElementById('copied').value = '', document.getElementById('copy-{kind}').click(), 0)"
        )
        browser.wait("document.getElementById('copied').value !== ''")
        texts[kind] = browser.say("document.getElementById('copied').value")
    document = browser.say("cwndlab.document")
    assert json.loads(engine.check(texts["toml"], "toml")[0]) == json.loads(
        engine.check(json.dumps(document), "json")[0]
    )
    expected = browser.say("document.getElementById('hash').textContent")
    exec(compile(texts["python"], "copied.py", "exec"), {})
    assert capsys.readouterr().out.strip() == expected
    assert re.search(r"\ncwndlab run scenario\.toml --seed 1 --out records\n$", texts["command"])
    assert texts["toml"].strip() in texts["command"]


def test_toml_is_applied_and_its_faults_are_named(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    browser.say("(document.getElementById('edit-toml').open = true, 0)")
    browser.wait("document.getElementById('toml').value.includes('schema_version')")
    parking = (ROOT / "scenarios" / "parking-lot.toml").read_text(encoding="utf-8")
    for text, wanted in ((parking.replace("20 Mbps", "20 Mpbs", 1), "hops[0].rate"), (parking, "")):
        browser.say(
            f"(document.getElementById('toml').value = {json.dumps(text)},"
            " document.getElementById('apply-toml').click(), 0)"
        )
        browser.wait(
            f"document.getElementById('toml-faults').textContent.includes('{wanted}') &&"
            f" Boolean(document.getElementById('toml-faults').textContent) === {json.dumps(bool(wanted))}"
        )
    browser.wait("'parking_lot' in cwndlab.document")


def test_why_shows_the_event_that_debug_shows(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    browser.say(
        "(document.getElementById('why-time').value = '5', document.getElementById('explain').requestSubmit(), 0)"
    )
    browser.wait("document.querySelector('#why h3') !== null")
    look = browser.say(
        "cwndlab.engine.ask({ do: 'look', scenario: JSON.stringify(cwndlab.document), seed: 1, flow: 0, at_ns: 5e9 })"
    )
    document = json.dumps(browser.say("cwndlab.document"))
    native = json.loads(engine.debug(document, "json", 1, 0, 5_000_000_000, context=3))
    assert look["moment"] == native["moment"]
    assert look["transport"] == native["transport"]
    assert "section" in browser.say("document.getElementById('why').textContent").lower()


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)])
def test_the_page_fits_and_every_control_has_a_name(browser: Browser, dark: bool, width: int) -> None:
    browser.open(FOLDER / "index.html", dark=dark, width=width)
    assert browser.say("document.documentElement.scrollWidth") <= width
    nameless = browser.say(
        "[...document.querySelectorAll('input, select, button, textarea')].filter(one =>"
        " !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim()).map(one => one.outerHTML)"
    )
    assert nameless == []
    tree = browser.ask("Accessibility.getFullAXTree")["nodes"]
    roles = {"slider", "combobox", "textbox", "button", "checkbox", "image", "img"}
    unnamed = [
        node["role"]["value"]
        for node in tree
        if not node["ignored"] and node["role"]["value"] in roles and not node.get("name", {}).get("value")
    ]
    assert unnamed == []


def test_the_time_that_is_explained_moves_by_keys(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    browser.say("(document.querySelector('#plot-cwnd .plot').focus(), 0)")
    browser.press("Home", 36)
    for _ in range(3):
        browser.press("ArrowRight", 39)
    browser.wait("Number(document.getElementById('why-time').value) > 0")
    times = browser.say("cwndlab.plots.picture.panels[0].times.slice(0, 4)")
    assert float(browser.say("document.getElementById('why-time').value")) == pytest.approx(times[3], abs=1e-3)
    browser.wait("document.querySelector('#why h3') !== null")


def test_a_table_is_downloaded_with_all_digits(browser: Browser) -> None:
    browser.open(FOLDER / "index.html")
    text = browser.say(
        "cwndlab.engine.ask({ do: 'csv', scenario: JSON.stringify(cwndlab.document), seed: 1, table: 'samples' })"
        ".then(blob => blob.text())"
    )
    document = browser.say("cwndlab.document")
    native = cwndlab.run(cwndlab.Scenario.from_json(json.dumps(document)), seed=1).samples
    lines = text.split("\r\n")
    assert lines[0] == ",".join(native.columns)
    assert lines.pop() == ""
    for name in ("rtt_sum_ns", "ssthresh_bytes", "delivered_bytes"):
        column = [line.split(",")[native.columns.index(name)] for line in lines[1:]]
        assert column == ["" if value is None else str(value) for value in native[name].to_list()], name


def test_the_folder_loads_nothing_from_elsewhere() -> None:
    for file in FOLDER.glob("*"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"""(src|href)=["']?(https?:)?//|\bfetch\(|importScripts|@import|url\((?!["']?data:)""", text
        ), file


def test_the_folder_is_small_enough_for_a_slow_line() -> None:
    sizes = json.loads((FOLDER / "sizes.json").read_text(encoding="utf-8"))
    files = [one for one in FOLDER.glob("*") if one.name != "sizes.json"]
    whole = sum(len(gzip.compress(one.read_bytes(), 9)) for one in files)
    assert whole == pytest.approx(sizes["gzip"], rel=0.01)
    assert sizes["gzip_without_plots_library"] <= MOST_BYTES


def test_sliders_redraw_while_they_move(browser: Browser) -> None:
    """Each value of a slider is run and drawn; the last one is what stays."""
    browser.open(FOLDER / "index.html")
    before = browser.say("cwndlab.runs")
    for value in range(60, 160, 5):
        browser.say(
            f"(document.querySelector('#form input[type=range]').value = {value},"
            " document.querySelector('#form input[type=range]').dispatchEvent(new Event('input')), 0)"
        )
        time.sleep(0.1)
    expected = engine.run(json.dumps(browser.say("cwndlab.document")), "json", 1).hash()
    browser.wait(f"document.getElementById('hash').textContent === '{expected}'")
    assert browser.say("cwndlab.runs") - before >= 2


def test_every_workload_begins_with_a_valid_flow() -> None:
    """All but the broker, whose sources are flows to its node, and stacks in processes of their own."""
    choices = data()["choices"]["workload"]
    begins = {one["name"]: one["begins"] for one in choices}
    assert {name for name, one in begins.items() if one is None} == {"mqtt-subscription", "hosted"}
    over_udp = {name for name, one in begins.items() if one and one.get("transport") == "udp"}
    assert over_udp == {"adaptive-video", "cbr", "coap", "udp-request-response", "vbr"}
    assert begins["coap"]["workload"] == {"kind": "coap", "period": "1 s"}


def test_the_preset_of_the_tutorial_is_its_path() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert "<!-- playground: tutorial -->" in page
    blocks = re.findall(r"```toml\n(schema_version.*?)```", page, re.DOTALL)
    preset = next(one["document"] for one in data()["presets"] if one["id"] == "tutorial")
    documents = [json.loads(engine.check(block, "toml")[0]) for block in blocks]
    assert {name: value for name, value in preset.items() if name != "title"} in documents


def test_every_place_on_the_site_shows_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the tutorial, and one on the page of each algorithm with figures."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed (requirements/lock.txt)")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.delitem(sys.modules, "site_pages", raising=False)
    site_pages: Any = importlib.import_module("site_pages")
    shown = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        source = [page.read_text(encoding="utf-8")]
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        site_pages.show_playground(None, name, source)
        for one in re.findall(r"playground/index\.html#embed=1&amp;preset=([\w-]+)", source[0]):
            shown[name] = one
    assert shown.pop("tutorial") == "tutorial"
    assert set(shown.values()) <= {one["id"] for one in data()["presets"]}
    assert shown == {f"algorithms/{file.name.removesuffix('-window.svg')}": file.stem for file in PICTURES}


def test_a_frame_shows_the_run_without_what_it_does_not_need(browser: Browser) -> None:
    address = f"{(FOLDER / 'index.html').as_uri()}#embed=1&preset=cubic-window"
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=address)
    browser.wait("document.documentElement?.dataset.ready === 'yes'")
    assert browser.say("cwndlab.document.flow[0].algorithm") == "cubic"
    assert browser.say("getComputedStyle(document.getElementById('preset')).display") == "none"
    browser.wait("document.getElementById('whole').href.endsWith('#preset=cubic-window')")
