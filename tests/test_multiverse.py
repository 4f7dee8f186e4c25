"""The multiverse of a paper: samples of universes, shares, labels, the choices that decide, kept outcomes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from cwndlab.errors import RecordsError
from cwndlab.reproduction.assessments import assessments
from cwndlab.reproduction.cases import Case
from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.claims import (
    Claim,
    Finding,
    Greater,
    Less,
    Outcome,
    RatioIn,
    Relation,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.multiverse import Cell, Dimension, Robustness, Space, Universe, curve, load, multiverse, save
from cwndlab.reproduction.multiverse import kept as kept_outcomes
from cwndlab.reproduction.multiverse import run as run_of
from cwndlab.reproduction.multiverse.robustness import TALLIES, Evidence, label, robustness
from cwndlab.reproduction.paper_page import write_extremes
from cwndlab.reproduction.ranking import favour
from cwndlab.scenario.reader import check
from small_runs import goodput, small_path

TWO = (Dimension("buffer", "open", ("1 BDP", "2 BDP")), Dimension("start", "open", ("early", "late", "never")))


def space(**more: Any) -> Space:
    """A space without runs."""
    given: dict[str, Any] = {"cases": lambda universe: (), "claims": lambda universe: ()}
    return Space("iot/test", "a test", TWO, **(given | more))


def finding(outcome: Outcome = "holds", measured: float | None = 1.0) -> Finding:
    return Finding("iot/test", "a quantity", "published", measured, None, None, outcome, "", headline="iot:throughput")


def claim(relation: Relation) -> Claim:
    return Claim("a quantity", "published", "jain", [{"side": "a"}, {"side": "b"}], relation, headline="iot:throughput")


def test_the_first_universe_has_the_first_choices() -> None:
    assert space().sample()[0] == {"buffer": "1 BDP", "start": "early"} == space().base


def test_a_small_space_is_taken_whole_and_a_large_one_without_repetition() -> None:
    whole = space().sample()
    assert len({tuple(one.items()) for one in whole}) == len(whole) == 6
    many = Space(
        "iot/large", "", [Dimension(f"d{n}", "open", ("a", "b", "c")) for n in range(9)], lambda u: (), lambda u: ()
    )
    sample = many.sample()
    assert (many.count, len(sample), len({tuple(one.items()) for one in sample})) == (3**9, 512, 512)
    assert sample[: many.quick] == many.sample(quick=True)


def test_a_dimension_has_at_least_two_different_choices() -> None:
    for choices in (("one",), ("one", "one")):
        with pytest.raises(ValueError, match="two or more different choices"):
            Dimension("buffer", "open", choices)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((90, 10, 0, 0, 500), "robust"),
        ((89, 11, 0, 0, 0), "fragile"),
        ((11, 0, 89, 0, 0), "fragile"),
        ((10, 0, 90, 0, 0), "refuted"),
        # Inconclusive universes may be either.
        ((85, 5, 0, 10, 0), "fragile or robust"),
        ((5, 55, 0, 40, 0), "refuted or fragile"),
        ((5, 0, 0, 95, 0), "undecided"),
        ((0, 0, 0, 0, 100), "no universe discriminates"),
    ],
)
def test_labels_follow_from_the_share_of_universes_that_can_discriminate(counts: Sequence[int], expected: str) -> None:
    assert label(dict(zip(TALLIES, counts, strict=True))) == expected


def cells(outcomes: dict[str, Outcome], repeat: int = 10) -> list[Cell]:
    """Ten universes of each buffer and start, with an outcome by buffer."""
    return [
        Cell(universe, finding(outcomes[universe["buffer"]])) for _ in range(repeat) for universe in space().sample()
    ]


def test_the_choice_that_decides_is_found() -> None:
    """By hand: 30 of 30 against 0 of 30. χ² with Yates' correction is 60 (|30·30| − 30)² / 30⁴ = 56.07, p = 7e-14."""
    (one,) = robustness(space(), [claim(Greater())], [cells({"1 BDP": "holds", "2 BDP": "opposite"})])
    (effect,) = one.flips
    assert effect.dimension == "buffer"
    assert effect.range == 1
    assert effect.holds == {"1 BDP": 1, "2 BDP": 0}
    assert effect.p == pytest.approx(7e-14, rel=0.05)
    assert one.label == "fragile"


def test_another_value_than_the_published_one_does_not_hold() -> None:
    """A gain of another size has the claimed direction. An index of 0.6 where the paper has 1 has none."""
    outcomes: dict[str, Outcome] = {"1 BDP": "holds", "2 BDP": "holds at another size"}
    gain, index = robustness(space(), [claim(Greater(1.04)), claim(Value(1.0))], [cells(outcomes), cells(outcomes)])
    assert (gain.label, gain.counts["holds"]) == ("robust", 60)
    assert (index.label, index.counts["holds"], index.counts["opposite"]) == ("fragile", 30, 30)


def test_a_size_is_counted_beside_the_direction() -> None:
    """A gain of 4 % that is another one in half of the universes: the direction is robust, its size is not."""
    every = cells({"1 BDP": "holds", "2 BDP": "holds"})
    some = [replace(one, of_size="holds" if one.universe["buffer"] == "1 BDP" else "ties") for one in every]
    sized, unsized = robustness(space(), [claim(Greater(1.04)), claim(Greater())], [some, every])
    assert (sized.label, unsized.label, unsized.sized) == ("robust", "robust", None)
    assert sized.sized is not None
    assert (sized.sized["holds"], sized.sized["ties"], label(sized.sized)) == (30, 30, "fragile")
    evidence = Evidence(cast("Any", None), [sized], sized)
    assert evidence.shares == "holds in 100 % of 60 universes; with the published size in 50 % (fragile)"


def test_a_universe_has_the_direction_and_the_size_of_a_claim(
    real: Space, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Side a has twice the throughput of side b: more, and not 4 % more; kept outcomes have both."""
    gain = Claim(
        "a quantity", "+4 %", "goodput_bps", [{"side": "a"}, {"side": "b"}], Greater(1.04), headline="iot:throughput"
    )
    for module in (run_of, kept_outcomes):
        monkeypatch.setattr(module, "spaces", lambda target="": [replace(real, claims=lambda universe: [gain])])
    (one,) = multiverse("iot", results=tmp_path)
    (kept,) = load(tmp_path)
    for claims in (one.claims, kept.claims):
        assert claims[0].label == "robust"
        assert claims[0].sized is not None
        assert claims[0].sized["ties"] == 6


def test_every_headline_has_universes_or_a_reason_why_not() -> None:
    stated = {one.headline for one in (claim for space in spaces() for claim in space.claims(space.base))}
    for headline in headlines():
        assert (headline.key in stated) is not bool(headline.no_universes), headline.key


def test_universes_that_cannot_discriminate_decide_nothing() -> None:
    (one,) = robustness(space(), [claim(Greater())], [cells({"1 BDP": "holds", "2 BDP": "set-up cannot discriminate"})])
    assert (one.label, one.flips) == ("robust", [])
    assert one.counts["cannot discriminate"] == 30


def test_a_larger_value_speaks_for_greater_and_against_less() -> None:
    assert favour(Greater(), "holds", 1.2, "ratio") == 1.2
    assert favour(Less(), "opposite", 1.2, "ratio") == -1.2
    assert favour(RatioIn(0.8, 1.25), "holds", 1.0, "ratio") == pytest.approx(0.2)
    assert favour(ValueIn(0.9, 1.0), "opposite", 0.8, "value") == pytest.approx(-0.1)
    assert favour(Value(0.94), "inconclusive", 0.9, "value") == pytest.approx(-0.04)
    assert favour(Greater(), "inconclusive", None, "ratio") is None


def test_a_significant_difference_in_the_other_direction_is_the_least_favourable() -> None:
    """Welch's p is that of a difference in either direction: of two opposite universes the one with the smaller p is
    the worse one, of two that hold the better one. A ratio is no p."""
    given: list[tuple[Outcome, float, str]] = [
        ("holds", 0.04, "p"),
        ("opposite", 0.001, "p"),
        ("inconclusive", 0.5, "p"),
        ("inconclusive", 1.0, "ratio"),
        ("holds", 0.001, "p"),
        ("opposite", 0.04, "p"),
    ]
    cells = [Cell({}, replace(finding(outcome, value), measured_is=of)) for outcome, value, of in given]
    ranked = Robustness(claim(Welch(up=True)), cells, ()).ranked()
    assert [(one.finding.outcome, one.finding.measured) for one in ranked] == [
        ("opposite", 0.001),
        ("opposite", 0.04),
        ("inconclusive", 0.5),
        ("holds", 0.04),
        ("holds", 0.001),
    ]


def _cases(universe: Universe) -> list[Case]:
    capacity = "20 packets" if universe["buffer"] == "1 BDP" else "40 packets"
    return [
        Case({"side": side}, small_path(rate, capacity), goodput) for side, rate in (("a", "2 Mbps"), ("b", "1 Mbps"))
    ]


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Space:
    """A space with runs: side a has twice the rate of side b, whatever is chosen."""
    twice = Claim(
        "a quantity", "more", "goodput_bps", [{"side": "a"}, {"side": "b"}], Greater(), headline="iot:throughput"
    )
    one = space(cases=_cases, claims=lambda universe: [twice], repetitions=2)
    for module in (run_of, kept_outcomes):
        monkeypatch.setattr(module, "spaces", lambda target="": [one])
    return one


def test_the_same_scenario_of_several_universes_is_run_once_and_kept(real: Space, tmp_path: Path) -> None:
    """Two buffers, two sides, two repetitions; the start changes nothing."""
    steps: list[tuple[int, int]] = []
    (one,) = multiverse("iot", out=tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert (one.runs, len(one.universes), steps[-1]) == (8, 6, (8, 8))
    assert one.claims[0].label == "robust"
    assert one.claims[0].base.finding.measured == pytest.approx(2.0, rel=0.05)
    steps.clear()
    list(multiverse("iot", out=tmp_path, progress=lambda done, total: steps.append((done, total))))
    assert steps == [(0, 0)]


def test_universes_with_an_inconclusive_claim_get_more_repetitions(
    real: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Student's interval of two values is 25 times as wide as that of eight: what cannot be told from two can then."""
    narrow = Claim("a quantity", "more", "goodput_bps", [{"side": "a"}], Value(1.0), headline="iot:throughput")
    seen: list[int] = []

    def judged(id: str, one: Claim, measured: Any) -> Finding:
        seen.append(many := len(measured.values("goodput_bps", side="a")))
        return finding("inconclusive" if many < 5 else "holds")

    one = replace(real, claims=lambda universe: [narrow], at_most=5)
    monkeypatch.setattr(run_of, "spaces", lambda target="": [one])
    monkeypatch.setattr(run_of, "judge", judged)
    steps: list[tuple[int, int]] = []
    (result,) = multiverse("iot", progress=lambda done, total: steps.append((done, total)))
    assert seen == [2] * 6 + [5] * 6
    assert steps[0] == (0, 8)
    assert steps[-1] == (20, 20)
    assert (result.runs, result.claims[0].label) == (20, "robust")


def test_kept_outcomes_are_used_until_dimensions_or_behaviour_change(
    real: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = multiverse("iot", results=tmp_path)
    before = kept_outcomes.path_of(tmp_path, real).read_bytes()
    steps: list[tuple[int, int]] = []
    (again,) = multiverse("iot", results=tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 0)]
    assert again.claims[0].counts == one.claims[0].counts
    assert [cell.finding.outcome for cell in again.claims[0].cells] == ["holds"] * 6
    assert kept_outcomes.stale(tmp_path, real) == ""
    assert save(again, tmp_path).read_bytes() == before, "the same outcomes are the same bytes"

    other = replace(real, dimensions=(*TWO, Dimension("jitter", "open", ("small", "large"))))
    monkeypatch.setattr(kept_outcomes, "spaces", lambda target="": [other])
    with pytest.raises(RecordsError, match="other dimensions or claims"):
        list(load(tmp_path))
    assert kept_outcomes.valid(tmp_path, other, quick=False, seed=1) is None
    assert kept_outcomes.stale(tmp_path, other) == "has other dimensions or claims than this version"

    text = gzip.decompress(before).decode()
    content = json.loads(text)
    content["probes"][0]["records"] = "0" * 64
    path = kept_outcomes.path_of(tmp_path, real)
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert kept_outcomes.valid(tmp_path, real, quick=False, seed=1) is None
    assert kept_outcomes.stale(tmp_path, real).startswith("records 000000000000 are now ")


def test_each_set_of_algorithms_of_a_space_has_a_probe(
    real: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REPRODUCING.md: a probe for each measure and each set of algorithms. A file of an earlier version, with one for
    each measure, is valid while that one agrees."""

    def cases(universe: Universe) -> list[Case]:
        reno, other = _cases(universe)
        flow = other.scenario["flow"][0] | {"algorithm": "cubic"}
        return [reno, replace(other, scenario={**other.scenario, "flow": [flow]})]

    one = replace(real, cases=cases)
    for module in (run_of, kept_outcomes):
        monkeypatch.setattr(module, "spaces", lambda target="": [one])
    list(multiverse("iot", results=tmp_path))
    path = kept_outcomes.path_of(tmp_path, one)
    content = json.loads(gzip.decompress(path.read_bytes()))
    first, second = content["probes"]
    assert (first["kind"], second["kind"]) == ("reno", "cubic")

    def stale(*probes: dict[str, Any]) -> str:
        path.write_bytes(gzip.compress(json.dumps(content | {"probes": probes}).encode()))
        return kept_outcomes.stale(tmp_path, one)

    changed = {"records": "0" * 64}
    assert stale(first, second | changed).startswith("records 000000000000 are now ")
    assert stale(first) == ""
    assert stale(first | changed).startswith("records 000000000000 are now ")
    assert stale() == "it has 0 probes, and now 2"
    assert stale(first, second, first) == "it has 3 probes, and now 2"


def test_the_extreme_universes_are_scenario_files(real: Space, tmp_path: Path) -> None:
    (one,) = multiverse("iot")
    write_extremes(one, tmp_path)
    files = sorted(tmp_path.rglob("*.toml"))
    assert [file.parent.name for file in files] == ["best", "best", "worst", "worst"]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.startswith("# a quantity: holds: ")
        assert "# buffer: " in text
        check(text, "toml")


def test_a_specification_curve_has_a_point_for_each_universe_and_a_lane_for_each_choice(real: Space) -> None:
    (one,) = multiverse("iot")
    figure = curve(one.space, one.claims[0], "curve")
    values, choices = figure.panels
    assert {series.label: len(series.x) for series in values.series} == {"holds": 6, "base assumptions": 1}
    assert choices.y.categories is not None
    assert len(choices.y.categories) == 5
    # Each universe is in one lane of each dimension: six universes, two dimensions.
    assert sum(end - start for band in choices.bands for start, end in band.spans) == 12


def test_a_headline_has_the_weakest_outcome_of_its_claims_in_each_universe(real: Space) -> None:
    (one,) = multiverse("iot")
    first = one.claims[0]
    second = Robustness(first.claim, [Cell(cell.universe, finding("opposite")) for cell in first.cells], ())
    both = replace(one, claims=[first, second])
    (assessment, *others) = assessments([], [both])["iot"]
    assert assessment.evidence[0].label == "refuted"
    assert assessment.evidence[0].shares == "opposite in 100 % of 6 universes"
    # What was not run has its row too.
    assert len(others) + 1 == sum(headline.paper == "iot" for headline in headlines())
    assert all(one.base is None and not one.evidence and one.not_counted == "" for one in others)


@pytest.mark.parametrize("one", spaces(), ids=lambda one: one.id)
def test_every_space_is_sound(one: Space) -> None:
    """Claims name headlines of their paper, or none, and sides that the cases have; all choices give valid scenarios;
    every dimension changes a scenario or a claim."""
    known = {headline.key for headline in headlines()}
    base = list(one.claims(one.base))
    for universe in one.sample(quick=True)[:6]:
        cases = one.cases(universe)
        for case in cases:
            check(json.dumps(case.scenario), "json")
        claims = one.claims(universe)
        assert [claim.quantity for claim in claims] == [claim.quantity for claim in base]
        for claim in claims:
            if claim.headline:
                assert claim.headline in known
                assert claim.headline.startswith(f"{one.paper}:")
            for side in claim.sides:
                assert any(all(case.labels[name] == value for name, value in side.items()) for case in cases), side
    for dimension in one.dimensions:
        assert dimension.reason.endswith(".")
        assert len({_print(one, {**one.base, dimension.name: choice}) for choice in dimension.choices}) > 1


def _print(one: Space, universe: Universe) -> str:
    """All that is run and claimed in a universe."""
    scenarios = [json.dumps(case.scenario, sort_keys=True) for case in one.cases(universe)]
    return "\n".join([*scenarios, repr(one.claims(universe))])
