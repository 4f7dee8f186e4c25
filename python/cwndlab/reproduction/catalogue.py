"""The papers, and their experiments, spaces and headlines by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, ScenarioError, near, unknown_name
from cwndlab.reproduction.paper_file import FOLDER, Paper

if TYPE_CHECKING:
    from cwndlab.reproduction.experiment import Experiment
    from cwndlab.reproduction.universes import Space

#: Papers by name, in the order of their names; a file is read when a paper is used.
PAPERS = {path.stem: Paper(path) for path in sorted(FOLDER.glob("*.toml"))}


@cache
def experiments() -> tuple[Experiment, ...]:
    """All of them, in the order of the papers."""
    return tuple(one for paper in PAPERS.values() for one in paper.experiments)


def listing() -> list[dict[str, str]]:
    """Rows of id and title."""
    return [{"id": one.id, "title": one.title} for one in experiments()]


def find(target: str) -> tuple[Experiment, ...]:
    """The experiments that ``PAPER``, ``PAPER/FIGURE`` or, for all of them, an empty text names."""
    found = tuple(one for one in experiments() if not target or target in (one.id, one.paper))
    if not found:
        hint = near(target, list(PAPERS), "`cwndlab reproduce --list` shows the figures")
        raise ScenarioError(Fault("reproduce", f"no experiment is called '{target}'", hint))
    return found


def spaces(target: str = "") -> list[Space]:
    """The spaces of a paper, or of all.

    Raises
    ------
    ScenarioError
        There is no such paper.
    """
    if target and target not in PAPERS:
        raise ScenarioError(unknown_name("reproduce", "paper", target, PAPERS))
    return [space for name, paper in PAPERS.items() if target in ("", name) for space in paper.spaces]
