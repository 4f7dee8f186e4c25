"""Audits of other stacks: excerpts of logs that `make stacks` made, and the tables of docs/audit.md.

tools/stacks/README.md describes the transfers. tests/samples/stacks/ has the first second or two of some of them, and
of one over a path that reorders.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import tomllib
from pathlib import Path

import cwndlab
import pytest
from cwndlab.validation.audit import AuditResult, audit

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "tests" / "samples" / "stacks"
STACKS = ROOT / "tools" / "stacks"


def audited(folder: Path, name: str, reference: str, samples: str | None = None) -> AuditResult:
    """The audit of an excerpt."""
    files = {}
    for one in filter(None, (name, samples)):
        files[one] = folder / one
        files[one].write_bytes(lzma.decompress((SAMPLES / f"{one}.xz").read_bytes()))
    return audit(files[name], reference, samples=files[samples] if samples else None)


def test_reno_of_quinn_is_that_of_rfc_9002(tmp_path: Path) -> None:
    """RFC 9002, section 7.2: ten datagrams, at most 14,720 bytes; quinn takes ten datagrams of 1200 bytes."""
    result = audited(tmp_path, "quinn-reno.sqlog", "reno+standard")
    assert (result.departures, result.share) == ([], 1.0)
    assert (result.mss_bytes, result.initial_cwnd_bytes) == (1472, 12_000)
    assert result.acks > 500


def test_reno_of_aioquic_leaves_slow_start_at_its_own_time(tmp_path: Path) -> None:
    """aioquic 1.7.2, quic/congestion/reno.py, line 73: a monitor of the RTT ends slow start. All else is RFC 9002."""
    result = audited(tmp_path, "aioquic-reno.qlog", "reno+standard")
    assert [(one.kind, one.departures) for one in result.groups] == [("slow-start-exit-early", 1)]
    # The log has ssthresh for the first time, which is the window, at 309.363 ms.
    assert result.departures[0].logged_bytes == 273_816
    assert 309.3 < result.departures[0].time_ms < 312
    assert (result.mss_bytes, result.initial_cwnd_bytes) == (1472, 14_720)


def test_slow_start_of_quiche_counts_packets(tmp_path: Path) -> None:
    """quiche 0.30.0, reno.rs, line 91: a datagram for each packet. RFC 9002, section 7.3.1: the acknowledged bytes."""
    result = audited(tmp_path, "quiche-reno.sqlog", "reno+hystart-pp")
    first = result.first
    assert first is not None
    assert first.kind == "slow-start-fast"
    # Two packets, together little more than one datagram.
    assert "an ACK of 1528 B" in first.event
    assert first.logged_bytes - first.logged_before_bytes == 2 * 1472
    assert any("the log has no lost packets" in note for note in result.notes)


def test_the_saw_tooth_of_quiche_is_found(tmp_path: Path) -> None:
    """cloudflare/quiche issue 1411: the reduction is undone at the first ACK after recovery, by cubic.rs, line 247."""
    result = audited(tmp_path, "quiche-cubic.sqlog", "cubic+hystart-pp")
    undone = [one for one in result.departures if one.logged_bytes > 1.4 * one.logged_before_bytes]
    assert len(undone) >= 3
    for one in undone:
        assert one.kind == "avoidance-fast"
        # RFC 9438, section 4.6: the reduction was by 0.7.
        assert one.logged_before_bytes / one.logged_bytes == pytest.approx(0.7, abs=0.01)


def test_the_kernel_follows_its_reference(tmp_path: Path) -> None:
    """Windows of `ss`, which its counters place among the packets of the capture."""
    result = audited(tmp_path, "linux-cubic.pcapng", "cubic-linux", samples="linux-cubic.ss.txt")
    assert (result.mss_bytes, result.initial_cwnd_bytes) == (1448, 14_480)
    assert (result.departures, result.share) == ([], 1.0)
    assert result.acks > 500


def test_the_kernel_follows_its_reference_over_a_path_that_reorders(tmp_path: Path) -> None:
    """10 Mbit/s, 30 ms, up to 20 ms more for each packet in both directions; CUBIC of Linux 6.18.44.

    The kernel discards ACKs by their timestamps (PAWS), undoes reductions, and leaves slow start at 78 segments: `ss`
    prints ssthresh:78.
    """
    result = audited(tmp_path, "linux-cubic-reorder.pcapng", "cubic-linux", samples="linux-cubic-reorder.ss.txt")
    assert (result.departures, result.share) == ([], 1.0)
    assert result.decisive > 100
    exit_ = [reference for _, logged, reference in result.series if logged == 78 * 1448]
    assert exit_
    assert all(78 * 1448 <= reference < 79 * 1448 for reference in exit_)


def test_cubic_of_s2n_quic_follows_rfc_8312_after_slow_start(tmp_path: Path) -> None:
    """RFC 8312, sections 4.2 and 4.8: W_max is the window where slow start ends, K is 0, and W_est begins at β W_max.

    Its own HyStart ends slow start before that of the reference; from then on each window is that of the reference.
    """
    result = audited(tmp_path, "s2n-quic-cubic.sqlog", "cubic-8312+hystart")
    assert [(one.kind, one.departures) for one in result.groups] == [("slow-start-exit-early", 1)]
    assert result.departures[0].logged_bytes == 181_101
    # All but the ACK of the departure.
    assert result.decisive_explained == result.decisive - 1 > 1000


def test_the_lines_of_s2n_quic_explain_its_window(tmp_path: Path) -> None:
    """The lines of s2n-quic-core 0.91.0 that examples/stacks/s2n_quic_cubic.py cites: the end of slow start, too."""
    name, classes = cwndlab.custom.selected_one(str(ROOT / "examples" / "stacks" / "s2n_quic_cubic.py"))
    log = tmp_path / "s2n-quic-cubic.sqlog"
    log.write_bytes(lzma.decompress((SAMPLES / f"{log.name}.xz").read_bytes()))
    result = audit(log, name, algorithms=classes)
    assert (result.departures, result.share) == ([], 1.0)
    assert result.acks > 1500


def test_the_table_has_every_run_and_its_departures_name_a_file_and_a_line() -> None:
    spec = importlib.util.spec_from_file_location("stacks_table", STACKS / "table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.table()
    plan = tomllib.loads((STACKS / "runs.toml").read_text(encoding="utf-8"))
    rows = json.loads((ROOT / "known-answers" / "stacks.json").read_text(encoding="utf-8"))["rows"]
    wanted = {(run["stack"], run["algorithm"], path) for run in plan["run"] for path in plan["paths"]}
    assert {(row["stack"], row["algorithm"], row["path"]) for row in rows} == wanted
    for run in plan["run"]:
        assert f"| {run['algorithm']} | " in text
    findings = tomllib.loads((STACKS / "findings.toml").read_text(encoding="utf-8"))["finding"]
    assert all(":" in one["source"] and one["source"].rsplit(":", 1)[1].isdigit() for one in findings)
