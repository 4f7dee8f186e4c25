"""What the IoT paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, Less, RatioIn, ValueIn
from cwndlab.reproduction.iot.path import (
    FIRST_S,
    JITTER_S,
    NATIVE,
    VARIANTS,
    Mix,
    background,
    flow,
    measure,
    scenario,
)
from cwndlab.reproduction.universes import Dimension, Space, Universe

_MINE = "proposed"
_INCREASE = Dimension(
    "increase",
    "Algorithm 3 prints 1/cwnd + (1 − β) per ACK, which doubles the window; § 3.3 calls the growth linear.",
    ("1/cwnd + (1 − β), as printed", "(1 − β)/cwnd", "(2 − β)/cwnd"),
)
_WINDOW = Dimension(
    "first window",
    "Eqs. 1 and 2 (§ 3.1) divide a bandwidth by alpha and use it as a window; the units differ.",
    ("segments/s as segments, as printed", "share of the BDP", "as printed, at most the BDP"),
)
_BETA = Dimension(
    "β",
    "Eq. 5 (§ 3.3) divides by RTT_max and says that β lies between 0 and 1: with it 1 is out of reach.",
    ("over RTT_max, as printed", "over RTT_max − RTT_min"),
)
_AGENT = Dimension(
    "agent",
    "§ 3.2 builds on New Reno; no section says on which agent of ns-2 the algorithm runs.",
    ("TCP/Linux", "ns-2's own"),
)
_RENO = Dimension("New Reno's agent", "§ 4 does not name it.", ("ns-2's own", "TCP/Linux"))
_CUBIC = Dimension(
    "CUBIC",
    "§ 4 names no version: ns-2's TCP/Linux has the first one, here by its formula and as its module computes it.",
    ("ns-2's", "ns-2's module", "RFC 9438"),
)
_FAST_FIT = Dimension(
    "Fast-FIT's queue",
    "§ 4 gives none of its parameters; segments of each virtual flow in the queue.",
    ("20 segments", "10 segments", "50 segments"),
)
_RATE = Dimension("bottleneck", "1.5 Mbit/s is stated for Figures 3 and 9 only.", ("1.5 Mbps", "1 Mbps", "2 Mbps"))
_ACCESS = Dimension(
    "access",
    "1 Mbit/s is stated for Figure 3 only; § 4 has links of different bandwidth.",
    ("1 Mbps", "10 Mbps", "100 Mbps"),
)
_RTT = Dimension(
    "RTT",
    "§ 4 calls the stated delay that of the path and § 3.3 that of the bottleneck, and links have different delays.",
    ("twice the stated delay", "the stated delay", "three times the stated delay"),
)
_RECEIVER = Dimension(
    "receiver's window", "The paper does not name it; ns-2's default is 20 packets.", ("unlimited", "20 packets")
)
_IN_SERVICE = Dimension(
    "queue",
    "§ 4 has a queue size of 50 and does not say whether the packet in service is one of them.",
    ("50 packets and one in service", "50 packets with the one in service"),
)
_FLOWS = Dimension("flows", "§ 4: the number of flows may vary.", ("1 FTP", "2 FTP", "5 FTP"))
_MIX = Dimension(
    "background's kinds", "§ 4 has CBR and VBR and does not give their shares.", ("half CBR, half VBR", "CBR", "VBR")
)
_BEGINS = Dimension("background begins", "§ 4 does not say when the background begins.", ("3 s before TCP", "with TCP"))

_INCREASES = dict(zip(_INCREASE.choices, ("literal", "text", "sum"), strict=True))
_WINDOWS: Mapping[str, Mapping[str, str]] = dict(
    zip(_WINDOW.choices, ({"mode": "literal"}, {}, {"mode": "literal", "cap": "bdp"}), strict=True)
)
_CUBICS = dict(zip(_CUBIC.choices, ("cubic-ns2", "cubic-ns2(ack_ratio=ns2)", "cubic/fack"), strict=True))
_FAST_FITS = dict(zip(_FAST_FIT.choices, ("fast-fit", "fast-fit(alpha0=10)", "fast-fit(alpha0=50)"), strict=True))
_RTTS = dict(zip(_RTT.choices, (2.0, 1.0, 3.0), strict=True))
_MIXES: Mapping[str, Mix] = {"half CBR, half VBR": "half", "CBR": "cbr", "VBR": "vbr"}

#: An algorithm and its stack.
_Chosen = tuple[str, Mapping[str, str]]


def _proposed(universe: Universe, **parameters: float) -> _Chosen:
    options = {"increase": _INCREASES[universe["increase"]], **_WINDOWS[universe["first window"]]}
    if universe["β"] == _BETA.choices[1]:
        options["beta"] = "range"
    options |= {name: f"{value:g}" for name, value in parameters.items()}
    text = f"iotcc({', '.join(f'{name}={value}' for name, value in options.items())})"
    return (f"{text}/newreno", NATIVE) if universe["agent"] == _AGENT.choices[1] else (f"{text}/fack", {})


def _variants(universe: Universe) -> dict[str, _Chosen]:
    """The proposed algorithm, then what it is compared with."""
    reno: _Chosen = VARIANTS["New Reno"] if universe["New Reno's agent"] == _RENO.choices[0] else ("reno/fack", {})
    return {
        _MINE: _proposed(universe),
        "New Reno": reno,
        "H-TCP": VARIANTS["H-TCP"],
        "CUBIC": (_CUBICS[universe["CUBIC"]], {}),
        "Fast-FIT": (_FAST_FITS[universe["Fast-FIT's queue"]], {}),
    }


def _limited(chosen: _Chosen, universe: Universe) -> _Chosen:
    if universe["receiver's window"] == _RECEIVER.choices[0]:
        return chosen
    algorithm, stack = chosen
    return algorithm, {**stack, "receive_window": "20000 B"}


def _document(
    universe: Universe, flows: Sequence[Mapping[str, Any]], rtt_ms: float, delay_ms: float, duration_s: float
) -> dict[str, Any]:
    return scenario(
        flows,
        delay_ms=min(delay_ms, rtt_ms / 2),
        duration_s=duration_s,
        rate=universe["bottleneck"],
        access=universe["access"],
        counts_in_service=universe["queue"] == _IN_SERVICE.choices[1],
    )


#: Figures 5 to 10: the stated delay, background each way, what is measured after the start.
_DELAY_MS, _BACKGROUND_KBPS, _MEASURED_S = 50.0, (500, 1000), 100.0
_LOW, _HIGH = _BACKGROUND_KBPS


def _beside_background(universe: Universe, rate_kbps: int, tcp: Sequence[tuple[_Chosen, int]]) -> dict[str, Any]:
    rtt_ms = _DELAY_MS * _RTTS[universe["RTT"]]
    start_s = FIRST_S if universe["background begins"] == _BEGINS.choices[0] else 0.0
    flows = [flow(_limited(chosen, universe), rtt_ms, count, start_s=start_s) for chosen, count in tcp]
    flows += background(rate_kbps, rtt_ms, _MIXES[universe["background's kinds"]])
    return _document(universe, flows, rtt_ms, _DELAY_MS, FIRST_S + JITTER_S + _MEASURED_S)


def _alone(universe: Universe) -> list[Case]:
    count = int(universe["flows"].split()[0])
    return [
        Case({"variant": name, "background_kbps": rate}, _beside_background(universe, rate, [(chosen, count)]), measure)
        for rate in _BACKGROUND_KBPS
        for name, chosen in _variants(universe).items()
    ]


#: The gains of Figures 6 and 8.
_GAINS = {"CUBIC": "+4 % and +1.5 %", "Fast-FIT": "+1.9 % and +6.6 %", "H-TCP": "+3.8 % and +1.3 %"}
_GAINS |= {"New Reno": "+4.3 % and +1.6 %"}


def _at(rate_kbps: int, *names: str) -> list[Labels]:
    return [{"variant": name, "background_kbps": rate_kbps} for name in names]


def _alone_claims(universe: Universe) -> list[Claim]:
    del universe
    metric, names = "delivered_share", (_MINE, *VARIANTS)
    high, low = _at(_HIGH, *names), _at(_LOW, *names)
    fit = _at(_HIGH, "Fast-FIT", *(name for name in names if name != "Fast-FIT"))
    both: list[Labels] = [{"variant": _MINE, "background_kbps": rate} for rate in (_HIGH, _LOW)]
    claims = [
        Claim("throughput / each competitor", "highest", metric, high, Greater(), headline="iot:throughput"),
        Claim("drops / each competitor", "fewer drops", "drops", high, Less(), headline="iot:drops"),
        Claim(
            "throughput in the first 2 s / each competitor",
            "a good start",
            "goodput_2_bps",
            high,
            Greater(),
            headline="iot:start",
        ),
        Claim(
            "share of the time with a constant window",
            "a steady state",
            "beta_constant",
            high[:1],
            ValueIn(0.05, 1.0),
            headline="iot:steady",
        ),
        Claim(
            "share of the time with β ≥ rho, 1000 / 500 kbit/s",
            "proactive mode as congestion grows",
            "beta_less",
            both,
            Greater(),
            headline="iot:modes",
        ),
        Claim(
            "throughput at 500 kbit/s / each competitor",
            "all alike",
            metric,
            low,
            RatioIn(0.98, 1.02),
            headline="iot:alike",
        ),
        Claim(
            "throughput, Fast-FIT / each competitor",
            "Fast-FIT drops most",
            metric,
            fit,
            Less(),
            headline="iot:fast-fit",
        ),
        Claim(
            "drops, 1000 / 500 kbit/s",
            "drops increase with the background",
            "all_drops",
            [{"background_kbps": _HIGH}, {"background_kbps": _LOW}],
            Greater(),
            headline="iot:more-drops",
            each="variant",
        ),
    ]
    for other, words in _GAINS.items():
        title, pair = f"throughput / {other}", _at(_HIGH, _MINE, other)
        claims.append(Claim(title, words, metric, pair, Greater(), headline="iot:gains"))
    return claims


_CUBIC_FLOWS = {"Fig. 9": 3, "Fig. 10": 1}


def _beside_cubic(universe: Universe) -> list[Case]:
    variants = _variants(universe)
    return [
        Case(
            {"figure": figure, "variant": name},
            _beside_background(universe, _HIGH, [(chosen, 1), (variants["CUBIC"], cubics)]),
            measure,
        )
        for figure, cubics in _CUBIC_FLOWS.items()
        for name, chosen in variants.items()
        if name != "CUBIC"
    ]


def _beside_cubic_claims(universe: Universe) -> list[Claim]:
    del universe
    claims = []
    names = (_MINE, *(name for name in VARIANTS if name != "CUBIC"))
    for figure, cubics in _CUBIC_FLOWS.items():
        fair = 1 / (cubics + 1)
        sides: list[Labels] = [{"figure": figure, "variant": name} for name in names]
        title, equal = f"share of one flow beside {cubics} of CUBIC", ValueIn(0.8 * fair, 1.2 * fair)
        claims.append(Claim(title, "an equal share", "share", sides[:1], equal, headline="iot:fairness"))
        title = f"distance from an equal share beside {cubics} of CUBIC / each competitor"
        claims.append(Claim(title, "fairer", "off_share", sides, Less(), headline="iot:fairer"))
    return claims


#: The values of the parameters: the paper's first.
_VALUES = {"alpha": (4.0, 1.0, 32.0), "rho": (0.5, 0.1, 1.0), "sigma": (0.8, 0.1, 1.0), "tau": (0.9, 0.1, 0.5)}
_SOURCES, _TUNING_DELAY_MS, _TUNING_S = 10, 20.0, 200.0


def _tuning(universe: Universe, parameter: str) -> list[Case]:
    rtt_ms = _TUNING_DELAY_MS * _RTTS[universe["RTT"]]
    # § 3.3 states the rates of Figure 3; those of Figure 2 (alpha) are open.
    stated = {_RATE.name: _RATE.choices[0], _ACCESS.name: _ACCESS.choices[0]} if parameter != "alpha" else {}
    return [
        Case(
            {"parameter": parameter, "value": value},
            _document(
                {**universe, **stated},
                [flow(_limited(_proposed(universe, **{parameter: value}), universe), rtt_ms, _SOURCES)],
                rtt_ms,
                _TUNING_DELAY_MS,
                _TUNING_S,
            ),
            measure,
        )
        for value in _VALUES[parameter]
    ]


def _all_tuning(universe: Universe) -> list[Case]:
    return [case for parameter in _VALUES for case in _tuning(universe, parameter)]


def _tuning_claims(universe: Universe) -> list[Claim]:
    del universe
    claims, key = [], "iot:parameters"
    for parameter, values in _VALUES.items():
        sides: list[Labels] = [{"parameter": parameter, "value": value} for value in values]
        at = f"at {parameter} = {values[0]:g}"
        title = f"throughput {at} / each other value"
        claims.append(Claim(title, "best", "delivered_share", sides, Greater(), headline=key))
        if parameter == "alpha":
            title = f"timeouts {at} / each other value"
            claims.append(Claim(title, "fewest", "timeouts", sides, Less(), headline=key))
        else:
            none = ValueIn(-inf, 0)
            claims.append(Claim(f"timeouts {at}", "no timeouts", "timeouts", sides[:1], none, headline=key))
    return claims


_ALGORITHM = (_INCREASE, _WINDOW, _BETA, _AGENT)
_COMPETITORS = (_RENO, _CUBIC, _FAST_FIT)
_PATH = (_RATE, _ACCESS, _RTT, _RECEIVER, _IN_SERVICE)
SPACES = (
    Space(
        "iot/background",
        "one variant beside datagrams: throughput, drops, start (Figs. 5 to 8)",
        (*_ALGORITHM, *_COMPETITORS, *_PATH, _FLOWS, _MIX, _BEGINS),
        _alone,
        _alone_claims,
        universes=256,
    ),
    Space(
        "iot/beside-cubic",
        "one flow beside CUBIC: shares (Figs. 9, 10)",
        (*_ALGORITHM, *_COMPETITORS, *_PATH, _MIX, _BEGINS),
        _beside_cubic,
        _beside_cubic_claims,
        universes=256,
    ),
    Space(
        "iot/parameters",
        "the parameters at the paper's values (Figs. 2, 3)",
        (*_ALGORITHM, *_PATH),
        _all_tuning,
        _tuning_claims,
        universes=200,
        quick=12,
    ),
)
