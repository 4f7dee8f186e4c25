"""Programs at the ends of an emulated path: what passes, which way, and that nothing outlives it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from uuid import uuid4

import cwndlab
import pytest
from cwndlab.emulation import EmulatedPath, Side

#: Set to end a process group.
FATAL = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
SCENARIO = """\
schema_version = 1
duration = "1 s"
dumbbell.bottleneck = { rate = "20 Mbps", delay = "2 ms", queue = { capacity = "100 packets" } }
flow = [{ algorithm = "cubic", rtt = "10 ms" }, { algorithm = "cubic", rtt = "40 ms" }]
"""


#: Sockets of a test, which its end closes.
OPENED: list[socket.socket] = []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "path.toml"
    place.write_text(SCENARIO)
    return place


@pytest.fixture(scope="module")
def refused() -> str:
    """Why the two sides of a path may not be made here; nothing if they may."""
    try:
        with EmulatedPath(cwndlab.Scenario.from_toml(SCENARIO), seed=1):
            return ""
    except cwndlab.RunError as error:
        if any(word in str(error) for word in ("unshare", "/dev/net/tun", "CLONE_NEWPID")):
            return str(error)
        raise


@pytest.fixture
def _allowed(refused: str) -> Iterator[None]:
    """Skips where the two sides may not be made; closes the sockets of the test."""
    if refused:
        pytest.skip(refused)
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def path(file: Path, _allowed: None) -> Iterator[EmulatedPath]:
    """The two sides of the scenario."""
    with EmulatedPath(cwndlab.Scenario.load(file), seed=1) as between:
        yield between


def family_of(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def listening(path: EmulatedPath, side: Side, kind: socket.SocketKind, at: str) -> socket.socket:
    def make() -> socket.socket:
        one = socket.socket(family_of(at), kind)
        OPENED.append(one)
        one.bind((at, 5201))
        one.settimeout(20)
        if kind is socket.SOCK_STREAM:
            one.listen(300)
        return one

    return path.call(side, make)


def caller(
    path: EmulatedPath,
    kind: socket.SocketKind,
    bound: str | None = None,
    family: socket.AddressFamily = socket.AF_INET,
) -> socket.socket:
    def make() -> socket.socket:
        one = socket.socket(family, kind)
        OPENED.append(one)
        one.settimeout(20)
        if bound is not None:
            one.bind((bound, 0))
        return one

    return path.call("sender", make)


def accepted(server: socket.socket) -> socket.socket:
    near, _ = server.accept()
    near.settimeout(20)
    OPENED.append(near)
    return near


def exchanged(client: socket.socket, server: socket.socket, data: bytes) -> bytes:
    """What the server reads while the client sends the data and closes its direction."""

    def send() -> None:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)

    thread = Thread(target=send)
    thread.start()
    got = b"".join(iter(lambda: server.recv(65_536), b""))
    thread.join()
    return got


def algorithm_of(one: socket.socket) -> str:
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - (total + (total >> 16)) % 0x10000


def test_tcp_of_programs_arrives_whole_and_takes_the_routes_delay(path: EmulatedPath) -> None:
    """Half of 10 ms is the least that a packet of flow 0 is under way."""
    server = listening(path, "receiver", socket.SOCK_STREAM, "")
    client = caller(path, socket.SOCK_STREAM)
    client.connect((path.address("receiver"), 5201))
    near = accepted(server)
    assert client.getsockname()[0] == path.address("sender") == "10.101.0.1"
    sent = os.urandom(300_000)

    assert exchanged(client, near, sent) == sent
    path.close()
    flow, other = path.records.rows("flows")
    assert flow["algorithm"] == "program"
    assert flow["delivered_bytes"] >= 300_000
    assert flow["min_delay_ns"] >= 5e6
    assert other["sent_packets"] == 0
    assert path.records.rows("links")[0]["sent_bytes"] >= 300_000
    assert path.timing["packets"] >= 300_000 / 1448


@pytest.mark.parametrize(
    ("bound", "called", "flow"),
    [
        (None, "10.102.0.1", 0),
        (None, "10.102.0.2", 1),
        ("10.101.0.2", "10.102.0.1", 1),
        (None, "10.102.7.7", 0),
        (None, "fdcc:102::1", 0),
        (None, "fdcc:102::2", 1),
        ("fdcc:101::2", "fdcc:102::1", 1),
        (None, "fdcc:102::7:7:7:2", 0),
    ],
)
def test_addresses_choose_the_route(path: EmulatedPath, bound: str | None, called: str, flow: int) -> None:
    """The rule of docs/emulation.md; the base RTTs are 10 ms and 40 ms."""
    server = listening(path, "receiver", socket.SOCK_DGRAM, called)
    client = caller(path, socket.SOCK_DGRAM, bound, family_of(called))
    began = time.monotonic()
    client.sendto(b"ping", (called, 5201))
    message, back = server.recvfrom(100)
    server.sendto(message, back)
    assert client.recv(100) == b"ping"
    assert time.monotonic() - began >= [0.010, 0.040][flow]
    path.close()
    assert [row["sent_packets"] for row in path.records.rows("flows")] == [int(flow == 0), int(flow == 1)]


def test_fragments_and_icmp_pass(path: EmulatedPath) -> None:
    """5000 bytes in fragments of at most 1500 are four packets (RFC 791); an echo comes back as it went (RFC 792)."""
    server = listening(path, "receiver", socket.SOCK_DGRAM, "")
    client = caller(path, socket.SOCK_DGRAM)
    data = os.urandom(5000)
    client.sendto(data, (path.address("receiver"), 5201))
    assert server.recv(10_000) == data
    raw = path.call("sender", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    OPENED.append(raw)
    raw.settimeout(20)
    body = struct.pack("!HH", 77, 1) + b"cwndlab!"
    request = struct.pack("!BBH", 8, 0, checksum(struct.pack("!BBH", 8, 0, 0) + body)) + body
    raw.sendto(request, (path.address("receiver"), 0))
    answer = raw.recv(100)
    assert (answer[20], answer[24:]) == (0, body)
    path.close()
    assert path.records.rows("flows")[0]["sent_packets"] == 4 + 1


def test_tcp_of_programs_over_ipv6(path: EmulatedPath) -> None:
    """The addresses of docs/emulation.md. Segments fill the MTU of 1500 bytes: 40 of IPv6 (RFC 8200), 20 of TCP and 12
    of timestamps leave 1428."""
    server = listening(path, "receiver", socket.SOCK_STREAM, path.address("receiver", family=6))
    client = caller(path, socket.SOCK_STREAM, family=socket.AF_INET6)
    client.connect((path.address("receiver", family=6), 5201))
    near = accepted(server)
    assert client.getsockname()[0] == path.address("sender", family=6) == "fdcc:101::1"
    assert near.getpeername()[0] == "fdcc:101::1"
    assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) == 1428
    sent = os.urandom(100_000)
    assert exchanged(client, near, sent) == sent
    path.close()
    flow = path.records.rows("flows")[0]
    assert flow["delivered_bytes"] >= 100_000
    assert flow["min_delay_ns"] >= 5e6
    assert path.timing["unmatched"] == 0, "the kernel discovers no neighbours and no routers"


def test_fragments_and_icmp_of_ipv6_pass(path: EmulatedPath) -> None:
    """5008 bytes of UDP in fragments of 1448 bytes (1500 less 40 of IPv6 and 8 of the fragment header, RFC 8200, 4.5)
    are four packets; an echo comes back as it went (RFC 4443, 4.1 and 4.2)."""
    server = listening(path, "receiver", socket.SOCK_DGRAM, path.address("receiver", family=6))
    client = caller(path, socket.SOCK_DGRAM, family=socket.AF_INET6)
    data = os.urandom(5000)
    client.sendto(data, (path.address("receiver", family=6), 5201))
    assert server.recv(10_000) == data
    raw = path.call("sender", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
    OPENED.append(raw)
    raw.settimeout(20)
    body = struct.pack("!HH", 77, 1) + b"cwndlab!"
    raw.sendto(struct.pack("!BBH", 128, 0, 0) + body, (path.address("receiver", family=6), 0))
    answer = raw.recv(100)
    assert (answer[0], answer[4:]) == (129, body)
    path.close()
    assert path.records.rows("flows")[0]["sent_packets"] == 4 + 1


@pytest.mark.usefixtures("_allowed")
def test_a_path_with_a_small_mtu_has_no_ipv6(file: Path) -> None:
    """RFC 8200, section 5: 1280 bytes; here 1000 and 52 of headers."""
    small = cwndlab.Scenario.load(file).with_({f"flow[{flow}].stack": {"mss": "1000 B"} for flow in (0, 1)})
    with EmulatedPath(small, seed=1) as one:
        assert not one.has_ipv6
        assert not [name for name in one.environment("sender") if name.endswith("6")]
        with pytest.raises(cwndlab.RunError, match="family: IPv6 needs an MTU of 1280 bytes, the path has 1052"):
            one.address("sender", family=6)


def test_two_hundred_connections_at_once(path: EmulatedPath) -> None:
    server = listening(path, "receiver", socket.SOCK_STREAM, "")
    clients = [caller(path, socket.SOCK_STREAM) for _ in range(200)]
    for number, client in enumerate(clients):
        client.connect((path.address("receiver"), 5201))
        client.sendall(number.to_bytes(2, "big"))
    got = set()
    for _ in clients:
        got.add(int.from_bytes(accepted(server).recv(2), "big"))
    assert got == set(range(200))


@pytest.mark.usefixtures("_allowed")
def test_the_kernels_algorithm_is_that_of_the_route(file: Path) -> None:
    """`cubic` is not among those that a namespace may take as its default here; the route's metric may name it."""
    for name in ("cubic", "reno"):
        with EmulatedPath(cwndlab.Scenario.load(file), seed=1, algorithm=name) as one:
            server = listening(one, "receiver", socket.SOCK_STREAM, "")
            client = caller(one, socket.SOCK_STREAM)
            client.connect((one.address("receiver"), 5201))
            near = accepted(server)
            assert [algorithm_of(client), algorithm_of(near)] == [name, name]
    wrong = EmulatedPath(cwndlab.Scenario.load(file), seed=1, algorithm="nosuch")
    with pytest.raises(cwndlab.ScenarioError, match="this kernel has no 'nosuch'"):
        wrong.__enter__()


def connected_algorithm(path: EmulatedPath, flow: int, choice: bytes | None = None) -> list[str]:
    """The congestion control of both ends of a connection to a flow's address, bound to that of its sender."""
    server = listening(path, "receiver", socket.SOCK_STREAM, path.address("receiver", flow))
    client = caller(path, socket.SOCK_STREAM, bound=path.address("sender", flow))
    if choice is not None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, choice)
    client.connect((path.address("receiver", flow), 5201))
    names = [algorithm_of(client), algorithm_of(accepted(server))]
    server.close()
    return names


@pytest.mark.usefixtures("_allowed")
def test_programs_use_the_algorithm_of_the_flow_with_their_address(file: Path) -> None:
    """A program that selects none would have the machine's default, whatever the scenario says; neither the name of a
    Linux module nor that of the library decides alone: `cubic-linux` is the kernel's `cubic`."""
    scenario = cwndlab.Scenario.load(file).with_({"flow[0].algorithm": "reno", "flow[1].algorithm": "cubic-linux"})
    with EmulatedPath(scenario, seed=1) as one:
        assert connected_algorithm(one, 0) == ["reno", "reno"]
        assert connected_algorithm(one, 1) == ["cubic", "cubic"]
        notes = [note for note in one.notes if note.startswith("congestion control")]
    assert notes == [
        "congestion control of programs to flow0: reno, as in the scenario",
        "congestion control of programs to flow1: cubic, as in the scenario",
    ]
    assert set(notes) <= set(one.records.notes)


@pytest.mark.usefixtures("_allowed")
def test_the_choice_is_left_to_programs_on_request(file: Path) -> None:
    with EmulatedPath(cwndlab.Scenario.load(file), seed=1, algorithm="program") as one:
        assert connected_algorithm(one, 0, b"reno")[0] == "reno"
        assert [note for note in one.notes if note.startswith("congestion control of programs: their own choice, by ")]


@pytest.mark.usefixtures("_allowed")
def test_an_algorithm_that_the_kernel_does_not_have_is_named_with_what_is_used(file: Path) -> None:
    scenario = cwndlab.Scenario.load(file).with_({"flow[0].algorithm": "hcc"})
    with EmulatedPath(scenario, seed=1) as one:
        first, second = (note for note in one.notes if note.startswith("congestion control"))
        assert connected_algorithm(one, 0, b"reno")[0] == "reno"
        assert connected_algorithm(one, 1)[0] == "cubic"
    assert first.startswith("congestion control of programs to flow0: their own choice, by default ")
    registers = "`cwndlab kernel run --algorithm 'hcc+standard'` registers it while it runs"
    assert first.endswith(f": this kernel has no 'hcc'; {registers}")
    assert second == "congestion control of programs to flow1: cubic, as in the scenario"


@pytest.mark.usefixtures("_allowed")
def test_the_command_names_the_congestion_control_of_programs(file: Path) -> None:
    command = [sys.executable, "-m", "cwndlab", "emulate", str(file), "--accept-late"]
    script = "import socket; print(socket.socket().getsockopt(6, 13, 16))"
    done = subprocess.run([*command, "--", sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "congestion control of programs: cubic, as in the scenario\n" in done.stderr


def test_metrics_of_a_destination_are_not_saved(path: EmulatedPath) -> None:
    """Else a connection begins with the ssthresh of the one before (tcp_no_metrics_save of ip-sysctl)."""
    setting = Path("/proc/sys/net/ipv4/tcp_no_metrics_save")
    assert [path.call(side, setting.read_text).strip() for side in ("sender", "receiver")] == ["1", "1"]


def test_programs_are_told_where_they_are(path: EmulatedPath) -> None:
    program = path.popen(
        "receiver", ["sh", "-c", "echo $CWNDLAB_SIDE $CWNDLAB_PEER $CWNDLAB_FLOW_1_ADDRESS"], stdout=-1
    )
    assert program.communicate()[0] == b"receiver 10.101.0.1 10.102.0.2\n"
    program = path.popen("receiver", ["sh", "-c", "echo $CWNDLAB_PEER6 $CWNDLAB_FLOW_1_ADDRESS6"], stdout=-1)
    assert program.communicate()[0] == b"fdcc:101::1 fdcc:102::2\n"
    with pytest.raises(cwndlab.RunError, match=r"'/no/such/program' cannot be started"):
        path.popen("sender", ["/no/such/program"])
    with pytest.raises(cwndlab.RunError, match="'false' ended with status 1 before it listened"):
        path.serve("sender", "false", shell=True)


def test_programs_end_with_the_block_even_those_that_ran_away(path: EmulatedPath) -> None:
    mark = f"CWNDLAB_TEST={uuid4()}"
    runaway = "(trap '' TERM HUP; setsid sleep 300) & exec sleep 300"
    path.popen("sender", runaway, shell=True, env=os.environ | {"CWNDLAB_TEST": mark.partition("=")[2]})
    wait_until(lambda: len(marked(mark)) >= 2)
    path.close()
    wait_until(lambda: not marked(mark))


def marked(mark: str) -> list[int]:
    """Processes that have this in their environment and are no zombies."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdecimal() and mark.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until, "what was waited for did not come"
        time.sleep(0.02)


def namespace_of(process: int) -> str | None:
    try:
        return str(Path(f"/proc/{process}/ns/net").readlink())
    except OSError:
        return None


def namespaces() -> set[str | None]:
    return {namespace_of(int(place.name)) for place in Path("/proc").iterdir() if place.name.isdecimal()}


def emulating(*arguments: object, mark: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cwndlab", "emulate", *(str(one) for one in arguments)]
    environment = os.environ | {"CWNDLAB_TEST": mark.partition("=")[2]}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment} | options
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload, no-any-return]


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("death", FATAL)
def test_nothing_outlives_a_run_that_is_killed(file: Path, death: signal.Signals) -> None:
    """Programs on both sides, some of which ran away from their parents and do not listen to signals."""
    mark = f"CWNDLAB_TEST={uuid4()}"
    devices = {one.name for one in Path("/sys/class/net").iterdir()}
    listen = "import socket, time; held = socket.create_server(('', 9)); time.sleep(300)"
    server = f"(trap '' TERM INT HUP; setsid sleep 300) & exec {sys.executable} -c \"{listen}\""
    program = emulating(file, "--receiver", server, "--", "sleep", "300", mark=mark)
    ours = namespace_of(os.getpid())

    def made() -> set[str | None]:
        return {namespace_of(one) for one in marked(mark)} - {ours, None}

    wait_until(lambda: program.poll() is not None or len(made()) == 2)
    assert program.poll() is None, program.communicate()[1]
    both = made()
    program.send_signal(death)
    program.communicate(timeout=60)
    assert program.returncode != 0
    wait_until(lambda: not marked(mark))
    wait_until(lambda: not both & namespaces())
    assert {one.name for one in Path("/sys/class/net").iterdir()} == devices


@pytest.mark.usefixtures("_allowed")
def test_the_commands_status_is_ours(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for command, status in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -TERM $$"], 143), (["true"], 0)):
        program = emulating(file, "--out", out / str(status), "--accept-late", "--", *command, mark="X=Y")
        _, told = program.communicate(timeout=60)
        assert program.returncode == status, told
        assert "flow[1]" in told
        assert "sender 10.101.0.2, receiver 10.102.0.2" in told
    assert cwndlab.Records.read(out / "0").rows("runs")[0]["engine"] == "emulate"
    program = emulating(file, "--", "/no/such", mark="X=Y")
    assert "emulate: '/no/such' cannot be started" in program.communicate(timeout=60)[1]
    assert program.returncode == 1


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_measured(file: Path, tmp_path: Path, number: signal.Signals) -> None:
    """docs/command-line.md: the first signal keeps finished results. The command of the path does not listen to it."""
    out = tmp_path / "out"
    program = emulating(file, "--out", out, "--", "sh", "-c", "trap '' INT TERM; echo begun; sleep 300", mark="X=Y")
    assert program.stdout is not None
    assert program.stdout.readline() == "begun\n"
    program.send_signal(number)
    _, told = program.communicate(timeout=60)
    assert program.returncode == 128 + number
    assert told.splitlines()[-2] == f"records: {out}"
    assert told.splitlines()[-1].startswith("stopped")
    assert cwndlab.Records.read(out).rows("runs")[0]["engine"] == "emulate"


@pytest.mark.usefixtures("_allowed")
def test_a_shell_of_each_side(file: Path) -> None:
    for side, address in (("sender", "10.102.0.1"), ("receiver", "10.101.0.1")):
        program = emulating(file, "--on", side, "--accept-late", mark="X=Y", stdin=subprocess.PIPE)
        out, told = program.communicate("echo peer $CWNDLAB_PEER\nexit 5\n", timeout=60)
        assert (program.returncode, out) == (5, f"peer {address}\n"), told


@pytest.mark.usefixtures("_allowed")
def test_a_user_who_is_not_root_emulates_in_a_user_namespace() -> None:
    """Where the kernel lets users make namespaces and /dev/net/tun is theirs."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("setpriv, by root, makes an unprivileged user")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--no-new-privs"]
    if subprocess.run([*user, sys.executable, "-c", "import cwndlab"], capture_output=True, check=False).returncode:
        pytest.skip("an unprivileged user does not reach this Python")
    command = [*user, sys.executable, "-m", "cwndlab", "emulate", "two-flows", "--accept-late", "--", "id", "-u"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd="/")
    if "/dev/net/tun" in done.stderr or "CLONE_NEWUSER" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert "no real-time priority" in done.stderr
