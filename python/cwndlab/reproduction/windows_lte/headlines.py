"""What the Windows study claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline(
        "windows-lte:order",
        "CUBIC is faster than CTCP and NewReno (the study set the client; here the sender is changed)",
        "abstract, Results, Conclusion",
        "cubic performs better than the other two TCP CC algorithms, NewReno and Compound TCP",
    ),
    Headline(
        "windows-lte:ctcp",
        "CTCP is faster than NewReno (numbers of Table I, no sentence)",
        "Results, Table I",
    ),
    Headline(
        "windows-lte:gains",
        "CUBIC's average throughput is 9.7 % above CTCP's and 32.3 % above NewReno's",
        "Conclusion",
        "The % increase in avg. throughput when compared TCP Cubic with CTCP = 9.7%",
    ),
    Headline(
        "windows-lte:same-rtt",
        "the average RTTs of the three are the same (judged: under load)",
        "Conclusion",
        "the average RTTs can be assumed to be constant for all the three variants",
    ),
    Headline(
        "windows-lte:rtt",
        "CUBIC, whose growth does not depend on the RTT, shares much more fairly than NewReno and CTCP",
        "Background C, Conclusion",
        "Cubic non-dependency on RTT results in much fairer allocation of bandwidth",
    ),
    Headline(
        "windows-lte:ctcp-rtt",
        "CTCP is fairer to unequal RTTs than older algorithms",
        "Background B",
        "CTCP improves the RTT fairness when compared with older TCP congestion control algorithms",
    ),
    Headline(
        "windows-lte:latency",
        "the latency of the three is analysed",
        "abstract, Introduction",
        "analyzed the throughput and latency occurred",
    ),
)
