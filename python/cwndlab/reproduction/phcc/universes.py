"""What the PHCC paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Control, Greater, Less, Overall, Term, Value, ValueIn
from cwndlab.reproduction.phcc.path import (
    FAIR,
    FAST_ACCESS,
    HALF,
    HIGH_SPEED,
    LOSS_BASED,
    STATED_ACCESS,
    VARIANTS,
    measure,
    scenario,
)
from cwndlab.reproduction.phcc.shared import TABLE1_PUBLISHED, TABLE2_PUBLISHED
from cwndlab.reproduction.universes import Dimension, Space, Universe

_ALPHA = Dimension("alpha", "§ 3.4, Eq. 6 has α without a value.", ("100", "10", "20", "50", "200"))
_SUM = Dimension(
    "sum of Eq. 3", "§ 3.3: Eq. 3 adds two probabilities, which can exceed 1.", ("at most 1", "their mean")
)
_PACING = Dimension("pacing", "The paper does not mention it; its windows can double within an RTT.", ("off", "on"))
_THRESHOLD = Dimension(
    "delayed round",
    "§ 3.3 speaks of a degree of belief in a delay and does not say which round counts as delayed.",
    ("0.5", "0.25", "0.75"),
)
_MEMORY = Dimension(
    "memory", "§ 3.3 gives likelihoods and no estimator: for how long rounds count.", ("0.95", "0.5", "1")
)
_PRIOR = Dimension(
    "prior of a loss", "§ 3.3 gives likelihoods and no estimator: what holds before any loss.", ("0.01", "0.001", "0.1")
)
_SPREAD = Dimension(
    "change of the window",
    "§ 3.4 estimates the window by Eq. 7 and does not say how it is applied.",
    ("over an RTT", "at once"),
)
_CAP = Dimension(
    "limit of the delay target", "§ 3.4: Eq. 6 has no bound where the queue is short.", ("none", "twice the window")
)
_UNLOST = Dimension(
    "loss target before a loss",
    "§ 3.4 updates the loss reference at a loss only.",
    ("twice the window", "the delay target"),
)
_D_MAX = Dimension("D_max", "§ 3.5 prints D_max as a set of two thresholds.", ("the larger one", "of delay", "of loss"))
_CRITICAL = Dimension(
    "critical phase", "§ 3.5 defines it and gives no rule for it.", ("window at most that of Eq. 7", "constant window")
)
_RTT = Dimension(
    "D of Eq. 6", "§ 3.4 calls it the current delay and gives no estimator.", ("mean of a round", "smoothed")
)
_FLOOR = Dimension(
    "least queueing delay", "§ 3.4: Eq. 6 divides by the queueing delay, which can be 0.", ("1 ms", "0.1 ms", "10 ms")
)
_ALGORITHM = (
    _ALPHA,
    _SUM,
    _PACING,
    _THRESHOLD,
    _MEMORY,
    _PRIOR,
    _SPREAD,
    _CAP,
    _UNLOST,
    _D_MAX,
    _CRITICAL,
    _RTT,
    _FLOOR,
)
_ACCESS_OF_ONE = Dimension(
    "access links", "§ 4 states 200 Mbit/s, at which one flow queues at its host.", (FAST_ACCESS, STATED_ACCESS)
)
_ACCESS_OF_SEVERAL = Dimension(
    "access links",
    "§ 4 states 200 Mbit/s for all links; for single flows the base differs, and here both are run.",
    (STATED_ACCESS, FAST_ACCESS),
)
_HEADERS = Dimension(
    "packets of 1000 bytes",
    "§ 4 does not say whether headers are in them; ns-2's Vegas agent counts none.",
    ("without headers", "with 40 bytes of headers in them"),
)
_RIVALS = Dimension(
    "parameters of the others",
    '§ 4: "their default parameter setting is used", that of ns-2.35 or of their authors; FAST and HCC have a target '
    "that depends on the line.",
    ("their sources'", "ns-2.35's", "ns-2.35's, FAST with 100 packets, HCC with 20"),
)
_RECOVERY = Dimension("recovery", "§ 4 names none, and modifies ns-2's Vegas agent for PHCC.", ("FACK", "NewReno"))
_FIG8_FLOWS = Dimension(
    "flows of Fig. 8",
    '§ 4: PHCC is "to compete with" a normal and a fast flow: one beside the other, or on one link.',
    ("each alone", "three on one link"),
)
_FIG8_BUFFER = Dimension("buffer of Fig. 8", "§ 4 names none.", ("2000", "600"))
_STABILITY = Dimension(
    "stability", "The abstract claims it and § 4 does not define it.", ("variation over 1 s", "variation over 10 s")
)
_STARTS = Dimension(
    "starts of Fig. 14",
    "§ 4 states starts at 0 s for Fig. 13 and none for Fig. 14.",
    ("together", "Reno 10 s earlier", "Reno 10 s later"),
)
_FRIENDLY = Dimension(
    "friendliness", "§ 4 shows throughputs and has no index.", ("Jain's index of both kinds", "share of Reno")
)

_MINE = "PHCC"
#: ns-2.35's settings and peculiarities where they differ from the sources of the others.
_NS2 = {
    "Vegas": "vegas(alpha=1, beta=3, rtt=mean, rounding=whole)",
    "STCP": "scalable(ai_cnt=50)",
    "H-TCP": "htcp(rtt=smoothed)",
    "Illinois": "illinois(decrease=ns2)",
    "BIC": "bic(ack_ratio=ns2, counter=linux)",
    "FAST": "fast(weight=0.00390625)",
}
_NS2_LARGE = {**_NS2, "FAST": "fast(alpha=100, weight=0.00390625)", "HCC": "hcc(alpha=20)"}
_SETTINGS: Mapping[str, Mapping[str, str]] = dict(zip(_RIVALS.choices, ({}, _NS2, _NS2_LARGE), strict=True))


def _second(universe: Universe, one: Dimension) -> bool:
    """Whether the universe has the second choice of a dimension."""
    return universe[one.name] == one.choices[1]


def _phcc(universe: Universe) -> str:
    options = {
        "alpha": universe["alpha"],
        "eq3": "mean" if _second(universe, _SUM) else "clamp",
        "pacing": universe["pacing"],
        "threshold": universe["delayed round"],
        "memory": universe["memory"],
        "loss_prior": universe["prior of a loss"],
        "spread": "off" if _second(universe, _SPREAD) else "on",
        "delay_cap": "on" if _second(universe, _CAP) else "off",
        "unlost": "delay" if _second(universe, _UNLOST) else "double",
        "d_max": dict(zip(_D_MAX.choices, ("both", "delay", "loss"), strict=True))[universe["D_max"]],
        "critical": "hold" if _second(universe, _CRITICAL) else "cap",
        "rtt": "smoothed" if _second(universe, _RTT) else "mean",
        "q_floor": universe["least queueing delay"].removesuffix(" ms"),
    }
    return f"phcc({', '.join(f'{name}={value}' for name, value in options.items())})"


def _text(variant: str, universe: Universe) -> str:
    """The algorithm of a variant; without a recovery it has that of its profile."""
    settings = _SETTINGS[universe["parameters of the others"]]
    text = _phcc(universe) if variant == _MINE else settings.get(variant, VARIANTS[variant])
    return f"{text}/newreno" if _second(universe, _RECOVERY) else text


def _document(universe: Universe, variants: Sequence[str], **path: Any) -> Mapping[str, Any]:
    texts = [_text(one, universe) for one in variants]
    document = scenario(texts, access=universe["access links"], **path)
    if _HEADERS.name in universe and _second(universe, _HEADERS):
        for flow in document["flow"]:
            flow["stack"] = {"mss": "960 B", "header": "40 B"}
    return document


# One flow.

_ONE_S = 35.0
#: A small and a large buffer of Figure 9 from 300 packets on; the random losses of Figure 8.
_BUFFERS, _LARGE = (400, 4000), 4000
_LOSSES = _RARE, _COMMON = 1e-5, 1e-2
_FIG8 = (_MINE, "Reno", "HSTCP")
_EVERY = ("Reno", "Vegas", *HIGH_SPEED)


def _one(universe: Universe) -> list[Case]:
    cases = [
        Case(
            {"variant": variant, "figure": "9", "at": buffer},
            _document(universe, [variant], buffer=buffer, duration_s=_ONE_S),
            measure,
        )
        for buffer in _BUFFERS
        for variant in (_MINE, *_EVERY)
    ]
    for loss in _LOSSES:
        for place, variant in enumerate(_FIG8):
            # The first flow is the variant's.
            others = [*_FIG8[place + 1 :], *_FIG8[:place]] if _second(universe, _FIG8_FLOWS) else []
            path = {"buffer": int(universe["buffer of Fig. 8"]), "duration_s": _ONE_S, "loss": loss}
            document = _document(universe, [variant, *others], **path)
            cases.append(Case({"variant": variant, "figure": "8", "at": loss}, document, measure))
    return cases


def _one_claims(universe: Universe) -> list[Claim]:
    del universe

    def sides(figure: str, others: Sequence[str], **at: float) -> list[Labels]:
        return [{"variant": one, "figure": figure, **at} for one in (_MINE, *others)]

    metric = "goodput_bps"
    # With access links at the rate of the bottleneck a flow queues at its host: then the buffer and the variant are
    # without effect.
    reno: Labels = {"variant": "Reno", "figure": "9"}
    queues = [Control("queue_packets", reno, 1.0, inf, "a single flow queues at its host and not at the bottleneck")]
    good = Overall([Term(metric, True, {})], 0.02, at_least=0.99)
    claims = [
        Claim(
            "throughput / the mean of the high-speed variants, 400 and 4000 packets",
            "acts well",
            "",
            sides("9", HIGH_SPEED),
            good,
            headline="phcc:throughput",
            controls=queues,
        ),
        Claim(
            "throughput / each other variant, 400 and 4000 packets",
            "better",
            metric,
            sides("9", _EVERY),
            Greater(),
            headline="phcc:throughput-best",
            controls=queues,
        ),
        Claim(
            f"queue with {_LARGE} packets of buffer / each loss-based variant",
            "optimal, read as shorter",
            "queue_packets",
            sides("9", ("Reno", *LOSS_BASED), at=_LARGE),
            Less(),
            headline="phcc:queue",
            controls=queues,
        ),
        Claim(
            f"variation of throughput over 1 s with a loss of {_RARE:g} / Reno, HSTCP",
            "others fluctuate severely",
            "cov_1s_of_first",
            sides("8", _FIG8[1:], at=_RARE),
            Less(),
            headline="phcc:fluctuations",
        ),
        Claim(
            "throughput with both losses / Reno",
            "acceptable",
            "goodput_1_bps",
            sides("8", ("Reno",)),
            Greater(),
            headline="phcc:loss-acceptable",
        ),
    ]
    for loss in _LOSSES:
        title = f"throughput with a loss of {loss:g} / Reno, HSTCP"
        where = sides("8", _FIG8[1:], at=loss)
        claims.append(Claim(title, "better", "goodput_1_bps", where, Greater(), headline="phcc:loss"))
    return claims


# Three flows.

_THREE_S, _STEP_S = 40.0, 10.0
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
        for variant in (_MINE, *HIGH_SPEED)
    ]
    starts = [0.0, _STEP_S, 2 * _STEP_S]
    document = _document(universe, [_MINE] * 3, buffer=_STAGGERED_BUFFER, duration_s=_THREE_S, starts_s=starts)
    return [*cases, Case({"variant": _MINE, "buffer": _STAGGERED_BUFFER, "starts": "staggered"}, document, measure)]


def _three_claims(universe: Universe) -> list[Claim]:
    def side(variant: str, buffer: int, starts: str = "together") -> Labels:
        return {"variant": variant, "buffer": buffer, "starts": starts}

    def all_at(buffer: int) -> list[Labels]:
        return [side(one, buffer) for one in (_MINE, *HIGH_SPEED)]

    _, share = TABLE1_PUBLISHED[_MINE]
    mine, small = [side(_MINE, _SMALL)], all_at(_SMALL)
    used, title = "utilisation", f"utilisation, {_SMALL} packets"
    swing = "cov_10s" if _second(universe, _STABILITY) else "cov_1s"
    index = "Jain's index"
    claims = [
        Claim(title, f"{share:.0%}", used, mine, Value(share, points=0.02), headline="phcc:utilisation"),
        Claim(f"{title} / each other", "better", used, small, Greater(), headline="phcc:utilisation-best"),
        Claim("variation of throughput / each other", "more stable", swing, small, Less(), headline="phcc:stability"),
    ]
    for buffer in _TABLE2:
        _, printed = TABLE2_PUBLISHED[buffer][_MINE]
        met = Value(printed, points=0.02)
        where, title = [side(_MINE, buffer)], f"{index}, {buffer} packets"
        claims.append(Claim(title, f"{printed:g}", "jain", where, met, headline="phcc:fairness"))
        title, key = f"{title} / each other", "phcc:fairness-best"
        claims.append(Claim(title, "best", "jain", all_at(buffer), Greater(), headline=key))
    late = [side(_MINE, _STAGGERED_BUFFER, "staggered")]
    title = f"{index} after staggered starts"
    claims.append(Claim(title, "fair", "jain_together", late, ValueIn(FAIR, inf), headline="phcc:fairness"))
    return claims


# Beside Reno.

_MIXED_S = 40.0


def _mixed(universe: Universe) -> list[Case]:
    late = {"together": (0.0, 0.0), "Reno 10 s earlier": (0.0, 10.0), "Reno 10 s later": (10.0, 0.0)}
    reno, other = late[universe["starts of Fig. 14"]]
    starts = [reno, reno, other, other]
    return [
        Case(
            {"variant": variant, "buffer": buffer},
            _document(
                universe, ["Reno", "Reno", variant, variant], buffer=buffer, duration_s=_MIXED_S, starts_s=starts
            ),
            measure,
        )
        for buffer in _TABLE2
        for variant in (_MINE, *HIGH_SPEED)
    ]


def _mixed_claims(universe: Universe) -> list[Claim]:
    metric = "first_share" if _second(universe, _FRIENDLY) else "jain_of_kinds"
    key, claims = "phcc:friendliness", []
    for buffer in _TABLE2:
        sides: list[Labels] = [{"variant": one, "buffer": buffer} for one in (_MINE, *HIGH_SPEED)]
        title = f"friendliness to Reno, {buffer} packets, PHCC / each other"
        claims.append(Claim(title, "superior", metric, sides, Greater(), headline=key))
        title = f"share of Reno beside PHCC, {buffer} packets"
        claims.append(
            Claim(title, "does not overwhelm Reno", "first_share", sides[:1], ValueIn(HALF[0], inf), headline=key)
        )
    both: list[Labels] = [{"variant": _MINE, "buffer": buffer} for buffer in reversed(_TABLE2)]
    title, key = "friendliness to Reno, 2000 / 600 packets", "phcc:friendlier-with-buffer"
    claims.append(Claim(title, "more friendly", metric, both, Greater(), headline=key))
    return claims


_SAMPLE: dict[str, int] = {"repetitions": 3, "universes": 200, "quick": 8}
SPACES = (
    Space(
        "phcc/one-flow",
        "one flow: throughput, queue, random loss (Figs. 8 to 11)",
        (*_ALGORITHM, _ACCESS_OF_ONE, _RIVALS, _RECOVERY, _FIG8_FLOWS, _FIG8_BUFFER),
        _one,
        _one_claims,
        **_SAMPLE,
    ),
    Space(
        "phcc/three-flows",
        "three flows: utilisation, stability, fairness (Tables 1, 2, Figs. 12, 13)",
        (*_ALGORITHM, _ACCESS_OF_SEVERAL, _HEADERS, _RIVALS, _RECOVERY, _STABILITY),
        _three,
        _three_claims,
        **_SAMPLE,
    ),
    Space(
        "phcc/beside-reno",
        "two flows beside two of Reno: friendliness (Fig. 14)",
        (*_ALGORITHM, _ACCESS_OF_SEVERAL, _RIVALS, _RECOVERY, _STARTS, _FRIENDLY),
        _mixed,
        _mixed_claims,
        **_SAMPLE,
    ),
)
