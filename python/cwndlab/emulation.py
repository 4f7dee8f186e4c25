"""Scenarios between real TCP stacks: the simulator's links on the wall clock between two network namespaces.

Needs Linux, root or user namespaces, and ``/dev/net/tun``. The kernel's own ``reno``, ``cubic`` and ``bbr`` send flows
whose congestion avoidance is ``reno``, ``cubic``, ``cubic-linux`` or ``bbr1``, with the kernel's slow start and
recovery. `EmulatedPath` puts any program at the ends instead.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, TypeVar

from cwndlab import engine
from cwndlab.catalogue import KERNEL_ALGORITHMS, canonical
from cwndlab.custom import merged
from cwndlab.engine import EmulatedPathHandle, become_root
from cwndlab.errors import Fault, RunError, Usage
from cwndlab.kernel import serving
from cwndlab.records import Records
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.simulate import engine_document

__all__ = [
    "LATE_S",
    "Datapath",
    "EmulatedPath",
    "Family",
    "Settings",
    "Side",
    "become_root",
    "deviations",
    "emulate",
    "substitutions",
]

#: Where a program runs: ``sender`` is the side from which the flows' data comes.
Side: TypeAlias = Literal["sender", "receiver"]
#: The version of IP.
Family: TypeAlias = Literal[4, 6]
#: The congestion control: the kernel's own, or ours in the kernel.
Datapath: TypeAlias = Literal["kernel", "cwndlab"]

#: Kernel settings by side: names as of sysctl(8), values as the kernel takes them.
Settings: TypeAlias = Mapping[Side, Mapping[str, str | int]]

#: A run is unreliable where 1 % of its packets were delivered later than this, seconds.
LATE_S = 1e-3
#: Time for a server to listen, and for a program to end after SIGTERM, seconds.
_PATIENCE_S = 5.0
_POLL_S = 0.01
#: Flows whose addresses are in the environment of programs: the first ones.
_FLOWS_IN_ENVIRONMENT = 1000

#: The device of each side, and all protocols (if_ether.h, ETH_P_ALL).
_DEVICE, _ALL = "path0", 0x0003
#: asm-generic/socket.h: SO_TIMESTAMPNS_OLD, a struct timespec for each packet.
_SO_TIMESTAMPNS = 35
#: Bytes of a packet in a capture: the headers with all options.
_SNAP = 128
#: The head of a capture: pcap with nanoseconds (draft-ietf-opsawg-pcap), link type LINKTYPE_RAW, whose packets begin
#: with the IP header.
_PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP, 101)

_Result = TypeVar("_Result")


def emulate(
    scenario: ScenarioLike,
    *,
    seed: int,
    late_s: float = LATE_S,
    accept_late: bool = False,
    datapath: Datapath = "kernel",
    settings: Settings | None = None,
) -> Records:
    """Runs a scenario between real TCP stacks, on the wall clock, and returns its records.

    The last note of the records has the lateness of the deliveries.

    Parameters
    ----------
    scenario
        A `Scenario`, or plain values in the shape of its TOML.
    seed
        Seed of losses and random starts.
    late_s
        Largest lateness of 99 % of the deliveries, in seconds.
    accept_late
        Return the records of a run whose deliveries were later; a note of theirs is then ``unreliable``.
    datapath
        ``"kernel"``: the kernel's own algorithms. ``"cwndlab"``: ours, registered with the kernel for the run, unless
        another process has registered them (``cwndlab kernel run``, `cwndlab.kernel.attach`).
    settings
        Kernel settings of the sides' network namespaces, beside those that the emulator writes.

    Raises
    ------
    RunError
        If the machine does not allow an emulation, if the kernel has no such setting or refuses its value, or
        if deliveries were late.
    AlgorithmError
        If an algorithm in the kernel failed.

    Examples
    --------
    Receivers without SACK compression::

        emulate(scenario, seed=1, settings={"receiver": {"net.ipv4.tcp_comp_sack_nr": 0}})
    """
    records, timing = emulate_with_timing(scenario, seed=seed, late_s=late_s, datapath=datapath, settings=settings)
    if not accept_late:
        refuse_late(timing)
    return records


def _listed(settings: Settings | None) -> list[tuple[Side, str, str]]:
    """Side, name and value of each setting, as the engine takes them."""
    return [(side, name, str(value)) for side, values in (settings or {}).items() for name, value in values.items()]


def emulate_with_timing(
    scenario: ScenarioLike,
    *,
    seed: int,
    late_s: float,
    datapath: Datapath = "kernel",
    settings: Settings | None = None,
) -> tuple[Records, dict[str, Any]]:
    """`emulate` without its check: records, and the timing."""
    text, _ = engine_document(scenario, {})
    document = json.loads(text) if datapath == "cwndlab" else {}
    classes = merged([{} if isinstance(scenario, Mapping) else scenario_of(scenario).classes])
    algorithms = [flow["algorithm"] for flow in document.get("flow", []) if flow.get("algorithm")]
    entries = document.get("algorithms", {}).items()
    policies = {name: entry["policy"] for name, entry in entries if "policy" in entry}
    _raise_descriptor_limit()
    with serving(algorithms, policies, classes) as remarks:
        records, timing = engine.emulate(
            text,
            "json",
            seed,
            datapath=datapath,
            late_ns=round(late_s * 1e9),
            remarks=remarks,
            settings=_listed(settings),
        )
    return Records(records), timing


def emulate_many(
    jobs: Sequence[tuple[ScenarioLike, int, Settings]],
    *,
    workers: int,
    late_s: float,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, tuple[Records, dict[str, Any]]]]:
    """`emulate_with_timing` for every (scenario, seed, settings), ``workers`` at a time.

    Yields (index of the job, (records, timing)) in the order in which runs end. Each run has separate namespaces; runs
    share the processor only.
    """
    _raise_descriptor_limit()

    def work(
        job: tuple[ScenarioLike, int, Settings], cancel: engine.Cancel
    ) -> tuple[engine.RecordsHandle, dict[str, Any]]:
        scenario, seed, settings = job
        text, _ = engine_document(scenario, {})
        return engine.emulate(text, "json", seed, cancel, late_ns=round(late_s * 1e9), settings=_listed(settings))

    with closing(engine.dispatch_all(work, jobs, workers, progress)) as results:
        for index, (records, timing) in results:
            yield index, (Records(records), timing)


def _raise_descriptor_limit() -> None:
    """Raises the limit of file descriptors to the largest that this process may have (getrlimit(2)): each active
    transfer of ``arrivals`` takes two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def refuse_late(timing: dict[str, Any]) -> None:
    """Raises ``RunError`` if the deliveries of a run were late."""
    if timing["unreliable"] is None:
        return
    remedies = "use a quieter machine or a lower rate, or "
    if not timing["real_time"]:
        remedies = f"real-time priority was refused (RLIMIT_RTPRIO, CAP_SYS_NICE); {remedies}"
    raise RunError(Fault("emulate", timing["unreliable"], Usage("accept_late", True, remedies)))


class EmulatedPath:
    """A context manager: a scenario's network between two namespaces, for any programs at its ends.

    The flows of the scenario are routes; their workloads do not run. The sender of flow *n* has the address
    10.101.0.(n + 1), its receiver 10.102.0.(n + 1); over IPv6 they have ``fdcc:101::`` and ``fdcc:102::`` with the same
    number at the end. The address on the receivers' side selects the route of a packet;
    where it is that of flow 0, the address on the senders' side does.

    All programs end with the block, and with this process, also when it is killed. After the block ``records`` and
    ``timing`` are available; the counters of a flow are those of the path, with all payload that arrived. Where 1 % of
    the deliveries were later than ``late_s``, ``timing["unreliable"]`` and a note have the reason.

    Parameters
    ----------
    scenario
        A `Scenario`, or plain values in the shape of its TOML.
    seed
        Seed of the path's losses.
    algorithm
        The congestion control of the programs' TCP connections. ``"scenario"``: for connections to the address of a
        flow, the kernel's algorithm for that of the flow, whichever one programs select; where the kernel has none,
        ``notes`` say what is used. ``"program"``: the programs' choice, or the machine's default. Otherwise an
        algorithm of the kernel for all connections of both sides.
    late_s
        Largest lateness of 99 % of the deliveries, in seconds.
    settings
        Kernel settings of the sides' network namespaces, beside those that the emulator writes.

    Raises
    ------
    RunError
        If the machine does not allow an emulation, or if the kernel has no such setting or refuses its value.

    Examples
    --------
    Throughput of ``iperf3`` over the path::

        with EmulatedPath(scenario, seed=1) as path:
            path.serve("receiver", ["iperf3", "-s"])
            client = path.popen("sender", ["iperf3", "-c", path.address("receiver")])
            client.wait()
        path.records.links
    """

    records: Records
    timing: dict[str, Any]

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        seed: int,
        algorithm: str = "scenario",
        late_s: float = LATE_S,
        settings: Settings | None = None,
    ) -> None:
        self._scenario, self._seed, self._algorithm, self._late_s = scenario, seed, algorithm, late_s
        self._settings = _listed(settings)
        self._programs: list[subprocess.Popen[Any]] = []
        self._closed = False

    def __enter__(self) -> EmulatedPath:
        text, _ = engine_document(self._scenario, {})
        late_ns = round(self._late_s * 1e9)
        self._engine = EmulatedPathHandle(
            text, "json", self._seed, algorithm=self._algorithm, late_ns=late_ns, settings=self._settings
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RunError:
            if error is None:
                raise

    def close(self) -> None:
        """Ends the programs, the path and the two sides, as the end of the block does; then ``records`` exist."""
        if self._closed:
            return
        self._closed = True
        try:
            self._end_programs()
        finally:
            records, self.timing = self._engine.close()
        self.records = Records(records)

    def _end_programs(self) -> None:
        for program in self._programs:
            _signal(program, signal.SIGTERM)
        until = time.monotonic() + _PATIENCE_S
        for program in self._programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(max(0.0, until - time.monotonic()))
        for program in self._programs:
            _signal(program, signal.SIGKILL)
            program.wait()

    def address(self, side: Side, flow: int = 0, *, family: Family = 4) -> str:
        """The address of the end of a flow.

        Parameters
        ----------
        side
            ``"sender"`` or ``"receiver"``.
        flow
            The number of the flow.
        family
            The version of IP, 4 or 6.

        Raises
        ------
        RunError
            For an address of IPv6 where `has_ipv6` is false.
        """
        return self._engine.address(side, flow, family)

    @property
    def has_ipv6(self) -> bool:
        """Whether the path has IPv6: the kernel has it, and the MTU is not below 1280 bytes (RFC 8200)."""
        return self._engine.has_ipv6()

    @property
    def flows(self) -> list[str]:
        """The labels of the flows, in the order of their addresses."""
        return self._engine.flows()

    @property
    def notes(self) -> list[str]:
        """The kernel's release, the congestion control of programs, and the form of ECN, a line for each; the notes of
        the records have them as well."""
        return self._engine.notes()

    @property
    def is_broken(self) -> bool:
        """Whether the path has failed; the end of the block raises the error."""
        return self._engine.is_broken()

    def environment(self, side: Side) -> dict[str, str]:
        """Variables in the environment of programs on a side: ``CWNDLAB_SIDE``, ``CWNDLAB_ADDRESS`` and
        ``CWNDLAB_PEER`` (of flow 0), ``CWNDLAB_FLOW_n_ADDRESS`` and ``CWNDLAB_FLOW_n_PEER``; the same names with a 6 at
        the end are the addresses of IPv6, where the path has it."""
        far: Side = "receiver" if side == "sender" else "sender"
        families: list[tuple[str, Family]] = [("", 4), ("6", 6)] if self.has_ipv6 else [("", 4)]
        values: dict[str, str] = {"SIDE": side}
        for end, family in families:
            values |= {f"{name}{end}": self.address(one, family=family) for name, one in _ends(side, far)}
            for flow in range(min(len(self.flows), _FLOWS_IN_ENVIRONMENT)):
                for name, one in _ends(side, far):
                    values[f"FLOW_{flow}_{name}{end}"] = self.address(one, flow, family=family)
        return {f"CWNDLAB_{name}": value for name, value in values.items()}

    def call(self, side: Side, function: Callable[[], _Result]) -> _Result:
        """Calls ``function`` in a thread on a side: sockets that it makes stay on that side."""
        results: list[_Result] = []
        failed: list[BaseException] = []

        def there() -> None:
            try:
                self._engine.join(side)
                results.append(function())
            except BaseException as error:
                failed.append(error)

        thread = Thread(target=there)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return results[0]

    def popen(self, side: Side, command: Sequence[str] | str, **options: Any) -> subprocess.Popen[Any]:
        """Starts a program on a side, as `subprocess.Popen` with all of its options; raises ``RunError`` if it
        cannot be started."""
        options["env"] = dict(options.get("env") or os.environ) | self.environment(side)
        try:
            program = self.call(side, lambda: subprocess.Popen(command, **options))
        except OSError as cause:
            name = command if isinstance(command, str) else command[0]
            what = f"'{name}' cannot be started ({cause.strerror})"
            raise RunError(Fault("emulate", what, "name a program that is installed")) from cause
        self._programs.append(program)
        return program

    @contextmanager
    def capture(self, side: Side, file: Path | str) -> Iterator[None]:
        """Captures the packets of a side while the block runs: the headers, into a pcap file. On the senders' side
        data is captured before the bottleneck, on the receivers' side behind it. Takes root.

        Parameters
        ----------
        side
            ``"sender"`` or ``"receiver"``.
        file
            The file, which is replaced.

        Raises
        ------
        RunError
            The process may not capture packets.

        Examples
        --------
        ::

            with EmulatedPath(scenario, seed=1) as path, path.capture("sender", "senders.pcap"):
                ...
        """
        try:
            tap = self.call(side, _tap)
        except PermissionError as cause:
            raise RunError(
                Fault("capture", f"packets cannot be captured ({cause.strerror})", "run it as root")
            ) from cause
        ends: list[None] = []
        with tap, Path(file).open("wb") as out:
            thread = Thread(target=_write_packets, args=(tap, out, ends))
            thread.start()
            try:
                yield
            finally:
                ends.append(None)
                thread.join()

    def serve(self, side: Side, command: Sequence[str] | str, **options: Any) -> subprocess.Popen[Any]:
        """Starts a program as `popen` does, in a new session, and waits until it listens (TCP or UDP), at most five
        seconds. Raises ``RunError`` if it ends before."""
        before = self.ports(side)
        program = self.popen(side, command, start_new_session=True, **options)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and not self.ports(side) - before:
            if program.poll() is not None and program.returncode != 0:
                text = command if isinstance(command, str) else " ".join(command)
                what = f"'{text}' ended with status {program.returncode} before it listened"
                raise RunError(Fault("emulate", what, "its own message should say why"))
            time.sleep(_POLL_S)
        return program

    def ports(self, side: Side) -> set[tuple[str, int]]:
        """The listening sockets on a side: protocol and port."""

        def listening_ports() -> set[tuple[str, int]]:
            ports = set()
            for protocol, listening in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
                table = Path(f"/proc/thread-self/net/{protocol}")
                for line in table.read_text().splitlines()[1:] if table.exists() else ():
                    _, local, _, state, *_ = line.split()
                    if state == listening:
                        ports.add((protocol[:3], int(local.rpartition(":")[2], 16)))
            return ports

        return self.call(side, listening_ports)


def _tap() -> socket.socket:
    """A socket with the packets of the side on which it is opened."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
    tap.bind((_DEVICE, _ALL))
    tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    tap.settimeout(0.2)
    return tap


def _write_packets(tap: socket.socket, out: BinaryIO, ends: Sequence[None]) -> None:
    """Writes packets until ``ends`` is not empty. The length of a packet is that of its IP header."""
    out.write(_PCAP)
    while not ends:
        try:
            data, control, _, _ = tap.recvmsg(_SNAP, 64)
        except TimeoutError:
            continue
        seconds, fraction = struct.unpack("qq", control[0][2][:16])
        size = struct.unpack_from(">H", data, 2)[0] if data[0] >> 4 == 4 else 40 + struct.unpack_from(">H", data, 4)[0]
        out.write(struct.pack("<IIII", seconds, fraction, len(data), size) + data)


def _ends(near: Side, far: Side) -> tuple[tuple[str, Side], tuple[str, Side]]:
    """The names of both addresses in the environment of a program on the side ``near``."""
    return ("ADDRESS", near), ("PEER", far)


def _signal(program: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Sends a signal to a program, with its children where it leads a session."""
    if program.poll() is not None:
        return
    with suppress(ProcessLookupError):
        if os.getpgid(program.pid) == program.pid:
            os.killpg(program.pid, number)
        else:
            program.send_signal(number)


class Substitution(NamedTuple):
    """A flow that the kernel sent with its own algorithm in place of the simulated one."""

    flow: str
    simulated: str
    """The simulated algorithm."""
    kernel: str
    """The kernel's own, as the simulator names it."""


def _substitute(simulated: str, emulated: str) -> str | None:
    """The kernel's own algorithm as the simulator names it, where it is not the one that was simulated."""
    kernel = KERNEL_ALGORITHMS.get(emulated.removeprefix("kernel:"))
    name, _, recovery = simulated.partition("/")
    differs = kernel is not None and (canonical(name) != canonical(kernel) or recovery not in ("", "rack"))
    return kernel if differs else None


def substitutions(simulated: Records, emulated: Records) -> list[Substitution]:
    """The flows that the kernel sent with its own algorithm in place of the simulated one.

    Parameters
    ----------
    simulated
        Records of the simulator.
    emulated
        Records of the same scenario from `emulate`.
    """
    pairs = zip(simulated.rows("flows"), emulated.rows("flows"), strict=True)
    return [
        Substitution(ours["name"], ours["algorithm"], f"{kernel}/rack")
        for ours, theirs in pairs
        if (kernel := _substitute(ours["algorithm"], theirs["algorithm"])) is not None
    ]


def deviations(simulated: Records, emulated: Records) -> list[dict[str, Any]]:
    """A row per flow and quantity: the simulator's value, the kernel's, and the deviation.

    Parameters
    ----------
    simulated
        Records of the simulator.
    emulated
        Records of the same scenario from `emulate`.

    Returns
    -------
    list of dict
        ``flow``, ``simulated_algorithm``, ``kernel_algorithm``, ``same_algorithm`` (false where the kernel sent with
        its own in place of the simulated one), ``quantity``, ``simulated``, ``kernel``, ``deviation`` (the kernel's
        value over the simulator's, less one).
    """
    # Polars starts threads, after which a process without root cannot enter a user namespace.
    from cwndlab.metrics import goodput

    rows: list[dict[str, Any]] = []

    def add(flow: Mapping[str, Any], quantity: str, ours: float | None, theirs: float | None) -> None:
        deviation = theirs / ours - 1 if ours and theirs is not None else None
        values = {"quantity": quantity, "simulated": ours, "kernel": theirs, "deviation": deviation}
        rows.append({**flow, **values})

    pairs = zip(simulated.rows("flows"), emulated.rows("flows"), strict=True)
    rates = (goodput(one)["goodput_bps"].to_list() for one in (simulated, emulated))
    for (ours, theirs), rate, real in zip(pairs, *rates, strict=True):
        flow = {
            "flow": ours["name"],
            "simulated_algorithm": ours["algorithm"],
            "kernel_algorithm": theirs["algorithm"],
            "same_algorithm": _substitute(ours["algorithm"], theirs["algorithm"]) is None,
        }
        add(flow, "goodput_bps", rate, real)
        for quantity in ("mean_rtt_ns", "min_rtt_ns", "queue_drops", "retransmitted_packets", "recoveries", "timeouts"):
            add(flow, quantity, ours[quantity], theirs[quantity])
    return rows


def __dir__() -> list[str]:
    return __all__
