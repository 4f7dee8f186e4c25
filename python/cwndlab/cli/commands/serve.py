"""``cwndlab serve``: the server of live measurements."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write_rows
from cwndlab.cli.options import Option, classes_of, command, numbers_of
from cwndlab.cli.progress import Stopped

if TYPE_CHECKING:
    from cwndlab.engine import Server

#: Seconds between two checks for Ctrl-C.
_CHECK_S = 0.2


def serve(
    listen: Annotated[str, Option("ADDRESS:PORT", "Address to listen on; port 0 takes a free one.")] = "0.0.0.0:8443",
    token: Annotated[
        Path | None,
        Option("FILE", "File of lines 'NAME TOKEN', one per client. By default a token is generated and printed once."),
    ] = None,
    certificate: Annotated[Path | None, Option("FILE", "The certificate, PEM; by default one is generated.")] = None,
    key: Annotated[Path | None, Option("FILE", "The key of the certificate, PEM.")] = None,
    name: Annotated[
        list[str] | None,
        Option("HOST", "A further name or address of this host, for the generated certificate. May be repeated."),
    ] = None,
    state: Annotated[
        Path | None, Option("DIR", "Folder for generated tokens and certificates; ~/.local/state/cwndlab by default.")
    ] = None,
    quic: Annotated[bool, "Also serve QUIC (HTTP/3), on the same port."] = False,
    algorithm_file: list[Path] | None = None,
    limit: Annotated[
        list[str] | None, Option("NAME=VALUE", "Change a limit, such as connections=100. May be repeated.")
    ] = None,
    list_limits: Annotated[bool, "Print the limits and exit."] = False,
    format: Format = Format.table,
) -> None:
    """Serve streams with the algorithm a client requests.

    Serves HTTPS until Ctrl-C. Each request names the congestion control of its transfer.
    """

    if list_limits:
        columns = ("limit", "default", "least", "of")
        limits = [dict(zip(columns, row, strict=True)) for row in cwndlab.engine.serve_limits()]
        write_rows(limits, columns, format, wrap=("of",))
        return

    cwndlab.live.server.check_listen(listen)
    folder = state or cwndlab.live.server.state_folder()
    text, made = cwndlab.live.server.tokens(token, folder)
    server = cwndlab.engine.serve(
        listen,
        tokens=text,
        tokens_from=str(token or folder / "tokens"),
        certificate=certificate,
        key=key,
        state=None if certificate is not None or key is not None else folder,
        names=cwndlab.live.server.certificate_names(listen, name or ()),
        quic=quic,
        limits=numbers_of(limit, "--limit", "connections=100"),
        classes=cwndlab.custom.served(classes_of(algorithm_file)),
    )
    try:
        if made:
            cwndlab.live.server.keep_tokens(text, folder)
        rows = [
            ("listening", f"https://{server.address}"),
            ("certificate", str(certificate or folder / "certificate.pem")),
        ]
        rows += [("fingerprint", server.fingerprint), *((f"token of {client}", one) for client, one in made.items())]
        # Printed before the rows, whose reader may end the server at once.
        for note in server.notes:
            say(f"note: {note}")
        if made:
            say(f"the token below is kept in {folder / 'tokens'} and not printed again")
        else:
            say(f"tokens: those in {token or folder / 'tokens'}, of {', '.join(cwndlab.live.server.clients(text))}")
        write_rows([{"what": what, "is": value} for what, value in rows], ("what", "is"), format)
        _watch(server)
    except KeyboardInterrupt:
        raise Stopped(_farewell(server.counters())) from None
    finally:
        server.stop()


def _watch(server: Server) -> NoReturn:
    """Prints failures until Ctrl-C."""
    sys.stdout.flush()
    say("Ctrl-C ends it")
    while True:
        time.sleep(_CHECK_S)
        for failure in server.take_failures():
            say(f"an algorithm failed, and its transfer was ended: {failure}")


def _farewell(counters: dict[str, int]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in counters.items() if count)
    return f"stopped; {counts}" if counts else "stopped; no client connected"


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, serve, "serve --listen 0.0.0.0:8443 --limit transfer_bytes=1e9")
