"""Files that other programs read: CSV, qlog, traces of ns-2, packet captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, RecordsError

if TYPE_CHECKING:
    from cwndlab.records import Records

__all__ = ["FORMATS", "export"]

#: Formats, and what a place of that format is.
FORMATS = {"csv": "folder", "qlog": "folder", "ns2": "file", "pcap": "file"}


def export(records: Records, format: str, place: Path | str, *, at: str = "senders") -> list[Path]:
    """Writes a run as ``csv`` (a folder with a file per table), ``qlog`` (a folder with a file per flow), ``ns2`` or
    ``pcap`` (a file); ``at`` is where a capture listens (`cwndlab.exports.pcap.write`). Answers what was written.

    Raises ``RecordsError`` for an unknown format, for packets that were not recorded, and where nothing can be written.
    """
    match format:
        case "csv":
            from cwndlab.exports import tables

            return tables.write(records, place)
        case "qlog":
            from cwndlab.exports import qlog

            return qlog.write(records, place)
        case "ns2":
            from cwndlab.exports import ns2

            ns2.write(records, place)
        case "pcap":
            from cwndlab.exports import pcap

            pcap.write(records, place, at)
        case _:
            raise RecordsError(Fault("--format", f"'{format}' is no format", f"write {', '.join(FORMATS)}"))
    return [Path(place)]


def __dir__() -> list[str]:
    return __all__
