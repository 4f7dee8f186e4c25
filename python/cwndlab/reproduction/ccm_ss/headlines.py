"""What the CCM-SS paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline(
        "ccm-ss:burst",
        "slow start of CUBIC, with HyStart, loses packets in bursts",
        "abstract",
        "causes burst losses of packets",
    ),
    Headline(
        "ccm-ss:cubic-unfair",
        "and its flows share unfairly",
        "abstract",
        "TCP flows did not share available link bandwidth fairly",
    ),
    Headline(
        "ccm-ss:exit",
        "the new bound changes where slow start ends",
        "§ VI-B",
        "which also updated the exit point or termination point of slow start phase",
    ),
    Headline(
        "ccm-ss:in-time",
        "so that slow start ends without losing too many packets",
        "§ VI",
        "enters into congestion avoidance phase without losing too many packets",
    ),
    Headline(
        "ccm-ss:loss",
        "CCM-SS loses fewer packets than HyStart on long and on short RTTs",
        "abstract, § VII i, Fig. 12, § VIII",
        "Average packet loss rate of CCM-SS flows less than HyStart flows in both long",
    ),
    Headline(
        "ccm-ss:loss-size",
        "by 10 %",
        "§ VII i",
        "reduced 10% packet loss rate as compared to HyStart",
    ),
    Headline(
        "ccm-ss:throughout",
        "on long RTTs from 200 s on",
        "§ VII, Fig. 12(a)",
        "than HyStart from 200 seconds until 800 seconds",
    ),
    Headline(
        "ccm-ss:short-minor",
        "the difference is minor on short RTTs",
        "§ VII, Fig. 12(b)",
        "there is a minor difference between the packet loss rate of CCM-SS and HyStart",
    ),
    Headline(
        "ccm-ss:goodput",
        "its goodput is higher",
        "§ VI-B ii, § VII ii, Fig. 13",
        "can achieve higher goodput as compared to HyStart",
    ),
    Headline(
        "ccm-ss:utilisation",
        "HyStart uses the line less",
        "§ VI-B i",
        "causes less utilization of available link bandwidth",
    ),
    Headline(
        "ccm-ss:convergence",
        "its flows converge faster",
        "§ VI-B ii, § VII iii, iv, § VIII, Fig. 14",
        "CCM-SS flows have shorter convergence time as compared to HyStart flows",
    ),
    Headline(
        "ccm-ss:fairness",
        "and share more fairly",
        "§ VI-B ii, § VII iii, § VIII, Fig. 14",
        "Improvement in convergence time also improves the fairness behavior of CCM-SS",
    ),
    Headline(
        "ccm-ss:significance",
        "the improvements are significant (loss and goodput, the quantities of Table 4)",
        "§ V-B 2",
        "satisfied the level of significance, i.e., less than 0.05",
    ),
    Headline(
        "ccm-ss:eighteen",
        "CUBIC with CCM-SS is 18 % better than five others",
        "abstract, § V-B 3",
        "enhanced TCP CUBIC outperforms by 18% as compared with the state-of-the-art congestion control mechanisms",
    ),
)
