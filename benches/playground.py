"""The playground in Chromium: sizes, the first picture, runs and sliders. ``python benches/playground.py``.

Takes build/playground (`make playground`). The page is opened from the disk, without a server. Prints Markdown.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

from browser import Browser, chromium  # noqa: E402 (a module of the tests)
from playground_data import document  # noqa: E402 (a module of tools/)
from targets import cell  # noqa: E402 (a module of this folder)

PAGE = ROOT / "build" / "playground" / "index.html"
#: Runs of each kind; the median is printed.
RUNS, LONG_RUNS = 21, 5
#: Time for which the slider moves, s.
MOVES_S = 5
TWO_FLOWS = {
    "schema_version": 1,
    "duration": "60 s",
    "dumbbell": {"bottleneck": {"rate": "20 Mbps", "delay": "10 ms"}},
    "flow": [{"algorithm": "cubic", "rtt": "40 ms"}, {"algorithm": "reno", "rtt": "40 ms"}],
}


def timed(browser: Browser, scenario: dict[str, Any], runs: int) -> tuple[float, float, float]:
    """Medians of a scenario's time in the engine and as the page sees it, ms, and its packets per second."""
    script = """(async () => {
        const found = [];
        for (let seed = 1; seed <= %d; seed += 1) {
            const begin = performance.now();
            const run = await cwndlab.engine.ask({ do: 'run', scenario: %s, seed });
            found.push([run.engine_ms, performance.now() - begin, run.packets / run.engine_ms * 1000]);
        }
        return found;
    })()"""
    rows = browser.say(script % (runs, json.dumps(json.dumps(scenario))))
    engine_ms, page_ms, packets = (statistics.median(column) for column in zip(*rows, strict=True))
    return engine_ms, page_ms, packets


def frames(browser: Browser) -> float:
    """Pictures per second while a slider moves with every frame of the browser."""
    script = """(async () => {
        cwndlab.load({ document: %s, seed: 1 });
        const slider = document.querySelector('#form input[type=range]');
        const [before, begin] = [cwndlab.runs, performance.now()];
        for (let frame = 0; performance.now() - begin < %d; frame += 1) {
            slider.value = 90 + frame %% 20;
            slider.dispatchEvent(new Event('input'));
            await new Promise(requestAnimationFrame);
        }
        return (cwndlab.runs - before) / (performance.now() - begin) * 1000;
    })()"""
    found: float = browser.say(script % (json.dumps(TWO_FLOWS), MOVES_S * 1000))
    return found


def rows(browser: Browser) -> Iterator[tuple[str, str, str]]:
    """What is measured, the figure, the target."""
    sizes = json.loads(PAGE.with_name("sizes.json").read_text(encoding="utf-8"))
    yield (
        "all files, gzipped, without the plots' library, kB",
        f"{sizes['gzip_without_plots_library'] / 1e3:.0f}",
        "≤ 600",
    )
    yield "the engine as WebAssembly, kB", f"{sizes['engine_bytes'] / 1e3:.0f}", ""
    yield "the same, gzipped, kB", f"{sizes['engine_gzip'] / 1e3:.0f}", ""
    by_name = {one["name"]: one for one in sizes["files"]}
    yield "the same, within a script (base64), kB", f"{by_name['engine.js']['bytes'] / 1e3:.0f}", ""
    yield "this script, gzipped once more, kB", f"{by_name['engine.js']['gzip'] / 1e3:.0f}", ""
    firsts = []
    for _ in range(LONG_RUNS):
        browser.ask("Page.navigate", url="about:blank")
        browser.open(PAGE)
        firsts.append(browser.say("Number(document.documentElement.dataset.first)"))
    yield "first picture after navigation, s", f"{statistics.median(firsts) / 1e3:.2f}", "< 1"
    engine_ms, page_ms, _ = timed(browser, TWO_FLOWS, RUNS)
    yield "60 s of two flows at 20 Mbit/s, in the engine, ms", f"{engine_ms:.0f}", "< 60"
    yield "the same, until the page has it, ms", f"{page_ms:.0f}", ""
    file = ROOT / "scenarios" / "s1.toml"
    _, _, packets = timed(browser, document(file.read_text(encoding="utf-8"), "toml"), LONG_RUNS)
    yield "packets per second in the worker, S1, million", f"{packets / 1e6:.2f}", "≥ 2.5"
    yield "pictures per second while a slider moves", f"{frames(browser):.0f}", "≥ 10"


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder)) as browser:
        browser.open(PAGE)
        found = list(rows(browser))
    print("| the playground in Chromium | measured | target |\n|---|---:|---:|")  # noqa: T201
    for row in found:
        title, figure, target = row
        print(f"| {title} | {figure} | {cell(target, float(figure))} |")  # noqa: T201


if __name__ == "__main__":
    main()
