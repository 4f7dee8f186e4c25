"""What the CCM-SS paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline(
        "ccm-ss:burst",
        "CUBIC's slow start, here with HyStart, loses packets in bursts",
        "abstract",
        "causes burst losses of packets",
    ),
    Headline(
        "ccm-ss:cubic-unfair",
        "CUBIC flows, here with HyStart, share unfairly",
        "abstract",
        "TCP flows did not share available link bandwidth fairly",
    ),
    Headline(
        "ccm-ss:exit",
        "CCM-SS's lower bound changes where slow start ends",
        "§ VI-B",
        "which also updated the exit point or termination point of slow start phase",
    ),
    Headline(
        "ccm-ss:in-time",
        "with CCM-SS, slow start ends without losing too many packets",
        "§ VI",
        "enters into congestion avoidance phase without losing too many packets",
    ),
    Headline(
        "ccm-ss:loss",
        "CCM-SS loses fewer packets than HyStart on long and on short RTTs",
        "abstract, § VII, Fig. 12, § VIII",
        "have lower packet loss rate in long and short RTT networks as compared to HyStart",
    ),
    Headline(
        "ccm-ss:loss-size",
        "CCM-SS reduces the loss rate by 10 %",
        "§ VII i",
        "reduced 10% packet loss rate as compared to HyStart",
    ),
    Headline(
        "ccm-ss:throughout",
        "on long RTTs, CCM-SS loses fewer packets than HyStart from 200 s on",
        "§ VII, Fig. 12(a)",
        "line of CCM-SS module is lower than HyStart from 200 seconds until 800 seconds",
    ),
    Headline(
        "ccm-ss:short-minor",
        "on short RTTs, the loss rates of CCM-SS and HyStart differ little",
        "§ VII, Fig. 12(b)",
        "there is a minor difference between the packet loss rate of CCM-SS and HyStart",
    ),
    Headline(
        "ccm-ss:goodput",
        "CCM-SS has a higher goodput than HyStart",
        "§ VI-B ii, § VII ii, Fig. 13",
        "can achieve higher goodput as compared to HyStart",
    ),
    Headline(
        "ccm-ss:utilisation",
        "HyStart uses the line less than CCM-SS",
        "§ VI-B i",
        "causes less utilization of available link bandwidth",
    ),
    Headline(
        "ccm-ss:convergence",
        "flows with CCM-SS converge faster than flows with HyStart",
        "§ VI-B ii, § VII iii, iv, § VIII, Fig. 14",
        "CCM-SS flows have shorter convergence time as compared to HyStart flows",
    ),
    Headline(
        "ccm-ss:fairness",
        "flows with CCM-SS share more fairly than flows with HyStart",
        "§ VI-B ii, § VII iii, § VIII, Fig. 14",
        "Improvement in convergence time also improves the fairness behavior of CCM-SS",
    ),
    Headline(
        "ccm-ss:significance",
        "the improvements of CCM-SS are significant (judged: loss and goodput, the quantities of Table 4)",
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
