"""REST over HTTP/2 and HTTP/1.1: httpx requests files from nginx."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from interop.case import Case, Stopwatch, options

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

#: The ports for each version of HTTP.
PORTS = {"2": 8082, "1.1": 8081}
RESPONSE = 2000
GAP_S = 0.2
COUNT = 50
CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    etag off;
    default_type application/fhir+json;
    server {{ listen {http2} http2; listen {http1}; root {folder}; keepalive_timeout 75s; }}
}}
"""


def serve(path: EmulatedPath, side: Side, folder: Path) -> None:
    """Starts nginx, which serves a file in HTTP/2 without TLS and in HTTP/1.1."""
    (folder / "Observation").mkdir(mode=0o755)
    folder.chmod(0o755)
    for number in range(COUNT):
        (folder / "Observation" / f"{number:06d}").write_bytes(bytes(RESPONSE))
    file = folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=folder, http1=PORTS["1.1"], http2=PORTS["2"]), encoding="utf-8")
    path.serve(side, ["nginx", "-c", str(file), "-e", str(folder / "error.log")])


def client(address: str, http: str, count: int, gap_s: float) -> None:
    """Requests one after another, and prints when each response was there."""
    import h2.connection  # noqa: F401  (httpx imports it with the first request)
    import httpx

    watch = Stopwatch()
    with httpx.Client(http1=http == "1.1", http2=http == "2", timeout=30) as session:
        for number in range(count):
            watch.start(number)
            body = session.get(f"http://{address}:{PORTS[http]}/Observation/{number:06d}").content
            watch.end(number)
            if len(body) != RESPONSE:
                sys.exit("the response is incomplete")
            time.sleep(gap_s)
        time.sleep(0.5)
        watch.write()
        os._exit(0)


#: Sizes of header fields of httpx' requests and nginx' responses, and what they write on their own.
FIELDS = {
    "2": {
        "first_header": "114 B",
        "header": "35 B",
        "first_response_header": "132 B",
        "response_header": "100 B",
        "separate_writes": True,
    },
    "1.1": {"first_header": "161 B", "first_response_header": "229 B"},
}


def case(http: str) -> Case:
    """Requests over a version of HTTP."""
    workload = {"kind": "rest", "http": http, "response": f"{RESPONSE} B", "gap": f"{GAP_S} s", "count": COUNT}
    return Case(
        name=f"rest, HTTP/{http}",
        workload=workload | FIELDS[http],
        module="interop.rest",
        arguments=(f"http={http}", f"count={COUNT}", f"gap={GAP_S}"),
        serve=serve,
        programs=("httpx", "nginx-light"),
        port=PORTS[http],
        client="receiver",
    )


CASES = [case("2"), case("1.1")]

if __name__ == "__main__":
    arguments = options(sys.argv[2:])
    client(sys.argv[1], arguments["http"], int(arguments["count"]), float(arguments["gap"]))
