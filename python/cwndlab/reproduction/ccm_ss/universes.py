"""What the CCM-SS paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.ccm_ss.grid import LINUX, NS2, PARTS, SEGMENT_BYTES, measure, scenario
from cwndlab.reproduction.ccm_ss.others import OTHERS
from cwndlab.reproduction.claims import Claim, Greater, Less, Relation, Welch
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe

_AVOIDANCE = Dimension(
    "avoidance",
    "The text puts CCM-SS under CUBIC; Algorithm 1 prints Reno's avoidance with μβ as the decrease.",
    ("CUBIC", "Algorithm 1"),
)
_BASELINE = Dimension(
    "HyStart",
    "§ VI-B gives HyStart the bounds of CCM-SS with μ = 1; HyStart as published, in Linux and in RFC 9406 has none.",
    ("both bounds", "as published", "Linux", "RFC 9406"),
)
_DELAY = Dimension("D", "Eq. 17 takes half of the minimum RTT, other places the RTT.", ("half the RTT", "the RTT"))
_FORCED = Dimension(
    "exit above SCCP", "It is not said whether slow start ends by force above SCCP.", ("forced", "not forced")
)
_WINDOW = Dimension(
    "initial window", "§ VI-B and Fig. 11 set it to the lower bound; § V does not.", ("2", "lower bound", "10")
)
_BUFFER = Dimension(
    "buffer",
    'Table 3 has buffers of 0.01 to 2 "percent" of the BDP; the suite that it cites has fractions.',
    ("0.5 BDP", "0.1 BDP", "2 BDP", "0.02 BDP"),
)
_STACK = Dimension("stack", "The paper does not name the agents and their ACKs.", ("ns-2", "Linux"))
_JITTER = Dimension("start jitter", "The paper does not say in what its repetitions differ.", ("one RTT", "1 s"))
_RTTS = Dimension(
    "RTTs", "Figures name long and short RTTs and no pair of them.", ("100 and 190 ms", "100 and 50 ms", "50 and 16 ms")
)

#: The lowest of the paper's five bandwidths; the paper's duration; the late start of Figure 14.
_BANDWIDTH_MBPS, _DURATION_S, _LATE_S = 50, 600.0, 150.0
_MINE = "CCM-SS"
_MU = {_MINE: 1.5, "HyStart": 1.0}
_BETA = 0.2


def _module(side: str, universe: Universe) -> str:
    """The slow start of a side."""
    if side != _MINE and universe["HyStart"] != "both bounds":
        return {"as published": "hystart", "Linux": "hystart-linux", "RFC 9406": "hystart-pp"}[universe["HyStart"]]
    options = {"mu": f"{_MU[side]:g}"}
    if universe["D"] == _DELAY.choices[1]:
        options["delay"] = "full"
    if universe["exit above SCCP"] == _FORCED.choices[1]:
        options["bound"] = "lower"
    return f"ccm-ss({', '.join(f'{name}={value}' for name, value in options.items())})"


def _algorithm(side: str, universe: Universe) -> str:
    is_linux = universe["stack"] == "Linux"
    printed = side == _MINE and universe["avoidance"] == _AVOIDANCE.choices[1]
    avoidance = "reno(beta=0.7)" if printed else "cubic" if is_linux else "cubic-ns2"
    return f"{avoidance}+{_module(side, universe)}/{'rack' if is_linux else 'sack'}"


def _rtts(universe: Universe) -> tuple[int, int]:
    first, second = universe["RTTs"].removesuffix(" ms").split(" and ")
    return int(first), int(second)


def _flow_stack(mu: float, rtt_ms: int, universe: Universe) -> dict[str, Any]:
    base: Mapping[str, Any] = LINUX if universe["stack"] == "Linux" else NS2
    if universe["initial window"] == "lower bound":
        window = max(2, round(mu * _BETA * _BANDWIDTH_MBPS * 1e6 * (rtt_ms / 2e3) / 8 / SEGMENT_BYTES))
    else:
        window = int(universe["initial window"])
    return {**base, "stack": {**base["stack"], "initial_window": window}}


def _document(text: str, mu: float, universe: Universe, second_start_s: float) -> dict[str, Any]:
    rtts = _rtts(universe)
    document = scenario(
        text,
        [_flow_stack(mu, rtt, universe) for rtt in rtts],
        bandwidth_mbps=_BANDWIDTH_MBPS,
        buffer_bdp=float(universe["buffer"].split()[0]),
        rtts_ms=rtts,
        duration_s=_DURATION_S,
        second_start_s=second_start_s,
    )
    if universe["start jitter"] == "1 s":
        document["start_jitter"] = "1 s"
    return document


_STARTS = {"together": 2.0, "late": _LATE_S}


def _cases(universe: Universe) -> list[Case]:
    return [
        Case(
            {"side": side, "second flow": start},
            _document(_algorithm(side, universe), _MU[side], universe, second_start_s),
            measure,
        )
        for start, second_start_s in _STARTS.items()
        for side in (_MINE, "HyStart")
    ]


def _claims(universe: Universe) -> list[Claim]:
    del universe

    def sides(start: str) -> list[Labels]:
        return [{"side": side, "second flow": start} for side in (_MINE, "HyStart")]

    together, late = sides("together"), sides("late")
    parts = tuple(f"drops_per_s_{part}" for part in range(1, PARTS + 1))
    goodput = "sent_goodput_bps"
    return [
        Claim("drops per second", "10 % lower", "drops_per_s", together, Less(), headline="ccm-ss:loss"),
        Claim(
            f"drops per second in each of {PARTS} parts of the run",
            "lower all along",
            parts,
            together,
            Less(),
            headline="ccm-ss:throughout",
        ),
        Claim("goodput", "higher", goodput, together, Greater(), headline="ccm-ss:goodput"),
        Claim("convergence time", "faster", "convergence_s", late, Less(), headline="ccm-ss:convergence"),
        Claim("Jain's index", "fairer", "jain", late, Greater(), headline="ccm-ss:fairness"),
        Claim(
            "drops per second, Welch's test",
            "p < 0.05",
            "drops_per_s",
            together,
            Welch(up=False),
            headline="ccm-ss:significance",
        ),
        Claim("goodput, Welch's test", "p < 0.05", goodput, together, Welch(up=True), headline="ccm-ss:significance"),
    ]


def _others(universe: Universe) -> list[Case]:
    texts = {_MINE: _algorithm(_MINE, universe), **OTHERS}
    if universe["stack"] == "Linux":
        texts = {name: text.replace("cubic-ns2", "cubic").replace("/sack", "/rack") for name, text in texts.items()}
    return [
        Case({"variant": name}, _document(text, _MU[_MINE], universe, _LATE_S), measure) for name, text in texts.items()
    ]


def _others_claims(universe: Universe) -> list[Claim]:
    del universe
    sides: list[Labels] = [{"variant": _MINE}, *({"variant": other} for other in OTHERS)]
    claims = []
    for metric, title, more in (
        ("drops_per_s", "drops per second", False),
        ("sent_goodput_bps", "goodput", True),
        ("jain", "Jain's index", True),
        ("convergence_s", "convergence time", False),
    ):
        relation: Relation = Greater() if more else Less()
        claims.append(
            Claim(f"{title} / each of the others", "18 % better", metric, sides, relation, headline="ccm-ss:eighteen")
        )
    return claims


_SHARED = (_AVOIDANCE, _DELAY, _FORCED, _WINDOW, _BUFFER, _STACK, _JITTER, _RTTS)
SPACES = (
    Space(
        "ccm-ss/hystart",
        "two flows, CCM-SS against HyStart (Figs. 12 to 14, Table 4)",
        (_BASELINE, *_SHARED),
        _cases,
        _claims,
        repetitions=3,
        universes=200,
        quick=8,
    ),
    Space(
        "ccm-ss/others",
        "CUBIC with CCM-SS against five other algorithms (abstract)",
        _SHARED,
        _others,
        _others_claims,
        repetitions=3,
        universes=200,
        quick=6,
    ),
)
