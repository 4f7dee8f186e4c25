"""The experiments by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.reproduce.experiment import Experiment

#: Papers, and the module of each, which has a tuple ``EXPERIMENTS``.
PAPERS = {
    "ccm-ss": "cwndlab.reproduce.ccm_ss",
    "cubic-study": "cwndlab.reproduce.cubic_study",
    "iot": "cwndlab.reproduce.iot",
    "phcc": "cwndlab.reproduce.phcc",
    "windows-lte": "cwndlab.reproduce.windows_lte",
}


@cache
def experiments() -> tuple[Experiment, ...]:
    """All of them, in the order of the papers."""
    found: tuple[Experiment, ...] = ()
    for module in PAPERS.values():
        found += import_module(module).EXPERIMENTS
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
