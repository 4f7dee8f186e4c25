"""Service levels: what each class of flows requires, what it got, and whether that is enough.

A flow states its requirements in the scenario (``service = { class = "alarms", deadline = "500 ms" }``), and the table
``messages`` of the records has the times of its messages. `levels` judges them; the functions beneath compute from
arrays of times, in nanoseconds and with infinity for what never happened.
"""

from cwndlab.service.delivery import ApdexCounts, apdex, decided, delays_ns, in_time, nearest_rank, transfer_time_s
from cwndlab.service.emodel import (
    CODECS,
    Codec,
    Voice,
    burst_ratio,
    delay_impairment,
    loss_impairment,
    mos,
    rating,
    voice,
)
from cwndlab.service.frames import Freezes, freezes, late_share
from cwndlab.service.freshness import Age, age_of_information, longest_silence_s, observed, outage_s
from cwndlab.service.judgement import Level, judge, levels
from cwndlab.service.per_run import measured, video_quality, voice_quality
from cwndlab.service.presets import Standard, standard, standards
from cwndlab.service.requirement import Requirement, requirements
from cwndlab.service.variation import delay_variation_s, interarrival_jitter_s
from cwndlab.service.video import VIDEO_CODECS, VideoCodec, stream_rate, video_mos

__all__ = [
    "CODECS",
    "VIDEO_CODECS",
    "Age",
    "ApdexCounts",
    "Codec",
    "Freezes",
    "Level",
    "Requirement",
    "Standard",
    "VideoCodec",
    "Voice",
    "age_of_information",
    "apdex",
    "burst_ratio",
    "decided",
    "delay_impairment",
    "delay_variation_s",
    "delays_ns",
    "freezes",
    "in_time",
    "interarrival_jitter_s",
    "judge",
    "late_share",
    "levels",
    "longest_silence_s",
    "loss_impairment",
    "measured",
    "mos",
    "nearest_rank",
    "observed",
    "outage_s",
    "rating",
    "requirements",
    "standard",
    "standards",
    "stream_rate",
    "transfer_time_s",
    "video_mos",
    "video_quality",
    "voice",
    "voice_quality",
]


def __dir__() -> list[str]:
    return __all__
