"""When the rounds of a campaign begin: by parts of the day, every so often, or one after the other.

Parts of the day are quarters of it in local time; a round begins two hours into its part, or at once where that has
passed, the part is under way and it has had no round yet. Local hours that a change of the clocks leaves out lie as far
behind it (PEP 495).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.units import duration_s

#: Parts of the day and the local hours from and to which they last.
PARTS = {"night": (0, 6), "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24)}
# Hours into its part at which a round begins.
_INTO = 2
_HINT = "write 'now', 'every 4h', or parts of the day: 'morning,evening,night'"


@dataclass(frozen=True)
class Slot:
    """Where a round belongs: ``name`` is the day and its part, empty without parts; ``begins`` is in UTC."""

    begins: datetime
    name: str = ""


@dataclass(frozen=True)
class Schedule:
    """``parts`` of the day, or a distance of ``every_s`` seconds (0: one after the other)."""

    text: str
    parts: tuple[str, ...] = ()
    every_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Parses the value of `--schedule`.

        >>> Schedule.parse("every 4h").every_s, Schedule.parse("Evening, morning").parts
        (14400.0, ('morning', 'evening'))
        """
        plain = " ".join(text.lower().split())
        if plain == "now":
            return cls("now")
        if plain.startswith("every "):
            with suppress(ScenarioError):
                interval_s = duration_s(plain.removeprefix("every "), "schedule")
                if interval_s > 0:
                    return cls(plain, every_s=interval_s)
        named = [part.strip() for part in plain.split(",")]
        if all(part in PARTS for part in named) and len(set(named)) == len(named):
            return cls(",".join(named), tuple(part for part in PARTS if part in named))
        raise ScenarioError(Fault("--schedule", f"'{text}' is not a schedule", _HINT))

    def next(self, last: Slot | None, now: datetime, zone: tzinfo) -> Slot:
        """Where the round after ``last`` (the first one without) belongs; never before ``now``."""
        now = now.astimezone(UTC)
        if not self.parts:
            due = now if last is None else last.begins + timedelta(seconds=self.every_s)
            return Slot(max(now, due))
        for name, due, end in self._slots(now.astimezone(zone).date() - timedelta(days=1), zone):
            if end > now and (last is None or name > last.name):
                return Slot(max(now, due), name)
        raise AssertionError("days do not end")

    def _slots(self, first: date, zone: tzinfo) -> Iterator[tuple[str, datetime, datetime]]:
        """Slots from a day on: name (in their order, which is that of time), when due, when over."""
        for number in range(10_000):
            day = first + timedelta(days=number)
            for part in self.parts:
                begin, end = PARTS[part]
                name = f"{day.isoformat()} {begin:02} {part}"
                yield name, instant(day, begin + _INTO, zone), instant(day, end, zone)

    def plan(self, rounds: int, now: datetime, zone: tzinfo, last: Slot | None = None) -> list[Slot]:
        """Where the next ``rounds`` belong, as if they took no time."""
        slots: list[Slot] = []
        for _ in range(rounds):
            last = self.next(last, now if last is None else max(now, last.begins), zone)
            slots.append(last)
        return slots


def instant(day: date, hour: int, zone: tzinfo) -> datetime:
    """A local hour (0 to 24) of a day, in UTC."""
    there = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(hours=hour)  # on the wall's clock
    return there.replace(fold=0).astimezone(UTC)


def part_of(moment: datetime, zone: tzinfo) -> str:
    """The part of the day in which a moment lies.

    >>> part_of(datetime(2026, 1, 1, 5, 59, tzinfo=UTC), ZoneInfo("UTC"))
    'night'
    """
    hour = moment.astimezone(zone).hour
    return next(part for part, (begin, end) in PARTS.items() if begin <= hour < end)


def zone_of(name: str = "") -> ZoneInfo:
    """A time zone by its name, this machine's without one."""
    key = name or os.environ.get("TZ", "").lstrip(":")
    try:
        if key:
            return ZoneInfo(key)
    except (ValueError, OSError, KeyError):
        pass  # TZ may hold a rule of POSIX in place of a name
    if name:
        raise ScenarioError(Fault("--zone", f"no time zone is called '{name}'", "write one such as Europe/Vienna"))
    place = Path("/etc/localtime")
    try:
        key = str(place.resolve()).partition("zoneinfo/")[2]
        if key:
            return ZoneInfo(key)
        with place.open("rb") as file:
            return ZoneInfo.from_file(file, key="local")
    except (OSError, ValueError, KeyError):
        return ZoneInfo("UTC")
