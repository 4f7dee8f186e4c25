"""The description of a campaign: server, algorithms, rounds, sizes, schedule."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.live.schedule import Schedule, zone_of


@dataclass(frozen=True)
class CampaignSpec:
    """A campaign. ``rounds`` are complete blocks: each has every algorithm once, in an order that ``seed`` draws."""

    url: str
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
        faults = []
        if not self.algorithms:
            faults.append(Fault("--algorithms", "names no algorithm", "write --algorithms newreno,ctcp,cubic"))
        twice = sorted({name for name in self.algorithms if self.algorithms.count(name) > 1})
        if twice:
            faults.append(Fault("--algorithms", f"'{twice[0]}' stands there twice", "a round has each one once"))
        odd = [name for name in self.algorithms if not re.fullmatch(r"[A-Za-z0-9_./+-]{1,64}", name)]
        if odd:
            faults.append(Fault("--algorithms", f"'{odd[0]}' is no name that a server knows", "`cwndlab list`"))
        if self.transport not in ("tcp", "quic"):
            faults.append(Fault("--transport", f"'{self.transport}' is none", "write tcp or quic"))
        if not self.url.startswith("https://"):
            faults.append(Fault("URL", f"'{self.url}' is no https address", "write https://HOST:PORT"))
        limit = self.limit_bytes_per_day
        if limit is not None and limit < self.size_bytes:
            what = f"{limit} bytes a day are less than one transfer of {self.size_bytes}"
            faults.append(Fault("--limit-bytes-per-day", what, "allow more, or ask for less by --bytes"))
        if faults:
            raise ScenarioError(*faults)
        Schedule.parse(self.schedule)
        zone_of(self.zone)

    def order(self, number: int) -> list[str]:
        """The algorithms in the order of round ``number`` (from 1 on): sorted by SHA-256 of seed, round and name, which
        is a uniform draw that every version and machine makes alike."""

        def drawn(name: str) -> bytes:
            return hashlib.sha256(f"{self.seed}/{number}/{name}".encode()).digest()

        return sorted(self.algorithms, key=drawn)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"algorithms": list(self.algorithms)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CampaignSpec:
        """What `as_dict` made; raises ``KeyError``, ``TypeError`` for anything else."""
        known = {field.name: document[field.name] for field in fields(cls)}
        return cls(**known | {"algorithms": tuple(document["algorithms"])})

    def differs(self, other: CampaignSpec) -> list[str]:
        """What tells two campaigns apart: not how many rounds are wanted, nor what guards them."""
        free = {"rounds", "limit_bytes_per_day", "timeout_s", "inflation"}
        mine, theirs = self.as_dict(), other.as_dict()
        return [name for name in mine if name not in free and mine[name] != theirs[name]]
