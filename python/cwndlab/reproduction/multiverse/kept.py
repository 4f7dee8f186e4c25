"""Outcomes of a multiverse as a small file: the claims in every universe, without the runs behind them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import atomic_write, json_text, parsed
from cwndlab.reproduction.cases import Case, Measure, measure_name
from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.claims import OUTCOMES, Claim, Finding
from cwndlab.reproduction.kept import Probe, kind
from cwndlab.reproduction.multiverse.robustness import TALLIES, Cell, Multiverse, robustness
from cwndlab.reproduction.universes import Space

_VERSION = 1
_DIGITS = 6


def path_of(folder: Path, space: Space) -> Path:
    """The file of a space."""
    return folder / "multiverse" / f"{space.paper}-{space.name}.json.gz"


def save(one: Multiverse, folder: Path) -> Path:
    """Writes the outcomes; returns the file's path. The same outcomes give the same bytes."""
    places = [{choice: at for at, choice in enumerate(dimension.choices)} for dimension in one.space.dimensions]
    names = [dimension.name for dimension in one.space.dimensions]
    content = {
        "schema_version": _VERSION,
        "space": one.space.id,
        "quick": one.quick,
        "seed": one.seed,
        "perturbed": one.perturbed,
        "runs": one.runs,
        "repetitions": list(one.repetitions),
        "probes": [asdict(Probe.of(case)) for case in _probed(one.space)],
        "dimensions": [[dimension.name, list(dimension.choices)] for dimension in one.space.dimensions],
        "universes": [
            [place[universe[name]] for place, name in zip(places, names, strict=True)] for universe in one.universes
        ],
        "claims": [
            {
                "quantity": claim.claim.quantity,
                "is": [cell.finding.measured_is for cell in claim.cells],
                "outcomes": [OUTCOMES.index(cell.finding.outcome) for cell in claim.cells],
                **{
                    name: [_rounded(getattr(cell.finding, name)) for cell in claim.cells]
                    for name in ("measured", "low", "high")
                },
                **({} if claim.sized is None else {"sizes": [_size_of(cell) for cell in claim.cells]}),
            }
            for claim in one.claims
        ],
    }
    path = path_of(folder, one.space)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json_text(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    with atomic_write(path) as file:
        file.write(gzip.compress(text.encode(), mtime=0))
    return path


def _size_of(cell: Cell) -> int | None:
    return None if cell.of_size is None else TALLIES.index(cell.of_size)


def _probed(space: Space) -> list[Case]:
    """The first case of each measure and set of algorithms at the base assumptions, by which a change of behaviour is
    noticed."""
    first: dict[Any, Case] = {}
    for case in space.cases(space.base):
        first.setdefault((case.measure, kind(case.scenario)), case)
    return list(first.values())


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def load(folder: Path, target: str = "") -> Iterator[Multiverse]:
    """What the folder has of a paper, or of all.

    Raises
    ------
    RecordsError
        A file cannot be read, or is of other dimensions or claims than this version has.
    """
    for space in spaces(target):
        path = path_of(folder, space)
        if path.exists():
            yield _loaded(space, path)


def copy(folder: Path, target_folder: Path, target: str = "") -> None:
    """Copies the outcomes of a paper, or of all, to another folder, and the readings beside them."""
    paths = [path_of(folder, one.space) for one in load(folder, target)]
    paths += sorted((folder / "multiverse").glob(f"{target or '*'}-joint.json"))
    for path in paths:
        to = target_folder / "multiverse" / path.name
        to.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(to) as file:
            file.write(path.read_bytes())


def is_perturbed(folder: Path, space: Space) -> bool | None:
    """Whether each repetition of a kept space is perturbed; ``None`` where the folder does not have it."""
    path = path_of(folder, space)
    return bool(_content(path).get("perturbed", False)) if path.exists() else None


def valid(folder: Path, space: Space, *, quick: bool, seed: int) -> Multiverse | None:
    """What the folder has of a space, where that is of this size, its dimensions and claims are those of this version,
    and its probes behave as before."""
    path = path_of(folder, space)
    if not path.exists():
        return None
    content = _content(path)
    if (content["quick"], content["seed"], content.get("perturbed", False)) != (quick, seed, space.is_perturbed):
        return None
    return None if _difference(space, path) else _loaded(space, path)


def stale(folder: Path, space: Space) -> str:
    """What differs between a kept space and the present version; an empty text where nothing does, or where the folder
    does not have it."""
    path = path_of(folder, space)
    return _difference(space.perturbed() if is_perturbed(folder, space) else space, path) if path.exists() else ""


def _difference(space: Space, path: Path) -> str:
    content = _content(path)
    if content["repetitions"] != [space.repetitions, space.at_most]:
        return f"its repetitions are {content['repetitions']}, and now {[space.repetitions, space.at_most]}"
    cases, probes = _probed(space), [Probe(**one) for one in content["probes"]]
    measures = dict.fromkeys(case.measure for case in cases)
    # Earlier versions kept a probe for each measure, whatever its algorithms.
    if not len(measures) <= len(probes) <= len(cases) or len({one.measure for one in probes}) != len(measures):
        return f"it has {len(probes)} probes, and now {len(cases)}"
    if what := next(filter(None, (_changed(one, measures) for one in probes)), ""):
        return what
    try:
        _loaded(space, path)
    except RecordsError as error:
        return error.faults[0].what
    return ""


def _changed(probe: Probe, measures: Iterable[Measure]) -> str:
    """What differs from the behaviour of a probe, with its measure or, if that was renamed, with any."""
    known = list(measures)
    own = [one for one in known if measure_name(one) == probe.measure] or known
    return min((probe.difference(one) for one in own), key=bool)


# What says of which size and version a file is.
_ASKED = {"schema_version", "quick", "seed", "repetitions", "probes"}
_AGAIN = "delete it, and run it again"


def _content(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = parsed(gzip.decompress(path.read_bytes()).decode())
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise RecordsError(Fault(str(path), f"cannot be read: {error}", _AGAIN)) from None
    if not isinstance(content, dict) or not content.keys() >= _ASKED:
        raise RecordsError(Fault(str(path), "is not what this version writes", _AGAIN))
    return content


def _loaded(space: Space, path: Path) -> Multiverse:
    content = _content(path)
    if content.get("perturbed", False) and not space.is_perturbed:
        space = space.perturbed()
    claims = list(space.claims(space.base))
    names = [[one.name, list(one.choices)] for one in space.dimensions]
    quantities = [one.quantity for one in claims]
    same = content.get("schema_version") == _VERSION and content["dimensions"] == names
    if not same or [one["quantity"] for one in content["claims"]] != quantities:
        hint = f"run `cwndlab reproduce {space.paper} --multiverse --results {path.parent.parent}` again"
        raise RecordsError(Fault(str(path), "has other dimensions or claims than this version", hint))
    universes = [
        {one.name: one.choices[place] for one, place in zip(space.dimensions, places, strict=True)}
        for places in content["universes"]
    ]
    cells = []
    for claim, kept in zip(claims, content["claims"], strict=True):
        columns = (kept[name] for name in ("outcomes", "measured", "low", "high", "is"))
        findings = [_finding(space, claim, *row) for row in zip(*columns, strict=True)]
        sizes = [TALLIES[at] for at in kept["sizes"]] if "sizes" in kept else [None] * len(universes)
        cells.append([Cell(*one) for one in zip(universes, findings, sizes, strict=True)])
    found = robustness(space, claims, cells)
    return Multiverse(
        space, content["quick"], content["seed"], universes, found, content["runs"], content["repetitions"]
    )


def _finding(
    space: Space, claim: Claim, outcome: int, measured: float | None, low: float | None, high: float | None, of: str
) -> Finding:
    return Finding(
        space.id,
        claim.quantity,
        claim.published,
        measured,
        low,
        high,
        OUTCOMES[outcome],
        "",
        of,
        headline=claim.headline,
    )
