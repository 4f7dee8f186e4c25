"""A circuit breaker in the sense of RFC 8084 at the client's end: it ends a transfer that harms its path.

Its measurements are much longer than a round trip, and consecutive ones must lie outside its envelope: round trips
of handshakes with the same server, taken while the transfer runs, beyond `inflation` times the idle one; handshakes
that are not answered; no byte at all. Loss is the sender's to see, whose own breaker answers it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from types import TracebackType

from cwndlab.live.preflight.rtt import Address, connect_ns


@dataclass(frozen=True)
class Envelope:
    """What a transfer may do to its path."""

    interval_s: float = 3.0
    """One measurement."""
    intervals: int = 3
    """So many in a row must lie outside."""
    inflation: float = 20.0
    """Round trips over the idle one, and"""
    rtt_s: float = 1.0
    """above this."""
    unanswered: float = 0.5
    """Share of the handshakes without an answer."""


@dataclass
class Guard:
    """Watches one transfer: `progress` is what the fetch calls, `probed` what a probe found."""

    idle_ns: float | None
    envelope: Envelope = field(default_factory=Envelope)
    clock: Callable[[], int] = time.monotonic_ns
    why: str = ""
    """Why it ended the transfer; empty if it did not."""
    probes: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._begin = self.clock()
        self._bytes = 0
        self._probes: list[int | None] = []
        self._outside = 0
        self.wanted = True

    def probed(self, rtt_ns: int | None) -> None:
        """A handshake took so long, or was not answered."""
        with self._lock:
            self.probes.append(rtt_ns)
            self._probes.append(rtt_ns)

    def progress(self, received: int) -> bool:
        """So many bytes have come; whether to go on."""
        with self._lock:
            now = self.clock()
            if not self.why and now - self._begin >= self.envelope.interval_s * 1e9:
                outside = self._judge(received)
                self._outside = self._outside + 1 if outside else 0
                if self._outside >= self.envelope.intervals:
                    span = self.envelope.interval_s
                    self.why = f"{outside}, in {self._outside} measurements of {span:g} s in a row"
                self._begin, self._bytes, self._probes = now, received, []
            return self.wanted and not self.why

    def _judge(self, received: int) -> str:
        if received == self._bytes:
            return "no byte came"
        got = [one for one in self._probes if one is not None]
        if len(self._probes) >= 2 and len(self._probes) - len(got) > self.envelope.unanswered * len(self._probes):
            return f"{len(self._probes) - len(got)} of {len(self._probes)} handshakes were not answered"
        if got and self.idle_ns:
            loaded = float(median(got))
            if loaded > self.envelope.rtt_s * 1e9 and loaded > self.envelope.inflation * self.idle_ns:
                times = loaded / self.idle_ns
                return (
                    f"the round trip took {loaded / 1e9:.1f} s, {times:.0f} times the idle one, "
                    f"{self.envelope.inflation:g} times are allowed"
                )
        return ""


class Probing:
    """Handshakes with the server while a transfer runs, on a thread of their own."""

    def __init__(self, guard: Guard, to: Address | None, port: int, *, interval_s: float = 0.5) -> None:
        self._guard, self._to, self._port, self._interval_s = guard, to, port, interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while self._to is not None and not self._stop.wait(self._interval_s):
            try:
                result = connect_ns(self._to, self._port, 2.0)
            except Exception:  # no socket left, no route: no answer
                result = None
            self._guard.probed(result)

    def __enter__(self) -> Probing:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
