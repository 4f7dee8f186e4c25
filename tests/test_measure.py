"""Campaigns on a path: schedules, rounds, what a kill leaves, the report; with a fetch that answers at once."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import cwndlab
import pytest
from campaigns import ALGORITHMS, MB, SERVER, VIENNA, Day, Server, answer, asked, run
from cwndlab.errors import RecordsError, RunError, ScenarioError
from cwndlab.live import campaign as drive
from cwndlab.live.breaker import Envelope, Guard
from cwndlab.live.results import Measurement, Pair
from cwndlab.live.schedule import PARTS, Schedule, Slot, instant, part_of, zone_of
from cwndlab.live.store import Folder, read_spec, transfer_folder
from cwndlab.live.transfer_records import joined, sender_begins_ns, sender_samples
from cwndlab.saved import figures
from cwndlab.scenario.units import size_bytes
from cwndlab.statistics import blocks
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

# Schedules.


def test_rounds_of_parts_of_the_day_begin_two_hours_into_them() -> None:
    """By hand, from Monday 9 November 2026, 13:00 in Vienna (UTC+1): evening, night, morning, and so on."""
    schedule = Schedule.parse("morning, evening, night")
    now = datetime(2026, 11, 9, 13, tzinfo=VIENNA)
    slots = schedule.plan(4, now, VIENNA)
    assert [f"{slot.begins.astimezone(VIENNA):%a %H:%M}" for slot in slots] == [
        "Mon 20:00",
        "Tue 02:00",
        "Tue 08:00",
        "Tue 20:00",
    ]
    # A part that is under way begins at once, and has one round.
    slots = schedule.plan(2, datetime(2026, 11, 9, 10, tzinfo=VIENNA), VIENNA)
    assert [f"{slot.begins.astimezone(VIENNA):%a %H:%M}" for slot in slots] == ["Mon 10:00", "Mon 20:00"]


def test_a_part_that_was_slept_through_is_left_out() -> None:
    schedule = Schedule.parse("morning,evening")
    [first] = schedule.plan(1, datetime(2026, 11, 9, 8, tzinfo=VIENNA), VIENNA)
    after = schedule.next(first, datetime(2026, 11, 10, 15, tzinfo=VIENNA), VIENNA)
    assert after.name == "2026-11-10 18 evening"


def test_hours_that_the_clocks_skip_lie_behind_them() -> None:
    """In Vienna 02:00 to 03:00 is not there on 29 March 2026 (UTC+1 becomes UTC+2), and twice there on 25 October."""
    assert instant(date(2026, 3, 29), 2, VIENNA) == datetime(2026, 3, 29, 1, tzinfo=UTC)  # 03:00 of summer
    assert instant(date(2026, 10, 25), 2, VIENNA) == datetime(2026, 10, 25, 0, tzinfo=UTC)  # the first of both
    assert instant(date(2026, 3, 28), 24, VIENNA) == instant(date(2026, 3, 29), 0, VIENNA)


def test_every_so_often_means_so_often_also_over_a_change_of_the_clocks() -> None:
    schedule = Schedule.parse("every 4h")
    slots = schedule.plan(6, datetime(2026, 3, 28, 22, tzinfo=VIENNA), VIENNA)
    assert {b.begins - a.begins for a, b in pairwise(slots)} == {timedelta(hours=4)}
    # What took longer begins at once.
    late = slots[0].begins + timedelta(hours=9)
    assert schedule.next(slots[0], late, VIENNA).begins == late


_MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))
_ZONES = st.sampled_from(
    [ZoneInfo(name) for name in ("UTC", "Europe/Vienna", "America/Santiago", "Asia/Kathmandu", "Australia/Lord_Howe")]
)
_PARTS = st.sets(st.sampled_from(list(PARTS)), min_size=1).map(",".join)


@given(_MOMENTS, _ZONES, _PARTS, st.lists(st.floats(0, 2e5), min_size=1, max_size=8))
def test_rounds_come_one_after_the_other_in_their_parts(
    now: datetime, zone: ZoneInfo, text: str, waits: list[float]
) -> None:
    schedule = Schedule.parse(text)
    last: Slot | None = None
    for wait in waits:
        slot = schedule.next(last, now, zone)
        assert slot.begins >= now
        assert last is None or (slot.begins > last.begins and slot.name > last.name)
        assert part_of(slot.begins, zone) == slot.name.split()[-1]
        # No round waits longer than for the next day's part, an hour of the clocks apart.
        assert slot.begins - now <= timedelta(days=2, hours=1)
        last, now = slot, slot.begins + timedelta(seconds=wait)


@given(_MOMENTS, _ZONES)
def test_parts_cover_the_day(now: datetime, zone: ZoneInfo) -> None:
    begin, end = PARTS[part_of(now, zone)]
    assert begin <= now.astimezone(zone).hour < end


@pytest.mark.parametrize("text", ["", "noon", "every", "every 0h", "every 4 weeks", "morning,morning", "every -1h"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Schedule.parse(text)
    assert str(refused.value) == (
        f"--schedule: '{text}' is not a schedule\n"
        "  hint: write 'now', 'every 4h', or parts of the day: 'morning,evening,night'"
    )


def test_time_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert zone_of("Asia/Kathmandu").key == "Asia/Kathmandu"
    monkeypatch.setenv("TZ", ":Europe/Vienna")
    assert zone_of().key == "Europe/Vienna"
    monkeypatch.setenv("TZ", "CET-1CEST")  # a rule of POSIX, not a name
    assert zone_of() is not None
    with pytest.raises(ScenarioError, match="no time zone is called 'Mars/Base'"):
        zone_of("Mars/Base")


# Questions.


def test_every_order_of_a_round_is_as_likely() -> None:
    """Each of the 6 orders is expected 1000 times in 6000 rounds, with a standard deviation of 28.9."""
    question = asked()
    counts: dict[tuple[str, ...], int] = {}
    for number in range(1, 6001):
        order = tuple(question.order(number, SERVER))
        assert sorted(order) == sorted(ALGORITHMS)
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 4 * math.sqrt(6000 / 6 * 5 / 6) for count in counts.values())
    assert [question.order(n, SERVER) for n in range(9)] != [asked(seed=2).order(n, SERVER) for n in range(9)]


def test_faults_of_a_question_are_told_all_at_once() -> None:
    with pytest.raises(ScenarioError) as refused:
        asked(algorithms=("cubic", "cubic", "a b"), transport="sctp", servers=("http://x",), limit_bytes_per_day=5)
    assert str(refused.value) == (
        "URL: 'http://x' is not an https address\n  hint: write https://HOST:PORT\n"
        "--algorithms: 'cubic' is given twice\n  hint: name each algorithm once\n"
        "--algorithms: 'a b' is not a name that a server knows\n  hint: `cwndlab list`\n"
        "--transport: 'sctp' is none\n  hint: write tcp or quic\n"
        "--limit-bytes-per-day: 5 bytes a day are less than one block of 3000000, whose transfers belong together\n"
        "  hint: allow more, or ask for less by --bytes"
    )
    with pytest.raises(ScenarioError, match="--algorithms: 'quinn:newreno' is an algorithm of quinn: records need one"):
        asked(algorithms=("quinn:newreno",))
    with pytest.raises(ScenarioError, match="URL: 'https://localhost:0': nothing listens at port 0"):
        asked(servers=("https://localhost:0",))
    assert size_bytes("1.5 GB", "bytes") == 1_500_000_000
    for text in ("200", "x", "0 MB", "-1 MB", "1 PB"):
        with pytest.raises(ScenarioError, match="bytes: "):
            size_bytes(text, "bytes")


# One transfer.


def records_of(told: dict[str, Any], **changes: Any) -> cwndlab.Records:
    options: dict[str, Any] = {
        "algorithm": "newreno",
        "name": "round 1, newreno",
        "size_bytes": MB,
        "seed": 1,
        "idle_rtt_ns": None,
    }
    return joined(told, **(options | {"url": "https://127.0.0.1:9"} | changes))


def test_the_senders_clock_begins_half_a_round_trip_after_the_request() -> None:
    """40 ms of handshake: the request leaves at 80 ms and is there at 100 ms; the wall clocks are 7 ms apart."""
    told = answer()
    assert sender_begins_ns(told) == 100_000_000
    assert [look["time_ns"] for look in sender_samples(told)][:2] == [100_000_000, 350_000_000]
    records = records_of(told)
    assert "the sender's clock begins at 100.000 ms, by half of the smallest round trip; within 20.000 ms" in (
        records.notes
    )
    assert "the sender's wall clock was 7.000 ms ahead of the client's" in records.notes
    # Over QUIC the one handshake takes two round trips.
    assert sender_begins_ns(answer(transport="quic", connect_ns=80_000_000)) == 100_000_000
    # Never after its first byte.
    assert sender_begins_ns(answer(first_byte_ns=90_000_000)) == 90_000_000


@pytest.mark.parametrize("seen_by", ["sender", "receiver"])
def test_a_lost_syn_does_not_shift_the_senders_clock(seen_by: str) -> None:
    """The SYN is repeated after 1 s (RFC 6298): TCP is connected at 1040 ms, TLS at 1080 ms, and the request arrives at
    1100 ms. Half of the 1040 ms would be 1600 ms, after the first byte at 1120 ms."""
    late = {"connect_ns": 1_040_000_000, "handshake_ns": 1_080_000_000, "first_byte_ns": 1_120_000_000}
    told = answer(**late)
    if seen_by == "receiver":
        told |= {"sender": None, "receiver": {"min_rtt_ns": 40_000_000}}
    assert sender_begins_ns(told) == 1_100_000_000
    clock = "the sender's clock begins at 1100.000 ms, by half of the smallest round trip; within 20.000 ms"
    assert clock in records_of(told).notes


def test_the_records_of_a_transfer_are_those_of_every_engine(tmp_path: Path) -> None:
    """1 MB at 8 Mbit/s takes 1 s from the request at 80 ms: the last byte comes at 1.08 s."""
    records = records_of(answer())
    [run], [flow], [transfer] = (records.rows(name) for name in ("runs", "flows", "transfers"))
    # The sender looks every 250 ms, from 100 ms to 1.1 s: the grid of 1, 2, 5 that is not finer has half a second.
    assert (run["engine"], run["duration_ns"], run["sample_interval_ns"]) == ("live", 1_500_000_000, 500_000_000)
    assert (flow["algorithm"], flow["base_rtt_ns"], flow["delivered_bytes"]) == (
        "reno+standard/newreno",
        40_000_000,
        MB,
    )
    assert (flow["end_ns"], transfer["end_ns"], transfer["size_bytes"]) == (1_080_000_000, 1_080_000_000, MB)
    assert (flow["recoveries"], flow["retransmitted_packets"], flow["mss_bytes"]) == (1, 4, 1001)
    assert flow["mean_rtt_ns"] == 42_000_000  # 40, 41, 42, 43, 44 ms
    assert records.height("links") == 0
    kinds = [(event["kind"], event["time_ns"]) for event in records.rows("events")]
    assert kinds == [("open", 0), ("established", 40_000_000), ("recovery", 600_000_000), ("close", 1_080_000_000)]
    samples = {row["time_ns"]: row for row in records.rows("samples")}
    # Looks at 350, 850 and 1100 ms; the recovery is seen at 600. Of 20 pieces 48 ms apart from 120 ms on 7 are there.
    assert [samples[time]["cwnd_bytes"] for time in (500_000_000, 1_000_000_000, 1_500_000_000)] == [
        10_001,
        10_003,
        10_004,
    ]
    assert [samples[time]["congestion_events"] for time in (500_000_000, 1_000_000_000)] == [0, 1]
    assert samples[500_000_000]["delivered_bytes"] == 7 * MB // 20
    assert samples[1_500_000_000]["delivered_bytes"] == MB
    assert cwndlab.metrics.goodput(records)["goodput_bps"][0] == pytest.approx(8 * MB / 1.08)
    records.save(tmp_path / "kept")
    assert cwndlab.Records.read(tmp_path / "kept").hash() == records.hash()
    assert records.scenario.hash == records.scenario_hash


def test_bytes_on_the_wire_have_the_headers_of_their_protocols() -> None:
    """A TCP segment with time stamps has 32 bytes of TCP (RFC 9293, RFC 7323); a datagram 8 of UDP (RFC 768). IPv4 has
    20 (RFC 791) and IPv6 40 (RFC 8200). 1 MB + 1000 bytes were sent in 1000 packets."""
    for address, transport, header in (
        ("127.0.0.1:9", "tcp", 52),
        ("[::1]:9", "tcp", 72),
        ("127.0.0.1:9", "quic", 28),
        ("[::1]:9", "quic", 48),
    ):
        [flow] = records_of(answer(address=address, transport=transport)).rows("flows")
        assert flow["wire_bytes"] == 1_001_000 + 1000 * header


def test_a_transfer_without_the_senders_account_keeps_what_the_client_saw() -> None:
    records = records_of(answer(sender=None))
    [flow] = records.rows("flows")
    assert (flow["delivered_bytes"], flow["sent_bytes"], flow["mean_rtt_ns"]) == (MB, 0, None)
    assert any("account was not to be had" in note for note in records.notes)


@given(st.integers(1, 10**11), st.integers(1, 10**9), st.integers(1000, 10**10))
@settings(max_examples=40)
def test_the_grid_of_samples_ends_with_the_run_and_grows_with_time(rtt: int, size: int, rate: int) -> None:
    records = records_of(answer(rate_bps=rate, size=size, rtt_ns=rtt), size_bytes=size)
    [run] = records.rows("runs")
    samples = records.rows("samples")
    assert len(samples) <= 2002
    assert samples[-1]["time_ns"] == run["duration_ns"]
    assert samples[-1]["delivered_bytes"] == size
    for before, after in pairwise(samples):
        assert after["time_ns"] - before["time_ns"] == run["sample_interval_ns"]
        assert after["delivered_bytes"] >= before["delivered_bytes"]


# The breaker.


class Watch:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def guarded(probes: Callable[[int], int | None], received: Callable[[int], int], seconds: int) -> Guard:
    watch = Watch()
    guard = Guard(50e6, Envelope(), watch)
    for second in range(1, seconds + 1):
        watch.now = second * 1_000_000_000
        guard.probed(probes(second))
        if not guard.progress(received(second)):
            break
    return guard


def test_round_trips_far_beyond_the_idle_one_end_a_transfer() -> None:
    """Measurements of 3 s, three in a row: at 9 s. 1.5 s are 30 times 50 ms."""
    found = guarded(lambda at: 1_500_000_000, lambda at: at * MB, 60)
    assert found.why == (
        "the round trip took 1.5 s, 30 times the idle one, 20 times are allowed, in 3 measurements of 3 s in a row"
    )
    assert len(found.probes) == 9
    # Not above a second, not twenty times, not in a row: what congestion control is for.
    assert guarded(lambda at: 900_000_000, lambda at: at * MB, 60).why == ""
    assert guarded(lambda at: 1_500_000_000 if at % 9 < 6 else 50_000_000, lambda at: at * MB, 60).why == ""


def test_silence_ends_a_transfer() -> None:
    assert guarded(lambda at: 50_000_000, lambda at: 0, 60).why.startswith("no byte came")
    found = guarded(lambda at: None, lambda at: at * MB, 60)
    assert found.why == "3 of 3 handshakes were not answered, in 3 measurements of 3 s in a row"
    assert guarded(lambda at: None if at % 2 else 10, lambda at: at * MB, 60).why.startswith("")


# Campaigns.


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Iterator[Day]:
    monkeypatch.setattr(drive, "_idle_ns", lambda to, port: 40e6)
    return Day(datetime(2026, 11, 9, 12, tzinfo=UTC))  # type: ignore[return-value]


def test_a_campaign_has_complete_blocks_in_drawn_order(tmp_path: Path, day: Day) -> None:
    question, server, said = asked(rounds=4, schedule="every 4h"), Server(), list[str]()
    run(question, tmp_path / "c", server, day, said)
    assert server.calls == [name for number in range(1, 5) for name in question.order(number, SERVER)]
    assert day.slept == pytest.approx(12 * 3600)
    assert said[3] == "round 2 of 4 begins 2026-11-09 17:00 CET (in 4 h 0 min)"
    assert said[0] == f"round 1 of 4, 13:00, {server.calls[0]}: 8.00 Mbit/s"
    found = Measurement.read(tmp_path / "c")
    assert found.servers[0].rounds == [1, 2, 3, 4]
    assert found.servers[0].parts() == {1: "afternoon", 2: "afternoon", 3: "evening", 4: "night"}
    # Again: nothing is left, nothing is fetched.
    run(question, tmp_path / "c", server, day)
    assert len(server.calls) == 12


@given(st.integers(0, 60), st.randoms())
@settings(max_examples=15)
def test_whatever_a_kill_leaves_of_the_journal_the_rest_is_done_once(
    tmp_path_factory: pytest.TempPathFactory, cut: int, chance: random.Random
) -> None:
    """A file that is cut off anywhere: what has a whole line is not repeated, what has none is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drive, "_idle_ns", lambda to, port: 40e6)
        folder = tmp_path_factory.mktemp("c")
        question, server = asked(), Server()
        day = Day(datetime(2026, 11, 9, 12, tzinfo=UTC))
        run(question, folder, server, day)
        journal = folder / "journal.jsonl"
        content = journal.read_bytes()
        journal.write_bytes(content[: chance.randrange(len(content) + 1)])
        done = drive.state_of(folder, question).finished.keys()
        before = len(server.calls)
        state = run(question, folder, server, day)
        assert sorted(server.calls[before:]) == sorted(
            name for n in (1, 2) for name in ALGORITHMS if (drive.Block(n, SERVER), name) not in done
        )
        assert state.todo() == []
        assert len(Measurement.read(folder).rows) == 6


def test_a_network_that_fails_is_tried_again_and_then_told(tmp_path: Path, day: Day) -> None:
    question, server, said = asked(rounds=1), Server(), list[str]()
    gone = RunError(("https://127.0.0.1:9", "no connection within the time allowed", ""))
    server.ends = {2: gone, 3: {"ended": "broken", "why": "the server ended the connection", "received_bytes": 5}}
    run(question, tmp_path / "c", server, day, said)
    assert len(server.calls) == 5
    assert said[1].endswith("failed (no connection within the time allowed); again in 5 s")
    assert said[2].endswith("broken (the server ended the connection); again in 5 s")
    found = Measurement.read(tmp_path / "c")
    assert "2 transfers did not come whole for reasons of the network and were repeated" in found.notes
    server = Server()
    server.ends = dict.fromkeys(range(2, 9), gone)
    with pytest.raises(RunError, match="no connection within the time allowed"):
        run(question, tmp_path / "d", server, day)
    assert len(server.calls) == 4
    server.ends = {}
    run(question, tmp_path / "d", server, day)
    assert len(server.calls) == 6
    assert len(Measurement.read(tmp_path / "d").servers[0].rounds) == 1


def test_a_campaign_that_hurts_ends_itself(tmp_path: Path, day: Day) -> None:
    """The sender's breaker ends two transfers in a row; one alone leaves its round out of what is compared."""
    question, server = asked(), Server()
    hurt = {"ended": "breaker", "why": "33 % of the packets were retransmitted", "received_bytes": 1000}
    server.ends = {2: hurt, 4: hurt, 5: hurt}
    with pytest.raises(RunError) as ended:
        run(question, tmp_path / "c", server, day)
    assert str(ended.value) == (
        f"{SERVER}: 2 transfers in a row harmed the path and were ended: 33 % of the packets were retransmitted\n"
        "  hint: find out why before you go on; the same command resumes the campaign"
    )
    found = Measurement.read(tmp_path / "c")
    assert found.servers[0].rounds == []
    assert "2 rounds are not complete and are not compared" in found.notes
    assert found.table()[1][0][3:].count("breaker") == 1
    run(question, tmp_path / "c", server, day)
    assert len(server.calls) == 6


def test_no_more_than_the_limit_is_fetched_a_day_and_rounds_stay_whole(tmp_path: Path, day: Day) -> None:
    """5 MB a day are five transfers of 1 MB: one round of three; the second one waits for the next local midnight."""
    question, server, said = asked(limit_bytes_per_day=5 * MB), Server(), list[str]()
    run(question, tmp_path / "c", server, day, said)
    rows = Measurement.read(tmp_path / "c").rows
    days = [datetime.fromisoformat(row["at"]).astimezone(VIENNA).date().day for row in rows]
    assert days == [9, 9, 9, 10, 10, 10]
    assert said[3] == "3.0 MB of 5.0 MB a day are spent; round 2 is tomorrow's"


def test_a_round_that_a_kill_splits_is_begun_anew(tmp_path: Path, day: Day) -> None:
    """Killed in the second transfer of three. After 59 minutes the round goes on; after 62 it begins anew, because its
    transfers would be of two states of the path. What was fetched before counts for the day, but is not compared."""
    for minutes, calls in ((59, 4), (62, 5)):
        folder, server, said = tmp_path / str(minutes), Server(), list[str]()
        server.ends = {2: KeyboardInterrupt()}
        with pytest.raises(KeyboardInterrupt):
            run(asked(rounds=1), folder, server, day)
        day.sleep(60 * minutes)
        state = drive.state_of(folder, asked(rounds=1))
        assert len(state.todo(day.at)) == calls - 2
        assert [len(names) for _, _, names in state.plan(day.at)] == [calls - 2]
        run(asked(rounds=1), folder, server, day, said)
        assert len(server.calls) == calls
        found = Measurement.read(folder)
        assert found.servers[0].rounds == [1]
        again = "its last transfer ended 1 h 1 min ago"
        assert (f"round 1 of 1 begins anew: {again}" in said) == (minutes == 62)
        note = f"round 1 was begun anew, because {again}: its transfers were to be of one time"
        assert (note in found.notes) == (minutes == 62)
        assert not any("reasons of the network" in note for note in found.notes)
    times = [datetime.fromisoformat(row["at"]) for row in found.rows]
    assert max(times) - min(times) < drive.MAX_GAP
    local = drive.local_day(day.at, VIENNA)
    # Four whole transfers, and the one that was killed, which counts whole.
    assert drive.state_of(folder, asked(rounds=1)).bytes_of_day(local) == 5 * MB


def test_a_round_that_the_daily_limit_splits_is_begun_anew(tmp_path: Path, day: Day) -> None:
    """3 MB a day are one round of three transfers of 1 MB. The second one breaks off at its last byte and is
    repeated, which leaves no room for the third: the whole round is the next day's."""
    question, server, said = asked(rounds=1, limit_bytes_per_day=3 * MB), Server(), list[str]()
    server.ends = {2: {"ended": "broken", "why": "the server ended the connection", "received_bytes": MB}}
    run(question, tmp_path / "c", server, day, said)
    assert "3.0 MB of 3.0 MB a day are spent; the rest of round 1 is tomorrow's" in said
    found = Measurement.read(tmp_path / "c")
    assert [datetime.fromisoformat(row["at"]).astimezone(VIENNA).day for row in found.rows] == [10, 10, 10]
    assert len(server.calls) == 6


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"inflation": math.nan}, "--inflation: 'nan' is not a number of idle round trips above 1"),
        ({"inflation": math.inf}, "--inflation: 'inf' is not a number of idle round trips above 1"),
        ({"inflation": 1.0}, "--inflation: '1' is not a number of idle round trips above 1"),
        ({"inflation": -20.0}, "--inflation: '-20' is not a number of idle round trips above 1"),
        ({"timeout_s": math.nan}, "--timeout: nan s is not from 1 to 86400 s"),
        ({"timeout_s": 0.0}, "--timeout: 0 s is not from 1 to 86400 s"),
        ({"timeout_s": -1.0}, "--timeout: -1 s is not from 1 to 86400 s"),
        ({"timeout_s": 86_401.0}, "--timeout: 86401 s is not from 1 to 86400 s"),
    ],
)
def test_limits_that_would_end_no_transfer_or_every_one_are_refused(changes: dict[str, float], told: str) -> None:
    """Nothing is above "not a number" (IEEE 754, 5.11), so that the breaker of RFC 8084 would never open."""
    with pytest.raises(ScenarioError, match=re.escape(told)):
        asked(**changes)
    assert asked(inflation=1.5, timeout_s=1.0).inflation == 1.5


def test_a_folder_is_one_campaigns_and_one_process(tmp_path: Path, day: Day) -> None:
    question = asked()
    with Folder(tmp_path / "c", question), pytest.raises(RecordsError, match=f"is in use by process {os.getpid()}"):
        run(question, tmp_path / "c", Server(), day)
    with pytest.raises(RecordsError) as refused:
        run(asked(seed=2, size_bytes=2 * MB), tmp_path / "c", Server(), day)
    assert str(refused.value) == (
        f"{tmp_path / 'c'}: holds another campaign (size_bytes, seed differ)\n  hint: name another folder by --out"
    )
    run(asked(rounds=3), tmp_path / "c", Server(), day)  # more rounds are the same campaign
    assert read_spec(tmp_path / "c").rounds == 3
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(RecordsError, match="holds something else"):
        run(question, tmp_path / "other", Server(), day)
    for text in ("{", "{}", '{"schema_version": 9}'):
        (tmp_path / "c" / "measurement.json").write_text(text)
        with pytest.raises(RecordsError):
            Measurement.read(tmp_path / "c")


# The report.

#: Table 1 of Ahsan et al.: throughput of six runs, Mbit/s.
PUBLISHED = {
    "newreno": (6.0, 5.5, 5.7, 5.3, 5.9, 5.2),
    "ctcp": (6.9, 6.8, 6.7, 7.0, 6.9, 6.2),
    "cubic": (7.7, 7.6, 7.6, 7.2, 7.1, 7.3),
}


@pytest.fixture
def published(tmp_path: Path, day: Day) -> Measurement:
    """A campaign that finds the paper's Table 1: morning, evening, night, twice."""
    question = asked(rounds=6, schedule="morning,evening,night")
    rounds: dict[str, int] = {}

    def rate(name: str, call: int) -> float:
        del call
        rounds[name] = rounds.get(name, 0) + 1
        return PUBLISHED[name][rounds[name] - 1] * 1e6

    run(question, tmp_path / "c", Server(rate), day)
    return Measurement.read(tmp_path / "c")


def test_the_report_of_the_papers_table_is_what_one_reckons_by_hand(published: Measurement) -> None:
    """Means 5.600, 6.750 and 7.417. The differences CUBIC − NewReno, 1.7, 2.1, 1.9, 1.9, 1.2, 2.1, have mean 1.8167
    and s = 0.3371, so that half of the interval is 2.5706 · 0.3371 / √6 = 0.3538. CUBIC − CTCP has t = 4.32 and p =
    0.0076, times 7 of the nine comparisons (three pairs, three metrics) 0.053: what six rounds tell of these two is
    undecided, though the paper tells 9.7 %."""
    header, cells = published.table()
    assert header[3:] == ["newreno\nMbit/s", "ctcp\nMbit/s", "cubic\nMbit/s"]
    assert [row[3:] for row in cells[:2]] == [["6.00", "6.90", "7.70"], ["5.50", "6.80", "7.60"]]
    assert [row[2] for row in cells[:3]] == ["evening", "night", "morning"]
    assert [published.estimate(name, "goodput_bps").mean / 1e6 for name in ALGORITHMS] == pytest.approx(
        [5.6, 6.75, 44.5 / 6], rel=1e-6
    )
    delta, adjusted = published.comparisons()[Pair("newreno", "cubic", "goodput_bps", SERVER)]
    assert delta.paired.mean / 1e6 == pytest.approx(1.81667, abs=1e-4)
    assert delta.paired.half is not None
    assert delta.paired.half / 1e6 == pytest.approx(0.3538, abs=2e-4)
    assert delta.ratio == pytest.approx(44.5 / 33.6, rel=1e-6)
    assert adjusted is not None
    assert adjusted < 0.001
    says = {(row[0], row[1]): str(row[-1]) for row in published.differences()[1] if str(row[2]).startswith("goodput")}
    assert says == {
        ("ctcp", "newreno"): "higher, better",
        ("cubic", "newreno"): "higher, better",
        ("cubic", "ctcp"): "undecided after Holm",
    }


def test_time_of_day_is_a_factor_as_statsmodels_has_it(published: Measurement) -> None:
    formula = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    frame = pytest.importorskip("pandas").DataFrame
    parts = published.servers[0].parts()
    rows = [
        {"y": row["goodput_bps"] / 1e6, "a": row["algorithm"], "p": parts[row["round"]], "r": str(row["round"])}
        for row in published.rows
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    # Without the rounds' means: what is left to the model is the same, but for the freedom that they took.
    mean = {n: sum(row["y"] for row in rows if row["r"] == n) / 3 for n in {row["r"] for row in rows}}
    columns["y"] = [row["y"] - mean[row["r"]] for row in rows]
    told = anova.anova_lm(formula.ols("y ~ C(a) * C(p)", frame(columns)).fit(), typ=2)
    effects = {one.name: one for one in published.servers[0].effects()}
    rest = told["sum_sq"]["Residual"] / 6
    assert effects["rest"].squares * 1e-12 == pytest.approx(6 * rest)
    for ours, theirs in (("treatment", "C(a)"), ("treatment × group", "C(a):C(p)")):
        free = told["df"][theirs]
        assert effects[ours].squares * 1e-12 == pytest.approx(told["sum_sq"][theirs])
        assert effects[ours].freedom == free
        assert effects[ours].f == pytest.approx(told["sum_sq"][theirs] / free / rest)
        assert effects[ours].p == pytest.approx(stats.f.sf(effects[ours].f, free, 6))
    # Parts of the day against the rounds within: a one-way analysis of the rounds' means.
    means = {
        "y": [sum(one[n] for one in PUBLISHED.values()) / 3 for n in range(6)],
        "p": [parts[n + 1] for n in range(6)],
    }
    told = anova.anova_lm(formula.ols("y ~ C(p)", frame(means)).fit(), typ=1)
    assert effects["group"].f == pytest.approx(told["F"]["C(p)"])
    assert effects["group"].p == pytest.approx(told["PR(>F)"]["C(p)"])


@given(
    st.lists(
        st.tuples(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), st.sampled_from("xyz")),
        min_size=1,
        max_size=9,
    )
)
def test_squares_add_up_to_the_whole(table: list[tuple[list[float], str]]) -> None:
    values = [dict(zip("abc", row, strict=True)) for row, _ in table]
    effects = blocks(values, [group for _, group in table])
    flat = [value for row, _ in table for value in row]
    mean = sum(flat) / len(flat)
    whole = sum((value - mean) ** 2 for value in flat)
    assert sum(one.squares for one in effects) == pytest.approx(whole, rel=1e-6, abs=1e-5)
    assert sum(one.freedom for one in effects) == len(flat) - 1
    assert all(one.squares >= 0 and (one.p is None or 0 <= one.p <= 1) for one in effects)


def test_the_verb_report_opens_a_campaign(
    published: Measurement, cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    status, out, _ = cli("report", folder)
    assert status == 0
    mean = next(line for line in out.splitlines() if line.startswith("mean"))
    # Deviations of 0.322, 0.288 and 0.248, times 2.5706 / √6.
    assert mean.split(maxsplit=1)[1].split("  ") == ["5.60 ± 0.34", "6.75 ± 0.30", "7.42 ± 0.26"]
    assert "algorithm × part of the day" in out
    page = (folder / "report.html").read_text()
    assert "Throughput of every round" in page
    assert "Time of day" in page
    # Six transfers of each algorithm, which its bar and its row open.
    assert re.search(r'<a href="#runs=2">cubic</a></td>\s*<td[^>]*>cubic</td><td>6</td>', page)
    drawn = figures(Measurement(published.question, published.rows), folder / "figures")
    assert [one.name for one in drawn][:2] == ["goodput_bps.png", "boxes-goodput_bps.png"]
    _, out, _ = cli("report", folder, "--format", "markdown")
    assert "| mean |  |  | 5.60 ± 0.34 | 6.75 ± 0.30 | 7.42 ± 0.26 |" in out.splitlines()
    _, out, _ = cli("report", folder, "--format", "latex")
    assert r"mean &  &  & 5.60 $\pm$ 0.34 & 6.75 $\pm$ 0.30 & 7.42 $\pm$ 0.26 \\" in out.splitlines()
    status, out, _ = cli("report", folder, "--format", "json")
    assert len(json.loads(out)["rows"]) == 18
    records = cwndlab.Records.read(transfer_folder(folder, published.question, 1, SERVER, "cubic"))
    assert records.runs["engine"][0] == "live"


# The command line.


def test_the_plan_of_a_campaign_is_told(cli: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    options = ["--schedule", "every 6h", "--bytes", "2MB", "--rounds", "2", "--out", tmp_path / "c", "--zone", "UTC"]
    options += ["--algorithms", ",".join(ALGORITHMS)]
    status, out, err = cli("measure", "https://127.0.0.1:1", *options, "--dry-run", "--format", "json")
    assert status == 0
    told = json.loads(out)
    assert [row["bytes"] for row in told] == [6_000_000, 6_000_000]
    assert [sorted(row["order"].split(", ")) for row in told] == [sorted(ALGORITHMS)] * 2
    assert err == "6 transfers of 2 MB, 0.012 GB in all\n"
    assert not (tmp_path / "c").exists()


def test_nothing_is_fetched_unasked_or_from_nobody(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    call = ("measure", f"https://127.0.0.1:{port}", "--bytes", "1MB", "--out", tmp_path / "c")
    monkeypatch.delenv("CWNDLAB_TOKEN", raising=False)
    status, _, err = cli(*call)
    hint = "set CWNDLAB_TOKEN, or write --token TEXT: `cwndlab serve` prints its token when it starts"
    assert (status, err) == (2, f"--token: no token is given\n  hint: {hint}\n")
    monkeypatch.setenv("CWNDLAB_TOKEN", "x")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    status, _, err = cli(*call)
    assert status == 2
    assert err.endswith("measure: there is no terminal to confirm this volume\n  hint: write --yes\n")
    status, _, err = cli(*call, "--yes")
    assert status == 1
    assert err.endswith(
        f"https://127.0.0.1:{port}: no answer (Connection refused)\n"
        "  hint: does `cwndlab serve` run there, and is its port open?\n"
    )
    assert not (tmp_path / "c").exists()
