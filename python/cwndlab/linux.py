"""Linux kernels in place of the TCP flows of a scenario (``docs/linux.md``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from cwndlab.catalogue import KERNEL_ALGORITHMS, canonical, parts
from cwndlab.engine import stack_program
from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.units import size_bytes
from cwndlab.simulate import run

__all__ = ["release", "with_kernels"]

#: The kernel's congestion control by the name of ours that follows it.
CONTROLLERS = {
    "reno": "reno",
    "cubic": "cubic",
    **{parts(ours).growth: theirs for theirs, ours in KERNEL_ALGORITHMS.items()},
}
#: Unsent data of a flow that stops or pauses, bytes: what the emulator's flows have at least (ten segments), since the
#: simulator's endless supply ends at once.
UNSENT = 14480
#: The slow starts that the kernel's congestion controls have of themselves.
SLOW_STARTS = {
    "cubic": ("hystart-linux", "hystart"),
    **{name: (parts(ours).slow_start,) for name, ours in KERNEL_ALGORITHMS.items() if name != "cubic"},
}
#: What a flow between kernels does not have, or has of its own.
_OF_THE_ENDS = ("algorithm", "transport", "profile", "stack", "control", "workload")
#: Of the receiver, bytes, so that it limits no window.
_LARGEST_BUFFER = 64 << 20
#: Fields of a stack that are settings of the kernel.
_SETTINGS = ("ecn", "sack", "sack_compression", "initial_receive_window")


def with_kernels(
    document: Mapping[str, Any], settings: Mapping[Any, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """The scenario with two kernels in place of each TCP flow; flows over UDP stay.

    Parameters
    ----------
    document
        A scenario, in the shape of its TOML.
    settings
        Kernel settings (sysctl) of the sides ``sender`` and ``receiver``.

    Returns
    -------
    dict
        The scenario, whose flows are transfers of the hosted stack ``linux``.

    Raises
    ------
    ScenarioError
        Where a flow has an algorithm, a parameter or a part of it, a workload, a ``control`` or a field of its stack
        that kernels do not have here.

    Examples
    --------
    >>> flow = {"algorithm": "bbr1", "rtt": "40 ms"}
    >>> with_kernels({"flow": [flow]})["flow"][0]["workload"]
    {'kind': 'hosted', 'stack': 'linux', 'controller': 'bbr'}
    """
    given = settings or {}
    flows: list[Mapping[str, Any]] = []
    every: list[Fault] = []
    for index, flow in enumerate(document.get("flow", [])):
        if flow.get("transport", "tcp") != "tcp":
            flows.append(flow)
            continue
        if found := list(faults(f"flow[{index}]", flow)):
            every += found
            continue
        flows.append({name: value for name, value in flow.items() if name not in _OF_THE_ENDS} | _transfer(flow, given))
    if every:
        raise ScenarioError(*every)
    return dict(document) | {"flow": flows}


def _base(algorithm: str) -> str:
    """The name of the congestion avoidance in ``cubic-linux+hystart-linux/rack``."""
    return re.split(r"[(+/]", algorithm, maxsplit=1)[0].strip()


def _transfer(flow: Mapping[str, Any], given: Mapping[Any, Mapping[str, Any]]) -> dict[str, Any]:
    stack = flow.get("stack", {})
    both = {"net.ipv4.tcp_ecn": 1} if stack.get("ecn", "off") != "off" else {}
    if "sack" in stack:
        both["net.ipv4.tcp_sack"] = int(stack["sack"])
    application = flow.get("workload", {})
    ends = "stop" in flow or "hold" in flow or application.get("kind") == "on-off"
    sender = {"net.ipv4.tcp_notsent_lowat": UNSENT} if ends else {}
    if application.get("kind") == "transfers":
        # As between the emulator's hosts: each connection begins without what an earlier one has learned.
        sender["net.ipv4.tcp_no_metrics_save"] = 1
    receiver: dict[str, Any] = {}
    if "sack_compression" in stack:
        receiver["net.ipv4.tcp_comp_sack_nr"] = stack["sack_compression"]
    if "initial_receive_window" in stack:
        receiver["net.ipv4.tcp_rmem"] = _receive_buffers(stack["initial_receive_window"])
    workload: dict[str, Any] = {"kind": "hosted", "stack": "linux"}
    workload["controller"] = CONTROLLERS.get(_base(flow.get("algorithm", "cubic")), "")
    for key, side, own in (("options", "sender", sender), ("peer_options", "receiver", receiver)):
        if all_of_it := both | own | dict(given.get(side, {})):
            workload[key] = ",".join(f"{name}={value}" for name, value in all_of_it.items())
    workload |= {name: application[name] for name in ("bytes", "on", "off", "gap", "count") if name in application}
    if application.get("kind") == "transfers":
        workload.setdefault("gap", "0 s")
    return {"transport": "udp", "workload": workload}


def _receive_buffers(initial: str) -> str:
    """``tcp_rmem`` for a window that begins with ``initial``: the kernel offers half of its buffer (ip-sysctl.rst).

    >>> _receive_buffers("65535 B")
    '4096 131072 67108864'
    """
    return f"4096 {2 * (size_bytes(initial, 'initial_receive_window') + 1)} {_LARGEST_BUFFER}"


def faults(at: str, flow: Mapping[str, Any]) -> Iterator[Fault]:
    """What of a flow over TCP kernels do not have here."""
    yield from faults_of_algorithm(f"{at}.algorithm", flow.get("algorithm", "cubic"))
    application = flow.get("workload", {})
    kind = application.get("kind", "bulk")
    if kind not in ("bulk", "on-off", "transfers"):
        what = f"kernels have no workload '{kind}' here"
        yield Fault(f"{at}.workload.kind", what, "write bulk, on-off or transfers, or use --engine emulate")
    if kind == "transfers" and not application.get("new_connection", False):
        what = "kernels open a connection for each transfer here"
        yield Fault(f"{at}.workload.new_connection", what, "write new_connection = true, or use --engine emulate")
    if flow.get("stack", {}).get("ecn", "off") not in ("off", "classic", "dctcp"):
        yield Fault(f"{at}.stack.ecn", "kernels have classic ECN here", "write classic")
    for name in flow.get("stack", {}):
        if name not in _SETTINGS:
            yield Fault(f"{at}.stack.{name}", "is no setting of kernels here", "leave it out, or use --engine simulate")
    if "control" in flow:
        what = "the kernel's algorithm is within the kernel"
        yield Fault(f"{at}.control", what, "leave it out, or use --engine simulate")


def _is_kernels(algorithm: str, kernels: str) -> bool:
    """Whether the text is the kernel's algorithm, with its recovery or none."""
    with suppress(ScenarioError):
        text, _, recovery = canonical(algorithm).partition("/")
        return text == canonical(kernels).partition("/")[0] and recovery in ("", "rack")
    return False


def faults_of_algorithm(at: str, algorithm: Any) -> Iterator[Fault]:
    """What the kernel's congestion control cannot be told: other parameters, another slow start or recovery."""
    if not isinstance(algorithm, str) or _base(algorithm) not in CONTROLLERS:
        yield Fault(at, f"the kernel has no '{algorithm}' of its own", f"write one of {', '.join(CONTROLLERS)}")
        return
    base = _base(algorithm)
    kernels = KERNEL_ALGORITHMS[CONTROLLERS[base]]
    if "(" in algorithm and not _is_kernels(algorithm, kernels):
        hint = f"write {base} or {kernels}, or use --engine simulate"
        yield Fault(at, "an algorithm of the kernel takes only the parameters of its module", hint)
        return
    growth, _, recovery = re.sub(r"\([^)]*\)", "", algorithm).partition("/")
    start = growth.partition("+")[2]
    own = SLOW_STARTS[CONTROLLERS[base]]
    if start.strip() not in ("", *own) or recovery.strip() not in ("", "rack"):
        what = f"the kernel's own are {own[0] or 'the one of the algorithm'} and rack"
        yield Fault(at, f"slow start and recovery cannot be chosen: {what}", f"write {base}, or use --engine simulate")


def release() -> str | None:
    """The kernel of the stack ``linux``, which it says when it starts.

    Returns
    -------
    str or None
        As ``uname -r``; ``None`` where the stack is in no folder of ``CWNDLAB_STACKS`` and ``PATH``.

    Raises
    ------
    RunError
        Where the stack fails.

    Examples
    --------
    >>> kernel = release()
    >>> kernel is None or kernel.startswith("6.")
    True
    """
    if stack_program("linux") is None:
        return None
    line = {"rate": "10 Mbps", "delay": "1 ms", "queue": {"capacity": "10 packets"}}
    document = {"schema_version": 1, "duration": "1 ms", "dumbbell": {"bottleneck": line}}
    records = run(with_kernels(document | {"flow": [{"algorithm": "reno", "rtt": "2 ms"}]}), seed=1)
    return str(records.flows["profile"][0]).removeprefix("Linux ")


def __dir__() -> list[str]:
    return __all__
