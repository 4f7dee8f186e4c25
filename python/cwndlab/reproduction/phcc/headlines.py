"""What the PHCC paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline("phcc:utilisation", "utilisation of three flows", "abstract, Table 1"),
    Headline("phcc:stability", "its throughput is more stable than that of existing algorithms", "abstract"),
    Headline("phcc:throughput", "throughput is high at nearly all buffer sizes", "§ 4, Fig. 9"),
    Headline("phcc:loss", "random loss does not collapse its throughput, unlike that of others", "§ 4, Figs. 8, 10"),
    Headline("phcc:fairness", "three flows share fairly", "abstract, § 4, Figs. 12, 13, Table 2"),
    Headline("phcc:friendliness", "it is friendlier to Reno than the other high-speed variants", "§ 4, § 5, Fig. 14"),
    Headline("phcc:queue", "its queue is small", "§ 4, Fig. 11"),
)
