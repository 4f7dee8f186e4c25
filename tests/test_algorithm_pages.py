"""The pages of the algorithms: equations as mathematics, and what they offer to try."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import algorithm_pages
import algorithm_pictures
import cwndlab
import equations
import polars as pl
import pytest
from documented import parse

FOLDER = Path(__file__).parents[1] / "docs" / "algorithms"


def mathml(line: str) -> list[str]:
    """The formulas of a line, without the names of the elements' attributes."""
    found = re.findall(r"<math[^>]*>(.*?)</math>", equations.html(line))
    return [re.sub(r' (mathvariant|lspace|rspace|width|form)="[^"]*"', "", one) for one in found]


def test_a_slash_between_blanks_is_a_fraction_of_the_whole_product() -> None:
    assert mathml("w += α n / w") == [
        "<mi>w</mi><mo>+=</mo><mfrac><mrow><mi>α</mi><mspace></mspace><mi>n</mi></mrow><mrow><mi>w</mi></mrow></mfrac>"
    ]


def test_a_slash_without_blanks_stays_in_the_line() -> None:
    assert mathml("β = 1/2") == ["<mi>β</mi><mo>=</mo><mrow><mn>1</mn><mo>/</mo><mn>2</mn></mrow>"]


def test_subscripts_and_superscripts_are_set() -> None:
    assert mathml("(t − K)³ + W_max") == [
        "<msup><mrow><mo>(</mo><mi>t</mi><mo>−</mo><mi>K</mi><mo>)</mo></mrow><mrow><mn>3</mn></mrow></msup>"
        "<mo>+</mo><msub><mi>W</mi><mi>max</mi></msub>"
    ]


def test_names_of_the_code_keep_their_underscore() -> None:
    assert mathml("min_rtt = 3") == ["<mi>min_rtt</mi><mo>=</mo><mn>3</mn>"]


def test_a_number_at_the_end_of_a_line_is_the_label_and_what_follows_a_remark() -> None:
    shown = equations.html("each ack: w += n     (1)   as Reno")
    assert '<td class="number">(1)</td>' in shown
    assert 'class="note">as Reno' in shown
    assert "each ack:" in shown


@pytest.mark.parametrize("entry", cwndlab.algorithms(), ids=algorithm_pages.file_of)
def test_the_mathematics_of_every_header_is_well_formed(entry: cwndlab.Algorithm) -> None:
    """Nothing of the text is lost: the letters of the equations are those of the header."""
    text = equations.header(entry.kind, entry.name).equations
    shown = equations.html(text).replace("&emsp;", " ")
    letters = "".join(ET.fromstring(f"<body>{shown}</body>").itertext())
    assert set(re.findall(r"[A-Za-zα-ω]", text)) - set(letters) == set()


def test_no_two_flows_of_a_picture_have_one_name() -> None:
    share = (FOLDER / "cubic-share.svg").read_text(encoding="utf-8")
    assert "<!-- cubic, starts first -->" in share
    assert "<!-- cubic, starts 0.1 s later -->" in share


def test_the_states_of_a_run_are_those_of_its_events() -> None:
    """Reno with a queue of one bandwidth-delay product: slow start ends by a loss, then recoveries alternate."""
    entry = next(one for one in cwndlab.algorithms() if one.name == "reno" and one.kind == "growth")
    document = algorithm_pages.document(entry, "reno", None) | {"duration": "10 s"} | algorithm_pictures.NAMED
    records = cwndlab.run(cwndlab.Scenario.from_json(json.dumps(document)), seed=1)
    names = [state for _, state, _ in algorithm_pictures.states(records)]
    assert names[:3] == ["slow start", "fast recovery", "congestion avoidance"]
    assert set(names[1::2]) == {"fast recovery"}
    losses = records.events.filter((pl.col("kind") == "recovery") & (pl.col("flow") == 0)).height
    assert names.count("fast recovery") == losses


@pytest.mark.parametrize("name", ["cubic", "ccm-ss", "recovery-tahoe", "copa"])
def test_what_a_page_offers_to_try_runs(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(script.replace('"60 s"', '"2 s"'), name, "exec"), {})
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in commands.splitlines():
        parse(shlex.split(line)[1:])


def test_every_deployment_belongs_to_a_page() -> None:
    pages = {algorithm_pages.file_of(entry) for entry in cwndlab.algorithms()}
    assert algorithm_pages._deployments().keys() <= pages
