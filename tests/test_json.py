"""JSON of every command and file: RFC 8259, which has neither NaN nor infinity."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.files import csv_cell, json_text
from cwndlab.study.journal import entries, entry
from cwndlab.study.spec import Measure
from hypothesis import given, settings
from hypothesis import strategies as st

Called = tuple[int, str, str]
PACKAGE = Path(cwndlab.__file__).parent
#: Modules that hand a scenario to the engine and write neither a file nor to a terminal.
TO_THE_ENGINE = ("custom.py", "gym/paths.py", "kernel.py", "scenario/", "simulate.py")


def strict(text: str | bytes) -> Any:
    """JSON as any reader takes it."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
values = st.recursive(leaves, lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=2), some))


@given(values)
@settings(max_examples=100)
def test_any_value_is_json_and_the_finite_ones_are_themselves(value: Any) -> None:
    read = strict(json_text(value))

    def same(one: Any, other: Any) -> bool:
        if isinstance(one, float):
            return other == one if math.isfinite(one) else other is None
        if isinstance(one, list):
            return all(map(same, one, other)) and len(one) == len(other)
        if isinstance(one, dict):
            return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
        return bool(one == other)

    assert same(value, read)
    assert strict(json_text((value,), indent=1, ensure_ascii=False)) == [read]


def test_all_json_of_the_package_goes_through_one_function() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bjson\.dumps?\(", path.read_text(encoding="utf-8"))
    }
    assert {name for name in found if not name.startswith(TO_THE_ENGINE)} == {"files.py"}


def test_a_value_that_is_not_finite_is_none_in_memory_and_in_the_journal(scenario: cwndlab.Scenario) -> None:
    records = cwndlab.run(scenario, seed=1)
    row = Measure(None, columns=lambda _: {"nan": math.nan, "large": math.inf, "one": 1.0})(records)
    assert (row["nan"], row["large"], row["one"]) == (None, None, 1.0)
    assert [*entries(entry(row))] == [row]


def test_a_comparison_of_short_flows_is_json_and_has_a_page(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """A flow of arrivals has no window: its aggressiveness is not a number."""
    arguments = ["compare", "short-flows", "--algorithms", "cubic,reno", "--repetitions", 2, "--set", "duration=8 s"]
    size = '{ kind = "pareto", shape = 1.2, min = "5 kB", max = "1 MB" }'
    arguments += ["--set", f'flow[0].workload={{ kind = "arrivals", load = 0.2, size = {size} }}']
    status, printed, said = cli(*arguments, "--format", "json", "--out", tmp_path / "out")
    assert status == 0, said
    assert strict(printed) == strict((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert all(row["aggressiveness_segments"] is None for row in strict(printed)["rows"])
    page = tmp_path / "page.html"
    status, printed, said = cli(*arguments, "--metrics", "aggressiveness_segments,goodput_bps", "--report", page)
    assert (status, "nan" in printed.lower()) == (0, False), said
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert data is not None
    strict(data[1])


@pytest.mark.parametrize("value", [0.1 + 0.2, 93_123_456.789_012_3, 1 / 3, -2 / 3e9, 1e300])
def test_numbers_in_csv_have_nine_significant_digits(value: float) -> None:
    text = str(csv_cell(value))
    assert float(text) == pytest.approx(value, rel=1e-9)
    assert len(re.sub(r"e.*|[-.]|^0\.0*", "", text).lstrip("0")) <= 9
