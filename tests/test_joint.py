"""What holds together: the best universe, pairs that exclude each other, and a search judged by what it did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import RecordsError
from cwndlab.reproduction.cases import Case
from cwndlab.reproduction.catalogue import PAPERS, spaces
from cwndlab.reproduction.claims import Claim, Finding, Greater, Outcome
from cwndlab.reproduction.multiverse import Cell, Dimension, Multiverse, Space, Universe, joint, joint_rows
from cwndlab.reproduction.multiverse.robustness import robustness
from small_runs import goodput, small_path

RESULTS = Path(__file__).resolve().parents[1] / "results"
KEYS = [one.key for one in PAPERS["iot"].headlines][:4]
DIMENSIONS = (
    Dimension("rate", "open", ("1 Mbps", "2 Mbps", "4 Mbps")),
    Dimension("rival", "open", ("1 Mbps", "2 Mbps")),
    Dimension("buffer", "open", ("20 packets", "40 packets")),
)


def claim(key: str, sides: Sequence[str] = ("a", "b")) -> Claim:
    return Claim("a quantity", "more", "goodput_bps", [{"side": one} for one in sides], Greater(), headline=key)


def multiverse_of(outcome: Callable[[str, Universe], Outcome]) -> Multiverse:
    """All universes of a space without runs."""
    one = Space("iot/test", "a test", DIMENSIONS, lambda universe: (), lambda universe: ())
    universes = one.sample()
    claims = [claim(key) for key in KEYS]
    cells = [
        [
            Cell(universe, Finding("iot/test", "", "", 1.0, None, None, outcome(key, universe), "", headline=key))
            for universe in universes
        ]
        for key in KEYS
    ]
    return Multiverse(one, False, 1, universes, robustness(one, claims, cells), 0, (3, 8))


def test_the_universe_in_which_most_claims_hold_is_found() -> None:
    """The first and the second claim hold with the rate 2 Mbps, the third with 4 Mbps, the fourth never."""

    def outcome(key: str, universe: Universe) -> Outcome:
        wanted = {KEYS[0]: "2 Mbps", KEYS[1]: "2 Mbps", KEYS[2]: "4 Mbps"}
        return "holds" if universe["rate"] == wanted.get(key) else "opposite"

    found = joint.together(multiverse_of(outcome))
    assert found.universe["rate"] == "2 Mbps"
    assert [found.best[key] for key in KEYS] == ["holds", "holds", "opposite", "opposite"]
    assert list(found.base.values()) == ["opposite"] * 4
    (row,) = joint_rows.together_rows([found])
    assert (row["hold at base assumptions"], row["hold together at most"]) == ("0 of 4", "2 of 4")


def test_claims_that_hold_in_different_universes_exclude_each_other() -> None:
    """Each of the first two holds in half of 12 universes. By hand, if they never meet: p = 1 / C(12, 6) = 1/924, which
    is below 0.05 over six pairs. The third holds in half of them too, by another choice: they meet in three."""

    def outcome(key: str, universe: Universe) -> Outcome:
        holds = {
            KEYS[0]: universe["rival"] == "1 Mbps",
            KEYS[1]: universe["rival"] == "2 Mbps",
            KEYS[2]: universe["buffer"] == "20 packets",
        }
        return "holds" if holds.get(key, False) else "no effect"

    found = joint.together(multiverse_of(outcome))
    assert list(found.exclusive) == [(KEYS[0], KEYS[1])]


def planted(unseen: Sequence[str]) -> Space:
    """A space with runs: side a has the chosen rate, b the rival's, c and d 1.5 and 0.5 Mbit/s. The first and the third
    claim, which the search counts, hold where a's rate is above that of c. The others are as ``unseen`` says."""

    def cases(universe: Universe) -> list[Case]:
        rates = {"a": universe["rate"], "b": universe["rival"], "c": "1500 kbps", "d": "500 kbps"}
        return [Case({"side": side}, small_path(rate, universe["buffer"]), goodput) for side, rate in rates.items()]

    claims = [claim(KEYS[0], ("a", "c")), claim(KEYS[1], unseen), claim(KEYS[2], ("a", "c")), claim(KEYS[3], unseen)]
    return Space("iot/test", "a test", DIMENSIONS, cases, lambda universe: claims, repetitions=2)


@pytest.mark.parametrize(
    ("unseen", "is_recommended"),
    [
        pytest.param(("a", "c"), True, id="the unseen claims agree"),
        pytest.param(("d", "a"), False, id="the unseen claims never hold"),
        pytest.param(("c", "a"), False, id="the unseen claims hold at the base alone"),
    ],
)
def test_a_reading_is_recommended_by_the_claims_that_did_not_choose_it(
    unseen: Sequence[str], is_recommended: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(joint, "spaces", lambda target="": [planted(unseen)])
    found = joint.search("iot", quick=True, workers=1)
    # Only the rate matters: the other choices of the best universe are taken back.
    assert list(found.choices) == ["rate"]
    assert found.choices["rate"] in ("2 Mbps", "4 Mbps")
    assert list(found.chosen_by) == KEYS[::2]
    assert list(found.searched[1].values()) == ["holds", "holds"]
    assert found.is_recommended is is_recommended
    assert ("is the recommended reading" in " ".join(joint_rows.verdict(found))) is is_recommended
    joint.save(found, tmp_path)
    assert joint.reading(tmp_path, "iot") == found


def test_one_claim_holds_and_several_hold() -> None:
    base: joint.Tallies = dict.fromkeys(KEYS, "opposite")
    found: joint.Tallies = {**base, KEYS[0]: "holds", KEYS[1]: "holds", KEYS[2]: "holds"}
    counted = KEYS[::2]
    sides = tuple({key: side[key] for key in counted} for side in (base, found))
    one = joint.Reading("iot", {"rate": "2 Mbps"}, 9, (1, 1001), (3, 8), counted, (sides[0], sides[1]), (base, found))
    first, second, _ = joint_rows.verdict(one)
    assert "Of the 2 claims that it counted, 2 hold in the reading" in first
    assert "Of the 2 claims that it did not count, 1 holds in the reading" in second


def test_a_search_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "spaces", lambda target="": [planted(("a", "b"))])
    assert joint.search("iot", quick=True, workers=1) == joint.search("iot", quick=True, workers=2)


def test_without_a_better_reading_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sides of the counted claims are the same: nothing can hold."""
    one = planted(("a", "b"))
    never = [claim(key, ("d", "c")) for key in KEYS]
    monkeypatch.setattr(joint, "spaces", lambda target="": [Space(**{**vars(one), "claims": lambda universe: never})])
    found = joint.search("iot", quick=True, workers=1)
    assert (dict(found.choices), found.is_recommended) == ({}, False)
    assert "In none of them more" in joint_rows.verdict(found)[0]


def test_dimensions_of_several_spaces_are_joined_by_name_and_choices() -> None:
    """PHCC with one flow and with three has the same α; the access links have another base."""
    joined = joint.Joined(spaces("phcc"))
    assert joined.base["alpha"] == "100"
    assert "access links (three-flows)" in joined.dimensions
    changed = {**joined.base, "alpha": "20", "access links (three-flows)": "1 Gbps"}
    one, three = joined.universe(0, changed), joined.universe(1, changed)
    assert (one["alpha"], three["alpha"], three["access links"]) == ("20", "20", "1 Gbps")
    assert one["access links"] == joined.spaces[0].base["access links"]


def test_a_reading_of_other_choices_is_refused(tmp_path: Path) -> None:
    assert joint.reading(tmp_path, "iot") is None
    tallies: joint.Tallies = {KEYS[0]: "holds"}
    found = joint.Reading("iot", {"colour": "red"}, 1, (1, 2), (3, 8), KEYS[:1], (tallies,) * 2, (tallies,) * 2)
    joint.save(found, tmp_path)
    with pytest.raises(RecordsError, match="dimensions and headlines"):
        joint.reading(tmp_path, "iot")


def test_the_recommended_reading_is_the_default_of_the_algorithm_and_explained() -> None:
    """What a paper leaves open is chosen by the reading, and the rest by the print: `phcc` without parameters is that
    algorithm, and `explain` names the parameters that the reading chose. One difference: RFC 5681 (3.1) requires a
    window of one segment after a timeout, which the paper halves."""
    found = joint.reading(RESULTS, "phcc")
    assert found is not None
    assert found.is_recommended
    joined = joint.Joined(spaces("phcc"))
    universe = joined.universe(0, {**joined.base, **found.choices})
    flow = joined.spaces[0].cases(universe)[0].scenario["flow"][0]["algorithm"]
    chosen = dict(part.split("=") for part in flow.split("(")[1].split(")")[0].split(", "))
    (entry,) = cwndlab.catalogue.entries_of("phcc")
    defaults = {one["name"]: one["default"] for one in entry.as_dict()["parameters"]}
    assert [name for name, value in chosen.items() if _number(value) != _number(defaults[name])] == ["timeout"]
    base = joined.spaces[0].cases(joined.universe(0, joined.base))[0].scenario["flow"][0]["algorithm"]
    printed = dict(part.split("=") for part in base.split("(")[1].split(")")[0].split(", "))
    (named,) = (one for one in entry.choices if one.startswith("recommended reading"))
    listed = named.split("defaults, ")[1].split(";")[0]
    assert set(listed.split(", ")) == {f"{name}={value}" for name, value in chosen.items() if value != printed[name]}


def test_what_the_recommended_reading_has_beside_the_algorithm_is_named_where_its_parameters_are() -> None:
    """Recovery and the parameters of other algorithms are choices of the reading that no parameter of `phcc` makes."""
    found = joint.reading(RESULTS, "phcc")
    assert found is not None
    joined = joint.Joined(spaces("phcc"))

    def parameters(choices: Mapping[str, str]) -> str:
        universe = joined.universe(0, {**joined.base, **choices})
        algorithm: str = joined.spaces[0].cases(universe)[0].scenario["flow"][0]["algorithm"]
        return algorithm.split(")")[0]

    beside = [name for name, choice in found.choices.items() if parameters({name: choice}) == parameters({})]
    assert beside == ["parameters of the others", "recovery"]
    (entry,) = cwndlab.catalogue.entries_of("phcc")
    (named,) = (one for one in entry.choices if one.startswith("recommended reading"))
    (assumed,) = (one for one in PAPERS["phcc"].document["assumptions"] if "recommended reading" in one)
    assert "phcc/newreno, and the algorithms beside it have ns-2.35's parameters" in named
    for name in beside:
        assert name in assumed
    # No run has all of the reading, and none is called so.
    called = {name: text for name, text in PAPERS["phcc"].document["algorithms"].items() if "recommended" in name}
    assert called == {"PHCC, recommended parameters": "phcc(timeout=half)"}


def _number(value: str | float | bool) -> str | float:
    words = {True: "on", False: "off"}
    try:
        return words[value] if isinstance(value, bool) else float(value)
    except ValueError:
        return str(value)
