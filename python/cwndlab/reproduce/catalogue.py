"""The experiments by name."""

from __future__ import annotations

from cwndlab.errors import Fault, ScenarioError

#: Identifier and title, in the order of the papers.
EXPERIMENTS: dict[str, str] = {
    "ccm-ss/fig12a": "packet loss rate, long RTTs, CCM-SS against HyStart",
    "ccm-ss/fig12b": "packet loss rate, short RTTs, CCM-SS against HyStart",
    "ccm-ss/fig13a": "goodput over the bottleneck's bandwidth, CCM-SS against HyStart",
    "ccm-ss/fig13b": "goodput over the RTT, CCM-SS against HyStart",
    "ccm-ss/fig14": "convergence time and fairness of two flows, CCM-SS against HyStart",
    "ccm-ss/table1": "every slow start under CUBIC: early losses, time to fill the pipe, goodput",
    "ccm-ss/table4": "the four sets of experiments with Welch's t-test",
    "ccm-ss/claim18": "CUBIC with CCM-SS against Reno, HighSpeed, BIC, CUBIC and Compound",
}


def listing() -> list[dict[str, str]]:
    """Rows of id and title."""
    return [{"id": name, "title": title} for name, title in EXPERIMENTS.items()]


def find(target: str) -> list[str]:
    """The experiments that ``PAPER`` or ``PAPER/FIGURE`` names."""
    found = [name for name in EXPERIMENTS if name == target or name.startswith(f"{target}/")]
    if not found:
        papers = sorted({name.split("/")[0] for name in EXPERIMENTS})
        raise ScenarioError(
            Fault(
                "reproduce",
                f"no experiment is called '{target}'",
                f"papers here: {', '.join(papers)}; `cwndlab reproduce --list` shows the figures",
            )
        )
    return found
