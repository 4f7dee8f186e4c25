"""Report schedules of the kernel datapath: their effect in the simulator, and the entries of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import cwndlab
import pytest
from cwndlab.scenario import Control
from cwndlab.validation import report_schedule
from cwndlab.validation.report_schedule import COLUMNS, in_kernel, required, rtt_suffices, sentence

Cli = Callable[..., tuple[int, str, str]]
effects = cache(report_schedule.effects)


@pytest.mark.parametrize("algorithm", in_kernel())
def test_an_entry_requires_every_ack_where_a_report_per_round_trip_changes_its_results(algorithm: str) -> None:
    """The rule is that of docs/kernel.md ("Report schedules"), with the runs of its table."""
    ack, rtt = effects(algorithm)
    assert required(algorithm) == ("rtt" if rtt_suffices(ack, rtt) else "ack"), (ack, rtt)


def test_vegas_needs_every_ack() -> None:
    """Brakmo and Peterson 1995, section 4.2: Vegas compares rates once per round trip by its RTT samples. Linux'
    `tcp_vegas.c` takes no decision on two samples or fewer, and grows as Reno then. A report per round trip has one."""
    assert required("vegas") == "ack"
    assert "changes goodput by -" in sentence("vegas", "rtt")
    ack, rtt = effects("vegas")
    assert abs(ack.goodput_median) < 0.05
    assert rtt.goodput_median < -0.3


def retransmitted(control: Control | None) -> float:
    queue = cwndlab.DropTail("0.5 bdp")
    path = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=queue))
    flows = [cwndlab.Flow("reno", rtt="100 ms", control=control)]
    records = cwndlab.run(cwndlab.Scenario(duration="20 s", dumbbell=path, flows=flows), seed=1)
    (flow,) = records.rows("flows")
    return float(flow["retransmitted_packets"])


def test_a_remote_decision_does_not_miss_a_recovery() -> None:
    """Reno loses once per sawtooth: a delay of 100 us, far less than an RTT, does not change the number of packets that
    it retransmits. If the halved window took effect after the start of a recovery, slow start would lose twice as many
    (RFC 6937 reduces to the threshold of its start)."""
    assert retransmitted(Control(delay="100 us")) == pytest.approx(retransmitted(None), rel=0.1)


def test_the_command_prints_a_row_per_algorithm_and_schedule(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_schedule, "effects", effects)
    status, out, err = cli("kernel", "reports", "reno", "phcc", "--format", "json")
    assert status == 0, err
    rows = json.loads(out)
    assert [(row["algorithm"], row["requires"], row["report"]) for row in rows] == [
        ("reno", "rtt", "ack"),
        ("reno", "rtt", "rtt"),
        ("phcc", "ack", "ack"),
        ("phcc", "ack", "rtt"),
    ]
    assert set(rows[0]) == set(COLUMNS)
    assert "retransmitted" in cli("kernel", "reports", "reno")[1]


def test_an_unknown_algorithm_is_bad_input(cli: Cli) -> None:
    status, _, err = cli("kernel", "reports", "renno")
    assert (status, "no algorithm is called 'renno'" in err) == (2, True)


def test_an_interval_is_a_time_or_the_round_trip() -> None:
    with pytest.raises(cwndlab.ScenarioError, match="interval"):
        retransmitted(Control(interval="often"))
    with pytest.raises(cwndlab.ScenarioError):
        sentence("reno", "often")
