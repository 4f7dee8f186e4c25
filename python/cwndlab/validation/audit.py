"""The audit of a log: does the congestion window of somebody's stack follow the reference?

`audit` reads the log of a sender, rebuilds the events that its congestion control received, replays them through the
library's implementation and compares the windows. `docs/audit.md` describes the method.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from cwndlab.custom import Classes, CongestionControl, classes_named, described, name_of
from cwndlab.engine import audit as _audit
from cwndlab.errors import ArgumentError, Fault, RecordsError, parameter_fault

__all__ = ["AuditResult", "Departure", "Group", "Severity", "audit", "read_log"]

_SLIGHT_SEGMENTS, _SLIGHT_PERCENT = 2.0, 5.0
_SERIOUS_SEGMENTS, _SERIOUS_PERCENT = 4.0, 25.0
#: ACKs that must be able to tell for a share, and their least part of all ACKs of a capture without windows.
_LEAST_DECISIVE, _LEAST_PART = 10, 0.02


@dataclass(frozen=True)
class Departure:
    """An ACK or event at which the logged window left the reference's.

    Times are milliseconds since the first event of the log, windows bytes. ``since_ms`` is the time from which the
    difference grew.
    ``event`` is what the sender processed, ``source`` the section that sets the window there, ``state_before`` and
    ``state_after`` the named numbers of the reference, and ``acks`` the number of ACKs that stay unexplained.
    """

    time_ms: float
    since_ms: float
    kind: str
    meaning: str
    event: str
    source: str
    logged_before_bytes: int
    logged_bytes: int
    reference_before_bytes: int
    reference_bytes: int
    state_before: Mapping[str, float | str]
    state_after: Mapping[str, float | str]
    acks: int

    @property
    def difference_bytes(self) -> int:
        """The logged window less that of the reference, bytes."""
        return self.logged_bytes - self.reference_bytes


class Severity(StrEnum):
    """How much the windows of a kind of departure differ.

    >>> [str(one) for one in Severity]
    ['serious', 'moderate', 'slight']
    """

    SERIOUS = "serious"
    """By more than a quarter of the reference's window, and more than four segments."""
    MODERATE = "moderate"
    """In between."""
    SLIGHT = "slight"
    """By at most two segments, or at most a twentieth of the reference's window."""


@dataclass(frozen=True)
class Group:
    """The departures of one kind.

    ``departures`` is their number, ``acks`` the ACKs that they leave unexplained, ``first_ms`` the time of the first
    one, ``largest_segments`` and ``largest_percent`` the largest difference of the windows, in segments and in per cent
    of the reference's.
    """

    kind: str
    meaning: str
    source: str
    departures: int
    acks: int
    first_ms: float
    largest_segments: float
    largest_percent: float

    @property
    def severity(self) -> Severity:
        """The class of the largest difference."""
        if self.largest_segments <= _SLIGHT_SEGMENTS or self.largest_percent <= _SLIGHT_PERCENT:
            return Severity.SLIGHT
        serious = self.largest_segments > _SERIOUS_SEGMENTS and self.largest_percent > _SERIOUS_PERCENT
        return Severity.SERIOUS if serious else Severity.MODERATE


@dataclass(frozen=True)
class AuditResult:
    """The comparison of a log with an algorithm.

    ``acks`` counts the compared ACKs of new data and ``explained`` those that the reference explains. ``decisive``
    counts the decisive ACKs: over them the reference changes its window by more than the tolerance, so that a window
    that stays as it is would be a departure, or there is a departure; ``decisive_explained`` counts those of them that
    the reference explains. With bytes in flight for windows (``windowless``), those that reach the reference's window
    are decisive. ``groups`` are in order of severity. ``unjudged`` ACKs arrived while the transport sets the window, as
    in TCP's recovery. ``app_limited`` counts the ACKs at which the application was inferred to limit the sender,
    ``unclear`` those at which growth and no growth are accepted. ``log_start_ms`` is the time of the log's first event
    on its own clock; all other times count from it. ``series`` has rows of time (ms), logged window and window of the
    reference (bytes).
    """

    log: str
    algorithm: str
    protocol: str
    connection: str
    log_start_ms: float
    windowless: bool
    mss_bytes: int
    initial_cwnd_bytes: int
    tolerance_segments: float
    resolution_bytes: int
    rounding_bytes_per_ack: float
    acks: int
    explained: int
    decisive: int
    decisive_explained: int
    unjudged: int
    app_limited: int
    unclear: int
    windows: int
    departure_count: int
    groups: list[Group]
    departures: list[Departure]
    series: list[tuple[float, int, int]] = field(repr=False)
    notes: list[str]

    @property
    def share(self) -> float | None:
        """The share of the decisive ACKs that the reference explains; ``None`` if there are too few of them."""
        least = max(_LEAST_DECISIVE, _LEAST_PART * self.acks if self.windowless else 0)
        return self.decisive_explained / self.decisive if self.decisive >= least else None

    @property
    def share_of_all(self) -> float | None:
        """The share of all compared ACKs that the reference explains; ``None`` without any."""
        return self.explained / self.acks if self.acks else None

    def headline(self) -> str:
        """The result in one sentence.

        With bytes in flight for windows, ACKs do not contradict the reference rather than agree with it.
        """
        what = "do not contradict it" if self.windowless else "are explained"
        if self.share is None:
            few = (
                f"no verdict: only {self.decisive} of {self.acks} ACKs are decisive"
                if self.acks
                else "no ACK is evaluated"
            )
            return f"{few}, {self.departure_count} departures"
        share = f"{100 * self.share:.2f} % of the decisive ACKs {what}"
        return f"{share} ({self.decisive_explained} of {self.decisive}), {self.departure_count} departures"

    def severity(self) -> str | None:
        """The severity of the departures, in one sentence; ``None`` without any."""
        if not self.groups:
            return None
        parts = []
        for severity in Severity:
            groups = [one for one in self.groups if one.severity is severity]
            if groups:
                count = sum(one.departures for one in groups)
                most, percent = max((one.largest_segments, one.largest_percent) for one in groups)
                kinds = ", ".join(one.kind for one in groups)
                parts.append(f"{severity}: {kinds} ({count}, up to {most:.1f} segments or {percent:.0f} %)")
        if self.groups[0].severity is Severity.SLIGHT:
            return f"no departure is serious; {parts[0]}"
        return "; ".join(parts)

    @property
    def first(self) -> Departure | None:
        """The first departure."""
        return self.departures[0] if self.departures else None

    def as_dict(self) -> dict[str, Any]:
        """All values as JSON has them."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        lists: dict[str, list[dict[str, Any]]] = {"departures": [vars(one) for one in plain["departures"]]}
        lists["groups"] = [vars(one) | {"severity": str(one.severity)} for one in plain["groups"]]
        return plain | {"share": self.share, "share_of_all": self.share_of_all} | lists

    def assumptions(self) -> list[str]:
        """The inferences and the tolerances, as sentences."""
        unit = f"{self.resolution_bytes} B" if self.resolution_bytes > 1 else "1 B"
        tolerance = f"{self.tolerance_segments:g} × {self.mss_bytes} B, windows are logged in units of {unit}"
        if self.rounding_bytes_per_ack:
            tolerance += f", and rounding of {self.rounding_bytes_per_ack:g} B per ACK since the last synchronisation"
        limited = (
            "application limitation is inferred from the bytes in flight: "
            f"{self.app_limited} ACKs with less than half of the window in use, "
            f"{self.unclear} in between, for which growth and no growth are both accepted"
        )
        all_acks = (
            f"of all {self.acks} compared ACKs {self.explained} are explained; at the others that are not decisive, "
            "a window that stays as it is would be accepted as well"
        )
        told = [all_acks, f"tolerance: {tolerance}", limited]
        if self.unjudged:
            why = "the transport sets the window, or no window was logged after them"
            told.append(f"{self.unjudged} ACKs are not evaluated: {why}")
        return told


def audit(
    log: Path | str,
    algorithm: str | type[CongestionControl],
    *,
    algorithms: Classes | None = None,
    connection: str | None = None,
    samples: Path | str | None = None,
    mss_bytes: int | None = None,
    initial_cwnd_bytes: int | None = None,
    tolerance_segments: float | None = None,
) -> AuditResult:
    """Compares the congestion window in a log with the library's implementation of an algorithm.

    Parameters
    ----------
    log
        A qlog file (JSON-SEQ or JSON) of the sender, or a capture (pcap or pcapng) of TCP at the sender.
    algorithm
        An algorithm, as a flow names it, such as ``cubic`` or ``cubic+standard``, or a custom class (`cwndlab.custom`).
    algorithms
        Custom classes by the names that ``algorithm`` may use.
    connection
        The connection, where the log has several.
    samples
        For a capture, a file of the sender's windows: times of ``date +%s.%N`` and the output of ``ss -tinmO`` in turn.
        Without it, bytes in flight are compared, which shows windows above the reference only.
    mss_bytes
        Payload of a full datagram or segment, bytes. The default is that of the log, else the largest packet.
    initial_cwnd_bytes
        Initial window, bytes. The default is that of the log, else the first logged window.
    tolerance_segments
        Difference of the windows that counts as equal, segments; by default 1.

    Raises
    ------
    ScenarioError
        The algorithm is unknown, a class is not valid, or samples are given beside a qlog.
    AlgorithmError
        A class fails.
    RecordsError
        The file is unreadable, is not a log, or lacks windows or ACKs.

    Examples
    --------
    >>> import tempfile
    >>> import cwndlab
    >>> scenario = cwndlab.presets.load("single").with_({"packets": True, "sample_interval": "5 ms"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = cwndlab.export.export(cwndlab.run(scenario, seed=1), "qlog", folder)[0]
    ...     result = cwndlab.validation.audit.audit(log, "cubic")
    >>> result.share, result.departures
    (1.0, [])
    """
    check_size("mss_bytes", mss_bytes, example=1200)
    check_size("initial_cwnd_bytes", initial_cwnd_bytes, example=12000)
    if tolerance_segments is not None and not 0 <= tolerance_segments <= 1000:
        raise RecordsError(
            parameter_fault("tolerance_segments", f"'{tolerance_segments}' is not from 0 to 1000", example=1)
        )
    content = read_log(log, "give the log of a sender")
    windows = read_samples(samples, content)
    name = algorithm if isinstance(algorithm, str) else name_of(algorithm)
    custom = classes_named([algorithm], algorithms)
    text = _audit(
        content,
        str(log),
        name,
        connection=connection,
        samples=windows,
        mss=mss_bytes,
        initial_cwnd=initial_cwnd_bytes,
        tolerance=tolerance_segments,
        scenario=described(custom),
        constructors={one.name: one.make for one in custom.values()},
    )
    found = json.loads(text)
    found["groups"] = [Group(**one) for one in found["groups"]]
    found["departures"] = [Departure(**one) for one in found["departures"]]
    found["series"] = [tuple(row) for row in found["series"]]
    found["groups"].sort(key=lambda one: (list(Severity).index(one.severity), -one.acks, one.first_ms))
    return AuditResult(log=str(log), **found)


def read_log(file: Path | str, hint: str) -> bytes:
    """The content of a file of input."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise RecordsError(Fault(str(file), f"cannot be read: {error.strerror or error}", hint)) from None


def read_samples(samples: Path | str | None, log: bytes) -> str | None:
    """The windows beside a capture; raises if the log is a qlog, which has those of its sender."""
    if samples is None:
        return None
    if log.lstrip()[:1] in (b"{", b"\x1e"):
        what = "belongs to a capture; a qlog has the windows of its sender"
        raise ArgumentError(parameter_fault("samples", what, hint="leave it out"))
    return read_log(samples, "give the output of `ss -tinmO`").decode(errors="replace")


def check_size(name: str, value: int | None, *, example: int) -> None:
    """Raises if a number of bytes is none."""
    if value is not None and not 1 <= value <= 2**40:
        raise RecordsError(parameter_fault(name, f"'{value}' is not a size", example=example))
