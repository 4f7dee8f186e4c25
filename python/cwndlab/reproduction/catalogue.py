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
    ),
    "cubic-study": Paper(
        "cwndlab.reproduction.cubic_study",
        "A. Khan, U. Shoaib, M. Sarfraz",
        "A Comprehensive Study of Modern and High Speed TCP-Variant in Linux Kernel: TCP CUBIC",
        "received 2016, accepted 2017",
    ),
    "iot": Paper(
        "cwndlab.reproduction.iot",
        "L. P. Verma, M. Kumar",
        "An IoT based Congestion Control Algorithm",
        "Internet of Things 9, 2020",
    ),
    "phcc": Paper(
        "cwndlab.reproduction.phcc",
        "S. Jamali, M. M. Talebi, R. Fotohi",
        "Congestion Control in High-speed Networks Using the Probabilistic Estimation Approach",
        "2021",
    ),
    "windows-lte": Paper(
        "cwndlab.reproduction.windows_lte",
        "M. Ahsan, M. J. Awan, A. Yasin, S. A. Bahaj, H. M. F. Shehzad",
        "Performance Evaluation of TCP Cubic, Compound TCP and NewReno under Windows 20H1, via 802.11n Link to LTE "
        "Core Network",
        "2021",
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
