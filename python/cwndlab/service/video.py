"""Video quality by the planning model of ITU-T G.1070: the mean opinion score of a bit rate, a frame rate and a loss.

The equations and coefficients are taken from programs that quote the Recommendation, and were not compared with its
text. A set of coefficients belongs to a codec, a format and a display, and is given here if independent programs agree
on it. One is SQMF (https://github.com/marievixezonaki/SQMF), which alone has B^v5 / v4 in place of (B / v4)^v5. The
model of ITU-T P.1203 is left out because its licence allows research use only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from cwndlab.errors import chosen
from cwndlab.metrics.interval import check_number
from cwndlab.service.delivery import Times


@dataclass(frozen=True)
class VideoCodec:
    """A codec of G.1070 with its format and display.

    Parameters
    ----------
    coefficients
        v1 to v12.
    source
        Whence they are.

    Examples
    --------
    >>> len(VIDEO_CODECS["h264-vga"].coefficients)
    12
    """

    coefficients: tuple[float, ...]
    source: str


#: Codecs by name.
VIDEO_CODECS = {
    "mpeg4-qvga": VideoCodec(
        (1.431, 0.02228, 3.759, 184.1, 1.161, 1.446, 0.0003881, 2.116, 467.4, 2.736, 15.28, 4.17),
        "MPEG-4, 320 × 240, as quoted by SQMF and by a program that measures video quality",
    ),
    "h264-vga": VideoCodec(
        (5.517, 0.0129, 3.459, 178.53, 1.02, 1.15, 0.000355, 0.114, 513.77, 0.736, -6.451, 13.684),
        "H.264, 640 × 480, 9.2 inches, 400 to 2000 kbit/s, as quoted by SQMF and two programs that choose bit rates",
    ),
}


class StreamRate(NamedTuple):
    """What a source of video generates.

    Examples
    --------
    >>> StreamRate(bitrate_kbps=800.0, frame_rate=25.0).frame_rate
    25.0
    """

    bitrate_kbps: float
    frame_rate: float


def stream_rate(generated_ns: Times, size_bytes: Times) -> StreamRate | None:
    """The bit rate and the frame rate of frames: n frames last n / (n − 1) of the time from the first to the last one.
    ``None`` for fewer than two.

    >>> import numpy as np
    >>> stream_rate(np.array([0.0, 40e6, 80e6]), np.array([5000.0, 5000.0, 5000.0]))
    StreamRate(bitrate_kbps=1000.0, frame_rate=25.0)
    """
    count = len(generated_ns)
    if count < 2 or generated_ns[-1] <= generated_ns[0]:
        return None
    seconds = float(generated_ns[-1] - generated_ns[0]) / 1e9 * count / (count - 1)
    return StreamRate(8 * float(size_bytes.sum()) / 1000 / seconds, count / seconds)


def video_mos(
    bitrate_kbps: float, frame_rate: float, loss_percent: float, codec: str | VideoCodec = "h264-vga"
) -> float:
    """The mean opinion score of a video: V = 1 + I_c exp(−P / D_p), from 1 to 5.

    With the bit rate B, the frame rate F and the share P of lost packets:

    - O = v1 + v2 B, the frame rate that suits B best, and I_o = v3 − v3 / (1 + (B / v4)^v5), the quality at it
    - D_f = v6 + v7 B, and I_c = I_o exp(−(ln F − ln O)² / (2 D_f²))
    - D_p = v10 + v11 exp(−F / v8) + v12 exp(−B / v9)

    Source: ITU-T G.1070, the video quality estimation function.

    Parameters
    ----------
    bitrate_kbps, frame_rate, loss_percent
        B in kbit/s, F in frames per second, P in percent.
    codec
        A name in `VIDEO_CODECS`, or coefficients of your own.

    Raises
    ------
    ArgumentError
        No codec has this name, or a number is out of its range.

    Examples
    --------
    By hand: B = v4 has I_o = v3 / 2, and F = O loses nothing of it.

    >>> round(video_mos(178.53, 5.517 + 0.0129 * 178.53, 0.0), 4)  # 1 + 3.459 / 2
    2.7295
    """
    used = codec if isinstance(codec, VideoCodec) else chosen("codec", "codec of G.1070", codec, VIDEO_CODECS)
    check_number("bitrate_kbps", bitrate_kbps, example=800.0)
    check_number("frame_rate", frame_rate, example=25.0, is_least=False)
    check_number("loss_percent", loss_percent, example=1.0, most=100.0)
    v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12 = used.coefficients
    best = v1 + v2 * bitrate_kbps
    at_best = v3 - v3 / (1 + math.pow(bitrate_kbps / v4, v5))
    tolerance = v6 + v7 * bitrate_kbps
    coding = at_best * math.exp(-((math.log(frame_rate) - math.log(best)) ** 2) / (2 * tolerance**2))
    robustness = v10 + v11 * math.exp(-frame_rate / v8) + v12 * math.exp(-bitrate_kbps / v9)
    return min(5.0, max(1.0, 1 + coding * math.exp(-loss_percent / robustness)))
