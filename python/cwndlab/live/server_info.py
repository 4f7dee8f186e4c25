"""The algorithms of a server, requested before the transfers: plain HTTP/1.1 over TLS, one request a connection."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from cwndlab.engine import canonical_algorithm, entry_in_kernel
from cwndlab.errors import Fault, RunError, ScenarioError
from cwndlab.files import parsed

_ALGORITHM = "cwndlab-congestion-control"


def place_of(url: str) -> tuple[str, int]:
    """Host and port of ``https://HOST[:PORT][/PATH]``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as cause:
        raise ScenarioError(Fault("URL", f"'{url}': {cause}", "write https://HOST:PORT")) from None
    if parts.scheme != "https" or not host:
        raise ScenarioError(Fault("URL", f"'{url}' is not an https address", "write https://HOST:PORT"))
    if port == 0:
        raise ScenarioError(Fault("URL", f"'{url}': nothing listens at port 0", "write https://HOST:PORT"))
    return host, 443 if port is None else port


def is_foreign(url: str) -> bool:
    """Whether a URL names a file of a web server that is not `cwndlab serve`.

    >>> is_foreign("https://a.example/"), is_foreign("https://a.example/file.iso")
    (False, True)
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.path.strip("/") or parts.query)


def tls_context(trust: str | None) -> tuple[ssl.SSLContext, str]:
    """How a server is believed, and the fingerprint that its certificate must have."""
    pin = re.sub(r":", "", trust or "").lower()
    if re.fullmatch(r"[0-9a-f]{64}", pin):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # its fingerprint is compared below, before the request is sent
        return context, pin
    try:
        return ssl.create_default_context(cafile=trust), ""
    except (OSError, ssl.SSLError) as cause:
        hint = "a PEM file, or the fingerprint that `cwndlab serve` prints (SHA-256, 64 hex digits)"
        raise ScenarioError(Fault("--trust", f"'{trust}': {getattr(cause, 'strerror', None) or cause}", hint)) from None


def check_pin(sock: ssl.SSLSocket, pin: str, url: str) -> None:
    """Raises ``RunError`` if the certificate has another fingerprint; an empty one allows all."""
    shown = hashlib.sha256(sock.getpeercert(binary_form=True) or b"").hexdigest()
    if pin and not hmac.compare_digest(shown, pin):
        hint = "is this the server that you mean? its own output tells its fingerprint"
        raise RunError(Fault(url, f"its certificate is another one (fingerprint {shown})", hint))


def reason(cause: Exception) -> str:
    """A failure in a line."""
    return re.sub(r"\s+", " ", getattr(cause, "strerror", None) or str(cause) or type(cause).__name__)


def ask(url: str, path: str, token: str, trust: str | None, *, method: str = "GET") -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of a request; raises ``RunError`` if there is no answer."""
    host, port = place_of(url)
    context, pin = tls_context(trust)
    connection = http.client.HTTPSConnection(host, port, timeout=10, context=context)
    try:
        connection.connect()
        check_pin(connection.sock, pin, url)
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, answer.read(100_000).decode("utf-8", "replace").strip(), headers
    except ssl.SSLCertVerificationError as cause:
        hint = "give its certificate or fingerprint by --trust"
        raise RunError(Fault(url, f"its certificate is not believed ({cause.verify_message})", hint)) from None
    except ssl.SSLError as cause:
        raise RunError(Fault(url, f"TLS failed ({cause.reason or cause})", "is it a server of cwndlab?")) from None
    except socket.gaierror as cause:
        raise RunError(Fault(url, f"'{host}' has no address ({cause.strerror})", "is the name right?")) from None
    except (OSError, http.client.HTTPException) as cause:
        raise RunError(
            Fault(url, f"no answer ({reason(cause)})", "does `cwndlab serve` run there, and is its port open?")
        ) from None
    except (ValueError, UnicodeError):
        raise ScenarioError(Fault("--token", "is not plain text", "a token is plain text without blanks")) from None
    finally:
        connection.close()


def offered(url: str, token: str, trust: str | None) -> dict[str, Any]:
    """The response to ``GET /algorithms``: ``tcp`` and ``quic`` (None without), with ``usual`` and ``algorithms``."""
    status, text, _ = ask(url, "/algorithms", token, trust)
    if status == 401:
        raise RunError(Fault(url, "the token is not one of the server's", "give one of them by --token"))
    try:
        if status != 200:
            raise ValueError
        result: dict[str, Any] = parsed(text)
        if not isinstance(result["tcp"]["algorithms"], list):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        status_line = f"{status}: {text.splitlines()[0][:200]}" if text else str(status)
        hint = "`cwndlab serve` starts one, on a machine of yours; for any other server, write the URL of a file"
        raise RunError(Fault(url, f"is not a server of cwndlab ({status_line})", hint)) from None
    return result


def ours(name: str) -> str:
    """What a scenario calls an algorithm: the entry that is registered under a kernel's ``cwndlab_NAME``. Raises
    ``ScenarioError`` if the library has none of this name."""
    plain = entry_in_kernel(name) or name
    canonical_algorithm(plain)
    return plain


def sender_names(
    url: str, token: str, trust: str | None, names: Sequence[str], transport: str, fetch: Callable[..., dict[str, Any]]
) -> dict[str, str]:
    """The server's own name of each algorithm; raises ``ScenarioError`` with all names that it lacks, and those that it
    has, and ``RunError`` if the server cannot be reached.

    Over QUIC, which Python does not speak, ``fetch`` requests a byte under each name.
    """
    for name in names:
        ours(name)
    result = offered(url, token, trust)
    taken, missing = {}, []
    if transport == "quic":
        if not result.get("quic"):
            raise ScenarioError(Fault("--transport", f"the server {url} offers no QUIC", "write --transport tcp"))
        for name in names:
            options = {"token": token, "algorithm": name, "transport": transport, "trust": trust, "timeout_s": 10.0}
            taken[name] = str(fetch(url, size_bytes=1, **options)["algorithm"])
        return taken
    for name in names:
        status, _, headers = ask(url, f"/bytes/1?cc={quote(name, safe='/+(),=')}", token, trust, method="HEAD")
        if status == 200 and _ALGORITHM in headers:
            taken[name] = headers[_ALGORITHM]
        else:
            missing.append(name)
    if missing:
        there = ", ".join(map(str, result["tcp"]["algorithms"]))
        faults = []
        for name in missing:
            hint = f"it offers {there}; on that machine `cwndlab kernel run --algorithm {name}` adds it"
            faults.append(Fault("--algorithms", f"the server {url} has no '{name}'", hint))
        raise ScenarioError(*faults)
    return taken
