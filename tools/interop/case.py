"""What a protocol's module declares: the workload, and the programs that do the same."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

TOOLS = str(Path(__file__).resolve().parents[1])
#: When an exchange ends: when its client says so; or by the captures, when its data arrive, when the other end answers,
#: or with the last response of an association.
Completion = Literal["client", "arrival", "answer", "association"]


@dataclass(frozen=True)
class Case:
    """A workload, and a client and a server that do the same."""

    name: str
    workload: dict[str, Any]
    module: str
    """Module of the client's program."""
    arguments: tuple[str, ...]
    """Arguments of the client's program after the address of the server."""
    serve: Callable[[EmulatedPath, Side, Path], None]
    """Starts the server on a side, with a folder for its files."""
    programs: tuple[str, ...]
    """Programs and packages, whose versions the table shows."""
    port: int
    transport: Literal["tcp", "udp"] = "tcp"
    client: Literal["sender", "receiver"] = "sender"
    completion: Completion = "client"
    message_bytes: int = 0
    """Smallest payload of a packet that carries a message, for completion by arrival."""
    computing: bool = True
    """The times between an arrival and the next packet of an end are computing, no part of the workload."""

    def command(self, address: str) -> list[str]:
        """The client's program."""
        return [python(), "-m", self.module, address, *self.arguments]

    @property
    def server(self) -> Literal["sender", "receiver"]:
        """The side of the server."""
        return "receiver" if self.client == "sender" else "sender"


class Stopwatch:
    """The times of a client's exchanges by the clock of the captures, which it prints at its end."""

    def __init__(self) -> None:
        self._starts: dict[Any, float] = {}
        self._exchanges: list[tuple[float, float]] = []

    def start(self, key: Any) -> None:
        """An exchange begins."""
        self._starts[key] = time.time()

    def end(self, key: Any) -> None:
        """An exchange ends."""
        self._exchanges.append((self._starts.pop(key), time.time()))

    @property
    def ended(self) -> int:
        """Number of complete exchanges."""
        return len(self._exchanges)

    def write(self) -> None:
        """Prints the exchanges."""
        sys.stdout.write(json.dumps(sorted(self._exchanges)) + "\n")
        sys.stdout.flush()


def python() -> str:
    """The Python with the packages of requirements.txt."""
    return str(Path(TOOLS).parent / "build/interop/venv/bin/python")


def options(words: Sequence[str]) -> dict[str, str]:
    """The arguments `name=value` of a program."""
    return dict(word.split("=", 1) for word in words)
