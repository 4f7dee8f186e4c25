"""Conformance of one algorithm in several backends: command line and Python."""

from __future__ import annotations

import json
from collections.abc import Callable

import cwndlab
import pytest
from cwndlab.validation import replay as conform
from cwndlab.validation.replay import Run, Verdict, cases, run_on_path

Cli = Callable[..., tuple[int, str, str]]


def test_reno_is_the_same_in_all_backends_without_losses() -> None:
    results = conform.conform("reno")
    assert {(one.case, one.backend) for one in results} == {
        (case, backend) for case in cases() for backend in ("simulator", "kernel", "quic")
    }
    assert all(one.conforms for one in results)
    assert {one.verdict for one in results if one.case == "clean" or one.backend != "quic"} == {Verdict.SAME}
    # The known difference of QUIC is reported with the first window that differs (RFC 9002, 7.3; docs/conform.md).
    (loss,) = [one for one in results if (one.case, one.backend) == ("loss", "quic")]
    assert loss.verdict is Verdict.EXPECTED_DIFFERENCE
    assert (
        loss.reason == "QUIC acknowledges packets individually: packets above a hole count immediately and end rounds"
    )
    assert loss.first is not None
    assert "the window is 75 segments in the record and 76 segments in the backend" in loss.first


def test_the_command_prints_a_row_per_case_and_backend(cli: Cli) -> None:
    status, out, err = cli("conform", "cubic", "--replay")
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["algorithm", "case", "backend", "windows", "differing", "max", "segments", "verdict"]
    assert lines[1].split()[1:3] == ["clean", "simulator"]
    assert "QUIC acknowledges packets individually: packets above a hole count immediately and end rounds" in lines
    plain = json.loads(cli("conform", "cubic", "--replay", "--format", "json")[1])
    assert [row["backend"] for row in plain["replays"][:3]] == ["simulator", "kernel", "quic"]
    assert plain["runs"] == []


def test_the_reason_of_an_absent_backend_is_printed(cli: Cli) -> None:
    status, out, err = cli("conform", "rcp", "--replay")
    assert status == 0, err
    assert "'rcp' needs router assistance, and QUIC encrypts the headers that routers would read" in out
    assert "'rcp' needs router assistance (rcp), which the kernel does not provide" in out


def test_tahoe_is_absent_where_the_recovery_is_another(cli: Cli) -> None:
    """Linux' TCP and RFC 9002 repair losses without the restart of slow start that is Tahoe's."""
    status, out, err = cli("conform", "tahoe", "--replay", "--format", "json")
    assert status == 0, err
    rows = [row for row in json.loads(out)["replays"] if row["backend"] != "simulator"]
    assert {row["verdict"] for row in rows} == {"absent"}
    restarts = "'reno+standard/tahoe' restarts slow start at each loss, and "
    assert {row["reason"].removeprefix(restarts) for row in rows if row["backend"] == "kernel"} == {
        "the kernel's recovery does not"
    }


def test_an_unknown_name_is_bad_input(cli: Cli) -> None:
    status, _, err = cli("conform", "cubik", "--replay")
    assert status == 2
    assert "no algorithm is called 'cubik'" in err
    assert "did you mean 'cubic'?" in err


def test_without_root_only_the_simulator_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise cwndlab.RunError(cwndlab.errors.Fault("emulate", "root is needed", "sudo"))

    monkeypatch.setattr("cwndlab.validation.replay.emulate", refuse)
    monkeypatch.setattr("cwndlab.validation.replay.attach", refuse)
    simulated, per_rtt, *kernel = run_on_path("reno")
    assert simulated.goodput_bps is not None
    assert simulated.absent is per_rtt.absent is None
    assert [run.backend for run in kernel] == ["kernel, cwndlab", "kernel, cwndlab, report per RTT", "kernel, native"]
    assert [run.absent for run in kernel] == ["emulate: root is needed"] * 3


def test_runs_in_the_kernel_have_the_function_of_those_in_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asserts function, not figures: each backend transfers data and reduces its window."""
    monkeypatch.setattr(conform, "DURATION_S", 5)
    simulated, _, *kernel = run_on_path("veno")
    ran: list[Run] = [run for run in kernel if run.absent is None]
    if not ran:
        pytest.skip("; ".join(str(run.absent) for run in kernel))
    for run in ran:
        assert run.goodput_bps is not None
        assert simulated.goodput_bps is not None
        assert run.goodput_bps > simulated.goodput_bps / 2
        assert run.congestion_events
        assert run.mean_cwnd_segments
