"""Settings, results and captures in the files of a Windows host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, ScenarioError, collected
from cwndlab.files import parsed
from cwndlab.live.preflight.captured import read
from cwndlab.live.results import Measurement
from cwndlab.live.windows.captures import is_capture
from cwndlab.live.windows.keeping import assigned, keep, measured_rows
from cwndlab.live.windows.results import Results, is_results, read_results
from cwndlab.live.windows.settings import TemplateSettings, read_settings

#: Files of a folder that are read, by how their names end; the script's list of what to restore is none.
_READ = (".jsonl", ".json", ".pcapng", ".pcap", ".xml", ".txt")
_STATE = "-state.xml"
#: Keys of the output of `cwndlab preflight --out`.
_INSPECTION = {"rtt", "route", "networks", "tcp", "unknown"}


@dataclass(frozen=True)
class Imported:
    """What files contain: settings, a row per template and file, and the results of a campaign."""

    settings: list[TemplateSettings]
    results: Measurement | None


@dataclass
class _Files:
    """The contents of files by kind."""

    settings: list[TemplateSettings] = field(default_factory=list)
    results: list[tuple[Path, Results]] = field(default_factory=list)
    captures: list[Path] = field(default_factory=list)
    inspections: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, path: Path, zone: str) -> None:
        """Reads a file."""
        if is_capture(path):
            self.captures.append(path)
            return
        text = read(path, "TCP settings of Windows, or results of `cwndlab windows plan`")
        if is_results(text):
            self.results.append((path, read_results(text, str(path), zone=zone)))
        elif (inspection := _inspection(text)) is not None:
            self.inspections.append(inspection)
        else:
            self.settings += read_settings(text, str(path))


def _files_of(path: Path) -> list[Path]:
    """The files of a folder that are read, or the file itself."""
    if not path.is_dir():
        return [path]
    return sorted(one for one in path.iterdir() if one.suffix in _READ and not one.name.endswith(_STATE))


def _inspection(text: str) -> Mapping[str, Any] | None:
    """The output of `cwndlab preflight --out`, if a text is that."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = parsed(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) and document.keys() >= _INSPECTION else None


def import_files(paths: Sequence[Path], *, zone: str = "", out: Path | None = None) -> Imported:
    """Reads what a Windows host wrote; raises ``ScenarioError`` with the faults of all files.

    Parameters
    ----------
    paths
        Outputs of Windows, at most one results file, the captures that it names, and outputs of
        ``cwndlab preflight --out``; a folder stands for its files of these kinds.
    zone
        The time zone of the parts of the day; empty: this machine's.
    out
        A folder for the campaign, as `cwndlab measure` keeps one.
    """
    faults: list[Fault] = []
    files = _Files()
    paths = [file for path in paths for file in _files_of(path)]
    for path in paths:
        with collected(faults):
            files.add(path, zone)
    if len(files.results) > 1:
        what = f"is a second results file, after {files.results[0][0]}"
        faults.append(Fault(str(files.results[1][0]), what, "import one campaign at a time"))
    if not files.results and (files.captures or files.inspections or out is not None):
        where = str(next(iter((*files.captures, *paths))))
        faults.append(Fault(where, "belongs to no results file", "give the .jsonl file of the script, too"))
    if faults:
        raise ScenarioError(*faults)
    if not files.results:
        return Imported(files.settings, None)
    path, results = files.results[0]
    rows = measured_rows(results, assigned(results, files.captures, str(path)))
    if out is not None:
        return Imported(files.settings, keep(results, rows, out, files.inspections))
    made = Measurement(results.spec, [row for row, _ in rows])
    made.notes = results.notes()
    return Imported(files.settings, made)
