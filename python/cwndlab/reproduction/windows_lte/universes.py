"""What the Windows study leaves open, and its claims over all of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Control, Greater, Order
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe
from cwndlab.reproduction.windows_lte.download import GAINS
from cwndlab.reproduction.windows_lte.others import fairness_document, measure_fairness
from cwndlab.reproduction.windows_lte.path import ALGORITHMS, PROFILE, measure, scenario

_RTT = Dimension(
    "RTT",
    "The text gives 252 ms as the mean, 180 ms by ping and values between 177 and 468 ms.",
    ("252 ms", "180 ms", "200 ms"),
)
_CELL = Dimension(
    "LTE cell",
    "The study does not give the capacity of the LTE cell.",
    ("synthetic trace", "8 Mbps", "12 Mbps", "20 Mbps"),
)
_QUEUE = Dimension(
    "LTE queue",
    "The study does not give the queue of the cell: about 3, 0.1, 1 and 4 BDP at 12 Mbit/s.",
    ("1000 packets", "30 packets", "250 packets", "1300 packets"),
)
_LOSS = Dimension("random loss", "The study does not say what 17 hops lose at random.", ("none", "0.0001", "0.001"))
_PROFILE = Dimension(
    "sender's stack",
    "The study changes the setting of the Windows client; the sender of a download is the server, whose system it "
    "does not name.",
    (PROFILE, "linux"),
)
#: Seconds of a download. The paper's downloads last for the better part of an hour; its six runs agree within 10 %.
_DURATION_S = 300.0


def _download(universe: Universe) -> list[Case]:
    loss = 0.0 if universe["random loss"] == "none" else float(universe["random loss"])
    return [Case({"algorithm": name}, _document(universe, text, loss), measure) for name, text in ALGORITHMS.items()]


def _document(universe: Universe, algorithm: str, loss: float) -> Mapping[str, Any]:
    rtt_ms = float(universe["RTT"].split()[0])
    document = scenario(algorithm, loss=loss, duration_s=_DURATION_S, rtt_ms=rtt_ms, profile=universe["sender's stack"])
    lte = document["link"][1]
    if universe["LTE cell"] != _CELL.choices[0]:
        for name in ("trace", "harq"):
            del lte[name]
        lte["rate"] = universe["LTE cell"]
    lte["queue"] = {"capacity": universe["LTE queue"]}
    return document


def _download_claims(universe: Universe) -> list[Claim]:
    del universe
    most = 1 / (1 + min(GAINS.values()))
    room = Control("lte_utilisation", {}, -inf, most, "the LTE line has no room for the published gains")
    rising: list[Labels] = [{"algorithm": name} for name in ("CUBIC", "CTCP", "NewReno")]
    title = "throughputs: CUBIC over CTCP over NewReno"
    key = "windows-lte:order"
    claims = [Claim(title, "CUBIC, CTCP, NewReno", "goodput_bps", rising, Order(), headline=key, controls=[room])]
    for other, gain in GAINS.items():
        pair: list[Labels] = [{"algorithm": "CUBIC"}, {"algorithm": other}]
        words, key = f"+{100 * gain:.1f} %", "windows-lte:gains"
        title = f"throughput, CUBIC / {other}"
        claims.append(Claim(title, words, "goodput_bps", pair, Greater(), headline=key, controls=[room]))
    return claims


_LINE = Dimension(
    "shared line", "The conclusion names no rate for its claim on fairness.", ("20 Mbps", "8 Mbps", "100 Mbps")
)
_SHORT = Dimension("shorter RTT", "The conclusion names no second RTT.", ("60 ms", "40 ms", "120 ms"))
_BUFFER = Dimension("buffer", "The conclusion names no buffer; in BDP of the longer path.", ("1", "0.1", "0.5", "4"))
_FAIRNESS_S = 120.0


def _fairness(universe: Universe) -> list[Case]:
    return [
        Case(
            {"algorithm": name},
            fairness_document(
                name,
                rate=universe["shared line"],
                rtts_ms=[float(universe[which].split()[0]) for which in ("RTT", "shorter RTT")],
                buffer_bdp=float(universe["buffer"]),
                profile=universe["sender's stack"],
                duration_s=_FAIRNESS_S,
            ),
            measure_fairness,
        )
        for name in ALGORITHMS
    ]


def _fairness_claims(universe: Universe) -> list[Claim]:
    del universe
    sides: list[Labels] = [{"algorithm": name} for name in ("CUBIC", "CTCP", "NewReno")]
    title = "Jain's index of two RTTs, CUBIC / each competitor"
    return [Claim(title, "fairer", "jain", sides, Greater(), headline="windows-lte:rtt")]


SPACES = (
    Space(
        "windows-lte/download",
        "one download over LTE and 802.11n: throughputs (Table I, Figs. 16, 17)",
        (_RTT, _CELL, _QUEUE, _LOSS, _PROFILE),
        _download,
        _download_claims,
    ),
    Space(
        "windows-lte/rtt-fairness",
        "two flows with unequal RTTs: fairness (conclusion)",
        (_RTT, _SHORT, _LINE, _BUFFER, _PROFILE),
        _fairness,
        _fairness_claims,
    ),
)
