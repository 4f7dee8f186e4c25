"""The formats of files for other programs, and the function that writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import RecordsError, parameter_fault
from cwndlab.export import ns2, pcap, qlog, tables

if TYPE_CHECKING:
    from cwndlab.records import Records

__all__ = ["FORMATS", "export"]

#: Formats, and what a place of that format is.
FORMATS = {"csv": "folder", "qlog": "folder", "ns2": "file", "pcap": "file"}


def export(records: Records, format: str, place: Path | str, *, at: str = "senders") -> list[Path]:
    """Writes a run as ``csv`` (a folder with a file per table), ``qlog`` (a folder with a file per flow), ``ns2`` or
    ``pcap`` (a file); ``at`` is where a capture listens (`cwndlab.export.pcap.write`). Answers what was written.

    Raises ``RecordsError`` for an unknown format, for packets that were not recorded, and where nothing can be written.

    Examples
    --------
    >>> import tempfile
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = cwndlab.export.export(records, "csv", folder + "/tables")
    >>> sorted(file.name for file in files)[:3]
    ['calibration.csv', 'cell_users.csv', 'events.csv']
    """
    match format:
        case "csv":
            return tables.write(records, place)
        case "qlog":
            return qlog.write(records, place)
        case "ns2":
            ns2.write(records, place)
        case "pcap":
            pcap.write(records, place, at)
        case _:
            *first, last = FORMATS
            hint = f"write {', '.join(first)} or {last}"
            raise RecordsError(parameter_fault("format", f"'{format}' is not a format", hint=hint))
    return [Path(place)]
