"""Voice quality by the E-model: the rating R and the mean opinion score of a narrowband call.

The equations and defaults are those of ITU-T G.107 (06/2015), whose numbers stand beside them. They are taken from
programs that quote these numbers, amplet2 (https://github.com/wandnz/amplet2, `mos.c`) and OpenBACH (`compute_mos.py`),
which agree; they were not compared with the Recommendation. The values of codecs are from secondary sources too. They
belong to the narrowband scale: Opus and AMR-WB need the wideband scale of G.107.1 and have no values here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cwndlab.errors import chosen
from cwndlab.service.delivery import Flags, Times


@dataclass(frozen=True)
class Codec:
    """A codec of the narrowband E-model.

    Parameters
    ----------
    impairment
        The equipment impairment factor I_e.
    robustness
        The packet-loss robustness factor B_pl.
    look_ahead_ms
        The look-ahead of the encoder.
    source
        Whence the values are.

    Examples
    --------
    >>> CODECS["g711"].robustness
    4.3
    """

    impairment: float
    robustness: float
    look_ahead_ms: float
    source: str


_G113 = "ITU-T G.113, Appendix I, Table I.3, as quoted by amplet2"
#: Codecs by name.
CODECS = {
    "g711": Codec(0.0, 4.3, 0.0, f"{_G113}: without concealment of losses"),
    "g711-plc": Codec(0.0, 25.1, 0.0, f"{_G113}: with concealment of losses (G.711, Appendix I)"),
    "g729a": Codec(11.0, 19.0, 5.0, "G.729A with voice activity detection, as quoted by several programs"),
}

# Defaults of G.107: send and receive loudness ratings (dB) and the noise (dBm0p) that follows from all defaults, (7-3).
_SLR, _RLR, _NOISE = 8.0, 2.0, -61.17921438624169
#: The simultaneous impairment factor I_s of the defaults, (7-8).
_SIMULTANEOUS = 1.4135680813438616
#: The basic signal-to-noise ratio R_o of the defaults, (7-2).
_BASIC = 15 - 1.5 * (_SLR + _NOISE)
#: The delay that nobody perceives, ms.
_LEAST_PERCEIVED_MS = 100.0


def mos(rating: float) -> float:
    """The mean opinion score of a rating R: 1 + 0.035 R + R (R − 60)(100 − R) 7·10⁻⁶; 1 at R = 0, 4.5 at R = 100.

    Source: G.107, annex B. R from 90 on is "very satisfied", from 80 "satisfied", from 70 "some users dissatisfied",
    from 60 "many users dissatisfied".

    >>> [round(mos(rating), 2) for rating in (-5, 50, 70, 93.2, 100)]
    [1.0, 2.58, 3.6, 4.41, 4.5]
    """
    if rating <= 0:
        return 1.0
    return 4.5 if rating >= 100 else 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6


def delay_impairment(delay_ms: float, *, telr_db: float = 65.0, wepl_db: float = 110.0) -> float:
    """The delay impairment I_d = I_dte + I_dle + I_dd: talker echo, listener echo, and too long a delay.

    Source: G.107, (7-18) to (7-28), with its defaults; the delay of the echo path is the mouth-to-ear delay, and that
    of the round trip twice this.

    Parameters
    ----------
    delay_ms
        The mouth-to-ear delay.
    telr_db, wepl_db
        The talker echo loudness rating, and the weighted echo path loss.

    Examples
    --------
    Below 100 ms only echo impairs.

    >>> round(delay_impairment(0.0), 2), round(delay_impairment(400.0), 1)
    (0.15, 31.1)
    """
    t = delay_ms
    terv = telr_db - 40 * math.log10((1 + t / 10) / (1 + t / 150)) + 6 * math.exp(-0.3 * t**2)  # (7-22)
    re = 80 + 2.5 * (terv - 14)  # (7-21)
    roe = -1.5 * (_NOISE - _RLR)  # (7-20)
    talker = 0.0
    if t >= 1:
        talker = ((roe - re) / 2 + math.sqrt((roe - re) ** 2 / 4 + 100) - 1) * (1 - math.exp(-t))  # (7-19)
    rle = 10.5 * (wepl_db + 7) * math.pow(2 * t + 1, -0.25)  # (7-26)
    listener = (_BASIC - rle) / 2 + math.sqrt((_BASIC - rle) ** 2 / 4 + 169)  # (7-25)
    return talker + listener + too_long(t)


def too_long(delay_ms: float) -> float:
    """I_dd, the impairment by a delay that is too long without any echo: 25 ((1 + X⁶)^(1/6) − 3 (1 + (X/3)⁶)^(1/6) + 2)
    with X = log₂(delay / 100 ms), and 0 up to 100 ms.

    Source: G.107, (7-27) and (7-28).

    By hand at 200 ms: X = 1, and 25 (2^(1/6) − 3 (1 + 1/729)^(1/6) + 2) = 25 (1.122462 − 3.000685 + 2).

    >>> too_long(100.0), round(too_long(200.0), 3)
    (0.0, 3.044)
    """
    if delay_ms <= _LEAST_PERCEIVED_MS:
        return 0.0
    x = math.log2(delay_ms / _LEAST_PERCEIVED_MS)
    return 25 * (math.pow(1 + x**6, 1 / 6) - 3 * math.pow(1 + (x / 3) ** 6, 1 / 6) + 2)


def loss_impairment(codec: Codec, loss_percent: float, burst_ratio: float = 1.0) -> float:
    """The effective equipment impairment I_e,eff = I_e + (95 − I_e) P / (P / BurstR + B_pl), with P in percent.

    Source: G.107, (7-29).

    By hand: G.711 without concealment loses 4.3 %, its B_pl: 95 / 2.

    >>> loss_impairment(CODECS["g711"], 4.3)
    47.5
    """
    ie = codec.impairment
    return ie + (95 - ie) * loss_percent / (loss_percent / burst_ratio + codec.robustness)


def rating(codec: Codec, delay_ms: float, loss_percent: float, burst_ratio: float = 1.0) -> float:
    """The rating R = R_o − I_s − I_d − I_e,eff of a call with the defaults of G.107, and without an advantage.

    With the defaults and no delay, R is 93.2.

    >>> round(rating(CODECS["g711"], delay_ms=0, loss_percent=0), 1)
    93.2
    """
    return _BASIC - _SIMULTANEOUS - delay_impairment(delay_ms) - loss_impairment(codec, loss_percent, burst_ratio)


def burst_ratio(lost: Flags) -> float:
    """BurstR: the mean length of the runs of losses over 1 / (1 − P), that of random losses with the same share P; at
    least 1, and 1 where nothing or everything is lost.

    Source: G.107, section 7.5, by secondary quotation.

    By hand: of ten packets two are lost in one run, and random runs have a mean of 1.25.

    >>> burst_ratio(np.array([0, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool))
    1.6
    """
    count = int(lost.sum())
    if not 0 < count < len(lost):
        return 1.0
    runs = int(np.sum(lost[1:] & ~lost[:-1])) + int(lost[0])
    return max(1.0, count / runs * (1 - count / len(lost)))


@dataclass(frozen=True)
class Voice:
    """The quality of a call in one direction.

    Parameters
    ----------
    loss
        The share of packets that were lost or late.
    burst_ratio
        BurstR of these losses.
    delay_ms
        The mouth-to-ear delay.
    rating, mos
        R, and the mean opinion score.

    Examples
    --------
    >>> Voice(loss=0.0, burst_ratio=1.0, delay_ms=80.0, rating=91.4, mos=4.4).mos
    4.4
    """

    loss: float
    burst_ratio: float
    delay_ms: float
    rating: float
    mos: float


def voice(delays: Times, playout_ns: float, codec: str = "g711-plc", *, packet_ms: float = 20.0) -> Voice | None:
    """The voice quality of packets that are played at a fixed time after they were sent; later ones are lost.

    The mouth-to-ear delay is the time of a packet + look-ahead of the encoder + playout.

    Parameters
    ----------
    delays
        Delivery − generation of each packet in the order of generation, ns; infinite for a lost one.
    playout_ns
        The time from generation to playout, ns.
    codec
        A name in `CODECS`.
    packet_ms
        The speech in a packet.

    Returns
    -------
    Voice
        ``None`` without packets.

    Raises
    ------
    ArgumentError
        No codec has this name: Opus and AMR-WB have no values on the narrowband scale.

    Examples
    --------
    >>> call = voice(np.full(50, 30e6), playout_ns=60e6)
    >>> call.delay_ms, round(call.mos, 1)
    (80.0, 4.4)
    """
    wideband = "wideband codecs need the scale of ITU-T G.107.1"
    used = chosen("codec", "codec of the narrowband E-model", codec, CODECS, wideband)
    if not len(delays):
        return None
    lost = delays > playout_ns
    share, ratio = float(lost.mean()), burst_ratio(lost)
    delay_ms = packet_ms + used.look_ahead_ms + playout_ns / 1e6
    r = rating(used, delay_ms, 100 * share, ratio)
    return Voice(share, ratio, delay_ms, r, mos(r))
