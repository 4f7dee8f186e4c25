"""The same scenario between real TCP stacks: the simulator's links on the wall clock between two network namespaces.

Needs Linux, root (or the right to make network namespaces) and ``/dev/net/tun``. Flows whose growth is ``reno``,
``cubic`` or ``cubic-linux``, or ``bbr1`` are sent by the kernel's own ``reno``, ``cubic`` and ``bbr``; the kernel's
slow start and recovery come with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, RunError
from cwndlab.metrics import goodput
from cwndlab.run import emulate as engine

if TYPE_CHECKING:
    from cwndlab.records import Records
    from cwndlab.run import Question

#: A run of whose packets 1 % were delivered later than this is not to be relied on.
LATE_S = 1e-3


def emulate(scenario: Question, *, seed: int, late_s: float = LATE_S, accept_late: bool = False) -> Records:
    """Runs ``scenario`` for as long as it says, with ``seed`` for its losses and starts; returns what was recorded.

    The last note of the records says how late deliveries were. Raises ``RunError`` where the machine may not emulate,
    and where 1 % of the deliveries were later than ``late_s``, unless ``accept_late``.
    """
    records, timing = engine(scenario, seed=seed)
    if timing["late_p99_ns"] > late_s * 1e9 and not accept_late:
        found_ms = timing["late_p99_ns"] / 1e6
        what = f"1 % of the deliveries were {found_ms:.2f} ms late or more, {late_s * 1e3:g} ms are allowed"
        hint = "a quieter machine, a lower rate, or --accept-late"
        if not timing["real_time"]:
            hint = f"real-time priority was refused (RLIMIT_RTPRIO, CAP_SYS_NICE); {hint}"
        raise RunError(Fault("emulate", what, hint))
    return records


def beside(simulated: Records, emulated: Records) -> list[dict[str, Any]]:
    """A row per flow and quantity: what the simulator says, what the kernel did, and by how much they part.

    Columns: ``flow, quantity, simulated, kernel, deviation`` (the kernel's value over the simulator's, less one).
    """
    rows: list[dict[str, Any]] = []

    def add(flow: str, quantity: str, ours: float | None, theirs: float | None) -> None:
        deviation = theirs / ours - 1 if ours and theirs is not None else None
        rows.append({"flow": flow, "quantity": quantity, "simulated": ours, "kernel": theirs, "deviation": deviation})

    pairs = zip(simulated.flows.to_dicts(), emulated.flows.to_dicts(), strict=True)
    rates = (goodput(one)["goodput_bps"].to_list() for one in (simulated, emulated))
    for (ours, theirs), rate, real in zip(pairs, *rates, strict=True):
        add(ours["name"], "goodput_bps", rate, real)
        for quantity in ("mean_rtt_ns", "min_rtt_ns", "queue_drops", "retransmitted_packets", "recoveries", "timeouts"):
            add(ours["name"], quantity, ours[quantity], theirs[quantity])
    return rows
