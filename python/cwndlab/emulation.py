"""The same scenario between real TCP stacks: the simulator's links on the wall clock between two network namespaces.

Needs Linux, and root or user namespaces; and ``/dev/net/tun``. Flows whose growth is ``reno``, ``cubic`` or
``cubic-linux``, or ``bbr1`` are sent by the kernel's own ``reno``, ``cubic`` and ``bbr``; the kernel's slow start and
recovery come with them. `EmulatedPath` puts any program at the ends instead.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar

from cwndlab import engine
from cwndlab.engine import EmulatedPathHandle, become_root
from cwndlab.errors import Fault, RunError
from cwndlab.kernel import serving
from cwndlab.records import Records
from cwndlab.scenario.document import ScenarioLike
from cwndlab.simulate import engine_document

__all__ = ["LATE_S", "Datapath", "EmulatedPath", "Side", "become_root", "beside", "emulate"]

#: Where a program runs: ``sender`` is the side from which the flows' data comes.
Side: TypeAlias = Literal["sender", "receiver"]
#: Whose congestion control: the kernel's own, or ours in the kernel.
Datapath: TypeAlias = Literal["kernel", "cwndlab"]

#: A run of whose packets 1 % were delivered later than this is not to be relied on.
LATE_S = 1e-3
#: How long a server may take until it listens, and a program to end when it is asked to.
_PATIENCE_S = 5.0
_GLANCE_S = 0.01
#: Flows of which the environment of programs tells the addresses.
_TOLD = 1000

_Found = TypeVar("_Found")


def emulate(
    scenario: ScenarioLike,
    *,
    seed: int,
    late_s: float = LATE_S,
    accept_late: bool = False,
    datapath: Datapath = "kernel",
) -> Records:
    """Runs ``scenario`` for as long as it says, with ``seed`` for its losses and starts; returns what was recorded.

    ``datapath`` "kernel" takes the kernel's own algorithms, "cwndlab" ours: registered for the run and decided for by
    this process, unless somebody has registered one of them (``cwndlab kernel run``, `cwndlab.kernel.attach`). The last
    note of the records says how late deliveries were. Raises ``RunError`` where the machine may not emulate, and where
    1 % of the deliveries were later than ``late_s``, unless ``accept_late``: then a note of the records says
    ``unreliable``.
    """
    records, timing = emulate_with_timing(scenario, seed=seed, late_s=late_s, datapath=datapath)
    if not accept_late:
        refuse_late(timing)
    return records


def emulate_with_timing(
    scenario: ScenarioLike, *, seed: int, late_s: float, datapath: Datapath = "kernel"
) -> tuple[Records, dict[str, Any]]:
    """`emulate` without its check: records, and the timing."""
    text, _ = engine_document(scenario, {})
    flows = json.loads(text).get("flow", []) if datapath == "cwndlab" else []
    with serving(flow["algorithm"] for flow in flows if flow.get("algorithm")) as remarks:
        records, timing = engine.emulate(
            text, "json", seed, datapath=datapath, late_ns=round(late_s * 1e9), remarks=remarks
        )
    return Records(records), timing


def emulate_many(
    jobs: Sequence[tuple[ScenarioLike, int]],
    *,
    workers: int,
    late_s: float,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, tuple[Records, dict[str, Any]]]]:
    """`emulate_with_timing` for every (scenario, seed), ``workers`` at a time.

    Yields (index of the job, (records, timing)) in the order in which runs end. Each has namespaces of its own, so that
    they meet at the processor alone.
    """

    def work(job: tuple[ScenarioLike, int], cancel: engine.Cancel) -> tuple[engine.RecordsHandle, dict[str, Any]]:
        text, _ = engine_document(job[0], {})
        return engine.emulate(text, "json", job[1], cancel, late_ns=round(late_s * 1e9))

    with closing(engine.dispatch_all(work, jobs, workers, progress)) as results:
        for index, (records, timing) in results:
            yield index, (Records(records), timing)


def refuse_late(timing: dict[str, Any]) -> None:
    """Raises ``RunError`` where ``timing`` says that the run is unreliable."""
    if timing["unreliable"] is None:
        return
    hint = "a quieter machine, a lower rate, or --accept-late"
    if not timing["real_time"]:
        hint = f"real-time priority was refused (RLIMIT_RTPRIO, CAP_SYS_NICE); {hint}"
    raise RunError(Fault("emulate", timing["unreliable"], hint))


class EmulatedPath:
    """The two sides of a scenario's network, with the path at work between them and programs at its ends.

    The flows of the scenario are routes here: their workloads do not run. The senders' end of flow *n* has the address
    10.101.0.(n + 1), its receivers' end 10.102.0.(n + 1); a packet travels the route of the flow that the receivers'
    side's address names or, where this is flow 0, that the senders' side's names. With ``algorithm`` all TCP of both
    sides is under this congestion control of the kernel, whatever programs choose.

    Everything that runs there ends with the block, and with this process, also when it is killed. ``records`` and
    ``timing`` are there afterwards: of a flow what the path saw of it, all payload counted that arrived. Where 1 % of
    the deliveries were later than ``late_s``, ``timing["unreliable"]`` and a note say so. Raises
    ``RunError`` where the machine may not emulate. ::

        with EmulatedPath(scenario, seed=1) as path:
            path.serve("receiver", ["iperf3", "-s"])
            client = path.popen("sender", ["iperf3", "-c", path.address("receiver")])
            client.wait()
        path.records.links
    """

    records: Records
    timing: dict[str, Any]

    def __init__(
        self, scenario: ScenarioLike, *, seed: int, algorithm: str | None = None, late_s: float = LATE_S
    ) -> None:
        self._scenario, self._seed, self._algorithm, self._late_s = scenario, seed, algorithm, late_s
        self._programs: list[subprocess.Popen[Any]] = []
        self._closed = False

    def __enter__(self) -> EmulatedPath:
        text, _ = engine_document(self._scenario, {})
        late_ns = round(self._late_s * 1e9)
        self._engine = EmulatedPathHandle(text, "json", self._seed, algorithm=self._algorithm, late_ns=late_ns)
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
        """Ends the programs, the path and the two sides, as the end of the block does; ``records`` are there then."""
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
            _tell(program, signal.SIGTERM)
        until = time.monotonic() + _PATIENCE_S
        for program in self._programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(max(0.0, until - time.monotonic()))
        for program in self._programs:
            _tell(program, signal.SIGKILL)
            program.wait()

    @staticmethod
    def address(side: Side, flow: int = 0) -> str:
        """The IPv4 address of the end of flow number ``flow`` on a side."""
        return EmulatedPathHandle.address(side, flow)

    @property
    def flows(self) -> list[str]:
        """The labels of the flows, in the order of their addresses."""
        return self._engine.flows()

    @property
    def is_broken(self) -> bool:
        """The path has failed; the end of the block raises why."""
        return self._engine.is_broken()

    def environment(self, side: Side) -> dict[str, str]:
        """What programs on a side find in their environment beside ours: ``CWNDLAB_SIDE``, ``CWNDLAB_ADDRESS`` and
        ``CWNDLAB_PEER`` (of flow 0), and ``CWNDLAB_FLOW_n_ADDRESS`` and ``CWNDLAB_FLOW_n_PEER``."""
        far: Side = "receiver" if side == "sender" else "sender"
        told = {"SIDE": side, "ADDRESS": self.address(side, 0), "PEER": self.address(far, 0)}
        for flow in range(min(len(self.flows), _TOLD)):
            told |= {f"FLOW_{flow}_ADDRESS": self.address(side, flow), f"FLOW_{flow}_PEER": self.address(far, flow)}
        return {f"CWNDLAB_{name}": value for name, value in told.items()}

    def call(self, side: Side, function: Callable[[], _Found]) -> _Found:
        """Calls ``function`` in a thread on a side: sockets that it makes are of that side for ever."""
        found: list[_Found] = []
        failed: list[BaseException] = []

        def there() -> None:
            try:
                self._engine.join(side)
                found.append(function())
            except BaseException as error:
                failed.append(error)

        thread = Thread(target=there)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return found[0]

    def popen(self, side: Side, command: Sequence[str] | str, **options: Any) -> subprocess.Popen[Any]:
        """Starts a program on a side, as `subprocess.Popen` with all of its options; raises ``RunError`` where it
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

    def serve(self, side: Side, command: Sequence[str] | str, **options: Any) -> subprocess.Popen[Any]:
        """Starts a program as `popen` does, in a session of its own, and waits until it listens (TCP or UDP), for five
        seconds at most: then it is taken to need no port. Raises ``RunError`` where it ends before."""
        before = self.ports(side)
        program = self.popen(side, command, start_new_session=True, **options)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and not self.ports(side) - before:
            if program.poll() is not None and program.returncode != 0:
                text = command if isinstance(command, str) else " ".join(command)
                what = f"'{text}' ended with status {program.returncode} before it listened"
                raise RunError(Fault("emulate", what, "its own message should say why"))
            time.sleep(_GLANCE_S)
        return program

    def ports(self, side: Side) -> set[tuple[str, int]]:
        """What is listened to on a side: protocol and port."""

        def look() -> set[tuple[str, int]]:
            found = set()
            for protocol, listening in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
                table = Path(f"/proc/thread-self/net/{protocol}")
                for line in table.read_text().splitlines()[1:] if table.exists() else ():
                    _, local, _, state, *_ = line.split()
                    if state == listening:
                        found.add((protocol[:3], int(local.rpartition(":")[2], 16)))
            return found

        return self.call(side, look)


def _tell(program: subprocess.Popen[Any], what: signal.Signals) -> None:
    """Sends a signal to a program, with its children where it has a session of its own."""
    if program.poll() is not None:
        return
    with suppress(ProcessLookupError):
        if os.getpgid(program.pid) == program.pid:
            os.killpg(program.pid, what)
        else:
            program.send_signal(what)


#: What the kernel's own algorithms are in our words; recovery is RACK's.
KERNELS_OWN = {"reno": "reno+standard", "cubic": "cubic-linux+hystart-linux", "bbr": "bbr1"}


def _substitute(simulated: str, emulated: str) -> str | None:
    """The kernel's own algorithm in our words, where it is not the one that was simulated."""
    own = KERNELS_OWN.get(emulated.removeprefix("kernel:"))
    name, _, recovery = simulated.partition("/")
    return own if own is not None and (name != own or recovery not in ("", "rack")) else None


def substitutions(simulated: Records, emulated: Records) -> list[str]:
    """Flows whose algorithm in the kernel is its own and not the one that was simulated, each with what to write."""
    found = []
    for ours, theirs in zip(simulated.rows("flows"), emulated.rows("flows"), strict=True):
        own = _substitute(ours["algorithm"], theirs["algorithm"])
        if own is not None:
            found.append(
                f"{ours['name']}: simulated is {ours['algorithm']}, the kernel sent with its own, which is {own}/rack: "
                f"write that, or --datapath cwndlab, to compare the same"
            )
    return found


def beside(simulated: Records, emulated: Records) -> list[dict[str, Any]]:
    """A row per flow and quantity: what the simulator says, what the kernel did, and by how much they part.

    Columns: ``flow``, ``simulated_algorithm``, ``kernel_algorithm``, ``same_algorithm`` (false where the kernel sent
    with its own in place of the one that was simulated), ``quantity``, ``simulated``, ``kernel``, ``deviation`` (the
    kernel's value over the simulator's, less one).
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
