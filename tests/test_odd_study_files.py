"""Files of sweeps and tunings with odd values: each gets an answer at once, never a traceback."""

from __future__ import annotations

import copy
import datetime
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import pytest
from cwndlab.errors import Error, ScenarioError
from cwndlab.scenario.document import toml_value
from cwndlab.study import sweeps, tuning
from cwndlab.study.sweeps import Sweep
from cwndlab.study.sweeps.spec import MOST_CELLS, MOST_RUNS
from cwndlab.study.tuning.expression import Expression
from cwndlab.study.tuning.spec import Range, Tuning
from hypothesis import given, settings
from hypothesis import strategies as st

Called = tuple[int, str, str]

SCENARIO: dict[str, Any] = {
    "schema_version": 1,
    "duration": "100 ms",
    "dumbbell": {"bottleneck": {"rate": "10 Mbps", "delay": "5 ms"}},
    "flow": [{"algorithm": "scalable", "rtt": "20 ms"}, {"algorithm": "reno", "rtt": "40 ms"}],
}
SWEEP: dict[str, Any] = SCENARIO | {
    "sweep": {
        "title": "a sweep",
        "set": {"duration": "200 ms"},
        "algorithms": ["cubic", "reno"],
        "product": {"dumbbell.bottleneck.rate": ["5 Mbps", "10 Mbps"]},
        "zip": [{"@pair": ["near", "far"], "flow[*].rtt": ["20 ms", "40 ms"]}],
        "seeds": 2,
        "until": "goodput_bps within 2 %",
        "at_most": 9,
        "metrics": ["p95_queue_ms"],
        "start_s": 0.05,
        "end_s": 0.1,
    }
}
TUNE: dict[str, Any] = SCENARIO | {
    "tune": {
        "algorithm": "scalable",
        "fields": ["flow[0].algorithm"],
        "title": "a tuning",
        "maximise": "goodput_bps / 1e6 - 10 * loss_ratio",
        "constraints": ["timeouts <= 1"],
        "scale": "absolute",
        "trials": 2,
        "seed": 1,
        "parameters": {"a": {"low": 0.01, "high": 0.5, "log": True}, "scalable.b": {"values": [0.1, 0.125]}},
        "published": {"a": 0.01},
        "train": {"seeds": 2},
        "test": {"seeds": [3], "product": {"flow[0].rtt": ["20 ms"]}},
    }
}

#: A nested list, deeper than a recursive reader manages.
DEEP: list[Any] = []
for _ in range(150):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, -1, 0, 1, 2, 0.5, -0.0, 1e308, 2**53 + 1, 2**63, 10**30, 10**400, True, False),
    *("", " ", "x", "1", "20 ms", "-1 s", "nan", "cubic", "goodput_bps", "a < b", "flow[*].rtt", "\U0001f600", "\x7f"),
    *("two-flows", "a" * 5000, "a/../b", "\x00", "(" * 300, "1" + "+1" * 600, "reno(a=1)", "flow[0]]", "5 <= 6 <= 7"),
    *(datetime.date(2026, 1, 2), datetime.time(1, 2), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
    *([], [[]], [0], [-1], ["x"], [True], [math.nan], [1, "x"], [{}], DEEP, {}, {"": 1}, {"a": {"b": []}}),
    *(
        {"x": ["y"]},
        {"low": "x"},
        {"values": []},
        {"low": math.nan, "high": 1},
        {"flow[*]": [1]},
        [{"x": [1], "y": []}],
    ),
    *(
        {"flow[*].x[*]": ["a"]},
        {"flow[0]].rtt": ["1 ms"]},
        {"@x": [10**400]},
        {"@x": [{"a b": "c"}]},
        {"flow": [[1, 2]]},
    ),
)
NAMES = ("", "x", "flow[*].rtt", "flow[0]]", "@x", "a", "b", "low", "values", "base", "seeds", "train", "\U0001f600")


def toml(value: Any) -> str:
    """A value in TOML, of the kinds that a file can hold and a scenario cannot, too."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case str():
            return toml_value(value)
        case bool() | int():
            return str(value).lower()
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
    raise TypeError(type(value))


def written(document: dict[str, Any], folder: Path) -> Path:
    path = folder / "odd.toml"
    text = "\n".join(f"{json.dumps(key, ensure_ascii=False)} = {toml(value)}" for key, value in document.items())
    path.write_text(text, encoding="utf-8")
    return path


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every table or list of a document with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@st.composite
def odd_documents(draw: st.DrawFn, document: dict[str, Any], table: str) -> dict[str, Any]:
    """The document with up to three odd values, names or omissions, mostly within its table."""
    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        within = made[table] if isinstance(made.get(table), dict | list) and draw(st.integers(0, 5)) else made
        there = list(places(within))
        if not there:
            break
        holder, key = draw(st.sampled_from(there))
        how = draw(st.sampled_from(["value", "value", "value", "name", "omit"]))
        if how == "value":
            holder[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif how == "name" and isinstance(holder, dict):
            holder[draw(st.sampled_from(NAMES))] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif how == "omit":
            del holder[key]
    return made


def answered(read: Callable[[], object]) -> None:
    """It reads it, or says in words where the fault is and what it is."""
    try:
        read()
    except Error as error:
        for fault in error.faults:
            assert fault.what
            assert len(str(fault)) < 12_000
            assert "Error" not in fault.what.split(":")[0]


@settings(max_examples=100)
@given(odd_documents(SWEEP, "sweep"))
def test_an_odd_sweep_is_read_or_answered_in_words(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(document, Path(folder))
        answered(lambda: sweeps.read(path).study().table())


@settings(max_examples=100)
@given(odd_documents(TUNE, "tune"))
def test_an_odd_tuning_is_read_or_answered_in_words(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(document, Path(folder))
        answered(lambda: tuning.load(path).digest)


@given(st.text("goputbsl_123.e+-*/()<>= ,minaxlogtherwis", max_size=40))
def test_an_odd_expression_is_read_or_answered_in_words(text: str) -> None:
    answered(lambda: Expression.parse(text, "here", ["goodput_bps", "loss_ratio"]))


def changed(document: dict[str, Any], table: str, folder: Path, **fields: Any) -> Path:
    return written(document | {table: {**document[table], **fields}}, folder)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"metrics": [5]}, "sweep.metrics[0]: '5' is not a string"),
        ({"algorithms": [5]}, "sweep.algorithms[0]: '5' is not a string"),
        ({"start_s": math.nan}, "sweep.start_s: 'nan' is not a time"),
        ({"end_s": math.inf}, "sweep.end_s: 'inf' is not a time"),
        ({"start_s": 0.1, "end_s": 0.1}, "sweep.end_s: the interval from 0.1 to 0.1 s is empty"),
        ({"seeds": 10**9, "at_most": 10**9}, "8,000,000,000 runs would not end, at most 10,000,000 are possible"),
        ({"seeds": 10**30}, "is less than the 1000000000000000000000000000000 seeds"),
        ({"seeds": [2**63]}, "sweep.seeds: '9223372036854775808' is not a seed"),
        ({"product": {"@x": [datetime.date(2026, 1, 2)]}}, "'2026-01-02' is a date or a time of day"),
        ({"product": {"@x": [10**30]}}, "is a number beyond 64 bits"),
        ({"product": {"@x": [DEEP]}}, "tables or lists are nested more than 100 levels deep"),
        ({"set": {"title": datetime.time(1, 2)}}, "'01:02:00' is a date or a time of day"),
    ],
)
def test_an_odd_field_of_a_sweep_is_named(
    tmp_path: Path, cli: Callable[..., Called], fields: dict[str, Any], fault: str
) -> None:
    file = changed(SWEEP, "sweep", tmp_path, **fields)
    for options in ((), ("--dry-run",)):
        status, out, err = cli("sweep", file, "--out", tmp_path / "out", *options)
        assert (status, out) == (2, "")
        assert fault in err


def test_a_sweep_of_a_million_million_cells_is_answered_at_once(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """12 axes of 10 values are 10¹² cells; 40 of them are more than a machine word counts."""
    for axes in (12, 40):
        product = {f"@{n}": list(range(10)) for n in range(axes)}
        file = changed(SWEEP, "sweep", tmp_path, product=product)
        for options in ((), ("--dry-run",)):
            status, _, err = cli("sweep", file, "--out", tmp_path / "out", *options)
            assert status == 2
            # Two algorithms and two pairs in the file.
            assert f"sweep: there are {4 * 10**axes:,} cells, at most {MOST_CELLS:,} are possible" in err
        assert not (tmp_path / "out").exists()


def test_many_seeds_are_counted_without_a_list_of_them(tmp_path: Path, cli: Callable[..., Called]) -> None:
    document = SCENARIO | {"sweep": {"seeds": MOST_RUNS}}
    status, out, err = cli("sweep", written(document, tmp_path), "--dry-run", "--out", tmp_path / "out")
    assert status == 0, err
    assert f"{MOST_RUNS:,}" in out
    document["sweep"]["seeds"] = MOST_RUNS + 1
    status, _, err = cli("sweep", written(document, tmp_path), "--dry-run", "--out", tmp_path / "out")
    assert status == 2
    assert "sweep.seeds: 10,000,001 runs would not end" in err


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"seed": -1}, "tune.seed: '-1' is not a whole number from 0 to 2⁶³ − 1"),
        ({"trials": True}, "tune.trials: is of another kind"),
        ({"fields": []}, "tune.fields: there is no field for the algorithm"),
        ({"constraints": [5]}, "tune.constraints[0]: '5' is not a string"),
        ({"parameters": {"a": {"values": []}}}, 'tune.parameters."a".values: there is no value to try'),
        ({"parameters": {"a": {"values": ["x"]}}}, "tune.parameters.\"a\".values: 'x' is not a number"),
        ({"parameters": {"a": {"values": 5}}}, "tune.parameters.\"a\".values: '5' is not a list of values"),
        ({"parameters": {"a": {"values": [0.1, 7]}}}, 'tune.parameters."a".values: 7 is not within '),
        ({"parameters": {"a": {"values": [0.1], "low": 0.1}}}, "has both values and a range"),
        ({"parameters": {"a": {"low": "x"}}}, "from 'x' to "),
        ({"parameters": {"a": {"low": math.nan}}}, "from 'nan' to "),
        ({"parameters": {"a": {"log": 1}}}, "'1' is neither true nor false"),
        ({"parameters": {"a": {}, "scalable.a": {}}}, "is the same parameter as 'a'"),
        ({"published": {"a": 7}}, 'tune.published."a": 7 is not within '),
        ({"published": {"a": [1]}}, "tune.published.\"a\": '[1]' is not a number"),
        ({"maximise": "1" + "+1" * 5000}, "has more than 150 nested operations"),
        ({"maximise": "(" * 5000}, "is not an expression"),
        ({"train": {"seeds": 0}}, "tune.train.seeds: there is no seed, so nothing runs"),
        ({"test": {"metrics": [5], "seeds": 1}}, "tune.test.metrics[0]: '5' is not a string"),
    ],
)
def test_an_odd_field_of_a_tuning_is_named(
    tmp_path: Path, cli: Callable[..., Called], fields: dict[str, Any], fault: str
) -> None:
    fields = {"published": {}} | fields
    status, out, err = cli("tune", changed(TUNE, "tune", tmp_path, **fields), "--out", tmp_path / "out")
    assert (status, out) == (2, "")
    assert fault in err
    assert not (tmp_path / "out").exists()


def test_a_large_seed_and_a_default_outside_of_the_values_are_searched(tmp_path: Path) -> None:
    """NumPy's generators have seeds of 32 bits; the default of `b`, 0.125, is none of the values."""
    parameters = {"b": {"values": [0.3, 0.5, 0.5]}}
    file = changed(TUNE, "tune", tmp_path, seed=2**62, parameters=parameters, published={}, trials=3)
    result = tuning.tune(tuning.load(file), out=tmp_path / "out", workers=1)
    assert {row["scalable.b"] for row in result.trials} <= {0.3, 0.5}
    assert result.best["scalable.b"] in (0.3, 0.5)


def test_a_document_that_is_nested_too_deeply_is_bad_input(tmp_path: Path, cli: Callable[..., Called]) -> None:
    file = tmp_path / "deep.toml"
    for text in ("v = " + "[" * 5_000 + "]" * 5_000, "sweep" + ".a" * 5_000 + " = 1"):
        file.write_text(text)
        for command in ("sweep", "tune"):
            status, _, err = cli(command, file)
            assert status == 2
            assert "tables or lists are nested more than 100 levels deep" in err
    file.write_text("v = 1" + "0" * 5000)
    status, _, err = cli("sweep", file)
    assert (status, "is not TOML" in err) == (2, True)


def test_odd_arguments_of_a_sweep_in_python_are_answered_in_words() -> None:
    base: Any = cwndlab.presets.load("single").with_(duration="1 s")

    def fault(**arguments: Any) -> str:
        with pytest.raises(ScenarioError) as error:
            Sweep(**{"base": base, "seeds": [1], **arguments})
        return str(error.value)

    assert "base: a value of type int is not a scenario" in fault(base=2)
    assert "sweep.seeds: '0.5' is not a list of seeds\n  hint: write seeds = 10, or [1, 2, 3]" in fault(seeds=0.5)
    assert "is not a list of values" in fault(product={"flow[0].rtt": "20 ms"})
    assert "sweep.product: '5' is not a table of values by field" in fault(product=5)
    assert "sweep.algorithms: 'cubic' is not a list of strings" in fault(algorithms="cubic")
    assert "a value of type object has no form in TOML" in fault(product={"@x": [object()]})
    arrays: Any = (np.arange(3), np.array([1, 2]))
    spec = Sweep(base=base, seeds=arrays[0], product={"flow[0].count": arrays[1]})
    assert (spec.seeds, [point.labels["flow[0].count"] for point in spec.points()]) == ((0, 1, 2), [1, 2])


def test_odd_arguments_of_a_tuning_in_python_are_answered_in_words() -> None:
    base = cwndlab.presets.load("single").with_(duration="1 s")
    side = Sweep(base=base, seeds=[1])

    def fault(**arguments: Any) -> str:
        good: dict[str, Any] = {
            "algorithm": "scalable",
            "objective": "goodput_bps",
            "parameters": {"b": {}},
            "train": side,
            "test": side,
        }
        with pytest.raises(ScenarioError) as error:
            Tuning(**(good | arguments))
        return str(error.value)

    assert "tune.train: is not a sweep" in fault(train=base)
    assert "tune.parameters: '3' is not a table" in fault(parameters=3)
    assert "tune.goal: 'more' is not a goal" in fault(goal="more")
    assert "is not a table" in fault(parameters={"b": 3})
    assert "from 0.9 to 0.1 is not a range" in fault(parameters={"b": Range(0.9, 0.1)})


def test_a_keep_alive_time_of_a_microsecond_is_refused(tmp_path: Path) -> None:
    """MQTT 3.1.1, section 3.1.2.10: the keep-alive time is a whole number of seconds, 0 disables it."""
    workload = {"kind": "mqtt", "payload": "100 B", "period": "10 s", "keep_alive": "1 us"}
    base = cwndlab.presets.load("single").with_(duration="1 s")
    with pytest.raises(ScenarioError, match=r"flow\[0\].workload.keep_alive: is shorter than 1 ms"):
        base.with_({"flow[0].workload": workload})
    for valid in ("1 ms", "0 s"):
        base.with_({"flow[0].workload": workload | {"keep_alive": valid}})
    with pytest.raises(ScenarioError, match="transfers are expected"):
        base.with_({"duration": "60 s", "flow[0].workload": workload | {"period": "1 us", "keep_alive": "0 s"}})


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=2))
def test_a_text_in_toml_reads_back_the_same(text: str, table: dict[str, str]) -> None:
    import tomllib

    assert tomllib.loads(f"v = {toml_value(text)}") == {"v": text}
    assert tomllib.loads(f"v = {toml_value(table)}") == {"v": table}
