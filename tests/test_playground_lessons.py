"""Lessons of the playground: what their texts promise is what their scenarios show."""

from __future__ import annotations

from pathlib import Path

import cwndlab

LESSONS = Path(__file__).parents[1] / "playground" / "presets"


def test_the_lesson_on_bufferbloat_shows_what_it_says() -> None:
    """Ten BDP of queue are ten base RTTs of delay at most; a download of all queues keeps nine tenths of its rate."""
    lesson = cwndlab.Scenario.load(LESSONS / "10-bufferbloat.toml")
    text = (LESSONS / "10-bufferbloat.toml").read_text(encoding="utf-8")
    assert "the RTT of all flows grows tenfold" in text
    assert "the download loses less than a tenth of its throughput, and the web transfers become faster" in text

    def shown(queue: str) -> tuple[float, float, float]:
        records = cwndlab.run(lesson.with_({"dumbbell.bottleneck.queue.kind": queue}), seed=1)
        download, web = records.rows("flows")[:2]
        return download["delivered_bytes"], download["mean_rtt_ns"] / download["base_rtt_ns"], web["delivered_bytes"]

    rate, rtt, web = shown("droptail")
    assert 8 < rtt <= 11
    for queue in ("codel", "fq-codel"):
        other_rate, other_rtt, other_web = shown(queue)
        assert 0.9 < other_rate / rate < 1
        assert other_rtt < 1.3
        assert other_web > web
