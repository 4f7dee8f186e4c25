"""Scenarios that come with cwndlab, by name."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from cwndlab.custom import Classes
from cwndlab.errors import Fault, ScenarioError, near
from cwndlab.scenario.document import Scenario

__all__ = ["folder", "listing", "load", "names"]


def folder() -> Path:
    """Their folder: in a working tree beside the package, installed within it.

    The working tree comes first: an editable installation copies its files into the package, where they grow old.

    Examples
    --------
    >>> from cwndlab.scenario import presets
    >>> (presets.folder() / "two-flows.toml").is_file()
    True
    """
    here = Path(__file__).resolve()
    for place in (here.parents[3] / "scenarios", here.parents[1] / "_scenarios"):
        if place.is_dir():
            return place
    raise ScenarioError(Fault("scenarios", "the bundled scenarios are not installed", "name a file"))


def names() -> list[str]:
    """Their names.

    Examples
    --------
    >>> from cwndlab.scenario import presets
    >>> "two-flows" in presets.names()
    True
    """
    return sorted(path.stem for path in folder().glob("*.toml"))


def listing() -> list[dict[str, str]]:
    """Every preset: ``name`` and ``title``; without a title the first sentence of the comment at the top of its file.

    Examples
    --------
    >>> from cwndlab.scenario import presets
    >>> [row["title"] for row in presets.listing() if row["name"] == "two-flows"]
    ['CUBIC and Reno share a bottleneck']
    """
    return [{"name": name, "title": load(name).title or _comment(folder() / f"{name}.toml")} for name in names()]


def _comment(file: Path) -> str:
    """The first sentence of the comment that a file begins with, without its full stop."""
    lines = takewhile(lambda line: line.startswith("#"), file.read_text(encoding="utf-8").splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines).partition(". ")[0].rstrip(".")


def load(name: str | Path, *, changes: Iterable[tuple[str, str]] = (), algorithms: Classes | None = None) -> Scenario:
    """The preset of this name, or the scenario in the file of this name, TOML or JSON.

    Parameters
    ----------
    name
        A preset or a file.
    changes
        Pairs of path and value, as ``--set`` takes them.
    algorithms
        Custom classes by the names that its flows use.

    Raises
    ------
    ScenarioError
        There is neither, or the scenario has a fault.

    Examples
    --------
    >>> from cwndlab.scenario import presets
    >>> presets.load("two-flows").title
    'CUBIC and Reno share a bottleneck'
    """
    preset = folder() / f"{name}.toml"
    if str(name) in names():
        return Scenario.load(preset, changes=changes, algorithms=algorithms)
    path = Path(name)
    if path.suffix not in (".toml", ".json") and not _exists(path):
        hint = near(str(name), names(), "`cwndlab list --presets` describes them; a file's name ends with .toml")
        raise ScenarioError(Fault(str(name), "there is no preset and no file of this name", hint))
    return Scenario.load(path, changes=changes, algorithms=algorithms)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def __dir__() -> list[str]:
    return __all__
