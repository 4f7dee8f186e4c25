"""Rows whose outcome is in doubt: the reason, with the measured counter-evidence, until the row is replaced; and where
the algorithms deviate from what the papers print.

A row is a headline (``PAPER:NAME``) or a claim of an experiment (``PAPER/FIGURE: QUANTITY``). A reason is shown
wherever the outcome of one of its rows is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cwndlab.reproduction.claims import Finding


@dataclass(frozen=True)
class Doubt:
    """Why the outcomes of some rows are not to be relied on."""

    rows: Sequence[str]
    """Headlines and claims."""
    reason: str
    """One to three sentences."""


DOUBTS = (
    Doubt(
        (
            "phcc:fairness",
            "phcc/fig12a: PHCC: Jain's index once all have started",
            "phcc/fig12a: PHCC, α = 20: Jain's index once all have started",
        ),
        "Reno, FAST, HCC and BIC have the same three throughputs in Fig. 12(a) (6.38, 199.04 and 0.00 Mbit/s): the "
        "first flow puts 175,200 packets into the unlimited queue of its host. With 50 packets there, or access links "
        "of 1 Gbit/s, Jain's index is 1.000 and the line is used less.",
    ),
    Doubt(
        (
            "phcc:adapts",
            "phcc:throughput",
            "phcc:throughput-best",
            "phcc/fig9: PHCC: utilisation with 300 packets and more",
            "phcc/fig9: PHCC: utilisation under 300 packets",
            "phcc/fig9: throughput with 300 packets and more, PHCC / the mean of the high-speed variants",
            "phcc/fig9: throughput over all buffers, PHCC / each other",
        ),
        "In the set-up of Fig. 9 a tie of floating-point numbers holds PHCC in slow start. From RTTs of 119.7 to "
        "125 ms its throughput jumps between 41 and 154 Mbit/s, and 1 µs of jitter changes 41 to 103 Mbit/s. The "
        "repetitions are copies of one run, so that the interval is not a measure of its precision.",
    ),
    Doubt(
        (
            "windows-lte:order",
            "windows-lte:ctcp",
            "windows-lte:gains",
            "windows-lte/table1: throughput, CUBIC / CTCP and NewReno, random loss 0.0001",
            "windows-lte/table1: throughput, CTCP / NewReno, random loss 0.0001",
            "windows-lte/table1: throughput, CUBIC / CTCP and NewReno, random loss 0.001",
            "windows-lte/table1: throughput, CTCP / NewReno, random loss 0.001",
            "windows-lte/fig17: throughput, CUBIC / CTCP, random loss 0.0001",
            "windows-lte/fig17: throughput, CUBIC / NewReno, random loss 0.0001",
            "windows-lte/fig17: throughput, CUBIC / CTCP, random loss 0.001",
            "windows-lte/fig17: throughput, CUBIC / NewReno, random loss 0.001",
        ),
        "With random losses, connections of the profile windows-10-20h1 could stop in these runs, and then sent one "
        "segment per timeout: one run of CTCP has 0.105 Mbit/s, the others 2.66 to 2.89 Mbit/s. Over the universes, "
        "the effect of the sender's stack (51 to 78 %) may be the same fault.",
    ),
    Doubt(
        (
            "ccm-ss:eighteen",
            "ccm-ss/claim18: loss, fairness and convergence time, better by (geometric mean over three quantities and "
            "five others)",
        ),
        "CUBIC with HyStart has the same four means: the gain is that of HyStart over the standard slow start of the "
        "five others, and CCM-SS adds nothing. Goodput alone has no effect, which decides by the rule of the weakest "
        "part, and the first universes are fragile.",
    ),
    Doubt(
        (
            "cubic-study:wireless",
            "cubic-study:wireless-alike",
            "cubic-study:users",
            "cubic-study/fig11a: goodput, mean of all n, Compound against CUBIC (Algorithm 2) and NewReno",
            "cubic-study/fig11a: goodput, mean of all n, CUBIC (Algorithm 2) / NewReno",
            "cubic-study/fig11a: goodput of each variant, 50 / 5 nodes",
        ),
        "The row ranks goodputs of 0.1 to 0.35 of 54 Mbit/s, where 44 to 63 % of the packets are repetitions. With the "
        "window of 20 packets that ns-2 has by default, Compound is best with 5 and with 20 nodes, as published.",
    ),
    Doubt(
        (
            "cubic-study:low-speed",
            "cubic-study/fig7: goodput over 2 Mbit/s, CUBIC (Algorithm 2) / Compound and NewReno",
        ),
        "The abstract compares CUBIC on slow paths with CUBIC on fast paths. This row compares it with Compound and "
        "NewReno on a slow path; the comparison of the abstract is not made.",
    ),
    Doubt(
        (
            "windows-lte:same-rtt",
            "windows-lte/table1: mean RTT, CUBIC / CTCP and NewReno, no random loss",
        ),
        "The study assumes that the RTTs of the path are constant. Judged is the RTT under load, with a queue of "
        "4 BDP, which is our choice; it tells nothing of the assumption.",
    ),
    Doubt(
        (
            "windows-lte:order",
            "windows-lte:ctcp",
            "windows-lte:gains",
            "windows-lte/table1: throughput, CUBIC / CTCP and NewReno, no random loss",
            "windows-lte/table1: throughput, CTCP / NewReno, no random loss",
            "windows-lte/fig17: throughput, CUBIC / CTCP, no random loss",
            "windows-lte/fig17: throughput, CUBIC / NewReno, no random loss",
        ),
        "The throughputs that the study prints exclude the full line that the base assumptions produce: the base is "
        "the wrong one, and cannot discriminate. With a queue of 0.1 to 0.5 BDP the claim holds in 79 % of the "
        "universes.",
    ),
    Doubt(
        (
            "iot:throughput",
            "iot/fig5: throughput, mean of the six times, proposed / each competitor",
        ),
        "Ten repetitions are too few. With 40, the ratio is 1.020 [1.0145, 1.0248] to H-TCP, 1.045 to CUBIC, 1.049 to "
        "Fast-FIT and 1.099 to New Reno: the claim holds.",
    ),
    Doubt(
        (
            "ccm-ss:loss-size",
            "ccm-ss:loss",
            "ccm-ss/table4: drops per second, long and short together, CCM-SS / HyStart with both bounds (μ = 1)",
            "ccm-ss/table4: drops per second, long and short RTTs, CCM-SS / HyStart with both bounds (μ = 1)",
        ),
        "826 of 960 pairs of runs are identical, since slow start ends by a loss or by the cap before the bounds "
        "matter; they make the interval narrow. Where pairs differ, the ratio is 1.001 ± 0.038 on long and "
        "0.994 ± 0.020 on short RTTs.",
    ),
    Doubt(
        (
            "iot:every-background",
            "iot/fig7: throughput from 600 kbit/s on, proposed / each competitor",
        ),
        "Of the 20 parts 8 hold, 6 have no effect, 5 are inconclusive and 1 is opposite. The outcome is that of the "
        "one, without a correction for 20 parts.",
    ),
    Doubt(
        ("windows-lte:gains",),
        "Over the universes only the direction is tested, not the gains of 9.7 % and 32.3 %: this claim looks more "
        "robust there than the weaker one about the order.",
    ),
)

#: Where the algorithms deviate from what a paper prints, or decide what it leaves open, by paper.
DEVIATIONS: Mapping[str, Sequence[str]] = {
    "phcc": (
        "A timeout sets the window to one segment; the paper prints half of the window.",
        "P(D_old) is the delay of the round as a share of its range, and P(L_old) is 0 or 1, so that Eq. 3 "
        "degenerates to the probability that is conditional on what the last round had.",
    ),
    "iot": (
        "The routers stamp the SYN, and not the SYN-ACK, with the least available bandwidth, at least a hundredth of "
        "the capacity.",
        "The initial window is paced over the RTT of the handshake.",
        "The window does not grow while the application, and not the window, limits the flow.",
    ),
    "ccm-ss": (
        "The bounds restrict the exit from slow start alone, and are compared by ≥ where the paper prints <.",
        "While the queue is empty S is about 0, and decides the exit.",
        "Algorithm 1, as it is read here, counts cwnd + 3 ACKs for a round.",
    ),
    "cubic-study": (
        "The window of CUBIC grows after cnt + 1 ACKs; as Algorithm 2 prints its counter it would be cnt + 2. The "
        "origin point org_p is that of the code of Linux 2.6.22.",
        "A timeout resets the state of CUBIC.",
    ),
}


def doubts_of(*rows: str) -> tuple[str, ...]:
    """The reasons that concern any of these rows.

    >>> len(doubts_of("phcc:fairness")), doubts_of("phcc:queue")
    (1, ())
    """
    return tuple(one.reason for one in DOUBTS if set(rows) & set(one.rows))


def doubt(*rows: str) -> str:
    """The reasons that concern any of these rows, as one text; empty where there is none."""
    reasons = " ".join(doubts_of(*rows))
    return f"in doubt: {reasons}" if reasons else ""


def doubt_of(finding: Finding) -> str:
    """`doubt` of a finding: of its own row, and of its headline where it decides that one."""
    headline = (finding.headline,) if finding.kind == "claim" else ()
    return doubt(f"{finding.id}: {finding.quantity}", *headline)
