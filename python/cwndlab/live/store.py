"""The folder of a campaign. A process may be killed at any moment; the next one continues.

    DIR/measurement.json            the description of the campaign
    DIR/preflight.json              the inspection of each server's path before its first transfer
    DIR/journal.jsonl               its events, a line each (`cwndlab.study.journal`)
    DIR/transfers/SERVER/ROUND-ALGORITHM/
                                    records of a finished transfer, and answer.json.gz, the reports of
                                    server and client

A transfer is finished as soon as its line is in the journal, which is written after its records; a transfer without
such a line is repeated. One process at a time may use a folder. Transfers over a real path cannot be repeated to the
bit, so they are not stored by content (`cwndlab.study.store`); journal, lock and file writer are the same.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.closing import Closing
from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import json_text, own_name, parsed, save, slug
from cwndlab.live.spec import CampaignSpec
from cwndlab.study.journal import entries, entry
from cwndlab.study.lock import FileLock

if TYPE_CHECKING:
    from cwndlab.records import Records

SCHEMA_VERSION = 2
#: The file with the description of the campaign.
SPEC = "measurement.json"
#: The file with the inspection of each server's path before its first transfer.
PREFLIGHT = "preflight.json"
_JOURNAL = "journal.jsonl"
# Keys that every inspection has.
_INSPECTION = {"server", "at", "rtt", "route", "tcp", "unknown"}
_OURS = {SPEC, PREFLIGHT, _JOURNAL, ".lock", "transfers"}


def read_spec(folder: Path) -> CampaignSpec:
    """The description of a folder's campaign; raises ``RecordsError`` if there is none."""
    place = folder / SPEC
    try:
        document = parsed(place.read_text(encoding="utf-8"))
        if document["schema_version"] != SCHEMA_VERSION:
            what = f"is of schema {document['schema_version']}, this is cwndlab with schema {SCHEMA_VERSION}"
            raise RecordsError(Fault(str(place), what, "use the version that wrote it, or choose another folder"))
        return CampaignSpec.from_dict(document["question"])
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        what = "is cut off or no measurement"
    raise RecordsError(Fault(str(place), what, "a folder that `cwndlab measure` wrote"))


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """The events of a campaign, in their order."""
    try:
        return list(entries((folder / _JOURNAL).read_bytes()))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordsError(Fault(str(folder / _JOURNAL), f"cannot be read: {error.strerror}", "")) from None


def read_preflight(folder: Path) -> list[dict[str, Any]]:
    """The inspections of the paths before the first transfers: those of `cwndlab.live.preflight.Survey.as_dict`, with
    ``server`` and ``at``, the time. Raises ``RecordsError`` if the file is damaged."""
    place = folder / PREFLIGHT
    try:
        document = parsed(place.read_text(encoding="utf-8"))
        if isinstance(document, list) and all(one.keys() >= _INSPECTION for one in document):
            for one in document:
                datetime.fromisoformat(one["at"])
            return document
        what = "is not an inspection of a path"
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    except (ValueError, TypeError, AttributeError):
        what = "is cut off or no inspection of a path"
    raise RecordsError(Fault(str(place), what, "remove it; the report is then without it"))


def transfer_folder(folder: Path, spec: CampaignSpec, number: int, server: str, algorithm: str) -> Path:
    """The folder of the records of a transfer."""
    there = f"{spec.position(server)}-{slug(spec.label(server))}"
    # Texts with parameters may have the same slug.
    name = own_name(algorithm) if "(" in algorithm else slug(algorithm)
    return folder / "transfers" / there / f"{number:03}-{name}"


class Folder(Closing):
    """A campaign's folder, locked for this process."""

    def __init__(self, place: Path, spec: CampaignSpec) -> None:
        self.place, self._spec = place, spec
        try:
            place.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(place)
        except OSError as error:
            what = f"cannot be opened: {error.strerror or error}"
            raise RecordsError(Fault(str(place), what, "name another folder by --out")) from None
        try:
            self._claim(spec)
            self.rows = read_journal(place)
            self._end_last_line()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._journal = os.open(place / _JOURNAL, flags, 0o644)
        except OSError as error:
            self._lock.release()
            raise OutputError(Fault(str(place), f"cannot be written: {error.strerror}", "")) from None
        except BaseException:
            self._lock.release()
            raise

    def _claim(self, spec: CampaignSpec) -> None:
        if (self.place / SPEC).exists():
            other = spec.differs(read_spec(self.place))
            if other:
                what = f"holds another campaign ({', '.join(other)} differ)"
                raise RecordsError(Fault(str(self.place), what, "name another folder by --out"))
        elif {path.name for path in self.place.iterdir() if not path.name.endswith(".partial")} - _OURS:
            raise RecordsError(Fault(str(self.place), "holds something else", "name an empty folder by --out"))
        document = {"schema_version": SCHEMA_VERSION, "question": spec.as_dict()}
        save(json_text(document, indent=1) + "\n", self.place / SPEC)

    def _end_last_line(self) -> None:
        """Ends an incomplete line, so that the next one begins on its own."""
        place = self.place / _JOURNAL
        content = place.read_bytes() if place.exists() else b""
        if content and not content.endswith(b"\n"):
            with place.open("ab") as file:
                file.write(b"\n")

    def add(self, row: Mapping[str, Any]) -> None:
        """Keeps an event: from now on it survives the end of this process."""
        row = dict(row)
        os.write(self._journal, entry(row))
        os.fsync(self._journal)
        self.rows.append(row)

    def keep(self, number: int, server: str, algorithm: str, records: Records, answer: Mapping[str, Any]) -> None:
        """Writes the records of a transfer, in place of those that a killed process left."""
        place = transfer_folder(self.place, self._spec, number, server, algorithm)
        shutil.rmtree(place, ignore_errors=True)
        records.save(place)
        with gzip.GzipFile(place / "answer.json.gz", "wb", mtime=0) as file:
            file.write(json_text(dict(answer)).encode())

    def keep_preflight(self, server: str, at: datetime, document: Mapping[str, Any]) -> None:
        """Adds the inspection of the path to a server."""
        inspections = [*read_preflight(self.place), {"server": server, "at": at.isoformat(), **document}]
        text = json_text(inspections, indent=1, ensure_ascii=False)
        save(text + "\n", self.place / PREFLIGHT)

    def close(self) -> None:
        """Releases the folder."""
        os.close(self._journal)
        self._lock.release()
