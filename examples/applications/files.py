"""An HTTPS server of generated files: `/N` has N bytes. `run.py` starts it at one endpoint of an emulated path."""

import argparse
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BLOCK = bytes(1 << 16)


class FileHandler(BaseHTTPRequestHandler):
    """Responds with the number of zero bytes that the path gives, at most a gigabyte."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.lstrip("/")
        size = int(name) if name.isdecimal() and len(name) < 10 else -1
        if size < 0:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for at in range(0, size, len(BLOCK)):
            self.wfile.write(BLOCK[: size - at])

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("certificate")
    parser.add_argument("key")
    parser.add_argument("--port", type=int, default=8443)
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    server = ThreadingHTTPServer((arguments.address, arguments.port), FileHandler)
    # The thread of a connection does its handshake, so that a slow client does not delay the others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
