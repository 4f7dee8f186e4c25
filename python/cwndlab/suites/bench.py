"""The bench of a case: runs of its algorithm on its path, where runs that several cases begin with are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any

from cwndlab import engine
from cwndlab.custom import CustomAlgorithm, base_name
from cwndlab.files import json_text
from cwndlab.records import Records
from cwndlab.simulate import engine_document
from cwndlab.suites.paths import Path
from cwndlab.suites.trace import Trace

#: A receive window that limits no flow.
RECEIVE_WINDOW = {"receive_window": "1000 MB", "auto_tuning": False}

#: The seed of the runs.
SEED = 1


class Subject:
    """The algorithm under test, with the runs that its cases share."""

    def __init__(self, algorithm: str, classes: Mapping[str, CustomAlgorithm]) -> None:
        self.algorithm = algorithm
        self._classes = dict(classes)
        self._shared: dict[tuple[str, str], Future[Trace]] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name of the algorithm, without parameters."""
        return base_name(self.algorithm)

    @property
    def is_custom(self) -> bool:
        """Whether it is a class of the caller."""
        return self.name in self._classes

    def run(self, document: Mapping[str, Any], cancel: engine.Cancel) -> Records:
        """Runs a scenario, plain values."""
        text, constructors = engine_document(dict(document), self._classes)
        return Records(engine.run(text, "json", SEED, cancel, constructors=constructors))

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


class Bench:
    """The algorithm of a subject on one path."""

    def __init__(self, subject: Subject, path: Path, cancel: engine.Cancel) -> None:
        self.subject = subject
        self.path = path
        self.cancel = cancel

    def run(self, document: Mapping[str, Any], moments: Mapping[str, float] | None = None) -> Trace:
        """Runs a scenario."""
        return Trace(self.subject.run(document, self.cancel), self.path, moments)

    def shared(self, document: Mapping[str, Any]) -> Trace:
        """Runs a scenario that several cases begin with, once."""
        return self.subject.shared(self.path, document, lambda: self.run(document))

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
        by default. Named values are recorded where one of ``on_change`` changes and every ``interval_s``.
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
            "stack": dict(RECEIVE_WINDOW),
        }
        if workload is not None:
            flow["workload"] = dict(workload)
        if stack:
            flow["stack"].update(stack)
        document: dict[str, Any] = {
            "schema_version": 1,
            "duration": duration(duration_s),
            "sample_interval": duration(duration_s / 400),
            "named_values": values,
            "dumbbell": {"bottleneck": bottleneck, "reverse": back},
            "flow": [flow],
        }
        if packets:
            document["packets"] = True
        return document


def duration(seconds: float) -> str:
    """A time as a quantity of the scenario, in nanoseconds.

    >>> duration(0.04)
    '40000000 ns'
    """
    return f"{round(seconds * 1e9)} ns"
