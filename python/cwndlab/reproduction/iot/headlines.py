"""What the IoT paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline(
        "iot:throughput",
        "the proposed algorithm has a higher throughput than New Reno, H-TCP, CUBIC and Fast-FIT",
        "abstract, § 4, § 5, Fig. 5",
        "the proposed method achieves higher throughput as compared to other TCP variants",
    ),
    Headline(
        "iot:gains",
        "its average gain is 4 % over CUBIC, 1.9 % over Fast-FIT, 3.8 % over H-TCP and 4.3 % over New Reno (Fig. 6), "
        "and 1.5 %, 6.6 %, 1.3 % and 1.6 % (Fig. 8)",
        "§ 4, Figs. 6, 8",
        "4% better throughput as compared to Cubic, 1.9% better throughput as compared to Fast-Fit",
    ),
    Headline(
        "iot:every-background",
        "the proposed algorithm has the highest throughput at every background from 600 kbit/s on",
        "§ 4, Fig. 7",
        "under all background traffic conditions and achieves higher throughput than the other TCP variants",
    ),
    Headline(
        "iot:drops",
        "the proposed algorithm has fewer packets dropped than each competitor",
        "abstract",
        "reduce packet drop and yield improved throughput",
    ),
    Headline(
        "iot:steady",
        "the proposed algorithm maintains a steady state, in which its window is constant",
        "abstract, § 3.3",
        "maintains a steady-state to reduce packet drop and yield improved throughput",
    ),
    Headline(
        "iot:adapts",
        "the proposed algorithm adapts its rate quickly when the available bandwidth or the delay changes",
        "abstract, § 5",
        "adapt the transmission rate quickly whenever the available bandwidth and delay changes",
    ),
    Headline(
        "iot:fairness",
        "the proposed algorithm has about an equal share beside CUBIC",
        "abstract, § 4, § 5, Figs. 9, 10",
        "shares almost the same amount of bandwidth with the TCP Cubic",
    ),
    Headline(
        "iot:fairer",
        "the proposed algorithm is fairer to CUBIC than New Reno, H-TCP and Fast-FIT",
        "abstract, § 5",
        "achieves better performance in terms of throughput and inter-protocol fairness",
    ),
    Headline(
        "iot:others-unequal",
        "the other variants do not have an equal share beside CUBIC",
        "§ 4, Figs. 9, 10",
        "the other TCP variants are not able to maintain the same amount",
    ),
    Headline(
        "iot:start",
        "the proposed algorithm starts with good use of the bandwidth, from the routers' stamp",
        "§ 3.1, § 4, Fig. 5",
        "The proposed TCP initially start with good capacity",
    ),
    Headline(
        "iot:maintains",
        "the proposed algorithm maintains its throughput over time",
        "§ 4, Fig. 5",
        "maintain the utilization by using new congestion detection and avoidance approach",
    ),
    Headline(
        "iot:over-time",
        "the throughput of H-TCP, CUBIC and New Reno falls with time",
        "§ 4, Fig. 5",
        "HTCP, Cubic and New Reno demonstrate the linear decreasing pattern",
    ),
    Headline(
        "iot:fast-fit",
        "Fast-FIT has the least throughput at 25 s, gets stable, and drops most as the background grows",
        "§ 4, Figs. 5, 7",
        "Fast-fit shows least utilization at 25sec. and as time increases its utilization get stable",
    ),
    Headline(
        "iot:least",
        "on average New Reno has the least throughput over time, and Fast-FIT over backgrounds",
        "§ 4, Figs. 6, 8",
        "New Reno have least utilization",
    ),
    Headline(
        "iot:alike",
        "beside 500 kbit/s of background all variants are alike",
        "§ 4, Fig. 7",
        "all of the TCP variants yield similar throughput",
    ),
    Headline(
        "iot:more-drops",
        "packet drops grow with the background",
        "§ 4, Fig. 7",
        "as the background traffic increases, packet drops increase too",
    ),
    Headline(
        "iot:modes",
        "the proposed algorithm switches to its proactive mode as congestion grows",
        "§ 5",
        "when network congestion increases, it switched into proactive mode",
    ),
    Headline(
        "iot:parameters",
        "alpha, rho, sigma and tau are best at the paper's values",
        "§ 3.1, § 3.3, Figs. 2, 3",
        "where throughput is maximum and timeout is zero",
    ),
    Headline(
        "iot:mqtt",
        "the proposed algorithm suits MQTT",
        "§ 5",
        "well suited for IoT applications protocol MQTT",
    ),
)
