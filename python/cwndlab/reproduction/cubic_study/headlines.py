"""What the CUBIC study claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline(
        "cubic-study:reverse",
        "reverse traffic does not affect CUBIC's goodput on a wired path",
        "§ 7",
        "not affected in wired network in the presence of reverse traffic",
    ),
    Headline(
        "cubic-study:goodput",
        "CUBIC has the best goodput with reverse traffic",
        "§ 6.1, Fig. 7",
        "the goodput of CUBIC is best, while the NewReno shows the worst goodput",
    ),
    Headline(
        "cubic-study:newreno",
        "NewReno has the worst goodput with reverse traffic",
        "§ 6.1, Fig. 7",
        "the NewReno shows the worst goodput",
    ),
    Headline(
        "cubic-study:compound",
        "Compound has a better goodput than NewReno with reverse traffic",
        "§ 6.1, Fig. 7",
        "TCP Compound has comparatively better goodput than the NewReno",
    ),
    Headline(
        "cubic-study:changed",
        "reverse traffic changes the goodput of all three",
        "§ 6.1, Fig. 7",
        "when the reverse traffic is on, the behavior of the protocols is totally changed",
    ),
    Headline(
        "cubic-study:forward",
        "without reverse traffic all three have almost the same goodput, about the capacity",
        "§ 6.1, Fig. 7",
        "almost same and reaches approximately up to the bottleneck capacity",
    ),
    Headline(
        "cubic-study:low-speed",
        "CUBIC's performance degrades in low-speed networks (judged against the other two)",
        "abstract, § 7",
        "its performance degrades in wireless and low speed networks",
    ),
    Headline(
        "cubic-study:fairness",
        "CUBIC is the fairest on a wired high-speed path",
        "abstract, § 6.1, § 7, Fig. 9",
        "TCP CUBIC improves overall more fairness in bandwidth sharing",
    ),
    Headline(
        "cubic-study:high-speed-goodput",
        "CUBIC has the best goodput on a wired high-speed path",
        "abstract, § 7",
        "achieves better level of goodput and fairness as compared to other two variants",
    ),
    Headline(
        "cubic-study:compound-fairness",
        "NewReno and Compound are alike in fairness where n < 70, and Compound is better as n grows",
        "§ 6.1, Fig. 9",
        "as number of nodes increase, Compound shows better performance than NewReno",
    ),
    Headline(
        "cubic-study:wireless",
        "Compound has the best goodput in a wireless cell",
        "§ 6.2, Fig. 11(a)",
        "Compound has the better goodput as compared to CUBIC and NewReno",
    ),
    Headline(
        "cubic-study:wireless-alike",
        "CUBIC and NewReno have almost the same goodput in a wireless cell",
        "§ 6.2, Fig. 11(a)",
        "CUBIC and NewReno which achieves almost the similar goodput",
    ),
    Headline(
        "cubic-study:wireless-fairness",
        "NewReno is fairer than CUBIC and Compound in a wireless cell",
        "§ 6.2, Fig. 11(b)",
        "NewReno performs better than CUBIC and Compound",
    ),
    Headline(
        "cubic-study:wireless-cubic",
        "CUBIC has the worst goodput and fairness in a wireless cell",
        "abstract, § 6.2, § 7",
        "CUBIC has overall worst performance in wireless scenario",
    ),
    Headline(
        "cubic-study:users",
        "goodput decreases significantly with the number of wireless users",
        "§ 6.2, Fig. 11(a)",
        "goodput of the protocols significantly decreases with the increase in number of users",
    ),
    Headline(
        "cubic-study:wireless-poor",
        "all three have a very poor goodput in a wireless cell with reverse traffic",
        "§ 6.2, Fig. 11(a)",
        "all the three variants attain very poor goodput",
    ),
    Headline(
        "cubic-study:wireless-reverse",
        "reverse traffic lowers the goodput in a wireless cell (the delay of ACKs is not judged)",
        "§ 6.2",
        "reverse traffic is causing delays in ACKs which affects the performance",
    ),
    Headline(
        "cubic-study:growth",
        "BIC has the phases of additive increase, binary search and max probing, CUBIC a plateau at W_max",
        "§ 3, Figs. 1, 2, Algorithms 1, 2",
        "Figure 1 shows the phases of additive increase, binary search and max probing",
    ),
)
