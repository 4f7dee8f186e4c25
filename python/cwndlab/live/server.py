"""What `cwndlab serve` keeps and needs beside the engine's server: tokens, a folder for them, names of the host."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from pathlib import Path
from secrets import token_urlsafe

from cwndlab.errors import Fault, RunError, ScenarioError, text_of


def state_folder() -> Path:
    """The folder for generated tokens and certificates (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "cwndlab"


def check_listen(text: str) -> None:
    """Raises if a host is written as an address and is none. Other hosts are names, which the system looks up."""
    host = text.rpartition(":")[0]
    try:
        if host[:1] == "[" and host[-1:] == "]":
            IPv6Address(host[1:-1])
        elif re.fullmatch(r"[0-9.]+", host):
            IPv4Address(host)
        elif "[" in host or "]" in host:
            raise AddressValueError
    except AddressValueError:
        hint = "write ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443"
        raise ScenarioError(Fault("--listen", f"'{text}' is not an address and a port", hint)) from None


def certificate_names(listen: str, more: Sequence[str]) -> list[str]:
    """What a certificate is made for: this host by its usual names, where it listens, and what was named."""
    host = listen.rpartition(":")[0].strip("[]")
    usual = ["localhost", "127.0.0.1", "::1", socket.gethostname(), host]
    wild = {"", "0.0.0.0", "::"}
    return list(dict.fromkeys(one for one in [*usual, *(name.strip("[]") for name in more)] if one not in wild))


def clients(text: str) -> list[str]:
    """The names in a text of tokens, which the engine has checked; no token is printed."""
    lines = (line.split() for line in text.splitlines())
    return [words[0] for words in lines if words and not words[0].startswith("#")]


def tokens(file: Path | None, folder: Path) -> tuple[str, dict[str, str]]:
    """The text of the tokens, and those that were made just now, which `keep_tokens` writes: not before the server has
    started, since they are printed then and never again."""
    if file is not None:
        return text_of(file, "lines 'NAME TOKEN'; `openssl rand -hex 32` makes a token"), {}
    kept = folder / "tokens"
    if kept.exists():
        return text_of(kept, "remove it, and a new one is made"), {}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as cause:
        raise _not_kept(kept, cause) from None
    token = token_urlsafe(32)
    return f"client {token}\n", {"client": token}


def keep_tokens(text: str, folder: Path) -> None:
    """Writes tokens that were made just now, for this user alone."""
    kept = folder / "tokens"
    try:
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as cause:
        raise _not_kept(kept, cause) from None


def _not_kept(place: Path, cause: OSError) -> RunError:
    hint = "name another folder by --state, or tokens by --token"
    return RunError(Fault(str(place), f"cannot be written ({cause.strerror})", hint))
