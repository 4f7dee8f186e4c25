"""What the CCM-SS paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.ccm_ss.grid import (
    BETA,
    LATE,
    LATER,
    LINUX,
    NS2,
    SEGMENT_BYTES,
    SOON,
    measure,
    scenario,
)
from cwndlab.reproduction.ccm_ss.others import EFFECT, OTHERS, Q_CONVERGENCE, Q_DROPS, Q_GOODPUT, Q_JAIN
from cwndlab.reproduction.claims import Claim, Control, Greater, Less, Overall, Term, Welch
from cwndlab.reproduction.universes import Dimension, Space, Universe

_AVOIDANCE = Dimension(
    "avoidance",
    "§ V-B 3 replaces the slow start's module only; Algorithm 1 (§ VI-B) prints Reno's avoidance in its last branch, "
    "and § VII puts CCM-SS into CUBIC.",
    ("CUBIC", "Algorithm 1", "Algorithm 1 with CCM-SS only"),
)
_DECREASE = Dimension(
    "decrease",
    "§ VI-B vi calls β, which becomes μβ = 0.3, a multiplicative decrease parameter; elsewhere it only scales the "
    "lower bound.",
    ("unchanged", "0.3 with CCM-SS, 0.2 with HyStart"),
)
_BASELINE = Dimension(
    "HyStart",
    "§ V-A gives HyStart two bounds and § VI-B those of CCM-SS with β = 0.2; HyStart as published, in Linux and in RFC "
    "9406 has none.",
    ("both bounds", "as published", "Linux", "RFC 9406"),
)
_FORCED = Dimension(
    "SCCP",
    '§ VI-A and Fig. 11 say that above SCCP "packet loss will occur", and give no rule to leave slow start there.',
    ("slow start ends above it", "no rule"),
)
_BUFFER_OF = Dimension(
    "S",
    '§ VI-B iii has the buffer by "techniques being used by HyStart", which has none for it.',
    ("estimated", "known"),
)
_RATE = Dimension(
    "B", "§ VI-B prints Eq. 17 as the inverse of what Eqs. 12 and 16 give.", ("Eqs. 12 and 16", "Eq. 17 as printed")
)
_WINDOW = Dimension(
    "initial window",
    "§ I starts with one packet; § VI and Fig. 11 set the window after B and the RTT are known; § V-B names none.",
    ("2", "1", "10", "lower bound"),
)
_BUFFER = Dimension(
    "buffer",
    "§ V-B has ten buffers from 0.01 to 2; Figs. 12 to 14 name none.",
    ("0.5", "0.1", "1", "2", "0.02"),
)
_UNIT = Dimension(
    "unit of the buffer",
    '§ V-B has these figures as "percent" of the BDP, Table 3 without percent.',
    ("BDP", "percent of the BDP"),
)
_PIPE = Dimension(
    "BDP of the buffer",
    "Eq. 13 multiplies by the one-way delay; § V-B says neither that for its buffers nor whose RTT.",
    ("longer RTT", "half of the longer RTT", "shorter RTT"),
)
_RTTS = Dimension(
    "RTTs",
    "§ V-B pairs 100 ms with 50 to 190 ms and 50 ms with 2 to 16 ms; Table 3 adds 190 ms as the first one; Figs. 13(a) "
    "and 14 name none.",
    ("100 and 190 ms", "100 and 110 ms", "100 and 50 ms", "190 and 190 ms", "50 and 16 ms"),
)
_START = Dimension(
    "start of the second flow for loss and goodput",
    "§ V-B has 2 s for fairness and 150 s for convergence time, and neither for loss and goodput.",
    ("2 s", "150 s"),
)
_DURATION = Dimension(
    "duration",
    "Table 3 has 600 s; § V-B has 600 and 300 s and does not say which simulations have which.",
    ("600 s", "300 s"),
)
_STACK = Dimension(
    "stack",
    'Table 3 has "TCP Linux" in NS-2.35; § V-B names no recovery, no ACKs.',
    ("SACK", "FACK", "NewReno", "Linux with RACK"),
)
_JITTER = Dimension("start jitter", "§ V-B repeats three times and does not say what varies.", ("one RTT", "1 s"))
_FAIRNESS = Dimension(
    "protocol fairness",
    '§ IV-A has Jain\'s index; § V-B has 0 where flows are unfair "even for a single moment".',
    ("Jain's index", "0 where any second is unfair", "0 where no second is fair"),
)
_QUANTITIES = Dimension(
    "what is 18 % better",
    "The abstract names loss, fairness and convergence time among its aims and says of the 18 % neither the quantity "
    "nor how it is aggregated; § VII adds goodput.",
    (
        "loss, fairness and convergence",
        "these and goodput",
        "loss",
        "fairness",
        "convergence",
        "goodput",
    ),
)

#: The lowest of the paper's five bandwidths, since a run's cost grows with it; the late start of Figure 14.
_BANDWIDTH_MBPS, _LATE_S = 50, 150.0
#: Of the comparison with others, the shorter of the paper's two durations.
_OTHERS_DURATION = "300 s"
_MINE, _THEIRS = "CCM-SS", "HyStart"
_MU = {_MINE: 1.5, _THEIRS: 1.0}
_PLAIN = {"as published": "hystart", "Linux": "hystart-linux", "RFC 9406": "hystart-pp"}
_RECOVERY = {"SACK": "sack", "FACK": "fack", "NewReno": "newreno", "Linux with RACK": "rack"}


def _module(side: str, universe: Universe) -> str:
    """The slow start of a side."""
    if side == _THEIRS and universe["HyStart"] != "both bounds":
        return _PLAIN[universe["HyStart"]]
    options = {"mu": f"{_MU[side]:g}"}
    if universe["SCCP"] == _FORCED.choices[1]:
        options["bound"] = "lower"
    if universe["S"] == "known":
        options["s"] = "oracle"
    if universe["B"] == _RATE.choices[1]:
        options["eq17"] = "literal"
    return f"ccm-ss({', '.join(f'{name}={value}' for name, value in options.items())})"


def _avoidance(side: str, universe: Universe) -> str:
    """The congestion avoidance of a side, and what a loss leaves of the window."""
    changed = universe["decrease"] != _DECREASE.choices[0]
    printed = universe["avoidance"] == "Algorithm 1" or (
        side == _MINE and universe["avoidance"] == "Algorithm 1 with CCM-SS only"
    )
    if printed:
        return f"reno(beta={1 - _MU[side] * BETA:g})" if changed else "reno"
    if changed:
        # In 1024ths, as the module counts: 819 is CUBIC's own decrease by 0.2.
        return f"cubic-linux(beta={round(1024 * (1 - _MU[side] * BETA))})"
    return "cubic" if universe["stack"] == "Linux with RACK" else "cubic-ns2"


def _algorithm(side: str, universe: Universe) -> str:
    return f"{_avoidance(side, universe)}+{_module(side, universe)}/{_RECOVERY[universe['stack']]}"


def _rtts(universe: Universe) -> tuple[int, int]:
    first, second = universe["RTTs"].removesuffix(" ms").split(" and ")
    return int(first), int(second)


def _flow_stack(mu: float | None, rtt_ms: int, universe: Universe) -> dict[str, Any]:
    """Profile and stack of a flow; ``mu`` of a module with a lower bound."""
    base: Mapping[str, Any] = LINUX if universe["stack"] == "Linux with RACK" else NS2
    window = universe["initial window"]
    if window != "lower bound":
        count = int(window)
    elif mu is None:
        count = int(_WINDOW.choices[0])
    else:
        count = max(2, round(mu * BETA * _BANDWIDTH_MBPS * 1e6 * (rtt_ms / 2e3) / 8 / SEGMENT_BYTES))
    return {**base, "stack": {**base["stack"], "initial_window": count}}


def _capacity(universe: Universe) -> str:
    """The bottleneck's buffer."""
    share = float(universe["buffer"]) / (100 if universe["unit of the buffer"] == "percent of the BDP" else 1)
    longer, shorter = max(_rtts(universe)), min(_rtts(universe))
    of = {"longer RTT": longer, "half of the longer RTT": longer / 2, "shorter RTT": shorter}
    return f"{share:g} bdp({of[universe['BDP of the buffer']]:g} ms)"


def _document(text: str, mu: float | None, universe: Universe, second_start_s: float, duration: str) -> dict[str, Any]:
    rtts = _rtts(universe)
    document = scenario(
        text,
        [_flow_stack(mu, rtt, universe) for rtt in rtts],
        bandwidth_mbps=_BANDWIDTH_MBPS,
        buffer_bdp=float(universe["buffer"]),
        rtts_ms=rtts,
        duration_s=float(duration.removesuffix(" s")),
        second_start_s=second_start_s,
    )
    document["dumbbell"]["bottleneck"]["queue"]["capacity"] = _capacity(universe)
    if universe["start jitter"] == "1 s":
        document["start_jitter"] = "1 s"
    return document


_STARTS = {SOON: 2.0, LATE: _LATE_S}


def _cases(universe: Universe) -> list[Case]:
    return [
        Case(
            {"side": side, "second flow": start},
            _document(
                _algorithm(side, universe),
                _MU[side] if side == _MINE or universe["HyStart"] == "both bounds" else None,
                universe,
                second_start_s,
                universe["duration"],
            ),
            measure,
        )
        for start, second_start_s in _STARTS.items()
        for side in (_MINE, _THEIRS)
    ]


def _controls(universe: Universe, base: Labels, metric: str) -> list[Control]:
    """As in `cwndlab.reproduction.ccm_ss.grid.controls`: where the sides differ in μ alone, it must be able to act."""
    found = []
    if (
        universe["HyStart"] == "both bounds"
        and universe["avoidance"] != "Algorithm 1 with CCM-SS only"
        and universe["decrease"] == "unchanged"
        and universe["initial window"] != "lower bound"
    ):
        words = "no slow start of the μ = 1 side ended between 0.2 and 0.3 of B·D, the only place where μ matters"
        found.append(Control("exits_in_band", base, 1e-9, inf, words))
        if metric in LATER:
            words = "no slow start happens in the later parts of a run"
            found.append(Control("late_slow_starts", base, 1e-9, inf, words))
    if metric == "sent_goodput_bps":
        found.append(Control("utilisation", base, -inf, 0.99, "the line leaves no room for a relevant gain"))
    return found


_INDEX = {
    "Jain's index": "jain",
    "0 where any second is unfair": "fair_throughout",
    "0 where no second is fair": "fair_ever",
}


def _claims(universe: Universe) -> list[Claim]:
    def sides(start: str) -> list[Labels]:
        return [{"side": side, "second flow": start} for side in (_MINE, _THEIRS)]

    soon, late = sides(SOON), sides(LATE)
    of_loss = soon if universe[_START.name] == "2 s" else late
    goodput = "sent_goodput_bps"

    def claim(title: str, words: str, metric: Any, where: Sequence[Labels], relation: Any, key: str) -> Claim:
        first = metric if isinstance(metric, str) else metric[0]
        found = _controls(universe, where[1], first)
        return Claim(title, words, metric, where, relation, headline=f"ccm-ss:{key}", controls=found)

    less = Less(effect=0.10)
    return [
        claim("drops per second", "less", "drops_per_s", of_loss, less, "loss"),
        claim("drops per second in each later third of the run", "lower", LATER, of_loss, less, "throughout"),
        claim("goodput", "higher", goodput, of_loss, Greater(), "goodput"),
        claim("utilisation", "HyStart leaves the line less used", "utilisation", of_loss, Greater(), "utilisation"),
        claim("convergence time", "less", "convergence_or_end_s", late, Less(), "convergence"),
        claim("protocol fairness", "fairer", _INDEX[universe["protocol fairness"]], soon, Greater(), "fairness"),
        claim("window at the exit over B·D", "updated", "exit_share", soon, Greater(), "exit"),
        claim(
            "drops per second, Welch's test",
            "p < 0.05",
            "drops_per_s",
            of_loss,
            Welch(up=False, effect=0.10),
            "significance",
        ),
        claim("goodput, Welch's test", "p < 0.05", goodput, of_loss, Welch(up=True), "significance"),
    ]


def _others(universe: Universe) -> list[Case]:
    """CUBIC among the others is the paper's: with HyStart, both bounds, as in the other space."""
    universe = {**{one.name: one.choices[0] for one in (_BASELINE, *_PATH)}, **universe}
    texts = {name: text.removesuffix("sack") + _RECOVERY[universe["stack"]] for name, text in OTHERS.items()}
    texts["CUBIC"] = _algorithm(_THEIRS, universe)
    found: dict[str, tuple[str, float | None]] = {_MINE: (_algorithm(_MINE, universe), _MU[_MINE])}
    for name, text in texts.items():
        found[name] = (text, _MU[_THEIRS] if name == "CUBIC" else None)
    return [
        Case(
            {"variant": name, "second flow": start},
            _document(text, mu, universe, second_start_s, _OTHERS_DURATION),
            measure,
        )
        for start, second_start_s in _STARTS.items()
        for name, (text, mu) in found.items()
    ]


#: Terms of the 18 %, by what is better.
_TERMS: Mapping[str, Sequence[Term]] = {
    "loss, fairness and convergence": (Q_DROPS, Q_JAIN, Q_CONVERGENCE),
    "these and goodput": (Q_DROPS, Q_JAIN, Q_CONVERGENCE, Q_GOODPUT),
    "loss": (Q_DROPS,),
    "fairness": (Q_JAIN,),
    "convergence": (Q_CONVERGENCE,),
    "goodput": (Q_GOODPUT,),
}


def _others_claims(universe: Universe) -> list[Claim]:
    sides: list[Labels] = [{"variant": _MINE}, *({"variant": other} for other in OTHERS)]
    relation = Overall(_TERMS[universe[_QUANTITIES.name]], EFFECT)
    title = "better by, the mean over quantities and the five others"
    return [Claim(title, "better", "", sides, relation, headline="ccm-ss:eighteen")]


_MODULE = (_AVOIDANCE, _DECREASE, _FORCED, _BUFFER_OF, _RATE, _WINDOW)
_PATH = (_BUFFER, _UNIT, _PIPE, _RTTS, _STACK, _JITTER)
#: Of the path only what makes few different runs of the five others, which cost most of the space.
_OTHERS_PATH = (
    Dimension(_BUFFER.name, _BUFFER.reason, _BUFFER.choices[:3]),
    Dimension(_RTTS.name, _RTTS.reason, ("100 and 190 ms", "100 and 50 ms")),
    Dimension(_STACK.name, _STACK.reason, ("SACK", "Linux with RACK")),
)
SPACES = (
    Space(
        "ccm-ss/hystart",
        "two flows, CCM-SS against HyStart (Figs. 12 to 14, Table 4)",
        (_BASELINE, *_MODULE, *_PATH, _START, _DURATION, _FAIRNESS),
        _cases,
        _claims,
        universes=200,
        quick=8,
    ),
    Space(
        "ccm-ss/others",
        "CUBIC with CCM-SS against five other algorithms (abstract)",
        (*_MODULE, *_OTHERS_PATH, _QUANTITIES),
        _others,
        _others_claims,
        universes=200,
        quick=6,
    ),
)
