"""Service levels: requirements, measures, verdicts. Answers by hand, from standards and from queueing theory."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cwndlab
import numpy as np
import polars as pl
import pytest
from cwndlab.errors import ArgumentError, ScenarioError
from cwndlab.metrics.summary import metrics_version
from cwndlab.service import (
    CODECS,
    Requirement,
    VideoCodec,
    age_of_information,
    apdex,
    burst_ratio,
    delay_impairment,
    freezes,
    interarrival_jitter_s,
    judge,
    levels,
    longest_silence_s,
    measured,
    mos,
    nearest_rank,
    observed,
    outage_s,
    rating,
    requirements,
    standard,
    standards,
    transfer_time_s,
    video_mos,
    video_quality,
    voice,
    voice_quality,
)
from cwndlab.service.delivery import Times
from cwndlab.service.per_run import by_flow
from cwndlab.statistics import pooled_share, wilson
from cwndlab.study import tables
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure
from scipy import stats

S = 1_000_000_000
MS = 1_000_000
ALARMS = {"class": "alarms", "deadline": "500 ms", "within": 0.9, "lifetime": "2 s", "loss": 0.1, "gap": "3 s"}


def seconds(*values: float) -> Times:
    return np.array(values, dtype=float) * S


def run_of(
    service: dict[str, Any],
    messages: Sequence[tuple[int, float, float | None]],
    *,
    from_s: float = 0,
    until_s: float = 10,
) -> Any:
    """A run with one flow that requires ``service``, two flows if ``messages`` have both: flow, generation and delivery
    in seconds."""
    flows = 1 + max((flow for flow, _, _ in messages), default=0)
    columns = {
        "flow": [flow for flow, _, _ in messages],
        "message": list(range(len(messages))),
        "generated_ns": [round(generated * S) for _, generated, _ in messages],
        "delivered_ns": [None if at is None else round(at * S) for _, _, at in messages],
        "size_bytes": [100] * len(messages),
    }
    types = {name: pl.UInt32 if name == "flow" else pl.UInt64 for name in columns}
    run = {"duration_ns": round(until_s * S), "measure_from_ns": round(from_s * S)}
    return SimpleNamespace(
        document={"flow": [{"name": "bed", "count": flows, "service": service}]},
        rows={"runs": [run]}.__getitem__,
        frame={"messages": pl.DataFrame(columns, schema=types)}.__getitem__,
    )


# -- shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (1, 29), (15, 148), (81, 263), (20, 20)])
def test_the_interval_of_a_share_is_wilsons(successes: int, trials: int) -> None:
    one = wilson(successes, trials)
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert (one.low, one.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_runs_that_agree_count_every_message_and_runs_that_do_not_count_once() -> None:
    """By hand: with five of ten in each run there is no variance between runs, so that the interval is Wilson's for 20
    with t(1) = 12.706 in place of z; with all or nothing it is that for one trial."""
    square = 12.7062047**2
    for effective, runs in ((20, [5, 5]), (1, [10, 0])):
        half = np.sqrt(square / 4 / effective + square**2 / 4 / effective**2) / (1 + square / effective)
        one = pooled_share(runs, [10, 10])
        assert (one.low, one.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-6)


def test_the_interval_over_runs_holds_the_true_share_as_often_as_it_says() -> None:
    """Runs that differ: the share of a run is uniform from 0.6 to 1; the plain Wilson interval covers it far less."""
    source = np.random.default_rng(1)
    covered = plain = 0
    for _ in range(400):
        counts = source.binomial(200, source.uniform(0.6, 1.0, size=10)).tolist()
        one, other = pooled_share(counts, [200] * 10), wilson(sum(counts), 2000)
        covered += one.low is not None and one.high is not None and one.low <= 0.8 <= one.high
        plain += other.low is not None and other.high is not None and other.low <= 0.8 <= other.high
    assert covered / 400 == pytest.approx(0.95, abs=0.03)
    assert plain / 400 < 0.6


def test_shares_without_trials_have_no_interval() -> None:
    assert wilson(0, 0).n == 0
    assert pooled_share([0, 3], [0, 4]) == wilson(3, 4)
    with pytest.raises(ValueError, match="every run has successes and trials, not 1 and 2"):
        pooled_share([1], [1, 2])


# -- delays, silence, age ---------------------------------------------------------------------------------------------


def test_a_percentile_exists_only_if_it_is_delivered() -> None:
    """Nearest rank of 1 to 100: the 99th percentile is 99. With one loss of 100 it is still the last delivery, and with
    two it does not exist."""
    delays = np.arange(1.0, 101.0)
    assert (nearest_rank(delays, 99), nearest_rank(delays, 99.9), nearest_rank(delays, 0)) == (99.0, 100.0, 1.0)
    assert nearest_rank(np.append(delays[:99], np.inf), 99) == 99.0
    assert nearest_rank(np.append(delays[:98], [np.inf, np.inf]), 99) is None
    assert nearest_rank(np.array([]), 50) is None


def test_the_rank_of_999_of_a_thousand_is_not_rounded_up() -> None:
    assert nearest_rank(np.arange(1.0, 1001.0), 99.9) == 999.0


def test_the_age_of_information_of_a_queue_is_that_of_theory() -> None:
    """M/M/1, first come, first served, with load u: (1 + 1/u + u²/(1 − u)) service times, 3.5 for u = 1/2 (Kaul, Yates,
    Gruteser 2012)."""
    source = np.random.default_rng(3)
    generated = np.cumsum(source.exponential(2.0, 200_000))
    service = source.exponential(1.0, 200_000)
    ends = np.cumsum(service)
    delivered = ends + np.maximum.accumulate(generated - np.concatenate([[0.0], ends[:-1]]))
    age = age_of_information(generated * S, delivered * S)
    assert age is not None
    assert age.mean_s == pytest.approx(3.5, rel=0.02)


def test_an_overtaken_message_does_not_renew_the_age() -> None:
    """By hand: generated at 0, 1, 2 s, delivered at 1, 5, 3 s. From 1 to 3 s the age grows from 1 to 3; the message of
    1 s comes after that of 2 s."""
    assert age_of_information(seconds(0, 1, 2), seconds(1, 5, 3)) == (2.0, 3.0)
    assert age_of_information(seconds(0, 1), seconds(1, np.inf)) is None
    # Until 6 s it has grown from 1 to 6 s, and its mean over these 5 s is 3.5 s.
    assert age_of_information(seconds(0, 1), seconds(1, np.inf), 6 * S) == (3.5, 6.0)


def test_the_age_begins_with_what_the_receiver_has_and_grows_while_nothing_arrives() -> None:
    """By hand: generated each second, delivered 0.1 s later, but nothing from 3 to 9 s. At 9.1 s the receiver has the
    message of 2 s, also if the time that counts begins at 5 s. Of nothing delivered in 10 s the age is 10 s, and of
    the messages of 0 and 4 s, of which the second one arrives at 6 s, it was 6 s before."""
    generated = seconds(*range(10))
    delivered = np.where((generated >= 3 * S) & (generated < 9 * S), np.inf, generated + 0.1 * S)
    found = age_of_information(generated, delivered, from_ns=5 * S)
    assert found is not None
    assert tuple(found) == pytest.approx(((3 + 7.1) / 2, 7.1))
    assert age_of_information(seconds(0, 1), seconds(np.inf, np.inf), 10 * S, 6 * S) == (None, 10.0)
    assert age_of_information(seconds(0, 4), seconds(np.inf, 6), 7 * S) == (2.5, 6.0)
    # A delivery after the time that counts does not renew the age in it.
    assert age_of_information(seconds(0, 1, 2), seconds(0, 1, 9), 5 * S) == ((0.5 + 4 * 2) / 5, 4.0)
    assert age_of_information(seconds(), seconds(), 5 * S) is None


def test_an_outage_across_the_start_of_the_interval_and_a_dead_flow_break_the_age() -> None:
    """By hand: measured from 4 s, nothing arrives from 3 to 9 s, as above. A flow that delivers nothing is 10 s old,
    however fresh the others of its class are."""
    vitals = {"class": "vitals", "age": "5 s"}
    outage = [(0, float(at), None if 3 <= at < 9 else at + 0.1) for at in range(10)]
    (row,) = levels(run_of(vitals, outage, from_s=4)).to_dicts()
    assert (row["verdict"], row["age_peak_s"]) == ("missed", pytest.approx(7.1))
    fresh, dead = [(0, float(at), at + 0.1) for at in range(10)], [(1, float(at), None) for at in range(10)]
    (row,) = levels(run_of(vitals, [*fresh, *dead])).to_dicts()
    assert (row["verdict"], row["age_peak_s"], row["age_mean_s"]) == ("missed", 10.0, None)
    (row,) = levels(run_of(vitals, fresh)).to_dicts()
    assert (row["verdict"], row["age_mean_s"]) == ("met", pytest.approx(0.6))


def test_the_variation_of_the_delay_is_that_of_decided_messages_and_of_every_flow() -> None:
    """By hand: delays of 0.1 and 0.3 s, and a message under way at the end. A flow that lost a message has no 99.9th
    percentile of so few, and so has its class."""
    fine = [(0, 1.0, 1.1), (0, 2.0, 2.3), (0, 9.9, None)]
    assert measured(run_of(ALARMS, fine))[0]["ipdv_s"] == pytest.approx(0.2)
    assert measured(run_of({"class": "free"}, fine))[0]["ipdv_s"] == pytest.approx(0.2)
    assert measured(run_of(ALARMS, [*fine, (1, 1.0, 1.1), (1, 2.0, None)]))[0]["ipdv_s"] is None


def test_silence_begins_with_the_first_message_and_ends_with_the_run_if_the_last_is_lost() -> None:
    generated, delivered = seconds(3, 4, 5), seconds(3.1, 4.1, np.inf)
    span = observed(generated, delivered, 0, 10 * S)
    assert span == (3 * S, 10 * S)
    assert longest_silence_s(delivered, 3 * S, 10 * S) == pytest.approx(5.9)
    assert observed(seconds(11), seconds(12), 0, 10 * S) is None


def test_an_outage_begins_the_survival_time_after_the_last_delivery() -> None:
    """By hand: nothing for 10 s, of which 2 s survive."""
    assert outage_s(np.array([]), 2 * S, 0, 10 * S) == 8.0


def test_failures_frustrate() -> None:
    assert apdex([1.0, 4.0, 4.1, np.inf], threshold=1.0) == (1, 1, 2)
    assert apdex([], threshold=1.0).value is None


def test_a_study_takes_until_its_last_image() -> None:
    assert transfer_time_s(seconds(0, 1, 2), seconds(4, 5, 3)) == 5.0
    assert transfer_time_s(seconds(0, 1), seconds(1, np.inf)) is None


def test_jitter_follows_rfc_3550() -> None:
    """Section A.8 by hand, in the order of arrival: delays of 10, 10, 26 and 10 ms. J is 0, then 16/16 = 1 ms, then
    1 + (16 − 1)/16 = 1.9375 ms."""
    generated = np.array([0.0, 20, 40, 60]) * MS
    jitter = interarrival_jitter_s(generated, generated + np.array([10.0, 10, 26, 10]) * MS)
    assert jitter == pytest.approx(1.9375e-3)


# -- voice and video --------------------------------------------------------------------------------------------------


def test_the_opinion_score_is_that_of_g107() -> None:
    """The default rating of 93.2 has 4.41, the maximum is 4.5; the limits of user satisfaction as published, with two
    digits: 4.34, 4.03, 3.60, 3.10 and 2.58."""
    assert mos(93.2) == pytest.approx(4.41, abs=0.005)
    assert (mos(0), mos(100), mos(120)) == (1.0, 4.5, 4.5)
    published = {90: 4.34, 80: 4.03, 70: 3.60, 60: 3.10, 50: 2.58}
    assert all(mos(value) == pytest.approx(score, abs=0.01) for value, score in published.items())


def test_the_rating_of_the_defaults_is_that_of_g107() -> None:
    assert rating(CODECS["g711"], delay_ms=0.0, loss_percent=0.0) == pytest.approx(93.2, abs=0.01)


def test_the_delay_impairment_is_near_the_published_approximation() -> None:
    """Cole and Rosenbluth 2001 fit 0.024 d + 0.11 (d − 177.3)⁺ to the curve of G.107, up to 400 ms."""
    for delay in range(0, 401, 50):
        approximation = 0.024 * delay + 0.11 * max(0.0, delay - 177.3)
        assert delay_impairment(delay) == pytest.approx(approximation, abs=3.5)


def test_losses_in_bursts_cost_more() -> None:
    """By hand with G.729A at 10 %: 11 + 84 · 10 / 29 = 39.97 at random; in bursts twice as long 11 + 84 · 10 / 24."""
    base = rating(CODECS["g729a"], 0, 0)
    assert base - rating(CODECS["g729a"], 0, 10) == pytest.approx(840 / 29)
    assert base - rating(CODECS["g729a"], 0, 10, 2.0) == pytest.approx(35.0)
    alternating = np.array([1, 0] * 50, dtype=bool)
    assert (burst_ratio(alternating), burst_ratio(np.zeros(9, dtype=bool)), burst_ratio(np.ones(9, dtype=bool))) == (
        1.0,
        1.0,
        1.0,
    )


def test_late_packets_are_lost() -> None:
    call = voice(np.array([50.0, 120, np.inf, 60]) * MS, playout_ns=100 * MS, codec="g711")
    assert call is not None
    assert (call.loss, call.delay_ms) == (0.5, 120.0)
    assert call.rating == rating(CODECS["g711"], 120.0, 50.0, call.burst_ratio)


def test_wideband_codecs_have_no_narrowband_rating() -> None:
    with pytest.raises(ArgumentError) as raised:
        voice(np.array([1.0]), 1.0, codec="opus")
    assert str(raised.value) == (
        "codec: no codec of the narrowband E-model is called 'opus'\n"
        "  hint: there are g711, g711-plc, g729a; wideband codecs need the scale of ITU-T G.107.1"
    )


def test_a_freeze_is_three_frames_at_low_rates() -> None:
    """By hand: at 10 frames/s max(300, 250) ms."""
    start = np.arange(5) * 100.0 * MS
    assert freezes(np.append(start, (400 + 299) * MS)).number == 0
    assert freezes(np.append(start, (400 + 300) * MS)) == (1, 0.3)
    assert freezes(np.array([0.0, MS])).number == 0


# -- requirements -----------------------------------------------------------------------------------------------------


def test_a_flow_without_service_requires_nothing() -> None:
    flows = [
        {"algorithm": "cubic"},
        {"name": "a", "count": 2, "service": {}},
        {"service": {"class": "b", "gap": "1 s"}},
    ]
    found = requirements({"flow": flows})
    assert {flow: one.name for flow, one in found.items()} == {1: "a", 2: "a", 3: "b"}
    assert found[3] == Requirement(name="b", within=0.99, gap_ns=S)
    assert measured(run_of(ALARMS, []), start_s=0)[0]["messages"] == 0
    assert requirements({"flow": flows[:1]}) == {}


def test_flows_of_one_class_require_the_same() -> None:
    flows = [{"service": {"class": "a", "deadline": "1 s"}}, {"service": {"class": "a", "deadline": "2 s"}}]
    with pytest.raises(ScenarioError) as raised:
        requirements({"flow": flows})
    assert str(raised.value) == (
        "flow[1].service: the class 'a' has another requirement in a flow before it\n"
        "  hint: write the same values, or another class"
    )


def test_standards_say_how_far_they_were_checked() -> None:
    frame = standards()
    assert {"g114-voice", "g1010-command", "g1010-transaction", "g1010-web", "g1010-bulk", "y1541-0"} <= {
        *frame["name"]
    }
    assert set(frame["basis"]) == {"secondary source", "not checked"}
    for name in frame["name"]:
        assert Requirement.of(standard(name).service, name).deadline_ns
    with pytest.raises(ArgumentError, match="no service level of a standard is called 'g114'"):
        standard("g114")


# -- a run ------------------------------------------------------------------------------------------------------------


def test_a_run_by_hand() -> None:
    """Ten seconds, measured from 1 s. Two flows:

    flow 0: 0.5 s (before the interval), 1 → 1.2 s, 3 → 3.5 s (on the deadline), 5 → 5.6 s (late), 9.6 s, never (not
            decided). Deliveries at 0.7, 1.2, 3.5, 5.6 s: the longest silence is 4.4 s, to the end of the run
    flow 1: 2 → 2.1 s, 4 s never (lost), 6 → 8.5 s (late, and after its lifetime). Silence of 6.4 s from 2.1 to 8.5 s
    """
    messages: list[tuple[int, float, float | None]] = [
        *((0, 0.5, 0.7), (0, 1.0, 1.2), (0, 3.0, 3.5), (0, 5.0, 5.6), (0, 9.6, None)),
        *((1, 2.0, 2.1), (1, 4.0, None), (1, 6.0, 8.5)),
    ]
    (row,) = measured(run_of(ALARMS, messages, from_s=1))
    assert (row["class"], row["flows"], row["messages"]) == ("alarms", 2, 7)
    assert (row["decided"], row["in_time"]) == (6, 3)
    assert (row["loss_decided"], row["lost"]) == (6, 2)
    # Of the six that are decided: 0.1, 0.2, 0.5, 0.6 s and two losses.
    assert (row["p50_delay_s"], row["p99_delay_s"]) == (0.5, None)
    assert row["silence_s"] == pytest.approx(6.4)
    # Survival time 3 s. Flow 0, from 1 s: 1.2 and 3.5 s in time, hence 10 − 6.5 s of outage; flow 1, from 2 s to its
    # last delivery at 8.5 s: 2.1 s in time, hence 8.5 − 5.1 s.
    assert row["outage_s"] == pytest.approx(3.5 + 3.4)
    assert row["observed_s"] == pytest.approx(9 + 6.5)


def test_the_interval_may_be_another_one() -> None:
    messages = [(0, float(second), second + 0.1) for second in range(10)]
    assert measured(run_of(ALARMS, messages), start_s=2, end_s=5)[0]["messages"] == 3


@pytest.mark.parametrize(
    ("start_s", "end_s"), [(8, 2), (20, None), (np.nan, None), ("1", None), (None, 1e9), (-5, None)]
)
def test_an_interval_that_is_none_of_the_run_is_refused(start_s: Any, end_s: Any) -> None:
    run = run_of(ALARMS, [(0, 1.0, 1.1)])
    for judged in (measured, levels):
        with pytest.raises((ArgumentError, ScenarioError), match="start_s"):
            judged(run, start_s=start_s, end_s=end_s)


def test_a_deadline_at_the_end_of_the_run_is_decided() -> None:
    (row,) = measured(run_of(ALARMS, [(0, 9.5, 9.9), (0, 9.51, 9.9)]))
    assert (row["decided"], row["in_time"]) == (1, 1)


def test_apdex_of_a_run() -> None:
    """By hand: 1 s satisfies, 3 s is tolerated, the third does not arrive, and the fourth is not decided."""
    run = run_of({"class": "web", "apdex": "1 s"}, [(0, 0.0, 1.0), (0, 1.0, 4.0), (0, 2.0, None), (0, 7.0, 7.1)])
    assert measured(run)[0]["apdex"] == [1, 1, 1]
    assert levels(run)["apdex"].item() == 0.5


def test_the_score_of_a_video_is_that_of_other_programs() -> None:
    """ITU-T G.1070: a program that quotes table B.4 (06/2018) of the Recommendation states 3.87 for 1000 kbit/s, 30
    frames per second and no loss. By hand for H.264 and VGA at 1 Mbit/s: O = 18.417, (B / v4)^v5 = 5.7977, I_o =
    3.459 (1 − 1 / 6.7977) = 2.9502, D_f = 1.505, I_c = 2.9502 exp(−0.4879² / 4.5301) = 2.7991, D_p = 0.736 +
    13.684 exp(−1.9464) = 2.6899; exp(−1 / 2.6899) = 0.6895."""
    small = VideoCodec((6.743, 0.9998e-2, 3.051, 168.1, 1.766, 1.13, 18.34e-4, 1.232, 53.25, 3.353, 6.025, 80.752), "")
    assert video_mos(1000, 30, 0, small) == pytest.approx(3.87, abs=0.005)
    assert video_mos(1000, 30, 0) == pytest.approx(3.7991, abs=0.0002)
    assert video_mos(1000, 30, 1) == pytest.approx(1 + 2.7991 * 0.6895, abs=0.0005)
    assert video_mos(1000, 30, 100) == pytest.approx(1.0, abs=0.001)


def test_a_codec_without_coefficients_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"no codec of G\.1070 is called 'h264'"):
        video_mos(1000, 30, 0, "h264")


def test_messages_of_a_flow_are_in_the_order_of_their_generation() -> None:
    """By hand: rows of two flows in the order in which they end."""
    run = run_of(ALARMS, [(1, 1.0, 2.0), (0, 3.0, 3.5), (0, 1.0, None)])
    found = by_flow(run)
    assert {flow: one.generated_ns.tolist() for flow, one in found.items()} == {0: [3e9, 1e9], 1: [1e9]}


def test_calls_and_videos_have_a_row_per_flow() -> None:
    frames = [(0, at / 10, None if 20 <= at < 25 else at / 10 + 0.05) for at in range(50)]
    run = run_of({"class": "call", "playout": "100 ms"}, [*frames, (0, 9.95, None)])
    (call,) = voice_quality(run).to_dicts()
    # Five of fifty packets in one run: 10 %, and 5 · 0.9 as long as random ones. The last one is not decided.
    assert (call["class"], call["loss"], call["burst_ratio"]) == ("call", 0.1, pytest.approx(4.5))
    (video,) = video_quality(run).to_dicts()
    # A frame of 100 ms is shown for 600 ms.
    assert (video["late"], video["freezes"], video["frozen_s"]) == (0.1, 1, pytest.approx(0.6))
    size = run.frame("messages")["size_bytes"][0]
    assert (video["frame_rate"], video["bitrate_kbps"]) == (pytest.approx(10), pytest.approx(8 * size * 10 / 1000))
    assert video["mos"] == video_mos(video["bitrate_kbps"], 10.0, 10.0)
    assert len(voice_quality(run_of(ALARMS, frames))) == 0


# -- verdicts ---------------------------------------------------------------------------------------------------------


def row_of(service: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A row of a run, with nothing but what is named."""
    empty = measured(run_of(service, []))[0]
    return empty | values


def verdict(service: dict[str, Any], *runs: dict[str, Any]) -> tuple[str | None, str | None, float | None]:
    (row,) = judge([[row_of(service, **one)] for one in runs])
    return row["verdict"], row["requirements"], row["missed_probability"]


DEADLINE = {"class": "a", "deadline": "1 s", "within": 0.9}


def test_the_interval_over_runs_decides() -> None:
    good, bad = {"decided": 1000, "in_time": 960}, {"decided": 1000, "in_time": 800}
    assert verdict(DEADLINE, *[good] * 5) == ("met", "deadline", 0.0)
    assert verdict(DEADLINE, *[bad] * 5) == ("missed", "deadline", 1.0)
    # The same number of messages in time as of five runs with 96 %, but runs differ.
    mixed = [{"decided": 1000, "in_time": count} for count in (1000, 1000, 1000, 1000, 800)]
    assert verdict(DEADLINE, *mixed) == ("cannot tell", "deadline", 0.2)


def test_one_run_takes_its_messages_as_independent() -> None:
    """Wilson by hand: of 100 messages 96 are in time, from 90.2 %; of 20 all, from 83.9 %."""
    assert verdict(DEADLINE, {"decided": 100, "in_time": 96}) == ("met", "deadline", 0.0)
    assert verdict(DEADLINE, {"decided": 20, "in_time": 20}) == ("cannot tell", "deadline", 0.0)


def test_a_requirement_of_all_is_missed_by_one() -> None:
    every = {"class": "a", "deadline": "1 s", "within": 1, "loss": 0.0}
    whole = {"decided": 100, "in_time": 100, "loss_decided": 100, "lost": 0}
    assert verdict(every, *[whole] * 3) == ("met", "deadline, loss", 0.0)
    late = whole | {"in_time": 99}
    assert verdict(every, whole, whole, whole, late) == ("missed", "deadline", 0.25)


def test_the_verdict_of_a_class_is_the_worst_of_its_requirements() -> None:
    service = DEADLINE | {"loss": 0.05, "gap": "1 s", "availability": 0.99}
    fine = {"decided": 1000, "in_time": 990, "loss_decided": 1000, "lost": 1, "silence_s": 0.5}
    fine |= {"outage_s": 0.0, "observed_s": 10.0}
    assert verdict(service, *[fine] * 5) == ("met", "deadline, loss, gap, availability", 0.0)
    assert verdict(service, *[fine] * 4, fine | {"silence_s": 1.5}) == ("missed", "gap", 0.2)
    assert verdict(service | {"age": "2 s"}, fine | {"age_peak_s": 2.0}, fine | {"age_peak_s": 2.1}) == (
        "missed",
        "age",
        0.5,
    )
    assert verdict(service, *[fine] * 4, fine | {"outage_s": 1.0}) == ("cannot tell", "availability", 0.2)
    assert verdict(service, *[fine | {"lost": 50}] * 4, fine | {"lost": 51}) == ("cannot tell", "loss", 0.2)


def test_nothing_decided_is_no_verdict() -> None:
    assert verdict(DEADLINE, {"decided": 0, "in_time": 0}) == ("cannot tell", "deadline", None)
    assert verdict({"class": "a", "loss": 0.0}, {}) == ("cannot tell", "loss", None)
    assert verdict({"class": "a"}, {}) == (None, None, None)
    assert levels([run_of(DEADLINE, [])])["in_time"].item() is None


def test_levels_of_several_runs() -> None:
    runs = [run_of(ALARMS, [(0, at / 10, at / 10 + 0.1 * (1 + late)) for at in range(80)]) for late in (0, 1)]
    (row,) = levels(runs).to_dicts()
    assert (row["runs"], row["messages"], row["decided"], row["in_time"]) == (2, 160, 160, 1.0)
    assert row["p99_delay_s"] == pytest.approx(0.15)
    assert (row["missed_runs"], row["judged_runs"]) == (0, 2)


# -- studies ----------------------------------------------------------------------------------------------------------


def canned(records: cwndlab.Records, **_: Any) -> list[dict[str, Any]]:
    """What a run delivered: reno is late in three of ten messages, the other algorithm never."""
    late = 300 if records.flows["algorithm"][0].startswith("reno") else 0
    alarm = row_of(ALARMS, messages=1000, decided=1000, in_time=1000 - late, loss_decided=1000, lost=0)
    voice = row_of(
        {"class": "voice", "deadline": "150 ms", "within": 1}, messages=10, decided=10, in_time=10, p99_delay_s=0.1
    )
    return [alarm | {"silence_s": 1.0, "p99_delay_s": 0.25}, voice]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with service levels, in a folder."""
    place = tmp_path_factory.mktemp("service") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cwndlab.study.compare.requires", lambda _: True)
        patch.setattr("cwndlab.study.spec.measured", canned)
        cwndlab.compare("single", ["reno", "cubic"], seeds=2, out=place)
    return place


def test_a_comparison_has_a_row_per_class_and_alternative(kept: Path) -> None:
    result = Result.read(kept)
    frame = result.levels()
    assert frame.select("class", "algorithm", "verdict", "requirements").rows() == [
        ("alarms", "reno", "missed", "deadline"),
        ("alarms", "cubic", "met", "deadline, loss, gap"),
        ("voice", "reno", "met", "deadline"),
        ("voice", "cubic", "met", "deadline"),
    ]
    assert "levels" not in result.metrics
    assert "levels" not in result.rows[0]
    assert json.loads(result.to_json())["levels"] == json.loads((kept / "comparison.json").read_text())["levels"]


def test_terminal_page_and_notebook_have_the_same_service_levels(
    kept: Path, tmp_path: Path, cli: Callable[..., tuple[int, str, str]]
) -> None:
    result = Result.read(kept)
    table = tables.levels(result)
    wanted = [[str(cell) for cell in row] for row in table.rows]
    assert [row[:2] for row in wanted] == [[one, other] for one in ("alarms", "voice") for other in ("reno", "cubic")]
    status, printed, said = cli("report", kept, "--report", tmp_path / "page.html")
    assert status == 0
    assert table.caption in said
    lines = [re.split(r"  +", line.strip()) for line in printed.splitlines()]
    at = lines.index(wanted[0])
    assert lines[at : at + len(wanted)] == wanted
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for source in (result._repr_html_(), page):
        body = source[source.index(table.caption, source.index("<caption>Service levels")) :]
        cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", body)]
        assert [unescape(cell) for cell in cells[: 4 * len(wanted[0])]] == [cell for row in wanted for cell in row]
    assert "n = 2 runs of each" in table.caption


def test_the_table_has_the_forms_of_the_others(kept: Path) -> None:
    table = tables.levels(Result.read(kept))
    assert "\n\\begin{tabular}{llllrr" in table.to("latex")
    assert r"90 \% within 0.5 s, lost $\leq$ 10 \%, silence $\leq$ 3 s" in table.to("latex")
    assert table.to("markdown").count("\n") == 5
    assert table.to("csv").splitlines()[0].startswith("cell,algorithm,class,flows,runs,messages,decided,deadline_s")


def test_a_study_without_service_is_kept_as_before() -> None:
    """The digest of a measure identifies kept rows; service levels change it only for scenarios that have them."""
    parts = [metrics_version(), "findings", repr(((), None, None, None)), "", ""]
    assert Measure().digest == hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    assert Measure(service=True).digest != Measure().digest
    result = cwndlab.compare("single", ["reno"], seeds=1)
    assert "levels" not in result.runs.columns
    assert len(result.levels()) == 0
    assert "Service levels" not in result._repr_html_()


def test_the_table_of_one_run_says_so() -> None:
    table = tables.levels_of(levels(run_of(DEADLINE, [(0, at / 20, at / 20 + 0.1) for at in range(100)])))
    assert table.titles == [
        *("class", "requires", "verdict", "runs that missed", "messages", "decided", "in time, %", "p99 delay, s"),
    ]
    # Generated every 50 ms for 5 s, each 0.1 s under way. Wilson by hand: from 100 / (100 + 3.84).
    row = ["a", "90 % within 1 s", "met (one run)", "0 of 1", "100", "100", "100.0 [96.3, 100.0]", "0.100"]
    assert table.rows == [row]
    assert table.caption.endswith("n = 1 run of each")


def test_the_figure_has_the_runs_that_missed(kept: Path) -> None:
    """A field is the share of runs in which the class missed its level, as the table counts them."""
    result = Result.read(kept)
    (panel,) = result.plot("levels").panels
    rows = result.levels().to_dicts()
    classes = list(dict.fromkeys(row["class"] for row in rows))[::-1]
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    assert list(panel.y.categories) == classes
    for row in rows:
        share = 100 * row["missed_runs"] / row["judged_runs"] if row["judged_runs"] else None
        assert panel.heat.values[classes.index(row["class"])][cells.index(row["cell"])] == share
