"""Runs a campaign: waits for each round, fetches from every server with every algorithm in the drawn order, keeps the
results. A server that fails does not end the blocks of the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from cwndlab.errors import Error, Fault, RunError, ScenarioError
from cwndlab.files import slug
from cwndlab.live.breaker import Envelope, Guard, Probing
from cwndlab.live.preflight.captured import Unknown
from cwndlab.live.preflight.rtt import Address, reachable, tcp_connects
from cwndlab.live.rates import RateUnit
from cwndlab.live.schedule import Schedule, Slot, part_of, zone_of
from cwndlab.live.server_info import is_foreign, place_of
from cwndlab.live.spec import CampaignSpec
from cwndlab.live.store import SPEC, Folder, read_journal, read_preflight, read_spec
from cwndlab.live.transfer_records import joined, sender_samples

#: ``_engine.fetch``: fetches once and returns the outcome.
Fetch: TypeAlias = Callable[..., dict[str, Any]]
#: Inspects the path to a server: `cwndlab.live.preflight.Survey.as_dict`.
Inspect: TypeAlias = Callable[[str], Mapping[str, Any]]
#: Returns a server's own names of the algorithms: `cwndlab.live.server_info.sender_names`.
SenderNames: TypeAlias = Callable[[str], Mapping[str, str]]
Row: TypeAlias = dict[str, Any]

# Attempts at a transfer of which no byte, or not all, came for reasons of the network, and seconds between them.
_ATTEMPTS, _PAUSE_S = 3, 5.0
#: Largest time between two transfers of one round. A block of a comparison needs one state of the path.
MAX_GAP = timedelta(hours=1)
# Consecutive transfers of one server that breakers ended, after which the campaign leaves the server out.
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


@dataclass(frozen=True)
class Access:
    """The token for a server, and its certificate or fingerprint; without one the system's authorities are used."""

    token: str
    trust: str | None = None


class Block(NamedTuple):
    """The transfers from one server in one round."""

    round: int
    server: str


@dataclass
class State:
    """The finished part of a campaign, from its journal."""

    question: CampaignSpec
    rows: list[Row]
    slots: dict[int, Slot] = field(default_factory=dict)
    finished: dict[tuple[Block, str], Row] = field(default_factory=dict)
    #: Finished transfers of blocks that were begun anew; they are not compared.
    superseded: list[Row] = field(default_factory=list)
    #: The last failure of each block that the campaign left incomplete.
    failures: dict[Block, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if row["kind"] == "round":
                self.slots[row["round"]] = Slot(datetime.fromisoformat(row["begins"]), row["slot"])
                continue
            if row["kind"] == "note":
                continue
            block = Block(row["round"], row["server"])
            if row["kind"] == "transfer" and row["ended"] in FINAL:
                self.finished[block, row["algorithm"]] = row
            elif row["kind"] == "missing":
                self.failures[block] = row
            elif row["kind"] == "repeat":
                for key in [key for key in self.finished if key[0] == block]:
                    self.superseded.append(self.finished.pop(key))

    def left(self, block: Block, now: datetime | None = None) -> list[str]:
        """The algorithms that a block lacks, in its order; all of them where ``now`` is too late for the rest."""
        order = self.question.order(*block)
        left = [name for name in order if (block, name) not in self.finished]
        return order if left and now is not None and self.gap(block, now) > MAX_GAP else left

    def gap(self, block: Block, now: datetime) -> timedelta:
        """The time since the last finished transfer of a block; zero without one."""
        rows = [row for (one, _), row in self.finished.items() if one == block]
        ends = [datetime.fromisoformat(row["at"]) + timedelta(seconds=row["duration_s"] or 0) for row in rows]
        return max(timedelta(), now - max(ends)) if ends else timedelta()

    def blocks(self, number: int) -> list[Block]:
        """The blocks of a round that lack transfers, in its order."""
        drawn = [Block(number, server) for server in self.question.server_order(number)]
        return [block for block in drawn if self.left(block)]

    def todo(self, now: datetime | None = None) -> list[tuple[Block, str]]:
        """All transfers that are lacking; with ``now``, those of blocks that must be begun anew are lacking, too."""
        blocks = [block for number in range(1, self.question.rounds + 1) for block in self.blocks(number)]
        return [(block, name) for block in blocks for name in self.left(block, now)]

    def missing(self) -> list[Row]:
        """The failures of blocks that are still incomplete, by round and server."""
        key = self.question.position
        blocks = sorted(self.failures, key=lambda block: (block.round, key(block.server)))
        return [self.failures[block] for block in blocks if self.left(block)]

    def last_slot(self) -> Slot | None:
        """That of the last round that has begun."""
        return self.slots[max(self.slots)] if self.slots else None

    def plan(self, now: datetime) -> list[tuple[Slot, Block, list[str]]]:
        """The blocks that are left: when their rounds begin, and the transfers."""
        schedule, zone = Schedule.parse(self.question.schedule), zone_of(self.question.zone)
        lacking = [number for number in range(1, self.question.rounds + 1) if self.blocks(number)]
        planned = {number: Slot(now, self.slots[number].name) for number in lacking if number in self.slots}
        fresh = [number for number in lacking if number not in self.slots]
        planned |= zip(fresh, schedule.plan(len(fresh), now, zone, self.last_slot()), strict=True)
        return [
            (slot, block, self.left(block, now)) for number, slot in planned.items() for block in self.blocks(number)
        ]

    def bytes_of_day(self, day: str) -> int:
        """The bytes of a local day, from all servers: a transfer that was begun and has no end counts whole."""
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


def opened(place: Path, spec: CampaignSpec) -> State:
    """The finished part of the campaign; refuses a folder that holds another one."""
    if (place / SPEC).exists():
        other = spec.differs(read_spec(place))
        if other:
            what = f"holds another campaign ({', '.join(other)} differ)"
            raise ScenarioError(Fault(str(place), what, "name another folder by --out"))
    return state_of(place, spec)


def default_folder(spec: CampaignSpec) -> Path:
    """The default folder: the host of the first server, and the number of the others."""
    host, _ = place_of(spec.servers[0])
    others = f"+{len(spec.servers) - 1}" if len(spec.servers) > 1 else ""
    return Path(f"{slug(host)}{others}.measure")


def campaign(
    spec: CampaignSpec,
    folder: Path,
    *,
    fetch: Fetch,
    access: Mapping[str, Access],
    sender_names: SenderNames | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
    envelope: Envelope | None = None,
    inspect: Inspect | None = None,
    foreign: Fetch | None = None,
) -> State:
    """Fetches what is left of a campaign.

    Parameters
    ----------
    access
        Token and certificate of each server.
    sender_names
        Called once for each server, before its first block; by default a server has the names of the request.
    foreign
        Fetches from servers of others (`cwndlab.live.foreign.ForeignServers.fetch`).
    inspect
        Called before the first transfer from each `cwndlab serve`. The folder keeps the result, and a later call does
        not inspect the path again.

    Raises
    ------
    RunError
        If a block is incomplete because its server failed, or because a breaker ended two consecutive transfers from
        it. The other servers' blocks are fetched first; the campaign ends early if no server is left. Calling the
        function again fetches the rest.
    ScenarioError
        The same, if a server does not offer an algorithm.
    """
    progress, clock = progress or Progress(), clock or Clock()
    schedule, zone = Schedule.parse(spec.schedule), zone_of(spec.zone)
    guarded = envelope or Envelope(inflation=spec.inflation)
    with Folder(folder, spec) as kept:
        run = _Run(spec, kept, fetch, access, sender_names, progress, clock, guarded, inspect, foreign)
        for number in range(1, spec.rounds + 1):
            state = run.state()
            if not state.blocks(number):
                continue
            if number not in state.slots:
                slot = schedule.next(state.last_slot(), clock.now(), zone)
                _wait(slot, number, spec, progress, clock)
                kept.add(_begun(spec, number, slot))
            run.round(number)
        state = run.state()
        if run.failed:
            raise _failure(state, run.failed)
        return state


def _begun(spec: CampaignSpec, number: int, slot: Slot) -> Row:
    """The event that begins a round, with the order that the seed draws."""
    order = [{"server": server, "algorithms": spec.order(number, server)} for server in spec.server_order(number)]
    return {"kind": "round", "round": number, "begins": slot.begins.isoformat(), "slot": slot.name, "order": order}


def _failure(state: State, failed: Mapping[str, Error]) -> Error:
    """The faults of the servers whose blocks are incomplete; with several servers, also the rounds of these blocks."""
    faults = [fault for error in failed.values() for fault in error.faults]
    if len(state.question.servers) > 1:
        for server in dict.fromkeys(row["server"] for row in state.missing()):
            rounds = ", ".join(str(row["round"]) for row in state.missing() if row["server"] == server)
            what = f"incomplete in round {rounds}" if rounds.isdigit() else f"incomplete in rounds {rounds}"
            faults.append(Fault(server, what, "the same command fetches the rest"))
    is_invalid = any(isinstance(error, ScenarioError) for error in failed.values())
    return ScenarioError(*faults) if is_invalid else RunError(*faults)


def block_name(spec: CampaignSpec, block: Block) -> str:
    """A block in a message: its round and, with several servers, its server.

    >>> spec = CampaignSpec(("https://a.example", "https://b.example"), ("cubic",), 1, "now", 1)
    >>> block_name(spec, Block(1, "https://b.example"))
    'round 1, b.example'
    """
    return f"round {block.round}" + (f", {spec.label(block.server)}" if len(spec.servers) > 1 else "")


def transfer_line(row: Row, spec: CampaignSpec, zone: Any) -> str:
    """A line on a transfer."""
    when = datetime.fromisoformat(row["at"]).astimezone(zone)
    there = f"{spec.label(row['server'])}, " if len(spec.servers) > 1 else ""
    head = f"round {row['round']} of {spec.rounds}, {there}{when:%H:%M}, {row['algorithm']}: "
    if row["ended"] != "complete":
        return head + f"ended early ({row['ended']}: {row['why']}) after {row['received_bytes'] / 1e6:.1f} MB"
    return head + RateUnit.of([row]).text(row["goodput_bps"])


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


class _UnavailableError(Exception):
    """A server cannot be measured now."""

    def __init__(self, error: Error) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class _Run:
    """One call of `campaign`."""

    spec: CampaignSpec
    kept: Folder
    fetch: Fetch
    access: Mapping[str, Access]
    sender_names: SenderNames | None
    progress: Progress
    clock: Clock
    envelope: Envelope
    inspect: Inspect | None
    foreign: Fetch | None
    #: Servers that have been asked for their names of the algorithms.
    checked: set[str] = field(default_factory=set)
    #: Consecutive transfers of each server that a breaker ended.
    strikes: dict[str, int] = field(default_factory=dict)
    #: Servers that the breaker left out of the rest of this call.
    stopped: dict[str, Error] = field(default_factory=dict)
    #: Servers with an incomplete block, and the last failure of each.
    failed: dict[str, Error] = field(default_factory=dict)
    #: Servers whose last block failed.
    down: set[str] = field(default_factory=set)

    def state(self) -> State:
        """The finished part of the campaign."""
        return State(self.spec, self.kept.rows)

    def round(self, number: int) -> None:
        """Fetches the blocks that a round lacks. Raises ``RunError`` if every server that has transfers left
        failed in its last block."""
        for block in self.state().blocks(number):
            try:
                self._block(block)
                self.down.discard(block.server)
            except _UnavailableError as failure:
                self._keep_failure(block, failure.error)
        if not self.down:
            return
        state = self.state()
        if {block.server for block, _ in state.todo()} <= self.down:
            raise _failure(state, self.failed)

    def _keep_failure(self, block: Block, error: Error) -> None:
        why = error.faults[0].what
        row = {"kind": "missing", **block._asdict(), "at": self.clock.now().isoformat(), "why": why}
        self.kept.add(row)
        self.failed[block.server] = error
        self.down.add(block.server)
        if len(self.spec.servers) > 1:
            self.progress.say(f"{block_name(self.spec, block)}: left incomplete: {why}")

    def _block(self, block: Block) -> None:
        if block.server in self.stopped:
            raise _UnavailableError(self.stopped[block.server])
        self._prepare(block.server)
        while left := self._left(block):
            row = self._transfer(block, left[0])
            if row is None:
                continue
            self.progress.say(transfer_line(row, self.spec, zone_of(self.spec.zone)))
            strikes = self.strikes.get(block.server, 0) + 1 if row["ended"] == "breaker" else 0
            self.strikes[block.server] = strikes
            if strikes >= STRIKES:
                what = f"{strikes} transfers in a row harmed the path and were ended: {row['why']}"
                hint = "find out why before you go on; the same command resumes the campaign"
                self.stopped[block.server] = RunError(Fault(block.server, what, hint))
                raise _UnavailableError(self.stopped[block.server])

    def _prepare(self, server: str) -> None:
        """Requests the server's names of the algorithms, and inspects the path; each once."""
        if server not in self.checked:
            try:
                if self.sender_names is not None:
                    self.sender_names(server)
            except Error as error:
                raise _UnavailableError(error) from None
            self.checked.add(server)
        if is_foreign(server):
            return  # an inspection would be more connections than the transfer
        inspected = () if self.inspect is None else read_preflight(self.kept.place)
        if self.inspect is not None and all(one["server"] != server for one in inspected):
            path = f"the path to {self.spec.label(server)}" if len(self.spec.servers) > 1 else "the path"
            self.progress.say(f"{path} is inspected before the first transfer")
            self.kept.keep_preflight(server, self.clock.now(), self.inspect(server))

    def _left(self, block: Block) -> list[str]:
        """What a block lacks, as soon as the day has room for it. Begins the block anew where its next transfer would
        be more than `MAX_GAP` after the last one: after a kill, a suspension of the machine, or a day without room."""
        if not self.state().left(block):
            return []
        self._wait_for_volume(block)
        gap = self.state().gap(block, self.clock.now())
        if gap > MAX_GAP:
            why = f"its last transfer ended {span(gap)} ago"
            self.kept.add({"kind": "repeat", **block._asdict(), "at": self.clock.now().isoformat(), "why": why})
            there = f", {self.spec.label(block.server)}" if len(self.spec.servers) > 1 else ""
            self.progress.say(f"round {block.round} of {self.spec.rounds}{there} begins anew: {why}")
        return self.state().left(block)

    def _has_room(self, transfers: int) -> bool:
        """Whether so many transfers are within today's volume."""
        limit = self.spec.limit_bytes_per_day
        spent = self.state().bytes_of_day(local_day(self.clock.now(), zone_of(self.spec.zone)))
        return limit is None or spent + transfers * self.spec.size_bytes <= limit

    def _wait_for_volume(self, block: Block) -> None:
        """Waits for the next local day where this one has no room for the rest of a block."""
        limit, zone = self.spec.limit_bytes_per_day, zone_of(self.spec.zone)
        state, reported_day = self.state(), ""
        while limit is not None and not self._has_room(len(state.left(block, self.clock.now()))):
            day = local_day(self.clock.now(), zone)
            if reported_day != day:
                reported_day, spent = day, state.bytes_of_day(day)
                rest = block_name(self.spec, block)
                rest = f"the rest of {rest}" if state.left(block) != self.spec.order(*block) else rest
                self.progress.say(f"{spent / 1e6:.1f} MB of {limit / 1e6:.1f} MB a day are spent; {rest} is tomorrow's")
            self.clock.sleep(30.0)

    def _transfer(self, block: Block, name: str) -> Row | None:
        """One transfer, again where the network failed; its row is in the journal when this returns. None if today
        has no room for another attempt."""
        title = f"{block_name(self.spec, block)}, {name}"
        for attempt in range(1, _ATTEMPTS + 1):
            if attempt > 1 and not self._has_room(1):
                return None
            row, fault = self._attempt(block, name)
            self.kept.add(row)
            if row["ended"] in FINAL:
                return row
            if row["ended"] == "cancelled":
                raise KeyboardInterrupt
            if attempt < _ATTEMPTS:
                self.progress.say(f"{title}: {row['ended']} ({row['why']}); again in {_PAUSE_S:g} s")
                self.clock.sleep(_PAUSE_S)
        if fault is None:
            what = f"{title}: {row['ended']} ({row['why']}), {_ATTEMPTS} times"
            fault = RunError(Fault(block.server, what, "the same command resumes the campaign"))
        raise _UnavailableError(fault)

    def _attempt(self, block: Block, name: str) -> tuple[Row, Error | None]:
        """One attempt at a transfer: its row, and the error of the fetch; the records are kept."""
        spec, server = self.spec, block.server
        host, port = place_of(server)
        began = self.clock.now()
        mark = f"{block.round}/{server}/{name}/{began.isoformat()}"
        row: Row = {"id": mark, **block._asdict(), "algorithm": name, "at": began.isoformat()}
        self.kept.add({"kind": "begin", **row})
        row = {"kind": "transfer", **row}
        is_other = is_foreign(server)
        to = None if is_other else _address(host, port)
        idle = _idle_ns(to, port)
        guard = Guard(idle, self.envelope)
        shown = f"{name}, {spec.label(server)}" if len(spec.servers) > 1 else name

        def moved(received: int) -> bool:
            self.progress.moved(shown, received, spec.size_bytes)
            return guard.progress(received)

        try:
            with Probing(guard, to, port):
                answer = (self.foreign if is_other and self.foreign else self.fetch)(
                    server,
                    token=self.access[server].token,
                    algorithm=name,
                    size_bytes=spec.size_bytes,
                    transport=spec.transport,
                    trust=self.access[server].trust,
                    timeout_s=spec.timeout_s,
                    progress=moved,
                )
        except Error as error:
            return row | {"ended": "failed", "why": error.faults[0].what, "received_bytes": 0}, error
        if is_other:
            guard.probed(answer["receiver"].get("rcv_rtt_ns") or None)
            guard.idle_ns = idle = float(answer["connect_ns"] - answer["lookup_ns"])
        if answer["ended"] == "cancelled" and guard.why:
            answer |= {"ended": "breaker"}
        row |= _row(spec, answer, guard, began)
        if row["ended"] in FINAL:
            records = joined(
                answer,
                algorithm=name,
                name=f"{block_name(spec, block)}, {name}",
                size_bytes=spec.size_bytes,
                seed=spec.seed,
                idle_rtt_ns=idle,
                url=server,
                why=guard.why,
            )
            self.kept.keep(block.round, server, name, records, answer)
        return row, None


def _address(host: str, port: int) -> Address | None:
    with suppress(Unknown):
        return reachable(host, port)
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
