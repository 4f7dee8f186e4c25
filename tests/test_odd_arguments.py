"""Common mistakes in calls of the package: what is wrong and what would do, in place of an error of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cwndlab
import pytest
from cwndlab import ScenarioError

TWO: Any = cwndlab.presets.load("two-flows")
NAME: Any = "two-flows"
THREE: Any = 3
HALF: Any = 0.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: cwndlab.compare("two-flow", ["cubic"]), "did you mean 'two-flows'?"),
        (lambda: cwndlab.sweep(THREE), "scenario: a value of type int is not a scenario\n  hint: write the name of a"),
        (lambda: cwndlab.run("nowhere.toml", seed=1), "nowhere.toml: there is no such file"),
        (lambda: cwndlab.run({"flow": []}, seed=1), "duration: "),
        (
            lambda: cwndlab.compare(TWO, "cubic(beta=0.7),reno"),
            "algorithms: 'cubic(beta=0.7),reno' is one text\n  hint: write algorithms=['cubic(beta=0.7)', 'reno']",
        ),
        (lambda: cwndlab.sweep(TWO, algorithms="cubic,reno"), "write algorithms=['cubic', 'reno']"),
        (lambda: cwndlab.sweep(TWO, seeds=HALF), "sweep.seeds: '0.5' is not a list of seeds\n  hint: write seeds = 10"),
        (lambda: cwndlab.run(TWO, seed=HALF), "seed: '0.5' is not a whole number from 0 to 2⁶⁴ − 1"),
        (lambda: cwndlab.run(TWO, seed=-1), "seed: '-1' is not a whole number from 0 to 2⁶⁴ − 1\n  hint: write seed=1"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=[-1]), "seeds: '-1' is not a whole number from 0 on"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=[2**64]), "below 2⁶³"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=HALF), "seeds: '0.5' is not a list of seeds"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], seeds=0),
            "seeds: there is none, so nothing runs\n  hint: write seeds=10",
        ),
        (lambda: cwndlab.compare(TWO, THREE), "algorithms: '3' is not a list of algorithms"),
        (lambda: cwndlab.compare(TWO, ["cubic"], metrics=["goodput"]), "did you mean 'goodput_bps'?"),
        (lambda: cwndlab.compare(TWO, ["cubic"], by="algoritm"), "by: nothing that varies is called 'algoritm'"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], warm_up="soon"),
            "warm_up: 'soon' is not a warm-up\n  hint: write mser, or '5 s'",
        ),
    ],
)
def test_a_common_mistake_is_answered_in_words(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ScenarioError) as error:
        call()
    assert text in str(error.value)
