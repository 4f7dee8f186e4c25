"""Output of tools that somebody kept in a file, and output of tools that are run here."""

from __future__ import annotations

import codecs
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cwndlab.errors import Fault, ScenarioError

# No tool's output is larger; a file that is was named by mistake.
_MOST_BYTES = 16 << 20
# Windows marks its files; of what is left, no UTF-8 means a code page, of which nearly all agree on what matters here.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Unknown(Exception):  # noqa: N818
    """Something could not be found out; the text says why, in lower case."""


def decoded(content: bytes) -> str:
    """Text of a tool: UTF-8, UTF-16 with its mark as PowerShell's ``>`` writes it, else Windows-1252."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def read(path: Path, what: str) -> str:
    """A file with ``what`` in it; raises ``ScenarioError`` if it cannot be read."""
    hint = f"a file with {what}"
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ScenarioError(Fault(str(path), f"is larger than {_MOST_BYTES >> 20} MiB", hint))
        return decoded(path.read_bytes())
    except FileNotFoundError:
        what_failed = "there is no such file"
    except IsADirectoryError:
        what_failed = "is a folder, not a file"
    except OSError as cause:
        what_failed = f"cannot be read ({cause.strerror})"
    except ValueError as cause:
        what_failed = f"cannot be read ({cause})"
    raise ScenarioError(Fault(str(path), what_failed, hint))


def run(command: Sequence[str], *, timeout_s: float = 20.0) -> str:
    """What a tool prints, in English where it knows several languages; raises ``Unknown`` where it is not there, takes
    too long or fails."""
    program = command[0]
    if shutil.which(program) is None:
        raise Unknown(f"`{program}` is not installed")
    shown = f"`{' '.join(command)}`"
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise Unknown(f"{shown} took longer than {timeout_s:g} s") from None
    except OSError as cause:
        raise Unknown(f"{shown} cannot be run ({cause.strerror})") from None
    if done.returncode != 0:
        first = decoded(done.stderr or done.stdout).strip().splitlines()
        why = first[0] if first else f"exit status {done.returncode}"
        raise Unknown(f"{shown} failed: {why}")
    return decoded(done.stdout)
