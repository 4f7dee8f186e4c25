"""Figure 11 of the CUBIC study: n downloads over an 802.11g cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cwndlab import metrics
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size
from cwndlab.reproduction.claims import Claim, Greater, Kind, Less, RatioIn, Underspecified
from cwndlab.reproduction.cubic_study.variants import (
    ASSUMPTIONS,
    BASE,
    COMPOUND,
    CUBIC,
    CUBICS,
    NEWRENO,
    PAPERS,
    READINGS,
    READINGS_ASSUMED,
    VARIANTS,
    kind,
    stack,
)
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: TCP sources on the wireless side.
REVERSE = 10
#: Of the air, in Mbit/s.
_RATE_MBPS = 54

#: Where the ten sources of the wireless side send to: to hosts on the wire, or to other mobile nodes.
Sinks: TypeAlias = Literal["wire", "mobile"]

_ASSUMPTIONS = (
    *ASSUMPTIONS,
    "Base RTT 50 ms and 100 packets in the base station's queue, which all mobile nodes share, and as many in each "
    "node's: "
    "the paper gives neither.",
    'The paper contradicts itself on the reverse traffic: ten sources "are connected at the wireless side" and ten '
    'sinks "are connected at the wireless side" too. The sinks are on the wire here.',
    f"Each mobile node has one flow: n of them download, {REVERSE} more send; all are of the same variant.",
    "The cell has the constants of ERP-OFDM with a short slot; no noise, no hidden nodes, no RTS, all at 54 Mbit/s.",
    "n is 5, 10, 20, 30, 40, 50: the paper's steps are not given. Sentences that name no n are judged by the mean of "
    "all.",
    'Goodput is that of all downloads together ("the goodput of network"); its fall with the number of users is '
    "judged so, and per user beside it.",
    'Among users the paper contradicts itself: CUBIC and NewReno have "almost the similar goodput" and CUBIC has the '
    '"overall worst performance".',
    f"{READINGS_ASSUMED} They are run with the middle n only.",
)


def measure(records: Records) -> dict[str, float | None]:
    """Goodput of the downloads together over the rate of the air, as the papers define it and as delivered, and Jain's
    index of theirs."""
    names = [name for name in records.flows["name"].to_list() if name.startswith("down")]
    flows = metrics.goodput(records).filter(records.flows["name"].is_in(names))
    uploads = metrics.goodput(records).filter(~records.flows["name"].is_in(names))
    chosen = records.flows.filter(records.flows["name"].is_in(names))
    return {
        "goodput_share": float(flows["sent_goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "delivered_share": float(flows["goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "upload_share": float(uploads["goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "goodput_per_user": float(flows["sent_goodput_bps"].sum()) / (_RATE_MBPS * 1e6) / len(names),
        "jain": metrics.jain(flows["goodput_bps"].drop_nulls().to_list()),
        "timeouts": float(chosen["timeouts"].sum()) / len(names),
        "retransmitted_ratio": float(chosen["retransmitted_packets"].sum()) / max(1, int(chosen["sent_packets"].sum())),
    }


def cell(
    sender: Mapping[str, Any],
    *,
    downloads: int,
    uploads: int = REVERSE,
    sinks: Sinks = "wire",
    duration_s: float,
    rtt_ms: float = 50.0,
    queue: str = "100 packets",
    medium: Mapping[str, Any] | None = None,
    title: str = "",
) -> dict[str, Any]:
    """Figure 10: downloads from the wire, and senders on the wireless side; ``sender`` is the algorithm and the stack
    of all, ``medium`` has fields of the medium."""
    document: dict[str, Any] = {
        "schema_version": 1,
        "title": title,
        "duration": f"{duration_s} s",
        "sample_interval": "1 s",
        "start_jitter": "1 s",
    }
    air = {"standard": "802.11g", "rate": f"{_RATE_MBPS} Mbps", **(medium or {})}
    down, up = ([f"{way}{n}" for n in range(many)] for way, many in (("down", downloads), ("up", uploads)))
    if sinks == "wire":
        ways = [(name, "download") for name in down] + [(name, "upload") for name in up]
        flows = [{"name": name, "direction": way, "rtt": f"{rtt_ms:g} ms", **sender} for name, way in ways]
        return document | {
            "wlan": {**air, "queue": {"capacity": queue}, "wire": {"rate": "1 Gbps"}},
            "flow": flows,
        }
    peers = {name: f"sink{number}" for number, name in enumerate(up)}
    mobile = [*down, *up, *peers.values()]
    wire = {"from": "server", "to": "ap", "rate": "1 Gbps", "delay": f"{rtt_ms / 2:g} ms"}
    air_links = [{"from": "ap", "to": name, "medium": "cell", "queue": {"capacity": queue}} for name in mobile]
    return document | {
        "node": [{"name": name} for name in ("server", "ap", *mobile)],
        "medium": [{"name": "cell", **air}],
        "link": [wire | {"queue": {"capacity": "unlimited"}}, *air_links],
        "flow": [
            *({"name": name, "from": "server", "to": name, **sender} for name in down),
            *({"name": name, "from": name, "to": peer, **sender} for name, peer in peers.items()),
        ],
    }


def _cases(size: Size) -> list[Case]:
    nodes = size["nodes"]
    cells = [(BASE, uploads, count) for uploads in (REVERSE, 0) for count in nodes]
    cells += [(reading, REVERSE, nodes[len(nodes) // 2]) for reading in READINGS if reading != BASE]
    return [
        Case(
            {"reading": reading, "uploads": uploads, "nodes": count, "variant": name},
            cell(
                {"algorithm": algorithm, **stack(name, reading)},
                downloads=count,
                uploads=uploads,
                duration_s=size.duration_s,
                title=f"cubic-study fig11, {name}, {count} downloads and {uploads} uploads, {reading}",
            ),
            measure,
        )
        for reading, uploads, count in cells
        for name, algorithm in VARIANTS.items()
    ]


def _side(variant: str, reading: str = BASE) -> Labels:
    """As in the paper: with the uploads."""
    return {"reading": reading, "uploads": REVERSE, "variant": variant}


#: As in the paper: with the uploads.
_EVERY: Labels = {"reading": BASE, "uploads": REVERSE}


def _key(what: Kind, name: str) -> str:
    """The headline of a claim at the base assumptions."""
    return f"cubic-study:{name}" if what == "claim" else ""


def _fig11a_claims(size: Size) -> list[Claim]:
    metric, first, last = "goodput_share", size["nodes"][0], size["nodes"][-1]
    claims = []
    for cubic in CUBICS:
        what = kind(cubic)
        best: list[Labels] = [_side(name) for name in (COMPOUND, cubic, NEWRENO)]
        title, key = f"goodput, mean of all n, {COMPOUND} against {cubic} and {NEWRENO}", _key(what, "wireless")
        claims.append(Claim(title, "Compound best", metric, best, Greater(), kind=what, headline=key))
        title = f"goodput at each n, {COMPOUND} against {cubic} and {NEWRENO}"
        claims.append(Claim(title, "Compound best at each n", metric, best, Greater(), kind="reading", each="nodes"))
        alike: list[Labels] = [_side(name) for name in (cubic, NEWRENO)]
        title, words, near = f"goodput, mean of all n, {cubic} / {NEWRENO}", "almost similar", RatioIn(0.9, 1 / 0.9)
        key = _key(what, "wireless-alike")
        claims.append(Claim(title, words, metric, alike, near, kind=what, headline=key))
        worst: list[Labels] = [_side(name) for name in (cubic, COMPOUND, NEWRENO)]
        title, key = f"{cubic} against {COMPOUND} and {NEWRENO}, mean of all n", _key(what, "wireless-cubic")
        words, both = "CUBIC overall worst", (metric, "jain")
        claims.append(Claim(f"goodput and Jain's index, {title}", words, both, worst, Less(), kind=what, headline=key))
    ends: list[Labels] = [{**_EVERY, "nodes": count} for count in (last, first)]
    for title, one, of in (("goodput", metric, kind(CUBIC)), ("goodput per user", "goodput_per_user", "reading")):
        key, quantity = _key(of, "users"), f"{title} of each variant, {last} / {first} nodes"
        words, fewer = "decreases with the number of users", Less()
        claims.append(Claim(quantity, words, one, ends, fewer, kind=of, headline=key, each="variant", at=PAPERS))
    pair: list[Labels] = [{"reading": BASE, "uploads": uploads} for uploads in (REVERSE, 0)]
    title, far = "goodput of each variant over what the cell carries without uploads", RatioIn(0, 0.5)
    words, key = f"very poor beside {_RATE_MBPS} Mbit/s", "cubic-study:wireless-poor"
    claims.append(Claim(title, words, metric, pair, far, headline=key, each="variant", at=PAPERS))
    title, key = "goodput of each variant, with / without uploads", "cubic-study:wireless-reverse"
    words = "reverse traffic affects the performance"
    claims.append(Claim(title, words, metric, pair, Less(), headline=key, each="variant", at=PAPERS))
    for reading in READINGS:
        if reading != BASE:
            best = [_side(name, reading) for name in (COMPOUND, CUBIC, NEWRENO)]
            title = f"{reading}: goodput, {COMPOUND} against {CUBIC} and {NEWRENO}"
            claims.append(Claim(title, "Compound best", metric, best, Greater(), kind="reading"))
    return claims


def _fig11b_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for cubic in CUBICS:
        what = kind(cubic)
        sides = [_side(name) for name in (NEWRENO, cubic, COMPOUND)]
        title, key = f"Jain's index, mean of all n, {NEWRENO} over {cubic} and {COMPOUND}", "wireless-fairness"
        claims.append(Claim(title, "NewReno best", "jain", sides, Greater(), kind=what, headline=_key(what, key)))
        title = f"Jain's index at each n, {NEWRENO} over {cubic} and {COMPOUND}"
        claims.append(Claim(title, "NewReno best at each n", "jain", sides, Greater(), kind="reading", each="nodes"))
    for reading in READINGS:
        if reading != BASE:
            sides = [_side(name, reading) for name in (NEWRENO, CUBIC, COMPOUND)]
            title = f"{reading}: Jain's index, NewReno over {CUBIC} and {COMPOUND}"
            claims.append(Claim(title, "NewReno best", "jain", sides, Greater(), kind="reading"))
    shown = Underspecified("the figure's values are not given")
    title = "Jain's index, mean of all n"
    claims += [Claim(f"{name}: {title}", "–", "jain", [_side(name)], shown) for name in PAPERS]
    return claims


def _chart(measured: Measured, name: str, metric: str, title: str, axis: str, factor: float) -> list[Chart]:
    nodes = measured.points("nodes")
    curves = []
    for uploads in measured.points("uploads"):
        for variant in VARIANTS:
            found = [measured.estimate(metric, reading=BASE, uploads=uploads, nodes=n, variant=variant) for n in nodes]
            panel = f"with {uploads} uploads (the paper's)" if uploads else "downloads alone"
            curves.append(Curve.of(variant, nodes, found, factor=factor, panel=panel))
    return [Chart(name, title, "mobile nodes", axis, curves, shared_y=False)]


def _why(measured: Measured) -> list[str]:
    sentences = []
    for name in VARIANTS:
        with_uploads, alone = ({"reading": BASE, "uploads": uploads, "variant": name} for uploads in (REVERSE, 0))
        down, up, late, again = (
            measured.estimate(metric, **with_uploads).mean
            for metric in ("delivered_share", "upload_share", "timeouts", "retransmitted_ratio")
        )
        sentences.append(
            f"{name}, mean of all n: downloads have {down:.1%} of {_RATE_MBPS} Mbit/s and the {REVERSE} uploads "
            f"{up:.1%}; a "
            f"download has {late:.3g} timeouts and repeats {again:.1%} of its packets. Without the uploads, "
            "downloads have "
            f"{measured.estimate('delivered_share', **alone).mean:.1%}."
        )
    sentences.append(
        "DCF gives every station the same turns: the base station has one for all downloads and all ACKs of the "
        "uploads, "
        "each upload has its own. The uploads' windows have no limit but loss, and lost ACKs hardly slow them: "
        "their ACKs "
        "fill the base station's queue, and downloads lose most of what they send (S. Pilosof et al., INFOCOM 2003)."
    )
    return sentences


_QUICK = Size(60.0, 5, {"nodes": (5, 20, 50)})
_FULL = Size(1000.0, 5, {"nodes": (5, 10, 20, 30, 40, 50)})
_SET_UP = (
    "n wired sources, a router, a base station and n mobile nodes on 802.11g at 54 Mbit/s, wires of 1 Gbit/s, ten "
    "TCP sources "
    "on the wireless side"
)

FIG11A = Experiment(
    "cubic-study/fig11a",
    "goodput of n downloads over 802.11g",
    "§ 6.2, Figs. 10, 11(a)",
    f"{_SET_UP}: Compound has the highest goodput, CUBIC about that of NewReno; it falls with n, and all are very "
    "poor beside 54 Mbit/s, since the reverse traffic delays ACKs; CUBIC is the worst overall.",
    [
        *_ASSUMPTIONS,
        '"Almost the similar" is within 10 %; "very poor" is under half of what the same variant has without uploads. '
        f"Half of {_RATE_MBPS} Mbit/s is not a bound: 802.11g carries less TCP payload even without uploads.",
        "The reason that the paper gives, delayed ACKs, is not judged: only the uploads' effect on goodput is.",
    ],
    _QUICK,
    _FULL,
    _cases,
    _fig11a_claims,
    lambda measured: _chart(
        measured, "fig11a", "goodput_share", "Goodput of n downloads", "goodput, Mbit/s", float(_RATE_MBPS)
    ),
    why=_why,
)

FIG11B = Experiment(
    "cubic-study/fig11b",
    "Jain's index of n downloads over 802.11g",
    "§ 6.2, Figs. 10, 11(b)",
    f"{_SET_UP}: NewReno is fairer than CUBIC and Compound.",
    _ASSUMPTIONS,
    _QUICK,
    _FULL,
    _cases,
    _fig11b_claims,
    lambda measured: _chart(measured, "fig11b", "jain", "Jain's index of n downloads", "Jain's index", 1.0),
    why=_why,
)
