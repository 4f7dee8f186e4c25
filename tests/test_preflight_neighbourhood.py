"""A Wi-Fi survey as a scenario of the neighbourhood: `cwndlab preflight --wifi FILE --scenario FILE`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.live.preflight import neighbourhood_scenario, parse_networks
from cwndlab.live.preflight.wifi import Network
from hypothesis import given
from hypothesis import strategies as st
from preflight_outputs import IW, NETSH_GERMAN, NETSH_INTERFACES, NETSH_NEAR, NMCLI, TERSE

NEAR = NETSH_NEAR + NETSH_INTERFACES.format(label="AP BSSID")


def scenario(text: str) -> cwndlab.Scenario:
    return cwndlab.Scenario.from_toml(neighbourhood_scenario(parse_networks(text)))


@pytest.mark.parametrize("text", [NEAR, IW, NMCLI, NETSH_GERMAN], ids=["netsh", "iw", "nmcli", "netsh-german"])
def test_what_each_tool_prints_is_a_scenario_that_runs(text: str) -> None:
    records = cwndlab.run(scenario(text).with_({"duration": "2 s"}), seed=1)
    assert records.flows["delivered_bytes"][0] > 0
    assert set(records.stations["medium"]) >= {"own"}


def test_the_own_network_is_no_neighbour_and_distances_follow_from_powers() -> None:
    """By hand: 90 % are -55 dBm, and 20 + 55 - 40.05 dB at 30 dB per decade are 14.6 m; 40 % are -80 dBm, 99.6 m."""
    document = json.loads(scenario(NEAR).to_json())
    places = {node["name"]: node for node in document["node"]}
    assert [medium["channel"] for medium in document["medium"]] == [11, 6]
    assert places["ap"]["position"][0] == pytest.approx(14.6, abs=0.05)
    other = places["neighbour-1-ap"]
    assert math.hypot(*other["position"]) == pytest.approx(99.6, abs=0.1)
    assert "neighbour-2-ap" not in places


def test_networks_of_one_device_are_one_neighbour_and_share_its_load() -> None:
    """Two names of one access point on channel 6, and another device there: a busy channel is busy by both devices, by
    hand 60 % / 2 = 30 % each, of 31.4 Mbit/s."""
    listed = [
        Network("one", "02:11:22:33:44:50", 6, 2437, -60.0, utilisation=0.6),
        Network("guests", "06:11:22:33:44:51", 6, 2437, -61.0, utilisation=0.6),
        Network("other", "aa:bb:cc:dd:ee:ff", 6, 2437, -70.0, utilisation=0.6),
    ]
    document = json.loads(cwndlab.Scenario.from_toml(neighbourhood_scenario(listed)).to_json())
    loads = [flow["workload"]["rate"] for flow in document["flow"] if flow["name"] != "download"]
    assert loads == ["9.42 Mbps", "9.42 Mbps"]


def test_a_neighbour_on_the_same_channel_costs_throughput_and_elsewhere_it_does_not() -> None:
    """By hand: 60 % of 31.4 Mbit/s are 18.8 of the 60.9 Mbit/s that full aggregates at MCS 7 carry (ns-3's cell
    "a-mpdu 1 mcs 7"): 42 are left on the same channel. On another one the download gets more."""
    listed = [
        Network("mine", "00:11:22:33:44:55", 6, 2437, -45.0, associated=True),
        Network("busy", "66:77:88:99:aa:bb", 6, 2437, -59.0, utilisation=0.6),
    ]
    base = cwndlab.Scenario.from_toml(neighbourhood_scenario(listed)).with_({"duration": "20 s"})
    same, elsewhere = (
        cwndlab.run(base.with_({"medium[0].channel": channel}), seed=1).flows["delivered_bytes"][0] * 8 / 20e6
        for channel in (6, 11)
    )
    assert same < min(42, 0.9 * elsewhere)


def test_the_command_writes_the_scenario_and_the_command_that_compares_channels(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    survey, place = tmp_path / "survey.txt", tmp_path / "neighbourhood.toml"
    survey.write_text(NEAR)
    status, _, err = cli("preflight", "--wifi", survey, "--scenario", place)
    assert status == 0
    assert f"scenario: {place}" in err
    text = place.read_text()
    assert f"cwndlab compare {place} --algorithms cubic,bbr3 --flows download" in text
    assert "--alternative 'channel.6:medium[0].channel=6'" in text
    assert text.splitlines()[0].startswith(
        "# The neighbourhood of a Wi-Fi survey at 2.4 GHz: Home; 1 other access point"
    )


def test_a_survey_without_a_network_of_the_band_is_an_error() -> None:
    for networks, said in (
        ([], "no network at 2.4 GHz"),
        (parse_networks(TERSE)[1:2], "no network at 2.4 GHz"),
        ([Network("six", None, 1, 5955, -60.0, associated=True)], "the own network is at 6 GHz"),
        ([Network("japan", None, 14, 2484, -60.0, associated=True)], "the own network is on channel 14"),
    ):
        with pytest.raises(ScenarioError, match=said):
            neighbourhood_scenario(networks)


@given(
    st.lists(
        st.builds(
            Network,
            ssid=st.none() | st.text(max_size=8),
            bssid=st.none() | st.from_regex(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", fullmatch=True),
            channel=st.integers(1, 14) | st.sampled_from([36, 44, 149]),
            frequency_mhz=st.sampled_from([2412, 2437, 5180, 5745]),
            signal_dbm=st.floats(-100, -20),
            associated=st.booleans(),
            utilisation=st.none() | st.floats(0, 1),
        ),
        max_size=5,
    )
)
def test_any_survey_is_a_scenario_or_an_error(networks: list[Network]) -> None:
    try:
        text = neighbourhood_scenario(networks)
    except ScenarioError:
        return
    cwndlab.Scenario.from_toml(text)


#: A download from an access point to a phone near it.
CELL = """
schema_version = 1
duration = "3 s"
node = [{ name = "server" }, { name = "ap", position = [0, 0] }, { name = "phone", position = [5, 0] }]
medium = [{ name = "cell", standard = "802.11n", mcs = 7, channel = 1, access_point = "ap" }]
link = [
    { from = "server", to = "ap", rate = "1 Gbps", delay = "10 ms" },
    { from = "ap", to = "phone", medium = "cell", queue = { capacity = "20 packets" } },
]
flow = [{ algorithm = "cubic", from = "server", to = "phone" }]
"""


def test_a_comparison_says_what_the_radio_lost_and_what_the_queue_lost() -> None:
    """At 50 m MCS 7 is 19 dB above the noise, where some frames are lost; at 5 m 49 dB, where none is. A queue of
    20 packets drops what one of 5000 keeps. By hand: 40.05 dB + 30 log10(d / 1 m) of 16 dBm, noise -94 dBm."""
    worlds: dict[str, dict[str, Any]] = {
        "queue": {"medium[0].mcs": 7},
        "radio": {"node[2].position": [50, 0], "link[1].queue.capacity": "5000 packets"},
    }
    compared = cwndlab.compare(
        cwndlab.Scenario.from_toml(CELL), ["cubic"], seeds=2, alternatives={"world": worlds}, by="world"
    )
    queue, radio = cwndlab.study.tables.on_air(compared).values
    assert (queue["noise"], queue["lost_on_air"], radio["lost_in_queue"]) == (0, 0, 0)
    assert queue["lost_in_queue"] > 0.001
    assert radio["noise"] > 0.05


def test_a_comparison_names_the_radio_or_the_congestion_control() -> None:
    """A queue of 20 packets near the access point loses packets to the congestion control. At 52 m MCS 7 is 18.5 dB
    above the noise, by hand 16 - 40.05 - 30 log10(52) + 94, where half to nearly all frames fail (50 % at 18.8 dB by
    ns-3's table), and some packets fail seven times; a queue of 5000 packets loses none."""
    worlds: dict[str, dict[str, Any]] = {
        "queue": {"medium[0].mcs": 7},
        "radio": {"node[2].position": [52, 0], "link[1].queue.capacity": "5000 packets"},
    }
    compared = cwndlab.compare(
        cwndlab.Scenario.from_toml(CELL), ["cubic"], seeds=3, alternatives={"world": worlds}, by="world", perturb=True
    )
    queue, radio = cwndlab.study.tables.radio_or_control(compared)
    assert queue.label.startswith("queue")
    assert "0 % of these by the radio" in queue.text
    assert queue.text.endswith("To blame: the congestion control for both.")
    assert "100 % of these by the radio (most failures by noise)" in radio.text
    assert "To blame: the radio for" in radio.text


def test_the_radio_delays_a_packet_by_its_exchange() -> None:
    """By hand: a datagram of 1500 bytes alone at MCS 7 takes 382.5 us with its ACK, of which the airtime is without the
    interframe space and the backoff; without a queue the wait is the radio's."""
    alone = cwndlab.Scenario.from_toml(CELL).with_(
        {
            "flow[0]": {
                "transport": "udp",
                "from": "server",
                "to": "phone",
                "workload": {"kind": "cbr", "rate": "1 Mbps", "packet": "1500 B"},
            }
        }
    )
    found = cwndlab.metrics.radio(cwndlab.run(alone, seed=1)).filter(station="ap").row(0, named=True)
    assert 0.25 < found["radio_ms"] < 0.3825
    assert found["radio_ms"] == pytest.approx(found["wait_ms"], rel=0.5)


def test_a_cell_without_a_channel_has_no_table_of_the_radio() -> None:
    compared = cwndlab.compare("wlan", ["cubic"], seeds=1)
    assert not cwndlab.study.tables.on_air(compared).rows
    # A text of the scenario is no field.
    titled = cwndlab.presets.load("single").with_({"title": "medium", "duration": "1 s"})
    assert not cwndlab.study.tables.on_air(cwndlab.compare(titled, ["cubic"], seeds=1)).rows
