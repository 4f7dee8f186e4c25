"""What the CUBIC study leaves open, and its claims over all of it.

Its claim on the fairness of 20 to 200 flows over 10 Gbit/s has no space: one universe takes an hour and more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, Less, Order, RatioIn
from cwndlab.reproduction.cubic_study.measures import measure_goodput
from cwndlab.reproduction.cubic_study.variants import STACK
from cwndlab.reproduction.cubic_study.wireless import measure as measure_cell
from cwndlab.reproduction.multiverse.space import Dimension, Space, Universe

_CUBIC = Dimension(
    "CUBIC",
    "§ 6 names neither module nor constants; its Algorithm 2 is Linux 2.6.22's.",
    ("Algorithm 2", "RFC 9438", "Linux"),
)
_NEWRENO = Dimension("NewReno's recovery", "§ 6 does not say whether NewReno has SACK.", ("NewReno", "SACK"))
_COMPOUND = Dimension("Compound", "§ 6 does not give Compound's parameters.", ("γ tuned", "γ = 30"))
_THRESHOLD = Dimension("initial ssthresh", "Algorithm 2 sets sst = 100; § 6 does not say so.", ("none", "100"))
_RECEIVER = Dimension(
    "receiver's window", "§ 6 does not name it; ns-2's default is 20 packets.", ("unlimited", "20 packets")
)
_ACKS = Dimension("ACKs", "§ 6 does not say whether receivers delay ACKs.", ("one per packet", "delayed"))
_GOODPUT = Dimension(
    "goodput",
    "§ 6 defines goodput as (sent − retransmitted) / time, which counts lost data that is not sent again.",
    ("sent − retransmitted", "delivered"),
)

_CUBICS = {
    "Algorithm 2": "cubic-ns2+standard/sack",
    "RFC 9438": "cubic+standard/sack",
    "Linux": "cubic-linux+standard/sack",
}
_OURS = ("CUBIC", "Compound", "NewReno")


def _algorithms(universe: Universe) -> Mapping[str, str]:
    compound = "ctcp" if universe["Compound"] == _COMPOUND.choices[0] else "ctcp(auto=off)"
    recovery = "newreno" if universe["NewReno's recovery"] == _NEWRENO.choices[0] else "sack"
    names = (_CUBICS[universe["CUBIC"]], f"{compound}+standard/sack", f"reno+standard/{recovery}")
    return dict(zip(_OURS, names, strict=True))


def _stack(universe: Universe) -> dict[str, Any]:
    changed = dict(STACK["stack"])
    if universe["initial ssthresh"] != "none":
        changed["initial_ssthresh"] = int(universe["initial ssthresh"])
    if universe["receiver's window"] != "unlimited":
        changed["receive_window"] = "30000 B"
    if universe["ACKs"] == "delayed":
        changed["ack_every"] = 2
    return {**STACK, "stack": changed}


def _metric(universe: Universe) -> str:
    return "goodput_share" if universe["goodput"] == _GOODPUT.choices[0] else "delivered_share"


# Reverse traffic on a slow link.

_RTT = Dimension("RTT", "§ 6.1 gives no delay.", ("100 ms", "40 ms", "200 ms"))
_BUFFER = Dimension("buffer", "§ 6.1 gives no buffer.", ("1 BDP", "0.5 BDP", "50 packets", "200 packets"))
_REVERSE = Dimension(
    "reverse flows", "§ 6.1 says only that the ten reverse flows are TCP.", ("of the same variant", "NewReno")
)
_BUFFERS = {"1 BDP": "1 bdp({rtt})", "0.5 BDP": "0.5 bdp({rtt})"}
_REVERSE_FLOWS, _WIRED_S = 10, 200.0


def _wired(universe: Universe) -> list[Case]:
    rtt, buffer = universe["RTT"], universe["buffer"]
    delay_ms = float(rtt.split()[0]) / 4
    algorithms = _algorithms(universe)
    cases = []
    for name, algorithm in algorithms.items():
        other = algorithm if universe["reverse flows"] == _REVERSE.choices[0] else algorithms["NewReno"]
        for count in (0, _REVERSE_FLOWS):
            flows = [("forward0", "forward", algorithm)] + [(f"reverse{n}", "reverse", other) for n in range(count)]
            document = {
                "schema_version": 1,
                "title": f"cubic-study, {name}, {count} reverse flows",
                "duration": f"{_WIRED_S} s",
                "start_jitter": "1 s",
                "dumbbell": {
                    "bottleneck": {
                        "rate": "2 Mbps",
                        "delay": f"{delay_ms:g} ms",
                        "queue": {"capacity": _BUFFERS.get(buffer, buffer).format(rtt=rtt)},
                    },
                    "access": {"rate": "1 Gbps"},
                },
                "flow": [
                    {"name": flow, "direction": way, "algorithm": text, "rtt": rtt, **_stack(universe)}
                    for flow, way, text in flows
                ],
            }
            cases.append(Case({"variant": name, "reverse": count}, document, measure_goodput))
    return cases


def _wired_claims(universe: Universe) -> list[Claim]:
    metric = _metric(universe)
    with_reverse: list[Labels] = [{"variant": name, "reverse": _REVERSE_FLOWS} for name in _OURS]
    alone: Labels = {"variant": "CUBIC", "reverse": 0}
    return [
        Claim(
            "CUBIC's goodput, with / without reverse flows",
            "not affected",
            metric,
            [with_reverse[0], alone],
            RatioIn(0.99, 1 / 0.99),
            headline="cubic-study:reverse",
        ),
        Claim(
            "goodput with reverse flows, CUBIC / each competitor",
            "CUBIC best",
            metric,
            with_reverse,
            Greater(),
            headline="cubic-study:goodput",
        ),
    ]


# A wireless cell.

_CELL_RTT = Dimension("RTT", "§ 6.2 gives no delay.", ("50 ms", "10 ms", "100 ms"))
_CELL_QUEUE = Dimension(
    "station's queue", "§ 6.2 gives no queue of the base station.", ("100 packets", "50 packets", "300 packets")
)
_UPLOADS = Dimension(
    "wireless sources",
    "§ 6.2 has ten TCP sources on the wireless side; its text and its figure disagree on where the sinks are.",
    ("10 uploads", "none"),
)
_FEW, _MANY, _CELL_S, _RATE_MBPS = 5, 20, 60.0, 54


def _wireless(universe: Universe) -> list[Case]:
    uploads = 10 if universe["wireless sources"] == _UPLOADS.choices[0] else 0
    cases = []
    for count in (_FEW, _MANY):
        for name, algorithm in _algorithms(universe).items():
            document = {
                "schema_version": 1,
                "title": f"cubic-study, {name}, {count} downloads and {uploads} uploads",
                "duration": f"{_CELL_S} s",
                "sample_interval": "1 s",
                "start_jitter": "1 s",
                "wlan": {
                    "standard": "802.11g",
                    "rate": f"{_RATE_MBPS} Mbps",
                    "queue": {"capacity": universe["station's queue"]},
                    "wire": {"rate": "1 Gbps"},
                },
                "flow": [
                    {"name": f"{way}{n}", "direction": f"{way}load", "algorithm": algorithm, "rtt": universe["RTT"]}
                    | _stack(universe)
                    for way, many in (("down", count), ("up", uploads))
                    for n in range(many)
                ],
            }
            cases.append(Case({"variant": name, "nodes": count}, document, measure_cell))
    return cases


def _wireless_claims(universe: Universe) -> list[Claim]:
    metric = _metric(universe)

    def sides(*names: str) -> list[Labels]:
        return [{"variant": name, "nodes": _MANY} for name in names]

    ends: list[Labels] = [{"variant": "CUBIC", "nodes": count} for count in (_MANY, _FEW)]
    return [
        Claim(
            f"goodput of {_MANY} downloads, Compound / each competitor",
            "Compound best",
            metric,
            sides("Compound", "CUBIC", "NewReno"),
            Greater(),
            headline="cubic-study:wireless",
        ),
        Claim(
            f"Jain's index of {_MANY} downloads: NewReno over Compound over CUBIC",
            "NewReno best, CUBIC worst",
            "jain",
            sides("NewReno", "Compound", "CUBIC"),
            Order(),
            headline="cubic-study:wireless-fairness",
        ),
        Claim(
            f"CUBIC's goodput, {_MANY} / {_FEW} downloads",
            "falls with n",
            metric,
            ends,
            Less(),
            headline="cubic-study:users",
        ),
    ]


_SENDERS = (_CUBIC, _NEWRENO, _COMPOUND, _THRESHOLD, _RECEIVER, _ACKS, _GOODPUT)
SPACES = (
    Space(
        "cubic-study/reverse",
        "one flow over 2 Mbit/s with and without reverse flows (§ 6.1, Fig. 7)",
        (*_SENDERS, _RTT, _BUFFER, _REVERSE),
        _wired,
        _wired_claims,
    ),
    Space(
        "cubic-study/wireless",
        "downloads over 802.11g (§ 6.2, Fig. 11)",
        (*_SENDERS, _CELL_RTT, _CELL_QUEUE, _UPLOADS),
        _wireless,
        _wireless_claims,
        repetitions=3,
        universes=200,
        quick=8,
    ),
)
