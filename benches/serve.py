"""What `cwndlab serve` withstands: 10,000 connection attempts a second from all over 127/8 for ten seconds.

`make bench`; `python benches/serve.py [ATTEMPTS_PER_S [SECONDS]]`.

The server runs as its users run it, in a process of its own with its default limits. While the flood (`crates/live`,
example `flood`) comes, one client has a transfer that runs through, and new clients come from addresses that nobody has
used before, one after another; before the flood such clients come for half of its time. A client that is turned away
tries again up to five times, as `cwndlab measure` does. All of them share the machine's cores. Prints Markdown.
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
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ATTEMPTS_PER_S, SECONDS = 10_000, 10.0
#: What a new client fetches, and how often it comes back when it was turned away.
BYTES, TRIES = 100_000, 6


class Visit(NamedTuple):
    """A new client: how long it took in all, and how often it had to come."""

    seconds: float
    tries: int
    served: bool


def memory_kb(pid: int, field: str) -> int:
    """Of /proc: VmRSS is what is there now, VmHWM the most that ever was."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise KeyError(field)


def cpu_s(pid: int) -> float:
    """Seconds of user and system time."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def addresses() -> Iterator[str]:
    """Of a /8 of which the flood has its own part too."""
    yield from (f"127.{a}.{b}.77" for a in range(100, 200) for b in range(256))


def visit(port: int, token: str, source: str, context: ssl.SSLContext) -> Visit:
    """One client from an address of its own."""
    begun = time.monotonic()
    for tries in range(1, TRIES + 1):
        to = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10, source_address=(source, 0))
        try:
            to.request("GET", f"/bytes/{BYTES}?cc=cubic", headers={"Authorization": f"Bearer {token}"})
            if len(to.getresponse().read()) == BYTES:
                return Visit(time.monotonic() - begun, tries, True)
        except (OSError, http.client.HTTPException):
            time.sleep(0.05 * 2 ** (tries - 1))
        finally:
            to.close()
    return Visit(time.monotonic() - begun, TRIES, False)


def visits(port: int, token: str, sources: Iterator[str], seconds: float) -> list[Visit]:
    """New clients, one after another."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    until, found = time.monotonic() + seconds, []
    while time.monotonic() < until:
        found.append(visit(port, token, next(sources), context))
        time.sleep(0.02)
    return found


def row(name: str, found: list[Visit]) -> str:
    """Of the table of clients."""
    times = sorted(one.seconds * 1e3 for one in found)
    served, first = sum(one.served for one in found), sum(one.served and one.tries == 1 for one in found)
    worst = times[min(len(times) - 1, int(0.99 * len(times)))]
    return f"| {name} | {len(found)} | {served} | {first} | {statistics.median(times):.0f} | {worst:.0f} |"


def run(rate: int, seconds: float) -> list[str]:
    """The lines of the report."""
    from cwndlab.engine import fetch

    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "cwndlab-live", "--example", "flood"]
    subprocess.run(build, cwd=ROOT, check=True)
    flood = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "flood"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cwndlab", "serve", "--listen", "127.0.0.1:0", "--state", folder]
        command += ["--format", "json", "--limit", "rate_bps=20e6"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            text = ""
            while not text.endswith("]\n"):
                text += server.stdout.readline()
            told = {one["what"]: one["is"] for one in json.loads(text)}
            url, token, trust = told["listening"], told["token of client"], told["fingerprint"]
            port, sources = int(url.rpartition(":")[2]), addresses()
            calm = visits(port, token, sources, seconds / 2)
            before, used = memory_kb(server.pid, "VmHWM"), cpu_s(server.pid)
            with ThreadPoolExecutor(1) as pool:
                asked: dict[str, Any] = {"token": token, "algorithm": "cubic", "trust": trust}
                running = pool.submit(fetch, url, size_bytes=int(20e6 / 8 * seconds * 0.8), **asked)
                time.sleep(0.5)
                attack = subprocess.Popen([flood, f"127.0.0.1:{port}", str(rate), str(seconds)], stdout=subprocess.PIPE)
                try:
                    stormy = visits(port, token, sources, seconds - 0.5)
                    made = json.loads(attack.communicate(timeout=60)[0])
                finally:
                    attack.kill()
                whole = running.result()
            used, after = cpu_s(server.pid) - used, memory_kb(server.pid, "VmHWM")
            server.send_signal(signal.SIGINT)
            said = server.communicate(timeout=30)[1].strip().splitlines()[-1]
        finally:
            server.kill()
            server.wait()
    return [
        f"{made['attempts_per_s']:.0f} attempts a second for {made['seconds']:.1f} s, asked for {rate} "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; flood, server and clients share them).",
        "",
        "| new clients | came | served | at their first try | median, ms | 99 %, ms |",
        "|---|---:|---:|---:|---:|---:|",
        row("before", calm),
        row("during the flood", stormy),
        "",
        f"The transfer that ran meanwhile ended {whole['ended']}, {whole['received_bytes']} bytes. "
        f"The server's peak memory was {before / 1024:.1f} MiB before and {after / 1024:.1f} MiB after; "
        f"it used {used:.1f} s of CPU. "
        f"It said at its end: {said}.",
    ]


def main() -> None:
    """Prints the report."""
    words = sys.argv[1:]
    rate = int(words[0]) if words else ATTEMPTS_PER_S
    print("\n".join(run(rate, float(words[1]) if len(words) > 1 else SECONDS)))  # noqa: T201


if __name__ == "__main__":
    main()
