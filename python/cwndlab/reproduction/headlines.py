"""What each paper claims in its abstract, its conclusion and the summaries of its results: one entry per sentence.

Claims of experiments name the headline that they are evidence for (`Claim.headline`); the outcome of a headline is that
of its weakest claim at the base assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.reproduction.claims import Finding, Outcome
from cwndlab.reproduction.verdicts import tallied, weakest


@dataclass(frozen=True)
class Headline:
    """A sentence of a paper, paraphrased."""

    key: str
    """``PAPER:NAME``, by which claims refer to it."""
    claim: str
    section: str

    @property
    def paper(self) -> str:
        """The part before the colon."""
        return self.key.partition(":")[0]


HEADLINES = (
    Headline("ccm-ss:loss", "CCM-SS loses fewer packets than HyStart", "§ VII i"),
    Headline("ccm-ss:throughout", "throughout the run, on long RTTs", "§ VII, Fig. 12(a)"),
    Headline("ccm-ss:goodput", "its goodput is higher", "§ VII ii, Fig. 13"),
    Headline("ccm-ss:convergence", "its flows converge faster", "§ VII iii, iv, Fig. 14"),
    Headline("ccm-ss:fairness", "and share more fairly", "§ VII iii, Fig. 14"),
    Headline("ccm-ss:significance", "the gains in loss and goodput are significant", "§ V-B"),
    Headline(
        "ccm-ss:eighteen",
        "CUBIC with CCM-SS is better than five other algorithms (the paper does not say in which quantity or how they "
        "are aggregated: each of four quantities against each of the five)",
        "abstract",
    ),
    Headline("cubic-study:reverse", "reverse traffic does not affect CUBIC's goodput", "§ 7"),
    Headline("cubic-study:goodput", "CUBIC has the best goodput on wired paths with reverse traffic", "§ 6.1, § 7"),
    Headline("cubic-study:fairness", "CUBIC is the fairest on a wired high-speed path", "§ 6.1, § 7"),
    Headline("cubic-study:wireless", "Compound has the best goodput in a wireless cell", "§ 6.2"),
    Headline(
        "cubic-study:wireless-fairness",
        "NewReno is the fairest in a wireless cell and CUBIC the least fair",
        "§ 6.2, § 7",
    ),
    Headline("cubic-study:users", "goodput falls with the number of wireless users", "§ 6.2"),
    Headline("cubic-study:growth", "growth of BIC and CUBIC after a loss", "§ 3, Figs. 1, 2"),
    Headline(
        "iot:throughput",
        "throughput is higher than that of New Reno, H-TCP, CUBIC and Fast-FIT",
        "abstract, § 4",
    ),
    Headline(
        "iot:gains",
        "by these gains on average",
        "§ 4, Figs. 6, 8",
    ),
    Headline("iot:drops", "fewer packets are dropped", "abstract"),
    Headline("iot:fairness", "it shares fairly with CUBIC", "abstract, § 5, Figs. 9, 10"),
    Headline(
        "iot:parameters",
        "alpha, rho, sigma and tau are best at the paper's values",
        "§ 3, Figs. 2, 3",
    ),
    Headline("iot:start", "it starts with good use of the bandwidth, from the routers' stamp", "§ 3.1, § 4"),
    Headline("iot:mqtt", "it suits MQTT", "§ 5"),
    Headline("phcc:utilisation", "utilisation of three flows", "abstract, Table 1"),
    Headline("phcc:stability", "its throughput is more stable than that of existing algorithms", "abstract"),
    Headline("phcc:throughput", "throughput is high at nearly all buffer sizes", "§ 4, Fig. 9"),
    Headline("phcc:loss", "random loss does not collapse its throughput, unlike that of others", "§ 4, Figs. 8, 10"),
    Headline("phcc:fairness", "three flows share fairly", "abstract, § 4, Figs. 12, 13, Table 2"),
    Headline("phcc:friendliness", "it is friendlier to Reno than the other high-speed variants", "§ 4, § 5, Fig. 14"),
    Headline("phcc:queue", "its queue is small", "§ 4, Fig. 11"),
    Headline("windows-lte:order", "CUBIC is faster than CTCP, and CTCP than NewReno", "§ Results"),
    Headline("windows-lte:gains", "by these gains on average", "§ Conclusion"),
    Headline("windows-lte:rtt", "CUBIC's growth without the RTT shares more fairly", "§ Conclusion"),
    Headline("windows-lte:latency", "the latency of the three is analysed", "abstract"),
)


@dataclass(frozen=True)
class Row:
    """A headline beside its evidence."""

    headline: Headline
    outcome: Outcome
    tally: str
    """How often each outcome occurs among the findings."""
    findings: Sequence[Finding]

    @property
    def mixed(self) -> bool:
        """Whether the findings have several outcomes."""
        return len({one.outcome for one in self.findings}) > 1


def rows(kept: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The headlines for which ``kept`` (`cwndlab.reproduction.outcomes`) has findings, in the papers' order."""
    by_key: dict[str, list[Finding]] = {}
    for one in kept:
        for finding in one["findings"]:
            if finding["headline"]:
                by_key.setdefault(finding["headline"], []).append(Finding(**finding))
    made = []
    for headline in HEADLINES:
        mine = by_key.get(headline.key, [])
        if mine:
            outcomes = [one.outcome for one in mine]
            made.append(Row(headline, weakest(outcomes), tallied(outcomes), mine))
    return made
