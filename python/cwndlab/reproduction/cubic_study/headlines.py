"""What the CUBIC study claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
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
)
