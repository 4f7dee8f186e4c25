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
        (
            lambda: cwndlab.compare(NAME, ["cubic"]),
            "scenario: 'two-flows' is not a scenario\n  hint: write cwndlab",
        ),
        (lambda: cwndlab.sweep(NAME), "scenario: 'two-flows' is not a scenario\n  hint: write cwndlab.presets.load("),
        (
            lambda: cwndlab.run(NAME, seed=1),
            "scenario: 'two-flows' is a text, no scenario\n  hint: write cwndlab",
        ),
        (
            lambda: cwndlab.compare(TWO, "cubic(beta=0.7),reno"),
            "algorithms: 'cubic(beta=0.7),reno' is one text\n  hint: write algorithms=['cubic(beta=0.7)', 'reno']",
        ),
        (lambda: cwndlab.sweep(TWO, algorithms="cubic,reno"), "write algorithms=['cubic', 'reno']"),
        (lambda: cwndlab.sweep(TWO, seeds=THREE), "sweep.seeds: '3' is not a list of seeds\n  hint: write range(1, 4)"),
        (lambda: cwndlab.run(TWO, seed=-1), "seed: '-1' is not a whole number from 0 to 2⁶⁴ − 1\n  hint: write seed=1"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seed=-1), "seed: '-1' is not a whole number from 0 on"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seed=2**64), "exceed 63 bits"),
        (lambda: cwndlab.compare(TWO, ["cubic"], repetitions=HALF), "repetitions: '0.5' is not a whole number"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], warm_up=THREE),
            "warm_up: '3' is not a warm-up\n  hint: write mser, or '5 s'",
        ),
    ],
)
def test_a_common_mistake_is_answered_in_words(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ScenarioError) as error:
        call()
    assert text in str(error.value)
