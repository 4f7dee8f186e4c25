"""What a campaign keeps, so that it can be killed at any moment and goes on.

    DIR/measurement.json            what is asked
    DIR/journal.jsonl               what happened, a line each (`cwndlab.study.journal`)
    DIR/transfers/ROUND-ALGORITHM/  records of a finished transfer, and answer.json.gz, what the server's and the
                                    client's side told

A transfer counts as soon as its line is in the journal, which is written after its records; what was begun and has no
such line is fetched again as a whole. One process at a time may work on a folder.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import parsed, save, slug
from cwndlab.live.spec import CampaignSpec
from cwndlab.study.journal import entries, entry
from cwndlab.study.lock import FileLock

if TYPE_CHECKING:
    from cwndlab.records import Records

SCHEMA_VERSION = 1
#: The file by which such a folder is known.
ASKED = "measurement.json"
_JOURNAL = "journal.jsonl"
_OURS = {ASKED, _JOURNAL, ".lock", "transfers", f".{ASKED}.partial"}


def read_question(folder: Path) -> CampaignSpec:
    """What a folder's campaign asks; raises ``RecordsError`` where it holds none."""
    place = folder / ASKED
    try:
        told = parsed(place.read_text(encoding="utf-8"))
        if told["schema_version"] != SCHEMA_VERSION:
            what = f"is of schema {told['schema_version']}, this is cwndlab with schema {SCHEMA_VERSION}"
            raise RecordsError(Fault(str(place), what, "choose another folder"))
        return CampaignSpec.from_dict(told["question"])
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        what = "is cut off or no measurement"
    raise RecordsError(Fault(str(place), what, "a folder that `cwndlab measure` wrote"))


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """What happened, in its order."""
    try:
        return list(entries((folder / _JOURNAL).read_bytes()))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordsError(Fault(str(folder / _JOURNAL), f"cannot be read: {error.strerror}", "")) from None


def place_of(folder: Path, number: int, algorithm: str) -> Path:
    """Where the records of a transfer are."""
    return folder / "transfers" / f"{number:03}-{slug(algorithm)}"


class Folder:
    """A campaign's folder, open to be written by this process alone."""

    def __init__(self, place: Path, question: CampaignSpec) -> None:
        self.place = place
        try:
            place.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(place)
        except OSError as error:
            what = f"cannot be opened: {error.strerror or error}"
            raise RecordsError(Fault(str(place), what, "name another folder by --out")) from None
        try:
            self._claim(question)
            self.rows = read_journal(place)
            self._mend()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._journal = os.open(place / _JOURNAL, flags, 0o644)
        except OSError as error:
            self._lock.release()
            raise OutputError(Fault(str(place), f"cannot be written: {error.strerror}", "")) from None
        except BaseException:
            self._lock.release()
            raise

    def _claim(self, question: CampaignSpec) -> None:
        if (self.place / ASKED).exists():
            other = question.differs(read_question(self.place))
            if other:
                what = f"holds another campaign ({', '.join(other)} differ)"
                raise RecordsError(Fault(str(self.place), what, "name another folder by --out"))
        elif {path.name for path in self.place.iterdir()} - _OURS:
            raise RecordsError(Fault(str(self.place), "holds something else", "name an empty folder by --out"))
        told = {"schema_version": SCHEMA_VERSION, "question": question.as_dict()}
        save(json.dumps(told, indent=1) + "\n", self.place / ASKED)

    def _mend(self) -> None:
        """A line that was cut off ends here, so that the next one begins anew."""
        place = self.place / _JOURNAL
        content = place.read_bytes() if place.exists() else b""
        if content and not content.endswith(b"\n"):
            with place.open("ab") as file:
                file.write(b"\n")

    def add(self, row: Mapping[str, Any]) -> None:
        """Writes down what happened: from here on it is not lost."""
        row = dict(row)
        os.write(self._journal, entry(row))
        os.fsync(self._journal)
        self.rows.append(row)

    def keep(self, number: int, algorithm: str, records: Records, answer: Mapping[str, Any]) -> None:
        """Writes the records of a transfer; what a process that was killed left there gives way."""
        place = place_of(self.place, number, algorithm)
        shutil.rmtree(place, ignore_errors=True)
        records.save(place)
        with gzip.GzipFile(place / "answer.json.gz", "wb", mtime=0) as file:
            file.write(json.dumps(dict(answer)).encode())

    def close(self) -> None:
        """Lets go."""
        os.close(self._journal)
        self._lock.release()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
