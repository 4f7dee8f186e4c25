"""What the PHCC paper claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

_BETTER = (
    "better performance than existing algorithms in terms of bottleneck utilization, stability, throughput and fairness"
)

HEADLINES = (
    Headline("phcc:utilisation-best", "PHCC uses the line better than existing algorithms", "abstract", _BETTER),
    Headline(
        "phcc:utilisation",
        "three PHCC flows use 94 % of the line",
        "§ 4, Table 1",
        "the utilization of the proposed algorithm is 94%",
    ),
    Headline(
        "phcc:good-utilisation",
        "three PHCC flows use the line well at both buffers",
        "§ 4, Fig. 13",
        "PHCC TCP achieve best fairness and good utilization as other high-speed protocols",
    ),
    Headline(
        "phcc:critical",
        "PHCC performs better in critical conditions",
        "§ 4, § 5",
        "in critical condition has better performance",
    ),
    Headline(
        "phcc:stability", "PHCC's throughput is more stable than that of existing algorithms", "abstract", _BETTER
    ),
    Headline(
        "phcc:throughput-best",
        "PHCC's throughput is higher than that of existing algorithms",
        "abstract, § 5",
        "much more effective in throughput and TCP-friendliness criteria",
    ),
    Headline(
        "phcc:throughput",
        "PHCC's throughput compares well with that of high-speed variants at nearly all buffers",
        "§ 4, Fig. 9",
        "acts well on throughput behaviour compared to other high-speed TCP variants",
    ),
    Headline(
        "phcc:adapts",
        "PHCC adapts to the buffer from 300 packets on",
        "§ 4, Fig. 9",
        "except when the buffer size is less than 300",
    ),
    Headline(
        "phcc:loss",
        "with random loss, PHCC has a higher throughput than a normal and a fast TCP",
        "§ 4, Fig. 8",
        "has a Better performance than other algorithms",
    ),
    Headline(
        "phcc:fluctuations",
        "a normal and a fast TCP fluctuate severely even where losses are rare (judged: more than PHCC)",
        "§ 4, Fig. 8",
        "heavily reduces the congestion window size and causing severe fluctuations in throughput",
    ),
    Headline(
        "phcc:loss-acceptable",
        "PHCC's throughput is acceptable over all losses, and FAST's is better than the others'",
        "§ 4, Fig. 10",
        "this algorithm in total in acceptable condition",
    ),
    Headline(
        "phcc:fairness",
        "three PHCC flows share fairly",
        "§ 4, Figs. 12, 13, Table 2",
        "able to establish a good fairness for the three flow",
    ),
    Headline(
        "phcc:fairness-best",
        "three PHCC flows share more fairly than those of existing algorithms",
        "abstract, § 4, Fig. 13",
        "PHCC TCP achieve best fairness",
    ),
    Headline(
        "phcc:friendliness",
        "PHCC is friendlier to Reno than the other high-speed variants and does not always overwhelm it",
        "§ 4, § 5, Fig. 14",
        "superior TCP-friendliness behavior compared to the all high-speed and loss-based TCP variants",
    ),
    Headline(
        "phcc:friendlier-with-buffer",
        "PHCC is friendlier to Reno with a larger buffer",
        "§ 4, Fig. 14",
        "with growth of buffer size, PHCC TCP have a more friendly behavior",
    ),
    Headline(
        "phcc:queue",
        "PHCC's queue is optimal",
        "§ 4, Fig. 11",
        "Compared with other algorithms, the proposed algorithm is optimal",
    ),
)
