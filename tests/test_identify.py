"""Which congestion control wrote a log? The answers are the algorithms that ran."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cwndlab
import pytest
from cwndlab import Scenario
from cwndlab.engine import explain
from cwndlab.validation.identify import Verdict

Cli = Callable[..., tuple[int, str, str]]

SAMPLES = Path(__file__).parent / "samples" / "stacks"
_PATH = """
schema_version = 1
duration = "{duration}"
packets = true
sample_interval = "10 ms"

[dumbbell]
bottleneck = {{ rate = "{line.rate}", delay = "5 ms", queue = {{ capacity = "{line.buffer}" }}{loss} }}

[[flow]]
algorithm = "{algorithm}"
rtt = "{line.rtt}"
{flow}
"""


class Line(NamedTuple):
    rate: str = "5 Mbps"
    rtt: str = "60 ms"
    buffer: str = "2 bdp"
    loss: float = 5e-4
    seed: int = 3


#: Additions to a flow.
LINUX, WITHOUT_SACK = 'profile = "linux"', 'profile = "linux"\nstack = { sack = false }'
USUAL = Line()
#: A short queue without other losses, and a longer path with losses.
SHORT_QUEUE = Line("3 Mbps", "60 ms", "1 bdp", 0.0, 501)
LOSSES = Line("5 Mbps", "110 ms", "1 bdp", 1e-3, 502)


def records_of(
    algorithm: str, *, duration: str = "12 s", loss: bool = True, flow: str = "", line: Line = USUAL
) -> cwndlab.Records:
    lost = f', loss = {{ kind = "bernoulli", p = {line.loss} }}' if loss and line.loss else ""
    text = _PATH.format(algorithm=algorithm, duration=duration, loss=lost, flow=flow, line=line)
    return cwndlab.run(Scenario.from_toml(text), seed=line.seed)


def qlog_of(folder: Path, algorithm: str, *, duration: str = "12 s", loss: bool = True, flow: str = "") -> Path:
    records = records_of(algorithm, duration=duration, loss=loss, flow=flow)
    return cwndlab.export.export(records, "qlog", folder)[0]


def capture_of(folder: Path, algorithm: str, at: str, *, duration: str = "12 s", line: Line = USUAL) -> Path:
    file = folder / f"{at}.pcapng"
    cwndlab.export.export(records_of(algorithm, duration=duration, line=line), "pcap", file, at=at)
    return file


@pytest.mark.parametrize("algorithm", ["htcp", "veno", "bic", "illinois", "copa", "bbr1", "vegas"])
def test_windows_identify_the_algorithm_that_ran(tmp_path: Path, algorithm: str) -> None:
    result = cwndlab.identify(qlog_of(tmp_path, algorithm))
    assert result.verdict is Verdict.IDENTIFIED
    assert result.best.growth == algorithm
    assert result.best.explained > 0.99
    assert result.runner_up is not None
    assert result.runner_up.surprise_bits > result.best.surprise_bits


@pytest.mark.parametrize(
    ("algorithm", "label"),
    [
        ("highspeed(rule=table,per_ack=true)", "highspeed as in Linux + standard"),
        ("htcp(rtt_scaling=linux,counter=linux)", "htcp as in Linux + standard"),
        ("scalable(ai_cnt=100,counter=linux-6)", "scalable as in Linux + standard"),
        ("highspeed", "highspeed+standard"),
        ("veno(rtt=last,counter=linux-4)", "veno as in Linux 4 to 5.6 + standard"),
        ("yeah(counter=linux-4)", "yeah as in Linux 4 to 5.6"),
    ],
)
def test_the_modules_of_linux_are_told_from_the_sources(tmp_path: Path, algorithm: str, label: str) -> None:
    result = cwndlab.identify(qlog_of(tmp_path, algorithm, duration="20 s"))
    own = next(one for one in result.ranking if one.growth == algorithm.partition("(")[0])
    assert own.growth in result.ties
    assert (own.label, own.changed, own.misses) == (label, None, 0)


def test_a_parameter_is_fitted_to_a_module_of_linux(tmp_path: Path) -> None:
    algorithm = "bic(ack_ratio=measured,counter=linux-6,beta=0.5)"
    result = cwndlab.identify(qlog_of(tmp_path, algorithm, duration="20 s"))
    assert (result.best.growth, result.best.form and result.best.form.releases) == ("bic", "Linux")
    (fitted,) = result.parameters
    assert fitted.name == "beta"
    assert fitted.textbook == pytest.approx(819 / 1024)
    assert fitted.value == pytest.approx(0.5, rel=0.02)
    assert re.match(r"bic\(beta=0\.\d+\) as in Linux \+ \S+, ", result.headline())


@pytest.mark.parametrize("at", ["senders", "receivers"])
@pytest.mark.parametrize("algorithm", ["htcp", "bic", "illinois", "bbr3"])
def test_captures_identify_it_by_the_bytes_in_flight(tmp_path: Path, algorithm: str, at: str) -> None:
    result = cwndlab.identify(capture_of(tmp_path, algorithm, at))
    assert result.windowless
    assert result.best.growth == algorithm


@pytest.mark.parametrize("algorithm", ["reno", "fusion"])
def test_at_the_receiver_a_full_queue_drops_the_ends_of_bursts(tmp_path: Path, algorithm: str) -> None:
    """The dropped data was sent before the reduction that it causes: there is one reduction, not two."""
    result = cwndlab.identify(capture_of(tmp_path, algorithm, "receivers", duration="18 s", line=SHORT_QUEUE))
    own = next(one for one in result.ranking if one.growth == algorithm)
    assert algorithm in result.ties
    assert own.misses == 0


@pytest.mark.parametrize("algorithm", ["htcp", "veno"])
def test_without_sack_duplicate_acks_are_no_growth(tmp_path: Path, algorithm: str) -> None:
    """Duplicate ACKs stand for segments, which the ACK that ends the recovery acknowledges once more, and limited
    transmit (RFC 3042) sends two segments beyond the window."""
    file = tmp_path / "senders.pcapng"
    records = records_of(algorithm, duration="20 s", flow=WITHOUT_SACK, line=Line("1 Mbps", "60 ms", "1 bdp", 0.0, 3))
    cwndlab.export.export(records, "pcap", file, at="senders")
    result = cwndlab.identify(file)
    assert algorithm in result.ties
    assert result.best.misfit < 0.1


def test_what_is_in_flight_after_a_recovery_is_no_window(tmp_path: Path) -> None:
    """Westwood of Linux sets the window to less than what is in flight where the recovery ends."""
    algorithm = "westwood-plus(filter=linux-6)"
    line = Line("3 Mbps", "40 ms", "1 bdp", 0.0, 3)
    file = tmp_path / "senders.pcapng"
    records = records_of(algorithm, duration="20 s", flow=LINUX, line=line)
    cwndlab.export.export(records, "pcap", file, at="senders")
    result = cwndlab.identify(file)
    assert result.best.label == "westwood-plus as in Linux + standard"
    assert result.best.misses == 0


def test_segments_may_be_smaller_than_the_handshake_says(tmp_path: Path) -> None:
    """As where the path's MTU is smaller than that of the interfaces (RFC 1191)."""
    file = capture_of(tmp_path, "veno", "senders")
    announced = file.read_bytes()
    option = bytes([2, 4]) + (1460).to_bytes(2, "big")
    assert announced.count(option) == 2
    larger = tmp_path / "larger.pcapng"
    larger.write_bytes(announced.replace(option, bytes([2, 4]) + (8960).to_bytes(2, "big")))
    one, other = cwndlab.identify(file), cwndlab.identify(larger)
    assert (other.best.growth, other.best.surprise_bits) == ("veno", one.best.surprise_bits)


def test_a_sender_that_the_receive_window_limits_grows_by_its_algorithm(tmp_path: Path) -> None:
    """Hybla's slow start outgrows the receive window, which begins with 64 KiB, by a factor of four."""
    result = cwndlab.identify(capture_of(tmp_path, "hybla", "senders", line=LOSSES))
    assert (result.best.algorithm, result.best.misses) == ("hybla", 0)


def test_pacing_below_the_window_is_no_smaller_window(tmp_path: Path) -> None:
    """PHCC changes its window at once, by up to a factor of two, and paces: the bytes in flight follow later."""
    result = cwndlab.identify(capture_of(tmp_path, "phcc", "senders", duration="18 s", line=SHORT_QUEUE))
    assert (result.best.algorithm, result.best.misses) == ("phcc", 0)


def test_the_seed_of_random_probes_is_found(tmp_path: Path) -> None:
    """BBR begins ProbeBW in a random phase. Its minimum RTT is that of the handshake, whose packets are small."""
    result = cwndlab.identify(capture_of(tmp_path, "bbr1", "receivers", line=LOSSES))
    assert result.best.growth == "bbr1"
    assert result.best.explained > 0.9
    assert result.best.misfit < 1


def test_a_variant_has_a_misfit(tmp_path: Path) -> None:
    """Without CUBIC, a relative explains its flow for the most part, but worse than flows of its own."""
    log = qlog_of(tmp_path, "cubic")
    assert cwndlab.identify(log).best.misfit < 1
    relative = cwndlab.identify(log, candidates=["reno", "bic", "htcp"])
    assert relative.best.misfit > 1
    assert relative.verdict is Verdict.UNKNOWN or any("a variant of it" in line for line in relative.remarks())


def test_algorithms_with_equal_windows_are_a_tie(tmp_path: Path) -> None:
    """Without congestion marks, DCTCP (RFC 8257, section 3.5) and ABE (RFC 8511) are Reno."""
    result = cwndlab.identify(qlog_of(tmp_path, "reno"))
    assert result.verdict is Verdict.TIE
    assert {"reno", "dctcp", "abe-ecn"} <= set(result.ties)
    assert "cannot be told apart: reno, " in result.headline()


@pytest.mark.parametrize(
    ("sender", "growth", "parameter", "value"),
    [("cubic(beta=0.5)", "cubic", "beta", 0.5), ("cubic(c=0.8)", "cubic", "c", 0.8)],
)
def test_a_changed_parameter_is_found(tmp_path: Path, sender: str, growth: str, parameter: str, value: float) -> None:
    result = cwndlab.identify(qlog_of(tmp_path, sender))
    assert growth in result.ties
    assert result.best.growth == growth
    (changed,) = result.parameters
    assert changed.name == parameter
    assert changed.value == pytest.approx(value, rel=0.03)


def test_slow_starts_are_told_apart_where_they_leave(tmp_path: Path) -> None:
    for name in ("standard", "hystart-pp"):
        result = cwndlab.identify(qlog_of(tmp_path, f"cubic+{name}", loss=False))
        assert result.best.growth == "cubic"
        assert name in result.slow_starts
        assert not {"standard", "hystart-pp"} <= set(result.slow_starts)


def test_an_algorithm_that_is_no_candidate_is_unknown(tmp_path: Path) -> None:
    result = cwndlab.identify(qlog_of(tmp_path, "copa"), candidates=["reno", "cubic", "vegas", "bbr1"])
    assert result.verdict is Verdict.UNKNOWN
    assert result.headline().startswith("none of the catalogue; the nearest is ")


def test_an_application_with_pauses_leaves_slow_start_and_restarts(tmp_path: Path) -> None:
    """Bursts of 10 ms restart from the initial window (RFC 5681, section 4.1): there, most algorithms are equal."""
    flow = 'workload = { kind = "on-off", on = "10 ms", off = "300 ms" }'
    result = cwndlab.identify(qlog_of(tmp_path, "cubic", loss=False, flow=flow))
    assert result.verdict is Verdict.TIE
    assert {"reno", "cubic", "htcp", "vegas", "bic"} <= set(result.ties)


@pytest.mark.parametrize("samples", [False, True])
def test_a_capture_of_the_kernel_is_its_cubic(tmp_path: Path, samples: bool) -> None:
    """Linux 6.18, 20 Mbit/s, segments sent in bursts; with and without the windows that `ss` printed."""
    for name in ("linux-cubic.pcapng", "linux-cubic.ss.txt"):
        (tmp_path / name).write_bytes(lzma.decompress((SAMPLES / f"{name}.xz").read_bytes()))
    windows = tmp_path / "linux-cubic.ss.txt" if samples else None
    result = cwndlab.identify(tmp_path / "linux-cubic.pcapng", samples=windows)
    assert result.best.algorithm == "cubic-linux+hystart-linux"
    assert result.windowless is not samples


def test_the_log_of_another_stack(tmp_path: Path) -> None:
    """s2n-quic has CUBIC by RFC 8312."""
    log = tmp_path / "s2n.sqlog"
    log.write_bytes(lzma.decompress((SAMPLES / "s2n-quic-cubic.sqlog.xz").read_bytes()))
    assert cwndlab.identify(log).best.growth == "cubic-8312"


def test_a_comparison_ends_where_it_cannot_be_the_best(tmp_path: Path) -> None:
    """The bits of corrections only grow: with as many as an algorithm needs its comparison is complete, and with fewer
    there is none."""
    content = qlog_of(tmp_path, "reno").read_bytes()
    names = ["cubic", "vegas", "bbr1"]
    complete = json.loads(explain(content, "log", names))
    bits = [one["bits"] for one in complete]
    assert min(bits) > 0
    assert json.loads(explain(content, "log", names, most_bits=bits)) == complete
    assert json.loads(explain(content, "log", names, most_bits=[one * 0.99 for one in bits])) == [None] * 3


def test_the_command_prints_the_ranking(cli: Cli, tmp_path: Path) -> None:
    log = qlog_of(tmp_path, "htcp")
    status, out, _ = cli("identify", str(log))
    assert status == 0
    assert out.startswith("htcp+standard, 100.0 % explained")
    assert "runner-up: " in out
    status, out, _ = cli("identify", str(log), "--format", "json", "--candidates", "htcp,reno")
    found = json.loads(out)
    assert (status, found["verdict"], found["ranking"][0]["algorithm"]) == (0, "identified", "htcp+standard")
    assert cli("identify", str(log), "--format", "csv")[1].splitlines()[1].startswith("htcp+standard,")


def test_bad_input_is_named(cli: Cli, tmp_path: Path) -> None:
    log = qlog_of(tmp_path, "reno", duration="1 s")
    for arguments, cause in (
        ([str(tmp_path / "missing")], "cannot be read"),
        ([str(Path(__file__))], "is not qlog"),
        ([str(log), "--candidates", "renoo"], "'renoo' is not a congestion avoidance of the catalogue"),
        ([str(log), "--mss", "0"], "--mss: '0' is not a size\n  hint: write --mss 1448"),
        ([str(log), "--initial-cwnd", "0"], "--initial-cwnd: '0' is not a size\n  hint: write --initial-cwnd 14480"),
        ([str(log), "--samples", "anything"], "--samples: belongs to a capture; a qlog has the windows of its sender"),
    ):
        status, _, err = cli("identify", *arguments)
        assert status == 2
        assert cause in err
    with pytest.raises(cwndlab.errors.ArgumentError, match="candidates: there is none to choose from"):
        cwndlab.identify(log, candidates=[])
