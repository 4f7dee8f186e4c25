"""Energy of devices: sums of power × time by hand, from the states of a run, and properties of all radios."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import cwndlab
import numpy as np
import polars as pl
import pytest
from cwndlab import energy
from cwndlab.energy import BATTERIES, CELLULAR, HOSTS, LOWPAN, WIFI, Mac, PowerSave, battery, cellular, lowpan, stations
from cwndlab.energy.lowpan import access, airtime_s
from cwndlab.energy.power_save import sleep
from cwndlab.energy.rrc import Interval, Timers, connection, periodic_wait, state_wait
from cwndlab.energy.traffic import Traffic, devices
from cwndlab.errors import ArgumentError
from hypothesis import given
from hypothesis import strategies as st

WARD = """
schema_version = 1
duration = "20 s"
packets = true
node = [{ name = "server" }, { name = "ap" }, { name = "bed", count = 2 }]
medium = [{ name = "ward", standard = "802.11g", access_point = "ap" }]

[[link]]
from = "server"
to = "ap"
rate = "100 Mbps"
delay = "1 ms"
[[link]]
from = "ap"
to = "bed"
medium = "ward"

[[flow]]
algorithm = "cubic"
from = "bed"
to = "server"
count = 2
workload = { kind = "mqtt", qos = 1, period = "1 s" }
service = { deadline = "1 s" }
"""
_NAMED_RADIO = 'medium = "ward"\n', 'medium = "ward"\nname = "radio"\n'
W = cwndlab.scenario.workloads
SERVICE = cwndlab.scenario.Service(deadline="5 s")


def over_a_line(*flows: cwndlab.Flow, duration: str, rate: str = "50 kbps", seed: int = 1) -> cwndlab.Records:
    path = cwndlab.Dumbbell(cwndlab.Link(rate=rate, delay="30 ms"))
    scenario = cwndlab.Scenario(duration=duration, dumbbell=path, flows=list(flows), packets=True)
    return cwndlab.run(scenario, seed=seed)


def coap(**fields: object) -> cwndlab.Flow:
    return cwndlab.Flow(transport="udp", rtt="60 ms", workload=W.Coap(**fields), service=SERVICE)  # type: ignore[arg-type]


def mqtt(**fields: object) -> cwndlab.Flow:
    return cwndlab.Flow("cubic", rtt="60 ms", workload=W.Mqtt(qos=1, **fields), service=SERVICE)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ward() -> cwndlab.Records:
    return cwndlab.run(cwndlab.Scenario.from_toml(WARD), seed=1)


@pytest.fixture(scope="module")
def meter() -> cwndlab.Records:
    """One confirmable message of 100 B each 5 minutes."""
    return over_a_line(coap(period="300 s", payload="100 B"), duration="900 s")


@pytest.fixture(scope="module")
def sensor() -> cwndlab.Records:
    """A message each 5 minutes by MQTT, with PINGREQ each 30 s."""
    return over_a_line(mqtt(period="300 s", keep_alive="30 s"), duration="900 s")


# -- 802.11 -----------------------------------------------------------------------------------------------------------


def test_a_station_is_in_one_state_at_a_time(ward: cwndlab.Records) -> None:
    """The times sum to the run, and the energy to power × time of each state."""
    table = stations(ward)
    assert table["station"].to_list() == ["ap", "bed-1", "bed-2"]
    radio = WIFI["ns-3"]
    for row in table.iter_rows(named=True):
        assert row["send_s"] + row["receive_s"] + row["idle_s"] == pytest.approx(20)
        by_hand = radio.send_w * row["send_s"] + radio.receive_w * row["receive_s"] + radio.idle_w * row["idle_s"]
        assert row["energy_j"] == pytest.approx(by_hand)
        assert radio.idle_w < row["power_w"] < radio.send_w
        assert (row["sleep_s"], row["beacons"], row["radio_on_share"]) == (0, 0, 1)
    heard = table.filter(pl.col("station") == "bed-1")["receive_s"][0]
    assert heard == pytest.approx(table.filter(pl.col("station") != "bed-1")["send_s"].sum())


@pytest.mark.parametrize("nodes", ["one", "two"])
def test_the_name_of_a_link_costs_no_energy(nodes: str) -> None:
    """Whatever the name of a link, its other direction is ``to-from`` (docs/scenario.md): the same records but for that
    name, with a node for each bed or a count of two."""
    text = WARD if nodes == "two" else WARD.replace(", count = 2 }", " }")
    plain, named = (cwndlab.run(cwndlab.Scenario.from_toml(one), seed=1) for one in (text, text.replace(*_NAMED_RADIO)))
    radio = {"one": ["radio"], "two": ["radio-1", "radio-2"]}[nodes]
    assert [name for name in named.links["name"] if name.startswith("radio")] == radio
    options: dict[str, Any] = {"radio": "esp32", "power_save": PowerSave(), "host": "raspberry-pi"}
    assert stations(named, **options).equals(stations(plain, **options))
    waits = energy.sleep_waits(plain, PowerSave())
    assert len(waits) > 0
    assert energy.sleep_waits(named, PowerSave()).equals(waits)


def test_messages_belong_to_the_station_that_publishes(ward: cwndlab.Records) -> None:
    """One message per second and bed; 2 s after the connection opened none is under way in this cell."""
    table = {row["station"]: row for row in stations(ward).iter_rows(named=True)}
    assert table["ap"]["messages"] == 0
    assert table["ap"]["joules_per_message"] is None
    for bed in ("bed-1", "bed-2"):
        row = table[bed]
        assert row["messages"] in (20, 21)
        assert row["joules_per_message"] == pytest.approx(row["energy_j"] / row["messages"])
        assert row["airtime_per_message_s"] == pytest.approx(row["send_s"] / row["messages"])


def test_a_radio_without_states_draws_its_power_all_the_time(ward: cwndlab.Records) -> None:
    """129 mA at 3.3 V for 20 s: 8.514 J."""
    assert stations(ward, "esp32")["energy_j"].to_list() == pytest.approx([8.514] * 3)


def test_power_save_draws_the_measured_currents_of_an_esp32() -> None:
    """ESP-IDF, low power mode in Wi-Fi scenarios: 3.34 and 2.33 mA at DTIM 1 and 3, to which the radio is fitted, and
    2.19 mA at DTIM 10, which it predicts as 1.98."""
    radio = WIFI["esp32-light-sleep"]
    for dtim, measured_ma, tolerance in ((1, 3.34, 0.001), (3, 2.33, 0.001), (10, 2.19, 0.1)):
        one = sleep([], [], 1024.0, PowerSave(dtim=dtim), radio.beacon_awake_s)
        assert one.wakes == -(-10_000 // dtim)
        mean_w = radio.sleep_w + (radio.idle_w - radio.sleep_w) * one.awake_s / 1024
        assert mean_w / 3.3e-3 == pytest.approx(measured_ma, rel=tolerance)


def test_frames_to_a_sleeping_station_wait_for_half_an_interval() -> None:
    """Uniform arrivals that find it asleep wait for DTIM × 102.4 ms / 2 on average."""
    arrivals = np.sort(np.random.default_rng(1).uniform(0, 4000, 20_000))
    received = [(at, at + 1e-6) for at in arrivals.tolist()]
    for dtim in (1, 3):
        waits = sleep([], received, 4000.0, PowerSave(dtim=dtim), 0.0).waits_s
        assert waits.max() <= dtim * 0.1024
        assert waits.mean() == pytest.approx(dtim * 0.0512, rel=0.03)


def test_a_trigger_or_a_service_period_ends_a_wait_earlier() -> None:
    """A frame to it at 0.25 s, beacons each 0.1 s, a frame of its own at 0.27 s, service periods each 0.4 s."""
    for save, wait in (
        (PowerSave(beacon_s=0.1), 0.05),
        (PowerSave(beacon_s=0.1, dtim=3), 0.05),
        (PowerSave(beacon_s=0.1, mode="u-apsd"), 0.02),
        (PowerSave(mode="twt", period_s=0.4), 0.02),
        (PowerSave(beacon_s=0.1, stay_s=0.2), 0.05),
    ):
        one = sleep([(0.27, 0.271)], [(0.25, 0.251)], 1.0, save, 0.001)
        assert one.waits_s.tolist() == pytest.approx([wait]), save
    one = sleep([], [(0.25, 0.251), (0.401, 0.402)], 1.0, PowerSave(mode="twt", period_s=0.4, service_s=0.01), 0.001)
    assert one.waits_s.tolist() == pytest.approx([0.15, 0])
    assert one.wakes == 3
    assert one.awake_s == pytest.approx(0.03)
    awake = sleep([(0.2, 0.201)], [(0.25, 0.251)], 1.0, PowerSave(beacon_s=0.1, stay_s=0.1), 0.001)
    assert awake.waits_s.tolist() == [0]


def test_stations_in_power_save_spend_less_and_the_access_point_as_before(ward: cwndlab.Records) -> None:
    """Beacons of 20 s: 196 with DTIM 1, 66 with DTIM 3."""
    always = stations(ward)
    for save, wakes in ((PowerSave(), 196), (PowerSave(dtim=3), 66), (PowerSave(mode="twt"), 20)):
        table = stations(ward, power_save=save)
        assert table.row(0) == always.row(0)
        for row, before in zip(table[1:].iter_rows(named=True), always[1:].iter_rows(named=True), strict=True):
            times = sum(row[f"{state}_s"] for state in ("send", "receive", "idle", "sleep"))
            assert times == pytest.approx(20)
            assert row["beacons"] == wakes
            assert row["energy_j"] < 0.2 * before["energy_j"]
            assert row["radio_on_share"] + row["asleep_share"] == pytest.approx(1)
        waits = energy.sleep_waits(ward, save)
        assert waits.filter(pl.col("wait_s") > save.wake_s).height == 0
        assert waits.filter(station="bed-1")["wait_s"].mean() == pytest.approx(table["wait_mean_s"][1])


# -- cellular ---------------------------------------------------------------------------------------------------------


def lengths(activities: list[tuple[float, float]], end_s: float, tail_s: float) -> dict[str, float]:
    """The lengths of states, without discontinuous reception and without promotion."""
    found = connection(activities, end_s, Timers(tail_s=tail_s, drx_after_s=0, short_for_s=0), 0.0)
    return {name: sum(end - start for state, start, end in found if state == name) for name in ("active", "long")}


def test_tails_by_hand() -> None:
    assert lengths([(10, 12)], 100, 5) == {"active": 2, "long": 5}
    assert lengths([(10, 12)], 15, 5) == {"active": 2, "long": 3}, "the run ends in the tail"
    assert lengths([(10, np.inf)], 100, 5) == {"active": 90, "long": 0}, "never ends"
    assert lengths([(0, 4), (1, 2)], 100, 5) == {"active": 4, "long": 5}, "overlapping"
    assert lengths([(0, 1), (5, 6), (30, 31)], 60, 10) == {"active": 3, "long": 24}, "the second one in the first tail"
    assert lengths([], 100, 5) == {"active": 0, "long": 0}
    assert lengths([(100, 101)], 100, 5) == {"active": 0, "long": 0}, "at the end of the run"


ACTIVITIES = st.lists(st.tuples(st.floats(0, 90), st.floats(0, 20)), max_size=30)
TIMERS = st.builds(
    Timers,
    tail_s=st.floats(0.01, 30),
    drx_after_s=st.floats(0, 1),
    short_for_s=st.floats(0, 2),
    edrx_s=st.sampled_from([None, 5.12, 20.48]),
    active_s=st.sampled_from([None, 0.0, 2.0, 20.0]),
    tau_s=st.sampled_from([None, 10.0, 40.0]),
)


def ordered(activities: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return sorted((start, start + length) for start, length in activities)


@given(ACTIVITIES, TIMERS, st.floats(0, 2))
def test_states_fill_the_run(activities: list[tuple[float, float]], timers: Timers, promotion_s: float) -> None:
    """Without gaps and overlaps; every activity finds the device connected."""
    found = connection(ordered(activities), 100.0, timers, promotion_s)
    assert (found[0].start_s, found[-1].end_s) == (0, 100)
    assert all(one.end_s == two.start_s and one.state != two.state for one, two in pairwise(found))
    assert all(one.end_s > one.start_s for one in found)
    for start, end in ordered(activities):
        middle = (start + min(end, 100)) / 2
        state = next(one.state for one in found if one.end_s >= middle)
        # Times of 100 s have 14 digits behind the point: a shorter activity may have no middle.
        assert state in ("promotion", "active", "short", "long") or end - start < 1e-12


@given(ACTIVITIES, TIMERS, st.floats(0, 100), st.sampled_from(sorted(CELLULAR)))
def test_the_energy_of_two_intervals_adds_up(
    activities: list[tuple[float, float]], timers: Timers, cut: float, name: str
) -> None:
    radio = replace(CELLULAR[name], timers=timers)
    found = connection(ordered(activities), 100.0, timers, radio.promotion_s)
    parts = [
        [Interval(state, max(start, low), min(end, high)) for state, start, end in found if start < high and end > low]
        for low, high in ((0.0, cut), (cut, 100.0))
    ]
    total = radio.connection_j(found)
    assert total >= 0
    assert sum(radio.connection_j(part) for part in parts) == pytest.approx(total, abs=1e-9)


def test_a_phone_spends_its_energy_in_the_tail() -> None:
    """By hand with the LTE phone: 0.26 s · 1.21 W + 11.6 s · 1.06 W, to the one per cent by which listening exceeds it,
    some milliseconds of activity, and 43 ms of each 1.28 s at 0.59 W."""
    records = over_a_line(coap(period="100 s", count=1), duration="60 s", rate="1 Mbps")
    (row,) = cellular(records).iter_rows(named=True)
    assert (row["promotions"], row["messages"]) == (1, 1)
    idle = 0.59 * 0.043 / 1.28 * (60 - 11.6 - 0.26)
    assert row["joules_per_message"] == pytest.approx(0.26 * 1.21 + 11.6 * 1.06 + idle, rel=0.01)


def test_a_byte_of_a_phone_costs_what_its_rate_says() -> None:
    """438 mW per Mbit/s: 10 Mbit sent cost 4.38 J at any rate. A transfer of 1.25 MB with its headers, and ACKs."""
    flow = cwndlab.Flow("cubic", rtt="60 ms", workload=W.Bulk(bytes="1.25 MB"))
    records = over_a_line(flow, duration="30 s", rate="10 Mbps")
    (traffic,) = devices(records)
    up = float(traffic.bytes[traffic.is_sent].sum())
    down = float(traffic.bytes[~traffic.is_sent].sum())
    assert CELLULAR["lte-phone"].packets_j(traffic) == pytest.approx(0.438e-6 * 8 * up + 0.052e-6 * 8 * down)
    assert 8 * up == pytest.approx(10e6, rel=0.06)
    (sink,) = devices(records, "sink")
    assert float(sink.bytes[~sink.is_sent].sum()) == pytest.approx(up)


def test_one_message_over_nb_iot_by_hand(meter: cwndlab.Records) -> None:
    """Lauridsen's powers, three messages in 900 s: each 1 s of promotion, and from its end 0.1 s at 213 mW, 0.64 s with
    10 ms of 40 ms and 19.26 s with 10 ms of 320 ms at 213 mW and 21 mW else; 146 B up at 50 kbit/s at 503 mW more."""
    (row,) = cellular(meter, "nb-iot-measured").iter_rows(named=True)
    short, long = 0.25 * 0.213 + 0.75 * 0.021, 0.213 / 32 + 0.021 * 31 / 32
    tail = 0.1 * 0.213 + 0.64 * short + 19.26 * long
    idle = 13e-6 + 0.01 / 1.28 * (0.213 - 13e-6)
    sent = row["send_s"] / 3
    by_hand = 0.213 + tail + sent * (0.716 - 0.213) + idle * (300 - 21)
    assert row["messages"] == row["promotions"] == 3
    assert sent * 50e3 / 8 == pytest.approx(153)
    assert row["energy_j"] == pytest.approx(3 * by_hand, rel=1e-6)


def test_extended_cycles_and_power_saving_mode_trade_reach_for_energy(meter: cwndlab.Records) -> None:
    """Each message keeps the device reachable for 21 s and, with T3324, 10 s more."""
    radio = CELLULAR["nb-iot-measured"]
    plain, extended, saving = (
        cellular(meter, one).row(0, named=True)
        for one in (radio, radio.with_timers(edrx_s=20.48), radio.with_timers(active_s=10))
    )
    assert plain["energy_j"] > extended["energy_j"] > saving["energy_j"]
    assert (plain["reachable_share"], extended["reachable_share"]) == (1, 1)
    assert saving["reachable_share"] == pytest.approx(3 * 31 / 900)
    assert saving["asleep_s"] == pytest.approx(900 - 3 * 31)
    # An update each 100 s after the release: two more between messages at 300 s intervals.
    updating = cellular(meter, radio.with_timers(active_s=10, tau_s=100)).row(0, named=True)
    assert updating["promotions"] == 9


def test_lte_m_has_the_currents_of_its_product_specification() -> None:
    """Nordic, nRF9160 Product Specification: currents in eDRX, with nothing stated but the cycle, and asleep, energy of
    a tracking area update."""
    radio = CELLULAR["lte-m"]
    for cycle_s, current_a in ((81.92, 18e-6), (655.36, 6e-6)):
        network = radio.with_timers(edrx_s=cycle_s)
        assert network.power_w("edrx") / 3.7 == pytest.approx(current_a, rel=1e-3)
    assert radio.power_w("psm") / 3.7 == pytest.approx(2.7e-6)
    assert radio.connection_j([Interval("promotion", 0.0, 1.5)]) == pytest.approx(0.105)


def test_waits_of_cycles_by_hand() -> None:
    timers = Timers(tail_s=10, edrx_s=20.48, window_s=2.56)
    assert state_wait("idle", timers).mean_s == pytest.approx(0.64)
    assert state_wait("active", timers).max_s == 0
    # Eleven of twelve and a half: outside the window of 2.56 s it waits for 8.96 s on average, inside for 0.64 s.
    assert state_wait("edrx", timers).mean_s == pytest.approx(0.875 * 8.96 + 0.125 * 0.64)
    assert state_wait("edrx", timers).max_s == pytest.approx(17.92)
    assert periodic_wait(0.04, 0.01).mean_s == pytest.approx(0.03**2 / 2 / 0.04)
    assert periodic_wait(0.04, 0.01).exceeds(0.015) == pytest.approx(0.75 / 2)


@given(st.floats(0.01, 10), st.floats(0, 10))
def test_the_mean_wait_is_that_of_its_distribution(cycle: float, on: float) -> None:
    wait = periodic_wait(cycle, on)
    grid = np.linspace(0, wait.max_s, 11)
    mean = np.trapezoid([wait.exceeds(value) for value in grid.tolist()], grid)
    assert wait.mean_s == pytest.approx(mean, rel=1e-6, abs=1e-9)


def test_a_message_to_a_device_waits_for_paging_or_for_its_next_connection() -> None:
    """A server sends a message each 100 s; the device only listens. Idle, each one waits for 0.64 s on average; in
    power saving mode until the next update, 150 s after the last release."""
    source = cwndlab.Flow(transport="udp", rtt="60 ms", workload=W.Cbr(rate="8 bps", packet="100 B"), start="10 s")
    records = over_a_line(source, duration="300 s")
    waits = energy.paging_waits(records, "nb-iot", end="sink")
    assert waits["state"].to_list() == ["idle"] * 3
    assert waits["mean_s"].to_list() == pytest.approx([0.64] * 3)
    assert waits["over_1s"].to_list() == pytest.approx([0.28 / 1.28] * 3)
    saving = CELLULAR["nb-iot"].with_timers(active_s=10, tau_s=150)
    found = energy.paging_waits(records, saving, end="sink")
    first = found["time_s"][0]
    assert found["state"].to_list() == ["psm"] * 3
    # Released 21 s after the first packet.
    assert found["mean_s"][0] == pytest.approx(150 - first)
    assert found["mean_s"][1] == pytest.approx(first + 1 + 20 + 150 - found["time_s"][1])
    never = energy.paging_waits(records, saving.with_timers(tau_s=None), end="sink")
    assert never["mean_s"].to_list() == [np.inf] * 3


@pytest.mark.parametrize(("own", "wait"), [(510.0, 10.0), (521.5, 21.5), (600.0, 100.0), (500.2, 700.0)])
def test_a_sleeping_device_is_reached_when_it_next_sends(
    own: float, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: a packet to a device that sleeps at 500 s waits for the next packet of its own, whether or not the
    connection that the run opened at 500 s still lives then; an answer after 0.2 s is not one. The one after is at
    1200 s."""
    begins = sorted([0.0, own, 1200.0, 500.0])
    count, none = len(begins), np.zeros(len(begins), dtype=bool)
    traffic = Traffic(
        *("radio", (0,), 2000.0, np.array(begins) != 500.0, np.array(begins), np.array(begins) + 0.01),
        *(np.full(count, 0.01), np.full(count, 100.0), np.full(count, 60.0), none, none, none),
    )
    radio = CELLULAR["nb-iot"].with_timers(active_s=2, tau_s=86_400)
    monkeypatch.setattr(sys.modules["cwndlab.energy.cellular"], "devices", lambda records, end: [traffic])
    records: Any = None
    found = energy.paging_waits(records, radio).row(0, named=True)
    assert (found["state"], found["mean_s"]) == ("psm", pytest.approx(wait))


def test_keep_alives_cost_promotions_and_tails(sensor: cwndlab.Records) -> None:
    """PINGREQ each 30 s over a tail of 11.6 s: of 30 connections 27 are those of keep-alives."""
    (traffic,) = devices(sensor)
    data = traffic.is_keep_alive & (traffic.payload_bytes > 0)
    assert set(traffic.payload_bytes[data].tolist()) == {2}
    # PINGREQ and its answer, and an ACK of each.
    assert traffic.is_keep_alive.sum() == 2 * data.sum() == 4 * (data & traffic.is_sent).sum()
    (row,) = cellular(sensor).iter_rows(named=True)
    (without,) = cellular(over_a_line(mqtt(period="300 s", keep_alive="0 s"), duration="900 s")).iter_rows(named=True)
    assert row["promotions"] == without["promotions"] + (data & traffic.is_sent).sum()
    assert row["keep_alive_share"] == pytest.approx(1 - without["energy_j"] / row["energy_j"], rel=0.01)
    for tls, record in (("1.2", 29), ("1.3", 22)):
        secured = over_a_line(mqtt(period="300 s", keep_alive="30 s", tls=tls), duration="100 s")
        (traffic,) = devices(secured)
        sizes = traffic.payload_bytes[traffic.is_keep_alive & (traffic.payload_bytes > 0)]
        assert set(sizes.tolist()) == {2 + record}


def test_retransmissions_have_a_share() -> None:
    path = cwndlab.Dumbbell(
        cwndlab.Link(rate="50 kbps", delay="30 ms", loss=[cwndlab.scenario.losses.Bernoulli(p=0.2)])
    )
    flows = [mqtt(period="20 s")]
    scenario = cwndlab.Scenario(duration="300 s", dumbbell=path, flows=flows, packets=True)
    records = cwndlab.run(scenario, seed=1)
    (row,) = lowpan(records).iter_rows(named=True)
    assert 0.01 < row["retransmission_share"] < 0.5


def test_flows_of_one_device_share_its_connection() -> None:
    """Two flows of one node: as many promotions as one of them, since their messages coincide."""
    text = """
schema_version = 1
duration = "100 s"
packets = true
node = [{ name = "bed" }, { name = "cell" }]
[[link]]
from = "bed"
to = "cell"
rate = "100 kbps"
delay = "30 ms"
[[flow]]
transport = "udp"
from = "bed"
to = "cell"
count = 2
workload = { kind = "coap", period = "50 s", payload = "50 B" }
service = { deadline = "1 s" }
"""
    (row,) = cellular(cwndlab.run(cwndlab.Scenario.from_toml(text), seed=1)).iter_rows(named=True)
    assert (row["device"], row["promotions"], row["messages"]) == ("bed-cell", 2, 4)


# -- 802.15.4 ---------------------------------------------------------------------------------------------------------


def test_the_largest_frame_by_hand() -> None:
    """133 B · 32 µs = 4.256 ms; 3 V · 6.40 mA = 19.2 mW; 82 µJ."""
    assert airtime_s(127) == pytest.approx(4.256e-3)
    assert airtime_s(127) * LOWPAN["nrf52840"].send_w == pytest.approx(81.7e-6, rel=1e-3)


def test_channel_access_by_hand() -> None:
    """On a busy channel each of five assessments fails: 3.5 + 7.5 + 3 · 15.5 units of 320 µs, and nothing is sent. Half
    of the transmissions without answer: 1 + 1/2 + 1/4 + 1/8 attempts, each waiting for 864 µs or for 192 + 352 µs."""
    busy = access(50, Mac(busy=1.0))
    assert busy.backoff_s == pytest.approx(57.5 * 320e-6)
    assert busy.listen_s == pytest.approx(5 * 128e-6)
    assert busy.send_s == 0
    # Nothing is repeated that was not sent; ns-3 drops such a packet, too (lr-wpan-mac.cc). With half of the frames
    # lost, one of 0.9⁵ accesses fails, and the second attempt is reached with probability (1 − 0.9⁵) / 2 = 0.204755.
    assert access(50, Mac(busy=1.0, frame_error=1.0)) == busy
    both = access(50, Mac(busy=0.9, frame_error=0.5))
    assert both.send_s == pytest.approx((1 + 0.204755 + 0.204755**2 + 0.204755**3) * 0.40951 * 56 * 32e-6)
    lossy = access(50, Mac(frame_error=0.5))
    assert lossy.send_s == pytest.approx(1.875 * 56 * 32e-6)
    assert lossy.listen_s == pytest.approx(1.875 * (128e-6 + 192e-6 + 0.5 * 864e-6 + 0.5 * (192e-6 + 352e-6)))


def test_fragments_by_hand() -> None:
    """Headers of 11 + 7 + 7 B: 102 B fit into one frame. Then 96 + 96 + … with 4 and 5 B of fragment header."""
    mac = Mac()
    assert mac.frames(102) == [127]
    assert mac.frames(103) == [11 + 4 + 14 + 96, 11 + 5 + 7]
    assert mac.frames(300) == [125, 11 + 5 + 104, 11 + 5 + 100]
    # A segment of TCP: 20 + 12 B of header, of which nothing is compressed.
    assert mac.frames(0, 32) == [11 + 7 + 32]


@given(st.integers(0, 1280), st.integers(0, 1280), st.integers(0, 12), st.integers(2, 40))
def test_frames_fit_carry_everything_and_grow_with_the_payload(one: int, two: int, security: int, ipv6: int) -> None:
    mac = Mac(security_bytes=security, ipv6_bytes=ipv6)
    sums = []
    for payload in sorted((one, two)):
        frames = mac.frames(payload)
        assert max(frames) <= 127
        fragment = 0 if len(frames) == 1 else 4 + 5 * (len(frames) - 1)
        assert sum(frames) == payload + ipv6 + 7 + fragment + len(frames) * (11 + security)
        sums.append(sum(airtime_s(frame) for frame in frames))
    assert sums == sorted(sums)


def test_one_message_over_802_15_4_by_hand(meter: cwndlab.Records) -> None:
    """125 B of UDP payload: two frames of 125 and 45 B; the answer of 8 B: one of 33 B. Each is acknowledged."""
    (traffic,) = devices(meter)
    assert set(traffic.payload_bytes.tolist()) == {125, 8}
    (row,) = lowpan(meter).iter_rows(named=True)
    radio = LOWPAN["nrf52840"]
    send = (6 + 125 + 6 + 45 + 11) * 32e-6
    answered = 128e-6 + 192e-6 + 192e-6 + 352e-6
    wait = float((traffic.begin_s[~traffic.is_sent] - traffic.end_s[traffic.is_sent]).mean())
    listen = 2 * answered + (6 + 33) * 32e-6 + 192e-6 + wait
    by_hand = radio.send_w * send + radio.receive_w * listen + radio.sleep_w * (300 - send - listen)
    assert (row["frames"], row["messages"]) == (9, 3)
    assert row["joules_per_message"] == pytest.approx(by_hand, rel=1e-6)
    router = lowpan(meter, mac=Mac(always_on=True)).row(0, named=True)
    assert router["power_w"] == pytest.approx(radio.receive_w, rel=1e-3)


# -- hosts, batteries, tables -----------------------------------------------------------------------------------------


def test_bare_acks_cost_the_host(ward: cwndlab.Records) -> None:
    """The cross-factor of a Soekris, 0.93 mJ, per packet in each direction."""
    records = over_a_line(
        cwndlab.Flow("cubic", rtt="60 ms", workload=W.Bulk(bytes="100 kB")), duration="30 s", rate="1 Mbps"
    )
    (traffic,) = devices(records)
    row = cellular(records, host="soekris-net4826").row(0, named=True)
    acks = int((~traffic.is_sent).sum())
    assert acks > 30
    assert row["host_j"] == pytest.approx(0.93e-3 * (int(traffic.is_sent.sum()) + acks))
    assert row["energy_j"] == pytest.approx(cellular(records)["energy_j"][0] + row["host_j"])
    packets = dict(ward.links.select("name", "sent_packets").iter_rows())
    beds = stations(ward, host="soekris-net4826").filter(station="bed-1").row(0, named=True)
    assert beds["host_j"] == pytest.approx(0.93e-3 * (packets["bed-1-ap"] + packets["ap-bed-1"]))


def test_aes_ccm_in_software_by_hand() -> None:
    """74 cycles per byte and two blocks of 645 cycles at 0.159 nJ: 100 B cost 1.38 µJ, less than two bytes on the air
    of 802.15.4."""
    found = HOSTS["cortex-m-aes-ccm"].joules(sent=1, received=0, size=100)
    assert found == pytest.approx((7389 + 1289) * 0.159e-9, rel=1e-3)
    assert found < 3 * 32e-6 * LOWPAN["nrf52840"].send_w


def test_batteries_by_hand() -> None:
    """CR2032: 230 mAh at 3 V are 2484 J, of which 80 % can be used: 1987 messages of a joule."""
    assert BATTERIES["cr2032"].joules == pytest.approx(2484)
    assert battery("cr2032").messages(1.0) == pytest.approx(1987.2)
    # Self-discharge alone: 1 % per year.
    assert battery("5-wh").lifetime_years(0.0) == pytest.approx(100)
    # 5 Wh at a mean of 40 µW: 14.4 kJ / (40e-6 · 31.5576e6 + 144) J per year.
    assert battery("5-wh").lifetime_years(40e-6) == pytest.approx(14_400 / (40e-6 * 31_557_600 + 144))


def test_a_sweep_has_the_energy_of_each_cell() -> None:
    """The measure of a sweep: a longer period costs more per message, and less power."""

    def measure(records: cwndlab.Records) -> dict[str, float | None]:
        return energy.summary(cellular(records, "nb-iot"), battery="5-wh")

    flows = [coap(period="10 s", payload="50 B")]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="50 kbps", delay="30 ms"))
    scenario = cwndlab.Scenario(duration="200 s", dumbbell=path, flows=flows, packets=True)
    over = {"flow[0].workload.period": ["10 s", "50 s"]}
    result = cwndlab.sweep(scenario, over=over, seeds=[1], measure=measure)
    rows = result.runs.sort("power_w")
    assert rows["joules_per_message"][0] > rows["joules_per_message"][1]
    for row in rows.iter_rows(named=True):
        assert row["lifetime_years"] == pytest.approx(battery("5-wh").lifetime_years(row["power_w"]))
        assert row["messages_per_battery"] == pytest.approx(battery("5-wh").messages(row["joules_per_message"]))


@pytest.mark.parametrize("radio", sorted(CELLULAR))
@given(powers=st.lists(st.floats(0, 2), min_size=8, max_size=8))
def test_energy_is_never_negative(radio: str, powers: list[float]) -> None:
    names = ("promotion_w", "listen_w", "doze_w", "paging_w", "idle_w", "sleep_w")
    values: dict[str, Any] = dict(zip(names, powers, strict=False))
    one = replace(CELLULAR[radio], **values)
    assert all(one.power_w(state) >= 0 for state in ("promotion", "active", "short", "long", "idle", "edrx", "psm"))


def test_an_unknown_name_is_named(ward: cwndlab.Records) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: stations(ward, "esp23"), "no radio is called 'esp23'"),
        (lambda: cellular(ward, "lte"), "no radio is called 'lte'"),
        (lambda: lowpan(ward, "nrf"), "no radio is called 'nrf'"),
        (lambda: stations(ward, host="mine"), "no host is called 'mine'"),
        (lambda: energy.host("mine"), "no host is called 'mine'"),
        (lambda: battery("aaa"), "no battery is called 'aaa'"),
        (lambda: PowerSave(mode="none"), "no mode is called 'none'"),  # type: ignore[arg-type]
        (lambda: PowerSave(dtim=0), "dtim: 0 is not above 0"),
        (lambda: PowerSave(stay_s=-1), "stay_s: -1 is below 0"),
        (lambda: Timers(tail_s=-1), "tail_s: -1 is below 0"),
        (lambda: Timers(tail_s=1, edrx_s=0), "edrx_s: 0 is not above 0"),
        (lambda: Mac(busy=1.5), "busy: 1.5 is not between 0 and 1"),
        (lambda: Mac(security_bytes=50), "headers of 128 B do not fit into a frame"),
        (lambda: cellular(ward, end="middle"), "no end is called 'middle'"),  # type: ignore[arg-type]
    ]
    for call, message in calls:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_what_a_run_lacks_is_named(ward: cwndlab.Records) -> None:
    scenario = cwndlab.Scenario.from_toml(WARD)
    short = cwndlab.run(scenario.with_(duration="1 s", packets=False), seed=1)
    calls: list[Callable[[], object]] = [
        lambda: cellular(short),
        lambda: lowpan(short),
        lambda: stations(short, power_save=PowerSave()),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="the run has no packets"):
            call()
    fast = over_a_line(cwndlab.Flow("cubic", rtt="60 ms"), duration="5 s", rate="1 Mbps")
    with pytest.raises(ArgumentError, match=r"the frames of 's0-r1' take .* s in a run of 5 s"):
        lowpan(fast)
    text = WARD.replace(', access_point = "ap"', "").replace('"20 s"', '"1 s"')
    without = cwndlab.run(cwndlab.Scenario.from_toml(text), seed=1)
    with pytest.raises(ArgumentError, match="the medium 'ward' has no access point"):
        stations(without, power_save=PowerSave())
