"""Settings and results in the files of a Windows host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cwndlab.errors import Fault, ScenarioError, collected
from cwndlab.live.preflight.captured import read
from cwndlab.live.results import Measurement
from cwndlab.live.windows.results import is_results, measurement_of
from cwndlab.live.windows.settings import TemplateSettings, read_settings


@dataclass(frozen=True)
class Imported:
    """What files contain: settings, a row per template and file, and the results of a campaign."""

    settings: list[TemplateSettings]
    results: Measurement | None


def import_files(paths: Sequence[Path], *, zone: str = "") -> Imported:
    """Reads outputs of Windows and at most one results file; raises ``ScenarioError`` with the faults of all files.

    ``zone`` is the time zone of the parts of the day; empty: this machine's.
    """
    faults: list[Fault] = []
    settings: list[TemplateSettings] = []
    results: list[tuple[Path, Measurement]] = []
    for path in paths:
        with collected(faults):
            text = read(path, "TCP settings of Windows, or results of `cwndlab windows plan`")
            if is_results(text):
                results.append((path, measurement_of(text, str(path), zone=zone)))
            else:
                settings += read_settings(text, str(path))
    if len(results) > 1:
        what = f"is a second results file, after {results[0][0]}"
        faults.append(Fault(str(results[1][0]), what, "import one campaign at a time"))
    if faults:
        raise ScenarioError(*faults)
    return Imported(settings, results[0][1] if results else None)
