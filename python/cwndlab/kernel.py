"""Our algorithms in Linux' TCP: registered by eBPF under ``cwndlab_…``; a thread of this process makes the decisions.

Needs the module of ``cwndlab[kernel]``, root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN) and a kernel with BTF. While an
`Attached` is open, any program of the machine may select the names for its sockets.

    with attach(["phcc", "cubic+ccm-ss"]) as datapath:
        records = cwndlab.emulation.emulate(scenario, seed=1, datapath="cwndlab")
    datapath.totals[0]["applied"]["p99_ns"]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.closing import Closing
from cwndlab.custom import Classes, CongestionControl, CustomAlgorithm, bound, classes_named, described, name_of
from cwndlab.engine import canonical_algorithm
from cwndlab.errors import AlgorithmError, Fault, RunError, ScenarioError

if TYPE_CHECKING:
    from cwndlab_kernel import Datapath

__all__ = ["Attached", "attach", "ecn_limits", "serving", "timing"]

#: The setting that selects the form of ECN of a namespace's connections.
_ECN_SETTING = Path("/proc/sys/net/ipv4/tcp_ecn")
#: Its values with which connections request ECN, and with which they request Accurate ECN (ip-sysctl.rst).
_REQUESTS, _ACCURATE = ("1", "3", "4"), ("3",)


def _module() -> type[Datapath]:
    try:
        from cwndlab_kernel import Datapath
    except ImportError:
        what = "the module cwndlab_kernel is not installed"
        hint = "pip install 'cwndlab[kernel]'; from a checkout `make build`, with clang, pkg-config and libelf-dev"
        raise RunError(Fault("kernel", what, hint)) from None
    return Datapath


class Attached(Closing):
    """Registered algorithms; ``close`` or the end of the block releases their names.

    Open connections continue with Reno in the kernel.
    """

    def __init__(self, datapath: Datapath) -> None:
        self._datapath = datapath
        self._last: list[dict[str, Any]] | None = None
        self.names = datapath.names
        self.real_time = datapath.real_time

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The open connections.

        Keys: ``algorithm, local_port, remote, cwnd_segments, window_segments`` (the last decision applied)``,
        pacing_rate_bps, srtt_ns, min_rtt_ns, delivery_rate_bps, delivered_bytes, reports, fallback, fallbacks, state``.
        """
        return self._datapath.flows()

    @property
    def totals(self) -> list[dict[str, Any]]:
        """The counters of each algorithm, also after the end.

        Keys: ``algorithm, name, report, connections, reports, lost`` (reports without room in the ring)``, refused,
        fallbacks, applied, applied_at_next, decided, congestions`` (received by deciders)``, failures``. ``applied``
        is the latency from a report to the application of its decision, ``decided`` to the decision, each with
        ``count, p50_ns, p99_ns, p999_ns, max_ns, buckets_ns``. ``applied_at_next`` is the number of decisions that
        applied at the first ACK or transmission after their report.
        """
        return self._last if self._last is not None else self._datapath.totals()

    def close(self) -> None:
        """Releases the names."""
        if self._last is None:
            self._last = self._datapath.totals()
            self._datapath.close()


def attach(
    algorithms: Sequence[str | type[CongestionControl]],
    *,
    report: str | None = None,
    timeout_s: float = 0.0,
    policies: Mapping[str, Mapping[str, Any]] | None = None,
    classes: Classes | None = None,
) -> Attached:
    """Registers algorithms with the kernel and starts to make their decisions.

    A class in Python receives every ACK unless ``report`` says otherwise. Where one of its methods raises an exception,
    the kernel continues the connection with Reno, and ``failures`` of ``Attached.totals`` has the traceback.

    Parameters
    ----------
    algorithms
        Algorithms, as a flow names them, and classes (`cwndlab.custom`), which have the name of `custom.name_of`.
    report
        How often the kernel reports: ``ack``, ``rtt`` or a time such as ``2ms``; by default as each algorithm requires.
    timeout_s
        Time to wait for names that another process has registered, seconds: names are global.
    policies
        Documents of policies (`cwndlab.gym.Policy.to_document`) among the algorithms, by their names.
    classes
        Classes among the algorithms, by their names, in addition to the registered ones (`cwndlab.register`).

    Raises
    ------
    RunError
        If the module, a capability or the kernel's BTF is missing, if an algorithm needs router assistance, or
        if a name is taken.
    ScenarioError
        If an algorithm does not exist, a policy or a class is not valid, ``report`` is no schedule, or an algorithm is
        that of a Rust file.
    """
    texts = [one if isinstance(one, str) else name_of(one) for one in algorithms]
    custom = classes_named(algorithms, classes)
    # The module of the datapath is an extension of its own: the engine's libraries have another type there.
    rust = [name for name, one in custom.items() if one.is_rust]
    if rust:
        what = "is the algorithm of a Rust file, which the kernel's datapath does not run"
        hint = "run it in the simulator or over QUIC; in the kernel, a class in Python or an algorithm of the tree"
        raise ScenarioError(*(Fault(f"algorithm '{name}'", what, hint) for name in rust))
    documents = {name: dict(document) for name, document in (policies or {}).items()}
    known = _known(custom, documents)
    # An unknown name is a fault of the input, not of the kernel. What is named twice is registered once.
    texts = list({canonical_algorithm(text, known): text for text in reversed(texts)}.values())[::-1]
    named = [(name, json.dumps(document)) for name, document in documents.items()]
    return Attached(_module()(texts, report, timeout_s, named, bound(custom)))


def _known(custom: Mapping[str, CustomAlgorithm], policies: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The document that declares classes and policies, for the names of algorithms."""
    entries = {name: {"policy": dict(document)} for name, document in policies.items()}
    return described(custom, json.dumps({"schema_version": 1, "algorithms": entries}) if entries else None)


@contextmanager
def serving(
    algorithms: Iterable[str],
    policies: Mapping[str, Mapping[str, Any]] | None = None,
    classes: Classes | None = None,
) -> Iterator[Callable[[], list[str]] | None]:
    """Registers the algorithms of a run, and yields a function that returns the lines for its records; ``None`` where
    it registers nothing.

    Where the kernel refuses, because another process has registered one of them or for lack of a capability, the
    socket that selects a missing name reports it.

    Raises
    ------
    AlgorithmError
        At the end, where an algorithm failed; the kernel continued its connections with Reno.
    """
    texts = list(algorithms)
    known = _known(classes_named(texts, classes), policies or {})
    # The recovery is the kernel's: texts that differ in it alone have one name there.
    named = {canonical_algorithm(text, known).partition("/")[0]: text.partition("/")[0] for text in reversed(texts)}
    wanted = list(named.values())[::-1]
    try:
        attached = attach(wanted, policies=policies, classes=classes) if wanted else None
    except RunError:
        attached = None
    if attached is None:
        yield None
        return
    with attached:
        yield lambda: [timing(attached.totals, real_time=attached.real_time)]
        faults = [Fault(f"algorithm '{one['algorithm']}'", text) for one in attached.totals for text in one["failures"]]
    if faults:
        raise AlgorithmError(*faults)


def ecn_limits(needs: Iterable[str], setting: str | None = None) -> list[str]:
    """What the kernel lacks for an algorithm that needs ECN, a sentence each.

    Parameters
    ----------
    needs
        The needs of the algorithm's entry.
    setting
        A value of ``net.ipv4.tcp_ecn``, by default the present one.

    >>> ecn_limits(["pacing"], "2"), len(ecn_limits(["ecn"], "2")), ecn_limits(["ecn"], "3")
    ([], 2, [])
    """
    needs = set(needs)
    if not {"ecn", "l4s"} & needs:
        return []
    value = setting or _ECN_SETTING.read_text(encoding="ascii").strip()
    limits = []
    if value not in _REQUESTS:
        limits.append(f"connections do not request ECN (net.ipv4.tcp_ecn = {value}): set it to 1 or use 'features ecn'")
    if value not in _ACCURATE:
        limits.append(
            "ECN is classic unless both kernels have net.ipv4.tcp_ecn = 3, which Linux 6.18 rejects: the segments that "
            "an ACK with an echo acknowledges count as marked"
        )
    if "l4s" in needs:
        limits.append(
            "Linux 6.18 sends ECT(0) also with Accurate ECN: queues for L4S treat its packets as classic ones"
        )
    return limits


def timing(totals: Sequence[dict[str, Any]], *, real_time: bool) -> str:
    """One line for the records: latency from a report to the application of its decision, and lost reports."""
    counted = [one["applied"] for one in totals if one["applied"]["count"]]
    lost = sum(one["lost"] for one in totals)
    late = "no answers"
    if counted:
        p50, p99, most = (max(one[key] for one in counted) / 1e3 for key in ("p50_ns", "p99_ns", "max_ns"))
        at_next = sum(one["applied_at_next"] for one in totals) / sum(one["count"] for one in counted)
        late = (
            f"answers were in force after {p50:.0f} us (median), {p99:.0f} us (99 %), {most:.0f} us (most), "
            f"{at_next:.1%} at the first ACK or transmission after the report"
        )
    priority = "SCHED_FIFO" if real_time else "no real-time priority"
    return f"kernel datapath: {late}; lost reports: {lost}; {priority}"


def __dir__() -> list[str]:
    return __all__
