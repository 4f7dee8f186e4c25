"""TCP settings of Windows and Linux as the stack of a scenario."""

from __future__ import annotations

from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.live import preflight
from cwndlab.live.preflight import tcp
from cwndlab.live.preflight.captured import Unknown
from preflight_outputs import (
    INTERNET,
)


def test_the_settings_of_the_study_become_its_profile() -> None:
    """`windows-10-20h1` was written from the same table."""
    settings, names = preflight.windows_settings(INTERNET)
    assert names == ["Automatic", "Internet"]
    assert preflight.profile_of(settings) == {
        "min_rto": "300 ms",
        "initial_window": 10,
        "idle_restart": "off",
        "ack_delay": "40 ms",
        "ack_every": 2,
        "auto_tuning": True,
        "ecn": "off",
        "timestamps": False,
        "initial_rto": "1000 ms",
        "syn_retries": 4,
    }
    other, _ = preflight.windows_settings(INTERNET, template="automatic")
    assert preflight.profile_of(other) == {}
    with pytest.raises(ScenarioError) as refused:
        preflight.windows_settings(INTERNET, template="Datacentre")
    assert str(refused.value) == (
        "--template: no template is called 'Datacentre'\n  hint: there are Automatic, Internet"
    )


def test_the_settings_of_linux_are_its_sysctls(tmp_path: Path) -> None:
    folder = tmp_path / "ipv4"
    folder.mkdir()
    values = {"tcp_ecn": "1", "tcp_sack": "0", "tcp_rmem": "4096\t131072\t6291456", "tcp_rto_min_us": "5500"}
    for name, value in (values | {"tcp_fastopen_key": "0-1-2-3", "tcp_stdurg": "0"}).items():
        (folder / name).write_text(f"{value}\n")
    found = {one.name: one for one in preflight.linux_settings(tmp_path)}
    assert found["net.ipv4.tcp_rmem"].value == "4096 131072 6291456"
    told = preflight.profile_of(found.values())
    assert told == {"ecn": "classic", "sack": False, "min_rto": "5500 us", "initial_window": told["initial_window"]}
    everything = {one.name for one in preflight.linux_settings(tmp_path, everything=True)}
    assert "net.ipv4.tcp_stdurg" in everything
    assert "net.ipv4.tcp_fastopen_key" not in everything  # it opens connections in another's name
    with pytest.raises(Unknown, match="this is no Linux"):
        preflight.linux_settings(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("value", "form"),
    [("0", "off"), ("1", "classic"), ("2", "off"), ("3", "accurate"), ("4", "classic"), ("5", "off")],
)
def test_the_form_of_ecn_is_that_which_connections_request(value: str, form: str, tmp_path: Path) -> None:
    """`include/net/tcp_ecn.h`: 1 (TCP_ECN_IN_ECN_OUT_ECN) and 4 (TCP_ECN_IN_ACCECN_OUT_ECN) request classic ECN, 3
    (TCP_ECN_IN_ACCECN_OUT_ACCECN) Accurate ECN, 2 and 5 (OUT_NOECN) none."""
    folder = tmp_path / "ipv4"
    folder.mkdir()
    (folder / "tcp_ecn").write_text(f"{value}\n")
    assert preflight.profile_of(preflight.linux_settings(tmp_path))["ecn"] == form


def test_a_profile_is_a_stack_that_a_scenario_takes() -> None:
    for settings in (preflight.windows_settings(INTERNET)[0], preflight.linux_settings()):
        scenario = {
            "schema_version": 1,
            "duration": "1 s",
            "dumbbell": {"bottleneck": {"rate": "1 Mbps", "delay": "1 ms", "queue": {"capacity": "10 packets"}}},
            "flow": [{"algorithm": "reno", "rtt": "10 ms", "stack": preflight.profile_of(settings)}],
        }
        cwndlab.run(scenario, seed=1)


def test_the_initial_window_of_a_route_is_found() -> None:
    routes = "10.0.0.0/8 dev eth1 initcwnd 40\ndefault via 192.0.2.1 dev eth0 proto dhcp initcwnd 20 initrwnd 30\n"
    assert tcp.initial_window(routes)[0] == 20
    assert tcp.initial_window("default via 192.0.2.1 dev eth0\n")[0] == 10
