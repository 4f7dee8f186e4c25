"""What the IoT paper leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, Less, ValueIn
from cwndlab.reproduction.iot.path import FIRST_S, NATIVE, VARIANTS, background, flow, measure, scenario
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe

_MINE = "proposed"
_INCREASE = Dimension(
    "increase",
    "Algorithm 3 prints 1/cwnd + (1 − β) per ACK, which doubles the window; the text calls the growth linear.",
    ("1/cwnd + (1 − β), as printed", "(1 − β)/cwnd", "(2 − β)/cwnd"),
)
_AGENT = Dimension(
    "agent",
    "§ 4 compares with modules of TCP/Linux and does not say on which agent of ns-2 the algorithm itself runs.",
    ("TCP/Linux", "ns-2's own"),
)
_WINDOW = Dimension(
    "first window",
    "§ 3.1 divides a bandwidth by alpha and uses it as a window; the units differ.",
    ("share of the BDP", "bit/s as segments"),
)
_BETA = Dimension(
    "β",
    "§ 3.2 divides the delay by RTT_max, with which β cannot reach the bands that Figure 3 tunes.",
    ("over RTT_max", "over RTT_max − RTT_min"),
)
_RATE = Dimension(
    "bottleneck",
    "1.5 Mbit/s is stated for some figures only, not for Figures 3 and 9.",
    ("1.5 Mbps", "1 Mbps", "2 Mbps"),
)
_FLOWS = Dimension(
    "flows", "§ 4 has FTP flows and does not say how many there are in Figures 5 to 8.", ("1 FTP", "10 FTP")
)
_RTT = Dimension(
    "RTT",
    "The bottleneck's delay is stated, that of the access links is not.",
    ("twice the bottleneck's delay", "20 ms more", "100 ms more"),
)
_ACCESS = Dimension(
    "access", "An access link of 1 Mbit/s before a bottleneck of 1.5 limits single flows.", ("1 Mbps", "10 Mbps")
)
_RECEIVER = Dimension(
    "receiver's window", "The paper does not name it; ns-2's default is 20 packets.", ("unlimited", "20 packets")
)
_BEGINS = Dimension(
    "background begins", "The paper does not say when the background begins.", ("3 s before TCP", "with TCP")
)

_INCREASES = dict(zip(_INCREASE.choices, ("literal", "text", "sum"), strict=True))
_MORE_MS = dict(zip(_RTT.choices, (0.0, 20.0, 100.0), strict=True))


def _proposed(universe: Universe, **parameters: float) -> tuple[str, Mapping[str, str]]:
    options = {"increase": _INCREASES[universe["increase"]]}
    if universe["first window"] == _WINDOW.choices[1]:
        options["mode"] = "literal"
    if universe["β"] == _BETA.choices[1]:
        options["beta"] = "range"
    options |= {name: f"{value:g}" for name, value in parameters.items()}
    text = f"iotcc({', '.join(f'{name}={value}' for name, value in options.items())})"
    return (f"{text}/newreno", NATIVE) if universe["agent"] == _AGENT.choices[1] else (f"{text}/fack", {})


def _limited(chosen: tuple[str, Mapping[str, str]], universe: Universe) -> tuple[str, Mapping[str, str]]:
    if universe["receiver's window"] == _RECEIVER.choices[0]:
        return chosen
    algorithm, stack = chosen
    return algorithm, {**stack, "receive_window": "20000 B"}


def _document(
    universe: Universe, flows: Sequence[Mapping[str, Any]], delay_ms: float, duration_s: float
) -> dict[str, Any]:
    document = scenario(flows, delay_ms=delay_ms, duration_s=duration_s)
    document["dumbbell"]["bottleneck"]["rate"] = universe["bottleneck"]
    document["dumbbell"]["access"]["rate"] = universe["access"]
    return document


#: Figures 5 to 10: the delay of the bottleneck, background each way, what is measured after the start.
_DELAY_MS, _BACKGROUND_KBPS, _MEASURED_S = 50.0, 1000, 100.0


def _beside_background(universe: Universe, tcp: Sequence[tuple[tuple[str, Mapping[str, str]], int]]) -> dict[str, Any]:
    rtt_ms = 2 * _DELAY_MS + _MORE_MS[universe["RTT"]]
    start_s = FIRST_S if universe["background begins"] == _BEGINS.choices[0] else 0.0
    flows = [flow(_limited(chosen, universe), rtt_ms, count, start_s=start_s) for chosen, count in tcp]
    flows += background(_BACKGROUND_KBPS, rtt_ms)
    return _document(universe, flows, _DELAY_MS, FIRST_S + _MEASURED_S)


def _variants(universe: Universe) -> dict[str, tuple[str, Mapping[str, str]]]:
    return {_MINE: _proposed(universe), **VARIANTS}


def _alone(universe: Universe) -> list[Case]:
    count = 1 if universe["flows"] == _FLOWS.choices[0] else 10
    return [
        Case({"variant": name}, _beside_background(universe, [(chosen, count)]), measure)
        for name, chosen in _variants(universe).items()
    ]


#: The gains of Figure 6.
_GAINS = {"CUBIC": 0.04, "Fast-FIT": 0.019, "H-TCP": 0.038, "New Reno": 0.043}


def _alone_claims(universe: Universe) -> list[Claim]:
    del universe
    sides: list[Labels] = [{"variant": _MINE}, *({"variant": other} for other in VARIANTS)]
    claims = [
        Claim("throughput / each competitor", "highest", "goodput_bps", sides, Greater(), headline="iot:throughput"),
        Claim("drops / each competitor", "fewer drops", "drops", sides, Less(), headline="iot:drops"),
        Claim(
            "throughput after 25 s / each competitor",
            "a good start",
            "goodput_25_bps",
            sides,
            Greater(),
            headline="iot:start",
        ),
    ]
    for other, gain in _GAINS.items():
        pair: list[Labels] = [{"variant": _MINE}, {"variant": other}]
        words = f"+{100 * gain:.3g} %"
        claims.append(Claim(f"throughput / {other}", words, "goodput_bps", pair, Greater(), headline="iot:gains"))
    return claims


_CUBICS = {"Fig. 9": 3, "Fig. 10": 1}


def _beside_cubic(universe: Universe) -> list[Case]:
    return [
        Case(
            {"figure": figure},
            _beside_background(universe, [(_proposed(universe), 1), (VARIANTS["CUBIC"], cubics)]),
            measure,
        )
        for figure, cubics in _CUBICS.items()
    ]


def _beside_cubic_claims(universe: Universe) -> list[Claim]:
    del universe
    claims = []
    for figure, cubics in _CUBICS.items():
        fair = 1 / (cubics + 1)
        title = f"share of one flow beside {cubics} of CUBIC"
        equal = ValueIn(fair - 0.05, fair + 0.05)
        claims.append(Claim(title, "an equal share", "share", [{"figure": figure}], equal, headline="iot:fairness"))
    return claims


#: The values of the parameters: the paper's first.
_VALUES = {
    "alpha": (4.0, 1.0, 2.0, 8.0, 32.0),
    "rho": (0.5, 0.1, 0.3, 0.7, 1.0),
    "sigma": (0.8, 0.1, 0.5, 0.7, 1.0),
    "tau": (0.9, 0.1, 0.5, 0.8, 1.0),
}
_SOURCES = Dimension(
    "sources", "Figure 2 has ten sources; Figure 3 does not say how many it has.", ("10 FTP", "1 FTP", "3 FTP")
)
_TUNING_DELAY_MS, _TUNING_S = 20.0, 200.0


def _tuning(universe: Universe, parameter: str) -> list[Case]:
    rtt_ms = 2 * _TUNING_DELAY_MS + _MORE_MS[universe["RTT"]]
    count = int(universe["sources"].split()[0])
    return [
        Case(
            {"parameter": parameter, "value": value},
            _document(
                universe,
                [flow(_limited(_proposed(universe, **{parameter: value}), universe), rtt_ms, count)],
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
    claims = []
    for parameter, values in _VALUES.items():
        sides: list[Labels] = [{"parameter": parameter, "value": value} for value in values]
        title = f"throughput at {parameter} = {values[0]:g} / each other value"
        claims.append(Claim(title, "best", "goodput_bps", sides, Greater(), headline="iot:parameters"))
    return claims


_PATH = (_RATE, _RTT, _ACCESS, _RECEIVER)
_ALGORITHM = (_INCREASE, _AGENT, _WINDOW, _BETA)
SPACES = (
    Space(
        "iot/background",
        "one variant beside datagrams: throughput, drops, start (Figs. 5 to 8)",
        (*_ALGORITHM, *_PATH, _FLOWS, _BEGINS),
        _alone,
        _alone_claims,
    ),
    Space(
        "iot/beside-cubic",
        "one flow beside CUBIC: shares (Figs. 9, 10)",
        (*_ALGORITHM, *_PATH, _BEGINS),
        _beside_cubic,
        _beside_cubic_claims,
    ),
    Space(
        "iot/parameters",
        "the parameters at the paper's values (Figs. 2, 3)",
        (*_ALGORITHM, *_PATH, _SOURCES),
        _all_tuning,
        _tuning_claims,
        universes=200,
        quick=12,
    ),
)
