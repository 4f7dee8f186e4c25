"""Server, client and campaigns over IPv6, on the loopback."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import fetch, serve
from cwndlab.live.results import Measurement
from serving import TOKEN, TOKENS, serve_command, skip_without_ipv6


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_transfer_over_ipv6(transport: str, tmp_path: Path) -> None:
    """The generated certificate is valid for ::1."""
    skip_without_ipv6()
    server = serve("[::1]:0", tokens=TOKENS, quic=True, state=tmp_path, names=["::1"])
    try:
        options: dict[str, Any] = {"token": TOKEN, "size_bytes": 200_000, "trust": str(tmp_path / "certificate.pem")}
        result = fetch(f"https://{server.address}", algorithm="newreno", transport=transport, **options)
        assert server.counters()["panics"] == 0
    finally:
        server.stop()
    assert server.address.startswith("[::1]:")
    assert (result["ended"], result["address"], result["sender"]["address"]) == ("complete", server.address, "::1")


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_the_unspecified_address_of_ipv6_accepts_ipv4_as_well(transport: str) -> None:
    skip_without_ipv6()
    server = serve("[::]:0", tokens=TOKENS, quic=True)
    try:
        port = server.address.rpartition(":")[2]
        options: dict[str, Any] = {
            "token": TOKEN,
            "size_bytes": 1000,
            "trust": server.fingerprint,
            "transport": transport,
        }
        seen = [
            fetch(f"https://{host}:{port}", algorithm="newreno", **options)["sender"]["address"]
            for host in ("127.0.0.1", "[::1]")
        ]
    finally:
        server.stop()
    assert seen == ["127.0.0.1", "::1"]


def test_a_generated_certificate_has_the_addresses_of_ipv6_that_were_named(tmp_path: Path) -> None:
    """With or without brackets, as addresses stand in URLs."""
    skip_without_ipv6()
    names = ("--name", "2001:db8::7", "--name", "[2001:db8::8]")
    with serve_command("--listen", "[::1]:0", "--state", tmp_path, *names) as (_, printed):
        port = int(printed["listening"].rpartition(":")[2])
        context = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
        for name in ("::1", "2001:db8::7", "2001:db8::8"):
            with socket.create_connection(("::1", port), timeout=30) as plain:
                context.wrap_socket(plain, server_hostname=name).close()
        with (
            socket.create_connection(("::1", port), timeout=30) as plain,
            pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"),
        ):
            context.wrap_socket(plain, server_hostname="2001:db8::9")


def test_a_campaign_over_ipv6(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of its folder has no colon, which `scp` and other systems' paths do not take."""
    skip_without_ipv6()
    monkeypatch.chdir(tmp_path)
    server = serve("[::1]:0", tokens=TOKENS, limits={"rate_bps": 40e6})
    try:
        options = ("--algorithms", "newreno,cubic", "--rounds", "1", "--bytes", "500kB", "--trust", server.fingerprint)
        status, _, err = cli("measure", f"https://{server.address}", *options, "--token", TOKEN, "--yes")
    finally:
        server.stop()
    assert status == 0, err
    [folder] = tmp_path.glob("*.measure")
    assert ":" not in folder.name
    found = Measurement.read(folder)
    assert found.servers[0].rounds == [1]
    assert {row["address"] for row in found.rows} == {server.address}
    assert all(row["idle_rtt_ms"] for row in found.rows)
    assert cwndlab.Records.read(folder / "transfers" / "1-1" / "001-cubic").runs["engine"][0] == "live"
