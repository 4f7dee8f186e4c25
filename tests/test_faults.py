"""Faults name parameters in Python, and options on the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.cli import faults
from cwndlab.cli.app import app
from cwndlab.errors import Fault, Parameter, ScenarioError, Usage, parameter_fault
from cwndlab.statistics import Until
from typer.main import get_command

Cli = Callable[..., tuple[int, str, str]]


def test_a_fault_of_a_parameter_is_python_in_python_and_an_option_on_the_command_line() -> None:
    names = parameter_fault("algorithms", "is empty", example=["cubic", "bbr1(gain=2, x=1)"])
    flag = Fault("emulate", "was late", Usage("accept_late", True, "use a quieter machine, or "))
    field = Fault("flow[0].rtt", "'50' has no unit", "write '50 ms'")
    assert str(ScenarioError(names, flag, field)) == (
        "algorithms: is empty\n  hint: write algorithms=['cubic', 'bbr1(gain=2, x=1)']\n"
        "emulate: was late\n  hint: use a quieter machine, or write accept_late=True\n"
        "flow[0].rtt: '50' has no unit\n  hint: write '50 ms'"
    )
    assert faults.text([names, flag, field]) == (
        "--algorithms: is empty\n  hint: write --algorithms 'cubic,bbr1(gain=2, x=1)'\n"
        "emulate: was late\n  hint: use a quieter machine, or write --accept-late\n"
        "flow[0].rtt: '50' has no unit\n  hint: write '50 ms'"
    )
    assert faults.text([Fault(Parameter("format"), "is none")], "report") == "--figures: is none"


def test_faults_survive_pickling() -> None:
    """Workers of a cluster send them."""
    fault = parameter_fault("at_most", "is too few", example=50)
    again = pickle.loads(pickle.dumps(ScenarioError(fault)))
    assert again.faults == (fault,)
    assert isinstance(again.faults[0].where, Parameter)
    assert faults.text(again.faults) == "--at-most: is too few\n  hint: write --at-most 50"


def test_the_same_fault_from_both_sides(cli: Cli) -> None:
    with pytest.raises(ScenarioError) as raised:
        Until.parse("goodput", ["goodput_bps"], at_most=1)
    assert str(raised.value) == (
        "until: 'goodput' is not a stopping rule\n  hint: write until='goodput_bps within 2 %'\n"
        "at_most: '1' repetitions have no interval\n  hint: write at_most=50"
    )
    status, _, err = cli("compare", "two-flows", "--algorithms", "reno", "--until", "goodput", "--at-most", "2")
    assert (status, err) == (
        2,
        "--until: 'goodput' is not a stopping rule\n  hint: write --until 'goodput_bps within 2 %'\n",
    )


#: Command lines with a fault that a function of the package tells by the name of its parameter.
FAULTY = [
    ("compare", "two-flows", "--algorithms", "reno", "--until", "goodput"),
    ("compare", "two-flows", "--algorithms", "reno", "--metrics", "speed"),
    ("compare", "two-flows", "--algorithms", "reno", "--warm-up", "soon"),
    ("matrix", "--seed", 2**64 - 1),
    ("matrix", "--algorithms", ","),
    ("reproduce", "cubic-study/fig1", "--quick", "--seed", 2**64 - 1),
    ("reproduce", "cubic-study", "--quick", "--multiverse", "--seed", 2**64 - 1),
    ("trace", "make", "nope"),
    ("attack", "reno", "--trials", 0),
    ("host", "quinn", "--check", "--repeat", 9),
    ("run", "two-flows", "--threads", 0),
]


def options_of(words: Sequence[object]) -> set[str]:
    """The options and arguments of the command that the first words name."""
    command: Any = get_command(app)
    for word in words:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    named = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
    return named | {one.make_metavar(command.make_context(None, [], resilient_parsing=True)) for one in command.params}


@pytest.mark.parametrize("words", FAULTY, ids=lambda words: " ".join(map(str, words)))
def test_a_fault_names_an_option_or_argument_of_its_command(cli: Cli, words: Sequence[object]) -> None:
    status, _, err = cli(*words)
    assert status == 2
    assert err.partition(":")[0] in options_of(words)


def test_every_option_with_another_name_exists() -> None:
    """Commands that share a table of names need not have all of its options."""
    known = {one for command in faults._OPTIONS for one in options_of([command]) | options_of([command, "make"])}
    assert [one for names in faults._OPTIONS.values() for one in names.values() if one not in known] == []


def test_an_unknown_paper_is_no_fault_of_an_option(cli: Cli, tmp_path: Path) -> None:
    """Whatever option reads the universes of a paper, its name is an argument."""
    folders = ("--results", tmp_path / "results", "--out", tmp_path / "out")
    for option in (("--joint",), ("--multiverse",), ("--kept", *folders)):
        assert cli("reproduce", "nope", *option)[2].startswith("reproduce: no ")


def test_an_unknown_figure_names_its_parameter(scenario: cwndlab.Scenario) -> None:
    with pytest.raises(ScenarioError) as raised:
        cwndlab.run(scenario, seed=1).plot("speed")
    assert raised.value.faults[0].where == "kind"
    assert faults.text(raised.value.faults).startswith("--kind: no figure is called 'speed'")
