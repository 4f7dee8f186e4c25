"""Emulator, kernel datapath and server for hours, at once: memory, descriptors, and what is left over at the end.

`python benches/soak.py [SECONDS]`, two hours by default; as root. Not a part of `make bench`. Ctrl-C or SIGTERM
ends it early and prints what it has.

- An emulated path of 40 Mbit/s with 50 flows: each opens a connection, sends 1 MB, closes, and begins again. Ten use
  the kernel's `cubic`, and ten each of the four algorithms of `cwndlab kernel run`. It takes no samples, which are
  results and stay in memory until the end (docs/emulation.md).
- `cwndlab serve` with 20 honest clients, half of them over QUIC, which fetch 1 MB each second, and with 100 clients
  that read more slowly than the server permits, and come back.

Memory is the resident memory of a process, every ten seconds; its growth is the change from the mean of the second
tenth of the run to that of the last tenth. A transfer of an honest client that does not end as `complete` is lost.
Prints Markdown.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

#: Duration by default.
HOURS = 2
#: Seconds between two looks at the processes.
INTERVAL_S = 10.0
#: Largest growth of a process's memory.
MAX_GROWTH = 0.05
FLOWS, SLOW, HONEST = 50, 100, 20
ALGORITHMS = ("reno", "cubic-linux", "bbr3", "phcc")
#: Bytes of each connection on the path, and of each transfer of an honest client.
BYTES = 1_000_000
PORT = 5001
#: Variable of the environment of all processes of a run, by which left ones are found.
MARK = "CWNDLAB_SOAK"
#: Seconds for the system to remove what a process had: sockets without a process end, and release their eBPF programs,
#: after some of their timeouts.
SETTLING_S = 300.0


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# --- programs on the path and clients of the server, each in a process of its own


def sink() -> None:
    """Accepts connections on the path and reads them to their end."""

    def read(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(1 << 16):
                pass

    with socket.create_server(("0.0.0.0", PORT), backlog=128) as listener:
        while True:
            threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()


def senders() -> None:
    """Sends over each flow of the path, again and again; prints the number of connections at SIGTERM."""
    names = ["cubic", *json.loads(os.environ["SOAK_NAMES"])]
    counts = [[0, 0] for _ in range(FLOWS)]
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())

    def send(flow: int) -> None:
        own, peer = (os.environ[f"CWNDLAB_FLOW_{flow}_{end}"] for end in ("ADDRESS", "PEER"))
        name = names[flow % len(names)].encode()
        while not ending.is_set():
            with socket.socket() as connection:
                try:
                    connection.settimeout(60)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
                    connection.bind((own, 0))
                    connection.connect((peer, PORT))
                    connection.sendall(bytes(BYTES))
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(1)  # the end, after all has arrived
                    counts[flow][0] += 1
                except OSError:
                    counts[flow][1] += not ending.is_set()
                    ending.wait(1)

    for flow in range(FLOWS):
        threading.Thread(target=send, args=(flow,), daemon=True).start()
    while not ending.wait(1):
        pass
    complete, lost = (sum(one) for one in zip(*counts, strict=True))
    _print(json.dumps({"complete": complete, "lost": lost, "least": min(one for one, _ in counts)}))


def path() -> None:
    """The emulated path, with senders and sink, until SIGTERM."""
    import cwndlab
    from cwndlab.emulation import EmulatedPath

    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    link = cwndlab.Link(rate="40 Mbps", delay="5 ms", queue=cwndlab.DropTail("200 packets"))
    flows = [cwndlab.Flow("cubic", rtt="40 ms", count=FLOWS)]
    scenario = cwndlab.Scenario(duration="10 s", sample_interval="0 s", dumbbell=cwndlab.Dumbbell(link), flows=flows)
    with EmulatedPath(scenario, seed=1) as emulated:
        emulated.serve("receiver", [sys.executable, __file__, "sink"])
        client = emulated.popen("sender", [sys.executable, __file__, "senders"], stdout=subprocess.PIPE, text=True)
        while not ending.wait(1) and client.poll() is None and not emulated.is_broken:
            pass
        client.terminate()
        _print(client.communicate(timeout=90)[0].strip())


def honest() -> None:
    """Fetches from the server until SIGTERM; prints the number of transfers."""
    from cwndlab.engine import fetch
    from cwndlab.errors import RunError

    server = json.loads(os.environ["SOAK_SERVER"])
    counts: dict[str, int] = {}
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    lock = threading.Lock()

    def client(number: int) -> None:
        transport, algorithm = ("tcp", "cubic") if number % 2 else ("quic", "cubic")
        while not ending.is_set():
            try:
                result = fetch(
                    server["url"],
                    token=server["honest"],
                    trust=server["trust"],
                    algorithm=algorithm,
                    size_bytes=BYTES,
                    transport=transport,
                    timeout_s=120,
                )
                end = result["ended"]
            except RunError as error:
                end = str(error)
            with lock:
                counts[end] = counts.get(end, 0) + 1
            ending.wait(1)

    clients = [threading.Thread(target=client, args=(number,)) for number in range(HONEST)]
    for one in clients:
        one.start()
    while not ending.wait(1):
        pass
    for one in clients:
        one.join()
    _print(json.dumps(counts))


def slow() -> None:
    """Reads 2 kbit/s over each of its connections until SIGTERM; prints how many the server has ended."""
    server = json.loads(os.environ["SOAK_SERVER"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    ended = [0] * SLOW
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())

    def client(number: int) -> None:
        token = server["slow"][number]
        head = f"GET /bytes/100000000?cc=reno HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        while not ending.is_set():
            with suppress(OSError), socket.socket() as plain:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
                plain.settimeout(60)
                plain.bind((f"127.77.{number}.1", 0))
                plain.connect(("127.0.0.1", server["port"]))
                with context.wrap_socket(plain) as reader:
                    reader.sendall(head.encode())
                    while reader.recv(256) and not ending.wait(1):
                        pass
            ended[number] += not ending.is_set()
            ending.wait(1)

    for number in range(SLOW):
        threading.Thread(target=client, args=(number,), daemon=True).start()
    while not ending.wait(1):
        pass
    _print(json.dumps({"ended": sum(ended), "least": min(ended)}))


# --- the machine and the processes


def _bpf_programs() -> set[int]:
    """The numbers of all eBPF programs of the machine (BPF_PROG_GET_NEXT_ID)."""
    calls = {"x86_64": 321, "aarch64": 280}
    library = ctypes.CDLL(None, use_errno=True)
    found, number = set(), 0
    while True:
        attributes = (ctypes.c_uint32 * 3)(number, 0, 0)
        if library.syscall(calls[platform.machine()], 11, attributes, ctypes.sizeof(attributes)) < 0:
            return found
        number = attributes[1]
        found.add(number)


def _namespaces() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            found.add(str(process.readlink()))
    folder = Path("/run/netns")
    return found | {str(one) for one in (folder.iterdir() if folder.is_dir() else ())}


def _marked() -> set[str]:
    """The processes of this run, by number."""
    mark = f"{MARK}={os.getpid()}".encode()
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.add(process.name)
    return found


def machine() -> dict[str, set[Any]]:
    """What a process could leave over on this machine."""
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii")
    return {
        "eBPF programs": _bpf_programs(),
        "network namespaces": _namespaces(),
        "interfaces": set(Path("/sys/class/net").iterdir()),
        "congestion controls": set(names.split()),
        "processes": _marked(),
    }


def left_over(before: dict[str, set[Any]]) -> dict[str, set[Any]]:
    """What the machine has more than before, once it has settled."""
    until = time.monotonic() + SETTLING_S
    while True:
        more = {kind: found - before[kind] for kind, found in machine().items()}
        if not any(more.values()) or time.monotonic() > until:
            return more
        time.sleep(1)


def resident_kb(process: int) -> int:
    """Resident memory."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ProcessLookupError(f"process {process} has ended")


def descriptors(process: int) -> int:
    """Open file descriptors."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


class Watched:
    """A process with its measurements."""

    def __init__(self, what: str, process: subprocess.Popen[str]) -> None:
        self.what, self.process = what, process
        self.memory_kb: list[int] = []
        self.descriptors: list[int] = []

    def look(self) -> None:
        """Measures the process; it is an error if it has ended."""
        self.memory_kb.append(resident_kb(self.process.pid))
        self.descriptors.append(descriptors(self.process.pid))

    def growth(self) -> tuple[float, float]:
        """Mean resident memory in MB in the second and in the last tenth of the run."""
        tenth = max(1, len(self.memory_kb) // 10)
        early, late = self.memory_kb[tenth : 2 * tenth] or self.memory_kb[:1], self.memory_kb[-tenth:]
        return statistics.fmean(early) / 1e3, statistics.fmean(late) / 1e3

    def row(self) -> str:
        early, late = self.growth()
        tenth = max(1, len(self.descriptors) // 10)
        most_early, most_late = max(self.descriptors[: 2 * tenth]), max(self.descriptors[-tenth:])
        change = late / early - 1
        verdict = "yes" if change <= MAX_GROWTH else "**no**"
        return f"| {self.what} | {early:.1f} | {late:.1f} | {change:+.1%} | {verdict} | {most_early} | {most_late} |"


@contextmanager
def started(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program of this soak; its error stream goes to a file, since nobody reads a pipe for hours."""
    env = {**os.environ, MARK: str(os.getpid()), **environment}
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env, start_new_session=True
        )  # in a session of its own, so that Ctrl-C ends this program alone
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _await(process: subprocess.Popen[str], log: Path, start: str) -> str:
    """The rest of the line of the log that begins with `start`."""
    while True:
        text = log.read_text(encoding="utf-8")
        for line in text.splitlines(keepends=True):
            if line.startswith(start) and line.endswith("\n"):
                return line.removeprefix(start).strip()
        if process.poll() is not None:
            raise SystemExit(f"benches/soak.py: {text}")
        time.sleep(0.1)


def own(role: Callable[[], None]) -> list[str]:
    """The command of a program of this file."""
    return [sys.executable, __file__, role.__name__]


def ended(process: subprocess.Popen[str]) -> str:
    """Ends a program; returns what it has printed."""
    process.terminate()
    return process.communicate(timeout=120)[0]


def _server(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """The command of the server, and the tokens of its clients."""
    tokens = {"honest": os.urandom(16).hex(), "slow": [os.urandom(16).hex() for _ in range(SLOW)]}
    lines = [f"honest {tokens['honest']}", *(f"slow{number} {one}" for number, one in enumerate(tokens["slow"]))]
    (folder / "tokens").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "cwndlab", "serve", "--listen", "127.0.0.1:0", "--state", str(folder), "--quic"]
    return [*command, "--token", str(folder / "tokens"), "--format", "json"], tokens


def soak(seconds: float) -> Iterator[str]:
    """The lines of the report."""
    before = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(command: list[str], log: str, **environment: str) -> subprocess.Popen[str]:
            return stack.enter_context(started(command, folder / log, **environment))

        options = [word for algorithm in ALGORITHMS for word in ("--algorithm", algorithm)]
        kernel = start([sys.executable, "-m", "cwndlab", "kernel", "run", "--format", "json", *options], "kernel")
        names = _await(kernel, folder / "kernel", "registered: ").split(", ")
        command, tokens = _server(folder)
        server = start(command, "server")
        _await(server, folder / "server", "Ctrl-C ends it")
        assert server.stdout is not None
        text = ""
        while not text.endswith("]\n"):
            text += server.stdout.readline()
        printed = {one["what"]: one["is"] for one in json.loads(text)}
        port = int(printed["listening"].rpartition(":")[2])
        known = json.dumps({**tokens, "url": printed["listening"], "port": port, "trust": printed["fingerprint"]})
        idle = descriptors(server.pid)
        emulated = start(own(path), "path", SOAK_NAMES=json.dumps(names))
        friends = start(own(honest), "honest", SOAK_SERVER=known)
        foes = start(own(slow), "slow", SOAK_SERVER=known)
        watched = [
            Watched(f"emulator, {FLOWS} flows", emulated),
            Watched(f"`kernel run`, {len(names)} algorithms", kernel),
            Watched(f"server, {SLOW} slow and {HONEST} honest clients", server),
        ]
        lasted = _watch(watched, seconds)
        sent, fetched, refused = (json.loads(ended(one)) for one in (emulated, friends, foes))
        until = time.monotonic() + SETTLING_S
        while (kept := descriptors(server.pid) - idle) > 0 and time.monotonic() < until:
            time.sleep(1)
        ended(server)
        counters = (folder / "server").read_text(encoding="utf-8").splitlines()[-1]
        totals = json.loads(ended(kernel))
    complete = fetched.pop("complete", 0)
    lost = ", ".join(f"{count} {end}" for end, count in fetched.items()) or "none"
    more = [f"{kind} {sorted(map(str, found))}" for kind, found in left_over(before).items() if found]
    yield f"{lasted / 3600:.2f} hours; memory in MB, means of the second and of the last tenth of the run."
    yield ""
    yield "| process | early | late | change | at most 5 % | descriptors, early | late |"
    yield "|---|---:|---:|---:|---|---:|---:|"
    yield from (one.row() for one in watched)
    yield ""
    yield f"- Transfers of honest clients: {complete} complete; lost: {lost}."
    yield f"- Slow clients: the server ended {refused['ended']} connections, {refused['least']} or more of each client."
    yield (
        f"- Connections over the path: {sent['complete']} complete, at least {sent['least']} of each flow; "
        f"{sent['lost']} failed."
    )
    for one in totals:
        yield (
            f"- `{one['name']}`: {one['connections']} connections, {one['reports']} reports, {one['lost']} lost; "
            f"watchdog: {one['fallbacks']} times."
        )
    yield f"- Counters of the server: {counters}"
    yield f"- Descriptors of the server after its last client, more than before the first: {kept}."
    yield f"- Left over on the machine: {', '.join(more) or 'nothing'}."


def _watch(watched: list[Watched], seconds: float) -> float:
    """Looks at the processes for a time; returns how long it was. Ctrl-C ends it."""
    start = time.monotonic()
    with suppress(KeyboardInterrupt):
        while (passed := time.monotonic() - start) < seconds:
            time.sleep(min(INTERVAL_S, max(0.0, seconds - passed)))
            for one in watched:
                one.look()
            if len(watched[0].memory_kb) % 30 == 0:
                memory = ", ".join(f"{one.what}: {one.memory_kb[-1] / 1e3:.1f} MB" for one in watched)
                sys.stderr.write(f"{passed:.0f} s: {memory}\n")
    return time.monotonic() - start


def main() -> None:
    """Runs the soak, or one of its programs."""
    argument = sys.argv[1] if len(sys.argv) > 1 else str(HOURS * 3600)
    roles = {one.__name__: one for one in (sink, senders, path, honest, slow)}
    if argument in roles:
        roles[argument]()
        return
    if os.geteuid() != 0:
        raise SystemExit("benches/soak.py: the emulator and the kernel's datapath require root")
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has started it in the background
        signal.signal(number, signal.default_int_handler)
    for line in soak(float(argument)):
        _print(line)


if __name__ == "__main__":
    main()
