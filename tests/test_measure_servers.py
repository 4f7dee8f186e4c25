"""Campaigns over several servers: drawn orders, a server that fails, comparisons over all servers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import cwndlab
import pytest
from campaigns import ALGORITHMS, VIENNA, Day, Server, asked, run
from cwndlab import statistics
from cwndlab.engine import canonical_algorithm
from cwndlab.errors import RecordsError, RunError, ScenarioError
from cwndlab.live import campaign as drive
from cwndlab.live import server_info
from cwndlab.live.results import Measurement, Pair
from cwndlab.live.schedule import Slot, part_of
from cwndlab.live.spec import DEFAULT_ALGORITHMS, CampaignSpec
from cwndlab.live.store import read_journal, transfer_folder
from cwndlab.saved import figures
from scipy import stats

TOKENS = ("0123456789abcdef" * 2, "fedcba9876543210" * 2)
A, B, C = SERVERS = ("https://a.example", "https://b.example:8443", "https://c.example")
GONE = RunError((B, "no connection within the time allowed", ""))
Called = tuple[int, str, str]
Cli = Callable[..., Called]


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Day:
    monkeypatch.setattr(drive, "_idle_ns", lambda to, port: 40e6)
    monkeypatch.setattr(drive, "_address", lambda host, port: None)
    return Day(datetime(2026, 11, 9, 12, tzinfo=UTC))


def drawn(question: CampaignSpec) -> list[tuple[str, str]]:
    """Server and algorithm of all transfers, in the order that the seed draws."""
    rounds = range(1, question.rounds + 1)
    return [(server, name) for n in rounds for server in question.server_order(n) for name in question.order(n, server)]


# The description.


def test_faults_of_servers_are_errors() -> None:
    with pytest.raises(ScenarioError) as refused:
        asked(servers=(A, "https://A.example:443", B, B))
    assert str(refused.value) == (
        "URL: 'https://a.example' and 'https://A.example:443' are the same server\n  hint: name each server once\n"
        "URL: 'https://b.example:8443' is given twice\n  hint: name each server once"
    )
    with pytest.raises(ScenarioError) as refused:
        asked(servers=())
    assert str(refused.value) == "URL: no server is given\n  hint: write https://HOST:PORT, once for each server"
    # The daily limit must allow a block, not a round of all servers.
    assert asked(servers=SERVERS, limit_bytes_per_day=3_000_000).limit_bytes_per_day == 3_000_000


def test_every_order_of_servers_is_as_likely_and_independent_of_the_algorithms() -> None:
    """Each of the 6 orders of servers and each of the 6 orders of algorithms at a server is expected 1000 times in
    6000 rounds, with a standard deviation of 28.9; each of the 36 pairs 166.7 times, with one of 12.7."""
    question = asked(servers=SERVERS)
    servers = [tuple(question.server_order(n)) for n in range(1, 6001)]
    algorithms = {server: [tuple(question.order(n, server)) for n in range(1, 6001)] for server in SERVERS}
    for orders in (servers, *algorithms.values()):
        assert len(Counter(orders)) == 6
        assert all(abs(count - 1000) < 4 * 28.9 for count in Counter(orders).values())
    for pairs in (zip(servers, algorithms[A], strict=True), zip(algorithms[A], algorithms[B], strict=True)):
        counts = Counter(pairs)
        assert len(counts) == 36
        assert all(abs(count - 6000 / 36) < 4 * 12.7 for count in counts.values())
    # The position in the list draws, so that another address of a server changes nothing.
    moved = asked(servers=(A, "https://192.0.2.7", C))
    assert [moved.order(n, "https://192.0.2.7") for n in range(9)] == [question.order(n, B) for n in range(9)]


def test_labels_have_ports_where_hosts_are_equal() -> None:
    one = asked(servers=("https://127.0.0.1:1", "https://127.0.0.1:2", "https://[::1]:3", "https://[::1]", A))
    labels = [one.label(server) for server in one.servers]
    assert labels == ["127.0.0.1:1", "127.0.0.1:2", "[::1]:3", "[::1]:443", "a.example"]


# Campaigns.


def test_every_round_has_a_block_of_every_server_in_drawn_order(tmp_path: Path, day: Day) -> None:
    question, server, said = asked(servers=SERVERS, rounds=4, schedule="every 4h"), Server(), list[str]()
    run(question, tmp_path / "c", server, day, said)
    assert server.requests == drawn(question)
    assert len({tuple(question.server_order(n)) for n in range(1, 5)}) > 1
    first = question.server_order(1)[0]
    name = {A: "a.example", B: "b.example", C: "c.example"}[first]
    assert said[0] == f"round 1 of 4, {name}, 13:00, {server.calls[0]}: 8.00 Mbit/s"
    found = Measurement.read(tmp_path / "c")
    assert [one.rounds for one in found.servers] == [[1, 2, 3, 4]] * 3
    assert (found.missing, found.notes) == ([], [])
    # The journal and the result have the drawn orders.
    recorded = [
        [(block["server"], name) for block in row["order"] for name in block["algorithms"]] for row in found.rounds
    ]
    assert [pair for one in recorded for pair in one] == drawn(question)
    # Nothing is left, nothing is fetched.
    run(question, tmp_path / "c", server, day)
    assert len(server.calls) == 36


def test_a_killed_campaign_goes_on_in_the_same_drawn_order(tmp_path: Path, day: Day) -> None:
    """Killed in transfers 5, 11 and 12 of 18: each is fetched again, and everything else once, in the drawn order."""
    question, server = asked(servers=SERVERS, rounds=2), Server()
    server.ends = dict.fromkeys((5, 11, 12), KeyboardInterrupt())
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(question, tmp_path / "c", server, day)
    state = run(question, tmp_path / "c", server, day)
    assert state.todo() == []
    complete = [one for number, one in enumerate(server.requests, 1) if number not in (5, 11, 12)]
    assert complete == drawn(question)
    begun = [row["order"] for row in state.rows if row["kind"] == "round"]
    assert len(begun) == 2
    assert [len(one.rounds) for one in Measurement.read(tmp_path / "c").servers] == [2, 2, 2]


def test_a_server_that_is_down_does_not_end_the_blocks_of_the_others(tmp_path: Path, day: Day) -> None:
    """B is down in round 2 of 3: its block has three attempts and is left out. A later call fetches it alone."""
    question, server, said = asked(servers=SERVERS, rounds=3, schedule="every 4h"), Server(), list[str]()
    server.ends_of = lambda url: GONE if url == B and drive.state_of(folder, question).last_slot() == second else None
    folder = tmp_path / "c"
    begins = datetime(2026, 11, 9, 16, tzinfo=UTC)
    second = Slot(begins)
    with pytest.raises(RunError) as ended:
        run(question, folder, server, day, said)
    assert str(ended.value) == (
        f"{B}: no connection within the time allowed\n"
        f"{B}: incomplete in round 2\n  hint: the same command fetches the rest"
    )
    assert "round 2, b.example: left incomplete: no connection within the time allowed" in said
    found = Measurement.read(folder)
    assert [one.rounds for one in found.servers] == [[1, 2, 3], [1, 3], [1, 2, 3]]
    [gap] = found.missing
    assert (gap["round"], gap["server"], gap["why"]) == (2, B, "no connection within the time allowed")
    assert "round 2, b.example is incomplete: no connection within the time allowed" in found.notes
    assert "3 of 27 transfers are left; the same command resumes" in found.notes
    # Rounds that B lacks count for the others, and over all servers.
    counts = {pair.server: delta.paired.n for pair, (delta, _) in found.comparisons().items()}
    assert counts == {A: 3, B: 2, C: 3, None: 8}
    server.ends_of = lambda url: None
    before = len(server.requests)
    run(question, folder, server, day)
    assert server.requests[before:] == [(B, name) for name in question.order(2, B)]
    found = Measurement.read(folder)
    assert (found.missing, [one.rounds for one in found.servers]) == ([], [[1, 2, 3]] * 3)


def test_a_campaign_ends_if_every_server_is_down(tmp_path: Path, day: Day) -> None:
    """Three attempts at one transfer of each server, and no wait for the second round."""
    question, server = asked(servers=SERVERS, rounds=2, schedule="every 4h"), Server()
    server.ends_of = lambda url: RunError((url, "no answer", ""))
    with pytest.raises(RunError) as ended:
        run(question, tmp_path / "c", server, day)
    assert {fault.what for fault in ended.value.faults} == {"no answer", "incomplete in round 1"}
    assert (len(server.calls), day.slept) == (9, 30)


def test_a_breaker_leaves_out_its_server_alone(tmp_path: Path, day: Day) -> None:
    """Two consecutive transfers of B harm the path: B has no further transfer in this call, A and C have all."""
    question, server, said = asked(servers=SERVERS, rounds=3), Server(), list[str]()
    hurt = {"ended": "breaker", "why": "33 % of the packets were retransmitted", "received_bytes": 1000}
    server.ends_of = lambda url: hurt if url == B else None
    with pytest.raises(RunError) as ended:
        run(question, tmp_path / "c", server, day, said)
    assert str(ended.value) == (
        f"{B}: 2 transfers in a row harmed the path and were ended: 33 % of the packets were retransmitted\n"
        "  hint: find out why before you go on; the same command resumes the campaign\n"
        f"{B}: incomplete in rounds 1, 2, 3\n  hint: the same command fetches the rest"
    )
    assert Counter(url for url, _ in server.requests) == {A: 9, B: 2, C: 9}
    found = Measurement.read(tmp_path / "c")
    assert [one.rounds for one in found.servers] == [[1, 2, 3], [], [1, 2, 3]]
    assert [(row["round"], row["server"]) for row in found.missing] == [(1, B), (2, B), (3, B)]
    assert "blocks that are not complete and are not compared: 1 (a block is a round of one server)" in found.notes
    # B has no complete block, hence no comparison.
    assert {pair.server for pair in found.comparisons()} == {A, C, None}


def test_strikes_of_different_servers_do_not_add_up(tmp_path: Path, day: Day) -> None:
    """The breaker ends the last transfer of one block and the first one of the next block."""
    question, server = asked(servers=(A, B), rounds=1), Server()
    hurt = {"ended": "breaker", "why": "silence", "received_bytes": 1000}
    server.ends = {3: hurt, 4: hurt}
    assert run(question, tmp_path / "c", server, day).todo() == []
    assert len(server.calls) == 6


def test_the_daily_limit_counts_all_servers(tmp_path: Path, day: Day) -> None:
    """4 MB a day are one block of three transfers of 1 MB: two servers take two days."""
    question, server, said = asked(servers=(A, B), rounds=1, limit_bytes_per_day=4_000_000), Server(), list[str]()
    run(question, tmp_path / "c", server, day, said)
    rows = Measurement.read(tmp_path / "c").rows
    days = [datetime.fromisoformat(row["at"]).astimezone(VIENNA).day for row in rows]
    assert sorted(days) == [9, 9, 9, 10, 10, 10]
    later = question.label(question.server_order(1)[1])
    assert f"3.0 MB of 4.0 MB a day are spent; round 1, {later} is tomorrow's" in said


def test_a_folder_of_the_format_for_one_server_is_an_error(tmp_path: Path) -> None:
    document = {"schema_version": 1, "question": {"url": A}}
    (tmp_path / "measurement.json").write_text(json.dumps(document))
    with pytest.raises(RecordsError) as refused:
        Measurement.read(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path / 'measurement.json'}: is of schema 1, this is cwndlab with schema 2\n"
        "  hint: use the version that wrote it, or choose another folder"
    )


# The analysis.


def measured(rates: dict[str, dict[str, list[float]]]) -> Measurement:
    """A campaign whose complete transfers have these rates, Mbit/s, by server and algorithm, and nothing else."""
    algorithms = tuple(next(iter(rates.values())))
    count = max(len(values) for one in rates.values() for values in one.values())
    rows = [
        {"round": number, "server": server, "algorithm": name, "ended": "complete", "goodput_bps": rate * 1e6}
        | {"at": f"2026-11-{number:02}T12:00:00+00:00", "part": "afternoon", "why": "", "sender_algorithm": name}
        | dict.fromkeys(("idle_rtt_ms", "loaded_rtt_ms"))
        for server, one in rates.items()
        for name, values in one.items()
        for number, rate in enumerate(values, 1)
    ]
    return Measurement(asked(servers=tuple(rates), algorithms=algorithms, rounds=count), rows)


#: CUBIC − NewReno: 1, 2, 3 Mbit/s at A, and 4, 5, 6 at B, whose rates are ten times as high.
TWO = {
    A: {"newreno": [5.0, 6.0, 7.0], "cubic": [6.0, 8.0, 10.0]},
    B: {"newreno": [50.0, 60.0, 70.0], "cubic": [54.0, 65.0, 76.0]},
}


def test_holm_corrects_over_the_comparisons_of_all_servers_as_by_hand() -> None:
    """A: mean 2, s = 1, t² = 3 · 2² = 12. With 2 degrees of freedom p = 1 − √(t² / (t² + 2)) = 1 − √(12/14) = 0.07418.
    B: mean 5, s = 1, t² = 75, p = 1 − √(75/77) = 0.01307. Over both servers: mean 3.5; the squares within servers are 2
    and 2, with 4 degrees of freedom, so that s = 1 and t² = 6 · 3.5² = 73.5. With 4 degrees of freedom p = 1 −
    (3 x − x³) / 2 for x² = t² / (t² + 4) = 73.5 / 77.5, hence p = 0.00102. Holm over these three: 3 · 0.00102, 2 ·
    0.01307, 1 · 0.07418. The interval over both servers is 3.5 ± t(4) · 1 / √6 = 3.5 ± 2.7764 / 2.4495."""
    found = measured(TWO)
    result = {pair.server: (delta, p) for pair, (delta, p) in found.comparisons().items()}
    x = (73.5 / 77.5) ** 0.5
    plain = {A: 1 - (12 / 14) ** 0.5, B: 1 - (75 / 77) ** 0.5, None: 1 - (3 * x - x**3) / 2}
    assert {server: round(p, 5) for server, p in plain.items()} == {A: 0.07418, B: 0.01307, None: 0.00102}
    assert {server: delta.p for server, (delta, _) in result.items()} == pytest.approx(plain)
    assert result[A][1] == pytest.approx(plain[A])
    assert result[B][1] == pytest.approx(2 * plain[B])
    assert result[None][1] == pytest.approx(3 * plain[None])
    over_all = result[None][0].paired
    assert (over_all.mean / 1e6, over_all.n) == (3.5, 6)
    assert over_all.half is not None
    assert over_all.half / 1e6 == pytest.approx(2.7764 / 6**0.5, abs=1e-4)
    assert found.method() == (
        "Paired t-test within the complete rounds of each server (3 of a.example, 3 of b.example). Over all servers, "
        "the server is a blocking factor: the mean difference of all blocks is tested against the variation within "
        "servers. p after one Holm correction for the 3 comparisons evaluated here: 2 of single servers and 1 over all "
        "servers. Effect: Hedges' g of the pairs, with its 95 % interval."
    )
    header, cells = found.differences()
    assert header[:3] == ["server", "algorithm", "minus"]
    assert [(row[0], row[7], row[9], str(row[10])) for row in cells] == [
        ("a.example", "0.074", "3", "inconclusive"),
        ("b.example", "0.026", "3", "higher, better"),
        ("all servers", "0.003", "6", "higher, better"),
    ]


def test_the_server_is_a_factor_of_the_analysis_over_all_servers() -> None:
    """By hand: the block means are 5.5, 7, 8.5 at A (mean 7) and 52, 62.5, 73 at B (mean 62.5). Times the two
    algorithms: servers 2 · 6 · 27.75² = 9240.75 with 1 degree of freedom, rounds within servers 2 · (2 · 1.5² + 2 ·
    10.5²) = 450 with 4. Algorithms: 6 · 2 · 1.75² = 36.75; algorithm × server: the differences 2 and 5 are ±1.5 from
    their mean: 6 · 2 · 0.75² = 6.75; the rest is half of the squares within servers, 2, with 4. F of the algorithms is
    t² = 73.5."""
    found = measured(TWO)
    # Each server's rounds are of one part of the day.
    assert [one.server for one in found.analyses()] == [None]
    effects = {one.name: one for one in found.analyses()[-1].effects}
    squares = {name: round(one.squares / 1e12, 9) for name, one in effects.items()}
    assert squares == {"group": 9240.75, "blocks": 450.0, "treatment": 36.75, "treatment × group": 6.75, "rest": 2.0}
    assert [one.freedom for one in effects.values()] == [1, 4, 1, 1, 4]
    assert effects["treatment"].f == pytest.approx(73.5)
    assert effects["treatment × group"].p == pytest.approx(stats.f.sf(6.75 / 0.5, 1, 4))
    # The difference over all servers has the p of the algorithms.
    delta, _ = found.comparisons()[Pair("newreno", "cubic", "goodput_bps", None)]
    assert delta.p == pytest.approx(effects["treatment"].p)
    header, cells = found.factors()
    assert header[:2] == ["server", "effect of"]
    assert [row[1] for row in cells if row[0] == "all servers"] == [
        "server",
        "rounds within a server",
        "algorithm",
        "algorithm × server",
        "rest",
    ]
    assert [row[-1] for row in cells if row[0] == "all servers"] == ["shown", "", "shown", "shown", ""]


def test_a_difference_in_groups_is_that_of_statsmodels() -> None:
    """Seven pairs in three groups of unequal size: the model of the differences has a mean per group, and the mean of
    all differences is their combination with weights 3/7, 2/7, 2/7."""
    formula = pytest.importorskip("statsmodels.formula.api")
    frame = pytest.importorskip("pandas").DataFrame
    groups = ["x", "x", "x", "y", "y", "z", "z"]
    first, second = [1.0, 2.5, 2.0, 9.0, 8.0, 4.0, 4.5], [2.0, 2.9, 3.5, 9.5, 9.1, 4.1, 5.8]
    delta = statistics.difference(first, second, groups=groups)
    fitted = formula.ols("d ~ 0 + g", frame({"d": delta.deltas, "g": groups})).fit()
    tested = fitted.t_test([3 / 7, 2 / 7, 2 / 7])
    assert delta.p == pytest.approx(float(tested.pvalue))
    assert [delta.paired.low, delta.paired.high] == pytest.approx(tested.conf_int()[0].tolist())
    # One group is not a group.
    plain, one = statistics.difference(first, second), statistics.difference(first, second, groups=["x"] * 7)
    assert (plain.paired, plain.p, plain.effect) == (one.paired, one.p, one.effect)
    # No pair more than groups leaves nothing to test against.
    none = statistics.difference(first[:2], second[:2], groups=["x", "y"])
    assert (none.paired.half, none.p, none.effect) == (None, None, None)
    # Equal differences within each group have no spread.
    equal = statistics.difference([0.0] * 4, [1.0, 1.0, 2.0, 2.0], groups=["x", "x", "y", "y"])
    assert (equal.p, equal.paired.low, equal.paired.reason) == (None, None, "4 runs, one result")


def test_tables_and_page_name_the_servers(tmp_path: Path, day: Day) -> None:
    question, server = asked(servers=SERVERS, rounds=2), Server(lambda name, call: call * 1e6)
    run(question, tmp_path / "c", server, day)
    found = Measurement.read(tmp_path / "c")
    header, cells = found.table()
    assert header[:4] == ["server", "round", "begins", "part"]
    labels = ["a.example", "b.example", "c.example"]
    assert [row[:2] for row in cells[:6]] == [[label, n] for label in labels for n in ("1", "2")]
    assert [row[:2] for row in cells[6:]] == [[label, "mean"] for label in labels]
    assert [row[:2] for row in found.means()[1]] == [[label, name] for label in labels for name in ALGORITHMS]
    assert found.day()[1] == []  # seconds of one afternoon
    document = found.as_dict()
    assert document["complete_rounds"] == {url: [1, 2] for url in SERVERS}
    assert [row["order"] for row in document["rounds"]] == [row["order"] for row in found.rounds]
    assert {row["server"] for row in document["differences"]} == {*SERVERS, None}
    cwndlab.report(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Throughput from https://a.example, https://b.example:8443, https://c.example" in page
    assert "Complete rounds of 2: 2 of a.example, 2 of b.example, 2 of c.example." in page
    assert "algorithm × server" in page
    assert "one Holm correction for the" in page
    assert "Over time, round 1 of a.example, round 1 of b.example, round 1 of c.example" in page
    assert "newreno, b.example" in page
    drawings = {one.name for one in figures(found, tmp_path / "figures")}
    assert {"goodput_bps.png", "boxes-goodput_bps.png"} <= drawings


# The command, with servers on the loopback.


@contextmanager
def serving(folder: Path, *, port: int = 0, token: str = TOKENS[0]) -> Iterator[cwndlab.engine.Server]:
    """A server whose certificate is kept in ``folder``; 1 MB takes a fifth of a second."""
    folder.mkdir(exist_ok=True)
    tokens, limits = f"anna {token}\n", {"rate_bps": 40e6}
    server = cwndlab.engine.serve(f"127.0.0.1:{port}", tokens=tokens, limits=limits, state=folder)
    try:
        yield server
    finally:
        server.stop()


def arguments(servers: list[Any], folder: Path, **changes: Any) -> list[str]:
    told = {"algorithms": "newreno,cubic", "rounds": 2, "bytes": "200kB", "zone": "UTC", "out": folder} | changes
    options = [text for name, value in told.items() for text in (f"--{name}", str(value))]
    trusts = [text for server in servers for text in ("--trust", server.fingerprint)]
    urls = [f"https://{server.address}" for server in servers]
    return ["measure", *urls, *options, *trusts, "--yes"]


def test_a_campaign_over_two_servers(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each server has its own token and certificate, and its path is inspected once."""
    folder = tmp_path / "c"
    monkeypatch.setenv("CWNDLAB_TOKEN", " ".join(TOKENS))
    with serving(tmp_path / "one") as one, serving(tmp_path / "two", token=TOKENS[1]) as two:
        command = arguments([one, two], folder)
        status, out, err = cli(*command)
        assert status == 0, err
        for server in (one, two):
            assert f"{server.address} sends with reno for newreno, cubic for cubic" in err
            assert err.count(f"the path to {server.address} is inspected before the first transfer") == 1
        before = [server.counters()["transfers"] for server in (one, two)]
        assert before == [4, 4]
        status, again, _ = cli(*command)
        assert (status, again) == (0, out)
        assert [server.counters()["transfers"] for server in (one, two)] == before
    found = Measurement.read(folder)
    urls = [f"https://{server.address}" for server in (one, two)]
    assert [row["server"] for row in found.preflight] == urls
    assert [row["rtt"][0]["method"] for row in found.preflight] == [
        f"TCP, port {url.rpartition(':')[2]}" for url in urls
    ]
    for url in urls:
        assert {row["address"] for row in found.rows if row["server"] == url} == {url.removeprefix("https://")}
        for number in (1, 2):
            records = cwndlab.Records.read(transfer_folder(folder, found.question, number, url, "cubic"))
            assert records.flows["delivered_bytes"][0] == 200_000
    assert "all servers" in out
    page = (folder / "report.html").read_text()
    assert all(
        f"The path from this client to 127.0.0.1 ({one['address']}), inspected" in page for one in found.preflight
    )
    contents = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert not any(token.encode() in content for token in TOKENS for content in contents)


def test_a_server_that_goes_down_during_the_campaign(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second server stops before its first transfer of round 2. The first one has both blocks; after a restart the
    same command fetches the missing block alone."""
    monkeypatch.setattr(drive, "_PAUSE_S", 0.0)
    folder, fetch = tmp_path / "c", cwndlab.engine.fetch
    with serving(tmp_path / "one") as one:
        with serving(tmp_path / "two") as two:
            urls = [f"https://{server.address}" for server in (one, two)]
            command = [*arguments([one, two], folder), "--no-preflight", "--token", TOKENS[0]]

            def stopping(url: str, **options: Any) -> dict[str, Any]:
                if url == urls[1] and read_journal(folder)[-1]["round"] == 2:
                    two.stop()
                return fetch(url, **options)

            monkeypatch.setattr(cwndlab.engine, "fetch", stopping)
            status, out, err = cli(*command)
        assert status == 1, err
        assert f"{urls[1]}: incomplete in round 2\n  hint: the same command fetches the rest\n" in err
        assert f"round 2, {two.address}: left incomplete: " in err
        assert out.splitlines()[0].split()[0] == "newreno"  # the table and the page of what there is
        assert (folder / "report.html").is_file()
        found = Measurement.read(folder)
        assert [results.rounds for results in found.servers] == [[1, 2], [1]]
        assert [(row["round"], row["server"]) for row in found.missing] == [(2, urls[1])]
        # While it is down, a resumed campaign ends with the same status and loses nothing.
        status, _, err = cli(*command)
        assert status == 1
        assert f"{urls[1]}: no answer (" in err
        monkeypatch.setattr(cwndlab.engine, "fetch", fetch)
        with serving(tmp_path / "two", port=int(urls[1].rpartition(":")[2])):
            before = one.counters()["transfers"]
            status, _, err = cli(*command)
            assert status == 0, err
            assert one.counters()["transfers"] == before == 4
    found = Measurement.read(folder)
    assert [results.rounds for results in found.servers] == [[1, 2], [1, 2]]
    assert found.missing == []


def test_a_campaign_begins_only_if_every_server_has_every_algorithm(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, folder = server_info.ask, tmp_path / "c"
    with serving(tmp_path / "one") as one, serving(tmp_path / "two") as two:
        urls = [f"https://{server.address}" for server in (one, two)]

        def without_cubic(url: str, path: str, *options: Any, **named: Any) -> tuple[int, str, dict[str, str]]:
            return (400, "", {}) if url == urls[1] and path.endswith("cc=cubic") else ask(url, path, *options, **named)

        command = [*arguments([one, two], folder), "--token", TOKENS[0]]
        monkeypatch.setattr(server_info, "ask", without_cubic)
        status, _, err = cli(*command)
        assert status == 2
        assert f"--algorithms: the server {urls[1]} has no 'cubic'\n  hint: it offers " in err
        monkeypatch.setattr(server_info, "ask", ask)
        two.stop()
        status, _, err = cli(*command)
        assert (status, err.splitlines()[-2:]) == (
            1,
            [
                f"{urls[1]}: no answer (Connection refused)",
                "  hint: does `cwndlab serve` run there, and is its port open?",
            ],
        )
        assert [server.counters()["transfers"] for server in (one, two)] == [0, 0]
    assert not folder.exists()


def test_faults_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "c")
    status, _, err = cli("measure", *out)
    assert status == 2
    assert "missing argument 'URL…'" in err
    status, _, err = cli("measure", A, B, A + "/", *out)
    assert (status, err) == (2, "URL: 'https://a.example' is given twice\n  hint: name each server once\n")
    tokens = ("--token", "x", "--token", "y", "--trust", "1", "--trust", "2")
    status, _, err = cli("measure", *SERVERS, *tokens, *out)
    assert (status, err) == (
        2,
        "--token: 2 values for 3 servers\n  hint: write --token once, or once for each server\n"
        "--trust: 2 values for 3 servers\n  hint: write --trust once, or once for each server\n",
    )
    assert not (tmp_path / "c").exists()


def test_a_dry_run_shows_the_blocks_of_every_round(cli: Cli, tmp_path: Path) -> None:
    options = ["--bytes", "2MB", "--rounds", "2", "--out", tmp_path / "c", "--zone", "UTC", "--dry-run"]
    options += ["--algorithms", ",".join(ALGORITHMS)]
    status, out, err = cli("measure", *SERVERS, *options, "--format", "json")
    assert (status, err) == (0, "18 transfers of 2 MB, 0.036 GB in all\n")
    shown = [(row["server"], name) for row in json.loads(out) for name in row["order"].split(", ")]
    assert shown == drawn(asked(servers=SERVERS))
    status, out, _ = cli("measure", *SERVERS, *options)
    assert out.splitlines()[0].split() == ["round", "begins", "part", "server", "order", "bytes"]
    assert not (tmp_path / "c").exists()


def test_the_default_folder_counts_the_other_servers() -> None:
    assert drive.default_folder(asked(servers=(B,))) == Path("b.example.measure")
    assert drive.default_folder(asked(servers=(B, A, C))) == Path("b.example+2.measure")


def campaign_of(rows: list[dict[str, Any]], size_bytes: int = 200_000_000) -> Measurement:
    """A campaign with these transfers, and the notes on them."""
    algorithms = tuple(dict.fromkeys(row["algorithm"] for row in rows))
    spec = asked(servers=(A,), algorithms=algorithms, rounds=len(rows), size_bytes=size_bytes)
    usual: dict[str, Any] = {"server": A, "ended": "complete", "part": "afternoon", "why": "", "sender_algorithm": "x"}
    usual |= {"idle_rtt_ms": 10.0, "loaded_rtt_ms": None}
    found = Measurement(spec, [usual | row for row in rows])
    found.notes = [*found._short(), *found._one_time_of_day()]
    return found


def transfers(begin: str, step: timedelta, rates_bps: list[float], duration_s: float = 20.0) -> list[dict[str, Any]]:
    """A round per rate, each with two algorithms, the second one a tenth faster."""
    rows = []
    for number, rate in enumerate(rates_bps, 1):
        at = datetime.fromisoformat(begin) + (number - 1) * step
        part = part_of(at, ZoneInfo("UTC"))
        common = {"round": number, "at": at.isoformat(), "part": part, "duration_s": duration_s}
        rows += [common | {"algorithm": "newreno", "goodput_bps": rate}]
        rows += [common | {"algorithm": "cubic", "goodput_bps": 1.1 * rate}]
    return rows


def test_rates_have_the_unit_of_the_largest_one() -> None:
    """6.6 Gbit/s of a loopback device are no 6,600 Mbit/s; a mean of 30 kbit/s is no 0.03."""
    for rate, unit, shown in ((6.6e9, "Gbit/s", "6.60"), (6.6e6, "Mbit/s", "6.60"), (3e4, "kbit/s", "30.0")):
        found = campaign_of(transfers("2026-11-02T11:00:00+00:00", timedelta(hours=6), [rate] * 4))
        header, cells = found.table()
        assert header[3] == f"newreno\n{unit}"
        assert cells[0][3] == shown
        assert unit in "".join(found.means()[0])
        assert unit in str(found.differences()[1][0][2])
        assert found.factors()[0][1] == f"squares ({unit})²"


def test_the_time_of_day_is_analysed_where_the_rounds_have_several() -> None:
    """Noon divides rounds that begin three seconds apart into two parts of the day, and the day has no effect on them;
    nor has one part of two days."""
    rates = [5e6, 6e6, 7e6, 6e6]
    seconds = campaign_of(transfers("2026-11-02T11:59:55+00:00", timedelta(seconds=3), rates))
    assert {row["part"] for row in seconds.rows} == {"morning", "afternoon"}
    days = campaign_of(transfers("2026-11-02T12:00:00+00:00", timedelta(days=1), rates))
    for found in (seconds, days):
        assert (found.analyses(), found.day()[1], found.factors()[1]) == ([], [], [])
        assert found.notes == [
            "no effect of the time of day can be shown: the complete rounds are of one part of the day, or begin "
            "within 1 h"
        ]
        assert found.differences()[1]
    hours = campaign_of(transfers("2026-11-02T11:00:00+00:00", timedelta(hours=6), rates))
    assert [row[0] for row in hours.factors()[1]][:3] == ["part of the day", "rounds within a part", "algorithm"]
    assert hours.notes == []


def test_transfers_that_are_too_short_are_named_with_a_size_that_is_not() -> None:
    """0.15 s for 1 MB are 10 s for 67 MB; at an idle RTT of 200 ms, 3 s are 15 round trips."""
    found = campaign_of(transfers("2026-11-02T12:00:00+00:00", timedelta(hours=6), [5e7] * 3, 0.15), 1_000_000)
    note = found.notes[0]
    assert note.startswith("6 of 6 transfers took less than 1 s or 20 round trips, the shortest 0.15 s: ")
    assert note.endswith("about --bytes 70MB would take 10 s here")
    slow = [row | {"idle_rtt_ms": 200.0} for row in transfers("2026-11-02T12:00:00+00:00", timedelta(), [5e7], 3.0)]
    assert campaign_of(slow).notes[0].startswith("2 of 2 transfers took less than 1 s or 20 round trips")


def test_the_default_algorithms_are_those_of_every_kernel() -> None:
    """Linux has `reno` and `cubic` without a module of ours (`ctcp` needs `cwndlab kernel run` at the server)."""
    assert [canonical_algorithm(name).partition("+")[0] for name in DEFAULT_ALGORITHMS.split(",")] == ["reno", "cubic"]
