"""Faults name parameters in Python, and options on the command line."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import cwndlab
import pytest
from cwndlab.cli import faults
from cwndlab.errors import Fault, Parameter, ScenarioError, Usage, parameter_fault
from cwndlab.statistics import Until

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


def test_an_unknown_figure_names_its_parameter(scenario: cwndlab.Scenario) -> None:
    with pytest.raises(ScenarioError) as raised:
        cwndlab.run(scenario, seed=1).plot("speed")
    assert raised.value.faults[0].where == "kind"
    assert faults.text(raised.value.faults).startswith("--kind: no figure is called 'speed'")
