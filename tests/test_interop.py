"""The comparison of `make interop`: parsing of captures, and the numbers of a comparison; no program is run."""

from __future__ import annotations

import json

import pytest
from cwndlab.statistics import estimate
from interop import comparison, service, table, wire
from interop.wire import Packet

#: What tshark prints for a connection: SYN, SYN-ACK, ACK, 27 bytes and their answer of 4, the ACK, FIN and its ACK.
CAPTURE = """\
100.000\t10.101.0.1\t10.102.0.3\t60\t\t0\t0x0002\t0\t1000
100.040\t10.102.0.3\t10.101.0.1\t60\t\t0\t0x0012\t0\t5000
100.041\t10.101.0.1\t10.102.0.3\t52\t\t0\t0x0010\t0\t1001
100.042\t10.101.0.1\t10.102.0.3\t79\t\t27\t0x0018\t0\t1001
100.082\t10.102.0.3\t10.101.0.1\t56\t\t4\t0x0018\t0\t5001
100.122\t10.101.0.1\t10.102.0.3\t52\t\t0\t0x0010\t0\t1028
100.500\t10.101.0.1\t10.102.0.3\t52\t\t0\t0x0011\t0\t1028
100.540\t10.102.0.3\t10.101.0.1\t52\t\t0\t0x0010\t0\t5005
"""


def sent(time_s: float, payload: int, sequence: int | None = None, *, syn: bool = False) -> Packet:
    """A packet of the sender."""
    return Packet(time_s, True, payload + 52, payload, syn=syn, sequence=sequence)


def received(time_s: float, payload: int) -> Packet:
    """A packet that arrives at the sender."""
    return Packet(time_s, False, payload + 52, payload)


def test_a_capture_is_read_to_its_fin() -> None:
    packets = wire.parse(CAPTURE.splitlines())
    assert [packet.size for packet in packets] == [60, 60, 52, 79, 56, 52]
    assert [packet.payload for packet in packets] == [0, 0, 0, 27, 4, 0]
    assert [packet.from_sender for packet in packets] == [True, False, True, True, False, True]
    assert [packet.syn for packet in packets] == [True, *[False] * 5]
    assert {packet.flow for packet in packets} == {2}  # 10.102.0.3
    assert wire.turns(packets) == [(True, 27), (False, 4)]


def test_the_payload_of_udp_is_without_its_header() -> None:
    """A CON of CoAP with 64 bytes of payload: 79 bytes, 8 of UDP and 20 of IP. ICMP has no ports."""
    lines = ["1.0\t10.101.0.1\t10.102.0.1\t107\t87\t\t\t\t", "1.1\t10.102.0.1\t10.101.0.1\t84\t\t\t\t\t"]
    assert [(packet.size, packet.payload) for packet in wire.parse(lines)] == [(107, 79)]


def test_packets_of_a_simulation_are_those_at_the_senders_side() -> None:
    """The first link of data, and the last one of answers; a packet that did not arrive is not there."""
    links = [{"link": number, "name": name} for number, name in enumerate(("bottleneck", "s0-r1", "r1-s0", "r2-d0"))]
    common = {"flow": 0, "kind": 0, "size_bytes": 100, "payload_bytes": 48}
    times = [(1, 0, 5), (0, 0, 9), (3, 0, 12), (2, 20, 40), (2, 30, None)]
    rows = [{**common, "link": link, "sent_ns": sent, "arrival_ns": arrival} for link, sent, arrival in times]
    assert [(one.time_s, one.from_sender) for one in wire.simulated(links, rows)] == [(0.0, True), (4e-8, False)]


def test_copies_of_a_message_end_with_its_answer_or_after_five() -> None:
    """RFC 7252, section 4.8: MAX_RETRANSMIT is 4."""
    packets = [sent(0, 9), sent(2.5, 9), sent(7.5, 9), received(7.6, 4), sent(8, 9), received(8.1, 4)]
    assert wire.copies(packets) == [[0, 2.5, 7.5], [8]]
    assert wire.copies([sent(time_s, 9) for time_s in (0, 2, 6, 14, 30, 92, 94)]) == [[0, 2, 6, 14, 30], [92, 94]]


def test_timeouts_are_the_times_between_copies() -> None:
    result = comparison.timeouts([[0, 2.5, 7.5], [8], [10, 12, 16.5]])
    assert (result.messages, result.retransmitted, result.ratios) == (3, 2, 2)
    assert (result.first_min_s, result.first_mean_s, result.first_max_s) == (2, 2.25, 2.5)
    assert (result.ratio_min, result.ratio_max) == (2, 2.25)


def test_bytes_are_delivered_in_order() -> None:
    """Ten bytes each; the second segment is lost and arrives last, the numbers pass 2³²."""
    first = 2**32 - 16
    packets = [sent(0, 0, first, syn=True)]
    packets += [sent(time_s, 10, (first + 1 + begin) % 2**32) for time_s, begin in ((1, 0), (2, 20), (3, 10), (4, 10))]
    assert wire.delivery_times(packets, [10, 15, 30, 31]) == [1, 3, 3, None]


def test_computing_is_what_lies_between_an_arrival_and_the_next_departure() -> None:
    """A request is sent 1 ms after its start, the server takes 4 ms, the client 2 ms."""
    near, far = [sent(0.001, 9), received(0.045, 9)], [sent(0.021, 9), received(0.025, 3), received(0.026, 6)]
    spans = [(0.0, 0.047)]
    assert wire.computing(near, far, spans, by_sender=True, measured=True) == pytest.approx([0.007])
    assert wire.computing(near, far, spans, by_sender=True, measured=False) == pytest.approx([0.004])
    assert wire.computing(near, far, spans, by_sender=True, measured=False, to_last=True) == pytest.approx([0.005])


def test_an_answer_is_the_next_payload_that_arrives() -> None:
    packets = [sent(0, 100), received(0.1, 0), received(0.2, 4), received(0.3, 4), sent(1, 100), received(1.5, 4)]
    assert wire.answers(packets, 50) == [(0, 0.2), (1, 1.5)]
    assert wire.one_way([sent(0, 100, 7)], [sent(0.02, 100, 7)], 50) == [(0, 0.02)]
    assert wire.association([sent(5, 0, syn=True), received(6, 162), received(7, 10)], 100) == (5, 6)


def test_a_comparison_has_both_values_and_the_deviation() -> None:
    """The set-up is 30 and 4 bytes; then two exchanges. The workload has a bare ACK more and takes 4 % longer."""
    set_up = [sent(0, 0, syn=True), received(0.04, 0), sent(0.04, 30), received(0.08, 4)]
    packets = [*set_up, sent(0.08, 100), received(0.13, 4), sent(1, 100), received(1.05, 4)]
    real = comparison.measured(packets, [(0.08, 0.13), (1, 1.05)], by_sender=True)
    assert (real.set_up_turns, real.set_up_bytes, real.turns) == (2, 34, [(True, 100), (False, 4)] * 2)
    assert real.set_up_ms == pytest.approx(80)
    assert (real.carriers, real.bare, real.packets) == (4, 0, 8)
    assert real.wire_bytes == 8 * 52 + 34 + 208
    ours = comparison.measured([*packets, sent(1.06, 0)], [(0.08, 0.132), (1, 1.052)], by_sender=True)
    row = comparison.row("one", real, ours, {"exchange_ms": 0.0})
    assert row["same_order"]
    assert row["quantities"]["exchange_ms"] == pytest.approx([50, 52, 0.04])
    assert row["quantities"]["bare"] == [0, 1, None]
    assert comparison.beyond(row) == ["packets", "wire_bytes"]
    assert comparison.row("one", real, ours, {"exchange_ms": 10.0})["quantities"]["exchange_ms"][2] == pytest.approx(
        0.3
    )


def test_the_tables_show_every_case_and_explain_what_deviates() -> None:
    rows = json.loads(table.RESULT.read_text(encoding="utf-8"))["cases"]
    shown = table.table("cases")
    assert all(f"| {row['case']} | " in shown for row in rows)
    assert {row["case"].partition(",")[0] for row in rows} == {"coap", "mqtt", "amqp", "xmpp", "dicom", "hl7", "rest"}
    assert "Not explained" not in table.table("causes")
    assert "aiocoap" in table.table("timeouts")
    assert "paho-mqtt" in table.table("service")


def test_the_own_time_of_programs_is_no_difference_of_the_paths() -> None:
    """By hand: 21.3 ms are 4.9 % above 20.3 ms, and 21.4 ms 5.4 %; with 1 ms of their own 1.9 % and 0.5 % remain."""
    simulated = estimate([20.3])
    assert service.agree(estimate([21.3]), simulated)
    assert not service.agree(estimate([21.4]), simulated)
    assert service.later(simulated, 1.0).mean == pytest.approx(21.3)
    assert service.agree(estimate([21.4]), service.later(simulated, 1.0))
    spread = service.later(estimate([1.0, 2.0, 3.0]), 1.0)
    assert spread.low == pytest.approx(0.516, abs=1e-3)
    assert spread.high == pytest.approx(5.484, abs=1e-3)


def test_a_workload_that_runs_again_stands_beside_the_kept_programs() -> None:
    """By hand: of 102 ms the programs need 2; a run of 105 ms is 5 % above the rest, and one packet of four is gone."""
    packets = [sent(0, 20), received(0.1, 4), sent(0.2, 0), received(0.2, 0)]
    real = comparison.measured(packets, [(0, 0.102)], by_sender=True)
    kept = comparison.row("case", real, real, {"exchange_ms": 2.0}) | {"programs": {"client": "1.0"}}
    found = comparison.again(kept, comparison.measured(packets[:3], [(0, 0.105)], by_sender=True))
    assert found["quantities"]["exchange_ms"] == [pytest.approx(102), pytest.approx(105), pytest.approx(0.05)]
    assert found["quantities"]["packets"] == [4, 3, -0.25]
    assert (found["programs"], found["same_order"], found["turns"]) == ({"client": "1.0"}, True, [2, 2])
