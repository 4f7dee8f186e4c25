"""Runs a campaign: waits for each round, fetches with every algorithm in the drawn order, keeps the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from cwndlab.errors import Error, Fault, RunError
from cwndlab.live.breaker import Envelope, Guard, Probing
from cwndlab.live.preflight.captured import Unknown
from cwndlab.live.preflight.rtt import Address, resolve, tcp_connects
from cwndlab.live.schedule import Schedule, Slot, part_of, zone_of
from cwndlab.live.server_info import place_of
from cwndlab.live.spec import CampaignSpec
from cwndlab.live.store import Folder, read_journal
from cwndlab.live.transfer_records import joined, sender_samples

#: ``_engine.fetch``: fetches once and returns the outcome.
Fetch: TypeAlias = Callable[..., dict[str, Any]]
Row: TypeAlias = dict[str, Any]

# Attempts at a transfer of which no byte, or not all, came for reasons of the network, and seconds between them.
_ATTEMPTS, _PAUSE_S = 3, 5.0
# Transfers in a row that breakers ended, after which a campaign ends itself.
STRIKES = 2
#: Ends of a transfer that are a result; after any other end it is repeated.
FINAL = frozenset({"complete", "breaker"})


@dataclass
class Clock:
    """Time, for tests to replace."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], object] = time.sleep


@dataclass
class Progress:
    """Messages meanwhile: ``say`` a line, ``moved`` (algorithm, received, of all) while a transfer runs."""

    say: Callable[[str], object] = lambda text: None
    moved: Callable[[str, int, int], object] = lambda name, received, size: None


@dataclass
class State:
    """What of a campaign is done, from its journal."""

    question: CampaignSpec
    rows: list[Row]
    slots: dict[int, Slot] = field(default_factory=dict)
    finished: dict[tuple[int, str], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if row["kind"] == "round":
                self.slots[row["round"]] = Slot(datetime.fromisoformat(row["begins"]), row["slot"])
            elif row["kind"] == "transfer" and row["ended"] in FINAL:
                self.finished[row["round"], row["algorithm"]] = row

    def left(self, number: int) -> list[str]:
        """What a round lacks, in its order."""
        return [name for name in self.question.order(number) if (number, name) not in self.finished]

    def todo(self) -> list[tuple[int, str]]:
        """All that is lacking."""
        return [(number, name) for number in range(1, self.question.rounds + 1) for name in self.left(number)]

    def last_slot(self) -> Slot | None:
        """That of the last round that has begun."""
        return self.slots[max(self.slots)] if self.slots else None

    def plan(self, now: datetime) -> list[tuple[int, Slot, list[str]]]:
        """Rounds that are left, when they begin, and what they fetch."""
        schedule, zone = Schedule.parse(self.question.schedule), zone_of(self.question.zone)
        lacking = [number for number in range(1, self.question.rounds + 1) if self.left(number)]
        begun = [number for number in lacking if number in self.slots]
        planned = [(number, Slot(now, self.slots[number].name), self.left(number)) for number in begun]
        fresh = [number for number in lacking if number not in self.slots]
        slots = schedule.plan(len(fresh), now, zone, self.last_slot())
        return planned + [(number, slot, self.left(number)) for number, slot in zip(fresh, slots, strict=True)]

    def bytes_of_day(self, day: str) -> int:
        """What was fetched on a local day: a transfer that was begun and has no end counts whole."""
        zone = zone_of(self.question.zone)
        total: dict[str, int] = {}
        for row in self.rows:
            if row["kind"] == "begin" and local_day(datetime.fromisoformat(row["at"]), zone) == day:
                total[row["id"]] = self.question.size_bytes
            elif row["kind"] == "transfer" and row["id"] in total:
                total[row["id"]] = row["received_bytes"]
        return sum(total.values())


def local_day(moment: datetime, zone: Any) -> str:
    """A moment's local day."""
    return moment.astimezone(zone).date().isoformat()


def state_of(folder: Path, spec: CampaignSpec) -> State:
    """What of a campaign is done; of a folder that is not there, nothing."""
    return State(spec, read_journal(folder) if folder.is_dir() else [])


def campaign(
    spec: CampaignSpec,
    folder: Path,
    *,
    fetch: Fetch,
    token: str,
    trust: str | None = None,
    sender_names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
    envelope: Envelope | None = None,
) -> State:
    """Does what is left of a campaign. Raises ``RunError`` where the server is not to be had any more, and where the
    breaker ended two transfers in a row; what was finished is kept, and calling it again goes on."""
    progress, clock = progress or Progress(), clock or Clock()
    schedule, zone = Schedule.parse(spec.schedule), zone_of(spec.zone)
    guarded = envelope or Envelope(inflation=spec.inflation)
    with Folder(folder, spec) as kept:
        strikes = 0
        for number in range(1, spec.rounds + 1):
            state = State(spec, kept.rows)
            if not state.left(number):
                continue
            slot = state.slots.get(number)
            if slot is None:
                slot = schedule.next(state.last_slot(), clock.now(), zone)
                _wait(slot, number, spec, progress, clock)
                kept.add({"kind": "round", "round": number, "begins": slot.begins.isoformat(), "slot": slot.name})
            for name in state.left(number):
                _wait_for_volume(spec, kept, progress, clock)
                row = _transfer(
                    spec,
                    kept,
                    number,
                    name,
                    fetch,
                    token,
                    trust,
                    progress,
                    clock,
                    guarded,
                    (sender_names or {}).get(name),
                )
                progress.say(transfer_line(row, spec, zone))
                strikes = strikes + 1 if row["ended"] == "breaker" else 0
                if strikes >= STRIKES:
                    kept.add({"kind": "stopped", "at": clock.now().isoformat(), "why": row["why"]})
                    what = f"{strikes} transfers in a row harmed the path and were ended: {row['why']}"
                    hint = "find out why before you go on; the same command goes on with what is left"
                    raise RunError(Fault("measure", what, hint))
        return State(spec, kept.rows)


def transfer_line(row: Row, spec: CampaignSpec, zone: Any) -> str:
    """A line on a transfer."""
    when = datetime.fromisoformat(row["at"]).astimezone(zone)
    head = f"round {row['round']} of {spec.rounds}, {when:%H:%M}, {row['algorithm']}: "
    if row["ended"] != "complete":
        return head + f"ended early ({row['ended']}: {row['why']}) after {row['received_bytes'] / 1e6:.1f} MB"
    return head + f"{row['goodput_bps'] / 1e6:.2f} Mbit/s"


def _wait(slot: Slot, number: int, spec: CampaignSpec, progress: Progress, clock: Clock) -> None:
    """Until a round begins; the wall's clock decides, also after a suspension."""
    left = slot.begins - clock.now()
    if left <= timedelta(seconds=1):
        return
    zone = zone_of(spec.zone)
    when = slot.begins.astimezone(zone)
    name = f", {slot.name.split()[-1]}" if slot.name else ""
    progress.say(f"round {number} of {spec.rounds} begins {when:%Y-%m-%d %H:%M %Z}{name} (in {span(left)})")
    while (rest := (slot.begins - clock.now()).total_seconds()) > 0:
        clock.sleep(min(rest, 30.0))


def span(left: timedelta) -> str:
    """A time for people.

    >>> span(timedelta(seconds=40)), span(timedelta(hours=3, minutes=12)), span(timedelta(days=2, hours=1))
    ('40 s', '3 h 12 min', '2 d 1 h')
    """
    seconds = round(left.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _wait_for_volume(spec: CampaignSpec, kept: Folder, progress: Progress, clock: Clock) -> None:
    """Waits for the next local day where this one has no room for another transfer."""
    limit, zone = spec.limit_bytes_per_day, zone_of(spec.zone)
    if limit is None:
        return
    reported_day = ""
    while True:
        day = local_day(clock.now(), zone)
        spent = State(spec, kept.rows).bytes_of_day(day)
        if spent + spec.size_bytes <= limit:
            return
        if reported_day != day:
            reported_day = day
            progress.say(
                f"{spent / 1e6:.1f} MB of {limit / 1e6:.1f} MB a day are spent; the next transfer is tomorrow's"
            )
        clock.sleep(30.0)


def _transfer(
    spec: CampaignSpec,
    kept: Folder,
    number: int,
    name: str,
    fetch: Fetch,
    token: str,
    trust: str | None,
    progress: Progress,
    clock: Clock,
    envelope: Envelope,
    sender_name: str | None,
) -> Row:
    """One transfer, again where the network failed; its row is in the journal when this returns."""
    host, port = place_of(spec.url)
    for attempt in range(1, _ATTEMPTS + 1):
        if attempt > 1:
            _wait_for_volume(spec, kept, progress, clock)
        began = clock.now()
        mark = f"{number}/{name}/{began.isoformat()}"
        kept.add({"kind": "begin", "id": mark, "round": number, "algorithm": name, "at": began.isoformat()})
        to = _address(host)
        idle = _idle_ns(to, port)
        guard = Guard(idle, envelope)

        def moved(received: int, guard: Guard = guard) -> bool:
            progress.moved(name, received, spec.size_bytes)
            return guard.progress(received)

        fault: Error | None = None
        answer: dict[str, Any] = {}
        with Probing(guard, to, port):
            try:
                answer = fetch(
                    spec.url,
                    token=token,
                    algorithm=sender_name or name,
                    size_bytes=spec.size_bytes,
                    transport=spec.transport,
                    trust=trust,
                    timeout_s=spec.timeout_s,
                    progress=moved,
                )
            except Error as error:
                fault = error
        if fault is None and answer["ended"] == "cancelled" and guard.why:
            answer |= {"ended": "breaker"}
        row: Row = {"kind": "transfer", "id": mark, "round": number, "algorithm": name, "at": began.isoformat()}
        if fault is not None:
            row |= {"ended": "failed", "why": fault.faults[0].what, "received_bytes": 0}
        else:
            row |= _row(spec, answer, guard, began)
            if row["ended"] in FINAL:
                title = f"round {number}, {name}"
                records = joined(
                    answer,
                    algorithm=name,
                    name=title,
                    size_bytes=spec.size_bytes,
                    seed=spec.seed,
                    idle_rtt_ns=idle,
                    url=spec.url,
                    why=guard.why,
                )
                kept.keep(number, name, records, answer)
        kept.add(row)
        if row["ended"] in FINAL:
            return row
        if row["ended"] == "cancelled":
            raise KeyboardInterrupt
        if attempt < _ATTEMPTS:
            progress.say(f"round {number}, {name}: {row['ended']} ({row['why']}); again in {_PAUSE_S:g} s")
            clock.sleep(_PAUSE_S)
    if fault is not None:
        raise fault
    what = f"round {number}, {name}: {row['ended']} ({row['why']}), {_ATTEMPTS} times"
    raise RunError(Fault(spec.url, what, "the same command goes on with what is left"))


def _address(host: str) -> Address | None:
    with suppress(Unknown):
        return resolve(host)
    return None


def _idle_ns(to: Address | None, port: int) -> float | None:
    """The round trip before anything is sent."""
    if to is None:
        return None
    with suppress(Unknown):
        result = tcp_connects(to, port, count=5, interval_s=0.02).answered
        return float(median(result)) if result else None
    return None


def _row(spec: CampaignSpec, answer: Mapping[str, Any], guard: Guard, began: datetime) -> Row:
    """What a transfer comes to: throughput is payload over the time from the request to its last byte."""
    samples = sender_samples(answer)
    last = samples[-1] if samples else {}
    rtts = [sample["srtt_ns"] / 1e6 for sample in samples if sample.get("srtt_ns")]
    got = int(answer["received_bytes"])
    took = int(answer.get("last_byte_ns") or 0) - int(answer["handshake_ns"])
    packets, again = last.get("sent_packets"), last.get("retransmitted_packets")
    probes = [one for one in guard.probes if one is not None]
    return {
        "ended": answer["ended"],
        "why": guard.why or str(answer.get("why") or ""),
        "part": part_of(began, zone_of(spec.zone)),
        "received_bytes": got,
        "goodput_bps": 8e9 * got / took if got and took > 0 else None,
        "duration_s": took / 1e9 if took > 0 else None,
        "mean_rtt_ms": sum(rtts) / len(rtts) if rtts else None,
        "loss_ratio": again / packets if packets and again is not None else None,
        "retransmitted_packets": again,
        "timeouts": last.get("timeouts"),
        "idle_rtt_ms": None if guard.idle_ns is None else guard.idle_ns / 1e6,
        "loaded_rtt_ms": median(probes) / 1e6 if probes else None,
        "sender_algorithm": answer.get("algorithm"),
        "address": answer.get("address"),
        "transfer": answer.get("transfer"),
    }
