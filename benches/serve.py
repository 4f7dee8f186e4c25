"""`cwndlab serve` during a flood of 10,000 connection attempts per second from addresses of 127/8 for ten seconds.

`make bench`; `python benches/serve.py flood [ATTEMPTS_PER_S [SECONDS]]`. `python benches/serve.py classes` instead
compares the CPU time of a class in Python over QUIC with that of the library's Reno.

The server runs in a separate process with its default limits. During the flood (`crates/live`, example `flood`), one
client has a transfer over the whole duration, and new clients connect one after another, each from a new address.
Before the flood such clients connect for half of its duration. A rejected client retries up to five times, as in
`cwndlab measure`. All processes share the machine's cores. Prints Markdown.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ATTEMPTS_PER_S, SECONDS = 10_000, 10.0
#: Bytes that a new client fetches, and its maximum number of attempts.
BYTES, MAX_ATTEMPTS = 100_000, 6
#: Size and number of the transfers of `classes`.
TRANSFER_BYTES, REPETITIONS = 100_000_000, 5


class Visit(NamedTuple):
    """The result of a new client: total time, number of attempts, and whether it was served."""

    seconds: float
    attempts: int
    served: bool


def memory_kb(pid: int, field: str) -> int:
    """A field of /proc/PID/status: VmRSS is the resident memory, VmHWM its maximum; kB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise KeyError(field)


def cpu_s(pid: int) -> float:
    """User and system time of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def addresses() -> Iterator[str]:
    """Source addresses of new clients, in the /8 of the flood."""
    yield from (f"127.{a}.{b}.77" for a in range(100, 200) for b in range(256))


def visit(port: int, token: str, source: str, context: ssl.SSLContext) -> Visit:
    """Runs one client with this source address."""
    start = time.monotonic()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        client = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10, source_address=(source, 0))
        try:
            client.request("GET", f"/bytes/{BYTES}?cc=cubic", headers={"Authorization": f"Bearer {token}"})
            if len(client.getresponse().read()) == BYTES:
                return Visit(time.monotonic() - start, attempt, True)
        except (OSError, http.client.HTTPException):
            time.sleep(0.05 * 2 ** (attempt - 1))
        finally:
            client.close()
    return Visit(time.monotonic() - start, MAX_ATTEMPTS, False)


def visits(port: int, token: str, sources: Iterator[str], seconds: float) -> list[Visit]:
    """Runs new clients one after another for a duration."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    deadline, clients = time.monotonic() + seconds, []
    while time.monotonic() < deadline:
        clients.append(visit(port, token, next(sources), context))
        time.sleep(0.02)
    return clients


def row(name: str, clients: list[Visit]) -> str:
    """A row of the table of clients."""
    times = sorted(one.seconds * 1e3 for one in clients)
    served, first = sum(one.served for one in clients), sum(one.served and one.attempts == 1 for one in clients)
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    return f"| {name} | {len(clients)} | {served} | {first} | {statistics.median(times):.0f} | {p99:.0f} |"


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Runs `cwndlab serve` in a process; gives it and the rows that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cwndlab", "serve", "--listen", "127.0.0.1:0", "--state", folder]
        command += ["--format", "json", *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            text = ""
            while not text.endswith("]\n"):
                text += server.stdout.readline()
            yield server, {one["what"]: one["is"] for one in json.loads(text)}
        finally:
            server.kill()
            server.wait()


def run(rate: int, seconds: float) -> list[str]:
    """The lines of the report."""
    from cwndlab.engine import fetch

    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "cwndlab-live", "--example", "flood"]
    subprocess.run(build, cwd=ROOT, check=True)
    flood = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "flood"
    with serving("--limit", "rate_bps=20e6") as (server, printed):
        url, token, trust = printed["listening"], printed["token of client"], printed["fingerprint"]
        port, sources = int(url.rpartition(":")[2]), addresses()
        before_flood = visits(port, token, sources, seconds / 2)
        before, used = memory_kb(server.pid, "VmHWM"), cpu_s(server.pid)
        with ThreadPoolExecutor(1) as pool:
            options: dict[str, Any] = {"token": token, "algorithm": "cubic", "trust": trust}
            transfer = pool.submit(fetch, url, size_bytes=int(20e6 / 8 * seconds * 0.8), **options)
            time.sleep(0.5)
            attack = subprocess.Popen([flood, f"127.0.0.1:{port}", str(rate), str(seconds)], stdout=subprocess.PIPE)
            try:
                during_flood = visits(port, token, sources, seconds - 0.5)
                attempts = json.loads(attack.communicate(timeout=60)[0])
            finally:
                attack.kill()
            result = transfer.result()
        used, after = cpu_s(server.pid) - used, memory_kb(server.pid, "VmHWM")
        server.send_signal(signal.SIGINT)
        summary = server.communicate(timeout=30)[1].strip().splitlines()[-1]
    return [
        f"{attempts['attempts_per_s']:.0f} attempts per second for {attempts['seconds']:.1f} s, target {rate} "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; flood, server and clients share them).",
        "",
        "| new clients | number | served | at the first attempt | median, ms | 99 %, ms |",
        "|---|---:|---:|---:|---:|---:|",
        row("before the flood", before_flood),
        row("during the flood", during_flood),
        "",
        f"The simultaneous transfer ended with '{result['ended']}' after {result['received_bytes']} bytes. "
        f"The server's peak memory was {before / 1024:.1f} MiB before and {after / 1024:.1f} MiB after; "
        f"it used {used:.1f} s of CPU. "
        f"Its counters: {summary}.",
    ]


def classes() -> Iterator[str]:
    """A row per algorithm: transfers over the loopback, which alternate between the two."""
    from cwndlab.engine import fetch

    file = ROOT / "examples" / "own_algorithm.py"
    used: dict[str, list[tuple[float, float]]] = {"reno": [], "delay-aimd": []}
    with serving("--quic", "--algorithm-file", str(file)) as (server, printed):
        options: dict[str, Any] = {"token": printed["token of client"], "trust": printed["fingerprint"]}
        for _ in range(REPETITIONS):
            for algorithm, measured in used.items():
                before = cpu_s(server.pid)
                result = fetch(
                    printed["listening"],
                    size_bytes=TRANSFER_BYTES,
                    algorithm=algorithm,
                    transport="quic",
                    **options,
                )
                assert result["ended"] == "complete", result["why"]
                seconds = (result["last_byte_ns"] - result["first_byte_ns"]) / 1e9
                measured.append((TRANSFER_BYTES * 8 / 1e6 / seconds, cpu_s(server.pid) - before))
    yield f"Medians of {REPETITIONS} transfers of {TRANSFER_BYTES / 1e6:.0f} MB over the loopback:"
    yield ""
    yield "| algorithm | goodput, Mbit/s | CPU time of the server, ms per MB |"
    yield "|---|---:|---:|"
    for algorithm, measured in used.items():
        goodput, cpu = (statistics.median(one) for one in zip(*measured, strict=True))
        yield f"| {algorithm} | {goodput:.0f} | {1e3 * cpu / (TRANSFER_BYTES / 1e6):.2f} |"


def main() -> None:
    """Prints the selected part; without arguments both."""
    part, *arguments = sys.argv[1:] or [""]
    if part in ("", "flood"):
        rate = int(arguments[0]) if arguments else ATTEMPTS_PER_S
        sys.stdout.write("\n".join(run(rate, float(arguments[1]) if len(arguments) > 1 else SECONDS)) + "\n")
    if part in ("", "classes"):
        sys.stdout.write("\n".join(classes()) + "\n")
    if part not in ("", "flood", "classes"):
        sys.exit(f"benches/serve.py: '{part}' is no part: write flood or classes")


if __name__ == "__main__":
    main()
