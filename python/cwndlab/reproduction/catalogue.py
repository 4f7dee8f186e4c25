"""The experiments by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.reproduction.experiment import Experiment


@dataclass(frozen=True)
class Paper:
    """A paper, and the module with its tuple ``EXPERIMENTS``."""

    module: str
    authors: str
    title: str
    venue: str
    summary: Sequence[str] = ()
    """What was tried, what holds, what does not and why: a paragraph each."""

    @property
    def reference(self) -> str:
        """Authors, title, venue."""
        return f"{self.authors}, “{self.title}”, {self.venue}"


#: Papers by name.
PAPERS = {
    "ccm-ss": Paper(
        "cwndlab.reproduction.ccm_ss",
        "M. Ahmad, M. Hussain, B. Abbas, O. Aldabbas, U. Jamil, R. Ashraf, S. Asadi",
        "End-to-End Loss Based TCP Congestion Control Mechanism as a Secured Communication Technology for Smart "
        "Healthcare Enterprises",
        "IEEE Access 6, 2018, doi:10.1109/ACCESS.2018.2802841",
        (
            "Two flows of CUBIC with CCM-SS were run beside two with HyStart on the paper's path, and beside five"
            " other algorithms.",
            "The HyStart that § VI-B describes is CCM-SS with μ = 1. The two differ only where a slow start ends "
            "between 0.2 and 0.3 of B·D; where none does, both sides are the same packet for packet, and the set-"
            "up cannot show an effect.",
        ),
    ),
    "cubic-study": Paper(
        "cwndlab.reproduction.cubic_study",
        "A. Khan, U. Shoaib, M. Sarfraz",
        "A Comprehensive Study of Modern and High Speed TCP-Variant in Linux Kernel: TCP CUBIC",
        "received 2016, accepted 2017",
        (
            "CUBIC as Algorithm 2 prints it, Compound and NewReno were run over a slow line with and without "
            "reverse traffic, over 10 Gbit/s, and in an 802.11g cell.",
            "On the slow line CUBIC has the best goodput, but ten reverse flows take a large part of it: ACKs "
            "wait behind data. The paper contradicts itself on this, and on where the wireless sinks are.",
        ),
    ),
    "iot": Paper(
        "cwndlab.reproduction.iot",
        "L. P. Verma, M. Kumar",
        "An IoT based Congestion Control Algorithm",
        "Internet of Things 9, 2020",
        (
            "The algorithm was run as its equations and its Algorithm 3 print it, beside New Reno, H-TCP, CUBIC "
            "and Fast-FIT, the last of which is reconstructed from a short description.",
            "What it gains in throughput it pays with drops: its window doubles beyond the first window, it takes"
            " more than an equal share beside CUBIC, and a full queue of the paper's path does not raise its "
            "delay ratio to the steady state. Ten flows fill the line whatever its four parameters are.",
        ),
    ),
    "phcc": Paper(
        "cwndlab.reproduction.phcc",
        "S. Jamali, M. M. Talebi, R. Fotohi",
        "Congestion Control in High-speed Networks Using the Probabilistic Estimation Approach",
        "2021",
        (
            "PHCC is our reconstruction: its phases follow the paper, its estimators and the value of alpha are "
            "ours. It was run alone, three at a time, and beside Reno, against eight high-speed algorithms.",
            "Half of its target is the window of its last loss, so that flows keep unequal shares where losses are "
            "rare.",
        ),
    ),
    "windows-lte": Paper(
        "cwndlab.reproduction.windows_lte",
        "M. Ahsan, M. J. Awan, A. Yasin, S. A. Bahaj, H. M. F. Shehzad",
        "Performance Evaluation of TCP Cubic, Compound TCP and NewReno under Windows 20H1, via 802.11n Link to LTE "
        "Core Network",
        "2021",
        (
            "One download over an 802.11n hop and an LTE cell was run with each of the three algorithms, and two "
            "flows of unequal RTT; the study leaves the cell's capacity and queue open.",
            "With a queue as deep as at the base assumptions each algorithm keeps the line full, so that no gain "
            "can show. With a short queue or with random losses CUBIC is the fastest, as the study reports. RTTs "
            "are not the same: CUBIC fills a deep queue furthest.",
        ),
    ),
}


@cache
def experiments() -> tuple[Experiment, ...]:
    """All of them, in the order of the papers."""
    found: tuple[Experiment, ...] = ()
    for paper in PAPERS.values():
        found += import_module(paper.module).EXPERIMENTS
    return found


def listing() -> list[dict[str, str]]:
    """Rows of id and title."""
    return [{"id": one.id, "title": one.title} for one in experiments()]


def find(target: str) -> tuple[Experiment, ...]:
    """The experiments that ``PAPER``, ``PAPER/FIGURE`` or, for all of them, an empty text names."""
    found = tuple(one for one in experiments() if not target or target in (one.id, one.paper))
    if not found:
        raise ScenarioError(
            Fault(
                "reproduce",
                f"no experiment is called '{target}'",
                f"papers here: {', '.join(PAPERS)}; `cwndlab reproduce --list` shows the figures",
            )
        )
    return found
