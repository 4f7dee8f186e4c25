"""What holds together, in rows and sentences: for the terminal, a paper's page, and the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.multiverse.joint import Reading, Tallies, Together
from cwndlab.reproduction.multiverse.robustness import Tally

COLUMNS = ("claim", "the search counted it", "at base assumptions", "in the reading")
_WORDS: Mapping[Tally, str] = {"ties": "no effect", "cannot discriminate": "set-up cannot discriminate"}


def word(tally: Tally) -> str:
    """A tally as a reader knows it from the outcomes."""
    return _WORDS.get(tally, tally)


def sentence_of(key: str) -> str:
    """The claim of a headline."""
    return next(one.claim for one in headlines() if one.key == key)


def rows(one: Reading) -> list[dict[str, str]]:
    """Every claim at the base assumptions and in the reading, with seeds that the search did not have."""
    base, found = one.judged
    return [
        dict(zip(COLUMNS, (sentence_of(key), _counted(key, one), word(base[key]), word(found[key])), strict=True))
        for key in base
    ]


def _counted(key: str, one: Reading) -> str:
    return "yes" if key in one.chosen_by else "no"


def verdict(one: Reading) -> list[str]:
    """What the search found, and whether its reading is recommended: a sentence each."""
    first, most = one.seeds
    searched, unseen = (tuple(map(_held, sides)) for sides in (one.searched, one.unseen))
    again = tuple(_held({key: side[key] for key in one.chosen_by}) for side in one.judged)
    total, others = len(one.chosen_by), len(one.unseen[0])
    if not one.choices:
        return [
            f"The search tried {one.trials} sets of choices. In none of them more of the {total} claims that it "
            f"counted hold than at the base assumptions ({searched[0]})."
        ]
    return [
        f"The search tried {one.trials} sets of choices (seeds from {first}). Of the {total} claims that it counted, "
        f"{_hold(searched[1])} in the reading it found, and {searched[0]} at the base assumptions; with new seeds "
        f"(from {most}) {again[1]} and {again[0]}.",
        f"Of the {others} claims that it did not count, {_hold(unseen[1])} in the reading, and {unseen[0]} at the base "
        f"assumptions, with new seeds. {_recommendation(one)}",
        "The reading: " + "; ".join(f"{label}: {choice}" for label, choice in one.choices.items()) + ".",
    ]


def _recommendation(one: Reading) -> str:
    if one.is_recommended:
        return "It is the recommended reading."
    return "It is not recommended: of the claims that did not choose it, no more hold, or more are opposite."


def _hold(many: int) -> str:
    return f"{many} holds" if many == 1 else f"{many} hold"


def _held(tallies: Tallies) -> int:
    return list(tallies.values()).count("holds")


def together_rows(found: Sequence[Together]) -> list[dict[str, str]]:
    """The spaces of a paper: how many claims hold in one universe, and with which choices."""
    return [
        {
            "claims": one.space.title,
            "hold at base assumptions": f"{_held(one.base)} of {len(one.base)}",
            "hold together at most": f"{_held(one.best)} of {len(one.best)}",
            "opposite there": str(list(one.best.values()).count("opposite")),
            "with": "; ".join(
                f"{name}: {choice}" for name, choice in one.universe.items() if choice != one.space.base[name]
            )
            or "the base assumptions",
        }
        for one in found
    ]


def exclusive_rows(found: Sequence[Together]) -> list[dict[str, str]]:
    """The pairs of claims that exclude each other."""
    return [
        {"claims": one.space.title, "where this holds": sentence_of(first), "this does not": sentence_of(second)}
        for one in found
        for first, second in one.exclusive
    ]
