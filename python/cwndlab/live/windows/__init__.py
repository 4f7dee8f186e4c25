"""Campaigns on a Windows host: a script that switches the congestion provider, and readers of what Windows prints."""

from cwndlab.live.windows.importing import Imported, import_files
from cwndlab.live.windows.plan import Plan
from cwndlab.live.windows.rehearsal import rehearse
from cwndlab.live.windows.results import measurement_of
from cwndlab.live.windows.settings import TemplateSettings, read_settings
from cwndlab.live.windows.versions import VERSIONS, Version

__all__ = [
    "VERSIONS",
    "Imported",
    "Plan",
    "TemplateSettings",
    "Version",
    "import_files",
    "measurement_of",
    "read_settings",
    "rehearse",
]


def __dir__() -> list[str]:
    return __all__
