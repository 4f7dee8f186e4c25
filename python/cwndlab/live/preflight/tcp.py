"""The settings of a TCP stack: Linux' sysctls as they stand, and what Windows' ``Get-NetTCPSetting`` prints.

Both become the same rows, and those that a scenario has a field for are named by it, so that `profile_of` is the
``stack = { … }`` of a flow that behaves like this machine. Sources: Linux' Documentation/networking/ip-sysctl.rst,
ip-route(8); the reference of the NetTCPIP module of PowerShell, Set-NetTCPSetting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, ScenarioError, unknown_name
from cwndlab.live.preflight.captured import Unknown, run


@dataclass(frozen=True)
class Setting:
    """A setting by the system's own name; ``field`` and ``stack`` are its name and value in a scenario's ``stack``,
    where that has it."""

    name: str
    value: str
    field: str = ""
    stack: str | int | bool | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}


#: Columns of a setting.
COLUMNS = ("name", "value", "field", "stack", "note")

_Reading = Callable[[str], "str | int | bool | None"]


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _milliseconds(text: str) -> str | None:
    return f"{_whole(text)} ms" if _whole(text) is not None else None


def _span(text: str) -> str | None:
    """A time of Windows' TCP: at most 60 s, the least upper bound of a retransmission timeout (RFC 6298, 2.5)."""
    number = _whole(text)
    return f"{number} ms" if number is not None and 1 <= number <= 60_000 else None


def _count(text: str) -> int | None:
    """A number that Windows keeps in a byte."""
    number = _whole(text)
    return number if number is not None and 1 <= number <= 255 else None


def _microseconds(text: str) -> str | None:
    number = _whole(text)
    return None if number is None else f"{number // 1000} ms" if number % 1000 == 0 else f"{number} us"


def _flag(text: str) -> bool | None:
    number = _whole(text)
    return None if number is None else number != 0


def _word(**words: str | bool) -> _Reading:
    return lambda text: words.get(text.lower())


def _ecn(text: str) -> str | None:
    return {"0": "off", "1": "classic", "2": "off", "3": "accurate", "4": "classic", "5": "off"}.get(text)


#: Sysctls that matter for congestion control: what a scenario calls them, how they read there, what they say.
_LINUX: dict[str, tuple[str, _Reading | None, str]] = {
    "tcp_congestion_control": ("", None, "algorithm of sockets that choose none"),
    "tcp_available_congestion_control": ("", None, "algorithms that are loaded"),
    "tcp_ecn": ("ecn", _ecn, "1 asks for ECN, 2 (default) only answers, 3 asks for accurate ECN"),
    "tcp_sack": ("sack", _flag, "selective acknowledgements (RFC 2018)"),
    "tcp_dsack": ("dsack", _flag, "reports of duplicates (RFC 2883)"),
    "tcp_timestamps": ("timestamps", _flag, "timestamps (RFC 7323): 12 bytes a segment, an RTT sample per ACK"),
    "tcp_window_scaling": ("", None, "without it no window is above 64 KiB"),
    "tcp_rmem": ("", None, "receive buffer: least, first, most bytes; the most bounds the receive window"),
    "tcp_wmem": ("", None, "send buffer: least, first, most bytes; the most bounds what is in flight"),
    "tcp_moderate_rcvbuf": ("auto_tuning", _flag, "the receive window grows with the flow"),
    "tcp_slow_start_after_idle": (
        "idle_restart",
        lambda text: {"0": "off", "1": "decay"}.get(text),
        "1: after an idle RTO the window decays (RFC 2861)",
    ),
    "tcp_rto_min_us": ("min_rto", _microseconds, "smallest retransmission timeout"),
    "tcp_rto_max_ms": ("max_rto", _milliseconds, "largest retransmission timeout"),
    "tcp_syn_retries": ("syn_retries", _whole, "SYNs that are sent again, beside those with linear timeouts"),
    "tcp_syn_linear_timeouts": ("syn_linear_timeouts", _whole, "SYNs that are sent again before the timeout doubles"),
    "tcp_reordering": ("dup_thresh", _whole, "reordering that is taken for loss, at first"),
    "tcp_recovery": ("", None, "bit 0: RACK finds losses (RFC 8985)"),
    "tcp_early_retrans": (
        "tail_loss_probe",
        lambda text: {"0": False, "3": True, "4": True}.get(text),
        "3: tail loss probes (RFC 8985)",
    ),
    "tcp_frto": ("", None, "spurious timeouts are found and undone (RFC 5682)"),
    "tcp_no_metrics_save": ("", None, "0: ssthresh and RTT of a destination are remembered for the next connection"),
    "tcp_pacing_ss_ratio": ("", None, "pacing rate in slow start, % of cwnd / srtt"),
    "tcp_pacing_ca_ratio": ("", None, "pacing rate afterwards, % of cwnd / srtt"),
    "tcp_min_tso_segs": ("pacing_quantum", _whole, "segments that leave at once at least"),
    "tcp_limit_output_bytes": ("", None, "bytes of a socket below TCP (TSQ)"),
    "tcp_notsent_lowat": ("", None, "bytes that may wait unsent before a socket counts as writable"),
    "tcp_mtu_probing": ("", None, "1 probes for the MTU after a black hole, 2 always"),
}
# A key of Fast Open opens connections in another's name: it is nobody's business.
_SECRET = frozenset({"tcp_fastopen_key"})
_COMPILED = "compiled in (RFC 6928) where no route says `initcwnd`"


def linux_settings(folder: Path = Path("/proc/sys/net"), *, everything: bool = False) -> list[Setting]:
    """The sysctls ``net.ipv4.tcp_*`` that matter, or all of them; then the root qdisc, and what routes override.

    Raises ``Unknown`` if there is no such system.
    """
    files = sorted((folder / "ipv4").glob("tcp_*"))
    if not files:
        raise Unknown(f"{folder / 'ipv4'} has no TCP settings: this is no Linux")
    there = {file.name: file for file in files if file.name not in _SECRET}
    names = [name for name in _LINUX if name in there]
    if everything:
        names += [name for name in there if name not in _LINUX]
    result = []
    for name in names:
        field, reading, note = _LINUX.get(name, ("", None, ""))
        text = _line(there[name])
        if text is not None:
            result.append(_setting(f"net.ipv4.{name}", text, field, reading, note))
    qdisc = _line(folder / "core" / "default_qdisc")
    if qdisc is not None:
        result.append(Setting("net.core.default_qdisc", qdisc, note="queue of new devices; fq paces by itself"))
    result.append(_initial_window())
    return result


def _line(file: Path) -> str | None:
    try:
        return " ".join(file.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return None  # some may be read by root alone


def _initial_window() -> Setting:
    try:
        window, note = initial_window(run(("ip", "route", "show", "table", "all")))
    except Unknown as why:
        window, note = 10, f"{_COMPILED}, which is not known: {why}"
    return Setting("initial window", str(window), "initial_window", window, note)


def initial_window(routes: str) -> tuple[int, str]:
    """The initial window of a route table as ``ip route`` prints it: that of the default route, in segments."""
    for line in routes.splitlines():
        match = re.search(r"^(?:default|0\.0\.0\.0/0)\b.*\binitcwnd ([0-9]{1,6})\b", line)
        if match:
            return int(match[1]), "the default route says `initcwnd`"
    return 10, _COMPILED


#: Properties of Get-NetTCPSetting in the order in which it prints them.
_WINDOWS: dict[str, tuple[str, _Reading | None, str]] = {
    "MinRto(ms)": ("min_rto", _span, "smallest retransmission timeout"),
    "InitialCongestionWindow(MSS)": ("initial_window", _count, "initial window (RFC 6928: 10)"),
    "CongestionProvider": ("", None, "algorithm of what this machine sends; of a download the server's decides"),
    "CwndRestart": (
        "idle_restart",
        _word(false="off", true="initial-window"),
        "True: back to the initial window after idleness",
    ),
    "DelayedAckTimeout(ms)": ("ack_delay", _span, "how long an ACK is held back"),
    "DelayedAckFrequency": ("ack_every", _count, "an ACK at least for every n-th segment"),
    "MemoryPressureProtection": ("", None, "connections are dropped when memory is short"),
    "AutoTuningLevelLocal": (
        "auto_tuning",
        _word(normal=True, experimental=True, restricted=True, highlyrestricted=True, disabled=False),
        "the receive window grows with the flow; restricted levels bound it",
    ),
    "AutoTuningLevelGroupPolicy": ("", None, "the same by policy"),
    "AutoTuningLevelEffective": ("", None, "which of the two holds"),
    "EcnCapability": ("ecn", _word(disabled="off", enabled="classic"), "asks for ECN (RFC 3168)"),
    "Timestamps": ("timestamps", _word(disabled=False, enabled=True, allowed=False), "timestamps (RFC 7323)"),
    "InitialRto(ms)": ("initial_rto", _span, "timeout before the first RTT sample"),
    "ScalingHeuristics": ("", None, "window scaling is given up where it seems to fail"),
    "NonSackRttResiliency": ("", None, "RTT samples of peers without SACK are treated with care"),
    "ForceWS": ("", None, "window scaling also where a retransmitted SYN would drop it"),
    "MaxSynRetransmissions": ("syn_retries", _count, "SYNs that are sent again"),
}


def windows_settings(text: str, where: str = "tcp-settings", *, template: str = "") -> tuple[list[Setting], list[str]]:
    """The settings of one template in the output of ``Get-NetTCPSetting``, as the list that it prints, and the names
    of all templates in it.

    Without a name it is ``Internet``, which connections over longer RTTs use, else the first. Raises
    ``ScenarioError`` if there is no such template.
    """
    blocks = list_blocks(text)
    if not blocks:
        raise ScenarioError(Fault(where, "holds no `Name : Value` of Get-NetTCPSetting", "`Get-NetTCPSetting > FILE`"))
    names = [block.get("SettingName", "") for block in blocks]
    wanted = template or ("Internet" if "internet" in [name.lower() for name in names] else names[0])
    chosen = next((block for name, block in zip(names, blocks, strict=True) if name.lower() == wanted.lower()), None)
    if chosen is None:
        raise ScenarioError(unknown_name("--template", "template", template, filter(None, names)))
    known = {bare_name(name): (name, *field) for name, field in _WINDOWS.items()}
    result = []
    for name, value in chosen.items():
        shown, field, reading, note = known.get(bare_name(name), (name, "", None, ""))
        result.append(_setting(shown, value, field, reading, note))
    return result, [name for name in names if name]


def list_blocks(text: str) -> list[dict[str, str]]:
    """``Name : Value`` lines, a block per template: a name that comes again begins the next one."""
    known = {bare_name(name) for name in _WINDOWS}
    blocks: list[dict[str, str]] = []
    current: dict[str, str] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"\s*([A-Za-z][A-Za-z]*(?:\(\w+\))?)\s*:\s*(.*?)\s*", line)
        if match is None:
            continue
        if match[1] in current:
            blocks.append(current)
            current = {}
        current[match[1]] = match[2]
    blocks.append(current)
    return [block for block in blocks if any(bare_name(name) in known for name in block)]


def bare_name(name: str) -> str:
    """``MinRto(ms)`` and ``MinRtoMs`` are one: the cmdlet shows the first, its objects have the second."""
    return re.sub(r"\W", "", name).lower()


def _setting(name: str, text: str, field: str, reading: _Reading | None, note: str) -> Setting:
    stack = None if reading is None else reading(text)
    return Setting(name, text, field if stack is not None else "", stack, note)


def profile_of(settings: Iterable[Setting]) -> dict[str, str | int | bool]:
    """The ``stack = { … }`` of a scenario's flow that these settings make."""
    return {one.field: one.stack for one in settings if one.field and one.stack is not None}


def as_toml(stack: dict[str, str | int | bool]) -> str:
    """The same as TOML.

    >>> as_toml({"initial_window": 10, "min_rto": "300 ms", "sack": True})
    'stack = { initial_window = 10, min_rto = "300 ms", sack = true }'
    """
    shown: Sequence[str] = [
        f"{name} = {str(value).lower() if isinstance(value, bool | int) else chr(34) + value + chr(34)}"
        for name, value in stack.items()
    ]
    return f"stack = {{ {', '.join(shown)} }}"
