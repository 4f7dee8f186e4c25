"""What the IoT paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
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
)
