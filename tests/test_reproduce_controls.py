"""Each control catches an artefact that is planted, and passes what is none.

The runs are made up: what a store keeps of them is written here, so that each answer follows by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from cwndlab.reproduction import Experiment, Size, find
from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Finding, Greater, Less, Order, RatioIn, Relation, ValueIn
from cwndlab.reproduction.controls import placebo
from cwndlab.reproduction.controls.level import levels
from cwndlab.reproduction.controls.parts import opposite_parts
from cwndlab.reproduction.judged import Judged
from cwndlab.reproduction.work import MOST_REPETITIONS, Work
from cwndlab.statistics import Estimate

#: A side's algorithm, cell and repetition to its goodput, in a unit of its own.
Law = Callable[[str, int, int], float]
SIDES = ({"side": "new"}, {"side": "old"})


def no_measure(records: object) -> Mapping[str, float | None]:
    """Nothing is run here."""
    raise AssertionError(records)


def case(side: str, cell: int, algorithm: str) -> Case:
    """A run of one flow; the cell is its base RTT."""
    return Case(
        {"side": side, "cell": cell},
        {
            "duration": "1 s",
            "dumbbell": {"bottleneck": {"rate": "8 Mbps"}},
            "flow": [{"algorithm": algorithm, "rtt": f"{cell + 10} ms"}, {"transport": "udp"}],
            "perturb": True,
        },
        no_measure,
    )


def work(
    relation: Relation,
    *,
    cells: int = 4,
    repetitions: int = 5,
    old: str = "reno",
    by: tuple[str, ...] = ("vegas",),
    sides: tuple[Labels, ...] = SIDES,
    **claim: Any,
) -> Work:
    """An experiment with one claim: cubic, the new side, beside an old one."""
    size = Size(1.0, repetitions)
    cases = [case("new", cell, "cubic") for cell in range(cells)] + [case("old", cell, old) for cell in range(cells)]
    stated = Claim("q", "w", "goodput_bps", sides, relation, headline="p:h", **claim)
    experiment = Experiment(
        "p/f", "", "", "", (), size, size, lambda size: cases, lambda size: [stated], lambda measured: (), placebos=by
    )
    return Work(experiment, size, more=True)


def settled(one: Work, law: Law, needs: Mapping[int, int] | None = None, **kept: Any) -> Finding:
    """The finding of runs whose goodput follows a law of their algorithm, cell and repetition; more are made as they
    are needed."""
    payloads: dict[tuple[int, int], Mapping[str, Any]] = {}
    needs = dict(one.first if needs is None else needs)
    while needs:
        for number, many in needs.items():
            flow = one.cases[number].scenario["flow"][0]
            cell = one.cases[number].labels["cell"]
            assert isinstance(cell, int)
            for repetition in range(many):
                values = {"goodput_bps": law(flow["algorithm"], cell, repetition)}
                payloads[number, repetition] = {"values": values, "curves": {}, "packets": 1000, **kept}
        (finding,), needs = one.settled(payloads)
    return finding


def noise(*seed: object) -> float:
    """1 ± 1 %, of its own for each run."""
    return random.Random(repr(seed)).uniform(0.99, 1.01)


def answers(finding: Finding) -> dict[str, bool]:
    return {asked.control: asked.passed for asked in finding.asked}


# The placebo.


def test_a_placebo_that_does_the_same_shows_that_the_set_up_cannot_discriminate() -> None:
    """Planted: in this set-up whatever runs beside the old algorithm has twice its goodput. In the other one only cubic
    does, so that the claim holds."""
    of_place = settled(
        work(Greater()), lambda name, cell, rep: (1.0 if name == "reno" else 2.0) * noise(name, cell, rep)
    )
    assert of_place.outcome == "set-up cannot discriminate"
    assert answers(of_place)["placebo"] is False
    assert of_place.reason.startswith("a placebo does the same (with vegas in its place: ")
    of_cubic = settled(
        work(Greater()), lambda name, cell, rep: (2.0 if name == "cubic" else 1.0) * noise(name, cell, rep)
    )
    assert of_cubic.outcome == "holds"
    assert answers(of_cubic)["placebo"] is True


def test_an_opposite_value_stands_unless_the_placebo_has_the_same_one() -> None:
    """By hand: 0.333 of a claimed 0.9 to 1 is opposite. Where each algorithm gets 0.333 the set-up made it; where the
    placebo gets 0.5, which is opposite too, it is of the algorithm."""
    one_side = SIDES[:1]
    of_place = settled(work(ValueIn(0.9, 1.0), sides=one_side), lambda name, cell, rep: 0.333 * noise(cell, rep))
    assert of_place.outcome == "set-up cannot discriminate"

    def law(name: str, cell: int, rep: int) -> float:
        return (0.333 if name == "cubic" else 0.5) * noise(cell, rep)

    of_cubic = settled(work(ValueIn(0.9, 1.0), sides=one_side), law)
    assert of_cubic.outcome == "opposite"
    assert answers(of_cubic)["placebo"] is True


def test_no_effect_needs_an_algorithm_that_has_one() -> None:
    """Sides that are alike say something only where the placebo is not alike too."""

    def law(of_placebo: float) -> Law:
        return lambda name, cell, rep: (of_placebo if name == "vegas" else 1.0) * noise(name, cell, rep)

    for of_placebo, outcome in ((1.0, "set-up cannot discriminate"), (0.5, "no effect")):
        assert settled(work(Greater(), repetitions=10), law(of_placebo)).outcome == outcome
        found = settled(work(RatioIn(0.98, 1.02), repetitions=10), law(of_placebo))
        assert found.outcome == ("holds" if of_placebo == 0.5 else outcome)


def test_the_other_side_is_its_own_placebo_in_another_repetition() -> None:
    """With reno as the placebo of a claim against reno nothing new is run: each run of reno takes the place of the run
    of cubic with the next seed."""
    one = work(Greater(), by=("reno",))
    assert len(one.cases) == len(one.base)
    found = settled(one, lambda name, cell, rep: (2.0 if name == "cubic" else 1.0) * noise(name, cell, rep))
    (asked,) = [asked for asked in found.asked if asked.control == "placebo"]
    assert asked.passed
    assert asked.text.startswith("with reno on both sides, of different repetitions: ")
    # By hand: the repetitions 0, 1, 2 of reno have 1, 2, 3; in the place of cubic they are 2, 3, 1.
    both = [row for side in SIDES for row in _rows(side)]
    claim = Claim("q", "w", "goodput_bps", SIDES, Greater())
    chosen = placebo.substitute(Claim(**{**vars(claim), "headline": "p:h"}), one.base, ["reno"], ())
    assert chosen is not None
    swapped = placebo.with_placebo(chosen, _measured(both), {})
    assert swapped.values("goodput_bps", side="new") == [2.0, 3.0, 1.0]
    assert swapped.values("goodput_bps", side="old") == [1.0, 2.0, 3.0]


def _rows(side: Labels) -> list[Any]:
    from cwndlab.reproduction.measured import Row

    return [Row({**side, "cell": 0}, rep, {"goodput_bps": rep + 1.0}) for rep in range(3)]


def _measured(rows: list[Any]) -> Any:
    from cwndlab.reproduction.measured import Measured

    return Measured(Size(1.0, 3), rows)


def test_what_a_claim_is_about_is_replaced() -> None:
    """The algorithm of the first side alone; on both sides where they differ in something else; what a paper proposes
    where it is beside others; nothing where a claim is of several algorithms at once, or says why it has none."""

    def replaced(sides: tuple[Labels, ...], cases: list[Case], tested: tuple[str, ...] = (), **more: Any) -> Any:
        claim = Claim("q", "w", "goodput_bps", sides, Greater(), headline="p:h", **more)
        found = placebo.substitute(claim, cases, ["vegas"], tested)
        return None if found is None else sorted(found.cases)

    two = [case("new", 0, "cubic"), case("old", 0, "reno")]
    assert replaced(SIDES, two) == [0]
    assert replaced(SIDES, [case("new", 0, "cubic"), case("old", 0, "cubic")]) == [0, 1]
    assert replaced(SIDES, [case("new", 0, "phcc(alpha=1)"), case("old", 0, "phcc(alpha=2)")], ("phcc(",)) == [0, 1]
    assert replaced(SIDES[:1], [case("new", 0, "cubic"), case("new", 1, "reno")]) is None
    assert replaced(SIDES[:1], two, ("phcc(",)) is None
    assert replaced(SIDES, two, placebo="none: the claim is of the set-up") is None
    assert replaced(SIDES, two, kind="check") is None
    assert replaced(SIDES, [case("new", 0, "vegas"), case("old", 0, "reno")]) is None


def test_an_order_of_several_algorithms_has_no_placebo() -> None:
    """By docs/outcomes.md claims of several algorithms at once have none. In the place of the first one alone a placebo
    would leave the opposite step old > third as it is."""
    sides = (*SIDES, {"side": "third"})
    cases = [case(side, 0, name) for side, name in (("new", "cubic"), ("old", "reno"), ("third", "bbr1"))]
    claim = Claim("q", "w", "goodput_bps", sides, Order(), headline="p:h")
    assert placebo.substitute(claim, cases, ["vegas"], ()) is None


def test_no_claim_has_a_placebo_of_which_its_sentence_claims_the_same() -> None:
    """PHCC, § 4: "uniformly better than Vegas and Reno". Reno in the place of Vegas would hold by that sentence."""
    (fig9,) = find("phcc/fig9")
    claims = [one for one in fig9.claims(fig9.full) if one.headline == "phcc:uniformly"]
    chosen = [placebo.substitute(one, fig9.cases(fig9.full), fig9.placebos, fig9.tested) for one in claims]
    assert [one and one.by for one in chosen] == ["highspeed", "highspeed"]


# Where the sides differ.


def test_equal_pairs_make_no_interval_narrow() -> None:
    """Planted: nine of ten cells are equal to the last digit, in the tenth the sides differ by 30 % at random. Over all
    cells the mean differs by less than the margin of 1 %; where they differ it does not."""

    def law(name: str, cell: int, rep: int) -> float:
        if cell or name == "vegas":
            return 1.0 + cell + (name == "vegas")
        return random.Random(repr((name, rep))).choice([0.85, 1.15])

    found = settled(work(Greater(), cells=10, repetitions=10), law)
    assert found.outcome != "no effect"
    assert found.differing is not None
    assert found.differing[0] == pytest.approx(0.1, abs=0.1)
    assert answers(found)["where they differ"] is False
    assert "pairs of runs differ; over these: " in found.reason


def test_sides_without_a_difference_are_not_told_apart() -> None:
    found = settled(work(Greater()), lambda name, cell, rep: noise(cell, rep) * (2.0 if name == "vegas" else 1.0))
    assert found.outcome == "set-up cannot discriminate"
    assert "all 20 pairs of runs are equal" in found.reason


@pytest.mark.parametrize("relation", [Greater(), Less(), RatioIn(0.98, 1.02), RatioIn(1.5, 2.5)])
def test_equal_runs_that_vary_are_not_one_result(relation: Relation) -> None:
    """docs/outcomes.md: if all pairs are equal, the set-up cannot discriminate; one result is that of all repetitions.
    Here each repetition has another one."""
    found = settled(work(relation, old="cubic", by=()), lambda name, cell, rep: noise(cell, rep))
    assert found.outcome == "set-up cannot discriminate"
    assert found.reason.startswith("all 20 pairs of runs are equal")


@pytest.mark.parametrize(("equal", "outcome"), [(3, "inconclusive"), (4, "holds")])
def test_pairs_that_differ_decide_if_more_than_half_are_equal(equal: int, outcome: str) -> None:
    """docs/outcomes.md: "if more than half are" equal. By hand, of six repetitions: twice the goodput in three has a
    mean logarithm of 0.347, s = 0.380 and ± 0.398, which covers 0; in two, s = 0.358 and ± 0.376, mean 0.231. Over the
    pairs that differ the ratio is 2 with the spread of the noise."""
    one = work(Greater(), cells=1, repetitions=6, by=())

    def law(name: str, cell: int, rep: int) -> float:
        return noise(rep) if rep < equal or name == "reno" else 2 * noise(name, rep)

    payloads = {
        (number, rep): {"values": {"goodput_bps": law(each.scenario["flow"][0]["algorithm"], 0, rep)}, "curves": {}}
        for number, each in enumerate(one.cases)
        for rep in range(6)
    }
    (found,), _ = one.settled(payloads)
    assert found.outcome == outcome
    assert answers(found)["where they differ"] is (equal == 3)


# The level.


@pytest.mark.parametrize(
    ("level", "outcome"),
    [
        ({"flow": [0.01, 0.1]}, "set-up cannot discriminate"),  # a hundredth of a fair share
        ({"flow": [0.5, 0.4]}, "set-up cannot discriminate"),  # two of five packets sent again
        ({"flow": [0.5, 0.1]}, "holds"),
        ({"down": [0.01, 0.1], "up": [1.5, 0.0]}, "holds"),  # those that are compared are not named
    ],
)
def test_a_ranking_of_the_starved_is_none(level: dict[str, list[float]], outcome: str) -> None:
    def law(name: str, cell: int, rep: int) -> float:
        return (2.0 if name == "cubic" else 1.0) * noise(name, cell, rep)

    found = settled(work(Greater()), law, level=level)
    assert found.outcome == outcome
    assert answers(found)["level"] is (outcome == "holds")
    if "down" in level:
        assert settled(work(Greater(), flows=("down",)), law, level=level).outcome == "set-up cannot discriminate"


def test_a_level_is_a_share_of_an_equal_one() -> None:
    """By hand: a flow that is limited to 50 kbit/s beside one that is not, on a line of 10 Mbit/s, has 1 % of an equal
    share of 5 Mbit/s; the other one nearly twice such a share."""
    import cwndlab

    trickle = {"kind": "cbr", "rate": "50 kbps", "packet": "1000 B"}
    records = cwndlab.run(
        {
            "schema_version": 1,
            "duration": "20 s",
            "dumbbell": {"bottleneck": {"rate": "10 Mbps", "delay": "5 ms", "queue": {"capacity": "1 bdp"}}},
            "flow": [
                {"name": "slow0", "transport": "udp", "rtt": "20 ms", "workload": trickle},
                {"name": "fast0", "algorithm": "reno", "rtt": "20 ms"},
            ],
        },
        seed=1,
    )
    found = levels(records)
    assert found["slow"].share == pytest.approx(0.01, rel=0.1)
    assert found["slow"].is_starved
    assert 1.7 < found["fast"].share < 2
    assert not found["fast"].is_starved


def test_a_flow_that_is_alone_is_not_starved() -> None:
    """What random losses leave of the line is no other flow's: 1 % of it may be ranked, if it is not sent twice."""
    from cwndlab.reproduction.measured import Row

    alone = case("new", 0, "cubic")
    alone = Case(alone.labels, {**alone.scenario, "flow": alone.scenario["flow"][:1]}, no_measure)
    payload = {"values": {}, "level": {"flow": [0.01, 0.1]}}
    assert Row.of(alone, 0, payload).level["flow"].is_starved is False
    assert Row.of(case("new", 0, "cubic"), 0, payload).level["flow"].is_starved is True
    assert Row.of(alone, 0, {"values": {}, "level": {"flow": [0.01, 0.5]}}).level["flow"].is_starved is True


# Findings, and perturbation.


def test_what_runs_report_stands_beside_a_claim() -> None:
    def law(name: str, cell: int, rep: int) -> float:
        return (2.0 if name == "cubic" else 1.0) * noise(name, cell, rep)

    hung = settled(work(Greater()), law, findings=["hang"])
    assert answers(hung)["findings"] is False
    assert "of 40 runs: hang in 40" in [asked.text for asked in hung.asked]
    assert answers(settled(work(Greater()), law, findings=["host-queue"]))["findings"] is True
    assert "findings" not in answers(settled(work(Greater()), law))
    assert answers(hung)["perturbation"] is True


# Repetitions.


def test_a_claim_that_noise_hides_gets_more_repetitions() -> None:
    """3 % of gain in noise of ± 10 %: five repetitions of one cell cannot tell it, forty can. The paper's number and
    what it gave stand beside. Noise of ± 60 % stays undecided, and ends at the most."""

    def law(width: float) -> Law:
        return lambda name, cell, rep: (
            (1.03 if name == "cubic" else 1.0) * random.Random(repr((name, rep, 7))).uniform(1 - width, 1 + width)
        )

    found = settled(work(Greater(), cells=1), law(0.03))
    assert found.printed is not None
    assert list(found.printed[:2]) == [5, "inconclusive"]
    assert found.outcome == "holds"
    assert found.n in (10, 20, 40)
    assert answers(found)["repetitions"] is True
    wide = settled(work(Greater(), cells=1), law(0.6))
    assert (wide.outcome, wide.n) == ("inconclusive", MOST_REPETITIONS)
    assert answers(wide)["repetitions"] is False


def test_repetitions_end_where_they_cost_too_much() -> None:
    wide = settled(work(Greater(), cells=1), lambda name, cell, rep: noise(name, rep) ** 5, packets=1e9)
    assert (wide.outcome, wide.n, wide.printed) == ("inconclusive", 5, None)


# Parts.


def test_one_opposite_part_of_twenty_is_chance() -> None:
    """Holm, by hand: of 20 parts the smallest p is held against 0.025 / 20. An interval that just excludes the margin,
    p = 0.02, is opposite alone and not among 20; one far beyond it is opposite among 20 too."""

    def part(outcome: Any, low: float, high: float) -> Judged:
        return Judged(Estimate((low + high) / 2, low, high, 10), outcome, "", measured_is="value", edge=1.0)

    holds = [part("holds", 1.1, 1.2)] * 19
    assert opposite_parts([part("opposite", 0.90, 0.99)]) == {0}
    assert opposite_parts([part("opposite", 0.90, 0.99), *holds]) == set()
    assert opposite_parts([part("opposite", 0.50, 0.52), *holds]) == {0}


def test_the_whole_decides_where_few_parts_are_opposite() -> None:
    """Ten cells: in nine cubic has twice the goodput, in one half of it. The claim is made for each; all together it
    holds, and the one is named."""

    def law(name: str, cell: int, rep: int) -> float:
        gain = 1.0 if name != "cubic" else 0.5 if cell == 3 else 2.0
        return gain * noise(name, cell, rep)

    found = settled(work(Greater(), cells=10, each="cell"), law)
    assert found.outcome == "holds at another size"
    assert "1 of 10 parts opposite with Holm's correction (cell 3)" in found.reason
    assert answers(found)["parts"] is False
    less = settled(work(Less(), cells=10, each="cell"), law)
    assert less.outcome == "opposite"


def test_the_reason_names_the_opposite_parts_and_the_whole_that_decides() -> None:
    """Ten cells: in three cubic has half of the goodput, in seven the same. By hand, all together have
    0.5^0.3 = 0.812, which is opposite; docs/outcomes.md has the reason name the opposite parts."""

    def law(name: str, cell: int, rep: int) -> float:
        return (0.5 if name == "cubic" and cell < 3 else 1.0) * noise(name, cell, rep)

    found = settled(work(Greater(), cells=10, each="cell"), law)
    assert found.outcome == "opposite"
    text = "3 of 10 parts opposite with Holm's correction (cell 0, cell 1, cell 2), and so are all parts together: "
    assert text in found.reason
    mean, low, high = map(float, found.reason.partition(text)[2].partition("]")[0].replace("[", "… ").split("… "))
    assert low < 0.5**0.3 < high
    assert mean == pytest.approx(0.5**0.3, rel=0.02)
    # The whole is opposite too, so that the control has nothing against it.
    assert "parts" not in answers(found)


# Runs.


def test_two_cases_with_one_scenario_both_have_its_values() -> None:
    """Readings of a paper may agree in a case: the rows of a store are found by the scenario, which both have."""
    from cwndlab.reproduction.run import _payloads
    from cwndlab.study.executor import Plan, results, threads
    from cwndlab.study.store import Store

    base = case("new", 0, "reno").scenario
    scenario = {**base, "schema_version": 1, "flow": base["flow"][:1]}
    cases = [Case({"side": side}, scenario, delivered) for side in ("new", "old")]
    size = Size(1.0, 1)
    one = Experiment("p/f", "", "", "", (), size, size, lambda size: cases, lambda size: [], lambda measured: ())
    with Store(None, write=True) as store:
        (study,) = Work(one, size, more=False).studies({0: 1, 1: 1})
        plan = Plan(study, store)
        assert list(results(plan, store, threads(1)))
        found = _payloads(study, store)
    assert found[0, 0]["values"] == found[1, 0]["values"]
    assert found[0, 0]["values"]["bytes"] > 0


def delivered(records: Any) -> Mapping[str, float | None]:
    """Bytes that arrived."""
    return {"bytes": float(records.flows["delivered_bytes"].sum())}


@pytest.mark.parametrize("measure_from", ["0 s", "5 s", "15 s"])
def test_a_level_is_of_the_whole_run(measure_from: str) -> None:
    """What the line carries in the whole run does not depend on when measuring begins: a lone flow has nearly all."""
    import cwndlab

    scenario = cwndlab.presets.load("rate-steps").with_({"duration": "20 s", "measure_from": measure_from})
    (found,) = levels(cwndlab.run(scenario, seed=1)).values()
    assert 0.9 < found.share <= 1
