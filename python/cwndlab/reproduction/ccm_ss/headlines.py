"""What the CCM-SS paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

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
)
