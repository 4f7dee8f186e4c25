"""benches/instructions.py: stages of a made-up profile, the committed table, and the instructions of the engine."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("instructions", ROOT / "benches" / "instructions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


instructions = load()

#: An event (0x10) and a sender (0x20) put a packet on a link (0x30), which calls memcpy in another object; 0x24 builds
#: the segment itself. What a call cost stands in the line after `calls=`.
CALLGRIND = """\
# callgrind format
positions: instr line
events: Ir Dr D1mr D1mw DLmr DLmw

ob=(1) /tmp/x/program
fl=(1) ???
fn=(1) run
0x10 7 20 5 1
cob=(1)
cfn=(2) forward'run
calls=2 0x30 0
* 7 300 0

fn=(3) transmit
0x34 7 0
-16 8 40 0 0 2
-4 +1 1
cfn=(4) forward'transmit
calls=1 0x30 0
* 9 100 0

fn=(2)
0x30 5 60
+4 * 200 0 4 0 3

fn=(4)
0x30 5 90
cob=(2) /lib/libc.so.6
cfn=(5) memcpy'forward'transmit
calls=1 0x900 0
* * 10 0

ob=(2)
fn=(5)
0x30 0 10
"""

STACKS = {
    0x10: ("simulator/engine:on_arrival", "simulator/engine:run"),
    0x20: ("simulator/packet_sink:data", "transport/sender/transmit:transmit"),
    0x24: ("transport/sender/transmit:emit", "transport/sender/transmit:transmit"),
    0x30: ("network/link:pass", "path/network:forward"),
    0x34: ("path/agenda:push", "path/network:forward"),
}


def test_an_instruction_counts_for_the_innermost_function_with_a_stage() -> None:
    profile = instructions.read(CALLGRIND.splitlines(), "program")
    sums = instructions.Attribution(profile, STACKS).by_stage()
    assert sums == {
        "event loop": (20, 1, 0),
        "segment built": (41, 2, 0),
        "links behind an event": (60, 0, 0),
        "agenda": (200, 4, 3),
        # The other object's address, which is also one of the program, counts for its caller.
        "links from the sender": (100, 0, 0),
    }


def test_a_function_with_several_callers_is_divided_by_what_they_spent_in_it() -> None:
    both = CALLGRIND.replace("cfn=(4) forward'transmit", "cfn=(2)")
    sums = instructions.Attribution(instructions.read(both.splitlines(), "program"), STACKS).by_stage()
    assert sums["links behind an event"][0] == pytest.approx(60 * 300 / 400)
    assert sums["links from the sender"][0] == pytest.approx(60 * 100 / 400)


def test_what_no_stage_names_is_listed() -> None:
    profile = instructions.read(CALLGRIND.splitlines(), "program")
    attribution = instructions.Attribution(profile, {**STACKS, 0x10: ("attic/clock:tick",)})
    assert attribution.by_stage()["other"] == (80, 1, 0)
    assert attribution.unnamed().splitlines() == [
        "            60  network/link:pass < path/network:forward < forward'run",
        "            20  attic/clock:tick < run",
    ]


def test_growth_above_two_percent_fails_and_names_the_stages() -> None:
    before = {"S1": instructions.Cost("1 s", 10, {"agenda": (100.0, 0, 0), "wires": (900.0, 0, 0)})}
    within = {"S1": instructions.Cost("1 s", 10, {"agenda": (119.0, 0, 0), "wires": (900.0, 0, 0)})}
    above = {"S1": instructions.Cost("1 s", 10, {"agenda": (135.0, 0, 0), "wires": (890.0, 0, 0)})}
    assert list(instructions.faults(within, before)) == []
    assert list(instructions.faults(above, before)) == [
        "S1: 1,025 instructions per packet, 2.5% above the committed 1,000 (limit 2%): agenda +35"
    ]
    longer = {"S1": replace(before["S1"], simulated="2 s")}
    assert list(instructions.faults(longer, before)) == ["S1: the committed table has no entry with a duration of 2 s"]


def test_the_committed_table_has_the_scenarios_and_stages_of_the_program() -> None:
    table = instructions.committed()
    assert {name: cost.simulated for name, cost in table.costs.items()} == {
        one.name: one.duration for one in instructions.SCENARIOS
    }
    stages = [*(stage.name for stage in instructions.STAGES), instructions.OTHER]
    assert all(list(cost.stages) == stages for cost in table.costs.values())
    assert table.toml() == instructions.COMMITTED.read_text(encoding="utf-8")


def test_no_scenario_takes_more_instructions_than_committed() -> None:
    if missing := instructions.lacking(instructions.PROGRAM):
        pytest.skip(f"needs {', '.join(missing)}")
    if reason := instructions.unlike(instructions.PROGRAM, instructions.committed()):
        pytest.skip(reason)
    assert instructions.check(instructions.PROGRAM) == []
