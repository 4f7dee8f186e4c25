"""``cwndlab serve``: the server of live measurements."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write_rows
from cwndlab.cli.options import FileOption, FormatOption, classes_of
from cwndlab.cli.progress import Stopped
from cwndlab.custom import bound, classes_named, described
from cwndlab.errors import Fault, RunError, ScenarioError, text_of

#: Seconds between two checks for Ctrl-C.
_CHECK_S = 0.2


def serve(
    listen: Annotated[
        str, typer.Option("--listen", help="Address to listen on; port 0 takes a free one.", metavar="ADDRESS:PORT")
    ] = "0.0.0.0:8443",
    token: Annotated[
        Path | None,
        typer.Option(
            "--token",
            help="File of lines 'NAME TOKEN', one per client. By default a token is generated and printed once.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            help="The certificate, PEM; by default one is generated.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="The key of the certificate, PEM.", metavar="FILE", show_default=False)
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            help="A further name or address of this host, for the generated certificate. May be repeated.",
            metavar="HOST",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            help="Folder for generated tokens and certificates; ~/.local/state/cwndlab by default.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    quic: Annotated[bool, typer.Option("--quic", help="Also serve QUIC (HTTP/3), on the same port.")] = False,
    algorithm_file: FileOption = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            help="Change a limit, such as connections=100. May be repeated.",
            metavar="NAME=VALUE",
            show_default=False,
        ),
    ] = None,
    list_limits: Annotated[bool, typer.Option("--list-limits", help="Print the limits and exit.")] = False,
    format: FormatOption = Format.table,
) -> None:
    """Serve streams with the algorithm a client requests.

    Serves HTTPS until Ctrl-C. Each request names the congestion control of its transfer.
    """

    if list_limits:
        columns = ("limit", "default", "least", "of")
        write_rows(
            [dict(zip(columns, row, strict=True)) for row in cwndlab.engine.serve_limits()],
            columns,
            format,
            wrap=("of",),
        )
        return

    folder = state or _folder()
    limits = _limits(limit or ())
    text, made = _tokens(token, folder)
    server = cwndlab.engine.serve(
        listen,
        tokens=text,
        tokens_from=str(token or folder / "tokens"),
        certificate=certificate,
        key=key,
        state=None if certificate is not None or key is not None else folder,
        names=_names(listen, name or ()),
        quic=quic,
        limits=limits,
        classes=_classes(algorithm_file),
    )
    try:
        shown = certificate or folder / "certificate.pem"
        rows = [("listening", f"https://{server.address}")]
        rows += [("certificate", str(shown)), ("fingerprint", server.fingerprint)]
        rows += [(f"token of {client}", value) for client, value in made.items()]
        # Before the rows: who reads those may end the server at once.
        for note in server.notes:
            say(f"note: {note}")
        if made:
            say(f"the token below is kept in {folder / 'tokens'} and not printed again")
        else:
            say(f"tokens: those in {token or folder / 'tokens'}, of {', '.join(_clients(text))}")
        write_rows([{"what": what, "is": value} for what, value in rows], ("what", "is"), format)
        sys.stdout.flush()
        say("Ctrl-C ends it")
        while True:
            time.sleep(_CHECK_S)
            for failure in server.take_failures():
                say(f"an algorithm failed, and its transfer was ended: {failure}")
    except KeyboardInterrupt:
        raise Stopped(_farewell(server.counters())) from None
    finally:
        server.stop()


def _classes(files: list[Path] | None) -> list[tuple[str, str, str, str, Callable[..., object]]]:
    """The classes of the files, for the engine; it is a fault if one has a name of the catalogue."""
    classes = classes_of(files)
    custom = classes_named(list(classes), classes)
    for name in classes:
        cwndlab.engine.canonical_algorithm(name, described(custom))
    return bound(custom)


def _farewell(counters: dict[str, int]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in counters.items() if count)
    return f"stopped; {counts}" if counts else "stopped; nobody came"


def _folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "cwndlab"


def _names(listen: str, more: list[str] | tuple[()]) -> list[str]:
    """What a certificate is made for: this host by its usual names, where it listens, and what was named."""
    host = listen.rpartition(":")[0].strip("[]")
    usual = ["localhost", "127.0.0.1", "::1", socket.gethostname(), host]
    wild = {"", "0.0.0.0", "::"}
    return list(dict.fromkeys(one for one in [*usual, *(name.strip("[]") for name in more)] if one not in wild))


def _limits(given: list[str] | tuple[()]) -> dict[str, float]:
    """Limits by name; the engine checks names and values."""
    result: dict[str, float] = {}
    for one in given:
        name, equals, value = one.partition("=")
        try:
            result[name.strip()] = float(value)
        except ValueError:
            what = f"'{value}' is not a number" if equals else f"'{one}' has no '='"
            raise ScenarioError(Fault("--limit", what, "write --limit connections=100")) from None
    return result


def _clients(text: str) -> list[str]:
    """The names in a text of tokens, which the engine has checked; no token is printed."""
    lines = (line.split() for line in text.splitlines())
    return [words[0] for words in lines if words and not words[0].startswith("#")]


def _tokens(file: Path | None, folder: Path) -> tuple[str, dict[str, str]]:
    """The text of the tokens, and those that were made just now."""
    if file is not None:
        return text_of(file, "lines 'NAME TOKEN'; `openssl rand -hex 32` makes a token"), {}
    kept = folder / "tokens"
    if kept.exists():
        return text_of(kept, "remove it, and a new one is made"), {}
    token = token_urlsafe(32)
    text = f"client {token}\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as cause:
        hint = "name another folder by --state, or tokens by --token"
        raise RunError(Fault(str(kept), f"cannot be written ({cause.strerror})", hint)) from None
    return text, {"client": token}


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab serve --listen 0.0.0.0:8443 --limit transfer_bytes=1e9")(serve)
