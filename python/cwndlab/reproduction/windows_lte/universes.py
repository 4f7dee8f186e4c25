"""What the Windows study leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, RatioIn
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe
from cwndlab.reproduction.windows_lte.download import GAINS, room
from cwndlab.reproduction.windows_lte.others import fairness_document, measure_fairness
from cwndlab.reproduction.windows_lte.path import PROFILE, measure, scenario, varying

_RTT = Dimension(
    "RTT",
    "Table I and Figure 14 have 252 ms, the mean of four pings of which three took 177 to 183 ms; Methodology has 200.",
    ("252 ms", "200 ms", "180 ms"),
)
_CELL = Dimension(
    "LTE cell",
    'The margin of Table I has "11 (Mbps)" and no explanation; results are 5.2 to 7.7 Mbit/s.',
    ("11 Mbps, varying", "8 Mbps, varying", "14 Mbps, varying", "20 Mbps, varying", "11 Mbps, constant"),
)
_QUEUE = Dimension(
    "LTE queue",
    "The study does not give the queue of the cell; 1000 packets are 4.3 BDP at 11 Mbit/s.",
    ("1000 packets", "0.1 BDP", "0.5 BDP", "1 BDP", "4 BDP"),
)
_LOSS = Dimension(
    "random loss",
    "The study does not say what its 17 hops lose at random.",
    ("none", "0.00001", "0.0001", "0.001"),
)
_HARQ = Dimension("HARQ", "The study does not describe the LTE link.", ("with HARQ", "without"))
_PROFILE = Dimension(
    "sender's stack",
    "Figure 15 prints the client's profile; the sender of a download is a server whose system is not named.",
    (PROFILE, "linux"),
)
_START = Dimension(
    "slow start",
    "Background describes no slow start; CUBIC comes with HyStart++, CTCP and NewReno with the standard one.",
    ("each one's own", "standard for all", "HyStart++ for all"),
)
_CUBIC = Dimension("CUBIC", "Windows' module is not public (Background C).", ("RFC 9438", "RFC 8312", "Linux"))
_CTCP = Dimension("CTCP", "Windows' module is not public (Background B).", ("γ tuned", "γ = 30"))

_CUBICS = {"RFC 9438": "cubic", "RFC 8312": "cubic-8312", "Linux": "cubic-linux"}
_CTCPS = {"γ tuned": "ctcp", "γ = 30": "ctcp(auto=off)"}
_STARTS = dict(zip(_START.choices, ("", "+standard", "+hystart-pp"), strict=True))
_OURS = ("CUBIC", "CTCP", "NewReno")
#: Seconds of a download. The study's last for the better part of two hours; its six runs agree within 10 %.
_DURATION_S = 300.0


def _algorithms(universe: Universe) -> dict[str, str]:
    texts = (_CUBICS[universe["CUBIC"]], _CTCPS[universe["CTCP"]], "reno")
    start = _STARTS[universe["slow start"]]
    return {name: f"{text}{start}" for name, text in zip(_OURS, texts, strict=True)}


def _line(universe: Universe) -> Mapping[str, Any]:
    rate, kind = universe["LTE cell"].split(", ")
    return varying(float(rate.split()[0])) if kind == "varying" else {"rate": rate}


def _download(universe: Universe) -> list[Case]:
    rtt, queue = universe["RTT"], universe["LTE queue"]
    return [
        Case(
            {"algorithm": name},
            scenario(
                text,
                loss=0.0 if universe["random loss"] == "none" else float(universe["random loss"]),
                duration_s=_DURATION_S,
                rtt_ms=float(rtt.split()[0]),
                profile=universe["sender's stack"],
                line=_line(universe),
                queue=f"{queue.split()[0]} bdp({rtt})" if queue.endswith("BDP") else queue,
                harq=universe["HARQ"] == _HARQ.choices[0],
            ),
            measure,
        )
        for name, text in _algorithms(universe).items()
    ]


def _download_claims(universe: Universe) -> list[Claim]:
    del universe
    sides: list[Labels] = [{"algorithm": name} for name in _OURS]
    metric, title, key = "delivered_share", "throughput, CUBIC / each competitor", "windows-lte:order"
    claims = [Claim(title, "faster", metric, sides, Greater(), headline=key)]
    title, key = "throughput, CTCP / NewReno", "windows-lte:ctcp"
    claims.append(Claim(title, "faster", metric, sides[1:], Greater(), headline=key))
    for other, gain in GAINS.items():
        pair: list[Labels] = [{"algorithm": "CUBIC"}, {"algorithm": other}]
        title, words, key = f"throughput, CUBIC / {other}", f"+{100 * gain:.1f} %", "windows-lte:gains"
        controls = [room(pair[1], gain)]
        claims.append(Claim(title, words, "goodput_bps", pair, Greater(), headline=key, controls=controls))
    title, key, same = "mean RTT, CUBIC / each competitor", "windows-lte:same-rtt", RatioIn(0.95, 1 / 0.95)
    claims.append(Claim(title, "constant", "mean_rtt_ms", sides, same, headline=key))
    return claims


_LINE = Dimension(
    "shared line",
    "The conclusion names no rate for its claim on fairness; 11 Mbit/s is Table I's.",
    ("11 Mbps", "8 Mbps", "20 Mbps", "50 Mbps"),
)
_SHORT = Dimension("shorter RTT", "The conclusion names no second RTT.", ("60 ms", "40 ms", "120 ms"))
_BUFFER = Dimension(
    "buffer", "The conclusion names no buffer; in BDP of the longer path.", ("1 BDP", "0.1 BDP", "0.5 BDP", "4 BDP")
)
_FAIRNESS_S = 120.0


def _fairness(universe: Universe) -> list[Case]:
    return [
        Case(
            {"algorithm": name},
            fairness_document(
                text,
                rate=universe["shared line"],
                rtts_ms=[float(universe[which].split()[0]) for which in ("RTT", "shorter RTT")],
                buffer_bdp=float(universe["buffer"].split()[0]),
                profile=universe["sender's stack"],
                duration_s=_FAIRNESS_S,
            ),
            measure_fairness,
        )
        for name, text in _algorithms(universe).items()
    ]


def _fairness_claims(universe: Universe) -> list[Claim]:
    del universe
    sides: list[Labels] = [{"algorithm": name} for name in _OURS]
    title, key = "Jain's index of two RTTs, CUBIC / each competitor", "windows-lte:rtt"
    fairer = Claim(title, "fairer", "jain", sides, Greater(), headline=key)
    title, key = "Jain's index of two RTTs, CTCP / NewReno", "windows-lte:ctcp-rtt"
    return [fairer, Claim(title, "fairer", "jain", sides[1:], Greater(), headline=key)]


SPACES = (
    Space(
        "windows-lte/download",
        "one download over LTE and 802.11n: throughputs (Table I, Figs. 16, 17)",
        (_RTT, _CELL, _QUEUE, _LOSS, _HARQ, _PROFILE, _START, _CUBIC, _CTCP),
        _download,
        _download_claims,
        universes=256,
    ),
    Space(
        "windows-lte/rtt-fairness",
        "two flows with unequal RTTs: fairness (Background, conclusion)",
        (_RTT, _SHORT, _LINE, _BUFFER, _PROFILE, _START, _CUBIC, _CTCP),
        _fairness,
        _fairness_claims,
        universes=256,
    ),
)
