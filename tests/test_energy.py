"""Energy of devices: sums of power × time by hand, from the states of a run."""

from __future__ import annotations

import cwndlab
import numpy as np
import polars as pl
import pytest
from cwndlab.energy import BATTERIES, CELLULAR, WIFI, battery, cellular, connected_times, stations
from cwndlab.errors import ArgumentError
from hypothesis import given
from hypothesis import strategies as st

WARD = """
schema_version = 1
duration = "20 s"
node = [{ name = "server" }, { name = "ap" }, { name = "bed", count = 2 }]
medium = [{ name = "ward", standard = "802.11g" }]

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


@pytest.fixture(scope="module")
def ward() -> cwndlab.Records:
    return cwndlab.run(cwndlab.Scenario.from_toml(WARD), seed=1)


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
    heard = table.filter(pl.col("station") == "bed-1")["receive_s"][0]
    assert heard == pytest.approx(table.filter(pl.col("station") != "bed-1")["send_s"].sum())


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


def test_tails_and_promotions_by_hand() -> None:
    times = connected_times
    one, two = np.array([10.0]), np.array([12.0])
    assert times(one, two, 100, 5) == (2, 5, 1)
    assert times(one, two, 15, 5) == (2, 3, 1), "the run ends in the tail"
    assert times(one, np.array([np.inf]), 100, 5) == (90, 0, 1), "never delivered"
    assert times(np.array([0.0, 1.0]), np.array([4.0, 2.0]), 100, 5) == (4, 5, 1), "overlapping"
    assert times(np.array([]), np.array([]), 100, 5) == (0, 0, 0)
    assert times(np.array([100.0]), np.array([101.0]), 100, 5) == (0, 0, 0), "at the end of the run"


@given(
    st.lists(st.tuples(st.floats(0, 90), st.floats(0, 20)), max_size=30),
    st.floats(0.01, 30),
)
def test_states_never_exceed_the_run(activities: list[tuple[float, float]], tail: float) -> None:
    """Active time is that of the union of the activities, and the tails fit between them."""
    ordered = sorted(activities)
    starts = np.array([start for start, _ in ordered], dtype=float)
    ends = np.array([start + length for start, length in ordered], dtype=float)
    active, tails, promotions = connected_times(starts, ends, 100.0, tail)
    grid = np.linspace(0, 100, 20_001)[:-1] + 0.0025
    covered = np.zeros(len(grid), dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        covered |= (grid >= start) & (grid < end)
    assert active == pytest.approx(covered.mean() * 100, abs=0.005 * (len(ordered) + 1))
    assert active + tails <= 100 + 1e-9
    assert tails <= promotions * tail + sum(1 for _ in ordered) * tail + 1e-9
    assert (promotions > 0) == (len(ordered) > 0)


def test_one_message_of_a_meter_costs_a_promotion_and_a_tail() -> None:
    """By hand with the LTE phone: 0.26 s · 1.21 W + 11.6 s · 1.06 W and some milliseconds of activity."""
    coap = cwndlab.scenario.workloads.Coap(period="100 s", count=1)
    service = cwndlab.scenario.Service(deadline="5 s")
    meter = cwndlab.Flow(transport="udp", rtt="60 ms", workload=coap, service=service)
    path = cwndlab.Dumbbell(cwndlab.Link(rate="1 Mbps", delay="30 ms"))
    records = cwndlab.run(cwndlab.Scenario(duration="60 s", dumbbell=path, flows=[meter]), seed=1)
    (row,) = cellular(records).iter_rows(named=True)
    assert (row["promotions"], row["messages"]) == (1, 1)
    idle = CELLULAR["lte-phone"].idle_w * (60 - 11.6 - 0.26)
    assert row["joules_per_message"] == pytest.approx(0.26 * 1.21 + 11.6 * 1.06 + idle, rel=0.01)


def test_batteries_by_hand() -> None:
    """CR2032: 230 mAh at 3 V are 2484 J, of which 80 % can be used: 1987 messages of a joule."""
    assert BATTERIES["cr2032"].joules == pytest.approx(2484)
    assert battery("cr2032").messages(1.0) == pytest.approx(1987.2)
    # Self-discharge alone: 1 % per year.
    assert battery("5-wh").lifetime_years(0.0) == pytest.approx(100)
    # 5 Wh at a mean of 40 µW: 14.4 kJ / (40e-6 · 31.5576e6 + 144) J per year.
    assert battery("5-wh").lifetime_years(40e-6) == pytest.approx(14_400 / (40e-6 * 31_557_600 + 144))


def test_an_unknown_name_is_named(ward: cwndlab.Records) -> None:
    with pytest.raises(ArgumentError, match="no radio is called 'esp23'"):
        stations(ward, "esp23")
    with pytest.raises(ArgumentError, match="no radio is called 'lte'"):
        cellular(ward, "lte")
    with pytest.raises(ArgumentError, match="no battery is called 'aaa'"):
        battery("aaa")
