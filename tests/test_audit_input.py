"""What users bring to the audit: logs and captures that say nothing, or something else, name the cause."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import cwndlab
import pytest
from cwndlab import Records, Scenario
from cwndlab.custom import Ack, Congestion
from cwndlab.custom import Path as NetworkPath
from cwndlab.errors import RecordsError
from cwndlab.validation.audit import AuditResult, Severity, audit

Cli = Callable[..., tuple[int, str, str]]
#: Time, bytes and original length of a packet.
Packet = tuple[int, bytes, int]

_PATH = """
schema_version = 1
duration = "{duration}"
packets = true
sample_interval = "10 ms"

[dumbbell]
bottleneck = {{ rate = "20 Mbps", delay = "5 ms", queue = {{ capacity = "1 bdp" }}{extra} }}

[[flow]]
algorithm = "{algorithm}"
rtt = "40 ms"
{flow}
"""


class Fixed:
    """A window that never changes."""

    segments = 20.0

    def __init__(self, path: NetworkPath) -> None:
        pass

    def on_ack(self, ack: Ack) -> None:
        pass

    def on_congestion(self, event: Congestion) -> None:
        pass

    def cwnd(self) -> float:
        return self.segments


def fixed(segments: float) -> type[Fixed]:
    """A class with this window."""
    return type("Window", (Fixed,), {"segments": segments})


def run(algorithm: str | type, *, extra: str = "", flow: str = "", duration: str = "5 s") -> Records:
    """The records of a flow on a path of 20 Mbit/s."""
    classes = None if isinstance(algorithm, str) else {"mine": algorithm}
    name = algorithm if isinstance(algorithm, str) else "mine"
    text = _PATH.format(algorithm=name, duration=duration, extra=extra, flow=flow)
    return cwndlab.run(Scenario.from_toml(text, algorithms=classes), seed=1)


def qlog(records: Records, folder: Path) -> Path:
    """The log of the sender."""
    return cwndlab.export.export(records, "qlog", folder)[0]


# Decisive ACKs.


@pytest.mark.parametrize("reference", ["cubic", "reno", "cubic-linux"])
@pytest.mark.parametrize("segments", [10, 60, 150, 400])
def test_a_window_that_never_changes_is_not_explained(segments: float, reference: str, tmp_path: Path) -> None:
    """RFC 5681 and RFC 9438: a full window grows, and a loss reduces it. Windows below and above those of the path."""
    records = run(fixed(segments))
    result = audit(qlog(records, tmp_path), reference)
    # Without a verdict if there are too few decisive ACKs.
    assert result.share is None or (result.share < 0.1 and result.departures)
    # The bytes in flight of a small window contradict nothing, so that few ACKs are decisive.
    (capture,) = cwndlab.export.export(records, "pcap", tmp_path / "a.pcapng")
    in_flight = audit(capture, reference)
    assert in_flight.share is None or in_flight.departures


def test_bbr_is_not_explained_by_cubic(tmp_path: Path) -> None:
    """Its window is twice the BDP and half used: most ACKs accept growth and no growth, and are not decisive. The
    start-up phase, which looks like slow start, is a small part of 20 s."""
    result = audit(qlog(run("bbr1", duration="20 s"), tmp_path), "cubic")
    assert result.share_of_all is not None
    assert result.share_of_all > 0.9
    assert result.share is not None
    assert result.share < 0.1
    assert result.decisive < 0.2 * result.acks


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "cubic-linux"])
def test_most_acks_of_a_sender_that_fills_the_path_can_tell(algorithm: str, tmp_path: Path) -> None:
    result = audit(qlog(run(algorithm, duration="20 s"), tmp_path), algorithm)
    assert result.share == 1.0
    assert result.decisive > 0.8 * result.acks


def test_a_required_share_needs_acks_that_can_tell(cli: Cli, tmp_path: Path) -> None:
    (capture,) = cwndlab.export.export(run(fixed(10)), "pcap", tmp_path / "a.pcapng")
    status, out, err = cli("audit", capture, "--as", "cubic", "--require", "1")
    assert status == 1
    assert "no verdict: only " in out.splitlines()[0]
    assert "too few decisive ACKs" in err


# Severity.


def test_departures_are_in_order_of_severity(tmp_path: Path) -> None:
    """A β of 0.5 for 0.7 reduces a window of some hundred segments by a fifth of it too far."""
    result = audit(qlog(run("cubic(beta=0.5)"), tmp_path), "cubic")
    order = [list(Severity).index(one.severity) for one in result.groups]
    assert order == sorted(order)
    reduction = next(one for one in result.groups if one.kind == "reduction")
    assert reduction.largest_percent == pytest.approx(100 * (1 - 0.5 / 0.7), abs=2)
    assert reduction.severity is Severity.SERIOUS
    text = result.severity()
    assert text is not None
    assert text.startswith("serious: ")
    assert "reduction" in text.split(";")[0]


# Reordering.

_REORDERS = ', jitter = { spread = "20 ms", reorder = true }'


@pytest.mark.parametrize("extra", [_REORDERS, _REORDERS + ', loss = { kind = "bernoulli", p = 5e-3 }'])
def test_reordering_does_not_condemn_the_own_sender(extra: str, tmp_path: Path) -> None:
    """Linux, tcp_may_raise_cwnd and tcp_try_undo_recovery: SACKed data raises the window, and reductions are undone."""
    text = _PATH.format(algorithm="cubic-linux", duration="10 s", extra=extra, flow="").replace("20 Mbps", "10 Mbps")
    scenario = text.replace("1 bdp", "100 packets").replace("40 ms", "30 ms")
    records = cwndlab.run(Scenario.from_toml(scenario), seed=1)
    assert any(one["kind"] == "undo" for one in records.rows("events"))
    result = audit(qlog(records, tmp_path), "cubic-linux")
    assert result.share_of_all is not None
    assert result.share_of_all > 0.95
    (capture,) = cwndlab.export.export(records, "pcap", tmp_path / "a.pcapng")
    samples = tmp_path / "ss.txt"
    samples.write_text(windows(records), encoding="utf-8")
    by_samples = audit(capture, "cubic-linux", samples=samples)
    assert by_samples.share_of_all is not None
    assert by_samples.share_of_all > 0.95, by_samples.severity()


def windows(records: Records) -> str:
    """The windows as `ss` prints them."""
    lines = []
    for row in records.rows("samples"):
        lines.append(f"{row['time_ns'] // 10**9}.{row['time_ns'] % 10**9:09d}")
        threshold = f" ssthresh:{row['ssthresh_bytes'] // 1448}" if row["ssthresh_bytes"] else ""
        ends = "ESTAB 0 0 10.0.0.1:40000 10.128.0.1:5001"
        lines.append(f"{ends} cubic mss:1448 cwnd:{row['cwnd_bytes'] // 1448}{threshold}")
    return "\n".join(lines)


# Captures.


def packets(capture: Path) -> list[Packet]:
    """The packets of a pcapng file of ours."""
    data, at, found = capture.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, captured, original = struct.unpack_from("<IIIII", data, at + 8)
            found.append((high << 32 | low, data[at + 28 : at + 28 + captured], original))
        at += length
    return found


def written(
    file: Path, chosen: list[Packet], *, link: int = 101, snap: int = 65_535, head: bytes = b"", order: str = "<"
) -> Path:
    """A pcap file with nanoseconds; ``head`` precedes each packet, of which ``snap`` bytes are captured."""
    with file.open("wb") as out:
        out.write(struct.pack(f"{order}IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, link))
        for time, packet, original in chosen:
            data = (head + packet)[:snap]
            seconds, rest = divmod(time, 10**9)
            out.write(
                struct.pack(f"{order}IIII", 1_700_000_000 + seconds, rest, len(data), original + len(head)) + data
            )
    return file


@pytest.fixture(scope="module")
def records() -> Records:
    return run("cubic", duration="8 s")


@pytest.fixture(scope="module")
def sent(records: Records, tmp_path_factory: pytest.TempPathFactory) -> list[Packet]:
    (capture,) = cwndlab.export.export(records, "pcap", tmp_path_factory.mktemp("capture") / "a.pcapng")
    return packets(capture)


def fault(file: Path, **options: object) -> str:
    """The message about a file."""
    with pytest.raises(RecordsError) as caught:
        audit(file, "cubic", **options)  # type: ignore[arg-type]
    return str(caught.value)


def is_explained(result: AuditResult) -> bool:
    return not result.departures and result.acks > 1000


@pytest.mark.parametrize(
    ("link", "head"),
    [
        (1, bytes(12) + b"\x88\x64\x11\x00\x00\x01\x00\x2a\x00\x21"),
        (14, b""),
        (127, bytes((0, 0, 8, 0)) + bytes(4) + b"\x08\x01" + bytes(22) + b"\xaa\xaa\x03\x00\x00\x00\x08\x00"),
        (113, bytes(14) + b"\x08\x00"),
    ],
    ids=["pppoe", "raw-14", "radiotap", "cooked"],
)
def test_link_types_are_read(sent: list[Packet], link: int, head: bytes, tmp_path: Path) -> None:
    assert is_explained(audit(written(tmp_path / "a.pcap", sent, link=link, head=head), "cubic"))


def test_a_capture_of_the_other_byte_order_is_read(sent: list[Packet], tmp_path: Path) -> None:
    assert is_explained(audit(written(tmp_path / "a.pcap", sent, order=">"), "cubic"))


def test_a_snap_length_that_has_all_headers_is_enough(sent: list[Packet], tmp_path: Path) -> None:
    """20 bytes of IPv4 and at most 60 of TCP."""
    assert is_explained(audit(written(tmp_path / "a.pcap", sent, snap=80), "cubic"))


def test_what_a_capture_cannot_say_is_named(sent: list[Packet], tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    assert "has link type 147, which is not read" in fault(written(file, sent, link=147))
    for snap in (30, 45, 56):
        text = fault(written(file, sent, snap=snap))
        assert f"within their headers, after {snap} B: the snap length is too short" in text
    udp = [(time, data[:9] + b"\x11" + data[10:], length) for time, data, length in sent]
    assert "packets are UDP" in fault(written(file, udp))
    arp = bytes(12) + b"\x08\x06"
    assert "are not IP" in fault(written(file, sent, link=1, head=arp))
    acks = [one for one in sent if one[1][12:14] == b"\x0a\x80"]
    assert "none of its" in fault(written(file, acks))
    file.write_bytes(b"\x1f\x8b\x08\x00")
    assert "is compressed with gzip" in fault(file)


def test_copies_of_packets_are_left_out(sent: list[Packet], tmp_path: Path) -> None:
    """As of a capture on a bridge and its port: at the same time or one after the other, twice or three times."""
    whole = audit(written(tmp_path / "a.pcap", sent), "cubic")
    for copies, delay in ((2, 0), (2, 5_000), (3, 400)):
        twice = sorted((time + delay * copy, data, length) for copy in range(copies) for time, data, length in sent)
        result = audit(written(tmp_path / "b.pcap", twice), "cubic")
        assert (result.acks, result.departures) == (whole.acks, [])
        assert any("packets are copies" in note for note in result.notes)


def test_a_capture_at_the_receiver_is_refused(records: Records, tmp_path: Path) -> None:
    capture = tmp_path / "receivers.pcapng"
    cwndlab.export.pcap.write(records, capture, taps="receivers")
    assert "was taken at the receiver" in fault(capture)
    # Without the handshake the timestamps show it, and without those the number of outstanding packets.
    late = [one for one in packets(capture) if one[0] > 10**9]
    assert "was taken at the receiver" in fault(written(tmp_path / "late.pcap", late))
    plain = [(time, without_options(data), length) for time, data, length in late]
    assert "cannot be told from one at the receiver" in fault(written(tmp_path / "plain.pcap", plain))


def without_options(data: bytes) -> bytes:
    """An IPv4 packet with all TCP options replaced by padding."""
    end = 20 + (data[32] >> 4) * 4
    return data[:40] + b"\x01" * (end - 40)


def test_a_capture_from_the_middle_is_judged_once_its_state_is_known(sent: list[Packet], tmp_path: Path) -> None:
    """The sender is the reference itself. Without the handshake its window is unknown until losses have set it."""
    for begin in (0.5e9, 1.5e9, 3e9):
        result = audit(written(tmp_path / "a.pcap", [one for one in sent if one[0] > begin]), "cubic")
        assert result.departures == []
        assert result.unjudged > 100
        assert "begins in the middle of the connection" in result.notes[0]
    # After the last loss nothing sets it.
    end = audit(written(tmp_path / "a.pcap", [one for one in sent if one[0] > 7.9e9]), "cubic")
    assert (end.share, end.acks) == (None, 0)
    assert "record it from the handshake on" in end.notes[0]


def joined(chosen: list[Packet], most: int) -> list[Packet]:
    """Consecutive segments of the sender joined, as segmentation offload does: up to ``most`` per packet."""
    found: list[Packet] = []
    last: int | None = None
    for time, data, length in chosen:
        payload = length - len(data)
        if last is not None and payload:
            begin, before, total = found[last]
            end = struct.unpack(">I", before[24:28])[0] + total - len(before)
            if end == struct.unpack(">I", data[24:28])[0] and total - len(before) + payload <= most * 1448:
                total += payload
                found[last] = (begin, before[:2] + struct.pack(">H", total) + before[4:], total)
                continue
        if payload:
            last = len(found)
        found.append((time, data, length))
    return found


def test_offloaded_packets_without_a_handshake_have_the_mss_of_their_parts(sent: list[Packet], tmp_path: Path) -> None:
    late = joined([one for one in sent if one[0] > 10**9], 15)
    assert max(length - len(data) for _, data, length in late) > 10_000
    assert audit(written(tmp_path / "a.pcap", late), "cubic").mss_bytes == 1448
    only = [one for one in late if one[2] - len(one[1]) in (0, 15 * 1448)]
    assert "give the payload of a segment with `--mss`" in fault(written(tmp_path / "a.pcap", only))
    assert audit(written(tmp_path / "a.pcap", only), "cubic", mss_bytes=1448).mss_bytes == 1448


def test_faults_name_the_options_that_there_are(cli: Cli, tmp_path: Path) -> None:
    """The parameters have other names: ``mss_bytes``, ``initial_cwnd_bytes``, ``tolerance_segments``."""
    log = tmp_path / "a.sqlog"
    log.write_bytes(b'\x1e{"qlog_version": "0.3"}')
    for option, value, hint in (("--mss", "0", "1200"), ("--initial-cwnd", "0", "12000"), ("--tolerance", "-1", "1")):
        status, _, err = cli("audit", log, "--as", "cubic", f"{option}={value}")
        assert status == 2
        assert err.splitlines()[0].startswith(f"{option}: ")
        assert err.splitlines()[1] == f"  hint: write {option} {hint}"


def test_samples_belong_to_a_capture(cli: Cli, tmp_path: Path) -> None:
    """A qlog has windows of its own, beside which a file of samples, whatever it says, would be ignored."""
    log = tmp_path / "a.sqlog"
    for content in (b'\x1e{"qlog_version": "0.3"}', b' {"qlog_version": "0.3"}'):
        log.write_bytes(content)
        status, _, err = cli("audit", log, "--as", "cubic", "--samples", "anything")
        assert (status, err.splitlines()[0]) == (
            2,
            "--samples: belongs to a capture; a qlog has the windows of its sender",
        )
