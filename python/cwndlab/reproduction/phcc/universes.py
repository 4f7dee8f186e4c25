"""What the PHCC paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, Less, RatioIn, Value, ValueIn
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe
from cwndlab.reproduction.phcc.path import LOSS_BASED, VARIANTS, measure, scenario
from cwndlab.reproduction.phcc.shared import TABLE1_PUBLISHED, TABLE2_PUBLISHED

_ALPHA = Dimension("alpha", "Eq. 6 has alpha without a value.", ("100", "10", "20", "50", "200"))
_PACING = Dimension("pacing", "§ 3 doubles windows and does not say how packets are spread.", ("on", "off"))
_CAP = Dimension(
    "limit of a step", "Eq. 7 names no bound; FAST's is 2 w.", ("on the weighted target", "on the delay target too")
)
_ESTIMATOR = Dimension("sum of Eq. 3", "Eq. 3 adds two probabilities, which can exceed 1.", ("their mean", "at most 1"))
_THRESHOLD = Dimension(
    "delayed round", "§ 3.2 does not say from which delay on a round counts as delayed.", ("0.5", "0.25", "0.75")
)
_MEMORY = Dimension("memory", "§ 3.2 does not say for how long transitions count.", ("0.95", "0.8", "0.99"))
_CRITICAL = Dimension("critical phase", "§ 3.5 says only that the window does not grow.", ("cap", "hold"))
_HEADERS = Dimension(
    "packets of 1000 bytes", "The paper does not say whether headers come on top.", ("with headers", "and 40 more")
)
_ALGORITHM = (_ALPHA, _PACING, _CAP, _ESTIMATOR, _THRESHOLD, _MEMORY, _CRITICAL)

_MINE = "PHCC"


def _phcc(universe: Universe) -> str:
    options = {"alpha": universe["alpha"]}
    if universe["pacing"] == "off":
        options["pacing"] = "off"
    if universe["limit of a step"] == _CAP.choices[1]:
        options["delay_cap"] = "on"
    if universe["sum of Eq. 3"] == _ESTIMATOR.choices[1]:
        options["eq3"] = "clamp"
    options |= {"threshold": universe["delayed round"], "memory": universe["memory"]}
    options["critical"] = universe["critical phase"]
    return f"phcc({', '.join(f'{name}={value}' for name, value in options.items())})"


def _text(variant: str, universe: Universe) -> str:
    return _phcc(universe) if variant == _MINE else VARIANTS[variant]


def _document(universe: Universe, variants: Sequence[str], **path: Any) -> Mapping[str, Any]:
    document = scenario([_text(one, universe) for one in variants], **path)
    if universe["packets of 1000 bytes"] == _HEADERS.choices[1]:
        for flow in document["flow"]:
            flow["stack"] = {"mss": "1000 B", "header": "40 B"}
    return document


# One flow.

_ONE_S = 60.0
#: Buffers of Figure 9 from 300 packets on, and random losses of Figures 8 and 10 with 2000 packets of buffer.
_BUFFERS, _LARGE, _LOSS_BUFFER = (400, 1000, 4000), 4000, 2000
_RARE, _COMMON = 1e-5, 1e-2
_FAST = (*LOSS_BASED, "FAST", "HCC")


def _one(universe: Universe) -> list[Case]:
    paths = [(buffer, 0.0) for buffer in _BUFFERS] + [(_LOSS_BUFFER, loss) for loss in (_RARE, _COMMON)]
    return [
        Case(
            {"variant": variant, "buffer": buffer, "loss": loss},
            _document(universe, [variant], buffer=buffer, duration_s=_ONE_S, loss=loss),
            measure,
        )
        for buffer, loss in paths
        for variant in (_MINE, "Reno", *_FAST)
    ]


def _one_claims(universe: Universe) -> list[Claim]:
    del universe

    def side(variant: str, buffer: int, loss: float = 0.0) -> Labels:
        return {"variant": variant, "buffer": buffer, "loss": loss}

    metric = "goodput_bps"
    mine: Labels = {"variant": _MINE, "loss": 0.0}
    rivals: list[Labels] = [{"variant": other, "loss": 0.0} for other in _FAST]
    claims = [
        Claim(
            "utilisation with 400 packets of buffer and more",
            "good",
            "utilisation",
            [mine],
            ValueIn(0.9, inf),
            headline="phcc:throughput",
            each="buffer",
        ),
        Claim(
            "throughput / each high-speed variant, each buffer",
            "well beside them",
            metric,
            [mine, *rivals],
            RatioIn(0.99, inf),
            headline="phcc:throughput",
            each="buffer",
        ),
        Claim(
            f"queue with {_LARGE} packets of buffer / STCP and BIC",
            "small",
            "queue_packets",
            [side(one, _LARGE) for one in (_MINE, "STCP", "BIC")],
            Less(),
            headline="phcc:queue",
        ),
    ]
    for loss in (_COMMON, _RARE):
        sides = [side(one, _LOSS_BUFFER, loss) for one in (_MINE, "Reno", "HSTCP", "FAST")]
        title = f"throughput with a loss of {loss:g} / Reno, HSTCP, FAST"
        claims.append(Claim(title, "better", metric, sides, Greater(), headline="phcc:loss"))
        title = f"utilisation with a loss of {loss:g}"
        claims.append(
            Claim(title, "does not collapse", "utilisation", sides[:1], ValueIn(0.5, inf), headline="phcc:loss")
        )
    return claims


# Three flows.

_THREE_S, _STEP_S = 100.0, 10.0
_SMALL, _TABLE2 = 600, (600, 2000)
_STAGGERED_BUFFER = 200


def _three(universe: Universe) -> list[Case]:
    cases = [
        Case(
            {"variant": variant, "buffer": buffer, "starts": "together"},
            _document(universe, [variant] * 3, buffer=buffer, duration_s=_THREE_S),
            measure,
        )
        for buffer in _TABLE2
        for variant in ((_MINE, *_FAST) if buffer == _SMALL else (_MINE,))
    ]
    starts = [0.0, _STEP_S, 2 * _STEP_S]
    document = _document(universe, [_MINE] * 3, buffer=_STAGGERED_BUFFER, duration_s=_THREE_S, starts_s=starts)
    return [*cases, Case({"variant": _MINE, "buffer": _STAGGERED_BUFFER, "starts": "staggered"}, document, measure)]


def _three_claims(universe: Universe) -> list[Claim]:
    del universe

    def side(variant: str, buffer: int, starts: str = "together") -> Labels:
        return {"variant": variant, "buffer": buffer, "starts": starts}

    _, share = TABLE1_PUBLISHED[_MINE]
    claims = [
        Claim(
            f"utilisation, {_SMALL} packets",
            f"{share:.0%}",
            "utilisation",
            [side(_MINE, _SMALL)],
            Value(share, points=0.05),
            headline="phcc:utilisation",
        ),
        Claim(
            "variation of throughput over 1 s / each competitor",
            "more stable",
            "cov_1s",
            [side(one, _SMALL) for one in (_MINE, *_FAST)],
            Less(),
            headline="phcc:stability",
        ),
    ]
    for buffer in _TABLE2:
        _, index = TABLE2_PUBLISHED[buffer][_MINE]
        title = f"Jain's index, {buffer} packets"
        claims.append(
            Claim(
                title, f"{index:g}", "jain", [side(_MINE, buffer)], Value(index, points=0.02), headline="phcc:fairness"
            )
        )
    late = [side(_MINE, _STAGGERED_BUFFER, "staggered")]
    title = "Jain's index after staggered starts"
    claims.append(Claim(title, "fair", "jain_together", late, ValueIn(0.95, inf), headline="phcc:fairness"))
    return claims


# Beside Reno.


def _mixed(universe: Universe) -> list[Case]:
    return [
        Case(
            {"variant": variant, "buffer": buffer},
            _document(universe, ["Reno", "Reno", variant, variant], buffer=buffer, duration_s=_THREE_S),
            measure,
        )
        for buffer in _TABLE2
        for variant in (_MINE, *_FAST)
    ]


def _mixed_claims(universe: Universe) -> list[Claim]:
    del universe
    words, key = "PHCC friendliest", "phcc:friendliness"
    claims = []
    for buffer in _TABLE2:
        sides: list[Labels] = [{"variant": one, "buffer": buffer} for one in (_MINE, *_FAST)]
        title = f"Jain's index beside Reno, {buffer} packets, PHCC / each competitor"
        claims.append(Claim(title, words, "jain_of_kinds", sides, Greater(), headline=key))
    return claims


_DIMENSIONS = (*_ALGORITHM, _HEADERS)
SPACES = (
    Space(
        "phcc/one-flow",
        "one flow: throughput, queue, random loss (Figs. 8 to 11)",
        _DIMENSIONS,
        _one,
        _one_claims,
        repetitions=3,
        universes=200,
        quick=8,
    ),
    Space(
        "phcc/three-flows",
        "three flows: utilisation, stability, fairness (Tables 1, 2, Figs. 12, 13)",
        _DIMENSIONS,
        _three,
        _three_claims,
        repetitions=3,
        universes=200,
        quick=8,
    ),
    Space(
        "phcc/beside-reno",
        "two flows beside two of Reno: friendliness (Fig. 14)",
        _DIMENSIONS,
        _mixed,
        _mixed_claims,
        repetitions=3,
        universes=200,
        quick=8,
    ),
)
