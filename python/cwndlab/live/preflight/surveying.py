"""All of it at once: what was found out, and what was not, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cwndlab.errors import Fault, ScenarioError
from cwndlab.live.preflight import captured, channels, route, rtt, tcp, wifi
from cwndlab.live.preflight.captured import Unknown

_Asked = TypeVar("_Asked")

#: Where no port is named: that of HTTPS.
PORT = 443


@dataclass(frozen=True)
class Target:
    """A host, and the port of its handshakes."""

    host: str
    port: int = PORT

    @classmethod
    def parse(cls, text: str) -> Target:
        """``HOST``, ``HOST:PORT``, ``[ADDRESS]:PORT`` or a URL; raises ``ScenarioError`` for anything else."""
        given = text if "://" in text else f"//{text if text.count(':') < 2 or '[' in text else f'[{text}]'}"
        try:
            parts = urlsplit(given)
            host, port = parts.hostname, parts.port
        except ValueError as cause:
            raise _no_host(text, str(cause).lower()) from None
        if not host or any(letter.isspace() or not letter.isprintable() for letter in host):
            raise _no_host(text, f"'{text}' names no host")
        if port == 0:
            raise _no_host(text, f"'{text}': nothing listens at port 0")
        usual = 80 if parts.scheme == "http" else PORT
        return cls(host, usual if port is None else port)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _no_host(text: str, what: str) -> ScenarioError:
    del text
    return ScenarioError(Fault("HOST", what, "write a name or an address: host.example, 192.0.2.7:8443"))


@dataclass
class Survey:
    """What a survey found out; ``unknown`` are (what, why) of the rest, ``notes`` how it is to be read."""

    target: Target | None = None
    address: str | None = None
    route: list[route.Hop] = field(default_factory=list)
    rtts: list[rtt.Rtts] = field(default_factory=list)
    networks: list[wifi.Network] = field(default_factory=list)
    channels: list[channels.Choice] = field(default_factory=list)
    settings: list[tcp.Setting] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        return {
            "host": None if self.target is None else self.target.host,
            "port": None if self.target is None else self.target.port,
            "address": self.address,
            "route": [one.as_dict() for one in self.route],
            "rtt": [one.as_dict() | {"samples_ns": list(one.samples_ns)} for one in self.rtts],
            "networks": [one.as_dict() for one in self.networks],
            "channels": [one.as_dict() for one in self.channels],
            "tcp": [one.as_dict() for one in self.settings],
            "stack": tcp.profile_of(self.settings),
            "unknown": [{"what": what, "why": why} for what, why in self.unknown],
            "notes": self.notes,
        }


def survey(
    target: Target | None,
    *,
    count: int = 10,
    method: route.Method | None = None,
    route_file: Path | None = None,
    wifi_file: Path | None = None,
    wifi_device: str = "",
    candidates: Sequence[int] = channels.CANDIDATES,
    settings_file: Path | None = None,
    template: str = "",
    everything: bool = False,
) -> Survey:
    """Surveys the path to ``target`` (optional), the received Wi-Fi networks, and the TCP of this machine.

    Files hold what a tool printed elsewhere and stand in for asking here; a fault in one raises ``ScenarioError``.
    """
    result = Survey(target)
    if target is not None:
        address = attempt(result, "address", lambda: rtt.reachable(target.host, target.port))
        if address is not None:
            result.address = address[1]
            _round_trips(result, target, address, count)
            if route_file is None:
                _route(result, address, method)
    if route_file is not None:
        result.route = route.parse_route(captured.read(route_file, "output of traceroute or tracert"), str(route_file))
    _wifi(result, wifi_file, wifi_device)
    if any(network.band == "2.4 GHz" for network in result.networks) or (wifi_file and not result.networks):
        result.channels = channels.least_overlapped(result.networks, candidates)
        _notes_of_wifi(result)
    if settings_file is not None:
        text = captured.read(settings_file, "output of Get-NetTCPSetting")
        result.settings, names = tcp.windows_settings(text, str(settings_file), template=template)
        shown = next((one.value for one in result.settings if one.name == "SettingName"), "?")
        result.notes.append(f"template {shown}" + (f" of {', '.join(names)}" if len(names) > 1 else ""))
    else:
        result.settings = attempt(result, "TCP settings", lambda: tcp.linux_settings(everything=everything)) or []
    return result


def attempt(result: Survey, what: str, ask: Callable[[], _Asked]) -> _Asked | None:
    """The answer, or nothing, with the reason kept."""
    try:
        return ask()
    except Unknown as why:
        result.unknown.append((what, str(why)))
        return None


def _round_trips(result: Survey, target: Target, address: rtt.Address, count: int) -> None:
    one = attempt(result, "RTT by TCP", lambda: rtt.tcp_connects(address, target.port, count=count))
    other = attempt(result, "RTT by ICMP", lambda: rtt.ping(address, count=count))
    for name, rtts in (("RTT by TCP", one), ("RTT by ICMP", other)):
        if rtts is not None:
            result.rtts.append(rtts)
            if not rtts.answered:
                result.unknown.append((name, f"none of {count} was answered"))


def _route(result: Survey, address: rtt.Address, method: route.Method | None) -> None:
    """By UDP; where that does not arrive, by a handshake, which firewalls let pass, or by the requested method."""
    assert result.target is not None
    port = result.target.port
    for one in (method,) if method else ("udp", "tcp"):
        traced = attempt(
            result,
            f"route by {one.upper()}",
            lambda one=one: route.trace(address, method=one, port=port if one == "tcp" else None),  # type: ignore[misc]
        )
        if traced:
            if not result.route or route.reached(traced, address):
                result.route = traced
                result.notes = [note for note in result.notes if not note.startswith("route ")]
                result.notes.append(f"route by {one.upper()}")
            if route.reached(traced, address):
                return
        elif traced is not None:
            result.unknown.append((f"route by {one.upper()}", "no hop answered"))
    if result.route:
        result.unknown.append(
            ("end of the route", "the host did not answer probes; hops after the last one are silent")
        )


def _wifi(result: Survey, file: Path | None, device: str) -> None:
    if file is not None:
        _networks(result, captured.read(file, "a Wi-Fi survey"), str(file))
        return
    reasons = []
    for tool, ask in (("iw", _by_iw), ("nmcli", _by_nmcli), ("netsh", _by_netsh)):
        try:
            text = ask(device)
        except Unknown as why:
            reasons.append(str(why))
            continue
        _networks(result, text, tool)
        if not result.networks:
            result.unknown.append(("Wi-Fi", "no network is received"))
        return
    result.unknown.append(("Wi-Fi", "; ".join(reasons)))


def _networks(result: Survey, text: str, where: str) -> None:
    """The networks in what a tool printed, and whether one of them may be the own one without a mark."""
    result.networks = wifi.parse_networks(text, where)
    if result.networks and not wifi.names_joined_network(text):
        why = (
            "`netsh wlan show networks` does not mark it, so that the own access point counts as a neighbour; append "
            "the output of `netsh wlan show interfaces`"
        )
        result.unknown.append(("the network that this machine is joined to", why))


def _by_iw(device: str) -> str:
    if not device:
        devices = wireless_devices()
        if not devices:
            raise Unknown("this machine has no Wi-Fi device")
        device = devices[0]
    return captured.run(("iw", "dev", device, "scan"))


def _by_nmcli(device: str) -> str:
    on = ("ifname", device) if device else ()
    return captured.run(("nmcli", "-t", "-f", wifi.NMCLI_FIELDS, "device", "wifi", "list", *on))


def _by_netsh(device: str) -> str:
    """The list, and the interfaces where netsh shows them: Windows 11 wants the permission to see the location."""
    on = (f"interface={device}",) if device else ()
    text = captured.run(("netsh", "wlan", "show", "networks", "mode=bssid", *on))
    with suppress(Unknown):
        text += "\n\n" + captured.run(("netsh", "wlan", "show", "interfaces"))
    return text


def wireless_devices(folder: Path = Path("/sys/class/net")) -> list[str]:
    """Names of the Wi-Fi devices of a Linux machine."""
    return sorted(place.parent.name for place in folder.glob("*/wireless"))


def _notes_of_wifi(result: Survey) -> None:
    unknown = sum(network.signal_dbm is None for network in result.networks if network.band == "2.4 GHz")
    own = next((network for network in result.networks if network.associated), None)
    result.notes.append(
        "load: power in milliwatts of all networks on channels less than five apart (IEEE 802.11-2016, clause 16)"
    )
    if own is not None:
        name = wifi.printable(own.ssid or own.bssid or "?")
        result.notes.append(f"the network that this machine is joined to ({name}) does not count")
    if unknown:
        result.notes.append(f"of {unknown} networks at 2.4 GHz the power is not known; the load is without them")
    if any(network.signal_percent is not None and network.signal_dbm is not None for network in result.networks):
        result.notes.append("dBm are reckoned from percentages, by the rule of the tool that tells them")
