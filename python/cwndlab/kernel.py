"""Our algorithms inside Linux' TCP: registered by eBPF under ``cwndlab_…``, decided for by a thread of this process.

Needs the module of ``cwndlab[kernel]``, root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN) and a kernel with BTF. While a
`Attached` is open, any program of the machine may choose the names on its sockets.

    with attach(["phcc", "cubic+ccm-ss"]) as datapath:
        records = cwndlab.emulation.emulate(scenario, seed=1, datapath="cwndlab")
    datapath.totals[0]["applied"]["p99_ns"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cwndlab.engine import canonical_algorithm
from cwndlab.errors import Fault, RunError

if TYPE_CHECKING:
    from cwndlab_kernel import Datapath

__all__ = ["Attached", "attach", "serving", "timing"]


def _module() -> type[Datapath]:
    try:
        from cwndlab_kernel import Datapath
    except ImportError:
        what = "the module cwndlab_kernel is not installed"
        hint = "pip install 'cwndlab[kernel]'; from a checkout `make build`, with clang, pkg-config and libelf-dev"
        raise RunError(Fault("kernel", what, hint)) from None
    return Datapath


class Attached:
    """Algorithms that are registered; ``close`` or the end of the block gives their names back.

    Connections that are open then stay, served by Reno in the kernel.
    """

    def __init__(self, datapath: Datapath) -> None:
        self._datapath = datapath
        self._last: list[dict[str, Any]] | None = None
        self.names = datapath.names
        self.real_time = datapath.real_time

    def __enter__(self) -> Attached:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The open connections.

        Keys: ``algorithm, local_port, remote, cwnd_segments, window_segments`` (the last decision applied)``,
        pacing_rate_bps, srtt_ns, min_rtt_ns, delivery_rate_bps, delivered_bytes, reports, fallback, fallbacks, state``.
        """
        return self._datapath.flows()

    @property
    def totals(self) -> list[dict[str, Any]]:
        """What each algorithm counted, also after the end.

        Keys: ``algorithm, name, report, connections, reports, lost`` (reports without room in the ring)``, refused,
        fallbacks, applied, decided, congestions`` (of which deciders heard)``, failures``. ``applied`` is the latency
        from a report to its answer in force, ``decided`` to its answer written, each with ``count, p50_ns, p99_ns,
        p999_ns, max_ns, buckets_ns``.
        """
        return self._last if self._last is not None else self._datapath.totals()

    def close(self) -> None:
        """Gives the names back."""
        if self._last is None:
            self._last = self._datapath.totals()
            self._datapath.close()


def attach(algorithms: Sequence[str], *, report: str | None = None, timeout_s: float = 0.0) -> Attached:
    """Registers algorithms with the kernel, each under its own name, and begins to decide.

    ``report`` is ``ack``, ``rtt`` or a time such as ``2ms``; by default what each entry asks for. Names are the
    machine's: where another process has one, it is waited for as long as ``timeout_s``. Raises ``RunError`` where the
    module, the right or the kernel's BTF is missing, where an algorithm asks routers, and where a name is taken, and
    ``ScenarioError`` where an algorithm does not exist.
    """
    for text in algorithms:
        canonical_algorithm(text)  # what no library has is no fault of this kernel
    return Attached(_module()(list(algorithms), report, timeout_s))


@contextmanager
def serving(algorithms: Iterable[str]) -> Iterator[Callable[[], list[str]] | None]:
    """Registers what a run asks for, and yields what has a line for its records; ``None`` where it registers nothing.

    Where it may not, because somebody has registered one of them or for want of a right, whoever asks for a name that
    is not there says so.
    """
    wanted = list(dict.fromkeys(text.partition("/")[0] for text in algorithms))  # the recovery is the kernel's
    try:
        attached = attach(wanted) if wanted else None
    except RunError:
        attached = None
    if attached is None:
        yield None
        return
    with attached:
        yield lambda: [timing(attached.totals, real_time=attached.real_time)]


def timing(totals: Sequence[dict[str, Any]], *, real_time: bool) -> str:
    """One line for the records: latency from report to answer in force, and lost reports."""
    counted = [one["applied"] for one in totals if one["applied"]["count"]]
    lost = sum(one["lost"] for one in totals)
    late = "no answers"
    if counted:
        p50, p99, most = (max(one[key] for one in counted) / 1e3 for key in ("p50_ns", "p99_ns", "max_ns"))
        late = f"answers were in force after {p50:.0f} us (median), {p99:.0f} us (99 %), {most:.0f} us (most)"
    priority = "SCHED_FIFO" if real_time else "no real-time priority"
    return f"kernel datapath: {late}; lost reports: {lost}; {priority}"


def __dir__() -> list[str]:
    return __all__
