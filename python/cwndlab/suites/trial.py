"""A case on its path: the scenarios that it runs, and the statements that it makes on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from math import inf, isclose
from threading import Lock
from typing import Any

from cwndlab import engine
from cwndlab.custom import CustomAlgorithm, base_name
from cwndlab.files import json_text
from cwndlab.records import Records
from cwndlab.simulate import engine_document
from cwndlab.suites.paths import Path
from cwndlab.suites.statements import Statement, number
from cwndlab.suites.trace import Trace

#: The seed of the runs.
SEED = 1


class Subject:
    """The algorithm under test, with the runs that its cases share."""

    def __init__(self, algorithm: str, classes: Mapping[str, CustomAlgorithm]) -> None:
        self.algorithm = algorithm
        self.name = base_name(algorithm)
        self.is_custom = self.name in classes
        self._classes = dict(classes)
        self._shared: dict[tuple[str, str], Future[Trace]] = {}
        self._lock = Lock()

    def run(self, document: Mapping[str, Any], cancel: engine.Cancel, seed: int = SEED) -> Records:
        """Runs a scenario, plain values."""
        text, constructors = engine_document(dict(document), self._classes)
        return Records(engine.run(text, "json", seed, cancel, constructors=constructors))

    def shared(self, path: Path, document: Mapping[str, Any], make: Callable[[], Trace]) -> Trace:
        """The trace of a run that several cases use; the first of them runs it, others wait."""
        key = (path.name, json_text(document, sort_keys=True))
        with self._lock:
            future = self._shared.get(key)
            first = future is None
            if future is None:
                future = self._shared[key] = Future()
        if first:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()


class Trial:
    """A case of a subject on one path: runs of scenarios, and the statements on them, in order."""

    def __init__(self, subject: Subject, path: Path, cancel: engine.Cancel) -> None:
        self.subject = subject
        self.path = path
        self.statements: list[Statement] = []
        self.trace: Trace | None = None
        """The last run."""
        self._cancel = cancel

    def on(self, path: Path) -> Trial:
        """A trial on another path."""
        return Trial(self.subject, path, self._cancel)

    def run(self, document: Mapping[str, Any], seed: int = SEED) -> Trace:
        """Runs a scenario."""
        self.trace = Trace(self.subject.run(document, self._cancel, seed), self.path)
        return self.trace

    def shared(self, document: Mapping[str, Any]) -> Trace:
        """Runs a scenario that several cases begin with, once."""
        return self.subject.shared(self.path, document, lambda: self.on(self.path).run(document))

    def holds(
        self,
        source: str,
        text: str,
        condition: bool,
        expected: str,
        got: str,
        *,
        at: float | None = None,
        but: str = "",
    ) -> None:
        """States that a condition holds. ``but`` is the part of the source that prescribes otherwise."""
        self.statements.append(
            Statement(
                text=text, source=source, holds=bool(condition), expected=expected, got=got, at_s=at, contradicts=but
            )
        )

    def expect(
        self,
        source: str,
        text: str,
        got: float,
        low: float = -inf,
        high: float = inf,
        *,
        at: float | None = None,
        but: str = "",
    ) -> None:
        """States that a value lies between two bounds, both included; an infinite bound is none."""
        if low == -inf:
            expected = f"at most {number(high)}"
        else:
            expected = f"at least {number(low)}" if high == inf else f"{number(low)} to {number(high)}"
        self.holds(source, text, low <= got <= high, expected, number(got), at=at, but=but)

    def equals(
        self,
        source: str,
        text: str,
        got: float,
        wanted: float,
        *,
        within: float = 0.0,
        relative: float = 0.0,
        at: float | None = None,
        but: str = "",
    ) -> None:
        """States that a value equals another one, up to an absolute or a relative difference."""
        same = got == wanted or isclose(got, wanted, rel_tol=max(relative, 1e-9), abs_tol=within)
        margin = f" ± {number(within)}" if within else f" ± {number(100 * relative)} %" if relative else ""
        self.holds(source, text, same, number(wanted) + margin, number(got), at=at, but=but)

    def scenario(
        self,
        duration_s: float,
        *,
        link: Mapping[str, Any] | None = None,
        reverse: Mapping[str, Any] | None = None,
        buffer_segments: float | None = None,
        workload: Mapping[str, Any] | None = None,
        stack: Mapping[str, Any] | None = None,
        profile: str = "linux",
        on_change: Sequence[str] = (),
        interval_s: float | None = None,
        names: Sequence[str] = (),
        packets: bool = False,
        algorithm: str | None = None,
    ) -> dict[str, Any]:
        """A scenario of the algorithm alone on the path, plain values.

        The delay lies behind the bottleneck, on the wire to the receiver; the buffer is four bandwidth-delay products
        by default, and the receive window limits no flow. Named values are recorded where one of ``on_change`` changes
        and every ``interval_s``.
        """
        path = self.path
        buffer = max(4 * path.bdp_segments, 100) if buffer_segments is None else buffer_segments
        bottleneck = {
            "rate": f"{path.rate_bps:.0f} bps",
            "delay": duration(path.rtt_s / 2),
            "queue": {"kind": "droptail", "capacity": f"{max(round(buffer), 1)} packets"},
            **(link or {}),
        }
        # Without steps of its own the reverse direction would have those of the bottleneck.
        back = {"rate": "none", "delay": duration(path.rtt_s / 2), "schedule": [], **(reverse or {})}
        for one in (bottleneck, back):
            # A line other than a rate.
            if "trace" in one or "token_bucket" in one:
                del one["rate"]
        values: dict[str, Any] = {}
        if on_change:
            values["on_change"] = list(on_change)
        if interval_s is not None:
            values["interval"] = duration(interval_s)
        if names:
            values["names"] = list(names)
        flow: dict[str, Any] = {
            "algorithm": algorithm or self.subject.algorithm,
            "rtt": duration(path.rtt_s),
            "profile": profile,
            "stack": {"receive_window": "1000 MB", "auto_tuning": False, **(stack or {})},
        }
        if workload is not None:
            flow["workload"] = dict(workload)
        return {
            "schema_version": 1,
            "duration": duration(duration_s),
            "sample_interval": duration(duration_s / 400),
            "named_values": values,
            "dumbbell": {"bottleneck": bottleneck, "reverse": back},
            "flow": [flow],
            **({"packets": True} if packets else {}),
        }


def duration(seconds: float) -> str:
    """A time as a quantity of the scenario, in nanoseconds.

    >>> duration(0.04)
    '40000000 ns'
    """
    return f"{round(seconds * 1e9)} ns"


def steps(*changes: tuple[float, Mapping[str, Any]]) -> dict[str, Any]:
    """The schedule of a link: changes at ascending times, in seconds."""
    return {"schedule": [{"at": duration(at), **change} for at, change in changes]}


def rate(bps: float) -> dict[str, str]:
    """The rate of a link or of writes."""
    return {"rate": f"{bps:.0f} bps"}
