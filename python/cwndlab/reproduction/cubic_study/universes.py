"""What the CUBIC study leaves open, and its claims over all of it.

Its claims on 20 to 200 flows over 10 Gbit/s (Figure 9) have no space: one universe takes an hour and more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import Claim, Greater, Less, RatioIn, ValueIn
from cwndlab.reproduction.cubic_study.measures import measure_goodput
from cwndlab.reproduction.cubic_study.variants import SST, STACK
from cwndlab.reproduction.cubic_study.wired import slow_link
from cwndlab.reproduction.cubic_study.wireless import cell
from cwndlab.reproduction.cubic_study.wireless import measure as measure_cell
from cwndlab.reproduction.universes import Dimension, Space, Universe

_CUBIC = Dimension(
    "CUBIC",
    "Algorithm 2 (§ 3) is misprinted, its clamp has no units, and it has no TCP-friendly region; § 6 names no module.",
    (
        "Algorithm 2 as printed",
        "Algorithm 2, clamp of the code",
        "Linux 2.6.22",
        "ns-2.35's module",
        "RFC 9438",
    ),
)
_THRESHOLD = Dimension(
    "initial ssthresh",
    "Algorithm 2 (§ 3) prints sst = 100; § 6 does not say so of any variant.",
    ("100 for CUBIC", "none", "100 for all"),
)
_NEWRENO = Dimension(
    "NewReno's recovery", "§ 2 describes NewReno; § 6 does not say whether its agent has SACK.", ("NewReno", "SACK")
)
_COMPOUND = Dimension("Compound", "§ 2 and § 6 do not give Compound's version.", ("γ tuned", "γ = 30"))
_RECEIVER = Dimension(
    "receiver's window", "§ 6 does not name it; ns-2's default is 20 packets.", ("unlimited", "20 packets")
)
_PACKETS = Dimension(
    "payload", "§ 6 does not give packet sizes; ns-2's default is 1000 bytes.", ("1460 bytes", "1000 bytes")
)
_ACKS = Dimension("ACKs", "§ 6 does not say whether receivers delay ACKs.", ("one per packet", "delayed"))
_GOODPUT = Dimension(
    "goodput",
    "The paper does not define goodput: (sent − retransmitted) / time counts lost data that is not sent again.",
    ("sent − retransmitted", "delivered"),
)

_CUBICS = dict(
    zip(
        _CUBIC.choices,
        (
            "cubic-ns2(rate_clamp=literal, tcp_friendliness=off)+standard/sack",
            "cubic-ns2(tcp_friendliness=off)+standard/sack",
            "cubic-ns2+standard/sack",
            "cubic-ns2(ack_ratio=ns2)+standard/sack",
            "cubic+standard/sack",
        ),
        strict=True,
    )
)
_OURS = ("CUBIC", "Compound", "NewReno")


def _senders(universe: Universe) -> dict[str, Mapping[str, Any]]:
    """Algorithm, profile and stack of each variant."""
    compound = "ctcp" if universe["Compound"] == _COMPOUND.choices[0] else "ctcp(auto=off)"
    recovery = "newreno" if universe["NewReno's recovery"] == _NEWRENO.choices[0] else "sack"
    texts = (_CUBICS[universe["CUBIC"]], f"{compound}+standard/sack", f"reno+standard/{recovery}")
    return {name: {"algorithm": text, **_stack(universe, name)} for name, text in zip(_OURS, texts, strict=True)}


def _stack(universe: Universe, variant: str) -> dict[str, Any]:
    changed = {**STACK["stack"], "mss": universe["payload"].replace(" bytes", " B")}
    limited = {"100 for CUBIC": ("CUBIC",), "none": (), "100 for all": _OURS}[universe["initial ssthresh"]]
    if variant in limited:
        changed["initial_ssthresh"] = SST
    if universe["receiver's window"] != _RECEIVER.choices[0]:
        changed["receive_window"] = f"{20 * (int(universe['payload'].split()[0]) + 40)} B"
    if universe["ACKs"] == "delayed":
        changed["ack_every"] = 2
    return {**STACK, "stack": changed}


def _metric(universe: Universe) -> str:
    return "goodput_share" if universe["goodput"] == _GOODPUT.choices[0] else "delivered_share"


# Reverse traffic on a slow link.

_RTT = Dimension("RTT", "§ 6.1 gives no delay.", ("100 ms", "20 ms", "200 ms"))
_BUFFER = Dimension("buffer", "§ 6.1 gives no buffer; ns-2's default is 50 packets.", ("1 BDP", "50 packets", "2 BDP"))
_REVERSE = Dimension(
    "reverse flows", '§ 6.1 has "10 TCP sources" and names no variant.', ("of the same variant", "NewReno")
)
_REVERSE_FLOWS, _WIRED_S = 10, 200.0


def _wired(universe: Universe) -> list[Case]:
    rtt, buffer = universe["RTT"], universe["buffer"]
    capacity = buffer if buffer.endswith("packets") else f"{buffer.split()[0]} bdp({rtt})"
    senders = _senders(universe)
    cases = []
    for name, sender in senders.items():
        for count in (0, _REVERSE_FLOWS):
            document = slow_link(
                sender,
                sender if universe["reverse flows"] == _REVERSE.choices[0] else senders["NewReno"],
                reverse=count,
                duration_s=_WIRED_S,
                rtt_ms=float(rtt.split()[0]),
                buffer=capacity,
                title=f"cubic-study, {count} reverse flows",
            )
            cases.append(Case({"variant": name, "reverse": count}, document, measure_goodput))
    return cases


def _wired_claims(universe: Universe) -> list[Claim]:
    metric = _metric(universe)
    with_reverse: list[Labels] = [{"variant": name, "reverse": _REVERSE_FLOWS} for name in _OURS]
    cubic, compound, newreno = with_reverse
    alone: list[Labels] = [{"variant": name, "reverse": 0} for name in _OURS]
    both: list[Labels] = [{"reverse": count} for count in (_REVERSE_FLOWS, 0)]
    slow: list[Labels] = [{"variant": name} for name in _OURS]
    near = RatioIn(0.98, 1 / 0.98)
    return [
        Claim(
            "CUBIC's goodput, with / without reverse flows",
            "not affected",
            metric,
            [cubic, alone[0]],
            RatioIn(0.99, 1 / 0.99),
            headline="cubic-study:reverse",
        ),
        Claim(
            "goodput with reverse flows, CUBIC / each competitor",
            "CUBIC best",
            metric,
            [cubic, compound, newreno],
            Greater(),
            headline="cubic-study:goodput",
        ),
        Claim(
            "goodput with reverse flows, NewReno / each competitor",
            "NewReno worst",
            metric,
            [newreno, cubic, compound],
            Less(),
            headline="cubic-study:newreno",
        ),
        Claim(
            "goodput with reverse flows, Compound / NewReno",
            "Compound better",
            metric,
            [compound, newreno],
            Greater(),
            headline="cubic-study:compound",
        ),
        Claim(
            "goodput with / without reverse flows, each variant",
            "totally changed",
            metric,
            both,
            Less(),
            headline="cubic-study:changed",
            each="variant",
        ),
        Claim(
            "goodput without reverse flows, CUBIC / each competitor",
            "almost the same",
            metric,
            alone,
            near,
            headline="cubic-study:forward",
        ),
        Claim(
            "goodput over 2 Mbit/s, CUBIC / each competitor",
            "degrades in low-speed networks",
            metric,
            slow,
            Less(),
            headline="cubic-study:low-speed",
            each="reverse",
        ),
    ]


# A wireless cell.

_CELL_RTT = Dimension("RTT", "§ 6.2 gives no delay.", ("50 ms", "20 ms", "100 ms"))
_CELL_QUEUE = Dimension(
    "stations' queues", "§ 6.2 gives no queue; ns-2's default is 50 packets.", ("100 packets", "50 packets")
)
_SINKS = Dimension(
    "wireless sources' sinks",
    "§ 6.2 has ten sources on the wireless side, for reverse traffic, and their ten sinks on the wireless side too.",
    ("wired hosts", "mobile nodes"),
)
_MAC = Dimension(
    "802.11",
    "§ 6.2 names 802.11g only: ns-2's 802.11Ext has its slots and contention window; ns-2's older MAC has 20 µs, 31 "
    "and RTS before every frame.",
    ("802.11g's constants", "ns-2's older MAC"),
)
_COUNTED = Dimension(
    "counted",
    '§ 6.1 evaluates the goodput "of network", § 6.2 that "of the protocols" by users.',
    ("sum of all users", "per user"),
)
_FEW, _MANY, _CELL_S = 5, 20, 60.0
_OLDER_MAC = {"slot": "20 us", "cw_min": 31, "rts_above": "1 B"}


def _wireless(universe: Universe) -> list[Case]:
    return [
        Case(
            {"variant": name, "nodes": count},
            cell(
                sender,
                downloads=count,
                sinks="wire" if universe[_SINKS.name] == _SINKS.choices[0] else "mobile",
                duration_s=_CELL_S,
                rtt_ms=float(universe["RTT"].split()[0]),
                queue=universe["stations' queues"],
                medium={} if universe["802.11"] == _MAC.choices[0] else _OLDER_MAC,
                title=f"cubic-study, {count} downloads",
            ),
            measure_cell,
        )
        for count in (_FEW, _MANY)
        for name, sender in _senders(universe).items()
    ]


def _wireless_claims(universe: Universe) -> list[Claim]:
    metric = _metric(universe)
    of_users = "goodput_per_user" if universe["counted"] == _COUNTED.choices[1] else metric

    def sides(*names: str) -> list[Labels]:
        return [{"variant": name} for name in names]

    ends: list[Labels] = [{"nodes": count} for count in (_MANY, _FEW)]
    return [
        Claim(
            "goodput, Compound / each competitor",
            "Compound best",
            metric,
            sides("Compound", "CUBIC", "NewReno"),
            Greater(),
            headline="cubic-study:wireless",
        ),
        Claim(
            "goodput, CUBIC / NewReno",
            "almost similar",
            metric,
            sides("CUBIC", "NewReno"),
            RatioIn(0.9, 1 / 0.9),
            headline="cubic-study:wireless-alike",
        ),
        Claim(
            "Jain's index, NewReno / each competitor",
            "NewReno best",
            "jain",
            sides("NewReno", "CUBIC", "Compound"),
            Greater(),
            headline="cubic-study:wireless-fairness",
        ),
        Claim(
            "goodput and Jain's index, CUBIC / each competitor",
            "CUBIC overall worst",
            (metric, "jain"),
            sides("CUBIC", "Compound", "NewReno"),
            Less(),
            headline="cubic-study:wireless-cubic",
        ),
        Claim(
            f"goodput of each variant, {_MANY} / {_FEW} downloads",
            "decreases with the number of users",
            of_users,
            ends,
            Less(),
            headline="cubic-study:users",
            each="variant",
        ),
        Claim(
            "goodput of each variant over 54 Mbit/s",
            "very poor",
            metric,
            [{}],
            ValueIn(0, 0.5),
            # Of no headline: 802.11g carries less than half of 54 Mbit/s of TCP payload even without the uploads, and
            # no universe is without them.
            each="variant",
        ),
    ]


_VARIANTS = (_CUBIC, _THRESHOLD, _NEWRENO, _COMPOUND, _RECEIVER, _PACKETS, _ACKS, _GOODPUT)
SPACES = (
    Space(
        "cubic-study/reverse",
        "one flow over 2 Mbit/s with and without reverse flows (§ 6.1, Fig. 7)",
        (*_VARIANTS, _RTT, _BUFFER, _REVERSE),
        _wired,
        _wired_claims,
        universes=400,
    ),
    Space(
        "cubic-study/wireless",
        "downloads over 802.11g (§ 6.2, Fig. 11)",
        (*_VARIANTS, _CELL_RTT, _CELL_QUEUE, _SINKS, _MAC, _COUNTED),
        _wireless,
        _wireless_claims,
        universes=200,
        quick=8,
    ),
)
