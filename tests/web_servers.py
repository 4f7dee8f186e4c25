"""An HTTPS server of one file for tests of downloads: ranges, redirects, robots.txt, Retry-After."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cwndlab.engine import serve

TOKEN = "0123456789abcdef" * 2


class Web(ThreadingHTTPServer):
    """Serves `file`; `busy` responses of 429 come first. Its key is in a folder, and `control` a congestion control of
    the kernel."""

    robots = ""
    busy = 0
    retry_after = "7"
    has_ranges = True
    #: Half of a body is sent.
    is_cut = False

    def __init__(self, folder: Path, file: bytes, *, address: str = "127.0.0.1", control: str = "") -> None:
        super().__init__((address, 0), Handler)
        self.file = file
        self.seen: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        if control:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        key_owner = serve("127.0.0.1:0", tokens=f"anna {TOKEN}\n", state=folder)
        self.trust = key_owner.fingerprint
        key_owner.stop()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pems = {("key" if b"PRIVATE" in file.read_bytes() else "certificate"): file for file in folder.glob("*.pem")}
        context.load_cert_chain(pems["certificate"], pems["key"])
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def url(self, path: str = "/file", *, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.server_address[1]}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Web

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        web, body, status, headers = self.server, self.server.file, 200, {}
        web.seen.append((self.command, self.path))
        web.headers.append(dict(self.headers.items()))
        wanted = self.headers.get("Range")
        if self.path == "/robots.txt":
            body = web.robots.encode()
        elif web.busy:
            web.busy -= 1
            status, body, headers = 429, b"", {"Retry-After": web.retry_after}
        elif self.path == "/moved":
            status, body, headers = 302, b"", {"Location": "/file"}
        elif web.has_ranges:
            headers = {"Accept-Ranges": "bytes"}
            if wanted:
                first, last = map(int, wanted.removeprefix("bytes=").split("-"))
                status, body = 206, web.file[first : last + 1]
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if web.is_cut else body)


@contextmanager
def running(web: Web) -> Iterator[Web]:
    """Serves while the block runs."""
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
