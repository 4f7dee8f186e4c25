"""What the Windows study claims in its abstract, its conclusion and the summaries of its results."""

from __future__ import annotations

from cwndlab.reproduction.claims import Headline

HEADLINES = (
    Headline("windows-lte:order", "CUBIC is faster than CTCP, and CTCP than NewReno", "§ Results"),
    Headline("windows-lte:gains", "by these gains on average", "§ Conclusion"),
    Headline("windows-lte:rtt", "CUBIC's growth without the RTT shares more fairly", "§ Conclusion"),
    Headline("windows-lte:latency", "the latency of the three is analysed", "abstract"),
)
