"""A function `measure=` of a sweep: what changes it makes no kept row pass for its own, and what it may return."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.custom import fingerprint
from cwndlab.errors import ArgumentError, ScenarioError
from cwndlab.study.sources import source
from cwndlab.study.spec import Measure
from cwndlab.study.store import Store
from cwndlab.study.sweeps import sweep
from small_sweeps import small_sweep

Reducer = Callable[[cwndlab.Records], dict[str, float]]


def closed_over(value: float) -> Reducer:
    return lambda _records: {"x": float(value)}


def by_default(value: float) -> Reducer:
    def measure(_records: cwndlab.Records, value: float = value) -> dict[str, float]:
        return {"x": float(value)}

    return measure


def by_keyword(value: float) -> Reducer:
    def measure(_records: cwndlab.Records, *, value: float = value) -> dict[str, float]:
        return {"x": float(value)}

    return measure


def through_another(value: float) -> Reducer:
    inner = closed_over(value)
    return lambda records: inner(records)


class Constant:
    """A callable object."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, _records: cwndlab.Records) -> dict[str, float]:
        return {"x": float(self.value)}

    def measure(self, records: cwndlab.Records) -> dict[str, float]:
        return self(records)


def of_a_partial(value: float) -> Reducer:
    return partial(lambda value, _records: {"x": float(value)}, value)


@pytest.mark.parametrize(
    "make",
    [
        closed_over,
        by_default,
        by_keyword,
        through_another,
        Constant,
        of_a_partial,
        lambda value: Constant(value).measure,
    ],
)
def test_a_changed_measure_takes_no_row_of_the_one_before(make: Callable[[float], Reducer], tmp_path: Path) -> None:
    def measured(value: float) -> tuple[int, set[float]]:
        result = sweep(small_sweep(product={}, measure=make(value)), out=tmp_path / "out")
        return result.outcome.ran, set(result.runs["x"])

    # Three seeds: each value runs once, and finds its own rows after that.
    assert [measured(value) for value in (1, 2, 1)] == [(3, {1.0}), (3, {2.0}), (0, {1.0})]


PROGRAM = """
import sys, cwndlab
sys.path.insert(0, {tests!r})
from small_sweeps import small_sweep
LIMIT = {limit}
def scaled(number): return {factor} * number
class Named:
    def __call__(self, records): return {{"x": float(scaled(LIMIT))}}
result = cwndlab.sweep(small_sweep(product={{}}, measure={measure}), out={out!r})
print(result.outcome.ran, result.runs["x"][0])
"""


def printed(folder: Path, measure: str, *, limit: int = 5, factor: int = 1, seed: int = 0) -> str:
    """How many runs the program made, and a value; ``seed`` is that of Python's hashes of texts."""
    text = PROGRAM.format(
        tests=str(Path(__file__).parent), limit=limit, factor=factor, measure=measure, out=str(folder / "out")
    )
    variables = os.environ | {"PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-"], input=text, capture_output=True, text=True, check=False, timeout=120, env=variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("measure", ['lambda records: {"x": float(scaled(LIMIT))}', "Named()"])
def test_the_globals_of_a_program_are_part_of_its_measure(measure: str, tmp_path: Path) -> None:
    """From standard input, where functions have no source."""
    asked = [(5, 1), (5, 1), (6, 1), (6, 2)]
    found = [printed(tmp_path, measure, limit=limit, factor=factor) for limit, factor in asked]
    assert found == ["3 5.0", "0 5.0", "3 6.0", "3 12.0"]


def test_the_constants_of_a_program_have_one_order(tmp_path: Path) -> None:
    """A set of texts has another order with another PYTHONHASHSEED, and its rows are found again."""
    names = "{" + ", ".join(f"'flow{number}'" for number in range(9)) + "}"
    measure = f'lambda records: {{"x": float(records.flows["name"][0] in {names})}}'
    assert [printed(tmp_path, measure, seed=seed) for seed in (1, 2)] == ["3 1.0", "0 1.0"]


def test_sets_within_constants_are_sorted() -> None:
    """Other constants are as ``repr`` has them."""
    constants = (("a",), ((frozenset({"c", "b", "a"}), 1.5),), frozenset({(2, "x"), (1, "x")}), ())
    code = compile("1", "", "eval").replace(co_consts=constants)
    assert fingerprint(code).splitlines()[1:] == [
        "('a',)",
        "((frozenset({'a', 'b', 'c'}), 1.5),)",
        "frozenset({(1, 'x'), (2, 'x')})",
        "()",
    ]


def test_what_cannot_be_described_is_never_the_same() -> None:
    lock = threading.Lock()

    def measure(_records: cwndlab.Records) -> dict[str, float]:
        with lock:
            return {"x": 1.0}

    assert source(measure) != source(measure)


def test_functions_that_use_each_other_have_an_end() -> None:
    def first(count: int) -> int:
        return second(count - 1) if count else 0

    def second(count: int) -> int:
        return first(count)

    assert source(first) == source(first) != source(second)


def test_the_cut_of_the_warm_up_is_part_of_a_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cut is of `statistics.warmup`, which the digest of the metrics leaves out."""
    known, plain = Measure(warm_up="mser").digest, Measure().digest
    monkeypatch.setattr("cwndlab.study.spec.mser", lambda values: None)
    assert Measure(warm_up="mser").digest != known
    assert Measure().digest == plain


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ({"key": 1.0}, "measure: 'key' is a column of every row"),
        ({"goodput_bps": 1.0}, "measure: 'goodput_bps' is a metric"),
        ({"p95_queue_ms": 1.0}, "measure: 'p95_queue_ms' is a metric"),
        ({"flow[0].rtt": 1.0}, "measure: 'flow[0].rtt' is a label"),
        ({1: 1.0}, "measure: 1 is not a name"),
        ({"x": "much"}, "measure: 'x' is not a number"),
        ([1.0], "measure: a value of type list is not a mapping from names to numbers"),
    ],
)
def test_a_measure_that_returns_something_else_is_told(returned: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        sweep(small_sweep(measure=lambda _records: returned))
    assert str(error.value).splitlines()[0] == said


@pytest.mark.parametrize("ended", ["_low", "_high", "_n"])
def test_a_column_is_none_of_an_interval(ended: str) -> None:
    for name in ("goodput_bps", "mine"):
        with pytest.raises(ArgumentError, match=f"^measure: '{name}{ended}' is a column of the table of means"):
            sweep(small_sweep(measure=lambda _records, name=name: {"mine": 1.0, f"{name}{ended}": 1.0}))
    # Without a column of that name there is no interval.
    assert f"other{ended}" in sweep(small_sweep(measure=lambda _records: {f"other{ended}": 1.0})).runs.columns


FAILING = """
import cwndlab
def mine(records):
    return {"x": 1 / (records.seed - 2)}
base = cwndlab.presets.load("single").with_(duration="300 ms")
sweep = cwndlab.Sweep(base=base, seeds=[1, 2], product={"flow[0].rtt": ["10 ms", "20 ms"]}, measure=mine)
"""


def test_a_measure_that_fails_is_named_with_its_run(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    """By hand: the second seed divides by zero."""
    (tmp_path / "mine.py").write_text(FAILING)
    out = tmp_path / "out"
    status, printed, said = cli("sweep", tmp_path / "mine.py", "--out", out, "--workers", 1)
    *trace, last = said.splitlines()
    assert (status, printed) == (1, "")
    assert last == "cell 0, seed 2: measure: the function failed with ZeroDivisionError: division by zero"
    assert [line for line in trace if line.startswith("  File")] == [f'  File "{tmp_path}/mine.py", line 4, in mine']
    assert len(Store(out).keys()) == 2


def test_a_measure_is_a_function() -> None:
    with pytest.raises(ScenarioError, match=r"^sweep.measure: '5' is not a function"):
        small_sweep(measure=5)
