"""`cwndlab preflight`: what it shows, and what cannot be found out."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from cwndlab.live import preflight
from preflight_outputs import (
    INTERNET,
    IW,
    NETSH_INTERFACES,
    NETSH_NEAR,
    TRACERT,
)


def test_a_list_of_netsh_without_interfaces_says_that_the_own_network_is_unknown(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "netsh.txt"
    file.write_text(NETSH_NEAR)
    _, _, err = cli("preflight", "--wifi", file)
    assert "unknown: the network that this machine is joined to: `netsh wlan show networks` does not mark it" in err
    file.write_text(NETSH_NEAR + NETSH_INTERFACES.format(label="BSSID"))
    _, _, err = cli("preflight", "--wifi", file)
    assert "the network that this machine is joined to (Home) does not count" in err
    assert "does not mark it" not in err
    file.write_text(NETSH_NEAR + NETSH_INTERFACES.format(label="Kein"))
    _, _, err = cli("preflight", "--wifi", file)
    assert "joined" not in err


def test_netsh_is_asked_for_networks_and_interfaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in on the path prints what Windows' netsh prints for each of its two commands."""
    (tmp_path / "list").write_text(NETSH_NEAR)
    (tmp_path / "interfaces").write_text(NETSH_INTERFACES.format(label="AP BSSID"))
    tool = tmp_path / "netsh"
    tool.write_text(f'#!/bin/sh\ncase "$3" in networks) file=list ;; *) file=interfaces ;; esac\n'
                    f'while IFS= read -r line; do echo "$line"; done < {tmp_path}/$file\n')  # fmt: skip
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("cwndlab.live.preflight.surveying.wireless_devices", list)
    survey = preflight.survey(None)
    assert [(one.ssid, one.associated) for one in survey.networks] == [("Home", True), ("Neighbour", False)]


def test_the_verb_shows_what_there_is_and_says_what_is_not(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    scan, stack, way, kept = (tmp_path / name for name in ("scan", "stack", "way", "kept.json"))
    scan.write_text(IW.replace("SSID: six", "SSID: \\x1b[2J"))
    stack.write_text(INTERNET, encoding="utf-16")
    way.write_text(TRACERT)
    files = ("--wifi", scan, "--tcp-settings", stack, "--route", way)
    status, out, err = cli("preflight", "no-such-host.invalid", *files, "--out", kept)
    assert status == 0
    assert "  3  203.0.113.9       3         3      11       12      13" in out
    assert "café: \\net" in out
    assert "\\x1b[2J" in out
    assert "\x1b" not in out
    assert 'DelayedAckTimeout(ms)         40             ack_delay = "40 ms"' in out
    assert "unknown: address: 'no-such-host.invalid' has no address" in err
    assert "template Internet of Automatic, Internet" in err
    told = json.loads(kept.read_text())
    assert [one["channel"] for one in told["channels"] if one["least"]] == [1]
    status, out, _ = cli("preflight", *files, "--format", "json")
    assert json.loads(out)["stack"] == told["stack"]
    assert json.loads(out)["unknown"] == []
    status, out, err = cli("preflight", "--wifi", tmp_path / "none")
    assert (status, err) == (
        2,
        f"{tmp_path / 'none'}: there is no such file\n  hint: a file with a Wi-Fi survey\n",
    )


def test_a_machine_without_the_tools_says_so(
    cli: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("cwndlab.live.preflight.surveying.wireless_devices", list)
    status, _, err = cli("preflight")
    assert status == 0
    assert (
        "unknown: Wi-Fi: this machine has no Wi-Fi device; `nmcli` is not installed; `netsh` is not installed\n"
    ) in err
