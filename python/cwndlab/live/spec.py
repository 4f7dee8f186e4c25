"""The description of a campaign: servers, algorithms, rounds, sizes, schedule."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.live.schedule import Schedule, zone_of
from cwndlab.live.server_info import is_foreign, place_of

#: The algorithm of a server of someone else.
UNKNOWN = "unknown"
#: Algorithms that every Linux has.
DEFAULT_ALGORITHMS = "newreno,cubic"
#: The longest transfer: a day, as in a plan for Windows.
_LONGEST_S = 86_400


@dataclass(frozen=True)
class CampaignSpec:
    """A campaign. A round has a block for each of ``servers`` (URLs), and a block has every algorithm once. ``seed``
    draws the order of the servers in a round and of the algorithms in a block."""

    servers: tuple[str, ...]
    algorithms: tuple[str, ...]
    rounds: int
    schedule: str
    size_bytes: int
    transport: str = "tcp"
    seed: int = 1
    zone: str = ""
    limit_bytes_per_day: int | None = None
    timeout_s: float = 600.0
    inflation: float = 20.0
    """The breaker: round trips beyond so many idle ones end a transfer."""

    def __post_init__(self) -> None:
        faults = self._faults_of_servers()
        if not faults:
            faults += self._faults_of_foreign()
        if not self.algorithms and not self.is_only_foreign:
            faults.append(Fault("--algorithms", "names no algorithm", "write --algorithms newreno,cubic"))
        twice = sorted({name for name in self.algorithms if self.algorithms.count(name) > 1})
        if twice:
            faults.append(Fault("--algorithms", f"'{twice[0]}' is given twice", "name each algorithm once"))
        # What `?cc=` takes, but for the algorithms of quinn.
        odd = [name for name in self.algorithms if not re.fullmatch(r"[A-Za-z0-9_./+=(),-]{1,200}", name)]
        if odd and odd[0].startswith("quinn:"):
            what = f"'{odd[0]}' is an algorithm of quinn: records need one of this library"
            faults.append(Fault("--algorithms", what, "`cwndlab list`"))
        elif odd:
            faults.append(Fault("--algorithms", f"'{odd[0]}' is not a name that a server knows", "`cwndlab list`"))
        if self.transport not in ("tcp", "quic"):
            faults.append(Fault("--transport", f"'{self.transport}' is none", "write tcp or quic"))
        faults += self._faults_of_limits()
        limit, size = self.limit_bytes_per_day, max(1, len(self.algorithms)) * self.size_bytes
        if limit is not None and limit < size:
            what = f"{limit} bytes a day are less than one block of {size}, whose transfers belong together"
            faults.append(Fault("--limit-bytes-per-day", what, "allow more, or ask for less by --bytes"))
        if faults:
            raise ScenarioError(*faults)
        Schedule.parse(self.schedule)
        zone_of(self.zone)

    def _faults_of_servers(self) -> list[Fault]:
        """Servers that are missing, invalid or given twice."""
        if not self.servers:
            return [Fault("URL", "no server is given", "write https://HOST:PORT, once for each server")]
        faults: list[Fault] = []
        first: dict[tuple[str, int], str] = {}
        for server in self.servers:
            try:
                place = place_of(server)
            except ScenarioError as error:
                faults += error.faults
                continue
            if place in first:
                both = f"'{first[place]}' and '{server}' are the same server"
                what = both if server != first[place] else f"'{server}' is given twice"
                faults.append(Fault("URL", what, "name each server once"))
            first.setdefault(place, server)
        return faults

    def _faults_of_limits(self) -> list[Fault]:
        """Limits of a transfer that would end none: nothing exceeds what is no number."""
        faults: list[Fault] = []
        if not 1 <= self.timeout_s <= _LONGEST_S:
            what = f"{self.timeout_s:g} s is not from 1 to {_LONGEST_S} s"
            faults.append(Fault("--timeout", what, "write --timeout 600"))
        if not 1 < self.inflation < math.inf:
            what = f"'{self.inflation:g}' is not a number of idle round trips above 1"
            faults.append(Fault("--inflation", what, "write --inflation 20"))
        return faults

    def _faults_of_foreign(self) -> list[Fault]:
        """Options that have no effect on a server of someone else."""
        foreign = [server for server in self.servers if is_foreign(server)]
        faults: list[Fault] = []
        if self.is_only_foreign and self.algorithms:
            what = f"has no effect: the server of {foreign[0]} selects its congestion control itself"
            faults.append(Fault("--algorithms", what, "omit it, or write the address of a `cwndlab serve`"))
        if foreign and self.transport == "quic":
            faults.append(Fault("--transport", f"{foreign[0]} is measured over TCP only", "write --transport tcp"))
        return faults

    @property
    def is_only_foreign(self) -> bool:
        """Whether every server is one of someone else (`cwndlab.live.server_info.is_foreign`)."""
        return bool(self.servers) and all(is_foreign(server) for server in self.servers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the senders in tables: the algorithms, and `UNKNOWN` with servers of others."""
        return (*self.algorithms, *([UNKNOWN] if any(is_foreign(server) for server in self.servers) else ()))

    def algorithms_of(self, server: str) -> tuple[str, ...]:
        """The algorithms of a block of a server."""
        return (UNKNOWN,) if is_foreign(server) else self.algorithms

    def server_order(self, number: int) -> list[str]:
        """The servers in the order of round ``number`` (from 1 on): sorted by SHA-256 of the seed, the round and the
        server's position in `servers`. Every version and machine draws the same order."""
        return sorted(self.servers, key=lambda server: self._draw(number, server))

    def order(self, number: int, server: str) -> list[str]:
        """The algorithms in the order of a server's block in round ``number``: sorted by SHA-256 of the seed, the
        round, the server's position in `servers`, and the name."""
        return sorted(self.algorithms_of(server), key=lambda name: self._draw(number, server, name))

    def _draw(self, number: int, server: str, *names: str) -> bytes:
        text = "/".join([str(self.seed), str(number), str(self.position(server)), *names])
        return hashlib.sha256(text.encode()).digest()

    @property
    def transfers(self) -> int:
        """The number of transfers of the whole campaign."""
        return self.rounds * sum(len(self.algorithms_of(server)) for server in self.servers)

    def position(self, server: str) -> int:
        """The position of a server in `servers`, from 1 on."""
        return self.servers.index(server) + 1

    def label(self, server: str) -> str:
        """The name of a server in tables: its host, with the port if another server has the same host.

        >>> servers = ("https://a.example", "https://b.example:1", "https://b.example:2")
        >>> spec = CampaignSpec(servers, ("cubic",), 1, "now", 1)
        >>> [spec.label(server) for server in servers]
        ['a.example', 'b.example:1', 'b.example:2']
        """
        host, port = place_of(server)
        if sum(place_of(other)[0] == host for other in self.servers) == 1:
            return host
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"servers": list(self.servers), "algorithms": list(self.algorithms)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CampaignSpec:
        """What `as_dict` made; raises ``KeyError``, ``TypeError`` for anything else."""
        known = {field.name: document[field.name] for field in fields(cls)}
        return cls(**known | {name: tuple(document[name]) for name in ("servers", "algorithms")})

    def differs(self, other: CampaignSpec) -> list[str]:
        """What tells two campaigns apart: not how many rounds are wanted, nor what guards them."""
        free = {"rounds", "limit_bytes_per_day", "timeout_s", "inflation"}
        mine, theirs = self.as_dict(), other.as_dict()
        return [name for name in mine if name not in free and mine[name] != theirs[name]]
