"""What the PHCC paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

_BETTER = (
    "better performance than existing algorithms in terms of bottleneck utilization, stability, throughput and fairness"
)

HEADLINES = (
    Headline("phcc:utilisation-best", "it uses the line better than existing algorithms", "abstract", _BETTER),
    Headline(
        "phcc:utilisation",
        "three flows use 94 % of it",
        "§ 4, Table 1",
        "the utilization of the proposed algorithm is 94%",
    ),
    Headline(
        "phcc:good-utilisation",
        "and use it well at both buffers",
        "§ 4, Fig. 13",
        "PHCC TCP achieve best fairness and good utilization as other high-speed protocols",
    ),
    Headline(
        "phcc:critical",
        "it performs better in critical conditions",
        "§ 4, § 5",
        "in critical condition has better performance",
    ),
    Headline("phcc:stability", "its throughput is more stable than that of existing algorithms", "abstract", _BETTER),
    Headline(
        "phcc:throughput-best",
        "its throughput is higher than that of existing algorithms",
        "abstract, § 5",
        "much more effective in throughput and TCP-friendliness criteria",
    ),
    Headline(
        "phcc:throughput",
        "its throughput stands well beside that of high-speed variants at nearly all buffers",
        "§ 4, Fig. 9",
        "acts well on throughput behaviour compared to other high-speed TCP variants",
    ),
    Headline(
        "phcc:adapts",
        "it adapts to the buffer from 300 packets on",
        "§ 4, Fig. 9",
        "except when the buffer size is less than 300",
    ),
    Headline(
        "phcc:loss",
        "with random loss it is better than a normal and a fast TCP",
        "§ 4, Fig. 8",
        "has a Better performance than other algorithms",
    ),
    Headline(
        "phcc:fluctuations",
        "whose throughput fluctuates severely even where losses are rare",
        "§ 4, Fig. 8",
        "heavily reduces the congestion window size and causing severe fluctuations in throughput",
    ),
    Headline(
        "phcc:loss-acceptable",
        "it is acceptable over all losses, FAST being better",
        "§ 4, Fig. 10",
        "this algorithm in total in acceptable condition",
    ),
    Headline(
        "phcc:fairness",
        "three flows share fairly",
        "§ 4, Figs. 12, 13, Table 2",
        "able to establish a good fairness for the three flow",
    ),
    Headline(
        "phcc:fairness-best",
        "more fairly than those of existing algorithms",
        "abstract, § 4, Fig. 13",
        "PHCC TCP achieve best fairness",
    ),
    Headline(
        "phcc:friendliness",
        "it is friendlier to Reno than the other high-speed variants and does not overwhelm it",
        "§ 4, § 5, Fig. 14",
        "superior TCP-friendliness behavior compared to the all high-speed and loss-based TCP variants",
    ),
    Headline(
        "phcc:friendlier-with-buffer",
        "the more so the larger the buffer",
        "§ 4, Fig. 14",
        "with growth of buffer size, PHCC TCP have a more friendly behavior",
    ),
    Headline(
        "phcc:queue",
        "its queue is optimal",
        "§ 4, Fig. 11",
        "Compared with other algorithms, the proposed algorithm is optimal",
    ),
)
