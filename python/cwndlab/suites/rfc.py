"""Runs that the suites of the RFCs share: a long transfer whose packets are lost by their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.catalogue import algorithms
from cwndlab.suites.paths import Path
from cwndlab.suites.statements import NotApplicableError
from cwndlab.suites.trace import TRANSPORT, Trace
from cwndlab.suites.trial import Trial, duration, rate

PATH = Path("10 Mbit/s, 100 ms", 10e6, 0.1)

#: Payload of a full segment in the profile `rfc`.
RFC_MSS_BYTES = 1460


def scenario(
    t: Trial,
    duration_s: float,
    *,
    recovery: str = "",
    lost: Sequence[int] = (),
    link: Mapping[str, Any] | None = None,
    values: Sequence[str] = (),
    interval_s: float = 0.0,
    **options: Any,
) -> dict[str, Any]:
    """A scenario whose data packets with the numbers ``lost``, from 0 in the order of sending, do not arrive.

    With a recovery the stack is that of the RFCs, and packets are recorded.
    """
    loss = {"loss": {"kind": "list", "indices": sorted(lost), "counts": "payload"}} if lost else {}
    if recovery:
        strict = {"profile": "rfc", "buffer_segments": 2000, "packets": True}
        options = {**strict, **options, "algorithm": _with_recovery(t, recovery)}
    names = (*TRANSPORT, *values)
    changes = ("transport.ca_state",)
    return t.scenario(
        duration_s, link={**(link or {}), **loss}, names=names, on_change=changes, interval_s=interval_s, **options
    )


def packet_at(trace: Trace, time_s: float) -> int:
    """The number of the next data packet at a time."""
    return int(trace.at("sent", time_s))


def is_of_catalogue(t: Trial, *names: str) -> bool:
    """Whether the algorithm is one of these of the catalogue, or a class of the caller."""
    return t.subject.is_custom or t.subject.name in names


def reduces(t: Trial) -> None:
    """Raises where the algorithm of the catalogue sets the window during recovery, too."""
    if any(one.name == t.subject.name and getattr(one, "model_based", False) for one in algorithms()):
        raise NotApplicableError("a model sets the window")


def _with_recovery(t: Trial, recovery: str) -> str:
    """The algorithm's text with a recovery; raises where it names another one."""
    text = t.subject.algorithm
    named = text.rpartition("/")[2] if "/" in text else recovery
    if named != recovery:
        raise NotApplicableError(f"the recovery is '{named}', not '{recovery}'")
    return text if "/" in text else f"{text}/{recovery}"


def writes(*amounts: tuple[float, int]) -> dict[str, Any]:
    """A workload that writes a number of segments at each time, in seconds."""
    steps: list[dict[str, Any]] = []
    for at, segments in amounts:
        # A rate of a segment per microsecond, for as many microseconds.
        steps.append({"at": duration(at), **rate(RFC_MSS_BYTES * 8e6)})
        steps.append({"at": duration(at + (segments - 0.5) * 1e-6), **rate(0)})
    return {"kind": "scheduled-writes", "write": f"{RFC_MSS_BYTES} B", "steps": steps}
