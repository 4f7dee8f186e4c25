"""Lines beyond a fixed rate: traces, schedules, token buckets, radio links, asymmetry."""

from __future__ import annotations

import os
from math import exp, factorial
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.scenario import presets, traces

RECORDINGS = Path(os.environ.get("CWNDLAB_TRACES", Path(__file__).parents[2] / "shared" / "traces"))
BLAST = '[[flow]]\nalgorithm = "cubic"\nrtt = "20 ms"\n'


def scenario(bottleneck: str, duration: str = "10 s", reverse: str = 'rate = "1 Gbps"') -> cwndlab.Scenario:
    return cwndlab.Scenario.from_toml(
        f'schema_version = 1\nduration = "{duration}"\n[dumbbell]\nbottleneck = {{ delay = "5 ms", {bottleneck} }}\n'
        f"reverse = {{ {reverse} }}\n{BLAST}"
    )


def link(made: cwndlab.Scenario, name: str = "bottleneck") -> dict[str, Any]:
    rows = cwndlab.run(made, seed=1).links.to_dicts()
    return next(row for row in rows if row["name"] == name)


def faults(bottleneck: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario(bottleneck)
    return str(caught.value)


def test_a_full_queue_uses_every_opportunity_of_a_trace() -> None:
    """By hand: an opportunity each 2 ms is 6 Mbit/s; in 10 s 5,000 of them, of which the start takes at most 2 %."""
    row = link(scenario('trace = { text = "2\\n" }, queue = { capacity = "200 packets" }'))
    assert row["rate_bps"] == 6_000_000
    assert 0.98 <= row["utilisation"] <= 1.0
    assert row["sent_bytes"] <= 5000 * 1500


def test_a_managed_queue_stands_before_a_trace() -> None:
    """CoDel keeps the queue of the same line short (RFC 8289 §4.4: 5 ms, 2.5 packets here)."""
    deep = link(scenario('trace = { text = "2\\n" }, queue = { capacity = "200 packets" }', "30 s"))
    managed = link(scenario('trace = { text = "2\\n" }, queue = { kind = "codel" }', "30 s"))
    assert managed["mean_queue_packets"] < deep["mean_queue_packets"] / 5
    assert managed["utilisation"] > 0.8


def test_steps_change_what_passes() -> None:
    """By hand: 5 s of 10 Mbit/s, 4 s of 2, 1 s of nothing: 58 Mbit, 5.8 Mbit/s in the mean."""
    steps = '[{ at = "5 s", rate = "2 Mbps" }, { at = "9 s", rate = "0 Mbps" }]'
    row = link(scenario(f'rate = "10 Mbps", schedule = {steps}, queue = {{ capacity = "100 packets" }}'))
    assert row["rate_bps"] == 5_800_000
    assert 0.95 * 58e6 / 8 < row["sent_bytes"] <= 58e6 / 8


def test_a_token_bucket_holds_its_rate() -> None:
    """By hand: 10 s of 5 Mbit/s and a burst of 30 kB."""
    row = link(scenario('token_bucket = { rate = "5 Mbps", burst = "30 kB" }, queue = { capacity = "100 packets" }'))
    assert 0.95 * 6_250_000 < row["sent_bytes"] <= 6_250_000 + 30_000


def test_a_steeper_delay_is_seen_by_the_flow() -> None:
    """By hand: the way back has the same schedule, so that the base RTT of 20 ms grows by 30 ms each way at 5 s."""
    steps = '[{ at = "5 s", delay = "35 ms" }]'
    made = scenario(f'rate = "100 Mbps", schedule = {steps}, queue = {{ capacity = "50 packets" }}')
    samples = cwndlab.run(made, seed=1).samples
    early = min(samples.filter(samples["time_ns"] < 5_000_000_000)["rtt_ns"].drop_nulls().to_list())
    late = min(samples.filter(samples["time_ns"] > 5_500_000_000)["rtt_ns"].drop_nulls().to_list())
    assert 20e6 <= early < 27e6
    assert 80e6 <= late < 87e6


def test_retransmissions_of_the_radio_delay_in_rounds_and_lose_nothing() -> None:
    """Packets stay in order (TS 36.322 §5.1.3): where no queue drops either, nothing is sent twice."""
    made = scenario('rate = "10 Mbps", harq = { probability = 0.3 }, queue = { capacity = "unlimited" }', "5 s")
    records = cwndlab.run(made, seed=1)
    (flow,) = records.flows.to_dicts()
    assert (flow["wire_losses"], flow["retransmitted_packets"]) == (0, 0)


def test_acks_on_a_thin_way_back_bound_what_goes_forward() -> None:
    """RFC 3449 §2.1: with an ACK (52 bytes) per two packets (3000) 100 kbit/s of ACKs allow 5.8 Mbit/s at best."""
    thin = 'rate = "100 kbps", delay = "5 ms", queue = { capacity = "1000 packets" }'
    row = link(scenario('rate = "100 Mbps", queue = { capacity = "1000 packets" }', "20 s", thin))
    wide = link(scenario('rate = "100 Mbps", queue = { capacity = "1000 packets" }', "20 s"))
    assert row["sent_bytes"] < wide["sent_bytes"] / 3


def test_the_hash_covers_what_stands_in_the_file(tmp_path: Path) -> None:
    hashes = []
    for content in ("1\n2\n", "1\n3\n", "1\n2\n"):
        (tmp_path / "a.down").write_text(content)
        (tmp_path / "s.toml").write_text(
            'schema_version = 1\nduration = "1 s"\n[dumbbell]\nbottleneck = { trace = "a.down", delay = "5 ms" }\n'
            + BLAST
        )
        hashes.append(cwndlab.Scenario.load(tmp_path / "s.toml").hash)
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize(
    ("bottleneck", "said"),
    [
        ('trace = "no-such"', "dumbbell.bottleneck.trace: 'no-such' cannot be read"),
        (
            'trace = { text = "1\\n0\\n" }',
            "dumbbell.bottleneck.trace.text: text:2: 0 ms is less than the previous 1 ms",
        ),
        ('trace = { text = "" }', "text:1: the trace is empty"),
        ('trace = { text = "x" }', "text:1: expected an integer number of milliseconds"),
        ('trace = { text = "0" }', "text:1: every time is 0 ms"),
        ('trace = "3g", rate = "1 Mbps"', "dumbbell.bottleneck.trace: conflicts with 'rate'"),
        ('rate = "1 Mbps", repeat = "5 s"', "dumbbell.bottleneck.repeat: requires a 'schedule'"),
        ('schedule = [{ at = "1 s", rate = "1 Mbps" }]', "dumbbell.bottleneck.rate: is missing"),
        (
            'rate = "1 Mbps", schedule = [{ at = "2 s", loss = 0.1 }, { at = "1 s", loss = 0.0 }]',
            "dumbbell.bottleneck.schedule[1].at: 1 s is not after the previous step",
        ),
        (
            'rate = "1 Mbps", schedule = [{ at = "1 s", wifi_jitter = "92 ms" }]',
            "dumbbell.bottleneck.schedule[0].wifi_jitter: 92 ms is not a mean of the model",
        ),
        (
            'rate = "1 Mbps", wifi_jitter = "100 ms"',
            "dumbbell.bottleneck.wifi_jitter: 100 ms is not a mean of the model\n"
            '  hint: write a mean from "1 ms" (no spikes) to "91 ms" (a spike for every packet)',
        ),
        (
            'token_bucket = { rate = "1 Mbps", burst = "100 B" }',
            "dumbbell.bottleneck.token_bucket.burst: 100 B are less than",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(bottleneck: str, said: str) -> None:
    assert said in faults(bottleneck)


def mean_wifi_delay_ms(mean_ms: float, gap_ms: float) -> float:
    """The mean delay of packets in order, one each ``gap_ms``, with independent delays D of two stages: no packet
    arrives before its predecessors, so that P(delay ≤ w) is the product of P(D ≤ w + k × gap) over k ≥ 0.
    """
    probability = (mean_ms - 1) / 90
    times = np.arange(0, 400, 0.05)

    def poisson(mean: float, most: int) -> list[float]:
        return [exp(-mean) * mean**n / factorial(n) for n in range(most)]

    def first(at: Any) -> Any:
        """P(N - r ≤ at), with r uniform in [0, 1] for N > 0."""
        shares = [p * np.clip(at - n + 1, 0, 1) for n, p in enumerate(poisson(1, 12)) if n > 0]
        return exp(-1) * (at >= 0) + sum(shares)

    spikes = sum(p * first(times - 7.5 * n) for n, p in enumerate(poisson(12, 45)))
    below = (1 - probability) * first(times) + probability * spikes
    product = np.ones_like(times)
    for shift in np.arange(0, 400, gap_ms):
        product *= np.interp(times + shift, times, below)
    return float(np.trapezoid(1 - product, times))


@pytest.mark.parametrize(
    ("per_s", "duration", "tolerance_ms"), [(4, "3600 s", 0.7), (100, "600 s", 1.5), (800, "100 s", 3)]
)
def test_packets_wait_for_the_spikes_of_their_predecessors(per_s: int, duration: str, tolerance_ms: float) -> None:
    """By hand: a packet alone takes 1 ms at 10 Mbit/s, 1 ms of wire, and 1 − (1 − 1/e)/2 + 6/90 × 90 = 6.68 ms. The
    delay of more packets per second is that of independent delays in order.
    """
    made = cwndlab.Scenario.from_toml(
        f'schema_version = 1\nduration = "{duration}"\nsample_interval = "0 s"\n[dumbbell]\n'
        'bottleneck = { rate = "10 Mbps", delay = "1 ms", wifi_jitter = "7 ms" }\n[[flow]]\ntransport = "udp"\n'
        f'rtt = "2 ms"\nworkload = {{ kind = "cbr", rate = "{per_s * 10} kbps", packet = "1250 B" }}\n'
    )
    flow = cwndlab.run(made, seed=1).flows.to_dicts()[0]
    expected = mean_wifi_delay_ms(7, 1000 / per_s)
    assert per_s > 4 or abs(expected - 6.68) < 0.05
    assert abs(flow["mean_delay_ns"] / 1e6 - 2 - expected) < tolerance_ms
    assert flow["min_delay_ns"] >= 2_000_000


def test_the_jitter_of_a_wifi_follows_its_schedule() -> None:
    """By hand as above, four packets per second, each alone: 1 ms at 10 Mbit/s, 1 ms of wire and 0.68 ms; from 1000
    to 3000 s of 4000 s 6 ms more, on average 3 ms. Without jitter before a step at half of the time: 0.34 ms."""

    def mean_ms(link: str) -> float:
        made = cwndlab.Scenario.from_toml(
            'schema_version = 1\nduration = "4000 s"\nsample_interval = "0 s"\n[dumbbell]\n'
            f'bottleneck = {{ rate = "10 Mbps", delay = "1 ms", {link} }}\n[[flow]]\ntransport = "udp"\n'
            'rtt = "2 ms"\nworkload = { kind = "cbr", rate = "40 kbps", packet = "1250 B" }\n'
        )
        return float(cwndlab.run(made, seed=1).flows.to_dicts()[0]["mean_delay_ns"]) / 1e6 - 2

    fading = 'schedule = [{ at = "1000 s", wifi_jitter = "7 ms" }, { at = "3000 s", wifi_jitter = "1 ms" }]'
    assert mean_ms(f'wifi_jitter = "1 ms", {fading}') == pytest.approx(0.684 + 3, abs=0.5)
    late = 'schedule = [{ at = "2000 s", wifi_jitter = "1 ms" }]'
    assert mean_ms(late) == pytest.approx(0.684 / 2, abs=0.03)


@pytest.mark.parametrize(
    ("bottleneck", "rate_bps"),
    [
        ('rate = "10 Mbps", repeat = "2 s", schedule = [{ at = "1.8 s", rate = "0 Mbps" }]', 9_000_000),
        ('rate = "50 Mbps", repeat = "20 ms", schedule = [{ at = "10 ms", rate = "0 Mbps" }]', 25_000_000),
    ],
)
def test_a_duty_cycle_is_a_repeated_schedule(bottleneck: str, rate_bps: int) -> None:
    """By hand: a suspension for 200 ms of 2 s leaves nine tenths of the rate, a microwave oven half of it."""
    row = link(scenario(f'{bottleneck}, queue = {{ capacity = "300 packets" }}'))
    assert row["rate_bps"] == rate_bps
    assert 0.97 < row["utilisation"] <= 1.0


def test_a_link_follows_recorded_delays_beside_a_trace_of_its_rate(tmp_path: Path) -> None:
    """By hand: 20 ms for a second, 35 ms for two, and again. After the decrease at 3 s packets stay behind those
    before it."""
    (tmp_path / "rate.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    (tmp_path / "delay.down").write_text("20\n35\n35\n")
    (tmp_path / "recorded.toml").write_text(
        'schema_version = 1\nduration = "6 s"\npackets = true\n[dumbbell]\n'
        'reverse = { rate = "1 Gbps", delay = "20 ms" }\n[dumbbell.bottleneck]\ntrace = "rate.down"\ndelay = "20 ms"\n'
        'delay_trace = { file = "delay.down", interval = "1 s" }\n[[flow]]\ntransport = "udp"\nrtt = "40 ms"\n'
        'workload = { kind = "cbr", rate = "100 kbps", packet = "125 B" }\n'
    )
    records = cwndlab.run(cwndlab.Scenario.load(tmp_path / "recorded.toml"), seed=1)
    one = records.links.filter(name="bottleneck")["link"][0]
    rows = records.packets.filter(link=one).drop_nulls("arrival_ns")
    rows = rows.filter(rows["departure_ns"] % 3_000_000_000 > 15_000_000)
    delays = ((rows["arrival_ns"] - rows["departure_ns"]) / 1e6).to_list()
    assert len(delays) > 500
    assert delays == [20.0 if time // 10**9 % 3 == 0 else 35.0 for time in rows["departure_ns"]]
    assert "conflicts with 'schedule'" in faults(
        'rate = "1 Mbps", schedule = [{ at = "1 s", delay = "9 ms" }], delay_trace = { text = "2", interval = "1 s" }'
    )


@pytest.mark.parametrize("name", ["lte", "satellite", "rate-steps", "asymmetric", "bad-wifi", "fade", "suspension"])
def test_presets_run(name: str) -> None:
    preset = presets.load(name).with_(duration="5 s")
    records = cwndlab.run(preset, seed=1)
    assert max(records.flows["delivered_bytes"].to_list()) > 0


def test_what_a_trace_is_described_as() -> None:
    """By hand: 3 opportunities in 2 s are 18 kbit/s; two of them in the first second; a gap of 1.4 s."""
    found = traces.describe([100, 600, 2000])
    assert found.mean_bps == 18_000
    assert found.second_bps == (24_000, 12_000)
    assert found.outages_s == ((0.0, 0.1), (0.1, 0.5), (0.6, 1.4))


def test_a_recording_is_used_to_its_last_opportunity() -> None:
    file = RECORDINGS / "ATT-LTE-driving-2016.down"
    if not file.exists():
        pytest.skip(f"no recordings in {RECORDINGS}; CWNDLAB_TRACES names their folder")
    moments = traces.load(file)
    assert (len(moments), round(traces.describe(moments).mean_bps / 1e6, 2)) == (45_604, 4.56)
    text = "\\n".join(map(str, moments))
    row = link(scenario(f'trace = {{ text = "{text}" }}, queue = {{ capacity = "2000 packets" }}', "30 s"))
    assert 0.97 < row["utilisation"] <= 1.0
