"""The papers, and their experiments, spaces and headlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.reproduction.paper_file import papers

if TYPE_CHECKING:
    from cwndlab.reproduction.experiment import Experiment
    from cwndlab.reproduction.universes import Space


@dataclass(frozen=True)
class _Module:
    """A paper, and the module with its tuple ``EXPERIMENTS``."""

    module: str
    authors: str
    title: str
    venue: str
    summary: Sequence[str] = ()
    """What was tried, what holds, what does not and why: a paragraph each."""

    @property
    def experiments(self) -> Any:
        return import_module(self.module).EXPERIMENTS

    @property
    def spaces(self) -> Any:
        return tuple(import_module(f"{self.module}.universes").SPACES)

    @property
    def headlines(self) -> Any:
        return import_module(f"{self.module}.headlines").HEADLINES

    @property
    def doubts(self) -> Any:
        return ()

    @property
    def deviations(self) -> Any:
        return ()

    @property
    def reference(self) -> str:
        """Authors, title, venue."""
        return f"{self.authors}, “{self.title}”, {self.venue}"


#: Papers by name.
_MODULES = {
    "ccm-ss": _Module(
        "cwndlab.reproduction.ccm_ss",
        "M. Ahmad, M. Hussain, B. Abbas, O. Aldabbas, U. Jamil, R. Ashraf, S. Asadi",
        "End-to-End Loss Based TCP Congestion Control Mechanism as a Secured Communication Technology for Smart "
        "Healthcare Enterprises",
        "IEEE Access 6, 2018, doi:10.1109/ACCESS.2018.2802841",
        (
            "Two flows of CUBIC with CCM-SS are compared with two flows of CUBIC with HyStart, and with two "
            "flows of each of five other algorithms, on the paper's path.",
            "The HyStart that § VI-B describes is CCM-SS with μ = 1, so that the compared sides differ in μ "
            "alone. It matters only where a slow start ends between 0.2 and 0.3 of B·D. Over the paper's grid it "
            "changes neither loss rate, goodput nor fairness by more than the margin, and in the set-up of Fig. 14 "
            "a difference in convergence cannot show. CUBIC with CCM-SS is better than the five others by more "
            "than the paper's 18 %.",
        ),
    ),
}


PAPERS: dict[str, Any] = dict(sorted((_MODULES | {one.name: one for one in papers()}).items()))


@cache
def experiments() -> tuple[Experiment, ...]:
    """All of them, in the order of the papers."""
    found: tuple[Experiment, ...] = ()
    for paper in PAPERS.values():
        found += paper.experiments
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


def spaces(target: str = "") -> list[Space]:
    """The spaces of a paper, or of all.

    Raises
    ------
    ScenarioError
        There is no such paper.
    """
    if target and target not in PAPERS:
        message = f"no paper is called '{target}'"
        raise ScenarioError(Fault("reproduce --multiverse", message, f"papers here: {', '.join(PAPERS)}"))
    return [space for name, paper in PAPERS.items() if target in ("", name) for space in paper.spaces]
